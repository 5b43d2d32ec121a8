"""Loads an agent's source that is no submission yet as its built file would be loaded, and says that it needs a build.

``build_submission.py`` takes sources with ``__file__``, relative imports, imports inside functions and data beside
them; Kaggle's loader has none of that for a single file. So such a source is played as it will be when it is built,
and it is said that it has to be.
"""

import ast
import builtins
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.kaggle.agent_function import FUNCTIONS, is_main_test
from connectx_toolkit.kaggle.dependencies import find_module, mentions_in, named_files
from connectx_toolkit.kaggle.remedies import build_it
from connectx_toolkit.kaggle.sandbox import FOLDER
from connectx_toolkit.system.files import AGENTS


def import_name(agent_path: Path) -> tuple[Path, str]:
    """(root folder, dotted name) to import an agent's file with; folders with ``__init__.py`` are packages.

    The toolkit's agents are a package for those who import them, but each file stands alone.
    A file name that is not an identifier, such as "my-agent.py", becomes one that no module beside it has.
    """
    agent_path = agent_path.resolve()
    root, parts = agent_path.parent, [re.sub(r"\W", "_", agent_path.stem)]
    while parts[0] != agent_path.stem and any((root / name).exists() for name in (parts[0], f"{parts[0]}.py")):
        parts[0] += "_"
    while root != AGENTS and (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


def module_of(file: str, code: CodeType | None = None) -> ModuleType:
    """Runs a source as a module with ``__file__`` and a package of its own; exceptions of its code pass through.

    Its folder, and that of its outermost package, are on ``sys.path``. What numba caches of it does not go beside it:
    there its author's own processes would find it, and fail on the name that the module has here.

    ``code``: of the file, if it is compiled already.
    """
    from platformdirs import user_cache_path  # messages about sources do not need it

    os.environ["NUMBA_CACHE_DIR"] = str(user_cache_path("connectx-toolkit") / "numba")
    if numba := sys.modules.get("numba"):
        numba.config.reload_config()
    _, name = import_name(Path(file))
    package, _, _ = name.rpartition(".")
    if package:
        importlib.import_module(package)
    else:  # makes relative imports possible in a single file; the same name each time, by which numba finds its cache
        folder = os.path.dirname(os.path.abspath(file))
        parent = ModuleType(f"source_{sha256(folder.encode()).hexdigest()[:16]}")
        parent.__path__ = [folder]
        sys.modules[parent.__name__] = parent
        package, name = parent.__name__, f"{parent.__name__}.{name}"
    module = sys.modules[name] = ModuleType(name)
    module.__file__, module.__package__ = os.path.abspath(file), package
    exec(code or compile(Path(file).read_bytes(), file, "exec", dont_inherit=True), vars(module))
    return module


class Needs(NamedTuple):
    """What a source needs that only a built file has."""

    words: str = ""  # with its line and the cure; "" if there is nothing
    is_module: bool = False  # whether it has to be loaded as a module; else it only opens a file


def needs_building(file: str) -> Needs:
    """What a source needs that only a built file has.

    What stands in a ``try`` or under a test of ``__file__`` is not needed.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return Needs()  # whoever loads it says what is wrong
    needs, folder = Needs(), Path(file).absolute().parent
    needed = sorted(_needed_nodes(tree), key=lambda each: each[0].lineno)
    has_own_path = "kaggle_simulations" in text
    files_named = {} if has_own_path else named_files(folder, mentions_in(node for node, _ in needed))
    beside = {string: path.relative_to(folder).as_posix() for path, string in reversed(files_named.items())}
    for node, is_late in needed:
        if what := _need_of(node, is_late, folder, text, beside):
            if isinstance(node, ast.Name):  # how a source names its data; a check says what a finished file needs
                return Needs(is_module=True)
            is_module = not isinstance(node, ast.Constant)
            line = f"{os.path.basename(file)}, line {node.lineno}: {what}, which fails on Kaggle as it stands"
            if is_module or not needs.words:
                needs = Needs(f"{line}: {build_it()}. Here it is played as if built", is_module)
            if is_module:
                break
    return needs


def _need_of(node: ast.stmt | ast.expr, is_late: bool, folder: Path, text: str, beside: Mapping[str, str]) -> str:
    """What a node does that a file alone cannot do on Kaggle; "" if it is harmless.

    Args:
        is_late: whether it runs after the load.
        beside: string -> the data file beside the source that it names.
    """
    if isinstance(node, ast.Name) and node.id == "__file__" and isinstance(node.ctx, ast.Load):
        return "names __file__"
    if isinstance(node, ast.ImportFrom) and node.level:
        return "imports from its own package"
    if isinstance(node, ast.Import | ast.ImportFrom) and is_late and "sys.path" not in text:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:  # what is imported at the load, too, is there later
            is_loaded = re.search(rf"^(?:import|from) {re.escape(name)}\b", text, re.MULTILINE)
            if find_module([folder], name.partition(".")[0]) and not is_loaded:
                return f"imports {name} after the load"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in beside:
        return f"names {beside[node.value]}, which lies beside it"
    return ""


def _needed_nodes(tree: ast.AST, is_late: bool = False) -> Iterator[tuple[ast.stmt | ast.expr, bool]]:
    """The statements and expressions that a source cannot do without, and whether they run after the load."""
    for node in ast.iter_child_nodes(tree):
        is_test = isinstance(node, ast.If | ast.IfExp) and "__file__" in ast.unparse(node.test)
        is_ours = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("read_data")  # finds it in each place
        if isinstance(node, ast.Try) or is_test or is_main_test(node) or is_ours:
            continue
        if isinstance(node, ast.stmt | ast.expr):
            yield node, is_late
        yield from _needed_nodes(node, is_late or isinstance(node, FUNCTIONS))


def redirect_paths(find: Callable[[str], str]) -> None:
    """From now on, what opens, lists or looks at a file in this process takes ``find(path)`` in place of a path."""

    def wrap(function: Callable, opens: bool) -> Callable:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            mode = str((*arguments, options.get("mode", "r"))[0]) if opens else ""
            if isinstance(path, str | os.PathLike) and not set(mode) & set("wax+"):
                name = os.fspath(path)
                path = find(name) if isinstance(name, str) else path
            return function(path, *arguments, **options)

        return call

    for module, name in ((builtins, "open"), (io, "open"), *((os, n) for n in ("stat", "listdir", "scandir", "chdir"))):
        setattr(module, name, wrap(getattr(module, name), name == "open"))


def finder_beside(folder: str) -> Callable[[str], str]:
    """Finds what a built file finds: of a path that leads nowhere, the file in ``folder`` that has its name.

    The path may be relative, or in the folder where Kaggle puts a submission.
    """
    stat = os.stat  # not the one that ``redirect_paths`` puts in its place

    def is_there(path: str) -> bool:
        try:
            stat(path)
        except (OSError, ValueError):
            return False
        return True

    def find(path: str) -> str:
        inside = path[len(FOLDER) :].lstrip("/") if f"{path}/".startswith(f"{FOLDER}/") else path
        own = os.path.join(folder, inside)
        may_be_own = inside and not os.path.isabs(inside)  # the folder itself is not here: agents ask for it
        return own if may_be_own and not is_there(path) and is_there(own) else path

    return find
