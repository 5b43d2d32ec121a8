"""An agent's file as Kaggle loads it: which modules it can import, and which of its functions is the agent.

Kaggle runs the text of the file by exec, with the file's folder at the end of ``sys.path``, on a machine without this
toolkit. So here the agent's own folder comes before everything but the standard library. Of the toolkit an agent
reaches only ``connectx``, and only where its folder has no ``connectx`` of its own.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from connectx_toolkit.places import IS_CHECKOUT, ROOT

REACHED = "connectx"  # the package of the toolkit that an agent's file can import


@cache
def _toolkit_names() -> frozenset[str]:
    """The top-level modules that this toolkit makes importable."""
    if not IS_CHECKOUT:
        return frozenset({REACHED, "connectx_toolkit"})
    return frozenset(entry.stem for entry in ROOT.iterdir() if entry.is_dir() or entry.suffix == ".py")


class _AgentFinder:
    """Finds an agent's top-level modules; an entry for ``sys.meta_path``, before Python's own."""

    def __init__(self, folder: str):
        self.folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if path is not None or name in sys.stdlib_module_names:
            return None
        if self.folder in sys.path and (own := self.own(name)):  # it is there while the file loads
            return own
        if name == REACHED:
            return PathFinder.find_spec(name, [str(ROOT)])
        if name in _toolkit_names() and (not IS_CHECKOUT or PathFinder.find_spec(name) is None):
            why = "of this toolkit an agent reaches only connectx"
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
        is_root = base.resolve() == ROOT  # the toolkit's checkout may be called connectx
        return spec if name == REACHED and not is_root and any(base.rglob("*.py")) else None


def _top(name: str) -> str:
    return name.partition(".")[0]


def _forget_other_helpers(finder: _AgentFinder) -> None:
    """Takes out of ``sys.modules`` what has the name of a module of this agent's, but is another agent's."""
    own = {entry.partition(".")[0] for entry in os.listdir(finder.folder or ".")}
    for top in (own & sys.modules.keys()) - sys.stdlib_module_names - {"__main__"}:
        places, spec = _places(sys.modules[top]), finder.own(top)
        is_installed = any("site-packages" in place or "dist-packages" in place for place in places)
        is_own = spec is None or places == [spec.origin or "", *(spec.submodule_search_locations or ())]
        for name in [] if is_installed or is_own else [name for name in sys.modules if _top(name) == top]:
            del sys.modules[name]


def _places(module: Any) -> list[str]:
    return [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]


@contextmanager
def secluded(folder: str, stays: bool = False) -> Iterator[None]:
    """In the block, imports find what an agent in ``folder`` may import, as this module's docstring says.

    Args:
        stays: leaves it so after the block, in a process that has only this agent. Otherwise the toolkit's modules are
            put back, and are what a function of the agent's finds that imports one of these names when it is called.
    """
    finder, path = _AgentFinder(folder), list(sys.path)
    hidden = _toolkit_names() - ({REACHED} if finder.own(REACHED) is None else set())
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if _top(name) in hidden}
    _forget_other_helpers(finder)
    sys.path[:] = [entry for entry in path if not _is_hidden(entry)]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if not stays:
            sys.meta_path.remove(finder)
            sys.path[:] = path + [entry for entry in sys.path if entry not in path]
            for name in [name for name in sys.modules if _top(name) in hidden]:
                del sys.modules[name]
            sys.modules.update(aside)


def _is_hidden(entry: str) -> bool:
    """Whether an entry of ``sys.path`` is the toolkit's, or that of another game, in which is an agents.py.

    Importing kaggle_environments adds the latter, so it is there or not, as the case may be.
    """
    is_ours = IS_CHECKOUT and os.path.realpath(entry or ".") == str(ROOT)
    return is_ours or f"kaggle_environments{os.sep}" in entry


def meant_name(names: Sequence[str]) -> str:
    """Which of a file's functions its author means, of their names in the order of their first binding.

    It is ``agent`` if there is one, otherwise the last, which is the one that Kaggle takes in any case.
    """
    return "agent" if "agent" in names else names[-1]


def last_callable(path: str, stays: bool = False) -> tuple[Callable, str]:
    """Loads a file as Kaggle does: its text is run by exec without a module name, and the last callable is the agent.

    Args:
        stays: see ``secluded``.

    Returns:
        That callable, and a warning in one line if the file defines ``agent`` and it is not that one; else "".

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not UTF-8 text, or defines no callable. Exceptions of its code pass through.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        problem_text = f"it is no text in UTF-8 ({problem.reason} at byte {problem.start})"
        raise ValueError(f"{problem_text}; an archive should be a .tar.gz with main.py at its root") from None
    code = compile(text, path, "exec")
    names: dict[str, Any] = {}
    folder = os.path.dirname(path)
    with secluded(folder, stays):
        sys.path.append(folder)
        try:
            exec(code, names)
        finally:
            sys.path.pop()
    callables = {name: value for name, value in names.items() if callable(value)}
    if not callables:
        raise ValueError("it defines no function, but should end in def agent(obs, config)")
    name, meant = list(callables)[-1], meant_name(list(callables))
    return callables[name], _warning(path, name, callables[name]) if callables[meant] is not callables[name] else ""


def _warning(path: str, name: str, taken: Callable) -> str:
    code = getattr(taken, "__code__", None)
    line = f" (line {code.co_firstlineno})" if code is not None and code.co_filename == path else ""
    advice = "move agent to the end of the file, or let build_submission.py build it"
    return f"{os.path.basename(path)}: Kaggle will call {name}{line}, not agent: {advice}"
