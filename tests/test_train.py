"""The command line of train.py, the book's builder on a short book, and the manifest."""

import hashlib
import json
import sys
from concurrent.futures import Executor, Future
from pathlib import Path

import numpy as np
import pytest

import train
from connectx.book import Book, walk
from connectx.geometry import STANDARD
from connectx.position import Position
from training import book
from training.book import ScoreFile, canonical
from training.manifest import NAME

WEIGHTS = Path(__file__).parent.parent / "agents" / "weights"


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
    ScoreFile(path).add(canonical(position), scores)
    with path.open("ab") as file:
        file.write(b"77 99 1 2")
    again = ScoreFile(path)
    assert again[canonical(position)] == scores and again[canonical(position).mirror()] == scores[::-1]
    assert again.get(Position.empty(STANDARD)) is None
    assert path.read_bytes().count(b"\n") == 1 and path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["book", "--first-ply", "0"], "at least 1"),
        (["book", "--first-ply", "ten"], "invalid int value"),
        (["book", "--frist-ply", "8"], "unrecognized arguments"),
        (["leaf", "--learning-rate", "nan"], "learning_rate should be a finite number, not nan"),
        (["leaf", "--learning-rate", "-1"], "learning_rate should be above 0"),
        (["distill", "--learning-rate", "0"], "learning_rate should be above 0"),
        (["bok"], "invalid choice"),
        ([], "required"),
    ],
)
def test_bad_options(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        sys.exit(train.main(arguments))
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_unwritable_output(tmp_path, capsys):
    """A file where a folder should be: one line, exit code 2, before anything is solved."""
    (tmp_path / "file").write_text("")
    assert train.main(["book", "--scores", str(tmp_path / "file" / "scores.txt")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


class InPlace(Executor):
    """Runs every task at once, in this process."""

    def submit(self, function, /, *args, **kwargs):
        future: Future = Future()
        future.set_result(function(*args, **kwargs))
        return future


def test_a_book_is_built_and_resumed(tmp_path, monkeypatch):
    """What is known is not solved again, and gives the same book. The scores are made up: real ones take an hour."""
    asked: list[Position] = []

    def made_up(positions: list[Position]):
        asked.extend(positions)
        return [[0 if c in p.legal_columns() else None for c in range(7)] for p in positions]

    monkeypatch.setattr(book, "solve", made_up)

    def build() -> Book:
        builder = book.Builder(book.Config(scores=tmp_path / "scores.txt"), InPlace())
        list(walk(STANDARD, 1, (4, 3), builder.columns_of))
        return Book(STANDARD, 1, (4, 3), np.concatenate(builder.columns))

    first, solved = build(), len(asked)
    assert solved == len(set(asked)) > len(first)  # the choice looked at replies, too
    again = build()
    assert len(asked) == solved and (again.columns == first.columns).all()


def test_the_book_follows_from_its_scores(tmp_path, monkeypatch):
    """The committed book is what its command makes of the committed scores, with nothing left to solve."""

    def unexpected(positions: list[Position]):
        raise AssertionError(f"{positions} are not among the scores")

    monkeypatch.setattr(book, "solve", unexpected)
    scores = tmp_path / "scores.txt"
    scores.write_bytes((WEIGHTS.parent.parent / "training" / "book-scores.txt").read_bytes())
    builder = book.Builder(book.Config(scores=scores), InPlace())
    committed = Book.from_bytes((WEIGHTS / "book.bin").read_bytes())
    list(walk(STANDARD, committed.full_plies, committed.last_plies, builder.columns_of))
    assert (np.concatenate(builder.columns) == committed.columns).all()
