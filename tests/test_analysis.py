"""Moves judged by exact values: hand-made games on a small board, and a replay of Kaggle's."""

import json
import random
from itertools import pairwise

import pytest
from kaggle_environments import make

from arena.results.exact_analysis import JudgedMove, accuracy, judge, losing_move, solver_scores
from arena.results.records import GameRecord, parse_game, read_replay
from connectx.geometry import STANDARD, geometry_of
from connectx.position import Position
from tests.test_openings import exact_score

SMALL = geometry_of(4, 3, 3)


def small_scores(position: Position) -> list[int | None]:
    """By the slow negamax: a win on the next stone, or the negative of what the other side then has."""
    scores: list[int | None] = [None] * SMALL.columns
    for column in position.legal_columns():
        wins = column in position.winning_columns()
        scores[column] = (SMALL.cells + 1 - position.ply) // 2 if wins else -exact_score(position.play(column))
    return scores


def test_the_losing_move():
    """Three stones in column 1, two of which column 0 did not stop: the mistake is found on its ply."""
    record = parse_game("10101", SMALL)
    judged = judge(record, small_scores)
    mistake = losing_move(judged)
    assert mistake is not None and mistake.ply == max(m.ply for m in judged if not m.kept_result)
    assert judged[-1].played == judged[-1].value == (SMALL.cells + 1 - 4) // 2 and judged[-1].is_perfect
    after = [move.value for move in judged if move.ply > mistake.ply]
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
        for move, following in pairwise(judge(parse_game(moves, SMALL), small_scores)):
            assert move.played == -following.value <= move.value
            assert move.is_perfect == (move.column in move.best_columns)


def test_openings_and_early_plies_are_not_judged():
    record = GameRecord(SMALL, ("a", "b"), (1, 0, 1, 0, 1), opening=2)
    assert [move.ply for move in judge(record, small_scores)] == [2, 3, 4]
    assert [move.ply for move in judge(record, small_scores, first_ply=4)] == [4]


def test_accuracy():
    """By hand. Where all is lost there is nothing to keep: such moves do not make a weak agent look strong."""
    lost, kept = JudgedMove(0, 0, (-3, -5)), JudgedMove(2, 1, (2, 1))
    drawn, given_away = JudgedMove(4, 0, (0, -1)), JudgedMove(6, 1, (0, -1))
    assert accuracy([lost]) == (1, 0, 0, 1)
    assert accuracy([lost, kept, drawn, given_away]) == (4, 3, 2, 2)
    assert accuracy([]) == (0, 0, 0, 0) and losing_move([]) is None


def test_the_solver_agrees_with_the_slow_search():
    judged = [judge(parse_game("1010", SMALL), scores) for scores in (small_scores, solver_scores(SMALL))]
    assert judged[0] == judged[1]


@pytest.mark.parametrize(("agents", "moves"), [(["random", "random"], None), ([lambda o, c: 0] * 2, (0,) * 6)])
def test_kaggle_replays(tmp_path, agents, moves):
    """Also one that ends with an invalid action, which is no move."""
    env = make("connectx", configuration={"columns": 6})
    env.run(agents)
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(env.toJSON()))
    record = read_replay(path)
    assert record.geometry == geometry_of(6, 6, 4) and record.names == ("first", "second")
    position = Position.from_moves(record.moves, record.geometry)
    assert position.ply == sum(cell != 0 for cell in env.state[0].observation.board)
    assert moves is None or record.moves == moves


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": "halite"}', '{"name": "connectx"}'])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "replay.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="no replay"):
        read_replay(path)


def test_games_on_wide_boards():
    assert parse_game("10,", geometry_of(4, 12, 4)).moves == (10,)
    assert parse_game("10,1", geometry_of(4, 12, 4)).moves == (10, 1)


def test_games_that_cannot_be_played():
    with pytest.raises(ValueError, match="column 0"):
        parse_game("0000000", STANDARD)
