"""The clock of an agent: how long a move may think, with what margins. The judge's own is in ``arena.game.rules``.

Kaggle gives ``config.actTimeout`` seconds a move (2 now, other values in the past) and takes what a move uses beyond
that from ``obs.remainingOverageTime`` (a bank of 60 a game). An agent that overdraws the bank loses. The file's load
and its compilation count in the first move.
"""

import time
from typing import NamedTuple

from connectx.position import field

MOVE_SHARE = 0.85  # of actTimeout: what is left covers the referee's overhead and the last slice of a search
POOR_MOVE_SHARE = 0.5  # the same when the bank could not pay for a hiccup
POOR_BANK = 2.0  # seconds
RESERVE = 38.0  # seconds of the bank that are never spent on purpose: with load and hiccups, under 30 of 60 are used
BANK_SHARE = 0.25  # of what lies above the reserve, a move: most goes to the first moves, where lines are longest
LOADED_SHARE = 0.5  # of actTimeout: what the first move may draw from the bank on top of the load
LEAST = 0.02  # seconds: what a move always gets, however late it is


class Budget(NamedTuple):
    """What a move may use. ``None`` sets no limit of that kind."""

    deadline: float | None = None  # a value of time.perf_counter()
    nodes: int | None = None
    spare: float = 0.0  # seconds of the bank after the deadline, for a move on which the game's result hangs

    @classmethod
    def seconds(cls, seconds: float) -> "Budget":
        return cls(deadline=time.perf_counter() + seconds)

    def part(self, share: float) -> "Budget":
        """A budget of this share of what is left now."""
        deadline = None if self.deadline is None else time.perf_counter() + share * max(0.0, self.seconds_left())
        return Budget(deadline, None if self.nodes is None else int(share * self.nodes))

    def with_spare(self) -> "Budget":
        """The budget of a move that may use what the bank can spare, too."""
        return self if self.deadline is None else Budget(self.deadline + self.spare, self.nodes)

    def is_late(self, nodes: int = 0) -> bool:
        """Whether the time is over, or the nodes are that a search has counted since the move began."""
        if self.nodes is not None and nodes >= self.nodes:
            return True
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def seconds_left(self) -> float:
        """Seconds to the deadline, infinite if there is none."""
        return float("inf") if self.deadline is None else self.deadline - time.perf_counter()


_charges: list[float] = []


def charge(seconds: float) -> None:
    """Tells the clock that the coming move has used ``seconds`` already: a submission loads within its first move."""
    _charges.append(seconds)


def seconds_for(act_timeout: float, bank: float, spent: float = 0.0) -> tuple[float, float]:
    """Seconds that a move should think, ``spent`` of which are gone: its own time and a share of the spare bank.

    The move that has paid for the load takes little more: a search gains less by those seconds than the bank loses.
    The second number is what the bank can spare besides.
    """
    move = act_timeout * (MOVE_SHARE if bank > POOR_BANK else POOR_MOVE_SHARE)
    overdrawn = max(0.0, spent - act_timeout)
    spare = max(0.0, bank - overdrawn - RESERVE)
    extra = BANK_SHARE * spare
    if spent:
        extra = min(extra, LOADED_SHARE * act_timeout)
    return max(LEAST, move - min(spent, act_timeout) + extra), spare - extra


def budget_for(obs, config) -> Budget:
    """The budget of one move, from what Kaggle says of the clock.

    A ``nodeBudget`` in the configuration replaces the clock by that number of search nodes: copies of an agent then
    choose alike on any machine, which is how a built file is compared with its source.
    """
    spent = sum(_charges)
    _charges.clear()
    nodes = field(config, "nodeBudget", None)
    if nodes is not None:
        return Budget(nodes=nodes)
    bank = field(obs, "remainingOverageTime", None) or 0.0
    seconds, spare = seconds_for(field(config, "actTimeout", 2.0), bank, spent)
    return Budget.seconds(seconds)._replace(spare=spare)
