"""The check of the scores behind the book against an independent solver."""

import pytest

from benchmarks.solver import main
from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.solver import Solver


@pytest.fixture
def scores(tmp_path):
    """A file with the true scores of one position."""
    position = Position.from_moves([3] * 6 + [2] * 6 + [4] * 6, STANDARD)
    position = min(position, position.mirror(), key=lambda p: p.key)
    columns = ["-" if value is None else str(value.low) for value in Solver(STANDARD).scores(position)]
    path = tmp_path / "scores.txt"
    path.write_text(f"{position.position} {position.mask} {' '.join(columns)}\n")
    return path


def test_true_scores_pass_and_false_ones_do_not(scores, capsys):
    assert main(["--check-file", str(scores)]) == 0
    assert "1 positions, 4 moves, 0 wrong" in capsys.readouterr().out
    *start, last = scores.read_text().split()
    scores.write_text(" ".join([*start, str(int(last) + 1)]) + "\n")
    assert main(["--check-file", str(scores)]) == 1
    assert "1 positions, 4 moves, 1 wrong" in capsys.readouterr().out


def test_what_is_no_file_of_scores_is_refused(scores, capsys):
    """In one line, not with a count of no wrong ones."""
    scores.write_text("notes\n")
    assert main(["--check-file", str(scores)]) == 2
    out, err = capsys.readouterr()
    assert "line 1: expected a position" in err and err.count("\n") == 1 and "wrong" not in out
