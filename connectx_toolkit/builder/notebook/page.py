"""An agent out of a notebook's page, without running it: the page up to the agent, less what only shows or plays.

Every statement stays that binds a needed name, or mentions a needed value: Run All would run it too, in the same order.
Nothing is proved here. The builder loads the file twice with other seeds: if moves differ, a value was drawn or trained.
"""

import ast
import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from connectx_toolkit.builder.notebook.cells import Cell, cells_of
from connectx_toolkit.builder.notebook.chosen import Choice, File, choose
from connectx_toolkit.builder.notebook.old_numpy import modernised
from connectx_toolkit.builder.notebook.reads import BUILTINS, DEFINITIONS, IMPORTS, outside_functions, reads_of, root
from connectx_toolkit.builder.notebook.statements import Statement, is_future, names_of, statements_of
from connectx_toolkit.builder.notebook.written import AGENT, Written, composed
from connectx_toolkit.builder.source.module import Project
from connectx_toolkit.builder.source.refusals import Refusal, Refused
from connectx_toolkit.builder.source.text import dotted

KAGGLE = "/kaggle/working/"
ONLY_THERE = {"display", "get_ipython", "In", "Out", "exit", "quit"}  # names that a notebook has without defining them
COURSE = "learntools"  # checks a lesson's answers, and brings nothing that an agent may use
SETTING = re.compile(r"(?:manual_)?seed(?:_all)?|set_(?!printoptions|style|theme|trace)\w+|setrecursionlimit|seterr")
SHOWING = {"print", "display", "show", "plot", "imshow", "head", "describe", "render"}
PLAYING = {"run", "reset", "render", "train", "evaluate", "play"}  # of an environment that make() gave


class Page:
    """The statements up to the agent, and which of them it needs."""

    def __init__(self, statements: Sequence[Statement], agent: str, is_own: Callable[[str], bool]):
        self.agent, self.statements = agent, [each for each in statements if not _is_of_course(each.node)]
        self.names = names_of([each.node for each in self.statements])
        plain = {name for each in self.statements if each.is_plain for name in each.reads.binds}
        own = {name for name, module in self.names.imported.items() if is_own(module)}
        made = [each for each in self.statements if not isinstance(each.node, DEFINITIONS | IMPORTS)]
        self.values = set().union(*(each.reads.binds for each in made)) | own
        self.values |= {name for name in plain & set().union(*map(_stored, self.statements))}
        self.reached = {name: self._reached(name) for name in self.names.functions if name != agent}
        self.kept, self.wanted = set[int](), {agent}

    def _reached(self, name: str) -> set[str]:
        """The names that a function of the page reads, or those that it calls."""
        found, pending = set[str](), [name]
        while pending:
            function = self.names.functions.get(pending.pop())
            reads = reads_of(function) if function else None
            new = (reads.later | reads.called | reads.now) - found - {self.agent} if reads else set()
            found |= new
            pending += new
        return found

    def mentioned(self, each: Statement) -> set[str]:
        """The names that it reads as it runs, and that the functions read which it mentions."""
        own = each.reads.now | _stored(each)
        reached = set[str]().union(*(self.reached.get(name, set()) for name in own))
        return own | reached | (self.wanted if reached & {"globals", "exec"} else set())

    def is_kept(self, each: Statement) -> bool:
        binds, node = each.reads.binds, each.node
        modules = {self.names.imported[name].split(".")[0] for name in self.wanted & self.names.imported.keys()}
        stored = {name for name in _stored(each) if self.names.imported.get(name, "-").split(".")[0] in modules}
        if is_future(node) or "*" in binds or binds & self.wanted or _stored(each) & self.wanted or stored:
            return True
        call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        last = self.names.qualified(call.func).rpartition(".")[2] if call else ""
        if call and SETTING.fullmatch(last) and root(call.func) in self.names.imported:
            return True
        is_idle = last in SHOWING or (root(call.func) in self.names.environments and last in PLAYING) if call else False
        return not each.is_plain and not is_idle and bool(self.mentioned(each) & self.wanted & self.values)

    def text_of(self, each: Statement) -> str:
        """Its text; an import without the names that nothing needs."""
        node = each.node
        if not isinstance(node, IMPORTS) or node.names[0].name == "*" or is_future(node):
            return each.text
        names = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in self.wanted]
        pruned = ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
        return each.text if len(names) in (0, len(node.names)) else ast.unparse(pruned)

    def run(self) -> list[Statement]:
        """The needed statements, in order."""
        size = -1
        while size != len(self.kept):
            size = len(self.kept)
            for each in self.statements:
                if each.number not in self.kept and self.is_kept(each):
                    self.kept.add(each.number)
                    self.wanted |= each.reads.now | each.reads.later | (set() if each.is_plain else each.reads.binds)
        return [each for each in self.statements if each.number in self.kept]

    def refusals(self, cells: Sequence[Cell]) -> list[tuple[str, str]]:
        """(place, reason) of names that nothing binds, and of games that were left out and may have filled a value."""
        found = list[tuple[str, str]]()
        for each in self.statements:
            filled = self.mentioned(each) & self.wanted & self.values - self.names.environments - {self.agent}
            if each.number not in self.kept and filled and any(
                isinstance(n, ast.Call) and root(n.func) in self.names.environments for n in ast.walk(each.node)
            ):
                found.append((each.places[0], f"{min(filled)} may be filled by games: {CARRIES.format(self.agent)}"))
        kept = [each for each in self.statements if each.number in self.kept]
        bound = set().union(*(each.reads.binds | each.reads.called | each.reads.perhaps for each in kept)) | BUILTINS
        if any("*" in each.reads.binds for each in kept):
            return found
        last = {name: each.number for each in kept if each.is_plain for name in each.reads.binds}
        for each in kept:
            is_old = each.is_plain and all(last[name] != each.number for name in each.reads.binds)  # defined again
            for name in sorted((each.reads.now | (set() if is_old else each.reads.later)) - bound):
                close = difflib.get_close_matches(name, sorted(bound - BUILTINS), 1)
                cure = f": did you mean {close[0]}?" if close else self._broken(name, cells)
                found.append((each.places[0], f"{name} is used, and no cell defines it{cure}"))
        return found

    def _broken(self, name: str, cells: Sequence[Cell]) -> str:
        pattern = re.compile(rf"\b(?:def|class|import|as)\s+{name}\b|^\s*{name}\s*[=,:]", re.MULTILINE)
        broken = next((cell for cell in cells if cell.fault and pattern.search(cell.text)), None)
        if broken:
            return f": {broken.place(broken.fault_line)}, which may do so, has a {broken.fault}"
        return f"; if {COURSE} brought it, import it yourself" if any(COURSE in cell.code for cell in cells) else ""


CARRIES = "values are not in the notebook's text; build({}) in the notebook carries them"


def _is_of_course(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == COURSE


def _stored(each: Statement) -> set[str]:
    """The names X of X.a = ..., X[0] = ... and del X.a."""
    stores = (n for n in outside_functions(each.node) if isinstance(n, ast.Attribute | ast.Subscript))
    return {root(node) for node in stores if isinstance(node.ctx, ast.Store | ast.Del)} - {""}


def from_page(path: Path, name: str | None, folder: Path) -> Written:
    """Writes the agent of a page into an empty folder. Raises Refused, ValueError, OSError."""
    cells = cells_of(path)
    statements, files = _parts(cells)
    choice, home = choose(path.name, statements, files, name), path.resolve().parent
    _write_files(files, choice, any("reload" in cell.text for cell in cells), statements, folder)
    project = Project((folder, home), frozenset())
    if choice.file:
        parts, notes, qualified = [(choice.file.text, choice.file.places)], [], lambda node: dotted(node, {"np": "numpy"})
        try:
            ast.parse(choice.file.text)
        except SyntaxError as fault:
            place = dict(enumerate(choice.file.places, 1)).get(fault.lineno or 1, "")
            raise Refused([Refusal(path, 1, f"syntax error in {choice.file.name}: {fault.msg}", place)]) from None
    else:
        page = Page(statements[: choice.end], choice.name, lambda module: project.find(module.split(".")[0]) is not None)
        parts, qualified = [(page.text_of(each), each.places) for each in page.run()], page.names.qualified
        if found := page.refusals(cells):
            raise Refused([Refusal(path, 1, why, place) for place, why in dict.fromkeys(found)])
    parts.sort(key=lambda part: not part[0].startswith("from __future__"))
    rewritten = list[str]()
    for number, (text, places) in enumerate(parts):
        new, own = modernised(text, qualified, dict(enumerate(places, 1)))
        parts[number] = new, places
        rewritten += own
    text, places = composed(f'"""{choice.name} of {path.name}."""', parts)
    (folder / AGENT).write_text(text, encoding="utf-8", newline="\n")
    return Written(folder / AGENT, choice.name, home, places, list(dict.fromkeys(rewritten)))


def as_page_writes_it(path: Path, name: str | None) -> tuple[str, str]:
    """(name, text) of the submission that a page itself writes. Raises ValueError, OSError."""
    statements, files = _parts(cells_of(path))
    choice = choose(path.name, statements, files, name)
    if not choice.target:
        why = "writes no submission that could be checked"
        raise ValueError(f"{path} {why}: build {path}:{choice.name} instead")
    if choice.file:
        return choice.target, choice.file.text
    known = {name: each.text for each in statements[: choice.end] for name in each.reads.binds}
    return choice.target, "\n\n".join(known[name] for name in choice.sources if name in known) + "\n"


def _parts(cells: Sequence[Cell]) -> tuple[list[Statement], list[File]]:
    statements, files = list[Statement](), list[File]()
    for cell in cells:
        if cell.file:
            before = [file.cells for file in files if cell.is_more and file.name == cell.file][-1:]
            files.append(File(cell.file, (*sum(before, ()), cell), len(statements)))
        elif not cell.fault:
            places = {line: (cell.place(line), cell.where(line)) for line in range(1, cell.code.count("\n") + 2)}
            statements += statements_of(cell.code, places, statements)
    return statements, files


def _write_files(
    files: Sequence[File], choice: Choice, reloads: bool, statements: Sequence[Statement], folder: Path
) -> None:
    """Writes the files of %%writefile that lie beside the agent; one that was imported stays as it was then."""
    for file in files:
        name, module = PurePosixPath(file.name.removeprefix(KAGGLE)), file.name.removesuffix(".py").replace("/", ".")
        imported = names_of([each.node for each in statements[: file.end]]).imported.values()
        is_old = not reloads and any(f"{each}.".startswith(f"{module}.") for each in imported)
        is_agents = choice.file and file.name == choice.file.name
        if file.end <= choice.end and not is_agents and not is_old and not name.is_absolute() and ".." not in name.parts:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(file.text, encoding="utf-8", newline="\n")
