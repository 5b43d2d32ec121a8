"""What evaluates, builds, trains and shows agents. Never part of a submission: those contain ``connectx`` only.

In a notebook: ``from connectx_toolkit import Board, analyse, get_win_percentages``.
"""

from typing import Any

__all__ = ["Board", "analyse", "get_win_percentages"]


def __getattr__(name: str) -> Any:
    """Imports what a notebook asks for: every command and every agent's process imports this package, and not these."""
    if name == "Board":
        try:
            from connectx_toolkit.board.widget import Board
        except ModuleNotFoundError as problem:
            from connectx_toolkit.system.console import missing_package

            raise ModuleNotFoundError(missing_package(problem), name=problem.name) from None
        return Board
    if name in __all__:
        from connectx_toolkit import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def machine_code_of(wanted: Any) -> bytes | None:
    """What this computer keeps of a kernel; ``connectx`` asks for it, and imports nothing of the toolkit."""
    from connectx_toolkit.system.machine_code import kept

    return kept(wanted)
