"""Moves judged by exact values: hand-made games on a small board, and a replay of Kaggle's."""

import json
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from connectx_core import exact
from connectx_core.books import Openings, layers
from connectx_core.clock import Budget
from connectx_core.position import STANDARD, Geometry, Position, geometry_of
from connectx_core.solver import Solver, Value
from connectx_toolkit import analyse
from connectx_toolkit.games.analysis import (
    JudgedMove,
    accuracy,
    judge,
    judge_all,
    mistakes,
    solvers_for,
)
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.known_scores import KnownScores
from connectx_toolkit.games.reader import find_one_game, parse_game
from tests.arena.test_start_positions import exact_score

pytestmark = pytest.mark.slow
SMALL, FIVE = geometry_of(4, 3, 3), geometry_of(5, 5, 4)


def small_scores(position: Position) -> list[int | None]:
    """By the slow negamax: a win on the next stone, or the negative of what the other side then has."""
    scores: list[int | None] = [None] * SMALL.columns
    for column in position.legal_columns():
        wins = column in position.winning_columns()
        scores[column] = (SMALL.cells + 1 - position.ply) // 2 if wins else -exact_score(position.play(column))
    return scores


def judged(game: Game) -> list[JudgedMove]:
    """Its moves with the scores of the slow search."""
    return [JudgedMove(ply, game.moves[ply], tuple(small_scores(one))) for ply, one in game.positions().items()]


def test_the_losing_move():
    """Three stones in column 1, two of which column 0 did not stop: the mistake is found on its ply."""
    moves = judged(parse_game("10101", SMALL))
    mistake = mistakes(moves)[-1]
    assert mistake.ply == max(m.ply for m in moves if not m.kept_result)
    assert moves[-1].played == moves[-1].value == (SMALL.cells + 1 - 4) // 2 and moves[-1].is_perfect
    after = [move.value for move in moves if move.ply > mistake.ply]
    assert all(value > 0 for value in after[::2][:1]) and "given away" in mistake.words()
    assert f"on ply {mistake.ply} by column {mistake.column}" in mistake.words()


def test_values_are_kept_from_move_to_move():
    """In random games: a move of any score hands over its negative, so only perfect moves hand over the value's."""
    rng = random.Random(1)
    for _ in range(10):
        position, moves = Position.empty(SMALL), ""
        while not position.is_over():
            moves += str(rng.choice(position.legal_columns()))
            position = position.play(int(moves[-1]))
        for move, following in pairwise(judged(parse_game(moves, SMALL))):
            assert move.played == -following.value <= move.value
            assert move.is_perfect == (move.column in move.best_columns)


def test_accuracy():
    """By hand. Where all is lost there is nothing to keep: such moves do not make a weak agent look strong."""
    lost, kept = JudgedMove(0, 0, (-3, -5)), JudgedMove(2, 1, (2, 1))
    drawn, given_away = JudgedMove(4, 0, (0, -1)), JudgedMove(6, 1, (0, -1))
    assert accuracy([lost]) == (1, 0, 0, 1)
    assert accuracy([lost, kept, drawn, given_away]) == (4, 3, 2, 2)
    assert accuracy([]) == (0, 0, 0, 0) and mistakes([]) == []


def test_the_solver_agrees_with_the_slow_search():
    """But for the moves of an opening, which nobody chose."""
    told = list[None]()
    for opening in (0, 2):
        game = Game(SMALL, (1, 0, 1, 0), opening=opening)
        assert judge(game, update=lambda: told.append(None)) == judged(game)
        assert [move.ply for move in judge(game)] == [*range(opening, 4)]
    assert len(told) == 6


def game_positions(moves: str, geometry: Geometry) -> list[Position]:
    return [Position.from_moves([int(c) for c in moves[:ply]], geometry) for ply in range(len(moves))]


@pytest.fixture
def five_table(monkeypatch) -> Openings:
    """Exact openings of 5x5 to ply 2 in place of the toolkit's."""
    *_, last = layers(FIVE, 2)
    made = Openings(FIVE, 2, Solver(FIVE).solve_many(*last)[:, 0].astype(np.int8))
    monkeypatch.setattr(exact, "openings", lambda: made)
    return made


def test_the_table_answers_first(five_table, monkeypatch):
    """Without the solver for its plies, with the position's score for the solver on its last, and the same in all."""
    solver, position = Solver(FIVE), game_positions("221", FIVE)
    told, search = list[Value](), solver.scores

    def scores(position, budget, known):
        told.append(known)
        return search(position, budget, known=known)

    monkeypatch.setattr(solver, "scores", scores)
    found = [exact.move_values(one, solver) for one in position]
    score = five_table.score(position[2])
    assert told == [Value(score, score)] and found == [search(one) for one in position]
    assert exact.has_openings(FIVE) and not exact.has_openings(STANDARD)


def test_what_is_proven_when_the_time_is_over(five_table, monkeypatch):
    """Only the table's plies, and what the solver sees at once; a time that is enough solves all."""
    monkeypatch.setattr("connectx_toolkit.games.analysis.openings", lambda: five_table)
    game = parse_game("2214121120204030", FIVE)
    monkeypatch.setattr("connectx_core.solver.COMPILED_SLICE", 1)  # nodes
    solvers_for.cache_clear()  # whose table may know the game
    found = [move.ply for move in judge(game, seconds=0)]
    assert found[:2] == [0, 1] and len(found) < len(game.moves)
    assert [move.ply for move in judge(game)] == [*range(len(game.moves))]
    with solvers_for(FIVE) as (solver, *_):
        scores = [exact.exact_scores(game.positions()[4], solver, Budget.seconds(seconds)) for seconds in (0, 60)]
    assert scores[0] is None and scores[1] is not None


def random_games(count: int, geometry: Geometry, seed: int) -> list[Game]:
    """Games to their end by random moves; of two in three the last moves are missing."""
    rng, found = random.Random(seed), list[Game]()
    for number in range(count):
        position, moves = Position.empty(geometry), list[int]()
        while not position.is_over():
            moves.append(rng.choice(position.legal_columns()))
            position = position.play(moves[-1])
        found.append(Game(geometry, tuple(moves[: len(moves) - number % 3])))
    return found


@pytest.mark.parametrize("geometry", [STANDARD, FIVE])
@pytest.mark.parametrize("is_whole", [True, False])
def test_judged_together(is_whole, geometry, tmp_path, monkeypatch):
    """Each move has the scores that a solver of its own finds, also by what was kept, mirrored, and by a part of it."""
    monkeypatch.setattr("connectx_toolkit.games.known_scores.user_cache_path", lambda name: tmp_path)
    first, others = (8, 11) if geometry == STANDARD else (12, 12)  # plies; from the opening table's last it takes long
    games = [replace(game, opening=others) for game in random_games(6, geometry, 7)]
    games[0] = replace(games[0], opening=first)
    mirrored = [replace(game, moves=tuple(geometry.columns - 1 - c for c in game.moves)) for game in games]
    solver, parts = Solver(geometry), [*judge_all(games, is_whole=not is_whole)]
    parts = [*judge_all([*mirrored, *games], is_whole=is_whole)]
    for game, moves in zip([*mirrored, *games], parts, strict=True):
        assert [move.ply for move in moves] == [*game.positions()] and [move.column for move in moves] == [
            *game.moves[game.opening :]
        ]
        for move, position in zip(moves, game.positions().values(), strict=True):
            truth = [score and score.low for score in solver.scores(position)]
            known = [column for column, score in enumerate(move.scores) if score is not None]
            best = [
                column for column, score in enumerate(truth) if score == max(each for each in truth if each is not None)
            ]
            assert move.best_columns == best and {*best, move.column} <= {*known} and move.played == truth[move.column]
            assert all(move.scores[column] == truth[column] for column in known)
            assert not is_whole or len(known) == len(position.legal_columns())


def test_what_was_solved_once_is_not_solved_again(tmp_path, monkeypatch):
    """But for the file's plies only; a damaged file is made anew, and what is too much of it are the later plies."""
    monkeypatch.setattr("connectx_toolkit.games.known_scores.user_cache_path", lambda name: tmp_path)
    games, asked = random_games(4, STANDARD, 8), list[int]()
    search = Solver.best_moves

    def best_moves(solver, position, *args, **options):
        asked.append(position.ply)
        return search(solver, position, *args, **options)

    monkeypatch.setattr(Solver, "best_moves", best_moves)
    first = [*judge_all(games)]
    assert {*range(8, 15)} <= {*asked}
    asked.clear()
    assert [*judge_all(games)] == first and asked and min(asked) == 15
    path = tmp_path / "scores.bin"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    asked.clear()
    assert [*judge_all(games)] == first and min(asked) == 8 and path.read_bytes() == content
    monkeypatch.setattr("connectx_toolkit.games.known_scores.MOST", 6)
    known = KnownScores()
    position = Position.from_moves((3,) * 6 + (2,) * 6, STANDARD)
    known.add(position, [None] * 7)
    known.save()
    kept = KnownScores()
    early = [game.positions()[8] for game in games if len(game.moves) > 8]
    assert early and len(kept) == 6 and kept.get(position) is None and all(kept.get(each) for each in early)


REPLAY = {
    "name": "connectx",
    "configuration": {"rows": 6, "columns": 7, "inarow": 4},
    "statuses": ["DONE", "DONE"],
    "steps": [],
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is not JSON"),
        ("[]", "'steps' has an unexpected form"),
        ("{}", "its field 'name' is missing"),
        ('{"name": "halite"}', "it is of 'halite'"),
        ('{"name": "connectx"}', "its field 'configuration' is missing"),
        ({"configuration": {"rows": 6, "columns": 7}}, "its field 'inarow' is missing"),
        ({"configuration": [6, 7, 4]}, "'configuration' has an unexpected form"),
        ({"statuses": ["DONE"]}, "'statuses' has an unexpected form"),
        ({"steps": {"0": []}}, "'steps' has an unexpected form"),
        ({"steps": [[{}, {}], [{}, {}]]}, "its field 'action' is missing"),
        ({"info": {"TeamNames": ["me"]}}, "'info' has an unexpected form"),
        ({"configuration": {"rows": 20_000, "columns": 20_000, "inarow": 4}}, "rows times columns should be at most"),
        ({"configuration": {"rows": 6, "columns": 7, "inarow": 10**9}}, "inarow should be at most 64, not 1000000000"),
        ({"steps": [[{}, {}], [{"action": 3.0}, {}]]}, "there is no column 3.0: columns are counted"),
        (
            {"steps": [[{"observation": {"remainingOverageTime": 1e999}}] * 2]},
            "remainingOverageTime should be a finite",
        ),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path, text, words):
    """They say which field is not as it should be."""
    path = tmp_path / "replay.json"
    path.write_text(text if isinstance(text, str) else json.dumps(REPLAY | text))
    with pytest.raises(ValueError) as problem:
        find_one_game(path)
    assert str(problem.value).startswith(f"{path} is not a ConnectX replay: {words}")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("0000000", "column 0 cannot be played on ply 6: the column is full"),
        ("01010104", "column 4 cannot be played on ply 7: the game was over after ply 6"),
        ("338", "there is no column 8: columns are counted from 0, here to 6 (ply 2)"),
        (
            "44557",
            "there is no column 7: columns are counted from 0, here to 6 (ply 4); counted from 1, they fit: --from-one",
        ),
        ("3030303 2", "'3030303 2': expected columns as one word (3342), or one by one (3 3 4 2)"),
    ],
)
def test_games_that_cannot_be_played(columns, words):
    with pytest.raises(ValueError) as problem:
        parse_game(columns, STANDARD)
    assert str(problem.value) == words


def test_games_as_people_type_them():
    assert parse_game("3 3 2 4", STANDARD).moves == parse_game("3, 3,2 4", STANDARD).moves == (3, 3, 2, 4)
    assert parse_game("44557", STANDARD, from_one=True).moves == (3, 3, 4, 4, 6)
    shown = str(analyse("4453", from_one=True))
    assert "first v second, 4453: turning point of first" in shown and "on ply 2 by column 5; best: 4" in shown
    assert "played column 5; best: 4\n 1  2  3  4  5  6  7\n" in shown and "are counted from 1" in " ".join(
        shown.split()
    )
    assert parse_game("10 1", geometry_of(4, 12, 4)).moves == (10, 1)
    with pytest.raises(ValueError, match=r"no column 0: columns are counted from 1, here to 7 \(ply 1\)"):
        parse_game("40", STANDARD, from_one=True)
