"""Lets agents play and says who is stronger.

In a notebook:      from evaluate import get_win_percentages
                    get_win_percentages(my_agent, "negamax", n_rounds=100)
At a command line:  python evaluate.py minimax negamax --rounds 20
                    python evaluate.py match minimax submissions/submission.py --sprt 0 20

An agent is a name in agents/, a built-in name of Kaggle's, the path of a Python file, or (in Python) a callable.
What takes long to import is imported where it is used, so that --help and a misspelt option are answered at once.
"""

import argparse
import secrets
import sqlite3
import sys
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from arena.cli.options import OPTIONS, misspelt_command
from arena.game.rules import BANK, Rules
from arena.players.loading import resolve
from arena.players.spec import AgentSpec
from console.parser import Parser, in_a_line, missing_package

if TYPE_CHECKING:
    from arena.results.records import GameRecord
    from arena.results.rounds import Rounds

Agent = str | PathLike | Callable | AgentSpec
STOPPED = "games that the store holds are not played again"


def get_win_percentages(
    agent1: Agent,
    agent2: Agent,
    n_rounds: int = 100,
    *,
    workers: int = 1,
    config: dict | None = None,
    referee: str = "kaggle",
    fresh: bool | None = None,
    seed: int | None = None,
    bank: float = BANK,
    isolate: bool = True,
) -> "Rounds":
    """Plays ``n_rounds`` games, half of them with agent 1 moving first; prints who won how many, and what that proves.

    Ctrl-C, or a notebook's stop button, ends it early with the games that have been played until then.

    Args:
        agent1, agent2: names, paths or callables. Each runs in a process of its own.
        n_rounds: games in all.
        workers: games at a time, each on a core of its own.
        config: Kaggle's configuration; 6 rows, 7 columns and 4 in a row unless it says otherwise.
        referee: "kaggle" for Kaggle's own environment, "fast" for our loop, which gives the same verdicts.
        fresh: whether agents are loaded anew for each game; None does so for files, as Kaggle does.
        seed: of the agents' random generators; None draws one.
        bank: seconds that an agent may use beyond actTimeout in a whole game.
        isolate: False lets agents play in this process, faster: for callables that neither hang nor crash.

    Raises:
        ValueError: an unknown agent or one that cannot be loaded, a bad configuration, or too many workers.
        KeyboardInterrupt: it was stopped before the first game had ended.
    """
    from arena.game.referee import REFEREES
    from arena.results.rounds import play_rounds, rounds_lines
    from arena.runs.slot import Setup

    if referee not in REFEREES:
        raise ValueError(f"referee should be one of {', '.join(REFEREES)}, not {referee!r}")
    setup = Setup(Rules(config or {}, bank), referee, fresh, isolate=isolate)
    seed = secrets.randbits(32) if seed is None else seed
    rounds = play_rounds((resolve(agent1), resolve(agent2)), n_rounds, setup, workers, seed)
    print(*rounds_lines(rounds), sep="\n")
    return rounds


def analyse(
    games: "GameRecord | Sequence[GameRecord] | str | PathLike", from_ply: int | None = None, seconds: float = 60.0
) -> None:
    """Judges the moves of games by their exact scores and prints where each game turned; of one game, every move.

    Args:
        games: from ``get_win_percentages(...).lost(agent)``; or the columns of a game on 7x6; or the path of a Kaggle
            replay, or of a store, of which the latest games are taken.
        from_ply: the first ply to judge. None: ply 0; on 7x6 without the opening table, ply 10.
        seconds: time limit per game; moves left unsolved are marked.

    Raises:
        ValueError: there are no such games, or their board is too large for the solver.
    """
    from arena.cli.review import records_of, show_games
    from arena.results.records import GameRecord

    if isinstance(games, str | PathLike):
        games = records_of(fspath(games))
    show_games([games] if isinstance(games, GameRecord) else games, from_ply, seconds)


def __getattr__(name: str) -> Any:
    if name == "Board":  # a notebook's: its packages take a second to import
        from board.widget import Board

        return Board
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _command(name: str) -> Callable[[argparse.Namespace], None]:
    if name == "board":
        from board.server import board

        return board
    from arena.cli.commands import COMMANDS

    return COMMANDS[name]


def main(argv: Sequence[str] | None = None) -> None:
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments.pop(0) if arguments and arguments[0] in OPTIONS else ""
    parser = Parser(prog=f"evaluate.py {command}".rstrip())
    OPTIONS[command](parser)
    if not command and (meant := misspelt_command(arguments)):
        parser.error(meant)
    options = parser.parse_args(arguments)
    try:
        _command(command)(options)
    except ModuleNotFoundError as problem:
        parser.error(missing_package(problem))
    except (ValueError, OSError, sqlite3.Error) as problem:
        parser.error(in_a_line(problem))
    except RuntimeError as problem:  # a process that did not start, or died
        parser.exit(1, f"{parser.prog}: {in_a_line(problem)}\n")
    except KeyboardInterrupt as stop:
        words = str(stop) or (STOPPED if command in ("match", "tournament") else "")
        parser.exit(130, f"{parser.prog}: stopped{words and '; '}{words}\n")


if __name__ == "__main__":
    main()
