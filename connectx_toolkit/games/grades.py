"""What an agent's answers in an exam are worth: rates with intervals, paired differences, and in words who is better.

All intervals are 95% and hold however often one looks and goes on (``connectx_toolkit.statistics.intervals``). An agent
that was asked several times counts by its mean in each position: as one position, not as several.
"""

import math
from typing import NamedTuple

import numpy as np

from connectx_core.position import STANDARD
from connectx_toolkit.games.game import SEATS
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.statistics.intervals import ERROR_RATE, anytime_factor, anytime_mean

NO_ANSWER = -1  # in place of a column
STAGES = ((0, 9), (10, 19), (20, 29), (30, STANDARD.cells - 1))  # plies


def points_given_away(labels: Labels, columns: np.ndarray) -> np.ndarray:
    """The exact score of each position less that of the move: int64 like ``columns``, 0 for a best move.

    A fault counts as a move after which the other side wins at once.

    Args:
        columns: (..., n) int, NO_ANSWER where an agent gave no legal move.
    """
    lost_at_once = -((STANDARD.cells - labels.plies.astype(np.int64)) // 2)
    scores = labels.scores[np.arange(len(labels)), columns].astype(np.int64)
    return labels.values - np.where(columns == NO_ANSWER, lost_at_once, scores)


class Sheet(NamedTuple):
    """An agent's answers: in n positions, each of which it was asked t times."""

    agent: str
    labels: Labels
    columns: np.ndarray  # (t, n) int, NO_ANSWER where it gave no legal move
    seconds: np.ndarray  # (t, n) float64
    faults: list[tuple[str, str]]  # kind of each, and what is known of it
    asked_again: int = 0  # positions, with other random numbers
    changed: int = 0  # other answers there

    def _moves(self, which: np.ndarray) -> np.ndarray:
        return which[np.arange(len(self.labels)), self.columns] & (self.columns != NO_ANSWER)

    @property
    def good(self) -> np.ndarray:
        """(t, n) bool: whether the move keeps the result."""
        return self._moves(self.labels.good)

    @property
    def perfect(self) -> np.ndarray:
        """(t, n) bool: whether the move has the best score."""
        return self._moves(self.labels.perfect)

    @property
    def given(self) -> np.ndarray:
        """(t, n) int64: the points given away."""
        return points_given_away(self.labels, self.columns)

    def parts(self) -> dict[str, np.ndarray]:
        """The parts of the exam that are looked at, by name: the numbers of their positions."""
        plies = self.labels.plies
        which_of = {"all": np.full(len(plies), True), "critical": self.labels.critical}
        which_of |= {f"plies {first} to {last}": (plies >= first) & (plies <= last) for first, last in STAGES}
        which_of |= {f"moving {seat}": plies % 2 == number for number, seat in enumerate(SEATS)}
        return {name: np.flatnonzero(which) for name, which in which_of.items() if which.any()}


class MeanEstimate(NamedTuple):
    """A mean, with an interval that holds however often one looks."""

    mean: float
    low: float
    high: float

    @property
    def is_proof(self) -> bool:
        """Whether the interval leaves out 0."""
        return not self.low <= 0 <= self.high


def rate(hits: np.ndarray) -> MeanEstimate:
    """The share of hits. ``hits``: (t, n) bool, n of at least 1."""
    share = float(hits.mean()) * hits.shape[1]
    return MeanEstimate(*anytime_mean((hits.shape[1] - share, 0, 0, 0, share)))


def rate_difference(one: np.ndarray, other: np.ndarray) -> MeanEstimate:
    """The share of hits of one agent less that of another in the same positions: each (t, n) bool."""
    more, fewer = (float((a & ~b).mean()) * a.shape[1] for a, b in ((one, other), (other, one)))
    same = one.shape[1] - more - fewer
    return MeanEstimate(*(2 * score - 1 for score in anytime_mean((fewer, 0, same, 0, more))))


def mean_difference(one: np.ndarray, other: np.ndarray) -> MeanEstimate:
    """The mean of one agent less that of another in the same positions: each (t, n) numbers, about normal in the mean.

    It needs two positions at least.
    """
    differences = (one - other).mean(0)
    count, mean = len(differences), float(differences.mean())
    margin = anytime_factor(count, ERROR_RATE) * float(differences.std(ddof=1)) / math.sqrt(count)
    return MeanEstimate(mean, mean - margin, mean + margin)
