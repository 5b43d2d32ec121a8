"""Where an exam's positions come from: exact, the same for everybody, and read from other people's files."""

import contextlib
import json
import random

import numpy as np
import pytest

from benchmarks.oracle import bitbully_scores
from connectx_core.position import NO_MOVE, STANDARD, Position, write_columns
from connectx_core.solver import Solver
from connectx_toolkit.games import exam_positions as exams
from connectx_toolkit.games import labelled, recipes
from connectx_toolkit.games.exam_positions import (
    _holds_games,
    fresh_exam,
    moves_to,
    positions_of_player,
    read_positions,
    solve_positions,
    standard_exam,
)
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.labelled import Labels, canonical_keys, score_positions

LATE = (3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 4, 4, 4, 4, 1, 5, 0, 6, 6, 0, 5, 5, 1, 1)


def states(labels: Labels) -> list[Position]:
    return [Position(int(p), int(m), STANDARD) for p, m in zip(labels.positions, labels.masks, strict=True)]


def test_the_standard_exam_is_exact():
    """Late positions against the solver; and that all have something to play and are different."""
    labels = standard_exam(10_000)
    assert len(labels) == 1000 == len(np.unique(canonical_keys(labels.positions, labels.masks)))
    late = labels.take(np.flatnonzero(labels.plies > 22))
    solver = Solver(STANDARD)
    for position, scores in zip(states(late), late.scores.tolist(), strict=True):
        values = solver.scores(position)
        assert scores == [NO_MOVE if value is None else value.low for value in values]
    assert not any(position.is_over() for position in states(labels)) and len(late) > 50


def test_early_positions_have_the_scores_of_the_table_of_openings():
    """And those of the solver for later ones, in any order."""
    positions = [Position.from_moves(moves, STANDARD) for moves in (LATE, (3, 3), LATE[:-1], ())]
    labels = score_positions(positions, Solver(STANDARD))
    assert states(labels) == positions
    assert labels.scores[3].tolist() == [-2, -1, 0, 1, 0, -1, -2]
    for row, position in enumerate(positions[:3:2]):
        assert [s for s in labels.scores[2 * row].tolist() if s != NO_MOVE] == [
            score for score in bitbully_scores(position) if score is not None
        ]


def test_fresh_positions_are_solved_once(tmp_path, monkeypatch):
    """A second call, and a second run's, asks the solver nothing; another seed gives others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exams, "ALL", "random")
    monkeypatch.setattr(exams, "FRESH_PART", 6)
    first = fresh_exam(6, 3)
    other = fresh_exam(6, 4)
    monkeypatch.setattr("connectx_toolkit.games.recipes.Solver", None)
    assert (fresh_exam(6, 3).positions == first.positions).all() and len(first) == 6
    assert set(first.masks) != set(other.masks)


def test_fresh_positions_before_ctrl_c_are_kept(tmp_path, monkeypatch):
    """Stopped in the second part, it goes on with that; an exam of more positions begins with the same parts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exams, "ALL", "random")
    monkeypatch.setattr(exams, "FRESH_PART", 2)
    made, write = list[int](), recipes.write_labels

    def stopping(path, labels, made_as):
        if len(made) == 1 and stops:
            raise KeyboardInterrupt
        made.append(len(labels))
        write(path, labels, made_as)

    monkeypatch.setattr(recipes, "write_labels", stopping)
    stops = [True]
    with pytest.raises(KeyboardInterrupt):
        fresh_exam(6, 3)
    stops.clear()
    labels = fresh_exam(6, 3)
    assert made == [2, 2, 2] and len(labels) == 6
    assert (fresh_exam(6, 3).masks == labels.masks).all() and len(made) == 3
    assert set(labels.masks) <= set(fresh_exam(8, 3).masks) and made == [2] * 4


def test_given_positions_before_ctrl_c_are_kept(tmp_path, monkeypatch):
    """What was solved goes to the user's folder, and is not solved again; mirror images count once."""
    monkeypatch.setattr("connectx_toolkit.games.known_scores.user_cache_path", lambda name: tmp_path)
    whole = standard_exam(1000)
    given = states(whole.take(np.flatnonzero(whole.plies == 14)))[:3]
    asked, score_moves = list[int](), labelled.score_moves

    def stopping(positions, masks, solver):
        if len(masks) and len(asked) == 2 and stops:
            raise KeyboardInterrupt
        asked.extend(masks)
        return score_moves(positions, masks, solver)

    monkeypatch.setattr(labelled, "score_moves", stopping)
    stops = [True]
    with pytest.raises(KeyboardInterrupt):
        solve_positions("mine", given)
    stops.clear()
    labels = solve_positions("mine", [*given, given[0].mirror()])
    assert len(asked) == 3 == len(labels) and {*map(tuple, labels.scores)} <= {*map(tuple, whole.scores)} | {
        *map(tuple, whole.scores[:, ::-1])
    }


@pytest.mark.parametrize("seed", range(3))
def test_moves_lead_to_a_position(seed):
    rng = random.Random(seed)
    for _ in range(50):
        position = Position.empty(STANDARD)
        for _ in range(rng.randint(0, 41)):
            if position.is_over():
                break
            position = position.play(rng.choice(position.legal_columns()))
        if not position.is_lost():
            moves = moves_to(position)
            assert moves is not None and Position.from_moves(moves, STANDARD) == position


def board_of(rows: str) -> dict:
    return {"board": [int(cell) for row in rows.split() for cell in row]}


EMPTY_ROWS = "0000000 " * 4
FLOATS = "0000000 " * 3 + "1000000 0000000 0000000"
UPSIDE = EMPTY_ROWS + "1000000 2000000"  # the first player's stone is above


def test_what_lines_mean(tmp_path):
    """Columns from 0, or from 1 on request; Pons' columns from 1 with scores; JSON with a board; comments."""
    file, moves = tmp_path / "positions", (0, 3, 3, 2, 6)
    position = Position.from_moves(moves, STANDARD)
    pons = write_columns([column + 1 for column in moves])
    lines = ["# mine", "03326  # why", f"{pons} -2", f"{pons} 1 3000", json.dumps({"board": position.to_board()}), ""]
    file.write_text("\n".join(lines))
    assert read_positions(file) == ([position] * 4, [])
    file.write_text(f"{pons}\n{pons} -2\n")
    assert read_positions(file, from_one=True) == ([position] * 2, [])
    board = position.to_board()
    cells = ",".join("bxo"[board[row * 7 + column]] for column in range(7) for row in range(5, -1, -1))
    file.write_text(f"{cells},draw\n")  # as in the UCI's set
    assert read_positions(file) == ([position], [])
    for listed in (board, [board, board], [moves, board], moves):
        file.write_text(json.dumps(listed))
        assert set(read_positions(file)[0]) == {position} and not _holds_games(file)


def test_a_table_with_a_line_of_names(tmp_path):
    (tmp_path / "set.csv").write_text("a1,a2,Class\nx,b,win\n")
    with pytest.raises(ValueError, match=r"line 1: .*: it is a table whose first line names its columns \(a1,a2,Class"):
        read_positions(tmp_path / "set.csv")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("30303030", "cannot be played"),
        ("3030303", "the game is over"),
        ("37", "there is no column 7"),
        ("hello", "expected columns"),
        ("88 1", "there is no column"),
        ('{"board": [0, 1]}', "42 cells"),
        ('{"score": 1}', "42 cells"),
        ('{"board": ', "not JSON"),
        (json.dumps(board_of(UPSIDE)), "no game leads"),
        (json.dumps(board_of(FLOATS)), "no game leads"),
    ],
)
def test_lines_that_are_refused(line, words, tmp_path):
    file = tmp_path / "positions"
    file.write_text(f"33\n{line}\n")
    with pytest.raises(ValueError, match=rf"positions, line 2: .*({words})"):
        read_positions(file)


def test_positions_without_a_choice_are_left_out(tmp_path):
    """With one open column there is nothing to ask; how many there are is said."""
    file, rng, forced = tmp_path / "positions", random.Random(1), ""
    while len(set(forced)) == 0:
        moves = [column for column in range(7) for _ in range(6)]
        rng.shuffle(moves)
        with contextlib.suppress(ValueError):
            end = Position.from_moves(moves[:40], STANDARD)
            forced = write_columns(moves[:40]) if not end.is_over() and len(end.legal_columns()) == 1 else ""
    file.write_text(f"33\n{forced}\n")
    positions, left_out = read_positions(file)
    assert [position.ply for position in positions] == [2] and left_out == [f"{file}: 1 position with one legal move"]
    file.write_text(forced)
    with pytest.raises(ValueError, match="no positions with two or more legal moves"):
        read_positions(file)


def test_files_that_are_refused(tmp_path):
    for content, words in ((b"# nothing\n", "holds no positions with"), (b"\xff\xfe3", "not text")):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(ValueError, match=f"file.*{words}"):
            read_positions(tmp_path / "file")
    with pytest.raises(ValueError, match="no such file"):
        read_positions(tmp_path / "nothing")


def test_positions_of_games():
    """Those in which the player had to move, after the opening."""
    won = Game(STANDARD, (3, 0, 3, 0, 3, 0, 3), ("me", "you"), opening=2)
    lost = Game(STANDARD, (3, 0, 3, 0, 3, 0, 3), ("you", "me"))
    assert [position.ply for position in positions_of_player([won, lost], "me")] == [2, 4, 6, 1, 3, 5]
    small = Game(STANDARD._replace(rows=5), (3,), ("me", "you"))
    with pytest.raises(ValueError, match="exams are of 7x6, not 7x5"):
        [*positions_of_player([small], "me")]
