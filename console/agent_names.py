"""Parses names of agents for all command lines: those of agents/, and weakened versions of them.

``minimax@4`` is minimax at a fixed depth of 4 plies; ``NAME~10`` is an agent that plays a random legal move in 10% of
its moves; ``minimax@4~10`` is both.
"""

import re
from pathlib import Path
from typing import NamedTuple

AGENTS = Path(__file__).resolve().parent.parent / "agents"
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
