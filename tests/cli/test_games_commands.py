"""explore and scout at the command line: from folders, files and stores, with what people get wrong."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from connectx_toolkit.games.database import GameDatabase
from tests.conftest import evaluate, refused
from tests.replay_games import TEAM, make_games


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


def test_explore_adds_and_shows(folder, capsys):
    out = said(capsys, "explore", "--add", str(folder))
    assert "runs/games.sqlite: 8 games added, 1 copy left out, 8 in all" in out
    assert "left out: " in out and "cut.json is not a ConnectX replay: it is not JSON" in out
    assert "wins in 41 plies *" in out and "middle 2" in out
    out = said(capsys, "explore", "3", "--opponent", "middle", "--seat", "second")
    assert f"{TEAM} 1" in out and "leftmost" not in out
    assert "8 in all" in said(capsys, "explore", "--add", str(folder))
    assert "no game that fits went on from here: 3333" in said(capsys, "explore", "3333")


def test_games_of_matches_count_where_they_are_asked_for(folder, capsys):
    """They are in the file that the ladder's games are added to."""
    said(capsys, "match", "leftmost", "random", "--pairs", "3")
    assert "runs/games.sqlite: no ladder games yet; --add takes replays" in refused(["explore"], capsys)
    assert "6 games" in said(capsys, "scout", "random", "--from", "arena", "--me", "leftmost", "--time", "0")
    assert "runs/games.sqlite: 8 games added, 1 copy left out, 8 in all" in said(capsys, "scout", "--add", str(folder))
    assert "random" not in said(capsys, "scout") and "random" in said(
        capsys, "scout", "--from", "all", "--me", "leftmost"
    )
    assert "leftmost v random" in said(capsys, "analyse", "runs/games.sqlite", "--from-ply", "40")


def test_scout_shows_one_and_all(folder, capsys):
    out = said(capsys, "scout", "--add", str(folder), "--html", "all.html")
    assert "points lost" in out and "leftmost" in out and "page: all.html" in out
    out = said(capsys, "scout", "middle", "--html", "page.html", "--time", "20")
    assert "middle: 4 games, you scored" in out and "When you move second, play [3 2/2]" in out
    assert Path("page.html").read_text().rstrip().endswith("</html>")


def test_what_is_asked_wrongly(folder, capsys):
    said(capsys, "explore", "--add", str(folder))
    before = Path("runs/games.sqlite").read_bytes()
    assert "--opponent 'midle' is in none of the games: did you mean middle?" in refused(
        ["explore", "--opponent", "midle"], capsys
    )
    assert "OPPONENT 'nobody' is in none of the games" in refused(["scout", "nobody"], capsys)
    words = "nothing is left: 8 games of which no date is known (--since 2999)"
    assert words in refused(["scout", "--since", "2999"], capsys, code=1)
    assert Path("runs/games.sqlite").read_bytes() == before


def test_nothing_was_added_yet(folder, capsys):
    assert "no games yet" in refused(["scout"], capsys)
    assert "no games yet" in refused(["board", "--games", "none.sqlite", "--no-browser"], capsys)
    cut = str(folder / "cut.json")
    assert "nothing is left: " in refused(["scout", "--add", cut], capsys, code=1)
    assert not Path("runs").exists()


def test_games_that_name_nobody(folder, capsys):
    """As a local run of Kaggle's environment writes them: the seats are their names."""
    content = json.loads(next(folder.glob("episode-*-replay.json")).read_text())
    del content["info"]
    Path("local.json").write_text(json.dumps(content))
    assert "do not name their players: pass --me first or --me second" in refused(
        ["scout", "--add", "local.json"], capsys, prints=True
    )
    assert "second" in said(capsys, "scout", "--me", "first")


def test_one_s_own_name_on_both_sides(folder, capsys):
    content = json.loads(next(folder.glob("episode-*-replay.json")).read_text())
    content["info"] = {"TeamNames": [TEAM, TEAM], "EpisodeId": 1}
    Path("validation.json").write_text(json.dumps(content))
    assert "against others" in refused(["scout", "--add", "validation.json"], capsys, prints=True)
    assert "left out: 1 games of my_team against itself" in said(capsys, "scout", "--add", str(folder))
    with GameDatabase(Path("runs/games.sqlite"), create=False) as database:
        assert len(database) == 9


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


def test_bad_rows_are_named_and_counted(folder, capsys):
    """Every command goes on with the others, and its last line counts what was left out; 1 if nothing was left."""
    said(capsys, "explore", "--add", str(folder / "copy.json"), *map(str, folder.glob("*-replay.json")))
    commands = (("scout",), ("scout", "middle", "--time", "5"))
    connection = sqlite3.connect("runs/games.sqlite")
    with connection:
        connection.execute("UPDATE games SET moves = '33333333' WHERE id IN (1, 2)")
    for command in commands:
        out = said(capsys, *command)
        assert out.count("the column is full") == 2 and out.splitlines()[-1] == "left out in all: 2"
    with connection:
        connection.execute("UPDATE games SET moves = '33333333'")
    for command in commands:
        assert "nothing is left: runs/games.sqlite: game" in refused(command, capsys, code=1)
