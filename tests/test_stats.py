"""Statistics against published values, closed forms, and simulations.

Published values are those of fastchess' own tests (app/tests/elo_test.cpp and sprt_test.cpp), part of which are runs of
fishtest; its six counts LL, LD, WL, DD, WD, WW become five here, WL and DD together.
"""

import math
from itertools import combinations, pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.results.stats import (
    Rating,
    Sprt,
    deviance,
    elo_of,
    estimate,
    mean_and_variance,
    pentanomial,
    ratings,
    score_of,
)
from arena.results.words import verdict

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


# fastchess elo_test.cpp: difference, half the width of the interval (by a normal approximation), LOS.
@pytest.mark.parametrize(
    ("counts", "elo", "error", "los"),
    [
        ([34, 54, 31 + 32, 64, 75], 55.58, 27.65, 1.0),
        ([332, 433, 457 + 41, 333, 334], -8.64, 10.33, 0.0505),
        ([7895, 8757, 5485 + 200, 568, 9999], -21.04, 2.95, 0.0),
    ],
)
def test_published_intervals(counts, elo, error, los):
    result = estimate(counts)
    assert result.elo == pytest.approx(elo, abs=0.006)
    assert (result.high - result.low) / 2 == pytest.approx(error, rel=0.01)
    assert result.superiority == pytest.approx(los, abs=2e-4)


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


def test_sprt_bounds():
    """ln 19 = 2.9444 at 5% (Wald 1945)."""
    assert Sprt(0, 20).bounds == pytest.approx((-2.94444, 2.94444), abs=1e-5)
    assert Sprt(0, 20, 0.01, 0.1).bounds == pytest.approx((math.log(0.1 / 0.99), math.log(90)))


def test_sprt_decides():
    test = Sprt(0, 20)
    assert test.accepted([0] * 5) is None and test.accepted([1, 1, 1, 1, 1]) is None
    assert test.accepted([0, 0, 20, 80, 40]) == "H1" and test.accepted([40, 80, 20, 0, 0]) == "H0"


@given(wins=st.integers(0, 80), losses=st.integers(0, 80), mean=st.floats(0.02, 0.98))
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
    """The best of a million random distributions with the mean is a little worse than the one found, never better."""
    counts, mean, rng = np.array([3, 5, 9, 2, 4]), 0.6, np.random.default_rng(1)
    shares = rng.dirichlet(counts + 1.0, size=1_000_000)
    shares = shares[np.abs(shares @ np.array([0, 0.25, 0.5, 0.75, 1]) - mean) < 1e-3]
    best = (np.log(shares) @ counts).max()
    free = (counts * np.log(counts / counts.sum())).sum()
    assert deviance(counts.tolist(), mean) == pytest.approx(2 * (free - best), abs=0.1)
    assert 2 * (free - best) > deviance(counts.tolist(), mean) - 0.07  # the tolerance of the mean is worth 0.06


def test_all_won():
    """n pairs won 2:0 have the likelihood p^n: the interval starts where p^n = exp(-z^2 / 2) and has no end."""
    result = estimate([0, 0, 0, 0, 400])
    z = 1.959964 + (1.959964**3 + 1.959964) / 1600
    assert (result.elo, result.high) == (math.inf, math.inf)
    assert score_of(result.low) == pytest.approx(math.exp(-(z**2) / 2 / 400), rel=1e-9)
    assert result.superiority == pytest.approx(NormalDist().cdf(math.sqrt(800 * math.log(2))))


@given(PAIR_COUNTS)
def test_the_second_agent_sees_the_negative(counts):
    ours, theirs = estimate(counts), estimate(counts[::-1])
    assert ours.elo == pytest.approx(-theirs.elo, abs=1e-6) and ours.low <= ours.elo <= ours.high
    assert ours.superiority == pytest.approx(1 - theirs.superiority, abs=1e-6)
    if math.isfinite(ours.low):
        assert ours.low == pytest.approx(-theirs.high, rel=1e-4, abs=1e-4)


def test_no_pairs():
    with pytest.raises(ValueError, match="no pairs"):
        estimate([0] * 5)


@pytest.mark.parametrize("pairs", [50, 300])
@pytest.mark.parametrize(
    "shares",
    [(0.1, 0.2, 0.4, 0.2, 0.1), (0.45, 0, 0.1, 0, 0.45), (0.02, 0.08, 0.3, 0.3, 0.3)],
    ids=["even", "decided by the opening", "stronger"],
)
def test_intervals_cover_the_truth_in_95_of_100(pairs, shares):
    """2,000 simulated matches: 94 to 96% of the intervals hold the true difference."""
    truth = elo_of(float(np.dot(shares, [0, 0.25, 0.5, 0.75, 1])))
    samples = np.random.default_rng(2).multinomial(pairs, shares, size=2000).tolist()
    results = {tuple(counts): estimate(counts) for counts in samples}
    inside = [results[tuple(counts)].low <= truth <= results[tuple(counts)].high for counts in samples]
    assert 0.94 <= np.mean(inside) <= 0.96


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
            answer = test.accepted(counts)
        errors += answer == wrong
        lengths.append(sum(counts))
    assert errors <= 0.05 * 400 and 20 < np.mean(lengths) < 400


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([0, 0, 10, 20, 20], "A is stronger"),
        ([20, 20, 10, 0, 0], "B is stronger"),
        ([500, 1000, 2000, 1000, 500], "no difference within 20 Elo"),
        ([5, 10, 20, 10, 5], "not enough games: about "),
        ([0, 0, 0, 0, 2], "not enough games: about 20 more"),
    ],
)
def test_verdicts(counts, words):
    assert verdict(counts, "A", "B").startswith(words)


def test_the_games_asked_for_are_enough():
    """With as many more of the same results, the verdict falls."""
    counts = [10, 22, 36, 26, 12]
    more = int(verdict(counts, "A", "B").split("about ")[1].split()[0])
    factor = 1.1 * (1 + more / 2 / sum(counts))
    assert "not enough" not in verdict([round(factor * n) for n in counts], "A", "B")


# Ratings


def width(rating: Rating) -> float:
    return rating.high - rating.low


def test_two_agents_have_the_rating_of_their_score():
    """75% over many games: 190.85 Elo. Each is half of it from the mean, with half of the match's interval."""
    counts = [200, 400, 800, 2400, 2200]
    table = ratings({("A", "B"): counts}, anchor="B", anchor_elo=1000)
    match = estimate(counts)
    assert table["A"].elo == pytest.approx(1000 + match.elo, abs=0.5) and table["B"].elo == 1000
    assert [width(line) for line in table.values()] == pytest.approx([(match.high - match.low) / 2] * 2, rel=0.02)
    assert table["A"].games == table["B"].games == 12000 and list(table) == ["A", "B"]


@pytest.mark.parametrize("counts", [[10, 20, 30, 25, 15], [3, 8, 30, 22, 10], [0, 4, 20, 30, 20]])
def test_two_agents_stand_as_surely_as_in_their_match(counts):
    """The likelihood of superiority by the normal approximation, against that by the likelihood ratio."""
    table = ratings({("A", "B"): counts}, anchor="B")
    assert table["A"].above_next == pytest.approx(estimate(counts).superiority, abs=0.01)
    assert table["B"].above_next is None


@pytest.mark.parametrize("agents", [2, 3, 6])
def test_intervals_of_equals(agents):
    """k agents, 40 pairs each two, all even: the inverse of the Laplacian I (k E - 1 1') is (E - 1 1' / k) / (k I).

    I = 81 / 4 is the information of 80 games and the drawn one that is added.
    """
    names = "ABCDEF"[:agents]
    table = ratings({pair: [10, 0, 20, 0, 10] for pair in combinations(names, 2)}, anchor="A")
    error = math.sqrt((1 - 1 / agents) / (agents * 81 / 4))
    assert [width(line) for line in table.values()] == pytest.approx([2 * 1.959964 * 173.7178 * error] * agents)
    assert [line.above_next for line in table.values()] == [pytest.approx(0.5)] * (agents - 1) + [None]


def test_an_anchor_that_never_wins_widens_no_interval_but_its_own():
    even = {("A", "B"): [10, 0, 20, 0, 10]}
    beaten = {(name, "C"): [0, 0, 0, 0, 40] for name in "AB"}
    alone, with_it = ratings(even, anchor="A"), ratings(even | beaten, anchor="C")
    assert width(with_it["C"]) > 400 and with_it["C"].elo == 0 and with_it["A"].elo > 700
    for name in "AB":
        assert width(with_it[name]) == pytest.approx(width(alone[name]), rel=0.05)


def test_intervals_do_not_depend_on_the_anchor():
    pairings = {("A", "B"): [4, 6, 20, 8, 6], ("B", "C"): [2, 6, 10, 8, 14], ("A", "C"): [0, 3, 10, 12, 15]}
    one, other = ratings(pairings, anchor="A"), ratings(pairings, anchor="C", anchor_elo=500)
    for name in "ABC":
        assert (one[name].low - one["C"].elo, one[name].high - one["C"].elo) == pytest.approx(
            (other[name].low - 500, other[name].high - 500)
        )
        assert one[name].above_next == pytest.approx(other[name].above_next)


def test_who_stands_above_the_next_is_told_by_their_games():
    """Along a chain A, B, C, of which A and C did not meet: as surely as in the match of each two."""
    matches = {("A", "B"): [2, 6, 10, 8, 14], ("B", "C"): [4, 6, 20, 10, 6]}
    chain = ratings(matches, anchor="C")
    for (first, second), counts in matches.items():
        alone = ratings({(first, second): counts}, anchor=second)
        assert chain[first].above_next == pytest.approx(alone[first].above_next, abs=1e-9)


def test_ratings_add_up_along_a_chain():
    """A beats B and B beats C at 3:1 each, C and A did not meet: A is 381.7 above C."""
    chain = {("A", "B"): [0, 0, 10000, 0, 10000], ("C", "B"): [10000, 0, 10000, 0, 0]}
    table = ratings(chain, anchor="C")
    assert table["A"].elo == pytest.approx(381.70, abs=0.3) and table["B"].elo == pytest.approx(190.85, abs=0.2)


def test_winning_all_leaves_a_rating_with_a_wide_interval():
    """One drawn game is added: 200.5 points of 201, 1041.1 Elo by hand."""
    table = ratings({("A", "B"): [0, 0, 0, 0, 100]}, anchor="B")
    assert table["A"].elo == pytest.approx(400 * math.log10(200.5 / 0.5), abs=0.01)
    assert width(table["A"]) == pytest.approx(width(table["B"])) and width(table["A"]) > 450


def weighted_mean(elos: dict[str, float], at: dict[str, float]) -> float:
    """Of the Elos, each agent weighing as much as p (1 - p) over its opponents says at the ratings ``at``."""
    weights = {}
    for name in at:
        chances = [score_of(at[name] - at[other]) for other in at if other != name]
        weights[name] = sum(p * (1 - p) for p in chances)
    return sum(weights[name] * elos[name] for name in at) / sum(weights.values())


def test_ratings_cover_the_truth():
    """Round robins of four agents of known strength, two of them far apart: 94 to 96% of 8,000 intervals hold it."""
    rng, truth = np.random.default_rng(7), {"A": 0.0, "B": 60.0, "C": 200.0, "D": -150.0}
    inside, certain = [], []
    for _ in range(2000):
        pairings = {}
        for first, second in combinations(truth, 2):
            p = score_of(truth[first] - truth[second])
            games = rng.binomial(2, p, size=60)  # wins of two games without draws
            pairings[first, second] = pentanomial(games.tolist())
        table = ratings(pairings, anchor="A")
        elos = {name: line.elo for name, line in table.items()}
        shift = weighted_mean(elos, elos) - weighted_mean(truth, elos)
        inside += [table[name].low <= truth[name] + shift <= table[name].high for name in truth]
        for name, below in pairwise(table):
            if 0.9 < (table[name].above_next or 0) < 0.99:
                certain.append(truth[name] > truth[below])
    assert 0.94 <= np.mean(inside) <= 0.96
    assert len(certain) > 500 and np.mean(certain) > 0.95


@pytest.mark.parametrize(("anchor", "words"), [("X", "played no games"), ("A", "no games connect C, D")])
def test_ratings_refuse(anchor, words):
    with pytest.raises(ValueError, match=words):
        ratings({("A", "B"): [1, 0, 0, 0, 1], ("C", "D"): [1, 0, 0, 0, 1]}, anchor)
