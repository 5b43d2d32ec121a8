"""The agent that ``page`` or ``live`` has written as files, and where each of its lines stands in the notebook."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from connectx_toolkit.builder.source.inline import Inlined, inline

AGENT_PY = "agent_of_notebook.py"  # a module of the notebook's own may well be called agent.py
TRACE = re.compile(rf'(?:File "(?:[^"]*/)?|(?<![\w./-])){re.escape(AGENT_PY)}"?, line (\d+)')  # of a fault or traceback
STARTS = ("def ", "class ", "@", "async ")  # how functions and classes begin


class Written(NamedTuple):
    """An agent as files.

    agent: AGENT_PY in a folder of its own, with arrays (.npz, read by ``read_data``) and helpers beside it.
    entry: the agent's name there.
    root: the notebook's folder, with the modules that it imports.
    places: line of it -> "lesson.ipynb, cell 16, line 3" or "In[16], line 3".
    notes: what was rewritten, starts anew, or was left out and touches what the agent uses.
    who: what people call the agent, if that is not its entry.
    folders: more folders with modules.
    page: of a page, a script that runs its cells as they are, and leaves the agent in AGENT_PY.
    left_out: what the notebook has and the file has not, each with its place: statements, values that no file can hold,
        results of caches, the order of sets.
    state: of a running function what may change as it plays: label -> a function that gives it.
    """

    agent: Path
    entry: str
    root: Path
    places: dict[int, str]
    notes: list[str]
    who: str = ""
    folders: tuple[Path, ...] = ()
    page: Path | None = None
    left_out: tuple[str, ...] = ()
    state: Mapping[str, Callable[[], Any]] = MappingProxyType({})

    def to_inlined(self, extra_packages: frozenset[str] = frozenset(), extra_files: Sequence[Path] = ()) -> Inlined:
        """What the builder takes; raises as ``connectx_toolkit.builder.source.inline.inline``."""
        sources = inline(self.agent, extra_packages, extra_files, self.entry, self.root, self.places, self.folders)
        sources.notes[:0] = self.notes
        return sources

    def with_places(self, text: str) -> str:
        """See ``name_places``."""
        return name_places(text, self.places)

    def save(self, path: Path) -> None:
        """Writes what ``read_written`` reads."""
        known = {"entry": self.entry, "root": str(self.root), "places": self.places, "notes": self.notes}
        path.write_text(json.dumps(known | {"folders": list(map(str, self.folders))}), encoding="utf-8")


def read_written(path: Path, agent: Path) -> Written:
    """What ``Written.save`` wrote, of an agent that may have been moved since."""
    known = json.loads(path.read_text(encoding="utf-8"))
    places = {int(line): place for line, place in known["places"].items()}
    folders = tuple(map(Path, known["folders"]))
    return Written(agent, known["entry"], Path(known["root"]), places, known["notes"], folders=folders)


def compose_source(head: str, parts: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, dict[int, str]]:
    """A source, and line -> place.

    Args:
        parts: texts that follow the head, with the place of each of their lines, "" if it has none.
    """
    lines, places, before = head.split("\n"), dict[int, str](), "import"
    for text, where in parts:
        kind = "block" if text.startswith(STARTS) else "import" if text.startswith(("import ", "from ")) else "value"
        lines += [""] * (2 if "block" in (before, kind) else before != kind)
        own = text.split("\n")
        places |= {len(lines) + n: place for n, (_, place) in enumerate(zip(own, where, strict=False), 1) if place}
        lines += own
        before = kind
    return "\n".join(lines) + "\n", places


def name_places(text: str, places: Mapping[int, str]) -> str:
    """A fault's text with the places that people know in place of lines of AGENT_PY."""
    return TRACE.sub(lambda found: places.get(int(found[1]), found[0]), text)
