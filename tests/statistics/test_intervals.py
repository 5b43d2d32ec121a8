"""Statistics against published values, closed forms, and simulations.

Published values are those of fastchess' own tests (app/tests/elo_test.cpp and sprt_test.cpp), part of which are runs of
fishtest; its six counts LL, LD, WL, DD, WD, WW become five here, WL and DD together.
"""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectx_toolkit.statistics.intervals import (
    ERROR_RATE,
    FEWEST_PAIRS,
    Sprt,
    anytime,
    by_openings,
    deviance,
    elo_of,
    log_wealth,
    mean_and_variance,
    pairs_needed,
    pentanomial,
    score_of,
)

pytestmark = pytest.mark.slow
PAIR_COUNTS = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(any)


# Elo of a score, from 400 log10(p / (1 - p)) by hand: 10:1 odds are 400 points, 3:1 are 190.85, 2:1 are 120.41.
@pytest.mark.parametrize(
    ("score", "elo"), [(0.5, 0), (10 / 11, 400), (0.75, 190.8485), (2 / 3, 120.4120), (0.25, -190.8485)]
)
def test_elo_of_a_score(score, elo):
    assert elo_of(score) == pytest.approx(elo, abs=1e-4) and score_of(elo) == pytest.approx(score, abs=1e-6)
    assert (elo_of(0), elo_of(1)) == (-math.inf, math.inf)


def test_pentanomial_counts():
    assert pentanomial([0, 2, 1, 1, 0.5, 1.5, 2]) == [1, 1, 2, 1, 2]
    with pytest.raises(ValueError, match=r"2\.5"):
        pentanomial([2.5])


# By hand: mean = sum of n a / N, variance = sum of n (a - mean)^2 / N, as fractions.
@pytest.mark.parametrize(
    ("counts", "mean", "variance"),
    [([1, 0, 0, 0, 1], 1 / 2, 1 / 4), ([1, 1, 1, 1, 1], 1 / 2, 1 / 8), ([0, 0, 3, 0, 1], 5 / 8, 3 / 64)],
)
def test_mean_and_pentanomial_variance(counts, mean, variance):
    assert mean_and_variance(counts) == pytest.approx((mean, variance), rel=1e-12)


# fastchess sprt_test.cpp, logistic model.
@pytest.mark.parametrize(
    ("counts", "elos", "llr"),
    [
        ([223, 9863, 20279 + 1000, 10037, 246], (0.5, 2.5), -3.07),
        ([871, 26175, 55003 + 980, 26678, 821], (0, 2), -4.98),
    ],
)
def test_published_llr(counts, elos, llr):
    assert Sprt(*elos).llr(counts) == pytest.approx(llr, abs=0.006)


def test_the_llr_of_few_pairs():
    """By hand: 10 of 15 pairs won 2:0 and 5 lost, a binomial likelihood, less Student's (2 ln 19 + 1) / 30."""
    one, other = 1 / (1 + 10**-0.25), 0.5  # the scores of 100 and 0 Elo
    ratio = 10 * math.log(one / other) + 5 * math.log((1 - one) / (1 - other))
    assert Sprt(0, 100).llr([5, 0, 0, 0, 10]) == pytest.approx(ratio / (1 + (2 * math.log(19) + 1) / 30), rel=1e-6)


def test_sprt_bounds():
    """ln 19 = 2.9444 at 5% (Wald 1945)."""
    assert Sprt(0, 20).bounds == pytest.approx((-2.94444, 2.94444), abs=1e-5)
    assert Sprt(0, 20, 0.01, 0.1).bounds == pytest.approx((math.log(0.1 / 0.99), math.log(90)))


def test_sprt_decides():
    test = Sprt(0, 20)
    assert test.decision([0] * 5) is None and test.decision([1, 1, 1, 1, 1]) is None
    assert test.decision([0, 0, 0, 0, FEWEST_PAIRS]) is None and Sprt(0, 200).decision([0, 0, 0, 0, 10]) == "H1"
    assert test.decision([0, 0, 20, 80, 40]) == "H1" and test.decision([40, 80, 20, 0, 0]) == "H0"


@given(wins=st.integers(0, 80), losses=st.integers(0, 80), mean=st.floats(0.02, 0.98))
@example(wins=2, losses=25, mean=1 / 3)  # where Newton's method comes as near to an end of the range as numbers can
def test_two_results_have_the_binomial_likelihood(wins, losses, mean):
    """Pairs all won or lost 2:0: the log likelihood is w ln p + l ln q, here against its largest value."""
    pairs = wins + losses
    if not pairs:
        return

    def log_likelihood(p: float) -> float:
        return (wins * math.log(p) if wins else 0.0) + (losses * math.log(1 - p) if losses else 0.0)

    expected = 2 * (log_likelihood(wins / pairs) - log_likelihood(mean))
    assert deviance([losses, 0, 0, 0, wins], mean) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_deviance_by_brute_force():
    """The best of many random distributions with the mean is a little worse than the one found, never better."""
    counts, mean, rng = np.array([3, 5, 9, 2, 4]), 0.6, np.random.default_rng(1)
    shares = rng.dirichlet(counts + 1.0, size=500_000)
    shares = shares[np.abs(shares @ np.array([0, 0.25, 0.5, 0.75, 1]) - mean) < 1e-3]
    best = (np.log(shares) @ counts).max()
    free = (counts * np.log(counts / counts.sum())).sum()
    assert deviance(counts.tolist(), mean) == pytest.approx(2 * (free - best), abs=0.1)
    assert 2 * (free - best) > deviance(counts.tolist(), mean) - 0.07  # the tolerance of the mean is worth 0.06


@given(PAIR_COUNTS)
def test_the_second_agent_sees_the_negative(counts):
    ours, theirs = anytime(counts), anytime(counts[::-1])
    assert ours.elo == pytest.approx(-theirs.elo, abs=1e-6) and ours.low <= ours.elo <= ours.high
    if math.isfinite(ours.low):
        assert ours.low == pytest.approx(-theirs.high, rel=1e-4, abs=1e-4)


def test_no_pairs():
    with pytest.raises(ValueError, match="no pairs"):
        anytime([0] * 5)


@pytest.mark.parametrize(("elo", "wrong"), [(0, "H1"), (60, "H0")])
def test_sprt_errs_at_most_5_times_in_100(elo, wrong):
    """400 sequential tests of 60 Elo against 0, at either truth; pairs have draws and lean on their opening."""
    rng, test = np.random.default_rng(3), Sprt(0, 60)
    shift = 2 * (score_of(elo) - 0.5)  # moves pairs from 0:2 to 2:0
    shares = np.array([0.2 - shift / 2, 0.15, 0.3, 0.15, 0.2 + shift / 2])
    errors, lengths = 0, []
    for _ in range(400):
        counts, answer = [0] * 5, None
        while answer is None:
            for _ in range(5):
                counts[rng.choice(5, p=shares)] += 1
            answer = test.decision(counts)
        errors += answer == wrong
        lengths.append(sum(counts))
    assert errors <= 0.05 * 400 and 20 < np.mean(lengths) < 400


# Intervals for many looks


def test_the_wealth_is_a_martingale():
    """By hand: one pair, all outcomes weighed by a fair distribution of the mean, give back the stake of 1."""
    for shares in ([0.5, 0, 0, 0, 0.5], [0, 0.5, 0, 0.5, 0], [0.1, 0.2, 0.3, 0.4, 0]):
        mean = float(np.dot(shares, [0, 0.25, 0.5, 0.75, 1]))
        assert np.dot(shares, np.exp(log_wealth(np.eye(5), mean))) == pytest.approx(1)


@given(PAIR_COUNTS)
def test_the_interval_ends_where_the_wealth_reaches_the_limit(counts):
    found = anytime(counts)
    assert found.low <= found.elo <= found.high and found.pairs == sum(counts)
    for end, seen in ((found.low, counts), (-found.high, counts[::-1])):
        if math.isfinite(end):
            assert log_wealth(seen, score_of(end)) == pytest.approx(math.log(40), abs=1e-3)
    swapped = anytime(counts[::-1])
    assert swapped.low == pytest.approx(-found.high) and swapped.high == pytest.approx(-found.low)


def test_proof_needs_pairs():
    """So many as the interval takes, 9 that were all won; with one of 10 lost it takes more."""
    assert FEWEST_PAIRS == 9
    assert not anytime([0, 0, 0, 0, FEWEST_PAIRS - 1]).is_proof and anytime([0, 0, 0, 0, FEWEST_PAIRS]).is_proof
    assert not anytime([1, 0, 0, 0, FEWEST_PAIRS]).is_proof


EQUAL = ((0.2, 0.15, 0.3, 0.15, 0.2), (0.5, 0, 0, 0, 0.5), (1 / 3, 0, 0, 2 / 3, 0))  # the last: openings favour one


@pytest.mark.parametrize("shares", EQUAL)
def test_a_look_after_each_of_few_pairs_proves_nothing_false(shares):
    """Computed, as a walk that ends where a verdict is given: 20 pairs of equal agents, all looks together."""
    going, wrong = {(0,) * 5: 1.0}, 0.0
    for _ in range(20):
        following: dict[tuple[int, ...], float] = {}
        for counts, chance in going.items():
            for result, share in enumerate(shares):
                if share:
                    after = tuple(n + (k == result) for k, n in enumerate(counts))
                    following[after] = following.get(after, 0.0) + chance * share
        seen = np.array(list(following))
        proof = np.maximum(log_wealth(seen, 0.5), log_wealth(seen[:, ::-1], 0.5)) >= math.log(2 / ERROR_RATE)
        chances = np.array(list(following.values()))
        wrong += chances[proof].sum()
        going = {tuple(each): chance for each, chance in zip(seen[~proof].tolist(), chances[~proof], strict=True)}
    assert 0 < wrong <= 0.05


def test_pairs_needed():
    """A smaller difference needs more pairs, with the inverse square; the estimate is near what simulation finds."""
    needed = [pairs_needed([6, 14, 60, 14, 6], elo) for elo in (25, 50, 100)]
    assert needed[0] / needed[1] == pytest.approx(4, rel=0.1) and needed[0] > needed[1] > needed[2]
    shares = np.array([0.03, 0.094, 0.58, 0.196, 0.1])  # +50 Elo
    rng, first = np.random.default_rng(6), []
    for _ in range(300):
        counts = np.eye(5)[rng.choice(5, size=600, p=shares / shares.sum())].cumsum(0)
        first.append(int((log_wealth(counts, 0.5) >= math.log(40)).argmax()) + 1)
    assert 0.5 < np.median(first) / needed[1] < 1.5


def test_each_opening_is_one_observation():
    """Pairs of an opening count by their mean, as a single pair with this score would."""
    low, high = by_openings([[1.0] * 30])
    assert log_wealth((0, 0, 0, 0, 30), low) == pytest.approx(math.log(80))  # half of the error is that of one pair
    assert high == 1
    one_pair, two_pairs = by_openings([[0.5, 1.0] * 15]), by_openings([[0.5, 1.0] * 15, [0.75] * 30])
    assert one_pair[0] <= two_pairs[0] < 0.75 < two_pairs[1] <= one_pair[1]
    flipped = by_openings([[0.0, 0.25, 0.75, 0.5] * 5])
    assert flipped == pytest.approx(tuple(1 - end for end in by_openings([[1.0, 0.75, 0.25, 0.5] * 5])[::-1]))


@pytest.mark.parametrize(("openings", "lost"), [(20, 0.1), (40, 0.03)])
def test_few_openings_with_skewed_results_prove_nothing_false(openings, lost):
    """Each is played 16 times. One agent loses in a few openings all that it gains in the others: they are equal."""
    rng, wrong, proven = np.random.default_rng(1), 0, 0
    gain = lost * 0.5 / ((1 - lost) * 0.25)
    for _ in range(200):
        means = np.where(rng.random(openings) < lost, 0.0, 0.5 + 0.25 * rng.binomial(16, gain, openings) / 16)
        low, high = by_openings([means.tolist()])
        wrong += not low <= 0.5 <= high
        proven += by_openings([(means + 0.25).clip(0, 1).tolist()])[0] > 0.5
    assert wrong <= 10 and proven > 90
