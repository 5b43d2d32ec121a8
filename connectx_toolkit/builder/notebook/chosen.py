"""Which function of a page is the agent, and as of which cell.

The one that is named; else what the page itself writes to a file, by %%writefile, or by getsource as the course's
``write_agent_to_file`` does; else the only candidate (see ``connectx_toolkit.kaggle.agent_function``).
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from connectx_toolkit.builder.notebook.cells import Cell
from connectx_toolkit.builder.notebook.reads import FUNCTIONS, root, run_at_once
from connectx_toolkit.builder.notebook.statements import Names, Statement, names_of
from connectx_toolkit.kaggle.agent_function import agent_in, candidates, suggested

USUAL = ("submission.py", "main.py")  # names of the file that is submitted, the likeliest first
TARGET = USUAL[0]  # where no name can be read


class File(NamedTuple):
    """A file that %%writefile writes.

    cells: those that it consists of.
    end: how many statements come before the last of them.
    """

    name: str
    cells: tuple[Cell, ...]
    end: int

    @property
    def text(self) -> str:
        return "".join(cell.code for cell in self.cells)

    @property
    def places(self) -> list[str]:
        return [cell.place(line) for cell in self.cells for line in range(1, cell.code.count("\n") + 1)]


class Choice(NamedTuple):
    """The agent of a page.

    name: of its function.
    end: how many statements of the page count.
    file: the file that holds it, None if it stands in cells.
    target: the name of the file that the page writes it to, "" if it writes none.
    sources: the functions whose text the page writes there.
    """

    name: str
    end: int
    file: File | None = None
    target: str = ""
    sources: tuple[str, ...] = ()


def choose(path: str, statements: Sequence[Statement], files: Sequence[File], name: str | None) -> Choice:
    """The agent of a page.

    Raises:
        ValueError: nothing of that name is there, or it is not clear which function is meant; with those to choose.
    """
    if name:
        return _named(path, statements, files, name)
    written = {choice.target: choice for choice in sorted(_written(statements, files), key=lambda each: each.end)}
    found = [written[target] for target in USUAL if target in written][:1] or list(written.values())
    if len(found) == 1:
        return found[0]
    nodes = [each.node for each in statements]
    among = candidates(nodes)
    if not found and len(among) == 1:
        return Choice(among[0], len(statements))
    named = [f"{choice.name} ({choice.target})" for choice in found]
    where = {name: each.where for each in statements for name in each.reads.binds}
    named = named or [f"{name} ({where[name]})" for name in among]
    if named:
        likely = found[0].name if found else suggested(nodes, among)
        which = f"which of its functions is the agent? {', '.join(named)}"
        raise ValueError(f"{path}: {which}: write {path}:{likely}")
    functions = list(dict.fromkeys(each.node.name for each in statements if isinstance(each.node, ast.FunctionDef)))
    known = f": it defines {', '.join(functions[:12])}" if functions else ", nor any other function"
    raise ValueError(f"{path} has no function of (obs, config), which an agent should be{known}")


def _named(path: str, statements: Sequence[Statement], files: Sequence[File], name: str) -> Choice:
    """The agent of that name: a cell's, as of where the page writes it unless it is defined again; else of a file."""
    written = [choice for choice in _written(statements, files) if choice.name == name and choice.file is None]
    if any(name in each.reads.binds for each in statements):
        later = statements[written[-1].end :] if written else ()
        is_again = any(isinstance(each.node, FUNCTIONS) and each.node.name == name for each in later)
        return written[-1] if written and not is_again else Choice(name, len(statements))
    inside = [file for file in files if name in _functions_in(file)]
    if inside:
        return Choice(name, inside[-1].end, inside[-1], inside[-1].name)
    import difflib  # only for mistakes

    bound = sorted(set[str]().union(*(each.reads.binds for each in statements), *map(_functions_in, files)) - {"*"})
    close = difflib.get_close_matches(name, bound, 1)
    raise ValueError(f"{path}: no cell defines {name}{f': did you mean {close[0]}?' if close else ''}")


def _functions_in(file: File) -> set[str]:
    tree = _tree(file)
    return {each.name for each in tree.body if isinstance(each, FUNCTIONS)} if tree else set()


def _tree(file: File) -> ast.Module | None:
    try:
        return ast.parse(file.text) if file.name.endswith(".py") else None
    except (SyntaxError, ValueError):
        return None


def _written(statements: Sequence[Statement], files: Sequence[File]) -> Iterator[Choice]:
    """The agents that a page writes to files."""
    for file in files:
        tree, is_usual = _tree(file), PurePosixPath(file.name).name in USUAL
        if is_usual or (tree and candidates(tree.body)):
            name = agent_in(tree) if tree else "agent"
            yield Choice(name, file.end, file, PurePosixPath(file.name).name)
    names = names_of([each.node for each in statements])
    for each in statements:
        written = [
            name for name in dict.fromkeys(_sources_in(each.node, names)) if "." in names.imported.get(name, ".")
        ]
        agents = candidates([names.functions[name] for name in written if name in names.functions])
        if written:
            yield Choice((agents or written)[-1], each.number, None, _target(each.node), tuple(written))


def _sources_in(node: ast.stmt, names: Names) -> Iterator[str]:
    """The functions whose source a statement that runs takes, by getsource or by a function of the page that does."""
    if isinstance(node, FUNCTIONS | ast.ClassDef):
        return
    nodes = list(run_at_once(node))
    loops = {root(each.target): each.iter for each in nodes if isinstance(each, ast.For | ast.comprehension)}
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    shown = {id(given) for call in calls if _only_shows(call) for given in call.args}
    for call in calls:
        given = _taken(call, names) if id(call) not in shown else None
        if isinstance(given, ast.Name):
            every = loops.get(given.id, ast.Tuple([given]))
            yield from (each.id for each in getattr(every, "elts", ()) if isinstance(each, ast.Name))


def _only_shows(call: ast.Call) -> bool:
    return root(call.func) in ("print", "display") and not call.keywords


def _taken(call: ast.Call, names: Names) -> ast.expr | None:
    """What a call takes the source of; None if of nothing."""
    name = ast.unparse(call.func).rpartition(".")[2]
    function = names.functions.get(name)
    place = 0 if name in ("getsource", "write_agent_to_file") else _place_of_source(function)
    parameters = [each.arg for each in function.args.args] if function else ["object"]  # as getsource calls it
    given = dict(zip(parameters, call.args, strict=False)) | {
        each.arg: each.value for each in call.keywords if each.arg
    }
    return given.get(parameters[place]) if place is not None and place < len(parameters) else None


def _place_of_source(function: ast.FunctionDef | None) -> int | None:
    """Which parameter of a function it takes the source of; None if of none."""
    parameters = [each.arg for each in function.args.args] if function else []
    for call in ast.walk(function) if function else ():
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("getsource"):
            given = call.args[0] if call.args else None
            if isinstance(given, ast.Name) and given.id in parameters:
                return parameters.index(given.id)
    return None


def _target(node: ast.stmt) -> str:
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return next((PurePosixPath(text).name for text in texts if text.endswith(".py")), TARGET)
