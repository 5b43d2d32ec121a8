"""Analyses one source file of an agent: its imports, data files, what is refused in it, and its embedded text."""

import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.builder.source import data_files
from connectx_toolkit.builder.source.old_numpy import SET_AGAIN, old_names_in, restoring_lines
from connectx_toolkit.builder.source.refusals import Refusal, Refused, unknown_package
from connectx_toolkit.builder.source.text import Edit, Text, apply_edits, dotted_name
from connectx_toolkit.kaggle.agent_function import is_main_test
from connectx_toolkit.kaggle.dependencies import Mentions, find_module, mentions_in, module_folders
from connectx_toolkit.kaggle.remedies import IN_PUBLIC_IMAGE, KNOWN_PACKAGES
from connectx_toolkit.kaggle.upload import notebook_remedy

NUMBA_DECORATORS = frozenset({"jit", "njit", "vectorize", "guvectorize", "cfunc", "stencil", "jit_module"})
ON_YOUR_WORD = "package {}: taken on your word; if Kaggle lacks it, the load fails there"
PERHAPS_WITHOUT = "package {}: not known to be on Kaggle, where the agent will probably play without it"
USUAL_NAMES = {"np": "numpy", "pd": "pandas"}  # that a star import may bring
UNCHECKED = frozenset({"connectx_core/weights.py", "connectx_core/machine_code.py"})  # open no file of an agent's


class Project(NamedTuple):
    """Where an agent's own modules lie, first its own folder, and which further packages are allowed."""

    folders: tuple[Path, ...]
    extra_packages: frozenset[str]

    def find(self, dotted: str) -> Path | None:
        """The file of a project module, the folder of a package without ``__init__.py``, or None."""
        path = find_module(module_folders(self.folders, dotted), dotted)
        return path if path is None or path.suffix == ".py" or path.is_dir() else None


def read_source(path: Path) -> str:
    """A Python source as text, in any declared encoding, without byte order mark, with line feeds as line ends."""
    try:
        with tokenize.open(path) as file:
            text = file.read()
    except (SyntaxError, UnicodeDecodeError) as fault:
        raise Refused([Refusal(path, 1, f"not readable as Python source: {fault}")]) from None
    if "\0" in text:
        raise Refused([Refusal(path, 1 + text[: text.index("\0")].count("\n"), "a NUL character in the source")])
    return text if text.endswith("\n") or not text else text + "\n"


class Module:
    """One source file: its imports and data files, what is refused in it, and its embedded text."""

    def __init__(self, key: str, path: Path, project: Project):
        self.key, self.path, self.project = key, path, project
        self.text = "" if path.is_dir() else read_source(path)
        try:
            self.tree = ast.parse(self.text, str(path))
        except SyntaxError as fault:
            why = f"syntax error: {fault.msg}{notebook_remedy(self.text)}"
            raise Refused([Refusal(path, fault.lineno or 1, why)]) from None
        except (RecursionError, MemoryError):  # these do not tell the line
            raise Refused([Refusal(path, 1, "nested too deeply for Python to parse it")]) from None
        self.refusals: list[Refusal] = []
        self.notes: list[Refusal] = []
        self.wanted: dict[str, Path] = {}
        self.data: dict[str, tuple[Path, Refusal]] = {}
        self.openings: list[tuple[ast.Call, ast.expr]] = []  # calls that open files, with the path's expression
        self.edits: list[Edit] = []
        self.names: dict[str, str] = {}  # what imports bind: "np" -> "numpy"
        self._span = Text(self.text).span
        dead = _dead_nodes(self.tree)
        self.nodes = [node for node in ast.walk(self.tree) if id(node) not in dead]
        self._want_parents()
        self._read_imports()
        self._read_uses()

        self.old_names = self._read_old_names()

    def refuse(self, node: ast.AST, reason: str) -> None:
        self.refusals.append(Refusal(self.path, getattr(node, "lineno", 1), reason))

    def rewritten(self, opens_files: bool) -> str:
        return apply_edits(self.text, [*self.edits, *(self._path_edits() if opens_files else ())])

    def _path_edits(self) -> Iterator[Edit]:
        texts = [node for node in self.nodes if isinstance(node, ast.JoinedStr)]
        # in f-strings Python 3.11 gives wrong positions
        inside_text = {id(node) for each in texts for node in ast.walk(each) if node is not each}
        for call, path in self.openings:
            if id(path) not in inside_text and not data_files.is_writing(call):
                start, end = self._span(path)
                yield from ((start, start, "__beside__("), (end, end, ")"))

    @property
    def mentions(self) -> Mentions:
        """What its strings name, but for those that ``read_data`` embeds or that are only written."""
        calls = [node for node in self.nodes if isinstance(node, ast.Call) and self._is_read_data(node.func)]
        paths = [path for call, path in self.openings if data_files.is_writing(call)]
        return mentions_in(self.nodes, (node for each in (*calls, *paths) for node in ast.walk(each)))

    @property
    def package(self) -> list[str]:
        return self.key.split("/")[:-1]

    def _want_parents(self) -> None:
        """Adds the module's packages, which run before it."""
        for depth in range(1, len(self.package) + 1):
            dotted = ".".join(self.package[:depth])
            path = self.project.find(dotted)
            if path is not None and path != self.path:
                self.wanted[dotted] = path

    def _read_imports(self) -> None:
        forgiving = _forgiven_imports(self.tree)
        for node in self.nodes:
            if isinstance(node, ast.Import):
                self._read_import(node, id(node) in forgiving)
            elif isinstance(node, ast.ImportFrom):
                self._read_import_from(node, id(node) in forgiving)

    def _is_project(self, node: ast.stmt | ast.expr, dotted: str, forgiving: bool) -> bool:
        """Whether ``dotted`` is a project module, which is then added. Refuses it if it is no known package either."""
        top = dotted.split(".")[0]
        local = self.project.find(top)
        known = top in sys.stdlib_module_names or top in KNOWN_PACKAGES | self.project.extra_packages
        if known and local is not None and local != self.path and not local.is_dir():
            self.refuse(node, f"{local.name} beside the agent has the name of the module {top}: rename it")
        elif local is None and not known and not forgiving:
            self.refuse(node, unknown_package(top, self.path, self.nodes))
        elif local is None:
            self._note_package(node, top)
        if known or local is None:
            return False
        parts = dotted.split(".")
        for depth in range(1, len(parts) + 1):
            path = self.project.find(".".join(parts[:depth]))
            if path is None:
                self.refuse(node, f"no module {dotted} in {local.parent}: only modules there can be embedded")
                break
            self.wanted[".".join(parts[:depth])] = path
        return True

    def _note_package(self, node: ast.stmt | ast.expr, package: str) -> None:
        """Notes the assumption of an import about the judge's packages."""
        if package in self.project.extra_packages:
            text = ON_YOUR_WORD.format(package)
        elif package in IN_PUBLIC_IMAGE:
            text = f"package {package}: in Kaggle's notebook image, not seen on the judge; catch ImportError to be sure"
        elif package in sys.stdlib_module_names or package in KNOWN_PACKAGES:
            return
        else:
            text = PERHAPS_WITHOUT.format(package)
        self.notes.append(Refusal(self.path, node.lineno, text))

    def _read_import(self, node: ast.Import, forgiving: bool) -> None:
        dots, statements, is_changed = "." * len(self.key.split("/")), [], False
        for alias in node.names:
            parent, _, last = alias.name.rpartition(".")
            top = alias.name.split(".")[0]
            self.names[alias.asname or top] = alias.name if alias.asname else top
            renamed = f" as {alias.asname}" if alias.asname else ""
            if not self._is_project(node, alias.name, forgiving):
                statements.append(f"import {alias.name}{renamed}")
                continue
            is_changed = True
            if parent and not alias.asname:  # import a.b loads a.b, but binds a
                statements += [f"from {dots}{parent} import {last} as {top}", f"from {dots} import {top}"]
            else:
                statements.append(f"from {dots}{parent} import {last}{renamed}")
        padding = " \\\n" * ((node.end_lineno or node.lineno) - node.lineno)
        if is_changed:
            self.edits.append((*self._span(node), "; ".join(statements) + padding))

    def _read_import_from(self, node: ast.ImportFrom, forgiving: bool) -> None:
        base = self._base(node)
        if base is None:
            return self.refuse(node, "a relative import from beyond the top of the agent's package: import it by name")
        for alias in node.names:
            self.names[alias.asname or alias.name] = f"{base}.{alias.name}"
        if not base or self._is_project(node, base, forgiving):
            self._want_members(node, base)
        elif node.level:
            self.refuse(node, f"no module {base} in this package")

    def _read_import_by_name(self, call: ast.Call) -> None:
        """Adds what import_module("bot.rules") and import_module(f"bot.rules.{name}") may import of the project."""
        is_import = self.full_name(call.func) == "importlib.import_module" and len(call.args) == 1
        head = (getattr(call.args[0], "values", None) or call.args)[0] if is_import else None
        name = head.value if isinstance(head, ast.Constant) and isinstance(head.value, str) else ""
        top = name.partition(".")[0]
        if not top or self.project.find(top) is None:
            return
        start, end = self._span(call.args[0])
        self.edits += [(start, start, '"." + ('), (end, end, '), __name__.partition(".")[0]')]
        is_whole, (package, _, stem) = head is call.args[0], name.rpartition(".")
        found = self.project.find(package) if package else None
        folder = found if found is None or found.is_dir() else found.parent
        beside = [file.stem for file in folder.glob(f"{stem}*.py") if file.stem != "__init__"] if folder else []
        for each in [name] if is_whole else [f"{package}.{module}" for module in beside]:
            self._is_project(call, each, False)

    def _base(self, node: ast.ImportFrom) -> str | None:
        """The dotted name of the module after ``from``; "" for the agent's root, None for anything above the root."""
        if not node.level:
            return node.module or ""
        if node.level > len(self.package) + 1:
            return None
        anchor = self.package[: len(self.package) - node.level + 1]
        return ".".join([*anchor, *([node.module] if node.module else [])])

    def _want_members(self, node: ast.ImportFrom, base: str) -> None:
        """Adds the submodules that are imported from a project module."""
        names = [alias.name for alias in node.names]
        if names == ["*"] and not base:
            return self.refuse(node, "a star import from the agent's own folder binds nothing: name what you import")
        if names == ["*"]:
            path = self.project.find(base)
            text = path.read_bytes() if path is not None and path.is_file() else b""
            names = [name.decode() for name in re.findall(rb"['\"](\w+)['\"]", text)]  # in __all__, a module too
            self.names = USUAL_NAMES | self.names
        for name in names:
            dotted = f"{base}.{name}".strip(".")
            submodule = self.project.find(dotted)
            if submodule is not None and submodule != self.path:
                self.wanted[dotted] = submodule
        if not node.level:
            self.edits.append(self._relative(node, base))

    def _relative(self, node: ast.ImportFrom, base: str) -> Edit:
        """The edit of the text between ``from`` and ``import``."""
        start, end = self._span(node)
        words = re.compile(r"from\b(.*?)\bimport\b", re.DOTALL).match(self.text, start, end)
        assert words is not None, ast.unparse(node)
        gap = "\\\n" * words.group(1).count("\n")
        return *words.span(1), f" {'.' * len(self.key.split('/'))}{base} {gap}"

    def full_name(self, node: ast.AST) -> str:
        """The dotted name of an expression, resolved by this module's imports; "" if it is not a dotted name."""
        return dotted_name(node, self.names)

    def _read_uses(self) -> None:
        own_names = _bound_names(self.nodes)
        called = {id(node.func) for node in self.nodes if isinstance(node, ast.Call)}
        for node in self.nodes:
            if isinstance(node, ast.Call):
                self._strip_cache(node)
                self._read_import_by_name(node)
                self._read_data_call(node)
                path = data_files.path_of(node, self.full_name, self.names)
                if path is not None and self.key not in UNCHECKED and self.full_name(node.func) not in own_names:
                    self.openings.append((node, path))
            elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called and self._is_read_data(node):
                self.refuse(node, 'read_data must be called where it is named: read_data("file")')

    def _read_old_names(self) -> set[str]:
        """Those of numpy that the module uses and does not set, as a notebook's does."""
        known = restoring_lines(self.text)
        used = old_names_in(reversed(self.nodes), self.names)
        found = {name: node for name, node in used if f".{name} =" not in known}
        for name, node in found.items():
            self.notes.append(Refusal(self.path, getattr(node, "lineno", 1), SET_AGAIN.format(name)))
        return {*found}

    def _strip_cache(self, call: ast.Call) -> None:
        name = self.full_name(call.func).split(".")[-1]
        if name not in NUMBA_DECORATORS:
            return
        for keyword in call.keywords:
            if keyword.arg != "cache":
                continue
            if not isinstance(keyword.value, ast.Constant):
                why = "on the judge no cached kernel is found"
                self.refuse(call, f"cache= of a numba decorator must be a plain True or False: {why}")
            elif keyword.value.value:
                self.edits.append((*self._span(keyword.value), "False"))

    def _is_read_data(self, node: ast.AST) -> bool:
        return self.full_name(node) == "connectx_core.weights.read_data"

    def _read_data_call(self, call: ast.Call) -> None:
        """Records the data file that a ``read_data("name")`` names."""
        if not self._is_read_data(call.func):
            return
        name = call.args[0].value if len(call.args) == 1 and isinstance(call.args[0], ast.Constant) else None
        if not isinstance(name, str):
            return self.refuse(call, 'read_data takes one literal name, as in read_data("weights.npz")')
        parts = [*self.package, *Path(name).parts]
        file = self.path.parent / name
        if Path(name).is_absolute() or ".." in parts:
            self.refuse(call, f"the data file {name!r} must lie beside this source or in a folder below it")
        elif not file.is_file():
            self.refuse(call, f"the data file {file} does not exist")
        else:
            place = Refusal(self.path, call.lineno, name)
            self.data["/".join(part for part in parts if part != ".")] = (file, place)


def _dead_nodes(tree: ast.Module) -> set[int]:
    """The nodes that never run in a submission: bodies of ``if __name__ == "__main__"`` and ``if TYPE_CHECKING``."""
    tests = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    ifs = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    bodies = [each for node in ifs if is_main_test(node) or ast.unparse(node.test) in tests for each in node.body]
    return {id(node) for statement in bodies for node in ast.walk(statement)}


def _forgiven_imports(tree: ast.Module) -> set[int]:
    """The imports inside a ``try`` that catches ImportError: the module works without them."""

    def catches(handler: ast.ExceptHandler) -> bool:
        names = "Exception" if handler.type is None else ast.unparse(handler.type)
        return bool(re.search(r"\b(ImportError|ModuleNotFoundError|Exception|BaseException)\b", names))

    tries = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and any(map(catches, node.handlers))]
    return {id(node) for block in tries for statement in block.body for node in ast.walk(statement)}


def needed_packages(sources: Iterable[bytes]) -> dict[str, list[ast.AST]]:
    """Top-level names that sources import where no handler catches ImportError, with all nodes of the source.

    Sources that are no Python are left out.
    """
    needed: dict[str, list[ast.AST]] = {}
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        without = _forgiven_imports(tree) | _dead_nodes(tree)
        nodes = [node for node in ast.walk(tree) if id(node) not in without]
        for node in nodes:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            needed |= {name.split(".")[0]: nodes for name in names}
    return needed


def _bound_names(nodes: list[ast.AST]) -> set[str]:
    """Every name that the module binds other than by import."""
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return stored | defined | {node.arg for node in nodes if isinstance(node, ast.arg)}
