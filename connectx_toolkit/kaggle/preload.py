"""Imports heavy packages and compiles an agent's file before its process is forked; the agent is charged the time.

The parent of agents' processes (``connectx_toolkit.players``) and the runner of pre-flights use it: torch is imported
once, not in each game. An agent's first process tells which packages of ``HEAVY`` it has imported, and how its file was
loaded; from then on the parent has them ready. The parent runs no code of an agent, and imports installed packages
only. These imports start no thread (torch 2.13, numba 0.68): a thread would be missing in the forks.

In a fork the packages, and those that came with them, are hidden until the agent imports them. At that moment it is
charged the seconds that the import has taken in the parent. So a game costs the agent what it costs on Kaggle, and an
agent without such an import notices nothing. Modules of Python's own library that came with a package are not hidden:
they take milliseconds, and nobody is charged for them.

The runner lets a file under test sleep for the seconds of an import.

A file is compiled once for each version of it; each game is charged the processor time of that.
"""

import contextlib
import gc
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.kaggle.agent_file import Parsed, compile_agent, top_module
from connectx_toolkit.kaggle.dependencies import is_installed
from connectx_toolkit.system.cores import waiting

HEAVY = ("torch", "numba")  # packages that take long to import
MOST_SOURCES = 16  # compiled files that are kept


class KnownSource(NamedTuple):
    """An agent's file of which it is known how it is loaded."""

    file: str
    shown: str  # where the agent's process finds it
    entry: str  # as of ``Parsed``
    stamp: str  # tells whether the file has changed


class _Package(NamedTuple):
    modules: dict[str, ModuleType]  # of it, and of other packages that it has imported
    seconds: float  # that the import took


class Preload:
    """What is prepared, in the process that is forked; in a fork, a finder for ``sys.meta_path`` and a loader, too."""

    def __init__(self) -> None:
        self.charge: Callable[[float], None] = self._note  # called with seconds that an import has taken before
        self._packages: dict[str, _Package] = {}
        self._sources: dict[KnownSource, Parsed] = {}
        self._specs: dict[str, ModuleSpec | None] = {}  # of modules that are put in sight
        self._threads = os.environ.get("OMP_NUM_THREADS", "")
        self.parsed: Parsed | None = None  # the file of the agent whose process is forked next
        self.due = 0.0  # seconds that the agent is to be charged

    def prepare(self, packages: Sequence[str], source: KnownSource | None) -> None:
        """Does what has not been done yet; what cannot be done, an agent's process tries itself."""
        for name in packages:
            if name in HEAVY and name not in self._packages:
                self._packages[name] = _import_package(name)
                gc.freeze()  # see serve_forks
        self.parsed = self._compile_source(source) if source else None

    def _compile_source(self, source: KnownSource) -> Parsed | None:
        if source not in self._sources:
            with contextlib.suppress(Exception):
                self._sources[source] = compile_agent(source.file, source.entry, source.shown)
        for old in list(self._sources)[:-MOST_SOURCES]:
            del self._sources[old]
        return self._sources.get(source)

    # In a fork

    def hide(self, but: Sequence[str] = ()) -> None:
        """Takes all packages but those named out of sight, and leaves of the files only the agent's own."""
        self._sources.clear()
        for name in but:
            self._packages.pop(name, None)
        for package in self._packages.values():
            for name in package.modules:
                sys.modules.pop(name, None)
        if self._packages:
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def _note(self, seconds: float) -> None:
        self.due += seconds

    def take_due(self) -> float:
        """The seconds to charge that have come up since the last call."""
        due, self.due = self.due, 0.0
        return due

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        hidden = next((each.modules[name] for each in self._packages.values() if name in each.modules), None)
        spec = PathFinder.find_spec(name) if path is None and hidden and name not in sys.modules else None
        if spec is None or not _is_from(hidden, spec):  # the agent has put its own first
            return None
        spec.loader = self  # type: ignore[assignment]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = next(each.modules[spec.name] for each in self._packages.values() if spec.name in each.modules)
        self._specs[spec.name] = module.__spec__  # the import system puts ``spec`` in its place
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Puts a package in sight: one of HEAVY with all that came with it, another one alone."""
        name = module.__name__
        came = self._packages.pop(name) if name in self._packages else self._alone(name)
        for each, kept in came.modules.items():
            sys.modules.setdefault(each, kept)
        module.__spec__ = self._specs.pop(name)
        if came.seconds:
            self.charge(came.seconds)
        self._renew(module)

    def _alone(self, name: str) -> _Package:
        every = next(each.modules for each in self._packages.values() if name in each.modules)
        return _Package({each: every[each] for each in every if top_module(each) == name}, 0.0)

    def _renew(self, module: Any) -> None:
        """What an import draws from the system, or reads from the environment, which the agent may have changed."""
        threads = os.environ.get("OMP_NUM_THREADS", "")
        if module.__name__ == "numba":
            module.config.reload_config()
        elif module.__name__ == "torch":
            module.default_generator.seed()  # else each game would have the same random numbers
            if threads != self._threads and threads.isdigit() and int(threads):
                module.set_num_threads(int(threads))


def heavy_imports() -> list[str]:
    """The installed packages of HEAVY that this process has imported."""
    modules = {name: sys.modules[name] for name in HEAVY if name in sys.modules}
    return [name for name, module in modules.items() if is_installed(getattr(module, "__file__", None) or "")]


def _import_package(name: str) -> _Package:
    """Imports an installed package; without modules if there is none of this name, or it cannot be imported."""
    spec, before = PathFinder.find_spec(name), set(sys.modules)
    if name in before or spec is None or not is_installed(spec.origin or ""):
        return _Package({}, 0.0)
    waited, start = waiting("self"), time.perf_counter()
    try:
        importlib.import_module(name)
    except BaseException:
        return _Package({}, 0.0)
    seconds = max(0.0, time.perf_counter() - start - waited())
    new = [each for each in sys.modules if each not in before]
    known = {top_module(each) for each in before} | sys.stdlib_module_names
    hidden = {top for top in {top_module(each) for each in new} - known if _is_found(top)}
    return _Package({each: sys.modules[each] for each in new if top_module(each) in hidden}, seconds)


def _is_found(top: str) -> bool:
    """Whether a module is an installed one that Python finds again."""
    spec = PathFinder.find_spec(top) if top in sys.modules else None
    return spec is not None and is_installed(spec.origin or "") and _is_from(sys.modules[top], spec)


def _is_from(module: ModuleType | None, spec: ModuleSpec) -> bool:
    return getattr(module, "__file__", None) == spec.origin is not None
