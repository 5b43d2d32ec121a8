"""The list of agents, and the ladder that it reads."""

import json

import pytest
from matplotlib.image import imread

from arena import catalogue
from arena.catalogue import entry_of, kilobytes
from arena.ladder import ladder_markdown, read_ladder, write_ladder
from arena.players.spec import ROOT, our_agents
from evaluate import main
from tests.test_tournament import A, B, C, match_of, tournament_of


@pytest.fixture
def ladder():
    return tournament_of(
        match_of(A, B, [1, 0] * 8 + [0, 1] * 2), match_of(B, C, [1, 0] * 7 + [0, 1] * 3), match_of(A, C, [1, 0] * 9)
    ).ladder("random")


def test_every_agent_says_what_it_is():
    for name in our_agents():
        entry = entry_of(name)
        assert len(entry.summary) > 10 and entry.size == (ROOT / "agents" / f"{name}.py").stat().st_size
    book = ROOT / "agents" / "weights" / "book.bin"
    assert entry_of("perfect").data == {"weights/book.bin": book.stat().st_size} and entry_of("n_step").data == {}
    assert kilobytes(1234) == "1.2 kB"


def test_ladders_are_written_and_read(ladder, tmp_path):
    """Markdown as it stands in a README, a picture, and strengths, which come back as they were."""
    write_ladder(tmp_path / "ladder", ladder, "random")
    lines = (tmp_path / "ladder.md").read_text().splitlines()
    assert lines[0].startswith("|  | agent | Elo |") and len(lines) == 5 and lines[1].count("--:") == 9
    assert lines[2].startswith("| 1 | leftmost | ") and lines[4].startswith("| 3 | random | 0 | anchor | 38 |")
    assert (tmp_path / "ladder.md").read_text() == ladder_markdown(ladder)
    picture = imread(tmp_path / "ladder.png")
    assert picture.shape[1] == 1500 and picture[:, :, :3].min() < 0.3 and picture[:, :, :3].mean() > 0.5
    strengths = read_ladder(tmp_path / "ladder.json")
    assert {name: (s.elo, s.low, s.high, s.games) for name, s in strengths.items()} == {
        line.name: tuple(line.rating) for line in ladder
    }
    assert str(strengths["random"]) == "0 (the anchor)" and not list(tmp_path.glob("*.partial"))


def test_list_shows_strengths(ladder, tmp_path, monkeypatch, capsys):
    write_ladder(tmp_path / "ladder", ladder, "random")
    monkeypatch.setattr(catalogue, "read_ladder", lambda: read_ladder(tmp_path / "ladder.json"))
    main(["list"])
    out = capsys.readouterr().out
    assert all(name in out for name in our_agents()) and "book.bin" in out and "Elo above random" in out
    elo = f"{ladder[0].rating.elo:.0f} [{ladder[0].rating.low:.0f}, {ladder[0].rating.high:.0f}]"
    assert elo in next(line for line in out.splitlines() if " leftmost " in line)


def test_the_published_ladder_can_be_read():
    """Where there is one; each of its agents can be named."""
    assert all(strength.low <= strength.elo <= strength.high for strength in read_ladder().values())


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"anchor": "a", "agents": {"a": {"elo": 1}}}'])
def test_what_is_no_ladder_is_refused(content, tmp_path):
    (tmp_path / "ladder.json").write_text(content)
    with pytest.raises(ValueError, match="is not a ladder"):
        read_ladder(tmp_path / "ladder.json")


def test_tournament_writes_its_ladder(tmp_path, capsys):
    arguments = ["tournament", "leftmost", "random", "--pairs", "4", "--store", str(tmp_path / "store")]
    main([*arguments, "--ladder", str(tmp_path / "ladder")])
    assert json.loads((tmp_path / "ladder.json").read_text())["anchor"] == "random"
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--ladder", str(tmp_path / "missing" / "ladder")])
    assert stop.value.code == 2 and "there is no folder" in capsys.readouterr().err
    main(["report", "--store", str(tmp_path / "store"), "--ladder", str(tmp_path / "again")])
    assert (tmp_path / "again.md").read_bytes() == (tmp_path / "ladder.md").read_bytes()
