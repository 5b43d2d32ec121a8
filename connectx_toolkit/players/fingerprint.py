"""Hashes everything that determines an agent's play: its source, the modules that it imports, the data they read."""

import ast
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.carrying import LEFT_OUT, NAMED_TYPES, Uncarried, Values, qualified_name
from connectx_toolkit.builder.notebook.cells import page_named
from connectx_toolkit.builder.notebook.live import from_function
from connectx_toolkit.builder.source.refusals import Refused
from connectx_toolkit.kaggle.archive import BadArchive, contents
from connectx_toolkit.kaggle.dependencies import (
    REACHED,
    Mentions,
    find_module,
    is_installed,
    is_private,
    mentions,
    module_folders,
    named_files,
    on_path,
    together,
)
from connectx_toolkit.players.spec import AgentSpec, callable_of, parse_agent_name, resolve, written_page
from connectx_toolkit.system.files import AGENTS, ROOT, version_of

LIVE_FOLDERS = ("/proc/", "/sys/", "/dev/")  # files there change by themselves
PARSE_TRIES = 10


class _Mentions(NamedTuple):
    """Modules and files that a source names."""

    modules: tuple[tuple[int, str], ...]  # (leading dots, dotted name); "from a import b" may mean a module a.b
    files: Mentions


def _parsed(source: bytes) -> ast.Module:
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
def _mentions(source: bytes) -> _Mentions:
    """The imports of a source, also inside functions, and its strings; nothing if it is not Python."""
    try:
        nodes = list(ast.walk(_parsed(source)))
    except (SyntaxError, ValueError):
        nodes = []
    modules: dict[tuple[int, str], None] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {(0, alias.name): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            modules |= {(node.level, f"{base}.{alias.name}".strip(".")): None for alias in node.names}
    return _Mentions(tuple(modules), mentions(nodes))


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
    sources: dict[Path, Mentions] = {}
    pending, found = [first], dict[Path, None]()
    while pending:
        path = pending.pop()
        if path not in found:
            found[path] = None
            if path == first or path.suffix == ".py":
                named = _mentions(path.read_bytes())
                sources[path] = named.files
                pending += _modules(path, folders, named.modules)
    own = {path: named for path, named in sources.items() if not path.is_relative_to(ROOT / REACHED)}
    every = together(own.values())
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


def fingerprint(spec: AgentSpec) -> str:
    """A hash of everything that determines an agent's play, as far as it can be found.

    It covers, for a file, a notebook or an agent of ours, all files of ``files_of``; for an archive, the files in it;
    for a sparring partner, its base agent and the module that weakens it; for an agent of Kaggle's, the version of the
    package; for a callable, the file that a build would write of it, with all values that it reaches. A callable that
    no file can hold has another hash each time, and a line on standard error says so.

    Raises:
        ValueError: Kaggle could not unpack the archive.
        OSError: a file cannot be read.
    """
    digest = sha256()
    if spec.kind == "kaggle":
        digest.update(f"{spec.target} {version_of('kaggle-environments')}".encode())
    elif spec.kind == "callable":
        digest.update(_callable_digest(spec).encode())
    elif spec.kind == "partner" and (parts := parse_agent_name(spec.target)):
        digest.update(f"{spec.target} {fingerprint(resolve(parts.base))}".encode())
        digest.update(Path(__file__).with_name("graded.py").read_bytes())
    elif spec.is_archive:
        try:
            _add_contents(digest, contents(spec.target))
        except BadArchive as problem:
            raise ValueError(f"{spec.label} cannot be loaded: {problem}") from None
    elif spec.kind == "notebook":
        written = written_page(spec.target)
        _add_files(digest, written.agent, written.root, written.folders)
        digest.update(written.entry.encode())
    else:
        path = Path(spec.target) if spec.kind == "file" else AGENTS / f"{spec.target}.py"
        _add_files(digest, path)
    return digest.hexdigest()


class Unchanged:
    """Agents' files as they are now. They are loaded again before every game, and may be edited between two."""

    def __init__(self, specs: Iterable[AgentSpec]):
        reloaded = [spec for spec in dict.fromkeys(specs) if spec.is_somebodys]
        self._found = {spec: (_stamps(_reloaded_from(spec)), fingerprint(spec)) for spec in reloaded}

    def check(self) -> None:
        """Raises ValueError if an agent is not what it was; reads files only if they were written meanwhile."""
        for spec, (stamps, content) in self._found.items():
            if (new := _stamps(stamps)) != stamps:
                if fingerprint(spec) != content:
                    raise ValueError(f"{spec.label} was changed while it played: give the command again")
                self._found[spec] = new, content


def _reloaded_from(spec: AgentSpec) -> list[Path]:
    """The files that an agent of somebody's own is loaded from: of a notebook, itself and what lies beside it."""
    if spec.kind == "file":
        return files_of(Path(spec.target))
    written, page = written_page(spec.target), page_named(spec.target)
    return [*([page[0]] if page else []), *files_of(written.agent, written.root, written.folders)]


def _stamps(files: Iterable[Path]) -> dict[Path, tuple[int, int] | None]:
    """When each file was written last, in nanoseconds, and its size; None if it is gone."""
    found: dict[Path, tuple[int, int] | None] = {}
    for file in files:
        try:
            stat = file.stat()
            found[file] = stat.st_mtime_ns, stat.st_size
        except OSError:
            found[file] = None
    return found


def _add_files(digest, agent: Path, root: Path | None = None, more: Iterable[Path] = ()) -> None:
    """Adds an agent's files, by name and content; names inside this project are the same in every checkout."""
    files = files_of(agent, root, more)
    bases = [base for base in (agent.parent if root else None, ROOT, root) if base]  # a notebook's folder is temporary
    near = {path: next(filter(path.is_relative_to, bases), root or agent.parent) for path in files}
    named = sorted((relative(path, near[path]), path) for path in files)
    digest.update(files[0].name.encode())
    _add_contents(digest, ((name, path.read_bytes()) for name, path in named))


def relative(path: Path | str, folder: Path | str, system: Any = os.path) -> str:
    """A path with slashes from a folder, or whole where there is no way: to another drive of Windows.

    Args:
        system: the module of such paths.
    """
    try:
        return system.relpath(path, folder).replace(system.sep, "/")
    except ValueError:
        return str(path)


def _add_contents(digest, named: Iterable[tuple[str, bytes]]) -> None:
    for name, content in named:
        digest.update(f"\n{name} {len(content)}\n".encode())
        digest.update(content)


def _callable_digest(spec: AgentSpec) -> str:
    """Of the file that a build would write of a function, with its values and modules, and of those modules' values."""
    digest = sha256()
    with TemporaryDirectory() as folder:
        try:
            written = from_function(callable_of(spec), Path(folder))
            if lost := [fact for fact in written.left_out if LEFT_OUT in fact or "globals()" in fact]:
                raise ValueError(lost[0])
            _add_files(digest, written.agent, written.root)
            loaded = {getattr(module, "__file__", None): module for module in list(sys.modules.values())}
            values = Values(qualified_name, lambda held: "", lambda text: None)
            for file in files_of(written.agent, written.root):
                module = None if file.is_relative_to(ROOT / REACHED) else loaded.get(str(file))
                for name, held in vars(module).items() if module else ():
                    if not isinstance(held, NAMED_TYPES) and not name.startswith("__"):
                        values.add(f"{file} {name}", held, name)
            digest.update(values.digest().encode())
        except (Refused, Uncarried, ValueError) as why:
            text = f"{spec.label} cannot be told from other versions, and its games are not used again: {why}"
            print(" ".join(text.split()), file=sys.stderr)
            return secrets.token_hex()
    return digest.hexdigest()
