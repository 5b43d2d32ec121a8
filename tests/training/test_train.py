"""The command line of train.py, the book's builder on a short book, and the manifest."""

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from connectx.books import Book, walk
from connectx.position import STANDARD, Position
from connectx_toolkit.cli import train
from connectx_toolkit.system.files import BOOK_SCORES, ROOT
from connectx_toolkit.training.makers import book
from connectx_toolkit.training.makers.exact_scores import ScoreFile, read_scores
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import NAME
from tests.training.in_place import this_process

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


def test_help_has_every_method_in_a_group(capsys):
    """With options that it has, one's own models and games first."""
    with pytest.raises(SystemExit) as ended:
        train.main(["--help"])
    told = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0 and max(map(len, told)) <= 120
    places = [told.index(title) for title in train.GROUPS]
    assert places == sorted(places) and "your own model" in told[places[0]]
    called = [words.split() for group in train.GROUPS.values() for words in group]
    assert all(any(line.split()[: len(words)] == words for line in told) for words in called)
    assert {name for name, *_ in called} == set(train.METHODS)
    for name, *options in called:
        assert {option.removeprefix("--") for option in options} <= vars(
            train.parse([name, *ARGUMENTS.get(name, [])])
        ).keys()


ARGUMENTS = {"adopt": ["model.zip"], "tune": ["my_agent.py"]}


@dataclass
class Bounded(Options):
    """One field for each kind of limit."""

    count: int = option(5, "a count", least=1, most=9)
    rate: float = option(0.5, "a rate", above=0, below=1)
    kind: str = option("", "a kind", among=("", "one", "other"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 0}, "count should be at least 1, not 0"),
        ({"count": 10}, "count should be at most 9, not 10"),
        ({"rate": 0.0}, "rate should be above 0, not 0.0"),
        ({"rate": 1.0}, "rate should be below 1, not 1.0"),
        ({"rate": float("inf")}, "rate should be a finite number, not inf"),
        ({"kind": "third"}, "kind should be one of one, other, not 'third'"),
    ],
    ids=str,
)
def test_the_field_that_is_wrong_is_named(changes, message):
    Bounded(1, 0.001, "one")
    Bounded(9, 0.999)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Bounded(**changes)


@pytest.mark.parametrize("method", train.METHODS)
def test_every_number_of_every_method_has_a_limit(method):
    """But for seeds; help and defaults are there, and allowed."""
    config = train.module_of(method).Config()
    for item in fields(config):
        assert item.metadata["help"]
        free = item.name == "seed" or item.type not in (int, float)
        assert free or {"least", "above"} & item.metadata["limits"].keys(), item.name


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
