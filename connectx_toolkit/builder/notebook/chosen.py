"""Finds the agent of a notebook's page, for ``page``: which function it is, and how many of the cells count.

It is the function that the user names; else what the page itself writes to a file, by %%writefile, or by getsource as
the course's ``write_agent_to_file`` does; else the only candidate (see ``connectx_toolkit.kaggle.agent_function``).
"""

import ast
import copy
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from connectx_toolkit.builder.notebook.reads import DEFINITIONS, FUNCTIONS, IMPORTS, root_name
from connectx_toolkit.builder.notebook.statements import Names, Statement, names_of
from connectx_toolkit.kaggle.agent_function import agent_candidates, agent_in, suggest_agent
from connectx_toolkit.system.console import command

USUAL = ("submission.py", "main.py")  # names of the file that is submitted, the likeliest first
TARGET = USUAL[0]  # where no name can be read
CHANGING = re.compile(r"\.replace\(|\bsub\(")
WRITING = re.compile(r"open\((.+?), (?:mode=)?'[wax][bt+]*'|([\w.]+|Path\(.+?\))\.write_text\(")  # in unparsed code


class File(NamedTuple):
    """A file that %%writefile writes. ``end``: how many statements come before."""

    name: str
    text: str
    places: list[str]
    end: int


class ChosenAgent(NamedTuple):
    """The agent of a page.

    name: of its function.
    end: how many statements of the page count.
    file: the file that holds it, None if it stands in cells.
    target: the name of the file that the page writes it to, "" if it writes none.
    text: what it writes there.
    """

    name: str
    end: int
    file: File | None = None
    target: str = ""
    text: str = ""


def choose_agent(path: str, statements: Sequence[Statement], files: Sequence[File], name: str | None) -> ChosenAgent:
    """The agent of a page.

    Raises ValueError: nothing of that name is there, or it is not clear which function is meant; with those to choose.
    Or the page writes the agent's file by its own code.
    """
    filled = _find_filled_files(statements)
    if name:
        choice = _find_named_agent(path, statements, files, name)
        _refuse_filled_file(filled, PurePosixPath(choice.target).name if choice.file else "")
        return choice
    written = {
        choice.target: choice for choice in sorted(_find_agents_in_files(statements, files), key=lambda each: each.end)
    }
    found = [written[target] for target in USUAL if target in written][:1] or list(written.values())
    nodes = [each.node for each in statements]
    among = agent_candidates(nodes) or _callable_objects(nodes)
    ours = {each.target for each in written.values() if each.file is None}  # of getsource: any line above is known
    for file in [*filled.keys() - ours]:
        if file in USUAL or not (found or among):
            _refuse_filled_file(filled, file, f"; or build {path}:{suggest_agent(nodes, among)}" if among else "")
    if len(found) == 1:
        return found[0]
    if not found and len(among) == 1:
        return ChosenAgent(among[0], len(statements))
    places = {name: each.places[0].removeprefix(f"{path}, ") for each in statements for name in each.reads.binds}
    named = [f"{each.name} ({each.target})" for each in found] or [f"{name} ({places[name]})" for name in among]
    if named:
        likely = found[0].name if found else suggest_agent(nodes, among)
        which = f"which of its functions is the agent? {', '.join(named)}"
        raise ValueError(f"{path}: {which}: write {path}:{likely}")
    functions = list(names_of(nodes).functions)
    known = f": it defines {', '.join(functions[:12])}" if functions else ", nor any other function"
    raise ValueError(f"{path} has no function of (obs, config), which an agent should be{known}")


def _callable_objects(nodes: Sequence[ast.stmt]) -> list[str]:
    """Names of objects whose classes have a __call__(self, obs, config)."""
    methods = [(cls, each) for cls in nodes if isinstance(cls, ast.ClassDef) for each in cls.body]
    called = [(cls, each) for cls, each in methods if isinstance(each, ast.FunctionDef) and each.name == "__call__"]
    classes = {cls.name for cls, each in called if agent_candidates([_without_self(each)])}
    calls = ((node, node.value) for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    return [ast.unparse(node.targets[0]) for node, call in calls if ast.unparse(call.func) in classes]


def _without_self(method: ast.FunctionDef) -> ast.FunctionDef:
    method = copy.deepcopy(method)
    del method.args.args[:1]
    return method


def _refuse_filled_file(filled: Mapping[str, str], file: str, instead: str = "") -> None:
    """Raises ValueError if a cell fills in a file."""
    if file in filled:
        check = command(f"build --check {file}", f'check("{file}")')
        raise ValueError(f"{filled[file]} writes {file}: run the page, then {check}{instead}")


def _find_named_agent(path: str, statements: Sequence[Statement], files: Sequence[File], name: str) -> ChosenAgent:
    """The agent of that name: a cell's, as of where the page writes it unless it is defined again; else of a file."""
    choices = _find_agents_in_files(statements, files)
    written = [choice for choice in choices if choice.name == name and choice.file is None]
    if any(name in each.reads.binds for each in statements):
        later = statements[written[-1].end :] if written else ()
        is_again = any(isinstance(each.node, FUNCTIONS) and each.node.name == name for each in later)
        return written[-1] if written and not is_again else ChosenAgent(name, len(statements))
    inside = [file for file in files if name in _functions_in(file)]
    if inside:
        return ChosenAgent(name, inside[-1].end, inside[-1], inside[-1].name, inside[-1].text)
    bound = sorted(set[str]().union(*(each.reads.binds for each in statements), *map(_functions_in, files)) - {"*"})
    close = difflib.get_close_matches(name, bound, 1)
    raise ValueError(f"{path}: no cell defines {name}{f': did you mean {close[0]}?' if close else ''}")


def _functions_in(file: File) -> set[str]:
    tree = _tree_of(file)
    return {each.name for each in tree.body if isinstance(each, FUNCTIONS)} if tree else set()


def _tree_of(file: File) -> ast.Module | None:
    try:
        return ast.parse(file.text) if file.name.endswith(".py") else None
    except (SyntaxError, ValueError):
        return None


def _find_agents_in_files(statements: Sequence[Statement], files: Sequence[File]) -> Iterator[ChosenAgent]:
    """The agents that a page writes to files."""
    for file in files:
        tree, is_usual = _tree_of(file), PurePosixPath(file.name).name in USUAL
        if is_usual or (tree and agent_candidates(tree.body)):
            name = agent_in(tree) if tree else "agent"
            yield ChosenAgent(name, file.end, file, PurePosixPath(file.name).name, file.text)
    names = names_of([each.node for each in statements])
    takers = {name for name, function in names.functions.items() if "getsource" in ast.unparse(function)}
    takers = (takers | {"getsource", "write_agent_to_file"}) - _source_changers(names)
    known = names.functions.keys() | {name for name, module in names.imported.items() if "." in module}
    others = [each for each in statements if isinstance(each.node, ast.ClassDef) or _is_alias(each.node)]
    known |= set().union(*(each.reads.binds for each in others))
    for each in statements:
        mentioned = list(dict.fromkeys(_names_that_run(each.node)))
        written = [name for name in mentioned if name in known - takers]
        if written and not takers.isdisjoint(mentioned):
            agents = agent_candidates([names.functions[name] for name in written if name in names.functions])
            own = [each for each in statements[: each.number] if not isinstance(each.node, IMPORTS)]
            before = {name: each.text for each in own for name in each.reads.binds}
            text = "\n\n".join(before[name] for name in written if name in before) + "\n"
            yield ChosenAgent((agents or written)[-1], each.number, None, _target_of(each.node), text)


def _find_filled_files(statements: Sequence[Statement]) -> dict[str, str]:
    """Python files that cells write by open() or write_text(): what they hold, only running them tells -> the cell."""
    values, texts = dict[str, str](), dict[str, str]()
    changing = _source_changers(names_of([each.node for each in statements]))
    for each in statements:
        code = ast.unparse(each.node)
        if not changing.isdisjoint(_names_that_run(each.node)):
            texts[_target_of(each.node)] = each.places[0].rpartition(", line ")[0]
        name, _, value = code.partition(" = ")
        values[name] = value
        for match in WRITING.finditer(code if "getsource" not in code else ""):
            path = match[1] or match[2]
            files = re.findall(r"([\w.-]+\.py)'", values.get(path, path))
            texts |= dict.fromkeys(files, each.places[0].rpartition(", line ")[0])
    return texts


def _source_changers(names: Names) -> set[str]:
    """Functions that take an agent's source and change it."""
    codes = {name: ast.unparse(function) for name, function in names.functions.items()}
    return {name for name, code in codes.items() if "getsource" in code and CHANGING.search(code)}


def _is_alias(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Lambda)


def _names_that_run(node: ast.AST) -> Iterator[str]:
    """The names in a statement that runs, but for what it only shows."""
    is_shown = isinstance(node, ast.Call) and root_name(node.func) in ("print", "display") and not node.keywords
    if is_shown or isinstance(node, DEFINITIONS):
        return
    if isinstance(node, ast.Name | ast.Attribute):
        yield node.id if isinstance(node, ast.Name) else node.attr
    for child in ast.iter_child_nodes(node):
        yield from _names_that_run(child)


def _target_of(node: ast.stmt) -> str:
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return next((PurePosixPath(text).name for text in texts if text.endswith(".py")), TARGET)
