"""What the results of two agents prove: the Elo difference with its interval, and the SPRT. Pure functions of counts.

The unit is a pair: two games from the same opening with swapped seats, whose results are correlated. Counts are
pentanomial: in ``counts[k]`` pairs the first agent made k/2 of 2 points, k = 0 .. 4. They may be fractions, because
pairs that repeat each other count once (see ``connectx_toolkit.statistics.evidence``).

The interval holds at all numbers of games at once: one may look, play more, and look again. It is a confidence sequence
by betting (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024). The SPRT uses the
likelihood ratio for a given mean, maximised over all distributions with that mean (the empirical likelihood of Owen,
1988), as fishtest does (Van den Bergh, "A practical introduction to the GSPRT").
"""

import math
from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)  # mean score of the two games
ERROR_RATE = 0.05  # an interval misses the truth, and a verdict is wrong, in at most this share of all matches
LOGISTIC = 400 / math.log(10)  # Elo points per unit of natural log odds
LARGEST_ELO = 2000.0  # of a test
FEWEST_DEVIATING = 5  # pairs that must differ from the commonest result to estimate a variance from the sample
BETS = (np.arange(64) + 0.5) / 64  # shares of the largest bet that cannot ruin the gambler
# How the first stake is spread over the bets. Of the spreads c^a (1 - c)^b tried, a = 1, b = 2 needs few games over the
# whole range: for 20, 50 and 100 Elo 1.7 to 2.3, 1.8 to 1.9, 1.6 to 2.3 times those of the smallest fixed test.
BET_SPREAD = BETS * (1 - BETS) ** 2 / np.sum(BETS * (1 - BETS) ** 2)
TUNED_TO = 100  # pairs at which the intervals of ratings are narrowest


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

    Raises ValueError: two games cannot give these points.
    """
    counts = [0] * 5
    for points in pair_scores:
        if points not in (0, 0.5, 1, 1.5, 2):
            raise ValueError(f"two games give 0 to 2 points in halves, not {points!r}")
        counts[int(2 * points)] += 1
    return counts


def mean_and_variance(counts: Sequence[float]) -> tuple[float, float]:
    """Mean score of a game, and the variance of a pair's mean score. Raises ValueError: there are no pairs."""
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
    for _ in range(200):  # beside an end, where the sum is infinite, a step of Newton's only doubles the distance
        parts = [offset / (1 + tilt * offset) for _, offset in terms]
        value = sum(share * part for (share, _), part in zip(terms, parts, strict=True))
        slope = sum(share * part * part for (share, _), part in zip(terms, parts, strict=True))
        if abs(value) <= 1e-14 * sum(share * abs(part) for (share, _), part in zip(terms, parts, strict=True)):
            break
        low, high = (tilt, high) if value > 0 else (low, tilt)
        following = tilt + value / slope if slope else tilt
        if not low < following < high:
            following = (low + high) / 2
        if following in (low, high):  # numbers that are neighbours
            break
        tilt = following
    return tilt


class Estimate(NamedTuple):
    """The Elo difference of two agents with its 95% interval."""

    elo: float  # infinite if one agent won everything
    low: float
    high: float
    pairs: float  # distinct ones

    @property
    def is_proof(self) -> bool:
        """Whether the interval leaves out 0. No number of pairs is asked for: few of them make a wide interval."""
        return not self.low <= 0 <= self.high


def anytime(counts: Sequence[float]) -> Estimate:
    """The Elo difference with an interval that may be looked at after every pair.

    With probability 95% the true difference is inside at all looks at once, for any distribution of the results.

    Raises:
        ValueError: there are no pairs.
    """
    mean, low, high = anytime_mean(counts)
    return Estimate(elo_of(mean), elo_of(low), elo_of(high), sum(counts))


def anytime_mean(counts: Sequence[float]) -> tuple[float, float, float]:
    """The mean score, and the interval of ``anytime`` as scores.

    Raises:
        ValueError: there are no pairs.
    """
    mean, _ = mean_and_variance(counts)
    return mean, *_ends(counts, np.array(PAIR_SCORES), ERROR_RATE)


def by_openings(rounds: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The interval of the mean score over all openings that these are a sample of, valid at every look.

    An opening is one observation: its mean score after 1, 2, 4, ... pairs. Of openings with so many pairs each, a
    gambler bets on one after the other. There is a gambler for each number of pairs, with his share of the error: 1/2,
    1/6, 1/12, ... So openings may be repeated as long as one likes, and results may be as skewed as they like.

    Args:
        rounds: the openings' mean scores, from 0 to 1, after 1, 2, 4, ... pairs, in the order in which they had them.
    """
    ends = [
        _ends(np.ones(len(scores)), np.array(scores), ERROR_RATE / ((number + 1) * (number + 2)))
        for number, scores in enumerate(rounds)
    ]
    return max(low for low, _ in ends), min(high for _, high in ends)


def _ends(counts: Sequence[float] | np.ndarray, scores: np.ndarray, alpha: float) -> tuple[float, float]:
    return _lower_end(counts, scores, alpha), 1 - _lower_end(counts, 1 - scores, alpha)


def log_wealth(
    counts: Sequence[float] | np.ndarray, mean: float, scores: Sequence[float] | np.ndarray = PAIR_SCORES
) -> np.ndarray:
    """Log of what a gambler has made of 1 by betting on every pair that the true mean score is above ``mean``.

    A stake c turns into 1 - c + c a / mean at score a, which is fair if the mean is true. So the wealth is a martingale
    then, and exceeds 1 / alpha at any time with probability alpha at most (Ville's inequality). It does not depend on
    the order of the pairs. It falls as ``mean`` rises.

    Args:
        counts: how often each score came, in one match or in many: float (..., n). The result is float (...).
        scores: n of them, from 0 to 1; pentanomial by default.
    """
    growth = np.asarray(counts, float) @ np.log1p(np.outer(np.asarray(scores) / mean - 1, BETS))
    most = growth.max(-1, keepdims=True)
    return most[..., 0] + np.log(np.exp(growth - most) @ BET_SPREAD)


# The least number of pairs that can prove anything at any look: so many that were all won.
FEWEST_PAIRS = next(n for n in count(1) if log_wealth((0, 0, 0, 0, n), 0.5) >= math.log(2 / ERROR_RATE))


def _lower_end(counts: Sequence[float] | np.ndarray, scores: np.ndarray, alpha: float) -> float:
    """The largest mean below the sample mean at which the gambler has 2 / alpha, half the error being for each side."""
    low, high = 0.0, float(np.average(scores, weights=counts))
    for _ in range(50):
        middle = (low + high) / 2
        if middle and log_wealth(counts, middle, scores) >= math.log(2 / alpha):
            low = middle
        else:
            high = middle
    return low


def pairs_needed(counts: Sequence[float], elo: float) -> int:
    """About how many pairs show a difference of ``elo``, if pairs vary as these do: a typical number, not a promise."""
    effect = score_of(elo) - 0.5
    variance = mean_and_variance([n + 1 for n in counts])[1]  # one pair of each kind added, for few pairs tell little
    return math.ceil(anytime_factor(TUNED_TO, ERROR_RATE) ** 2 * variance / effect**2)


def anytime_factor(pairs: float, alpha: float) -> float:
    """By how many standard errors an average may be off at any time: 1.96 for one look, about 3 for all of them.

    The boundary of Robbins (1970) for sums that are about normal: sqrt((n + r) / n log((n + r) / (r alpha^2))).
    """
    odds = 2 * math.log(1 / alpha)
    r = TUNED_TO / (odds + math.log1p(odds))
    return math.sqrt((pairs + r) / pairs * (math.log((pairs + r) / r) + odds))


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

    def llr(self, counts: Sequence[float]) -> float:
        """Log likelihood ratio of H1 to H0; 0 without pairs.

        The variance is estimated from the same pairs. Student's t, to first order at the bounds, makes up for that:
        without it equal agents pass a test of 50 against 0 Elo in up to 5.3% of matches, with it in up to 4.8%.
        """
        pairs = sum(counts)
        if not pairs:
            return 0.0
        ratio = (deviance(counts, score_of(self.elo0)) - deviance(counts, score_of(self.elo1))) / 2
        return ratio / (1 + (2 * self.bounds[1] + 1) / (2 * pairs))

    def decision(self, counts: Sequence[float]) -> str | None:
        """ "H0" or "H1", or None while neither is accepted."""
        llr, (lower, upper) = self.llr(counts), self.bounds
        return "H1" if llr >= upper else "H0" if llr <= lower else None


def sprt_of(elos: Sequence[float] | None) -> Sprt | None:
    """The test of two Elo differences; None of None. Raises ValueError unless they are finite, the lower one first."""
    if elos is None:
        return None
    low, high = elos
    if not -LARGEST_ELO <= low < high <= LARGEST_ELO:
        raise ValueError(f"sprt takes two Elo differences up to {LARGEST_ELO:g}, the lower first, not {low:g} {high:g}")
    return Sprt(low, high)
