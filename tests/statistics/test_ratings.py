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


def ratings(pairings, anchor):
    return ratings_of({names: evidence(counts) for names, counts in pairings.items()}, anchor)


def width(rating: Rating) -> float:
    return rating.high - rating.low


def test_two_agents_have_the_rating_and_the_interval_of_their_match():
    """75% over many games: 190.85 Elo. The anchor is at 0, with no interval."""
    counts = [200, 400, 800, 2400, 2200]
    table, match = ratings({("A", "B"): counts}, anchor="B"), anytime(counts)
    assert table["A"].elo == pytest.approx(match.elo, abs=0.5) and table["B"][:3] == (0, 0, 0)
    assert table["A"][1:3] == (match.low, match.high) and table["B"].interval == ""
    swapped = ratings({("B", "A"): counts[::-1]}, anchor="B")["A"]
    assert swapped[:3] == pytest.approx(table["A"][:3])
    below = ratings({("A", "B"): counts}, anchor="A")["B"]
    assert below[:3] == pytest.approx((-table["A"].elo, -match.high, -match.low))
    assert table["A"].games == table["B"].games == 12000 and list(table) == ["A", "B"]
    assert table["A"].above_next is True and table["B"].above_next is None


@pytest.mark.parametrize("won", [FEWEST_PAIRS - 1, FEWEST_PAIRS, 26])
def test_a_ladder_of_two_proves_what_their_match_does(won):
    """Of games that were all won it says what the match says: one bound, and no other."""
    table, match = ratings({("A", "B"): [0, 0, 0, 0, won]}, anchor="B"), anytime([0, 0, 0, 0, won])
    assert table["A"].above_next is (won >= FEWEST_PAIRS) is match.is_proof
    assert table["A"].interval == f"above {match.low:.0f}" and match.high == math.inf
    assert ratings({("A", "B"): [0, 0, 0, 0, won]}, anchor="A")["B"].interval == f"below {-match.low:.0f}"
    assert ratings({("A", "B"): [1, 0, 0, 0, 1]}, anchor="B")["A"].interval == "too few games"


@pytest.mark.parametrize("agents", [3, 6])
def test_intervals_of_equals(agents):
    """k agents, 40 pairs each two from openings of their own, all even.

    By hand: the variance of 40 pairs is 4 x 40 x 1/8 = 20, the information I of 80 games and the drawn one 81 / 4; the
    inverse of the Laplacian I (k E - 1 1') is (E - 1 1' / k) / (k I), so that of a difference is 2 / (k I).
    """
    pairings = list(combinations("ABCDEF"[:agents], 2))
    table = ratings_of({two: evidence([10, 0, 20, 0, 10], 40 * n) for n, two in enumerate(pairings)}, anchor="A")
    error = math.sqrt(2 * 20 / agents) / (81 / 4)
    factor = anytime_factor(40 * (agents - 1), 0.05)
    factor += (factor**3 + factor) / (4 * (40 * len(pairings) - 1))
    expected = 2 * factor * 173.7178 * error
    assert table["A"][:3] == (0, 0, 0)
    assert [width(line) for name, line in table.items() if name != "A"] == pytest.approx(
        [expected] * (agents - 1), rel=0.02
    )
    assert [line.above_next for line in table.values()] == [False] * (agents - 1) + [None]


def test_openings_whose_pairs_cancel_hide_no_variance():
    """40 openings, in each a pair won and a pair lost: by openings nothing varies, by pairs 4 x 80 x 1/4 = 80 by hand.

    The information is that of 161 games at 1/4, of three agents.
    """
    cancelling = Evidence(PairOfGames(n, ((k,), ()), 2.0 * k) for n in range(40) for k in (0, 1))
    table = ratings_of(dict.fromkeys(combinations("ABC", 2), cancelling), anchor="A")
    factor = anytime_factor(160, 0.05)
    factor += (factor**3 + factor) / (4 * 39)
    expected = 2 * factor * 173.7178 * math.sqrt(2 * 80 / 3) / (161 / 4)
    assert [width(table[name]) for name in "BC"] == pytest.approx([expected] * 2, rel=0.01)


def test_an_anchor_that_never_wins_makes_all_intervals_wide_and_no_proof_weaker():
    even = {("A", "B"): [2, 4, 14, 10, 10]}
    beaten = {(name, "C"): [0, 0, 0, 0, 40] for name in "AB"}
    of_b, of_c = ratings(even | beaten, anchor="B"), ratings(even | beaten, anchor="C")
    assert of_c["A"].elo > 700 and min(width(of_c[name]) for name in "AB") > 400 > width(of_b["A"])
    assert [line.above_next for line in of_b.values()] == [line.above_next for line in of_c.values()]


def test_another_anchor_moves_all_by_the_same_and_mirrors_the_interval_between_the_two():
    pairings = {("A", "B"): [4, 6, 20, 8, 6], ("B", "C"): [2, 6, 10, 8, 14], ("A", "C"): [0, 3, 10, 12, 15]}
    one, other = ratings(pairings, anchor="A"), ratings(pairings, anchor="C")
    for name in "ABC":
        assert one[name].elo - one["C"].elo == pytest.approx(other[name].elo)
        assert one[name].above_next == other[name].above_next
    assert (one["C"].low, one["C"].high) == pytest.approx((-other["A"].high, -other["A"].low))


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
    assert table["A"].high == math.inf


@pytest.mark.parametrize("anchor", ["A", "D"])
def test_ratings_cover_the_truth(anchor):
    """160 round robins of four agents of known strength, two far apart, looked at 4 times: 95% of intervals hold it.

    It is the Elo above the anchor, which is of middle strength, or the weakest. And whom a ladder ever calls stronger
    than the next is, in 95% of the ladders.
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
            table = ratings(counts, anchor)
            for name in truth:
                held[name] &= table[name].low <= truth[name] - truth[anchor] <= table[name].high
            for name, below in pairwise(table):
                if table[name].above_next:
                    false |= truth[name] < truth[below]
                    proven += 1
        inside += [is_held for name, is_held in held.items() if name != anchor]
        wrong.append(false)
    assert np.mean(inside) >= 0.95 and np.mean(wrong) <= 0.05 and proven > 200


@pytest.mark.parametrize(
    ("anchor", "words"), [("X", "X, whose Elo would be 0, has not"), ("A", "no games connect C, D")]
)
def test_ratings_refuse(anchor, words):
    with pytest.raises(ValueError, match=words):
        ratings({("A", "B"): [1, 0, 0, 0, 1], ("C", "D"): [1, 0, 0, 0, 1]}, anchor)
