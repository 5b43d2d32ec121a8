"""Hashes everything that determines an agent's play: its source, the modules that it imports, the data they read."""

import ast
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from connectx_toolkit.kaggle.dependencies import (
    REACHED,
    Mentions,
    find_module,
    folders_of,
    is_installed,
    is_private,
    mentions_in,
    merge_mentions,
    module_folders,
    named_files,
    on_path,
)
from connectx_toolkit.system.files import ROOT

LIVE_FOLDERS = ("/proc/", "/sys/", "/dev/")  # files there change by themselves
PARSE_TRIES = 10


def _parse_source(source: bytes) -> ast.Module:
    """The source's tree, tried again where Python mistakes another thread's parsing for an error of this one's.

    It checks the depth of the tree by a count that all threads share (cpython issue 106905, seen with 3.11.7). In a
    worker of a cluster the thread of its messages parses, too, when it prints a traceback.

    Raises:
        SyntaxError, ValueError: it is not Python.
    """
    for _ in range(PARSE_TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


@lru_cache(maxsize=512)
def _mentions(source: bytes) -> tuple[tuple[tuple[int, str], ...], Mentions]:
    """The imports of a source, also inside functions, and the files that it names; nothing if it is not Python.

    An import is (leading dots, dotted name): "from a import b" may mean a module a.b.
    """
    try:
        nodes = list(ast.walk(_parse_source(source)))
    except (SyntaxError, ValueError):
        nodes = []
    modules: dict[tuple[int, str], None] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {(0, alias.name): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            modules |= {(node.level, f"{base}.{alias.name}".strip(".")): None for alias in node.names}
    return tuple(modules), mentions_in(nodes)


def files_of(agent: Path, root: Path | None = None, more: Iterable[Path] = ()) -> list[Path]:
    """The files that determine an agent's play, as far as its sources name them; the agent's own file comes first.

    Args:
        root: another folder with its modules and data, as if its file lay there, too.
        more: more such folders.

    They are the modules that it imports, directly or indirectly, except installed packages, and the data files that
    ``connectx_toolkit.kaggle.dependencies`` finds. A file name that is put together at run time is not found.
    """
    first = Path(os.path.abspath(agent))
    folders = [first.parent, *(Path(os.path.abspath(folder)) for folder in filter(None, (root, *more)))]
    folders += folders_of(first)
    sources: dict[Path, Mentions] = {}
    pending, found = [first], dict[Path, None]()
    while pending:
        path = pending.pop()
        if path not in found:
            found[path] = None
            if path == first or path.suffix == ".py":
                modules, sources[path] = _mentions(path.read_bytes())
                pending += _modules(path, folders, modules)
    own = {path: named for path, named in sources.items() if not path.is_relative_to(ROOT / REACHED)}
    every = merge_mentions(own.values())
    for folder in dict.fromkeys([*folders, *(path.parent for path in own)]):
        files = named_files(folder, every)
        found |= {file: None for file, text in files.items() if file.name in text or not is_private(file)}
        others = (Path(os.path.normpath(folder / text)) for text in every.names if os.path.isabs(text) or ".." in text)
        found |= {file: None for file in others if os.path.isfile(file) and not str(file).startswith(LIVE_FOLDERS)}
    for path in sources.keys() - own.keys():  # the toolkit's: no string there names an agent's file
        found |= dict.fromkeys(named_files(path.parent, sources[path]))
    return list(found)


def _modules(path: Path, folders: list[Path], modules: Iterable[tuple[int, str]]) -> Iterator[Path]:
    """The files of the modules that one source of an agent in ``folders`` imports, and of their packages."""
    for level, dotted in modules:
        top, parts = dotted.partition(".")[0], dotted.split(".")
        if not level and top in sys.stdlib_module_names:  # the standard library wins over the path
            continue
        places = [path.parents[level - 1]] if level else module_folders(folders, top)
        places += [] if level or top == REACHED else on_path()
        for depth in range(1, len(parts) + 1):
            module = find_module(places, ".".join(parts[:depth]))
            if module is not None and module.is_file() and not is_installed(str(module)):
                yield Path(os.path.normpath(module))


def add_files(digest: Any, agent: Path, root: Path | None = None, more: Iterable[Path] = ()) -> None:
    """Adds an agent's files, by name and content; names inside this project are the same in every checkout."""
    files = files_of(agent, root, more)
    bases = [base for base in (agent.parent if root else None, ROOT, root) if base]  # a notebook's folder is temporary
    near = {path: next(filter(path.is_relative_to, bases), root or agent.parent) for path in files}
    named = sorted((relative(path, near[path]), path) for path in files)
    digest.update(files[0].name.encode())
    add_contents(digest, ((name, path.read_bytes()) for name, path in named))


def relative(path: Path | str, folder: Path | str, system: Any = os.path) -> str:
    """A path with slashes from a folder, or whole where there is no way: to another drive of Windows.

    Args:
        system: the module of such paths.
    """
    try:
        return system.relpath(path, folder).replace(system.sep, "/")
    except ValueError:
        return str(path)


def add_contents(digest: Any, named: Iterable[tuple[str, bytes]]) -> None:
    for name, content in named:
        digest.update(f"\n{name} {len(content)}\n".encode())
        digest.update(content)


def callable_digest(agent: Callable, label: str) -> str:
    """Of the file that a build would write of a callable, with its values and modules, and of those modules' values.

    A callable that no file can hold has another digest each time, and a line on standard error says so.
    """
    from connectx_toolkit.builder.notebook.carrying import LEFT_OUT, NAMED_TYPES, Uncarried, Values, qualified_name
    from connectx_toolkit.builder.notebook.live import from_function
    from connectx_toolkit.builder.source.refusals import Refused

    digest = sha256()
    with TemporaryDirectory() as folder:
        try:
            written = from_function(agent, Path(folder))
            if lost := [fact for fact in written.left_out if LEFT_OUT in fact or "globals()" in fact]:
                raise ValueError(lost[0])
            add_files(digest, written.agent, written.root)
            loaded = {getattr(module, "__file__", None): module for module in list(sys.modules.values())}
            values = Values(qualified_name, lambda held: "", lambda text: None)
            for file in files_of(written.agent, written.root):
                module = None if file.is_relative_to(ROOT / REACHED) else loaded.get(str(file))
                for name, held in vars(module).items() if module else ():
                    if not isinstance(held, NAMED_TYPES) and not name.startswith("__"):
                        values.add(f"{file} {name}", held, name)
            digest.update(values.digest().encode())
        except (Refused, Uncarried, ValueError) as why:
            text = f"{label} cannot be told from other versions, and its games are not used again: {why}"
            print(" ".join(text.split()), file=sys.stderr)
            return secrets.token_hex()
    return digest.hexdigest()
