"""An agent's file as Kaggle loads it: which modules it can import, which function is the agent, what it is given.

Kaggle runs the text of the file by exec, with the file's folder at the end of ``sys.path``, on a machine without this
toolkit. So here the agent's own folder comes before everything but the standard library. Of the toolkit an agent
reaches only ``connectx_core``, and only where its folder has none of its own.
"""

import ast
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import connectx_toolkit
from connectx_toolkit.kaggle.agent_function import agent_in, meant_agent
from connectx_toolkit.kaggle.dependencies import REACHED
from connectx_toolkit.kaggle.remedies import FORMER, NEW_NAME, build_it
from connectx_toolkit.kaggle.sources import Needs, import_name, module_of, needs_building
from connectx_toolkit.system.files import IS_CHECKOUT, ROOT

NO_FUNCTION = "it defines no function, but should end in def agent(obs, config)"


@cache
def _toolkit_names() -> frozenset[str]:
    """The top-level modules that this toolkit makes importable."""
    if not IS_CHECKOUT:
        return frozenset({REACHED, "connectx_toolkit"})
    return frozenset(entry.stem for entry in ROOT.iterdir() if entry.is_dir() or entry.suffix == ".py")


class _AgentFinder:
    """Finds an agent's top-level modules; an entry for ``sys.meta_path``, before Python's own.

    The rule is that of ``connectx_toolkit.kaggle.dependencies.module_folders``.
    """

    def __init__(self, folder: str):
        self.folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if path is not None or name in sys.stdlib_module_names:
            return None
        if self.folder in sys.path and (own := self.own(name)):  # it is there while the file loads
            return own
        if name == REACHED:
            return PathFinder.find_spec(name, [str(ROOT)])
        if name == FORMER and PathFinder.find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}: {NEW_NAME}", name=name)
        if name in _toolkit_names() and (not IS_CHECKOUT or PathFinder.find_spec(name) is None):
            why = "of this toolkit an agent reaches only connectx_core"
            raise ModuleNotFoundError(f"No module named {name!r}: {why}; copy {name} beside the agent", name=name)
        return None

    def own(self, name: str) -> ModuleSpec | None:
        """The module of this name in the agent's folder.

        A folder without ``__init__.py`` counts only if it holds sources and nothing else could have the name.
        """
        spec = PathFinder.find_spec(name, [self.folder])
        if spec is None or spec.loader is not None:
            return spec
        base = Path(self.folder, name)
        is_root = base.resolve() == ROOT  # the toolkit's checkout may be called connectx_core
        return spec if name == REACHED and not is_root and any(base.rglob("*.py")) else None


def top_module(name: str) -> str:
    return name.partition(".")[0]


def _forget_other_helpers(finder: _AgentFinder) -> None:
    """Takes out of ``sys.modules`` what has the name of a module of this agent's, but is another agent's."""
    own = {entry.partition(".")[0] for entry in os.listdir(finder.folder or ".")}
    for top in (own & sys.modules.keys()) - sys.stdlib_module_names - {"__main__"}:
        places, spec = _places(sys.modules[top]), finder.own(top)
        is_installed = any("site-packages" in place or "dist-packages" in place for place in places)
        is_own = spec is None or places == [spec.origin or "", *(spec.submodule_search_locations or ())]
        for name in [] if is_installed or is_own else [name for name in sys.modules if top_module(name) == top]:
            del sys.modules[name]


def _places(module: Any) -> list[str]:
    return [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]


@contextmanager
def seclude_imports(folder: str, stays: bool = False) -> Iterator[None]:
    """In the block, imports find what an agent in ``folder`` may import, as this module's docstring says.

    ``stays``: leaves it so after the block, in a process that has only this agent. Otherwise the toolkit's modules are
    put back, and are what a function of the agent's finds that imports one of these names when it is called.
    """
    finder, path = _AgentFinder(folder), list(sys.path)
    hidden = _toolkit_names() - ({REACHED} if finder.own(REACHED) is None else set())
    was_hidden = bool(connectx_toolkit.hidden)
    connectx_toolkit.hide()
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if top_module(name) in hidden}
    _forget_other_helpers(finder)
    sys.path[:] = [entry for entry in path if not _is_hidden(entry)]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if not stays:
            sys.meta_path.remove(finder)
            sys.path[:] = path + [entry for entry in sys.path if entry not in path]
            for name in [name for name in sys.modules if top_module(name) in hidden]:
                del sys.modules[name]
            sys.modules.update(aside)
            if not was_hidden:
                sys.modules.update(connectx_toolkit.hidden)
                connectx_toolkit.hidden.clear()


def _is_hidden(entry: str) -> bool:
    """Whether an entry of ``sys.path`` is the toolkit's, or that of another game, in which is an agents.py.

    Importing kaggle_environments adds the latter, so it is there or not, as the case may be.
    """
    is_ours = IS_CHECKOUT and os.path.realpath(entry or ".") == str(ROOT)
    return is_ours or f"kaggle_environments{os.sep}" in entry


class Loaded(NamedTuple):
    """The function of an agent's file, and a warning in one line, or ""."""

    agent: Callable
    warning: str
    is_meant: bool = True  # False: another function was meant, and Kaggle takes this callable
    entry: str | None = None  # as of ``Parsed``; None if it does not come from a file of somebody's own


class Parsed(NamedTuple):
    """A file that was parsed before, so that a load only runs it."""

    code: CodeType
    entry: str  # the function of a file that is loaded as a module; "" if Kaggle's rule says which it is
    seconds: float  # of the processor that reading and compiling took


def compile_agent(path: str, entry: str = "", shown: str = "") -> Parsed:
    """Reads and compiles an agent's file as ``load_agent`` does; raises as ``last_callable``.

    ``shown``: the path that tracebacks show, if it is another one.
    """
    start = time.thread_time()
    if entry:
        code = compile(Path(path).read_bytes(), shown or path, "exec", dont_inherit=True)
    else:
        code = compile(_read_text(path), shown or path, "exec")
    return Parsed(code, entry, time.thread_time() - start)


def load_agent(path: str, stays: bool = False, needs: Needs | None = None, parsed: Parsed | None = None) -> Loaded:
    """Loads a file as Kaggle does; what only works when it is built, as a built file has it, and with a warning.

    Args:
        stays: see ``seclude_imports``. If it does not, own modules can be imported during the load alone.
        needs: ``needs_building(path)``, if it is known.
        parsed: the file, if it is parsed already; then nobody asks for warnings.

    Raises:
        As ``last_callable``.
    """
    if parsed is not None:
        needs = Needs(is_module=bool(parsed.entry))
    needs = needs_building(path) if needs is None else needs
    if not needs.is_module:
        function = last_callable(path, stays, parsed)
        return function._replace(warning=function.warning or needs.words)
    folder = os.path.dirname(os.path.abspath(path))
    names = module_names(path, [folder, str(import_name(Path(path))[0])], stays, parsed)
    name = parsed.entry if parsed else agent_in(ast.parse(Path(path).read_text(encoding="utf-8")))
    if not callable(names.get(name)):
        raise ValueError(NO_FUNCTION)
    return Loaded(names[name], needs.words, entry=name)


def module_names(path: str, folders: list[str], stays: bool = False, parsed: Parsed | None = None) -> dict[str, Any]:
    """What a file binds when it runs as a module of its own. Exceptions of its code pass through.

    ``folders``: where its modules are found; the first is the agent's.
    """
    with seclude_imports(folders[0], stays):
        own = list(dict.fromkeys(folders))
        sys.path += own
        try:
            return vars(module_of(path, parsed and parsed.code))
        finally:
            if not stays:
                sys.path[:] = [entry for entry in sys.path if entry not in own]


def last_callable(path: str, stays: bool = False, parsed: Parsed | None = None) -> Loaded:
    """Loads a file as Kaggle does: its text is run by exec without a module name, and the last callable is the agent.

    A warning says if another function was meant, but of a file that was ``parsed`` before.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not UTF-8 text, a notebook or JSON, or defines no callable.
        Exception: whatever its code raises.
    """
    code = (parsed or compile_agent(path)).code
    names: dict[str, Any] = {}
    folder = os.path.dirname(path)
    with seclude_imports(folder, stays):
        sys.path.append(folder)
        try:
            exec(code, names)
        finally:
            sys.path.pop()
    callables = {name: value for name, value in names.items() if callable(value)}
    if not callables:
        raise ValueError(NO_FUNCTION)
    name, meant = list(callables)[-1], ""
    is_clear = not any("agent" in other.lower() for other in callables if other != name)
    if parsed is None and not is_clear:  # else the text is not worth a look
        meant = getattr(meant_agent(ast.parse(_read_text(path)), name, fails=False), "name", "")
    if not meant or callables.get(meant) is callables[name]:
        return Loaded(callables[name], "", entry="")
    return Loaded(callables[name], _warn_of_other(path, name, callables[name], meant), False, "")


def _read_text(path: str) -> str:
    """The text of an agent's file. Raises OSError, and ValueError: it is not UTF-8 text, or a notebook or JSON."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        problem_text = f"it is no text in UTF-8 ({problem.reason} at byte {problem.start})"
        raise ValueError(f"{problem_text}; an archive should be a .tar.gz with main.py at its root") from None
    if text.lstrip()[:1] in ("{", "["):
        from connectx_toolkit.kaggle.upload import Unsuitable, refuse_other_texts  # rarely needed

        try:
            refuse_other_texts(path, text.encode())
        except Unsuitable as kind:
            raise ValueError(str(kind)) from None
    return text


def _warn_of_other(path: str, name: str, taken: Callable, meant: str) -> str:
    code = getattr(taken, "__code__", None)
    line = f" (line {code.co_firstlineno})" if code is not None and code.co_filename == path else ""
    advice = f"move {meant} to the end of the file, or {build_it()}"
    return f"{os.path.basename(path)}: Kaggle will call {name}{line}, not {meant}: {advice}"


class Struct(dict):
    """An observation or a configuration, as kaggle_environments.utils has it."""

    def __init__(self, **entries: Any) -> None:
        super().__init__(entries)
        self.__dict__.update(entries)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self[name] = value
