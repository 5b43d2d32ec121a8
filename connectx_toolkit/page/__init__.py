"""The board's component as text, for pages that have to hold all of it: its ES modules as one, and its style.

Modules are joined by their imports, which the browser would follow if it were given addresses: a line
``import { names } from "./module.js";`` goes, and so does the word ``export``. So they share one scope: no two of them
may use a name at their top level (tests/board/test_board.py).
"""

import re
from pathlib import Path

PAGE_FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\}\s+from "\./(\w+\.js)";\n', re.M)
EXPORT = re.compile(r"^export (?!default)", re.M)


def style() -> str:
    """The component's style sheet."""
    return _file_text("board.css")


def script(name: str) -> str:
    """An ES module and all that it imports, as one module without imports.

    Raises:
        FileNotFoundError: there is no such module.
    """
    texts: dict[str, str] = {}
    _collect(name, texts)
    return "\n".join(texts.values())


def _collect(name: str, texts: dict[str, str]) -> None:
    text = _file_text(name)
    for imported in IMPORT.findall(text):
        if imported not in texts:
            _collect(imported, texts)
    texts[name] = EXPORT.sub("", IMPORT.sub("", text))


def _file_text(name: str) -> str:
    return (PAGE_FOLDER / name).read_text(encoding="utf-8")
