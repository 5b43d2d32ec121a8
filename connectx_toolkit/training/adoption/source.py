"""A class or function out of somebody's file, with what it needs of that file, and nothing else of it.

A lesson's script defines its network and then trains it: to have the network again, the statements that bind a name
that it needs are run, and those that change the value of one in place; the others are not. Of a notebook, the code
cells are read.
"""

import __future__

import ast
import linecache
from pathlib import Path
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.cells import cells_of
from connectx_toolkit.builder.notebook.page import Page
from connectx_toolkit.builder.notebook.reads import FUNCTIONS, IMPORTS, reads_of, root
from connectx_toolkit.builder.notebook.statements import statements_of


class Source(NamedTuple):
    """The part of a file that defines a name."""

    path: Path
    name: str
    text: str
    names: frozenset[str]  # that this part binds, imports left out

    def load(self) -> Any:
        """Runs the part, and gives what it binds to the name. Whatever its code raises passes through."""
        shown = f"<part of {self.path.name}>"
        linecache.cache[shown] = (len(self.text), None, self.text.splitlines(keepends=True), shown)
        names: dict[str, Any] = {"__name__": f"part_of_{self.path.stem}", "__file__": str(self.path)}
        exec(compile(self.text, shown, "exec"), names)
        return names[self.name]

    def run_whole(self, path: Path, names: dict[str, Any]) -> str:
        """Runs the file itself, a copy of it at ``path``, up to its last statement that could change this part.

        What comes later, such as the training, is left out, but for imports, definitions and the part itself. So is a
        statement that fails.

        Args:
            names: the module's names, which are filled.

        Returns:
            What the first statement that failed raised, "" if none did.
        """
        body, first = ast.parse(code_of(path)).body, ""
        is_future = (isinstance(each, ast.ImportFrom) and each.module == "__future__" for each in body)
        future = __future__.annotations.compiler_flag * any(is_future)
        end, own = self._end(body), self._own()
        for number, statement in enumerate(body):
            if number >= end and not _defines(statement) and ast.unparse(statement) not in own:
                continue
            try:
                exec(compile(ast.Module([statement], []), str(path), "exec", future), names)
            except (Exception, SystemExit) as fault:  # their code may raise anything
                first = first or repr(fault)
        return first

    def _own(self) -> set[str]:
        """The statements of this part."""
        return {ast.unparse(statement) for statement in ast.parse(self.text).body}

    def _end(self, body: list[ast.stmt]) -> int:
        """The number of statements up to the last, not of this part, that mentions a name of it, or what shares its
        value."""
        values = {name for each in body if not _defines(each) for name in reads_of(each).binds} & self.names
        shared, own, end = set(self.names), self._own(), 0
        for number, statement in enumerate(body, 1):
            mentioned = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            if _defines(statement) or ast.unparse(statement) in own or not mentioned & shared:
                continue
            end = number
            if isinstance(statement, ast.Assign) and root(statement.value) in values:
                values |= reads_of(statement).binds
                shared |= reads_of(statement).binds
        return end


def source_of(reference: str) -> Source:
    """The part of a file for FILE:NAME, such as my_net.py:Net, my_net:Net or lesson.ipynb:CustomCNN.

    Raises:
        ValueError: it does not read so, the file is no Python, or does not define the name at its top level.
        OSError: the file cannot be read.
    """
    path, name = file_and_name(reference)
    return part_of(path, code_of(path), name)


def file_and_name(reference: str) -> tuple[Path, str]:
    """The file and the name of FILE:NAME. Raises ValueError if it does not read so, OSError if there is no file."""
    file, _, name = reference.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"expected FILE:NAME, such as my_net.py:Net, not {reference!r}")
    path = Path(file if Path(file).suffix in (".py", ".ipynb") else file.replace(".", "/") + ".py")
    if not path.is_file():
        raise FileNotFoundError(f"{reference}: there is no file {path}")
    return path, name


def code_of(path: Path) -> str:
    """The Python source of a file or notebook. Raises ValueError if it is none, OSError if it cannot be read."""
    try:
        is_notebook = path.suffix == ".ipynb"
        cells = [each for each in cells_of(path) if not each.file] if is_notebook else []
        text = "".join(each.code for each in cells if not each.fault) if is_notebook else path.read_text("utf-8")
        ast.parse(text)
    except (UnicodeDecodeError, SyntaxError) as fault:
        raise ValueError(f"{path} is no Python source: {fault}") from None
    return text


def part_of(path: Path, text: str, name: str) -> Source:
    """The part that a name needs of a file's text. Raises ValueError if it does not define the name."""
    page = Page(statements_of(text), name, lambda module: False)
    kept = page.run()
    if not any(name in each.reads.binds for each in kept):
        raise ValueError(f"{path} defines no {name} at its top level")
    names = set[str]().union(*(each.reads.binds for each in kept)) - page.names.imported.keys() - {"*"}
    return Source(path.resolve(), name, "\n\n".join(each.text for each in kept) + "\n", frozenset(names))


def _is_of_course(statement: ast.stmt) -> bool:
    """Whether it imports what checks the answers in a lesson of Kaggle's course."""
    return isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("learntools.")


def _defines(statement: ast.stmt) -> bool:
    return isinstance(statement, IMPORTS | FUNCTIONS | ast.ClassDef)
