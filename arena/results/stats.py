"""Statistics of results: Elo differences with intervals, SPRT, ratings of many agents. Pure functions of counts.

The unit is a pair: two games from the same opening with swapped seats, whose results are correlated. Counts are
pentanomial: in ``counts[k]`` pairs the first agent made k/2 of 2 points, k = 0 .. 4.

Intervals, likelihood of superiority and SPRT all use one function: the likelihood ratio for a given mean, maximised
over all pentanomial (or other bounded) distributions with that mean. This is the GSPRT as fishtest computes it (Van den
Bergh, "A practical introduction to the GSPRT") and the empirical likelihood of Owen (1988). Unlike the usual normal
approximation it is also valid if all games are won: an end of the interval is then infinite.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)  # mean score of the two games
Z95 = NormalDist().inv_cdf(0.975)
LOGISTIC = 400 / math.log(10)  # Elo points per unit of natural log odds
FEWEST_DEVIATING = 5  # pairs that must differ from the commonest result to estimate a variance from the sample


def elo_of(score: float) -> float:
    """Elo difference for an expected score from 0 to 1; infinite for 0 and 1."""
    if score <= 0:
        return -math.inf
    return math.inf if score >= 1 else LOGISTIC * math.log(score / (1 - score))


def score_of(elo: float) -> float:
    """Expected score at an Elo difference."""
    return 1 / (1 + math.exp(-elo / LOGISTIC))


def pentanomial(pair_scores: Iterable[float]) -> list[int]:
    """Counts of pairs, from the points (0 to 2) that the first agent made in each.

    Raises:
        ValueError: two games cannot give these points.
    """
    counts = [0] * 5
    for points in pair_scores:
        if points not in (0, 0.5, 1, 1.5, 2):
            raise ValueError(f"two games give 0 to 2 points in halves, not {points!r}")
        counts[int(2 * points)] += 1
    return counts


def mean_and_variance(counts: Sequence[float]) -> tuple[float, float]:
    """Mean score of a game, and the variance of a pair's mean score.

    Raises:
        ValueError: there are no pairs.
    """
    pairs = sum(counts)
    if pairs <= 0:
        raise ValueError("there are no pairs of games to judge by")
    mean = sum(n * a for n, a in zip(counts, PAIR_SCORES, strict=True)) / pairs
    return mean, sum(n * (a - mean) ** 2 for n, a in zip(counts, PAIR_SCORES, strict=True)) / pairs


def deviance(counts: Sequence[float], mean: float) -> float:
    """Twice the log likelihood ratio between the most likely distribution and the most likely one with this mean score.

    If ``mean`` is the true one, this is about chi-squared with one degree of freedom. The most likely distribution with
    a given mean has shares n_k / (1 + tilt (a_k - mean)). ``tilt`` is found by Newton's method, with bisection to keep
    it in its range. At an end of the range, the rest of the mass is on a result that never occurred: 2:0 or 0:2.
    """
    pairs, (sample_mean, _) = sum(counts), mean_and_variance(counts)
    if not 0 < mean < 1:
        return 0.0 if mean == sample_mean else math.inf
    terms = [(n / pairs, a - mean) for n, a in zip(counts, PAIR_SCORES, strict=True) if n]
    tilt = _tilt(terms, -1 / (1 - mean), 1 / mean)
    return max(0.0, 2 * pairs * sum(share * math.log(1 + tilt * offset) for share, offset in terms))


def _tilt(terms: Sequence[tuple[float, float]], low: float, high: float) -> float:
    """The zero of sum(share offset / (1 + tilt offset)), which decreases in tilt; or the end of its range."""
    tilt = 0.0
    for _ in range(60):
        parts = [offset / (1 + tilt * offset) for _, offset in terms]
        value = sum(share * part for (share, _), part in zip(terms, parts, strict=True))
        slope = sum(share * part * part for (share, _), part in zip(terms, parts, strict=True))
        low, high = (tilt, high) if value > 0 else (low, tilt)
        following = tilt + value / slope if slope else tilt
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - tilt) <= 1e-13 * (1 + abs(tilt)):
            break
        tilt = following
    return tilt


class Estimate(NamedTuple):
    """Elo difference of two agents with its 95% interval, and the likelihood that the first is stronger."""

    elo: float
    low: float
    high: float
    superiority: float
    pairs: int


def estimate(counts: Sequence[int]) -> Estimate:
    """The Elo difference estimated from the pairs. Raises ValueError if there are none."""
    mean, _ = mean_and_variance(counts)
    pairs = sum(counts)
    z = Z95 + (Z95**3 + Z95) / (4 * pairs)  # Student's t to first order, because the variance is estimated, too
    low, high = 1 - _upper_end(counts[::-1], z * z), _upper_end(counts, z * z)
    root = math.copysign(math.sqrt(deviance(counts, 0.5)), mean - 0.5)
    return Estimate(elo_of(mean), elo_of(low), elo_of(high), NormalDist().cdf(root), pairs)


def _upper_end(counts: Sequence[int], limit: float) -> float:
    """The mean above the sample mean at which the deviance reaches ``limit``; 1 if it never does.

    The most likely distributions form a curve, with shares n_k / (1 + t a_k) scaled to sum 1 and t from 0 to -1, along
    which mean and deviance have closed forms. If no pair was won 2:0, the curve ends early, and from there on mass
    moves to that result.
    """
    pairs = sum(counts)
    if counts[4] == pairs:
        return 1.0
    terms = [(n / pairs, a) for n, a in zip(counts, PAIR_SCORES, strict=True) if n]
    limit /= 2 * pairs
    low, high = -1.0, 0.0
    if not counts[4]:
        logs = sum(share * math.log(1 - a) for share, a in terms)
        if limit >= logs + math.log(sum(share / (1 - a) for share, a in terms)):
            return 1 - math.exp(logs - limit)
    for _ in range(60):
        t = (low + high) / 2
        scale = sum(share / (1 + t * a) for share, a in terms)
        if math.log(scale) + sum(share * math.log(1 + t * a) for share, a in terms) > limit:
            low = t
        else:
            high = t
    return sum(share * a / (1 + high * a) for share, a in terms) / sum(share / (1 + high * a) for share, a in terms)


class Sprt(NamedTuple):
    """Wald's sequential probability ratio test of H1 (the difference is elo1) against H0 (it is elo0).

    ``alpha`` bounds the probability to accept H1 under H0, ``beta`` that to accept H0 under H1.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def bounds(self) -> tuple[float, float]:
        """(lower, upper) bound of the LLR: H0 is accepted at or below the lower, H1 at or above the upper."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[int]) -> float:
        """Log likelihood ratio of H1 to H0; 0 without pairs."""
        if not sum(counts):
            return 0.0
        return (deviance(counts, score_of(self.elo0)) - deviance(counts, score_of(self.elo1))) / 2

    def accepted(self, counts: Sequence[int]) -> str | None:
        """ "H0" or "H1", or None while neither is accepted."""
        llr, (lower, upper) = self.llr(counts), self.bounds
        return "H1" if llr >= upper else "H0" if llr <= lower else None


class Rating(NamedTuple):
    """An agent's Elo relative to the anchor, with the 95% interval of its difference to the pool's mean."""

    elo: float
    low: float
    high: float
    games: int
    above_next: float | None = None  # likelihood that it is stronger than the next lower agent; None for the last


def ratings(
    pairings: Mapping[tuple[str, str], Sequence[int]], anchor: str, anchor_elo: float = 0.0
) -> dict[str, Rating]:
    """The Elo of every agent by maximum likelihood over all pairings (Bradley and Terry 1952; a draw is half a win).

    One drawn game is added to every pairing, so that an agent that wins all games keeps a finite rating. Variances are
    estimated from the pairs (a sandwich estimator). If too few pairs differ from the commonest result for that, they
    are those of independent games without draws.

    The interval is that of the agent's difference to the pool's mean, in which agents are weighted by the Fisher
    information of their games. So it does not depend on the anchor, and an agent that never wins, about which very
    little is known, does not widen the intervals of the others.

    Args:
        pairings: for each two agents that met, pentanomial counts from the first one's side.

    Raises:
        ValueError: the anchor did not play, or no chain of games connects some agent with it.
    """
    names = sorted({name for pairing in pairings for name in pairing}, key=lambda name: (name != anchor, name))
    if anchor not in names:
        raise ValueError(f"the anchor {anchor!r} has played no games")
    cut_off = set(names) - connected(pairings, anchor)
    if cut_off:
        raise ValueError(f"no games connect {', '.join(sorted(cut_off))} with the anchor {anchor!r}")
    fit = _fit(pairings, names)
    order = np.argsort(-fit.strengths, kind="stable")
    margins = Z95 * LOGISTIC * np.sqrt(np.diag(fit.covariance_to_mean()))
    table = {}
    for place, index in enumerate(order):
        elo = anchor_elo + LOGISTIC * float(fit.strengths[index])
        low, high = elo - float(margins[index]), elo + float(margins[index])
        above = fit.superiority(index, order[place + 1]) if place + 1 < len(order) else None
        table[names[index]] = Rating(elo, low, high, _games(pairings, names[index]), above)
    return table


def _games(pairings: Mapping[tuple[str, str], Sequence[int]], name: str) -> int:
    pairs = 0
    for pairing, counts in pairings.items():
        if name in pairing:
            pairs += sum(counts)
    return 2 * pairs


def connected(pairings: Mapping[tuple[str, str], Sequence[int]], start: str) -> set[str]:
    """The agents that are connected with ``start`` by a chain of pairings with games, including itself."""
    found, frontier = {start}, [start]
    while frontier:
        name = frontier.pop()
        for pairing, counts in pairings.items():
            if name in pairing and any(counts):
                fresh = set(pairing) - found
                found |= fresh
                frontier.extend(fresh)
    return found


class _Fit(NamedTuple):
    """The maximum-likelihood strengths of n agents."""

    strengths: np.ndarray  # float (n,): log odds against the first agent
    covariance: np.ndarray  # float (n, n): of the strengths; zero for the first agent
    weights: np.ndarray  # float (n,): each agent's share of the information in all games; sums to 1

    def covariance_to_mean(self) -> np.ndarray:
        """Float (n, n): the covariance of the differences between each strength and the pool's weighted mean."""
        to_mean = np.eye(len(self.weights)) - self.weights
        return to_mean @ self.covariance @ to_mean.T

    def superiority(self, one: int, other: int) -> float:
        """The likelihood that one agent is stronger than another."""
        contrast = np.zeros(len(self.strengths))
        contrast[one], contrast[other] = 1, -1
        error = math.sqrt(contrast @ self.covariance @ contrast)
        return NormalDist().cdf(float(contrast @ self.strengths) / error)


def _fit(pairings: Mapping[tuple[str, str], Sequence[int]], names: Sequence[str]) -> _Fit:
    """Fits the strengths by Newton's method; the first of the names has strength 0."""
    rows, games, scores, variances = [], [], [], []
    for (first, second), counts in pairings.items():
        mean, variance = mean_and_variance(counts)
        rows.append([(name == first) - (name == second) for name in names])
        games.append(2 * sum(counts) + 1)
        scores.append((2 * sum(counts) * mean + 0.5) / games[-1])
        variances.append(2 * variance if sum(counts) - max(counts) >= FEWEST_DEVIATING else 0.0)  # of a game
    design, weight, score = np.array(rows, float), np.array(games, float), np.array(scores)
    free, strengths = design[:, 1:], np.zeros(len(names))
    for _ in range(100):
        expected = 1 / (1 + np.exp(-design @ strengths))
        told = weight * expected * (1 - expected)  # information on the difference, by pairing
        information = free.T @ (free * told[:, None])
        step = np.linalg.solve(information, free.T @ (weight * (score - expected)))
        strengths[1:] += np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-10:
            break
    each = np.where(np.array(variances) > 0, variances, expected * (1 - expected))
    inverse, covariance = np.linalg.inv(information), np.zeros((len(names), len(names)))
    covariance[1:, 1:] = inverse @ (free.T @ (free * (weight * each)[:, None])) @ inverse
    return _Fit(strengths, covariance, told @ np.abs(design) / (2 * told.sum()))
