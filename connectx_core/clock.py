"""The clock of an agent: how long a move may think, with what margins. The judge has its own.

Kaggle gives ``config.actTimeout`` seconds a move (2 now, other values in the past) and takes what a move uses beyond
that from ``obs.remainingOverageTime`` (60 s a game). An agent that overdraws it loses. The file's load counts in the
first move.

``GameMemory`` is what an agent keeps for one game. A process may play many games. An agent that carried proven scores,
a search's table or what it thinks of its opponent from one game to the next would play the same game differently,
depending on what was played before.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from connectx_core.position import Position, field

__all__ = ["Budget", "GameMemory", "budget_for"]

MOVE_SHARE = 0.85  # of actTimeout; the rest covers the referee's overhead and the last slice of a search
POOR_MOVE_SHARE = 0.5  # the same when the overage time is too small to cover an unexpected delay
POOR_OVERAGE = 2.0  # seconds
UNSPENT = 38.0  # seconds of overage time never spent on purpose; with load and delays, a game uses less than 30 of 60
OVERAGE_SHARE = 0.25  # of the overage time above that, per move: most goes to the first moves, where search is deepest
LOADED_SHARE = 0.5  # of actTimeout: the most that the first move draws from the overage time in addition to the load
LEAST = 0.02  # seconds that a move always gets, however late it is


class Budget(NamedTuple):
    """The limits of one move. ``None`` means no limit of that kind."""

    deadline: float | None = None  # a value of time.perf_counter()
    nodes: int | None = None
    spare: float = 0.0  # further seconds of overage time, for a move that decides the game

    @classmethod
    def seconds(cls, seconds: float) -> "Budget":
        """A budget that ends so many seconds from now."""
        return cls(deadline=time.perf_counter() + seconds)

    def part(self, share: float) -> "Budget":
        """A budget of this share of what is left now."""
        deadline = None if self.deadline is None else time.perf_counter() + share * max(0.0, self.seconds_left())
        return Budget(deadline, None if self.nodes is None else int(share * self.nodes))

    def with_spare(self) -> "Budget":
        """This budget, extended by the seconds that the overage time can spare."""
        return self if self.deadline is None else Budget(self.deadline + self.spare, self.nodes)

    def is_late(self, nodes: int = 0) -> bool:
        """Whether the time is over, or ``nodes``, counted since the move began, have reached the limit."""
        if self.nodes is not None and nodes >= self.nodes:
            return True
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def seconds_left(self) -> float:
        """Seconds until the deadline; infinite if there is none."""
        return float("inf") if self.deadline is None else self.deadline - time.perf_counter()


_charges: list[float] = []


def charge(seconds: float) -> None:
    """Counts ``seconds`` as already used by the next move: a submission loads within its first move."""
    _charges.append(seconds)


def seconds_for(act_timeout: float, overage: float, spent: float = 0.0) -> tuple[float, float]:
    """(seconds to think from now, further seconds that the overage time can spare) for a move.

    A move gets its share of ``act_timeout`` and a share of the overage time above ``UNSPENT``; ``spent`` seconds of it
    are already used. A move that has paid for the load draws little more overage time: later it is worth more.
    """
    move = act_timeout * (MOVE_SHARE if overage > POOR_OVERAGE else POOR_MOVE_SHARE)
    overdrawn = max(0.0, spent - act_timeout)
    spare = max(0.0, overage - overdrawn - UNSPENT)
    extra = OVERAGE_SHARE * spare
    if spent:
        extra = min(extra, LOADED_SHARE * act_timeout)
    return max(LEAST, move - min(spent, act_timeout) + extra), spare - extra


def budget_for(obs, config) -> Budget:
    """The budget of one move, from the clock in Kaggle's observation and configuration.

    A ``nodeBudget`` in the configuration replaces the clock by that number of search nodes. Copies of an agent then
    choose the same moves on any machine; the builder compares a built file with its source in this way.

    >>> budget = budget_for({"remainingOverageTime": 60.0}, {"actTimeout": 2.0})
    >>> 2.0 < budget.seconds_left() < 60.0, budget.is_late()
    (True, False)
    >>> budget_for({}, {"nodeBudget": 300}).is_late(nodes=300)
    True

    Args:
        obs, config: Kaggle's, read by item or by attribute.
    """
    spent = sum(_charges)
    _charges.clear()
    nodes = field(config, "nodeBudget", None)
    if nodes is not None:
        return Budget(nodes=nodes)
    overage = field(obs, "remainingOverageTime", None) or 0.0
    seconds, spare = seconds_for(field(config, "actTimeout", 2.0), overage, spent)
    return Budget.seconds(seconds)._replace(spare=spare)


class GameMemory:
    """Follows an agent's games by the positions that it sees.

    A game goes on if the position is the one that the agent left to its opponent, with one more stone. All else begins
    a game: an opening, a position asked for the second time, the other seat, another board.

    >>> from connectx_core.position import STANDARD
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
