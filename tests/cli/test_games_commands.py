"""explore at the command line: from folders, files and stores, with what people get wrong."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from connectx_core.position import write_columns
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from tests.conftest import evaluate, refused
from tests.replay_games import TEAM, make_games

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Eight replays against two opponents, a copy under another name, one cut off, and what is no game."""
    folder = tmp_path_factory.mktemp("replays")
    made = list(make_games(folder, 8, ("leftmost", "middle"), own="one_step", fault_every=9))
    shutil.copy(made[0].path, folder / "copy.json")
    (folder / "cut.json").write_bytes(made[0].path.read_bytes()[:2000])
    return folder


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said(capsys, *arguments: str) -> str:
    evaluate(list(arguments))
    return capsys.readouterr().out


def games_of(origin: str) -> list[Game]:
    with GameDatabase(Path("runs/games.sqlite"), create=False, origin=origin) as database:
        return [*database.games()]


def test_explore_adds_and_shows(folder, capsys):
    out = said(capsys, "explore", "--add", str(folder))
    assert "runs/games.sqlite: 8 games added, 1 copy left out, 8 in all" in out
    assert "left out: " in out and "cut.json is not a ConnectX replay: it is not JSON" in out
    assert "wins in 41 *" in out and "middle 2" in out
    out = said(capsys, "explore", "3", "--opponent", "middle", "--seat", "second")
    assert f"{TEAM} 1" in out and "leftmost" not in out
    assert "8 in all" in said(capsys, "explore", "--add", str(folder))
    assert "no game that fits went on from here: 3333" in said(capsys, "explore", "3333")


def test_games_of_matches_count_where_they_are_asked_for(folder, capsys):
    """They are in the file that the ladder's games are added to."""
    said(capsys, "match", "leftmost", "random", "--pairs", "3")
    assert "runs/games.sqlite: no ladder games yet; --add takes replays" in refused(["explore"], capsys)
    played = next(game for game in games_of("arena") if game.names[game.opening % 2] == "random")
    first = write_columns(played.moves[: played.opening])
    assert "random" in said(capsys, "explore", first, "--from", "arena", "--opponent", "leftmost", "--time", "0")
    said(capsys, "explore", "--add", str(folder), "--time", "0")
    assert "random" not in said(capsys, "explore", first, "--time", "0")
    assert "random" in said(capsys, "explore", first, "--from", "all", "--time", "0")
    assert "leftmost v random" in said(capsys, "analyse", "runs/games.sqlite", "--time", "0")


def test_what_is_asked_wrongly(folder, capsys):
    said(capsys, "explore", "--add", str(folder))
    before = Path("runs/games.sqlite").read_bytes()
    assert "--opponent 'midle' is in none of the games: did you mean middle?" in refused(
        ["explore", "--opponent", "midle"], capsys
    )
    out = said(capsys, "explore", "--since", "2999", "--time", "0")
    assert "left out: 8 games of which no date is known (--since 2999)" in out
    assert Path("runs/games.sqlite").read_bytes() == before


def test_nothing_was_added_yet(folder, capsys):
    assert "no games yet" in refused(["explore"], capsys)
    assert "no games yet" in refused(["board", "--games", "none.sqlite", "--no-browser"], capsys)
    cut = str(folder / "cut.json")
    assert "nothing is left: " in refused(["explore", "--add", cut], capsys, code=1)
    assert not Path("runs").exists()


def test_games_that_name_nobody(folder, capsys):
    """As a local run of Kaggle's environment writes them: the seats are their names."""
    content = json.loads(next(folder.glob("episode-*-replay.json")).read_text())
    del content["info"]
    Path("local.json").write_text(json.dumps(content))
    words = "do not name their players: pass --me first or --me second"
    assert words in said(capsys, "explore", "--add", "local.json", "--time", "0")
    assert words in refused(["explore", "--seat", "first"], capsys)
    assert "first 1" in said(capsys, "explore", "--me", "first", "--seat", "first", "--time", "0")


def test_games_are_removed(folder, capsys):
    """By Kaggle's number, or by where they came from; what is left is shown."""
    said(capsys, "explore", "--add", str(folder))
    assert "no game of nowhere" in refused(["explore", "--remove", str(folder), "nowhere"], capsys)
    with GameDatabase(Path("runs/games.sqlite"), create=False) as database:
        number = str(next(database.games()).episode)
    assert "1 games removed, 7 in all" in said(capsys, "explore", "--remove", number)
    assert "7 games removed, 0 in all" in said(capsys, "explore", "--remove", str(folder))
    assert "no games yet" in refused(["explore", "--remove", number, "--games", "none.sqlite"], capsys)
    assert not Path("none.sqlite").exists()


def test_a_damaged_row_is_named(folder, capsys):
    """The command goes on with the others."""
    said(capsys, "explore", "--add", *map(str, folder.glob("*-replay.json")), "--time", "0")
    connection = sqlite3.connect("runs/games.sqlite")
    with connection:
        connection.execute("UPDATE games SET moves = 'x' WHERE id = 1")
    out = said(capsys, "explore", "--time", "0")
    assert "left out: runs/games.sqlite: row 1 of its games: expected columns such as 3342" in out
    assert out.count("left out: ") == 1
