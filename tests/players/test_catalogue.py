"""The list of agents, and the ladder that it reads."""

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
    assert lines[0].startswith("|  | agent | Elo |") and lines[1].count("--:") == 10
    assert lines[2].startswith("| 1 | leftmost | ")
    assert re.match(r"\| 3 \| random \| 0 \| -\d+ to \d+ \|  \| 38 \|", lines[4])
    assert "| too early to tell | 40 |" in lines[3] and lines[5] == "" and lines[6].startswith("95% interval: ")
    assert (tmp_path / "ladder.md").read_text() == ladder_table(ladder, "random").markdown()
    chart = ElementTree.parse(tmp_path / "ladder.svg").getroot()
    labels = [text.text for text in chart.iter("{http://www.w3.org/2000/svg}text")]
    assert {"leftmost", "middle", "random", "0"} <= set(labels)
    strengths = read_ladder(tmp_path / "ladder.json")
    assert {name: (s.elo, s.low, s.high, s.games, s.above_next) for name, s in strengths.items()} == {
        line.name: tuple(line.rating) for line in ladder
    }
    assert all(strength.anchor == "random" for strength in strengths.values())
    assert re.fullmatch(r"0 \[-\d+, \d+\]", str(strengths["random"])) and not list(tmp_path.glob("*.partial"))


def test_the_published_ladder_can_be_read():
    """It is not empty, its agents can be named, and one is the anchor; the table beside it has the same agents."""
    ladder = read_ladder()
    assert len(ladder) > 5 and all(strength.low <= strength.elo <= strength.high for strength in ladder.values())
    assert {resolve(name).kind for name in ladder} <= {"ours", "kaggle", "partner"}
    assert {ladder[strength.anchor].elo for strength in ladder.values()} == {0.0}
    rows = re.findall(r"^\| \d+ \| (\S+) \|", PUBLISHED.with_suffix(".md").read_text(encoding="utf-8"), re.M)
    assert rows == sorted(ladder, key=lambda name: -ladder[name].elo)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"anchor": "a", "agents": {"a": {"elo": 1}}}'])
def test_what_is_no_ladder_is_refused(content, tmp_path):
    (tmp_path / "ladder.json").write_text(content)
    with pytest.raises(ValueError, match="is not a ladder"):
        read_ladder(tmp_path / "ladder.json")
