"""The list of agents, and the ladder that it reads."""

import json
import re
from xml.etree import ElementTree

import pytest

from connectx_toolkit.arena.tournament import ladder_table
from connectx_toolkit.players.spec import UnknownAgent, resolve
from connectx_toolkit.report.catalogue import PUBLISHED, read_ladder
from connectx_toolkit.report.ladder import write_ladder
from tests.arena.test_tournament import A, B, C, match_of, tournament_of


@pytest.fixture
def ladder():
    return tournament_of(
        match_of(A, B, [1, 0] * 8 + [0, 1] * 2), match_of(B, C, [1, 0] * 7 + [0, 1] * 3), match_of(A, C, [1, 0] * 9)
    ).ladder("random")


def test_a_folder_does_not_hide_an_agent_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("perfect", "random", "mine"):
        (tmp_path / name).mkdir()
    assert [resolve(name).kind for name in ("perfect", "random")] == ["ours", "kaggle"]
    with pytest.raises(UnknownAgent, match="'mine' is a folder, where a file or a name was expected"):
        resolve("mine")


def test_ladders_are_written_and_read(ladder, tmp_path):
    """Markdown as it stands in a README, a picture, and strengths, which come back as they were."""
    write_ladder(tmp_path / "ladder", ladder, "random")
    lines = (tmp_path / "ladder.md").read_text().splitlines()
    assert lines[0].startswith("|  | name | Elo |") and lines[1].count("--:") == 9
    assert lines[2].startswith("| 1 | leftmost | ")
    assert re.match(r"\| 3 \| random \| 0 \|  \|  \| 38 \|", lines[4])
    assert "| not yet | 40 |" in lines[3] and lines[5] == "" and "the interval is of the Elo above random" in lines[6]
    assert (tmp_path / "ladder.md").read_text() == ladder_table(ladder, "random").markdown()
    chart = ElementTree.parse(tmp_path / "ladder.svg").getroot()
    labels = [text.text for text in chart.iter("{http://www.w3.org/2000/svg}text")]
    assert {"leftmost", "middle", "random", "0"} <= set(labels)
    assert read_ladder(tmp_path / "ladder.json") == ("random", {line.name: line.rating.elo for line in ladder})
    entries = json.loads((tmp_path / "ladder.json").read_text())["agents"]
    assert {name: tuple(entry.values()) for name, entry in entries.items()} == {
        line.name: tuple(line.rating) for line in ladder
    }
    assert not list(tmp_path.glob("*.partial"))


def test_a_bound_that_the_games_do_not_give_is_null(tmp_path):
    """JSON has no infinity. Of an agent that won everything there is no upper bound."""
    write_ladder(tmp_path / "ladder", tournament_of(match_of(A, B, [1, 0] * 20)).ladder("middle"), "middle")
    entry = json.loads((tmp_path / "ladder.json").read_text())["agents"]["leftmost"]
    assert entry["high"] is None and isinstance(entry["low"], float)
    assert "leftmost" in (tmp_path / "ladder.svg").read_text()


def test_the_published_ladder_can_be_read():
    """It is not empty, its agents can be named, and one is the anchor; the table beside it has the same agents."""
    anchor, ladder = read_ladder()
    assert len(ladder) > 5 and ladder[anchor] == 0.0
    assert {resolve(name).kind for name in ladder} <= {"ours", "kaggle", "partner"}
    rows = re.findall(r"^\| \d+ \| (\S+) \|", PUBLISHED.with_suffix(".md").read_text(encoding="utf-8"), re.M)
    assert rows == sorted(ladder, key=lambda name: -ladder[name])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"anchor": "a", "agents": {"a": {}}}'])
def test_what_is_no_ladder_is_refused(content, tmp_path):
    (tmp_path / "ladder.json").write_text(content)
    with pytest.raises(ValueError, match="is not a ladder"):
        read_ladder(tmp_path / "ladder.json")
