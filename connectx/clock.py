"""The clock of an agent: how long a move may think, with what margins. The judge has its own.

Kaggle gives ``config.actTimeout`` seconds a move (2 now, other values in the past) and takes what a move uses beyond
that from ``obs.remainingOverageTime`` (a bank of 60 a game). An agent that overdraws the bank loses. The file's load
and its compilation count in the first move.
"""

import time
from typing import NamedTuple

from connectx.position import field

__all__ = ["Budget", "budget_for"]

MOVE_SHARE = 0.85  # of actTimeout; the rest covers the referee's overhead and the last slice of a search
POOR_MOVE_SHARE = 0.5  # the same when the bank is too small to cover an unexpected delay
POOR_BANK = 2.0  # seconds
RESERVE = 38.0  # seconds of the bank never spent on purpose; with load and delays, a game uses less than 30 of 60
BANK_SHARE = 0.25  # of the bank above the reserve, per move: most goes to the first moves, where search is deepest
LOADED_SHARE = 0.5  # of actTimeout: the most that the first move draws from the bank in addition to the load
LEAST = 0.02  # seconds that a move always gets, however late it is


class Budget(NamedTuple):
    """The limits of one move. ``None`` means no limit of that kind."""

    deadline: float | None = None  # a value of time.perf_counter()
    nodes: int | None = None
    spare: float = 0.0  # further seconds of the bank, for a move that decides the game

    @classmethod
    def seconds(cls, seconds: float) -> "Budget":
        """A budget that ends so many seconds from now."""
        return cls(deadline=time.perf_counter() + seconds)

    def part(self, share: float) -> "Budget":
        """A budget of this share of what is left now."""
        deadline = None if self.deadline is None else time.perf_counter() + share * max(0.0, self.seconds_left())
        return Budget(deadline, None if self.nodes is None else int(share * self.nodes))

    def with_spare(self) -> "Budget":
        """This budget, extended by the seconds that the bank can spare."""
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


def seconds_for(act_timeout: float, bank: float, spent: float = 0.0) -> tuple[float, float]:
    """(seconds to think from now, further seconds that the bank can spare) for a move.

    A move gets its share of ``act_timeout`` and a share of the bank above ``RESERVE``; ``spent`` seconds of it are
    already used. A move that has paid for the load draws little more from the bank, where those seconds are worth more.
    """
    move = act_timeout * (MOVE_SHARE if bank > POOR_BANK else POOR_MOVE_SHARE)
    overdrawn = max(0.0, spent - act_timeout)
    spare = max(0.0, bank - overdrawn - RESERVE)
    extra = BANK_SHARE * spare
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
    bank = field(obs, "remainingOverageTime", None) or 0.0
    seconds, spare = seconds_for(field(config, "actTimeout", 2.0), bank, spent)
    return Budget.seconds(seconds)._replace(spare=spare)
