"""Tournaments: pairings, crosstable, ladder, and the partners that give a scale."""

import random
from itertools import islice

import pytest

from connectx_core.position import STANDARD, Position
from connectx_toolkit.arena.results import Match
from connectx_toolkit.arena.schedule import pairings, participants
from connectx_toolkit.arena.start_positions import random_openings
from connectx_toolkit.arena.tournament import Tournament, cross_table, ladder_table
from connectx_toolkit.players.graded import at_depth, with_errors
from connectx_toolkit.players.spec import resolve
from tests.arena.test_match import scripted
from tests.conftest import observe, random_game

pytestmark = pytest.mark.slow
A, B, C = (resolve(name) for name in ("leftmost", "middle", "random"))


STARTS = list(islice(random_openings(STANDARD, 1, (4, 4)), 100))


def match_of(first, second, scores) -> Match:
    """``scores``: of whoever moves first, game by game. Every pair has an opening of its own."""
    games = {}
    for number, score in enumerate(scores):
        games[number] = scripted(number, score, STARTS[number // 2])
    return Match(first, second, games)


def tournament_of(*matches: Match) -> Tournament:
    return Tournament(list(matches), [(match.first.label, match.second.label) for match in matches])


def test_participants(tmp_path):
    for name in ("b.py", "a.py", "_hidden.py", "notes.txt"):
        (tmp_path / name).write_text("def agent(obs, config):\n    return 0\n")
    specs = participants(["random", str(tmp_path), "minimax@2"])
    assert [spec.label for spec in specs] == ["random", str(tmp_path / "a.py"), str(tmp_path / "b.py"), "minimax@2"]
    (tmp_path / "empty").mkdir()
    for texts, words in (
        (["random"], "at least two"),
        (["random", "random"], "twice"),
        (["random", str(tmp_path / "empty")], "no Python file"),
        (["random", "nobody"], "no agent"),
    ):
        with pytest.raises(ValueError, match=words):
            participants(texts)


def test_pairings():
    assert pairings([A, B, C]) == [(A, B), (A, C), (B, C)]
    assert pairings([A, B, C], gauntlet=True) == [(A, B), (A, C)]


def test_crosstable_adds_matches_of_either_order():
    """A v B: 3.5 of 4; then B v A: 0.5 of 2 for B, so A has 5 of 6 in all."""
    tournament = tournament_of(match_of(A, B, [1, 0, 1, 0.5]), match_of(B, A, [0.5, 1]))
    (((first, second), evidence),) = tournament.evidence().items()
    assert (first, second) == ("leftmost", "middle") and evidence.results == [0, 0, 0, 2, 1]
    cells = tournament.crosstable()
    assert cells["leftmost", "middle"] == (pytest.approx(5 / 6), 6)
    assert cells["middle", "leftmost"] == (pytest.approx(1 / 6), 6)


def test_ladder():
    """Order, anchor, games, shares by seat (by hand), and an unfinished pair that counts in shares alone."""
    tournament = tournament_of(
        match_of(A, B, [1, 0] * 8 + [0, 1] * 2), match_of(B, C, [1, 0] * 7 + [0, 1] * 3), match_of(A, C, [1])
    )
    ladder = tournament.ladder("random")
    assert [line.name for line in ladder] == ["leftmost", "middle", "random"]
    top, middle, last = ladder
    assert top.rating.elo > middle.rating.elo > last.rating.elo == 0 == last.rating.low
    assert [line.rating.games for line in ladder] == [20, 40, 20] and not middle.rating.above_next
    assert (top.score, top.as_first, top.as_second) == (pytest.approx(17 / 21), pytest.approx(9 / 11), 0.8)
    assert middle.score == pytest.approx(18 / 40) and top.worst_seconds == 0.5
    assert len(ladder_table(ladder, "random").rows) == 3
    assert len(cross_table(tournament, [line.name for line in ladder]).rows) == 3


def test_games_against_itself_rate_nobody():
    """Alone they make no ladder; beside others they change nothing in it."""
    with pytest.raises(ValueError, match="leftmost has played only against itself, and an agent against itself has no"):
        tournament_of(match_of(A, A, [1, 0])).ladder("leftmost")
    matches = match_of(A, B, [1, 0] * 8 + [0, 1] * 2), match_of(B, C, [1, 0] * 7 + [0, 1] * 3)
    assert tournament_of(match_of(A, A, [1, 1]), *matches).ladder("random") == tournament_of(*matches).ladder("random")


def test_a_depth_is_kept():
    """A fixed depth repeats itself, and depth 2 blocks."""
    rng = random.Random(2)
    shown = [observe(position) for position in random_game(STANDARD, rng)]
    one, four = at_depth(1), at_depth(4)
    moves = [[agent(*pair) for pair in (shown[0], *shown)] for agent in (one, four, four)]  # begins two games
    assert moves[0] != moves[1] == moves[2]
    assert at_depth(2)(*observe(Position.from_moves((3, 0, 3, 0, 3), STANDARD))) == 3


def test_errors_come_at_their_rate(monkeypatch):
    """30 of 100 draws are below 0.3; such a move is any legal one."""
    agent, observed = with_errors(lambda obs, config: 3, 30), observe(Position.empty(STANDARD))
    for draw, errs in ((0.29, True), (0.31, False)):
        monkeypatch.setattr(random, "random", lambda draw=draw: draw)
        assert (len({agent(*observed) for _ in range(200)}) == 7) == errs
