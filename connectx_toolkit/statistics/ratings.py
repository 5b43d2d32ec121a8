"""Ratings of many agents from all their games: the Elo of each, with intervals that hold at any time."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np

from connectx_toolkit.statistics.evidence import EMPTY_BOARD, Evidence
from connectx_toolkit.statistics.intervals import (
    ERROR_RATE,
    FEWEST_DEVIATING,
    LOGISTIC,
    PAIR_SCORES,
    Estimate,
    anytime,
    anytime_factor,
    by_openings,
    elo_of,
    mean_and_variance,
)

FEWEST_OPENINGS = 20  # distinct ones, below which a result holds for them alone, not for openings in general
TOO_WIDE = 400.0  # Elo; an interval that reaches further to both sides says nothing
FEWEST_SUMMED = 20  # distinct pairs, or openings, below which their sum is not taken for normal, as the margins here do

Pairings = Mapping[tuple[str, str], Evidence]


class Rating(NamedTuple):
    """An agent's Elo above the anchor's, which is 0, with the 95% interval of this Elo."""

    elo: float
    low: float  # infinite, as ``high`` is, if the games give no such bound
    high: float
    games: int
    above_next: bool | None = None  # whether it is proven stronger than the next lower agent; None for the last

    @property
    def is_wide(self) -> bool:
        """Whether there are too few games for a bound that says something."""
        return self.low < -TOO_WIDE and self.high > TOO_WIDE

    @property
    def interval(self) -> str:
        """ "361 to 925", "above 215"; that there are too few games for one; "" of the anchor."""
        if self.is_wide:
            return "too few games"
        if isfinite(self.low) and isfinite(self.high):
            return f"{self.low:.0f} to {self.high:.0f}" if self.low < self.high else ""
        return f"above {self.low:.0f}" if isfinite(self.low) else f"below {self.high:.0f}"


def ratings(pairings: Pairings, anchor: str) -> dict[str, Rating]:
    """The Elo of every agent by maximum likelihood over all pairings (Bradley and Terry 1952; a draw is half a win).

    One drawn game is added to every pairing, so that an agent that wins all games keeps a finite rating. Variances are
    estimated from the pairs (a sandwich estimator), with all pairs independent, and with those from one opening as a
    cluster, because they have it in common; the larger one counts.

    The interval is that of the agent's Elo above the anchor's: with an anchor that never wins, about which very little
    is known, all are wide. It may be looked at after every game. ``above_next`` is wrong for any two agents of the pool
    in 5% of all tournaments at most, however often one looks, and does not depend on the anchor. Of two agents,
    interval and proof are those of their match (``difference``).

    Args:
        pairings: for each two agents that met, their evidence from the first one's side. Games of an agent against
            itself say nothing of its strength, and do not count.

    Raises:
        ValueError: the anchor did not play, only against itself, or no chain of games connects some agent with it.
    """
    met_itself = (anchor, anchor) in pairings
    pairings = {pairing: evidence for pairing, evidence in pairings.items() if pairing[0] != pairing[1]}
    names = sorted({name for pairing in pairings for name in pairing}, key=lambda name: (name != anchor, name))
    if anchor not in names and met_itself:
        raise ValueError(f"{anchor} has played only against itself, and an agent against itself has no rating")
    if anchor not in names:
        raise ValueError(f"{anchor}, whose Elo would be 0, has not played a pair of games to its end: play more")
    cut_off = set(names) - agents_connected_with(pairings, anchor)
    if cut_off:
        raise ValueError(f"no games connect {', '.join(sorted(cut_off))} with the anchor {anchor!r}")
    fit = _fit_strengths(pairings, names)
    if len(names) == 2:
        return _of_two(pairings, fit, names)
    order = np.argsort(-fit.strengths, kind="stable")
    table = {}
    for place, index in enumerate(order):
        elo, margin = LOGISTIC * float(fit.strengths[index]), LOGISTIC * fit.margin(index, 0, ERROR_RATE)
        above = fit.is_stronger(index, order[place + 1]) if place + 1 < len(order) else None
        table[names[index]] = Rating(elo, elo - margin, elo + margin, _games(pairings, names[index]), above)
    return table


def _of_two(pairings: Pairings, fit: "_Fit", names: Sequence[str]) -> dict[str, Rating]:
    """The ratings of an anchor and another agent, which prove what their match does, by its interval."""
    first, evidence = next((first, evidence) for (first, _), evidence in pairings.items() if evidence.pairs)
    result, general = difference(evidence)
    low, high = (result.low, result.high) if first == names[1] else (-result.high, -result.low)
    elo, games = LOGISTIC * float(fit.strengths[1]), 2 * evidence.pairs
    table = [(names[0], Rating(0.0, 0.0, 0.0, games)), (names[1], Rating(elo, min(low, elo), max(high, elo), games))]
    best, last = table[::-1] if elo > 0 else table
    return {best[0]: best[1]._replace(above_next=general and result.is_proof), last[0]: last[1]}


def difference(evidence: Evidence) -> tuple[Estimate, bool]:
    """The Elo difference of two agents at any look, and whether it holds beyond the openings that were played.

    Where openings repeat, pairs from one opening have it in common. So what their pairs prove holds for these openings;
    for all, only if there are ``FEWEST_OPENINGS``, and they prove it with each opening as one observation.

    Raises:
        ValueError: there are no pairs.
    """
    by_pairs = anytime(evidence.counts)
    if evidence.is_sample or evidence.openings < FEWEST_OPENINGS:
        return by_pairs, evidence.is_sample
    low, high = map(elo_of, by_openings(evidence.rounds))
    both = by_pairs._replace(low=min(by_pairs.low, low), high=max(by_pairs.high, high))
    return (both, True) if both.is_proof else (by_pairs, False)


def _games(pairings: Pairings, name: str) -> int:
    return 2 * sum(evidence.pairs for pairing, evidence in pairings.items() if name in pairing)


def agents_connected_with(pairings: Pairings, start: str) -> set[str]:
    """The agents that are connected with ``start`` by a chain of pairings with games, including itself."""
    reached, frontier = {start}, [start]
    while frontier:
        name = frontier.pop()
        for pairing, evidence in pairings.items():
            if name in pairing and evidence.pairs:
                fresh = set(pairing) - reached
                reached |= fresh
                frontier.extend(fresh)
    return reached


class _Fit(NamedTuple):
    """The maximum-likelihood strengths of n agents."""

    strengths: np.ndarray  # float (n,): log odds against the first agent
    covariances: tuple[np.ndarray, np.ndarray]  # float (n, n): of the strengths, by pairs and by openings
    pairs: np.ndarray  # float (n,): distinct pairs of each agent
    openings: int  # of the empty board alone, on which nothing is in common but the game: distinct pairs

    def is_stronger(self, one: int, other: int) -> bool:
        """Whether the games prove one agent stronger than another, at a level shared by all pairs of agents."""
        agents = len(self.strengths)
        margin = self.margin(one, other, ERROR_RATE / (agents * (agents - 1) / 2))
        enough = min(self.pairs[one], self.pairs[other], self.openings) >= FEWEST_SUMMED
        return bool(enough and self.strengths[one] - self.strengths[other] > margin)

    def margin(self, one: int, other: int, alpha: float) -> float:
        """Half the interval of the difference of two agents, in log odds."""
        contrast = np.zeros(len(self.strengths))
        contrast[one], contrast[other] = 1, -1
        return self._error(contrast) * self._factor(min(self.pairs[one], self.pairs[other]), alpha)

    def _error(self, contrast: np.ndarray) -> float:
        return max(float(np.sqrt(max(0.0, contrast @ each @ contrast))) for each in self.covariances)

    def _factor(self, pairs: float, alpha: float) -> float:
        """Standard errors in a margin, with Student's t to first order: the variance comes from so many openings."""
        z = anytime_factor(pairs, alpha)
        return z + (z**3 + z) / (4 * max(1, self.openings - 1))


def _fit_strengths(pairings: Pairings, names: Sequence[str]) -> _Fit:
    """Fits the strengths by Newton's method; the first of the names has strength 0."""
    played = {pairing: evidence for pairing, evidence in pairings.items() if evidence.pairs}
    counts = [evidence.counts for evidence in played.values()]
    design = np.array([[(n == first) - (n == second) for n in names] for first, second in played], float)
    pairs = np.array([sum(each) for each in counts])
    weight = 2 * pairs + 1  # games, with the one drawn game
    score = (2 * pairs * [mean_and_variance(each)[0] for each in counts] + 0.5) / weight
    free, strengths = design[:, 1:], np.zeros(len(names))
    for _ in range(100):
        expected = 1 / (1 + np.exp(-design @ strengths))
        fisher = weight * expected * (1 - expected)  # information on the difference, by pairing
        information = free.T @ (free * fisher[:, None])
        step = np.linalg.solve(information, free.T @ (weight * (score - expected)))
        strengths[1:] += np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-10:
            break
    keys = {key for evidence in played.values() for key in evidence.clusters}
    openings = int(pairs.sum()) if keys == {EMPTY_BOARD} else len(keys)
    inverse = np.linalg.inv(information)
    by_pairs, by_openings = (
        np.pad(inverse @ spread @ inverse, ((1, 0), (1, 0))) for spread in _spreads(played.values(), free, expected)
    )
    return _Fit(strengths, (by_pairs, by_openings), pairs @ np.abs(design), openings)


def _spreads(played: Iterable[Evidence], free: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The variance of the scores' sum, float (n - 1, n - 1): with independent pairs, and with openings as clusters.

    A pairing with hardly two different results shows no variance; it gets that of independent games without draws.
    """
    agents = free.shape[1]
    by_pairs, by_openings, surplus = np.zeros((agents, agents)), np.zeros((agents, agents)), dict[int, np.ndarray]()
    for evidence, row, score in zip(played, free, expected, strict=True):
        counts, square = evidence.counts, np.outer(row, row)
        if sum(counts) - max(counts) < FEWEST_DEVIATING:
            by_pairs += square * (2 * sum(counts) + 1) * score * (1 - score)
            by_openings += square * (2 * sum(counts) + 1) * score * (1 - score)
            continue
        by_pairs += square * 4 * sum(counts) * mean_and_variance(counts)[1]
        for key, each in evidence.by_opening().items():
            above = 2 * sum(n * (a - score) for n, a in zip(each, PAIR_SCORES, strict=True))
            surplus[key] = surplus.get(key, 0) + row * above
    for points in surplus.values():
        by_openings += np.outer(points, points) * len(surplus) / max(1, len(surplus) - 1)
    return by_pairs, by_openings
