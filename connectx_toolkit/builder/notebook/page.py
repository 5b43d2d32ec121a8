"""Writes an agent's files of a notebook's page without running it: the page up to the agent, less what shows or plays.

Every statement stays that binds a needed name, or mentions a needed value, in the same order. Nothing is proved here.
The builder loads the file twice with other seeds, and runs the page's own cells: what was drawn or trained plays
otherwise, and so does what lacks something (see ``connectx_toolkit.builder.comparison``).
"""

import ast
import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath

from connectx_toolkit.builder.notebook.cells import SHELL, Cell, cells_of
from connectx_toolkit.builder.notebook.chosen import File, choose_agent
from connectx_toolkit.builder.notebook.reads import (
    BUILTINS,
    DEFINITIONS,
    IMPORTS,
    names_beside,
    outside_functions,
    reads_of,
    root_name,
)
from connectx_toolkit.builder.notebook.statements import Statement, given_again, is_future, names_of, statements_of
from connectx_toolkit.builder.notebook.written import AGENT_PY, Written, compose_source
from connectx_toolkit.builder.source.refusals import Refusal, Refused
from connectx_toolkit.builder.source.text import first_line
from connectx_toolkit.kaggle.dependencies import added_folders, find_module

IN_CELL = re.compile(r"(, cell \d+), line \d+$")
KAGGLE = "/kaggle/working/"
ONLY_THERE = {"display", "get_ipython", "In", "Out", "exit", "quit"}  # names that a notebook has without defining them
COURSE_PACKAGE = "learntools"  # checks a lesson's answers, and brings nothing that an agent may use
OF_COURSE = re.compile(rf"from {COURSE_PACKAGE}\b")
SETTING = re.compile(r"(?:manual_)?seed(?:_all)?|set_(?!printoptions|style|theme|trace)\w+|setrecursionlimit|seterr")
SHOWING = {"print", "display", "show", "plot", "imshow", "head", "describe", "render"}
PLAYING = {"run", "reset", "render", "train", "evaluate", "play"}  # of an environment that make() gave


class Page:
    """The statements up to the agent, and which of them it needs."""

    def __init__(self, statements: Sequence[Statement], agent: str, is_own: Callable[[str], bool]):
        self.is_own = is_own
        self.agent, self.statements = agent, [each for each in statements if not OF_COURSE.match(each.text)]
        nodes = [each.node for each in self.statements]
        self.names = names_of(nodes)
        self.reached = {name: self._reads_through(name) for name in self.names.functions if name != agent}
        self.defined = _names_bound(each for each in self.statements if isinstance(each.node, DEFINITIONS))
        self.values = _names_bound(each for each in self.statements if not isinstance(each.node, DEFINITIONS | IMPORTS))
        self.values |= {name for name, module in self.names.imported.items() if is_own(module)}
        self.values |= set().union(*map(_roots_stored, self.statements))
        self.kept, self.wanted = set[int](), {agent}

    def _reads_through(self, name: str) -> set[str]:
        """The names that a function of the page reads, or those that it calls."""
        reached, pending = set[str](), [name]
        while pending:
            function = self.names.functions.get(pending.pop())
            reads = reads_of(function) if function else None
            new = (reads.later | reads.called | reads.now) - reached - {self.agent} if reads else set()
            reached |= new
            pending += new
        return reached

    def mentions_of(self, each: Statement) -> set[str]:
        """The names that it reads as it runs, and that the functions read which it mentions."""
        own = each.reads.now | _roots_stored(each)
        reached = set[str]().union(*(self.reached.get(name, set()) for name in own))
        return {*own} | reached | (self.wanted if reached & {"globals", "exec"} else set())

    def is_kept(self, each: Statement) -> bool:
        binds, node = each.reads.binds, each.node
        modules = {self.names.imported[name].split(".")[0] for name in self.wanted & self.names.imported.keys()}
        stored = {name for name in _roots_stored(each) if self.names.imported.get(name, "-").split(".")[0] in modules}
        if isinstance(node, IMPORTS) and any(map(self.is_own, _modules_of(node))):
            return True  # it may add to another
        if is_future(node) or "*" in binds or binds & self.wanted or _roots_stored(each) & self.wanted or stored:
            return True
        call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        last = self.names.full_name(call.func).rpartition(".")[2] if call else ""
        if call and SETTING.fullmatch(last) and root_name(call.func) in self.names.imported:
            return True
        if isinstance(node, DEFINITIONS) and each.is_plain:  # classes may ask for those below them, code for all names
            bases = [name for base in getattr(node, "bases", ()) if (name := root_name(base)) in self.wanted]
            return bool(bases) or bool(self.wanted & {"globals", "exec", "eval"})
        is_played = call is not None and root_name(call.func) in self.names.environments and last in PLAYING
        is_idle = last in SHOWING or is_played
        return not each.is_plain and not is_idle and bool(self.mentions_of(each) & self.wanted & self.values)

    def text_of(self, each: Statement) -> str:
        """Its text; an import without the names that nothing needs."""
        node = each.node
        if not isinstance(node, IMPORTS) or node.names[0].name == "*" or is_future(node):
            return each.text
        names = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in self.wanted]
        if isinstance(node, ast.Import):
            names = [alias for alias in node.names if alias in names or self.is_own(alias.name)]
        pruned = ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
        return each.text if len(names) in (0, len(node.names)) else ast.unparse(pruned)

    def select_statements(self) -> list[Statement]:
        """The needed statements, in order."""
        size = -1
        while size != len(self.kept):
            size = len(self.kept)
            for each in self.statements:
                if each.number not in self.kept and self.is_kept(each):
                    self.kept.add(each.number)
                    self.wanted |= each.reads.now | each.reads.later | (set() if each.is_plain else each.reads.binds)
        return [each for each in self.statements if each.number in self.kept]

    def notes(self, kept: Sequence[Statement]) -> list[str]:
        """What depends on the machine, and which values functions change, as far as their text shows."""
        lines, changed = list[str](), set[str]()
        classes = (each for each in kept if isinstance(each.node, ast.ClassDef))
        called = {self.agent, *self._reads_through(self.agent)}.union(*(each.reads.later for each in classes))
        for each in kept:
            if any(self.names.full_name(node) in ("os.environ", "os.getenv") for node in ast.walk(each.node)):
                lines.append(f"{each.places[0]}: it reads the environment, and the judge's variables are not known")
            if isinstance(each.node, DEFINITIONS) and each.reads.binds & called:
                changed |= _store_targets(ast.walk(each.node)) | each.reads.called
        last = {name: each for each in kept if not each.is_plain for name in each.reads.binds}
        begins = "changes while the agent plays: it begins as this cell makes it"
        return lines + [f"{last[name].places[0]}: {name} {begins}" for name in sorted(changed & last.keys())]

    def left_out(self) -> tuple[list[str], list[str]]:
        """What would run and is not needed, as "lesson.ipynb, cell 2, line 1: TEXT"; what of it mentions what is."""
        entries, touching = list[str](), list[str]()
        for each in self.statements:
            is_comment = isinstance(each.node, ast.Expr) and isinstance(each.node.value, ast.Constant)
            if each.number not in self.kept and not each.is_plain and not is_comment:
                entries.append(f"{each.places[0]}: {each.text.splitlines()[0]:.60}")
                is_touching = each.reads.now & (self.wanted - {self.agent}) & (self.values | self.defined)
                touching += entries[-1:] if is_touching else []
        return entries, touching

    def unbound_names(self) -> list[tuple[str, str]]:
        """(place, name) of what kept statements read and none binds."""
        missing, kept = list[tuple[str, str]](), [each for each in self.statements if each.number in self.kept]
        bound = set().union(*(each.reads.binds | each.reads.called | each.reads.perhaps for each in kept)) | BUILTINS
        last = {name: each.number for each in kept if each.is_plain for name in each.reads.binds}
        for each in kept:
            is_old = each.is_plain and all(last[name] != each.number for name in each.reads.binds)  # defined again
            for name in sorted((each.reads.now | (set() if is_old else each.reads.later)) - bound):
                lines = [node.lineno for node in ast.walk(each.node) if isinstance(node, ast.Name) and node.id == name]
                place = each.places[min(lines, default=first_line(each.node)) - first_line(each.node)]
                missing.append((place, name))
        return missing

    def why_unbound(self, name: str, cells: Sequence[Cell]) -> str:
        """Why no statement binds a name, and the cure."""
        if name == SHELL:
            return "the output of a command is used, and Kaggle does not run it: write the value into a cell"
        if name in ONLY_THERE:
            return f"{name} is the notebook's own, which Kaggle's judge does not have: leave it out"
        pattern = re.compile(rf"\b(?:def|class|import|as)\s+{name}\b|^\s*{name}\s*[=,:]", re.MULTILINE)
        hints = [f": {cell.fault}" for cell in cells if cell.fault and pattern.search(cell.text)]
        beside = names_beside(name, (each.node for each in self.statements))
        close = difflib.get_close_matches(name, sorted(_names_bound(self.statements) | beside), 1)
        hints += [f": did you mean {each}?" for each in close]
        sources = [word for word in (COURSE_PACKAGE, "%run") if any(word in cell.text for cell in cells)]
        hints += [f"; if {word} brought it, import it yourself" for word in sources]
        return f"{name} is used, and no cell defines it{''.join(hints[:1])}"


def _names_bound(statements: Iterable[Statement]) -> set[str]:
    return set[str]().union(*(each.reads.binds for each in statements))


def _store_targets(nodes: Iterable[ast.AST]) -> set[str]:
    """The names X of X.a = ..., X[0] = ..., del X.a and setattr(X, ...)."""
    names = set[str]()
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(root_name(node))
        elif isinstance(node, ast.Call) and root_name(node.func) in ("setattr", "delattr"):
            names |= set(map(root_name, node.args[:1]))
    return names - {""}


def _modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.name for alias in node.names]
    return names if isinstance(node, ast.Import) else [node.module or ""]


def _roots_stored(each: Statement) -> set[str]:
    return _store_targets(outside_functions(each.node))


def from_page(path: Path, name: str | None, folder: Path) -> Written:
    """Writes the agent of a page into an empty folder. Raises Refused, ValueError, OSError."""
    cells = cells_of(path)
    statements, files = _read_cells(cells)
    choice, home = choose_agent(path.name, statements, files, name), path.resolve().parent
    statements = statements[: choice.end]
    _write_files(files, choice.end, any("reload" in cell.text for cell in cells), statements, folder)
    if choice.file:  # a page of its own
        try:
            statements = statements_of(choice.file.text, choice.file.places)
        except SyntaxError as fault:
            place = choice.file.places[min(fault.lineno or 1, len(choice.file.places)) - 1]
            why = f"syntax error in {choice.target}: {fault.msg}"
            raise Refused([Refusal(path, 1, why, place)]) from None
    folders = tuple(added_folders((node for each in statements for node in outside_functions(each.node)), home))
    page = Page(statements, choice.name, lambda name: bool(find_module((folder, home, *folders), name.split(".")[0])))
    kept = page.select_statements()
    facts = _check_bound(page, kept, cells, path)
    old_names, notes = given_again(kept)
    kept.sort(key=lambda each: not is_future(each.node))
    parts = [(page.text_of(each), each.places) for each in kept]
    parts.insert(sum(is_future(each.node) for each in kept), (old_names, []))
    text, where = compose_source(f'"""{choice.name} of {path.name}."""', filter(any, parts))
    (folder / AGENT_PY).write_text(text, encoding="utf-8", newline="\n")
    script = _write_script(page, path.name, "submission" if choice.file else "__main__", folder)
    left_out, touching = page.left_out()
    notes = [*dict.fromkeys([*page.notes(kept), *notes, *facts, *(f"left out: {each}" for each in touching)])]
    return Written(folder / AGENT_PY, choice.name, home, where, notes, "", folders, script, tuple(left_out))


def _check_bound(page: Page, kept: Sequence[Statement], cells: Sequence[Cell], path: Path) -> list[str]:
    """Names that only code may bind. Raises Refused for those that nothing binds."""
    missing, binders = dict.fromkeys(page.unbound_names()), [each for each in kept if "*" in each.reads.binds]
    if missing and not binders:
        raise Refused([Refusal(path, 1, page.why_unbound(name, cells), place) for place, name in missing])
    is_star, shown = any(isinstance(each.node, IMPORTS) for each in binders), "\n".join(each.text for each in binders)
    hidden = [(place, name) for place, name in missing if not (is_star or re.search(rf"\b{name}\b", shown))]
    return [f"{name}: no cell defines it by a plain assignment ({place})" for place, name in hidden]


def _write_script(page: Page, name: str, module: str, folder: Path) -> Path:
    """Writes what runs the page's cells as they are. ``module``: of the agent."""
    script, texts = folder / "cells_of_notebook.py", list[tuple[str, str]]()
    for cell, own in groupby(page.statements, lambda each: IN_CELL.sub(r"\1", each.places[0])):
        text = ""
        for each in own:  # in its own line, by which people know it
            text += "\n" * (int(each.places[0].rpartition(" ")[2]) - 1 - text.count("\n")) + each.text + "\n"
        texts.append((cell, text))
    old_names, _ = given_again(page.statements)
    facts = {"name": name, "agent": page.agent, "module": module, "old_names": old_names, "left": LEFT}
    script.write_text(CELLS_SCRIPT.format(**facts, cells=texts), encoding="utf-8")
    return script


LEFT = "files_of_notebook"  # a folder for the files that the cells change, as they leave them the first time
CELLS_SCRIPT = """# The cells of {name}, as Run All runs them; that a cell fails is noted.
import codeop
import json
import linecache
import os
import sys
import types
from pathlib import Path

{old_names}
os.environ.setdefault("MPLBACKEND", "Agg")
compiled, failed = codeop.Compile(), []
before = {{path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}}
page = sys.modules["__main__"] = types.ModuleType("{module}")
page.display = lambda *shown, **options: None
for place, text in {cells!r}:
    Path(__file__).with_suffix(".at").write_text(place, encoding="utf-8")
    linecache.cache[place] = len(text), None, text.splitlines(True), place
    try:
        exec(compiled(text, place, "exec"), vars(page))
    except (Exception, SystemExit) as fault:
        failed.append(f"{{place}}: {{type(fault).__name__}}: {{fault}}"[:200])
Path(__file__).with_suffix(".json").write_text(json.dumps(failed), encoding="utf-8")
for path, content in before.items():
    left = Path(__file__).parent / "{left}" / path
    if path.is_file() and path.read_bytes() != content and not left.exists():
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(path.read_bytes())
AGENT = page.{agent}
"""


def as_page_writes_it(path: Path, name: str | None) -> tuple[str, str]:
    """(name, text) of the submission that a page itself writes. Raises ValueError, OSError."""
    statements, files = _read_cells(cells_of(path))
    choice = choose_agent(path.name, statements, files, name)
    if not choice.target:
        why = "writes no submission that could be checked"
        raise ValueError(f"{path} {why}: build {path}:{choice.name} instead")
    return choice.target, choice.text


def _read_cells(cells: Sequence[Cell]) -> tuple[list[Statement], list[File]]:
    statements, files = list[Statement](), list[File]()
    for cell in cells:
        if cell.file:
            old = [file for file in files if cell.is_more and file.name == cell.file] or [File("", "", [], 0)]
            text, places = old[-1].text + cell.code, old[-1].places + cell.places
            files.append(File(cell.file, text, places, len(statements)))
        elif not cell.fault:
            statements += statements_of(cell.code, cell.places, statements)
    return statements, files


def _write_files(files: Sequence[File], end: int, reloads: bool, statements: Sequence[Statement], folder: Path) -> None:
    """Writes the files of %%writefile that lie beside the agent; one that was imported stays as it was then."""
    for file in files:
        name = PurePosixPath(file.name.removeprefix(KAGGLE))
        imported = names_of([each.node for each in statements[: file.end]]).imported.values()
        module = ".".join(name.with_suffix("").parts)
        is_old = not reloads and any(f"{each}.".startswith(f"{module}.") for each in imported)
        if file.end <= end and not is_old and not name.is_absolute() and ".." not in name.parts:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(file.text, encoding="utf-8", newline="\n")
