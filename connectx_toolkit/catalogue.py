"""The toolkit's own agents by name, and the grammar of names: those of agents/, and weakened versions of them.

``minimax@4`` is minimax at a fixed depth of 4 plies; ``NAME~10`` is an agent that plays a random legal move in 10% of
its moves; ``minimax@4~10`` is both.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.places import AGENTS

NAME = re.compile(r"(?P<base>\w+)(?:@(?P<depth>\d+))?(?:~(?P<percent>\d+(?:\.\d+)?))?")


class AgentName(NamedTuple):
    """The parts of a name."""

    base: str
    depth: int | None = None  # plies
    percent: float | None = None  # how many of its moves are random

    @property
    def is_graded(self) -> bool:
        return self.depth is not None or self.percent is not None


def parse_agent_name(text: str) -> AgentName | None:
    """The parts of NAME, NAME@DEPTH, NAME~PERCENT or NAME@DEPTH~PERCENT; None for any other text, such as a path.

    Raises:
        ValueError: the depth is 0, or the percentage is above 100.
    """
    parts = NAME.fullmatch(text)
    if parts is None:
        return None
    base, depth, percent = parts.groups()
    if depth and not int(depth):
        raise ValueError(f"{text!r}: the depth should be at least 1 ply")
    if percent and float(percent) > 100:
        raise ValueError(f"{text!r}: the share of random moves should be 0 to 100, not {percent}")
    return AgentName(base, int(depth) if depth else None, float(percent) if percent else None)


def our_agents() -> list[str]:
    """The names in agents/, sorted."""
    return sorted(path.stem for path in AGENTS.glob("*.py") if not path.stem.startswith("_"))


class Entry(NamedTuple):
    """What is known of an agent of ours without running it."""

    name: str
    summary: str  # first line of its docstring
    data: dict[str, int]  # bytes of each data file that it reads
    size: int  # bytes of its own source


def entry_of(name: str, folder: Path = AGENTS) -> Entry:
    """Reads an agent's source; data files are those that it names in calls of ``read_data``."""
    path = folder / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    data = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "read_data":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and (folder / str(argument.value)).is_file():
                    data[str(argument.value)] = (folder / str(argument.value)).stat().st_size
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Entry(name, summary, data, path.stat().st_size)


def kilobytes(size: int) -> str:
    return f"{size / 1000:.1f} kB"
