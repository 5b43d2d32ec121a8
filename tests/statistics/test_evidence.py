"""What pairs of games prove together: copies, mirror images and transpositions count once; and the verdict in words."""

import pytest

from connectx_core.position import STANDARD
from connectx_toolkit.arena.results import (
    BY_TEST,
    Match,
    match_lines,
    sprt_progress,
    sprt_words,
    verdict,
)
from connectx_toolkit.statistics.evidence import Evidence, PairOfGames, pair_of
from connectx_toolkit.statistics.intervals import FEWEST_PAIRS, Sprt
from tests.arena.test_match import LEFT, RANDOM, scripted
from tests.statistics.test_ratings import evidence

OPENING = (3, 2)


def pair(first, second, points=1.0, opening=OPENING) -> PairOfGames:
    return pair_of(((*opening, *first), (*opening, *second)), len(opening), points, STANDARD)


def test_copies_count_once():
    found = Evidence([pair((0,), (1,), 2)] * 10)
    assert (found.pairs, found.distinct, found.openings) == (10, 1, 1)
    assert found.results == [0, 0, 0, 0, 10] and found.counts == pytest.approx([0, 0, 0, 0, 1])


def test_different_games_from_one_opening_all_count():
    found = Evidence(pair((column,), (0,), column % 3) for column in range(6))
    assert found.distinct == 6 and found.openings == 1 and found.counts == pytest.approx(found.results)


def test_a_mixture_keeps_its_shares():
    """Nine copies of a lost pair and one won: two different pairs, which weigh as two, nine parts of ten lost."""
    found = Evidence([*[pair((0,), (1,), 0)] * 9, pair((2,), (2,), 2)])
    assert found.distinct == 2 and found.counts == pytest.approx([1.8, 0, 0, 0, 0.2])


@pytest.mark.parametrize("other", [(3, 4), (3, 2)])
def test_mirror_images_are_one_opening(other):
    """A game and its mirror image are copies, and so are those of an opening that is its own mirror image."""
    mirrored = other == (3, 4)
    game = (6, 6, 5) if mirrored else (0, 0, 1)
    assert pair((0, 0, 1), (0,)) == pair(game, (6,) if mirrored else (0,), opening=other)
    assert pair((0,), (1,), opening=(3, 3)) == pair((6,), (5,), opening=(3, 3))
    assert pair((0,), (1,), opening=(3, 3)) == pair((6,), (1,), opening=(3, 3)) != pair((1,), (0,), opening=(3, 3))


def test_transpositions_are_one_opening():
    assert pair((0,), (1,), opening=(0, 1, 2)) == pair((0,), (1,), opening=(2, 1, 0))


def test_the_other_side():
    ours = [pair((0,), (1,), 2), pair((2,), (1,), 0.5)]
    theirs = Evidence(one.from_other_side() for one in ours)
    assert theirs.counts == Evidence(ours).counts[::-1] and ours[0].from_other_side().from_other_side() == ours[0]


@pytest.mark.parametrize("opening", [(), OPENING])
def test_a_match_the_other_way_round_is_a_copy(opening):
    """Also where one of two images had to be chosen, and the games' order must not choose it."""
    one, other = (2, 3, 2), (5, 0, 5)
    found = Evidence([pair(one, other, 2, opening), pair(other, one, 0, opening).from_other_side()])
    assert found.distinct == 1 and found.results == [0, 0, 0, 0, 2]


# Words


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([0, 0, 8, 20, 22], "A is stronger"),
        ([22, 20, 8, 0, 0], "B is stronger"),
        ([0, 0, 0, 0, FEWEST_PAIRS], "A is stronger"),
        ([0, 0, 0, 0, 10], "A is stronger"),  # 20 wins of 20
        ([150, 350, 1500, 350, 150], "no difference of 20 Elo or more"),
        ([3, 8, 25, 10, 4], "too early to tell: a difference of 50 Elo needs about"),
        ([0, 0, 0, 0, FEWEST_PAIRS - 1], "no verdict: 8 distinct pairs of games, at least 9 are needed"),
        ([0, 0, 30, 0, 0], "too early to tell"),
        ([0, 0, 300, 0, 0], "no difference of 20 Elo or more"),  # a board on which nobody can win
    ],
)
def test_verdicts(counts, words):
    assert verdict(evidence(counts), "A", "B").startswith(words)


def test_an_sprt_s_verdict():
    """What is accepted is said in words: only a test against 0 can tell who is stronger."""
    better = evidence([5, 10, 60, 22, 14])
    assert verdict(better, "A", "B").startswith("too early") and Sprt(0, 50).decision(better.counts) == "H1"
    assert verdict(better, "A", "B", Sprt(0, 50)) == f"A is stronger: {BY_TEST}"
    assert verdict(better, "A", "B", Sprt(-50, 50)) == "A is above -50 Elo"
    worse = evidence([8, 16, 60, 12, 4])
    assert verdict(worse, "A", "B", Sprt(0, 50)) == "A is below +50 Elo"
    assert verdict(evidence([14, 22, 60, 10, 5]), "A", "B", Sprt(-50, 0)) == f"B is stronger: {BY_TEST}"
    assert "accepts +50: LLR" in sprt_words(Sprt(0, 50), better) and "above the upper bound" in sprt_words(
        Sprt(0, 50), better
    )
    undecided = evidence([1, 1, 1, 1, 1])
    assert "is undecided" in sprt_words(Sprt(0, 50), undecided)
    assert verdict(undecided, "A", "B", Sprt(0, 50)) == verdict(undecided, "A", "B")
    assert " left" in sprt_progress(Sprt(0, 50), worse)
    assert sprt_progress(Sprt(0, 50), Evidence()) == "0 pairs, LLR 0.00 (-2.94 to 2.94)"


def test_before_the_end_one_pair_is_left():
    words = "36 pairs, LLR 2.93 (-2.94 to 2.94), about 1 pair left"
    assert sprt_progress(Sprt(0, 50), evidence([3, 2, 9, 3, 19])) == words


@pytest.mark.parametrize("counts", [[2, 4, 15, 6, 5], [5, 6, 15, 4, 2]])
def test_after_the_pairs_that_are_left_a_test_is_at_its_bound(counts):
    """If they go as those before: then the LLR is 2.94, or -2.94. Few pairs left would be a riddle: 10% off is well."""
    test, pairs = Sprt(-25, 25), sum(counts)
    words = sprt_progress(test, evidence(counts))
    left = int(words.removesuffix(" pairs left").split()[-1])
    assert abs(test.llr([n * (pairs + left) / pairs for n in counts])) == pytest.approx(2.944, rel=0.1), words


def test_two_openings_of_deterministic_agents_get_no_verdict():
    """30 pairs from two openings, all the same two pairs: a verdict of 95% before; now a reason."""
    games = {}
    for number in range(60):
        opening = (3, 3) if number // 2 % 2 else (3, 2)
        games[number] = scripted(0, 1 - number % 2, opening)
    lines = match_lines(Match(LEFT, RANDOM, games))
    assert "2 distinct pairs among 30 from 2 openings, the others are copies" in lines[-2]
    assert lines[-1].startswith("no verdict: 2 distinct pairs of games, at least 9 are needed")


def variants(results, first: int = 1) -> Evidence:
    """20 variants of play from each opening, which decides the result."""
    return Evidence(
        PairOfGames(opening, ((n,), ()), result / 2) for opening, result in enumerate(results, first) for n in range(20)
    )


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([4] * 12, "A scores more from these 12 openings"),
        ([4] * 19, "A scores more from these 19 openings"),
        ([4], "A scores more from this opening"),
        ([0] * 5 + [2] * 8 + [4] * 11, "A scores more from these 24 openings"),  # by its pairs alone: 480, proven
        ([0] * 2 + [2] * 14 + [4] * 24, "A is stronger"),
        ([0] * 24 + [2] * 14 + [4] * 2, "B is stronger"),
        ([2] * 30, "no difference of 20 Elo or more from these 30 openings"),
    ],
)
def test_variants_of_play_are_no_new_openings(results, words):
    assert verdict(variants(results), "A", "B") == words


def test_games_from_the_empty_board_are_variants_of_the_game_itself():
    assert verdict(variants([4], first=0), "A", "B") == "A is stronger"
