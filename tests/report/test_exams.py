"""What the command exam prints, and its page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from connectx_toolkit.games.exam_positions import standard_exam
from connectx_toolkit.games.grades import Sheet
from connectx_toolkit.report.exams import mistakes_of
from tests.conftest import evaluate


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """After an exam of three agents, with its page and its mistakes."""
    folder = tmp_path_factory.mktemp("exam")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        evaluate(["exam", "leftmost", "middle", "minimax@4", "--count", "100", "--html", "page.html",
                  "--write-mistakes", "mistakes.txt"])  # fmt: skip
    return folder


def test_json(folder, monkeypatch, capsys):
    """The same figures for machines; all mistakes, whose moves are legal and best ones are others."""
    monkeypatch.chdir(folder)
    evaluate(["exam", "leftmost", "minimax@4", "--count", "100", "--json"])
    found = json.loads(capsys.readouterr().out)
    all_of = {row["agent"]: row for row in found["tables"]["moves by exact score"] if row["part"] == "all"}
    assert found["positions"] == all_of["leftmost"]["positions"] == 100 and found["left_out"] == []
    mistakes = [one for one in found["mistakes"] if one["agent"] == "leftmost"]
    good, low, high = all_of["leftmost"]["good moves, 95%"]
    assert good == pytest.approx(1 - len(mistakes) / 100) and low < good < high
    assert all(one["column"] not in one["best"] for one in found["mistakes"])


def test_whose_move_a_mistake_was():
    """Of the first player after an even number of stones, of the second after an odd one."""
    labels = standard_exam(60)
    worst = np.where(labels.legal, labels.scores, 99).argmin(axis=1)
    sheet = Sheet("me", labels, worst[None], np.zeros((1, len(labels))), [])
    reviews = mistakes_of([sheet])
    assert len(reviews) > 30
    for review in reviews:
        assert review.seat == len(review.game.moves[:-1]) % 2 and review.game.names[review.seat] == "me"


def test_mistakes_are_asked_again(folder, monkeypatch, capsys):
    """The file holds each position once; leftmost makes there every mistake that it made, and its rate is 0."""
    monkeypatch.chdir(folder)
    lines = [line for line in Path("mistakes.txt").read_text().splitlines() if "# leftmost:" in line]
    late = [line for line in lines if len(line.split()[0]) > 12]
    Path("again.txt").write_text("\n".join(late))
    evaluate(["exam", "leftmost", "--positions", "again.txt", "--json"])
    found = json.loads(capsys.readouterr().out)
    (whole, *_) = found["tables"]["moves by exact score"]
    assert whole["positions"] == len(late) > 5 and whole["good moves"] < 0.2  # a mirror image may stand for another


def test_positions_of_games(folder, monkeypatch, capsys):
    """Of a file of games, by whose they are."""
    monkeypatch.chdir(folder)
    evaluate(
        ["match", "leftmost", "minimax@2", "--pairs", "2", "--games", "games.sqlite", "--openings", "mistakes.txt"]
    )
    capsys.readouterr()
    counts = []
    for me in ("leftmost", "minimax@2"):
        evaluate(["exam", "middle", "--positions", "games.sqlite", "--me", me, "--json"])
        counts.append(json.loads(capsys.readouterr().out)["positions"])
    assert min(counts) >= 1 and abs(counts[0] - counts[1]) < max(counts)


def test_of_an_agent_that_fails(tmp_path, monkeypatch, capsys):
    (tmp_path / "bad.py").write_text("def agent(obs, config):\n    return 9\n")
    monkeypatch.chdir(tmp_path)
    evaluate(["exam", "bad.py", "--count", "20"])
    out = capsys.readouterr().out
    assert "20 no such column" in out and re.search(r"bad.py +all +20 +0.0%", out)
