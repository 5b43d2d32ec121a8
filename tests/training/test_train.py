"""The command line of train.py, the book's builder on a short book, and the manifest."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from connectx.books import Book, walk
from connectx.position import STANDARD, Position
from connectx_toolkit.system.files import BOOK_SCORES, ROOT
from connectx_toolkit.training.makers import book
from connectx_toolkit.training.makers.exact_scores import ScoreFile, read_scores
from connectx_toolkit.training.runs import NAME
from tests.training.in_place import this_process

pytestmark = pytest.mark.slow
WEIGHTS = Path(__file__).parents[2] / "agents" / "weights"


def test_manifest_is_true():
    """Every weight file is recorded, with the checksum that it has."""
    entries = json.loads((WEIGHTS / NAME).read_text(encoding="utf-8"))
    files = {path.name for path in WEIGHTS.iterdir()} - {NAME}
    assert set(entries) == files
    for name, entry in entries.items():
        assert hashlib.sha256((WEIGHTS / name).read_bytes()).hexdigest() == entry["sha256"]
        assert entry["command"].startswith("python train.py ")


def test_scores_outlive_a_killed_run(tmp_path):
    """Half a line at the end is dropped, what is whole is kept, and mirror images share an entry."""
    path = tmp_path / "scores.txt"
    position = Position.from_moves([0, 1], STANDARD)
    scores = [1, 2, 3, 4, 5, 6, None]
    with ScoreFile(path) as file:
        file.add(position.canonical(), scores)
    with path.open("ab") as half:
        half.write(b"77 99 1 2")
    with ScoreFile(path) as again:
        assert again[position.canonical()] == scores and again[position.canonical().mirror()] == scores[::-1]
        assert again.get(Position.empty(STANDARD)) is None
    assert path.read_bytes().count(b"\n") == 1 and path.read_bytes().endswith(b"\n")


ADDING = """
import sys
from pathlib import Path
from connectx.position import STANDARD
from connectx.position import Position
from connectx_toolkit.training.makers.exact_scores import ScoreFile

for column in range(7):
    for other in range(6):
        with ScoreFile(Path(sys.argv[1]), start=b"3 3 0 0 0 0 0 0 0\\n") as scores:
            scores.add(Position.from_moves([column, other, int(sys.argv[2])], STANDARD), [column] * 7)
"""


def test_two_runs_of_one_file_of_scores(tmp_path):
    """They take turns: every line of both is whole, and what a new file begins with is there once."""
    path = tmp_path / "scores.txt"
    runs = [
        subprocess.Popen([sys.executable, "-c", ADDING, path, number], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for number in "06"
    ]
    assert all("Traceback" not in run.communicate(timeout=120)[1] and run.returncode == 0 for run in runs)
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + 2 * 42 and lines.count("3 3 0 0 0 0 0 0 0") == 1 and read_scores(path)
    assert list(tmp_path.iterdir()) == [path]


def test_scores_that_are_not_there_are_not_made(tmp_path):
    """Who only reads neither makes a file nor takes its absence for no scores."""
    with pytest.raises(FileNotFoundError):
        read_scores(tmp_path / "typo.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_book_is_built_and_resumed(tmp_path, monkeypatch):
    """What is known is not solved again, and gives the same book. The scores are made up: real ones take an hour."""
    asked: list[Position] = []

    def made_up(position: Position):
        asked.append(position)
        return [0 if c in position.legal_columns() else None for c in range(7)]

    monkeypatch.setattr(book, "solve", made_up)

    def build() -> Book:
        with ScoreFile(tmp_path / "scores.txt") as scores:
            builder = book.Builder(scores, this_process())
            list(walk(STANDARD, 1, (4, 3), builder.columns_of))
        return Book(STANDARD, 1, (4, 3), np.concatenate(builder.columns))

    first, solved = build(), len(asked)
    assert solved == len(set(asked)) == len(first)
    again = build()
    assert len(asked) == solved and (again.columns == first.columns).all()


def test_the_book_follows_from_its_scores(tmp_path, monkeypatch):
    """The committed book is what its command makes of the committed scores, with nothing left to solve."""

    def unexpected(position: Position):
        raise AssertionError(f"{position} is not among the scores")

    monkeypatch.setattr(book, "solve", unexpected)
    scores = tmp_path / "scores.txt"
    scores.write_bytes((BOOK_SCORES).read_bytes())
    committed = Book.from_bytes((WEIGHTS / "perfect_book.bin").read_bytes())
    with ScoreFile(scores) as known:
        builder = book.Builder(known, this_process())
        list(walk(STANDARD, committed.full_plies, committed.last_plies, builder.columns_of))
    assert (np.concatenate(builder.columns) == committed.columns).all()
