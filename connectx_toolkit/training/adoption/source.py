"""A class or function out of somebody's file, with what it needs of that file, and nothing else of it.

A lesson's script defines its network and then trains it: to have the network again, its definitions are run and its
other statements are not. Of a notebook, the code cells are read.
"""

import ast
import json
import linecache
import symtable
from pathlib import Path
from typing import Any, NamedTuple


class Source(NamedTuple):
    """The part of a file that defines a name."""

    path: Path
    name: str
    text: str

    def load(self) -> Any:
        """Runs the part, and gives what it binds to the name. Whatever its code raises passes through."""
        shown = f"<part of {self.path.name}>"
        linecache.cache[shown] = (len(self.text), None, self.text.splitlines(keepends=True), shown)
        names: dict[str, Any] = {"__name__": f"part_of_{self.path.stem}", "__file__": str(self.path)}
        exec(compile(self.text, shown, "exec"), names)
        return names[self.name]


def source_of(reference: str) -> Source:
    """The part of a file for FILE:NAME, such as my_net.py:Net, my_net:Net or lesson.ipynb:CustomCNN.

    Raises:
        ValueError: it does not read so, the file is no Python, or does not define the name at its top level.
        OSError: the file cannot be read.
    """
    file, _, name = reference.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"expected FILE:NAME, such as my_net.py:Net, not {reference!r}")
    path = Path(file if Path(file).suffix in (".py", ".ipynb") else file.replace(".", "/") + ".py")
    if not path.is_file():
        raise FileNotFoundError(f"{reference}: there is no file {path}")
    try:
        text = path.read_text(encoding="utf-8")
        text = cells_of(text) if path.suffix == ".ipynb" else text
        statements = ast.parse(text).body
    except (UnicodeDecodeError, SyntaxError, KeyError, TypeError, json.JSONDecodeError) as fault:
        raise ValueError(f"{path} is no Python source: {fault}") from None
    segments = [(bound_by(statement), segment(text, statement)) for statement in statements]
    kept = needed(segments, name)
    if not kept:
        raise ValueError(f"{path} defines no {name} at its top level")
    return Source(path.resolve(), name, "\n\n".join(kept) + "\n")


def segment(text: str, statement: ast.stmt) -> str:
    """The text of a statement, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    if not decorators:
        return ast.get_source_segment(text, statement) or ""
    return "\n".join(text.splitlines()[decorators[0].lineno - 1 : statement.end_lineno])


def cells_of(text: str) -> str:
    """The code of a notebook, without lines for the shell and the kernel."""
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    lines = [line for cell in cells if not cell.startswith("%%") for line in cell.splitlines()]
    return "\n".join(
        "pass" if line.lstrip().startswith(("%", "!")) and line == line.lstrip() else line for line in lines
    )


def bound_by(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top level of a module binds; "*" for a star import."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return found


def read_by(text: str) -> set[str]:
    """The module's names that a statement reads: not those that its functions bind themselves."""
    tables = [symtable.symtable(text, "<part>", "exec")]
    found = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_referenced()}
    while tables:
        inner = tables.pop().get_children()
        found |= {symbol.get_name() for table in inner for symbol in table.get_symbols() if symbol.is_global()}
        tables += inner
    return found


def needed(segments: list[tuple[set[str], str]], name: str) -> list[str]:
    """Of statements, each with the names that it binds, those that bind a name or one that these read, in order."""
    wanted, kept = {name}, set[int]()
    if not any(name in bound for bound, _ in segments):
        return []
    while True:
        more = {n for n, (bound, _) in enumerate(segments) if bound & (wanted | {"*"})} - kept
        if not more:
            return [segments[number][1] for number in sorted(kept)]
        kept |= more
        wanted |= set[str]().union(*(read_by(segments[number][1]) for number in more))
