"""What notebooks use: ``get_win_percentages``, ``analyse``, and ``Board``.

An agent is a name in agents/, a built-in name of Kaggle's, the path of a Python file or an archive, or a callable.
"""

import secrets
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

from connectx_toolkit.kaggle.rules import OVERAGE, Rules
from connectx_toolkit.players.spec import AgentSpec, resolve

if TYPE_CHECKING:
    from connectx_toolkit.games.game import Game
    from connectx_toolkit.games.match import Match

__all__ = ["analyse", "get_win_percentages"]

Agent = str | PathLike | Callable | AgentSpec


def get_win_percentages(
    agent1: Agent,
    agent2: Agent,
    n_rounds: int = 100,
    *,
    workers: int = 1,
    config: dict | None = None,
    seed: int | None = None,
    overage: float = OVERAGE,
    isolate: bool = True,
) -> "Match":
    """Plays ``n_rounds`` games, half of them with agent 1 moving first, and prints the four lines of Kaggle's course.

    These are the shares of the games that ended 1 to -1 and -1 to 1, and the invalid plays. For the course, a game that
    an agent loses by a fault is an invalid play and nobody's win. Below the four lines stands what else the games tell:
    wins with such games counted as losses, by seat, faults by kind, and who is stronger.

    The games are played in Kaggle's own environment. Files are loaded again before every game, as Kaggle does. Other
    agents are loaded once, and every game is charged that time. An agent that returns 3.0 would end the course's
    function with an error; here that is an invalid play.

    Ctrl-C, or a notebook's stop button, ends it early with the games that have been played until then.

    >>> rounds = get_win_percentages("leftmost", "middle", n_rounds=2, seed=1)  # doctest: +ELLIPSIS
    Agent 1 Win Percentage: 0.5
    ...
    >>> rounds.wins, len(rounds.lost("middle"))
    ((1, 1), 1)

    Args:
        agent1, agent2: names, paths or callables. Each runs in a process of its own. The lines name a callable by its
            module and name, or by its name alone if it is the notebook's.
        n_rounds: games in all.
        workers: games at a time, each on a core of its own.
        config: Kaggle's configuration; 6 rows, 7 columns and 4 in a row unless it says otherwise.
        seed: of the agents' random generators; None draws one.
        overage: seconds that an agent may use beyond actTimeout in a whole game.
        isolate: False lets agents play in this process, which is faster. Callables that use a GPU, JAX or numba's
            ``parallel=True`` need it; none may hang or crash.

    Raises:
        ValueError: an unknown agent or one that cannot be loaded, a bad configuration, or too many workers.
        KeyboardInterrupt: it was stopped before the first game had ended.
    """
    from connectx_toolkit.arena.match import play_rounds
    from connectx_toolkit.games.match import course_lines
    from connectx_toolkit.players.process import Setup

    setup = Setup(Rules(config or {}, overage), "kaggle", isolate=isolate)
    seed = secrets.randbits(32) if seed is None else seed
    match = play_rounds((resolve(agent1), resolve(agent2)), n_rounds, setup, workers, seed)
    print(*course_lines(match), sep="\n")
    return match


def analyse(
    games: "Game | Sequence[Game] | str | PathLike", from_ply: int | None = None, seconds: float = 60.0
) -> None:
    """Judges the moves of games by their exact scores and prints where each game turned; of one game, every move.

    Args:
        games: from ``get_win_percentages(...).lost(agent)``; or the columns of a game on 7x6; or the path of a Kaggle
            replay, or of a file of games, of which the latest ones are taken.
        from_ply: the first ply to judge. None: ply 0; on 7x6 without the opening table, ply 10.
        seconds: time limit per game; moves left unsolved are marked.

    Raises:
        ValueError: there are no such games, or their board is too large for the solver.
    """
    from connectx_toolkit.games.game import Game
    from connectx_toolkit.report.tables import games_of, show_games

    if isinstance(games, str | PathLike):
        games = games_of(fspath(games))
    show_games([games] if isinstance(games, Game) else games, from_ply, seconds)
