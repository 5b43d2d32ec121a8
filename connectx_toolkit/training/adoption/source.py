"""A class or function out of somebody's file, with what it needs of that file, and nothing else of it.

A lesson's script defines its network and then trains it: to have the network again, the statements that bind a name
that it needs are run, and those that change the value of one in place; the others are not. Of a notebook, the code
cells are read.
"""

import __future__

import ast
import builtins
import json
import linecache
import symtable
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CHANGERS = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "setattr", "heapify", "heappush", "insort"}
TAKERS = {"pop", "popitem", "setdefault"}  # methods that change a value although something is made of what they give


class Statement(NamedTuple):
    """A statement at the top level of a module, with the names that it binds, and those whose values it changes."""

    text: str
    bound: set[str]  # "*" for a star import
    changed: set[str]


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
        future = __future__.annotations.compiler_flag * any(map(_is_future, body))
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
        values = {name for each in body if not _defines(each) for name in bound_by(each)} & self.names
        shared, own, end = set(self.names), self._own(), 0
        for number, statement in enumerate(body, 1):
            mentioned = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            if _defines(statement) or ast.unparse(statement) in own or not mentioned & shared:
                continue
            end = number
            if isinstance(statement, ast.Assign) and _root(statement.value) in values:
                values |= bound_by(statement)
                shared |= bound_by(statement)
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
        text = path.read_text(encoding="utf-8")
        text = cells_of(text) if path.suffix == ".ipynb" else text
        ast.parse(text)
    except (UnicodeDecodeError, SyntaxError, KeyError, TypeError, json.JSONDecodeError) as fault:
        raise ValueError(f"{path} is no Python source: {fault}") from None
    return text


def part_of(path: Path, text: str, name: str) -> Source:
    """The part that a name needs of a file's text. Raises ValueError if it does not define the name."""
    body = ast.parse(text).body
    imported = {name for statement in body if _is_import(statement) for name in bound_by(statement)}
    functions = {statement.name: statement for statement in body if isinstance(statement, ast.FunctionDef)}
    statements = [
        Statement(segment(text, each), bound_by(each), changed_by(each, imported, functions)) for each in body
    ]
    kept = needed(statements, name)
    if not kept:
        raise ValueError(f"{path} defines no {name} at its top level")
    names = set[str]().union(*(each.bound | each.changed for each in kept)) - imported - {"*"}
    return Source(path.resolve(), name, "\n\n".join(each.text for each in kept) + "\n", frozenset(names))


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _defines(statement: ast.stmt) -> bool:
    return _is_import(statement) or isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


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


def changed_by(statement: ast.stmt, imported: set[str], functions: dict[str, ast.FunctionDef]) -> set[str]:
    """The names whose values a statement changes in place.

    As do X[0] = 1, X.a = 1, X.fill(1), np.copyto(X, 1), and a call of a function of the file that does so to X.

    Args:
        imported: names of modules, and of what comes from them, whose methods change none of the file's values.
        functions: those of the file, by name.
    """
    found, calls = set[str](), list[ast.Call]()
    for node in outside_functions(statement):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(_root(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_method(node.value, imported):
            found.add(_root(node.value.func))
        elif isinstance(node, ast.Call):
            calls.append(node)
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else _root(call.func)
        if name in CHANGERS and call.args:
            found.add(_root(call.args[0]))
        elif name in TAKERS and _is_method(call, imported):
            found.add(_root(call.func))
        elif isinstance(call.func, ast.Name) and name in functions:
            others = {key: value for key, value in functions.items() if key != name}
            found |= _changed_by_call(call, functions[name], imported, others)
    return found - {""}


def _changed_by_call(
    call: ast.Call, function: ast.FunctionDef, imported: set[str], functions: dict[str, ast.FunctionDef]
) -> set[str]:
    """The names whose values a call of a function changes: arguments, and others of the module."""
    changed = set[str]().union(*(changed_by(each, imported, functions) for each in function.body))
    bound = set[str]().union(*(bound_by(each) for each in function.body))
    globals_ = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    parameters = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    given = dict(zip(parameters, call.args, strict=False)) | {each.arg: each.value for each in call.keywords}
    arguments = {_root(given[name]) for name in changed & given.keys()}
    return arguments | (changed - bound - set(parameters)) | bound & globals_


def outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, but for those in the bodies of functions and classes, which run later."""
    yield statement
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(statement):
            yield from outside_functions(child)


def _is_method(call: ast.Call, imported: set[str]) -> bool:
    """Whether a call is of a method of one of the file's own values."""
    return isinstance(call.func, ast.Attribute) and _root(call.func) not in imported


def _root(node: ast.AST | None) -> str:
    """The name X in X, X[0].a and the like; "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def read_by(text: str) -> set[str]:
    """The module's names that a statement reads: not those that its functions bind themselves."""
    tables = [symtable.symtable(text, "<part>", "exec")]
    found = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_referenced()}
    while tables:
        inner = tables.pop().get_children()
        found |= {symbol.get_name() for table in inner for symbol in table.get_symbols() if symbol.is_global()}
        tables += inner
    return found


def needed(statements: list[Statement], name: str) -> list[Statement]:
    """Those that bind or change a name or one that these read, in order.

    A star import is among them only if it has to bind a name that nothing else does.
    """
    wanted, kept, signs = {name}, {n for n, each in enumerate(statements) if "__future__" in each.text[:30]}, set[str]()
    if not any(name in each.bound for each in statements):
        return []
    while True:
        more = {n for n, each in enumerate(statements) if (each.bound | each.changed) & (wanted | signs)} - kept
        kept |= more
        wanted |= set[str]().union(*(read_by(statements[number].text) for number in more))
        if not more:
            known = set[str]().union(*(statements[number].bound for number in kept)) | set(dir(builtins))
            if signs or wanted <= known | {"__name__", "__file__"}:
                return [statements[number] for number in sorted(kept)]
            signs = {"*"}
