"""Lets agents play and says who is stronger.

In a notebook:      from connectx_toolkit import get_win_percentages
                    get_win_percentages(my_agent, "negamax", n_rounds=100)
At a command line:  python evaluate.py minimax negamax --rounds 20
                    python evaluate.py match minimax submissions/submission.py --sprt 0 20
"""

from typing import Any

from connectx_toolkit import analyse, get_win_percentages

__all__ = ["Board", "analyse", "get_win_percentages"]  # noqa: F822 (Board comes by __getattr__)


def __getattr__(name: str) -> Any:
    import connectx_toolkit

    return getattr(connectx_toolkit, name)  # Board, whose packages take a second to import


if __name__ == "__main__":
    import sys

    from connectx_toolkit.cli.main import run

    sys.exit(run("evaluate"))
