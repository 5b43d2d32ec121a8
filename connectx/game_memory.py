"""One rule for what is a new game: what an agent remembers of a game, it forgets when another begins.

A process may play many games. An agent that carried proven scores, a search's table or what it thinks of its opponent
from one game to the next would play the same game differently, depending on what was played before.
"""

from collections.abc import Callable

from connectx.position import Position

__all__ = ["GameMemory"]


class GameMemory:
    """Follows an agent's games by the positions that it sees.

    A game goes on if the position is the one that the agent left to its opponent, with one more stone. All else begins
    a game: an opening, a position asked for the second time, the other seat, another board.

    >>> from connectx.geometry import STANDARD
    >>> game, empty = GameMemory(), Position.empty(STANDARD)
    >>> game.meet(empty) is None  # a new game
    True
    >>> game.leave(empty.play(3))
    >>> game.meet(empty.play(3).play(2))  # it goes on: the opponent has played column 2
    2

    Args:
        forget: each is called when a game begins, but not before the first one, so what was made ready while the file
            loaded is kept.
    """

    def __init__(self, *forget: Callable[[], object]):
        self.forget = forget
        self.left: Position | None = None  # that in which the opponent is to move
        self._is_used = False

    def meet(self, position: Position) -> int | None:
        """The column that the opponent has played since our last move; None if a game begins with this position."""
        reply = self._reply_in(position)
        if reply is None and self._is_used:
            for forget in self.forget:
                forget()
        self._is_used = True
        self.left = None  # until we have moved; an agent that fails here has left nothing
        return reply

    def leave(self, position: Position) -> None:
        """Notes the position after our move."""
        self.left = position

    def _reply_in(self, position: Position) -> int | None:
        before = self.left
        if before is None or before.geometry != position.geometry:
            return None
        return next((column for column in before.legal_columns() if before.play(column) == position), None)
