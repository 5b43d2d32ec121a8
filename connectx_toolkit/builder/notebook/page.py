"""An agent out of a notebook's page, without running it: a file with the definitions that the agent needs."""

import ast
import difflib
import importlib
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from connectx_toolkit.builder.notebook.cells import Cell, cells_of
from connectx_toolkit.builder.notebook.changes import changed_by, find_effects, names_of
from connectx_toolkit.builder.notebook.chosen import Choice, File, choose
from connectx_toolkit.builder.notebook.old_numpy import modernised
from connectx_toolkit.builder.notebook.reads import IMPORTS, run_at_once
from connectx_toolkit.builder.notebook.slicer import Program, Slice, Statement, statements_of
from connectx_toolkit.builder.notebook.values import Judge
from connectx_toolkit.builder.notebook.written import AGENT, Written, composed
from connectx_toolkit.builder.source.module import Project, read_source, star_names
from connectx_toolkit.builder.source.refusals import Refusal, Refused
from connectx_toolkit.builder.source.text import first_line

KAGGLE = "/kaggle/working/"
COURSE = "learntools"  # checks a lesson's answers, and brings nothing that an agent may use
# Calls that change how a module works for all that use it, such as sys.setrecursionlimit.
SETTING = re.compile(r"set_(?!printoptions|style|theme|trace)\w+|setrecursionlimit|seterr|use_deterministic_\w+")
RUN = re.compile(r"^\s*(?:%run|%load|get_ipython\(\)\.run_line_magic\('run')", re.MULTILINE)
ONLY_THERE = {"display", "get_ipython", "In", "Out", "exit", "quit"}  # names that a notebook has without defining them


def from_page(path: Path, name: str | None, folder: Path) -> Written:
    """Writes the agent of a page into a folder.

    Args:
        path: a notebook (.ipynb), or the script that nbconvert makes of one.
        name: of the agent's function; None finds the one that is meant.
        folder: an empty one, for AGENT and the files that cells write.

    Raises:
        Refused: with the cell and line of all that would play otherwise.
        ValueError: it is no notebook, or has no such function, or several that may be meant.
        OSError: the page cannot be read, or the folder not be written.
    """
    try:
        return _from_cells(cells_of(path), path, name, folder)
    except RecursionError:
        raise ValueError(f"{path}: its functions call each other too deeply to be followed") from None


def _from_cells(cells: Sequence[Cell], path: Path, name: str | None, folder: Path) -> Written:
    statements, files = _parts(cells)
    choice = choose(path.name, statements, files, name)
    root = path.resolve().parent
    _write_files(_beside(files, statements, choice, any("reload" in cell.text for cell in cells)), folder)
    project = Project((folder, root), frozenset())
    counted = _counted(statements[: choice.end], project)
    program = Program(counted, (choice.name,), lambda name: _tree_of(name, project))
    if choice.file:
        text, places = choice.file.text, _places_of(choice.file)
        notes = list[str]()
        text, rewritten = modernised(text, names_of(_parsed(choice.file, path).body).qualified, places)
    else:
        found = _sliced(program, choice.name, cells, path)
        text, places, rewritten = _text(program, found, choice.name, path)
        notes = _notes(program, found, choice.name)
    (folder / AGENT).write_text(text, encoding="utf-8", newline="\n")
    return Written(folder / AGENT, choice.name, root, places, [*notes, *rewritten])


def as_page_writes_it(path: Path, name: str | None) -> tuple[str, str]:
    """(name, text) of the submission that a page itself writes, by %%writefile or getsource, as it writes it.

    Raises:
        ValueError, OSError: as ``from_page``; or it writes none.
    """
    statements, files = _parts(cells_of(path))
    choice = choose(path.name, statements, files, name)
    if not choice.target:
        raise ValueError(
            f"{path} writes no submission that could be checked: build {path}:{choice.name} without --check"
        )
    if choice.file:
        return choice.target, choice.file.text
    known = {name: each.text for each in statements[: choice.end] for name in each.reads.binds}
    return choice.target, "\n\n".join(known[name] for name in choice.sources if name in known) + "\n"


def _parts(cells: Sequence[Cell]) -> tuple[list[Statement], list[File]]:
    """The statements of a page's cells, and the files that its cells write, each as often as it is written."""
    statements, files = list[Statement](), list[File]()
    for cell in cells:
        if cell.file:
            before = [file.cells for file in files if cell.is_more and file.name == cell.file][-1:]
            files.append(File(cell.file, (*sum(before, ()), cell), len(statements)))
        elif not cell.fault:
            places = {line: (cell.place(line), cell.where(line)) for line in range(1, cell.code.count("\n") + 2)}
            for each in statements_of(cell.code, places, statements):
                each.number = len(statements)
                statements.append(each)
    return statements, files


def _beside(files: Sequence[File], statements: Sequence[Statement], choice: Choice, reloads: bool) -> list[File]:
    """The files that are there for the agent: a module that was imported stays as it is when it is written again."""
    others = [file for file in files if file.end <= choice.end and not (choice.file and file.name == choice.file.name)]
    return [file for file in others if reloads or not _is_imported(file, statements[: file.end])]


def _is_imported(file: File, statements: Sequence[Statement]) -> bool:
    module = file.name.removesuffix(".py").replace("/", ".")
    nodes = [node for each in statements for node in run_at_once(each.node)]
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return module in imported | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}


def _write_files(files: Sequence[File], folder: Path) -> None:
    """Writes the files of %%writefile that can lie beside the agent."""
    for file in files:
        name = PurePosixPath(file.name.removeprefix(KAGGLE))
        if not name.is_absolute() and ".." not in name.parts and str(name) not in (AGENT, "."):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(file.text, encoding="utf-8", newline="\n")


def _tree_of(module: str, project: Project) -> ast.Module | None:
    """The source of a module beside the notebook; None if there is none that parses."""
    path = project.find(module)
    try:
        return ast.parse(read_source(path)) if path and path.is_file() else None
    except (SyntaxError, ValueError, Refused):
        return None  # the builder says what is wrong


def _counted(statements: Sequence[Statement], project: Project) -> list[Statement]:
    """The statements that count, with what a star import of one's own module binds in place of the star."""
    found = list[Statement]()
    for each in statements:
        node = each.node
        if isinstance(node, ast.ImportFrom) and "*" in each.reads.binds and node.module:
            if node.module.split(".")[0] == COURSE:
                continue
            if project.find(node.module):
                each.reads = each.reads._replace(binds=frozenset(star_names(node.module, project)))
        found.append(each)
    return found


def _sliced(program: Program, name: str, cells: Sequence[Cell], path: Path) -> Slice:
    """What the agent needs. Raises Refused if some of it is not there, or would be another value."""
    found = program.needed(name)
    found = program.needed(name, _settings(program, found))
    judge = Judge(program, name)
    refusals = [(each.places[0], why) for each, why in judge.refusals(found)]
    refusals += [
        _absent(program, missing, reader, cells, path)
        for missing, reader, _ in found.missing
        if not _comes_by_star(program, found, missing)
    ]
    if refusals:
        raise Refused([Refusal(path, 1, why, place) for place, why in dict.fromkeys(refusals)])
    return found


def _settings(program: Program, found: Slice) -> list[Statement]:
    """The statements that set up a module which the agent uses."""
    used = {name for number in found.needs for name in program.statements[number].reads.binds}
    used = {name for name in used if name in program.names.imported} | {"sys"}
    return [each for each in program.statements if isinstance(each.node, ast.Expr) and _sets(each.node, used)]


def _sets(node: ast.Expr, modules: Collection[str]) -> bool:
    call = node.value
    first, _, last = ast.unparse(call.func).partition(".") if isinstance(call, ast.Call) else ("", "", "")
    return first in modules and bool(SETTING.fullmatch(last.rpartition(".")[2]))


def _comes_by_star(program: Program, found: Slice, name: str) -> bool:
    """Whether a star import of a library may bind a name; of Python's own modules that is looked up."""
    modules = [
        node.module or ""
        for number in found.needs
        if isinstance(node := program.statements[number].node, ast.ImportFrom) and node.names[0].name == "*"
    ]
    return any(
        hasattr(importlib.import_module(module), name) if module in sys.stdlib_module_names else True
        for module in modules
    )


def _absent(program: Program, name: str, reader: Statement, cells: Sequence[Cell], path: Path) -> tuple[str, str]:
    """(place, reason) for a name that no cell defines."""
    first = first_line(reader.node)
    lines = [node.lineno for node in ast.walk(reader.node) if isinstance(node, ast.Name) and node.id == name]
    place = reader.places[min(lines, default=first) - first]
    later = next((each for each in program.statements if name in each.reads.binds), None)
    if later:
        return place, f"{name} is used before {later.where} defines it: Run All would stop here"
    pattern = re.compile(rf"\b(?:def|class|import|as)\s+{name}\b|^\s*{name}\s*[=,:]", re.MULTILINE)
    for cell in cells:
        if cell.fault and pattern.search(cell.text):
            fault = cell.fault if cell.fault.startswith("is ") else f"has a {cell.fault}"
            return place, f"{name} is not defined: {cell.place(cell.fault_line)}, which may do so, {fault}"
    if runs := next((cell for cell in cells if RUN.search(cell.text)), None):
        return place, f"{name} is not defined: if what {runs.place(1)} runs by %run does it, import it from there"
    if name in ONLY_THERE:
        return place, f"{name} is the notebook's own, which Kaggle's judge does not have: leave it out"
    known = sorted(set[str]().union(*(each.reads.binds for each in program.statements)) - {"*"})
    close = difflib.get_close_matches(name, known, 1)
    cure = f": did you mean {close[0]}?" if close else ""
    if not cure and any(COURSE in cell.code for cell in cells):
        cure = f"; if {COURSE} brought it, import or define it yourself: Kaggle's judge may lack {COURSE}"
    return place, f"{name} is used, and no cell defines it{cure}"


def _text(program: Program, found: Slice, name: str, path: Path) -> tuple[str, dict[int, str], list[str]]:
    """The file, the places of its lines, and what was replaced in it."""
    parts, rewritten = list[tuple[str, list[str]]](), list[str]()
    for number, need in found.needs.items():
        each = program.statements[number]
        text = _pruned(each, need.names)
        text, own = modernised(text, program.names.qualified, dict(enumerate(each.places, 1)))
        rewritten += own
        parts.append((text, each.places))
    parts.sort(key=lambda part: not part[0].startswith("from __future__"))
    cells = dict.fromkeys(program.statements[number].where for number in found.needs)
    text, places = composed(f'"""{name} of {path.name}: {", ".join(cells)}."""', parts)
    return text, places, list(dict.fromkeys(rewritten))


def _pruned(each: Statement, wanted: set[str]) -> str:
    """A statement; an import without the names that nothing needs, and instead of a star with those of one's own module
    that are needed."""
    node = each.node
    if not isinstance(node, IMPORTS):
        return each.text
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        if "*" in each.reads.binds:
            return each.text
        names = [ast.alias(name) for name in sorted(wanted & each.reads.binds)]
    else:
        names = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in wanted]
    if not names or (len(names) == len(node.names) and names == node.names):
        return each.text
    pruned = ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
    return ast.unparse(pruned)


def _places_of(file: File) -> dict[int, str]:
    places = [cell.place(line) for cell in file.cells for line in range(1, cell.code.count("\n") + 1)]
    return dict(enumerate(places, 1))


def _parsed(file: File, path: Path) -> ast.Module:
    try:
        return ast.parse(file.text)
    except (SyntaxError, ValueError) as fault:
        place = _places_of(file).get(getattr(fault, "lineno", None) or 1, "")
        why = f"syntax error in {file.name}: {getattr(fault, 'msg', fault)}"
        raise Refused([Refusal(path, 1, why, place)]) from None


def _notes(program: Program, found: Slice, name: str) -> list[str]:
    """What starts anew in each game, and what is read of the machine."""
    program.names.but = ()
    find_effects(program.names)
    changed = changed_by(ast.parse(f"{name}(0, 0)").body[0], program.names)
    kept = {number: program.statements[number] for number in found.needs}
    environment = [
        f"{each.places[0]}: it reads the environment, and the judge's variables are not known"
        for each in kept.values()
        if {"os.environ", "os.getenv"} & {program.names.qualified(node) for node in run_at_once(each.node)}
    ]
    return environment + [
        f"{each.places[0]}: {state} changes while the agent plays: it begins as this cell makes it"
        for state in sorted(changed & program.names.values)
        if (each := next((each for each in kept.values() if state in each.reads.binds), None))
    ]
