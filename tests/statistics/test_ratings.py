"""Ratings of many agents against closed forms and simulations."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

from connectx_toolkit.statistics.evidence import Evidence, PairOfGames
from connectx_toolkit.statistics.intervals import FEWEST_PAIRS, anytime, anytime_factor, pentanomial, score_of
from connectx_toolkit.statistics.ratings import Rating
from connectx_toolkit.statistics.ratings import ratings as ratings_of

pytestmark = pytest.mark.slow


def evidence(counts, opening: int = 0) -> Evidence:
    """Pairs with these counts, all different, each from an opening of its own, numbered from ``opening`` on."""
    results = [result for result, count in enumerate(counts) for _ in range(count)]
    return Evidence(PairOfGames(n, ((), ()), result / 2) for n, result in enumerate(results, opening))


def ratings(pairings, anchor, anchor_elo=0.0):
    return ratings_of({names: evidence(counts) for names, counts in pairings.items()}, anchor, anchor_elo)


def width(rating: Rating) -> float:
    return rating.high - rating.low


def test_two_agents_have_the_rating_of_their_score():
    """75% over many games: 190.85 Elo. Each is half of it from the mean, with half of the interval of their match."""
    counts = [200, 400, 800, 2400, 2200]
    table = ratings({("A", "B"): counts}, anchor="B", anchor_elo=1000)
    match = anytime(counts)
    assert table["A"].elo == pytest.approx(1000 + match.elo, abs=0.5) and table["B"].elo == 1000
    expected = (match.high - match.low) / 2
    assert [width(line) for line in table.values()] == pytest.approx([expected] * 2, rel=0.001)
    assert width(ratings({("B", "A"): counts[::-1]}, anchor="B")["A"]) == pytest.approx(expected)
    assert table["A"].games == table["B"].games == 12000 and list(table) == ["A", "B"]
    assert table["A"].above_next is True and table["B"].above_next is None


@pytest.mark.parametrize("won", [FEWEST_PAIRS - 1, FEWEST_PAIRS, 26])
def test_a_ladder_of_two_proves_what_their_match_does(won):
    table = ratings({("A", "B"): [0, 0, 0, 0, won]}, anchor="B")
    assert table["A"].above_next is (won >= FEWEST_PAIRS) is anytime([0, 0, 0, 0, won]).is_proof


@pytest.mark.parametrize("agents", [3, 6])
def test_intervals_of_equals(agents):
    """k agents, 40 pairs each two from openings of their own, all even.

    By hand: the variance of 40 pairs is 4 x 40 x 1/8 = 20, the information I of 80 games and the drawn one 81 / 4; the
    inverse of the Laplacian I (k E - 1 1') is (E - 1 1' / k) / (k I).
    """
    pairings = list(combinations("ABCDEF"[:agents], 2))
    table = ratings_of({two: evidence([10, 0, 20, 0, 10], 40 * n) for n, two in enumerate(pairings)}, anchor="A")
    error = math.sqrt((1 - 1 / agents) * 20 / agents) / (81 / 4)
    factor = anytime_factor(40 * (agents - 1), 0.05)
    factor += (factor**3 + factor) / (4 * (40 * len(pairings) - 1))
    expected = 2 * factor * 173.7178 * error
    assert [width(line) for line in table.values()] == pytest.approx([expected] * agents, rel=0.02)
    assert [line.above_next for line in table.values()] == [False] * (agents - 1) + [None]


def test_openings_whose_pairs_cancel_hide_no_variance():
    """40 openings, in each a pair won and a pair lost: by openings nothing varies, by pairs 4 x 80 x 1/4 = 80 by hand.

    The information is that of 161 games at 1/4, of three agents.
    """
    cancelling = Evidence(PairOfGames(n, ((k,), ()), 2.0 * k) for n in range(40) for k in (0, 1))
    table = ratings_of(dict.fromkeys(combinations("ABC", 2), cancelling), anchor="A")
    factor = anytime_factor(160, 0.05)
    factor += (factor**3 + factor) / (4 * 39)
    expected = 2 * factor * 173.7178 * math.sqrt(2 / 3 * 80 / 3) / (161 / 4)
    assert [width(line) for line in table.values()] == pytest.approx([expected] * 3, rel=0.01)


def test_an_anchor_that_never_wins_widens_no_interval_but_its_own():
    even = {("A", "B"): [10, 0, 20, 0, 10]}
    beaten = {(name, "C"): [0, 0, 0, 0, 40] for name in "AB"}
    alone, with_it = ratings(even, anchor="A"), ratings(even | beaten, anchor="C")
    assert width(with_it["C"]) > 400 and with_it["C"].elo == 0 and with_it["A"].elo > 700
    for name in "AB":
        assert width(with_it[name]) == pytest.approx(width(alone[name]), rel=0.1)


def test_intervals_do_not_depend_on_the_anchor():
    pairings = {("A", "B"): [4, 6, 20, 8, 6], ("B", "C"): [2, 6, 10, 8, 14], ("A", "C"): [0, 3, 10, 12, 15]}
    one, other = ratings(pairings, anchor="A"), ratings(pairings, anchor="C", anchor_elo=500)
    for name in "ABC":
        assert (one[name].low - one["C"].elo, one[name].high - one["C"].elo) == pytest.approx(
            (other[name].low - 500, other[name].high - 500)
        )
        assert one[name].above_next == other[name].above_next


def test_proofs_need_pairs_and_differences():
    """Five agents more make every proof harder."""
    strong = [0, 2, 10, 8, 20]
    assert ratings({("A", "B"): strong}, anchor="B")["A"].above_next is True
    border = next(n for n in range(40) if ratings({("A", "B"): [10 - n // 4, 6, 20, 6, 10 + n]}, "B")["A"].above_next)
    alone, many = [10 - border // 4, 6, 20, 6, 10 + border], {}
    for first, second in combinations("BCDEFG", 2):
        many[first, second] = [5, 5, 20, 5, 5]
    assert ratings(many | {("A", "B"): alone}, "B")["A"].above_next is False


def test_copies_prove_nothing():
    """The same pair 40 times is one pair; its openings seen twice by each two agents are no more than once."""
    copies = Evidence(PairOfGames(1, ((3,), (3,)), 2) for _ in range(40))
    assert ratings_of({("A", "B"): copies}, "B")["A"].above_next is False
    assert ratings_of({("A", "B"): copies}, "B")["A"].games == 80


@pytest.mark.parametrize(("openings", "proven"), [([1], False), (range(19), False), (range(20), True), ([0], True)])
def test_few_openings_prove_nothing_however_often_they_are_played(openings, proven):
    """But of the empty board: there, each pair is a sample of the game itself."""
    won = Evidence(PairOfGames(key, ((n,), ()), 2 - n % 2) for key in openings for n in range(40))
    assert ratings_of({("A", "B"): won}, "B")["A"].above_next is proven


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
    """160 round robins of four agents of known strength, two far apart, looked at 4 times: 95% of intervals hold it.

    And whom a ladder ever calls stronger than the next is, in 95% of the ladders.
    """
    rng, truth = np.random.default_rng(7), {"A": 0.0, "B": 60.0, "C": 200.0, "D": -150.0}
    inside: list[bool] = []
    wrong, proven = [], 0
    for _ in range(160):
        held, false = dict.fromkeys(truth, True), False
        games = {
            (a, b): rng.binomial(2, score_of(truth[a] - truth[b]), size=60).tolist() for a, b in combinations(truth, 2)
        }
        for pairs in (15, 30, 45, 60):
            counts = {names: pentanomial(scores[:pairs]) for names, scores in games.items()}
            table = ratings(counts, anchor="A")
            elos = {name: line.elo for name, line in table.items()}
            shift = weighted_mean(elos, elos) - weighted_mean(truth, elos)
            for name in truth:
                held[name] &= table[name].low <= truth[name] + shift <= table[name].high
            for name, below in pairwise(table):
                if table[name].above_next:
                    false |= truth[name] < truth[below]
                    proven += 1
        inside += held.values()
        wrong.append(false)
    assert np.mean(inside) >= 0.95 and np.mean(wrong) <= 0.05 and proven > 200


@pytest.mark.parametrize(("anchor", "words"), [("X", "played no games"), ("A", "no games connect C, D")])
def test_ratings_refuse(anchor, words):
    with pytest.raises(ValueError, match=words):
        ratings({("A", "B"): [1, 0, 0, 0, 1], ("C", "D"): [1, 0, 0, 0, 1]}, anchor)
