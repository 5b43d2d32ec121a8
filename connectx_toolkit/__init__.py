"""What evaluates, builds, trains and shows agents. Never part of a submission: those contain ``connectx_core`` only.

In a notebook or a script: ``from connectx_toolkit import get_win_percentages, match, tournament, exam, analyse, build,
check, adopt, Board``.
"""

import sys
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["Board", "adopt", "analyse", "build", "check", "exam", "get_win_percentages", "match", "tournament"]


def __getattr__(name: str) -> Any:
    """Imports what is asked for: every command and every agent's process imports this package, and not these."""
    if name == "Board":
        return _board_class()
    if name in __all__:
        from connectx_toolkit import api

        return _refusing_in_a_line(getattr(api, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _refusing_in_a_line(function: Callable) -> Callable:
    """The same function; a notebook shows what it refuses as a command does, without the toolkit's own frames."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (ValueError, OSError) as problem:
            from connectx_toolkit.system.console import in_a_line

            words = f"{type(problem).__name__}: {in_a_line(problem)}"
            problem._render_traceback_ = lambda: [words]  # type: ignore[union-attr]  # IPython asks for it
            raise

    return call


def _board_class() -> Any:
    """The widget's class; where its packages are missing, what says so in a line when a board is wanted."""
    try:
        from connectx_toolkit.board.widget import Board
    except ModuleNotFoundError as problem:
        from connectx_toolkit.system.console import missing_package

        line, package = missing_package(problem), problem.name

        def without_packages(*_: Any, **__: Any) -> Any:
            raise ModuleNotFoundError(line, name=package)

        return without_packages
    return Board


hidden: dict[str, ModuleType] = {}  # what ``hide`` took out of ``sys.modules``


def hide() -> None:
    """Takes this package out of ``sys.modules``: an agent's file that imports it shall not find it."""
    names = [name for name in sys.modules if name.partition(".")[0] == __name__]
    hidden.update((name, sys.modules.pop(name)) for name in names)


def _refuse_another_core() -> None:
    """Raises ImportError, a line in a notebook, if another module ``connectx_core`` comes before the toolkit's."""
    found, beside = find_spec("connectx_core"), Path(__file__).parents[1] / "connectx_core" / "__init__.py"
    if found and found.origin and not Path(found.origin).samefile(beside):
        line = f"{found.origin} hides connectx_core, a package of connectx_toolkit: rename it"
        problem = ImportError(line, name="connectx_core", path=found.origin)
        problem._render_traceback_ = lambda: [f"ImportError: {line}"]  # type: ignore[attr-defined]  # IPython asks for it
        raise problem


def _load_kernel(wanted: Any) -> bytes | None:
    """What this computer keeps of a kernel. ``connectx_core`` asks for it, also while an agent's file loads."""
    sys.modules.update(hidden)
    try:
        from connectx_toolkit.system.kernel_compiler import load_kernel

        return load_kernel(wanted)
    finally:
        if hidden:
            hide()


_refuse_another_core()

from connectx_core import jit  # noqa: E402

jit.kept = _load_kernel
