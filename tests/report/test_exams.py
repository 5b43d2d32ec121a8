"""What the command exam prints, and its page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from connectx_toolkit.games.exam_positions import standard_exam
from connectx_toolkit.games.grades import Sheet
from connectx_toolkit.report.exams import compared
from tests.conftest import CHROMIUM, evaluate
from tests.report.test_pages import browse


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """After an exam of three agents, with its page and its mistakes."""
    folder = tmp_path_factory.mktemp("exam")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        evaluate(["exam", "leftmost", "middle", "minimax@4", "--count", "100", "--html", "page.html",
                  "--write-mistakes", "mistakes.txt"])  # fmt: skip
    return folder


@pytest.fixture
def printed(folder, monkeypatch, capsys) -> str:
    monkeypatch.chdir(folder)
    evaluate(["exam", "leftmost", "middle", "minimax@4", "--count", "100"])
    return capsys.readouterr().out


def test_what_is_said(printed):
    assert "reused 300 answers from runs/exams" in printed
    assert "minimax@4 plays more good moves than leftmost; minimax@4 plays more perfect moves than leftmost." in printed
    assert re.search(r"leftmost and middle: too early|middle plays more .* than leftmost", printed)
    for text in ("mistakes of minimax@4 by theme", "wins found", "moving second", "differences in the same positions"):
        assert text in printed
    rates = dict(re.findall(r"^(\S+) +all +100 +([\d.]+)%", printed, re.M))
    assert float(rates["leftmost"]) < float(rates["minimax@4"]) > 80


def test_many_agents_are_compared_in_their_order():
    """Each with the next: of sixteen agents, every two would be 120 lines."""
    labels, columns = standard_exam(30), np.arange(7)
    sheets = [Sheet(str(n), labels, np.full((1, 30), n), np.zeros((1, 30)), []) for n in columns]
    found, rates = compared(sheets), [sheet.good.mean() for sheet in sheets]
    assert len(found) == 6 and all(one.good.mean() >= other.good.mean() for one, other in found)
    assert found[0][0].good.mean() == max(rates) and len(compared(sheets[:3])) == 3


def test_json(folder, monkeypatch, capsys):
    """The same figures for machines; all mistakes, whose moves are legal and best ones are others."""
    monkeypatch.chdir(folder)
    evaluate(["exam", "leftmost", "minimax@4", "--count", "100", "--json"])
    found = json.loads(capsys.readouterr().out)
    all_of = {row["agent"]: row for row in found["tables"]["moves by exact score"] if row["part"] == "all"}
    assert found["positions"] == all_of["leftmost"]["positions"] == 100 and found["left_out"] == []
    mistakes = [one for one in found["mistakes"] if one["agent"] == "leftmost"]
    good, low, high = all_of["leftmost"]["of good moves"]
    assert good == pytest.approx(1 - len(mistakes) / 100) and low < good < high
    assert all(one["column"] not in one["best"] for one in found["mistakes"])


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


@CHROMIUM
def test_the_page(folder, tmp_path):
    """A row for each mistake; the position of the one in the address, whose best columns are framed."""
    page = folder / "page.html"
    text = browse(f"{page.as_uri()}#3", tmp_path, "--dump-dom")
    rows = re.findall(r'<tr[^>]*tabindex="0"[^>]*>', text)
    assert len(rows) > 20 and ["current" in row for row in rows].index(True) == 3
    assert re.search(r'<h2 id="heading">4\. leftmost: ', text)
    assert re.search(r'<div class="cx-chip (cx-win|cx-draw|cx-loss) cx-best', text)
