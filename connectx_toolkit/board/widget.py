"""The board in a notebook: ``from connectx_toolkit import Board; Board("minimax@2")``."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from connectx_toolkit.arena.options import check_arguments
from connectx_toolkit.board.session import Opening, Session, check_games
from connectx_toolkit.board.thinking import Analyst
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.reader import game_meant
from connectx_toolkit.kaggle.rules import OVERAGE, Rules
from connectx_toolkit.page import script, style
from connectx_toolkit.players.spec import resolve, told_apart

__all__ = ["Board"]

_analyst = Analyst()  # one for all boards of a notebook


class Board(anywidget.AnyWidget):
    """A board to click in a notebook.

        Board("minimax@2")                     you move first
        Board("minimax@4", "perfect~20")       two agents
        Board(game="3621332145")               a game to look at
        Board(games="runs/games.sqlite")       with what was played in each position

    >>> board = Board("leftmost")
    >>> board.moves  # you have not moved yet
    []
    >>> board.close()

    Args:
        agents: none (you play both sides), one (it moves second), or two (they play each other): names, paths or
            functions, as ``get_win_percentages`` takes them. None is you: ``Board("perfect", None)`` lets it begin.
        game: one to look at: its columns, a replay's path, or a game of ``get_win_percentages(...).lost(agent)``.
        games: a file of games, as ``evaluate.py explore --add`` fills it.
        config: Kaggle's configuration; 6 rows, 7 columns and 4 in a row unless it says otherwise.
        overage: seconds that an agent may use beyond actTimeout in a whole game.

    Attributes:
        moves: the columns of the game on the board, counted from 0, as it goes on.

    Raises:
        ValueError: an unknown agent, a bad configuration, a game that cannot be played, or no file of games.
    """

    _esm = script("notebook.js")
    _css = style()
    moves = traitlets.List(traitlets.Int()).tag(sync=True)
    _session: Session | None = None  # of a widget whose arguments were refused: it is closed, too

    @check_arguments
    def __init__(
        self,
        *agents: Any,
        game: "Game | Sequence[int] | str | None" = None,
        games: str | PathLike | None = None,
        config: dict | None = None,
        overage: float = OVERAGE,
    ):
        if len(agents) > 2:
            raise ValueError(f"a board has two sides, not {len(agents)}")
        rules = Rules(config or {}, overage)
        named = iter(told_apart(resolve(agent) for agent in agents if agent is not None))
        specs = [None if agent is None else next(named) for agent in agents]
        seats = [None, *specs] if len(specs) == 1 else [*specs, None, None]
        shown = None if game is None else game_meant(game, rules.geometry)
        known = check_games(Path(games)) if games else None
        opening = Opening(rules, (seats[0], seats[1]), shown, known)
        super().__init__()
        session = self._session = Session(self.send, _analyst, opening)
        self.on_msg(lambda widget, message, buffers: session.receive(message))

    def close(self) -> None:
        """Takes the board away, and ends its agents."""
        if self._session is not None:
            self._session.close()
        super().close()
