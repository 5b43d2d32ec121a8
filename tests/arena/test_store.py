"""Matches in the file of games: games come back as they went in, and a killed run ends as if it had not been killed."""

import contextlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from connectx_core.position import STANDARD
from connectx_toolkit import api
from connectx_toolkit.arena.store import MatchStore, conditions_here
from connectx_toolkit.arena.tournament import match_of
from connectx_toolkit.games import database
from connectx_toolkit.games.database import VERSION, GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.groups import groups
from connectx_toolkit.kaggle.rules import Fault, Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.cores import usable_cores
from connectx_toolkit.system.files import ROOT
from tests.arena.test_match import play
from tests.conftest import fill, remount, small_disk

pytestmark = pytest.mark.slow
FAST = Setup(Rules(), "fast")
LEFT, RANDOM = resolve("leftmost"), resolve("random")
OPENINGS = [(3, 3), (0, 1, 2)]
FAULTY = Game(
    STANDARD, (3, 3, 6), (LEFT.label, RANDOM.label), 2,
    faults=(Fault(1, 3, "timeout", "é\n", True),),
    overage=(60.0, 60.0, 60.0, -5.5), measured=(None, None, 0.25, 67.5), loads=(0.125, 7.25),
)  # fmt: skip
SHORT = Game(STANDARD, (1,), (LEFT.label, RANDOM.label), cut="step limit", overage=(60.0,), measured=(0.1,))
HERE = "python 3.12, numba 0.68.1, Ours, 2 cores, 2 games at a time"


def add(store: MatchStore, match: int, number: int, game: Game = FAULTY, conditions: str = HERE) -> Game:
    """Stores a game; what is stored then, but for when and where."""
    store.add_played(match, Task(number, (LEFT, RANDOM), (), (1, 2)), game, conditions)
    return games_in(store, match)[number]


def add_games(store: MatchStore, numbers: range, conditions: str = HERE, setup: Setup = FAST) -> int:
    """Stores games of a match, and returns its id."""
    match = store.match_id(LEFT, RANDOM, setup, OPENINGS, 1, "mine.txt")
    for number in numbers:
        add(store, match, number, replace(FAULTY, geometry=setup.rules.geometry), conditions)
    return match


def plain(game: Game) -> Game:
    return replace(game, date=None, source="")


def games_in(store: MatchStore, match: int) -> dict[int, Game]:
    return {number: plain(game) for number, game in store.match_games(match).items()}


def test_games_come_back(tmp_path):
    with MatchStore(tmp_path / "new" / "store.sqlite") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1, "mine.txt")
        played = play(LEFT, RANDOM, FAST, OPENINGS, 3)
        for number, game in played.games.items():
            add(store, match, number, game)
        add(store, match, 6)
    with GameDatabase(tmp_path / "new" / "store.sqlite", create=False) as store:
        (stored,) = store.matches()
    assert stored.games[6].source == str(tmp_path / "new" / "store.sqlite" / f"{match}-7")
    assert time.strptime(stored.games[6].date or "", "%Y-%m-%dT%H:%M:%SZ")
    assert plain(stored.games.pop(6)) == FAULTY
    whole = match_of(stored)
    assert whole.first == LEFT and whole.second == RANDOM and stored.overage == 60.0
    for number, game in played.games.items():
        found = stored.games[number]
        assert found.overage == pytest.approx(game.overage, abs=1e-5)
        assert found.loads == pytest.approx(game.loads, abs=1e-6)
        assert found.measured[game.opening :] == pytest.approx(game.measured[game.opening :], abs=1e-6)
        bare = [replace(one, overage=(), measured=(), loads=None) for one in (plain(found), game)]
        assert bare[0] == bare[1]
    assert stored.config == FAST.rules.config
    assert stored.seed == whole.seed == 1
    assert [agent.fingerprint for agent in stored.agents] == [LEFT.fingerprint(), RANDOM.fingerprint()]


def test_a_game_is_stored_once(tmp_path):
    """The first one stays, and is what whoever adds another one gets."""
    with MatchStore(tmp_path / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1, "mine.txt")
        assert add(store, match, 0) == FAULTY == add(store, match, 0, SHORT)
        assert games_in(store, match) == {0: FAULTY}


def test_what_decides_the_games_decides_the_match(tmp_path):
    """Any change gives a new match; asking again gives the same."""
    path = tmp_path / "agent.py"
    path.write_text("def agent(obs, config):\n    return 0\n")
    with MatchStore(tmp_path / "store") as store:
        asked: list[tuple] = [
            (LEFT, RANDOM, FAST, OPENINGS, 1, "mine.txt"),
            (RANDOM, LEFT, FAST, OPENINGS, 1, "mine.txt"),
            (LEFT, RANDOM, FAST._replace(rules=Rules({"rows": 5})), OPENINGS, 1, "mine.txt"),
            (LEFT, RANDOM, FAST._replace(rules=Rules(overage=1.0)), OPENINGS, 1, "mine.txt"),
            (LEFT, RANDOM, FAST, OPENINGS[:1], 1, "mine.txt"),
            (LEFT, RANDOM, FAST, OPENINGS, 2, "mine.txt"),
            (LEFT, resolve(str(path)), FAST, OPENINGS, 1, "mine.txt"),
        ]
        ids = [store.match_id(*match) for match in asked]
        assert len(set(ids)) == len(asked) and ids == [store.match_id(*match) for match in asked]
        path.write_text("def agent(obs, config):\n    return 1\n")
        assert store.match_id(*asked[-1]) not in ids


# Conditions


def test_games_under_other_conditions_are_of_the_same_match(tmp_path, monkeypatch, capsys):
    """Each number counts once, the game that was stored first; what was different is told."""
    theirs, later = HERE.replace("Ours", "Theirs"), HERE.replace("0.68.1", "0.70.0")
    with MatchStore(tmp_path / "store") as store:
        match = add_games(store, range(4), theirs)
        add(store, match, 3, SHORT)
        assert add_games(store, range(3, 6)) == match == add_games(store, range(7), later)
        moves = {number: game.moves for number, game in store.match_games(match).items()}
        assert moves == dict.fromkeys(range(7), FAULTY.moves)
        assert store.conditions(match) == {theirs: 4, HERE: 2, later: 1} and store.conditions(match, 3) == {theirs: 3}
        with store.turn(match, 5) as known:
            assert set(known) == set(range(5))
        add_games(store, range(2), theirs, FAST._replace(rules=Rules({"rows": 5})))
        found = groups(store)
    assert [*found] == [f"7x{rows}, 4 in a row, 60 s overage time, openings: mine.txt" for rows in (6, 5)]
    assert [len(match.games) for match in next(iter(found.values()))] == [7]
    api.match("leftmost", "middle", 2, games=tmp_path / "games")
    monkeypatch.setattr("connectx_toolkit.arena.stored_games.conditions_here", lambda *_: HERE)
    capsys.readouterr()
    api.match("leftmost", "middle", 2, games=tmp_path / "games")
    reused, other_line = capsys.readouterr().out.splitlines()
    assert reused.startswith("reused 4 of 4 games") and f"(now {HERE})" in other_line
    assert other_line.startswith(f"4 of them were played under other conditions; they still count: {conditions_here()}")


# Files of other versions, and files that are something else


def test_what_is_read_only_opened_cannot_be_changed(tmp_path):
    with MatchStore(tmp_path / "store") as store:
        add_games(store, range(1))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="readonly database"), MatchStore(tmp_path / "store", create=False) as store:
        add_games(store, range(2))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_other_schemas_are_refused(tmp_path):
    with MatchStore(tmp_path / "store") as store:
        add_games(store, range(1))
    with contextlib.closing(sqlite3.connect(tmp_path / "store", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    for create in (True, False):
        before = (tmp_path / "store").read_bytes()
        with pytest.raises(
            ValueError, match=f"another version of the toolkit .{VERSION + 1}, this one reads {VERSION}"
        ):
            GameDatabase(tmp_path / "store", create)
        assert (tmp_path / "store").read_bytes() == before


@pytest.mark.parametrize("create", [True, False])
def test_other_files_are_refused(tmp_path, create):
    (tmp_path / "text").write_text("not a database, and long enough to be looked at" * 20)
    (tmp_path / "folder").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "recipes")) as connection:
        connection.execute("CREATE TABLE t (x)")
    before = (tmp_path / "text").read_bytes(), (tmp_path / "recipes").read_bytes()
    for name, words in {
        "text": " is not a file of games: file is not a database",
        "recipes": " is not a file of games",
        "folder": ": unable to open database file; choose another file with --games",
    }.items():
        with pytest.raises(ValueError) as refused:
            GameDatabase(tmp_path / name, create)
        assert str(refused.value) == f"{tmp_path / name}{words}"
    assert before == ((tmp_path / "text").read_bytes(), (tmp_path / "recipes").read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "recipes", "text"]


def test_locked_for_too_long(tmp_path, monkeypatch):
    """Whether it is opened or in use."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    path = tmp_path / "store"
    words = "store: database is locked"
    with pytest.raises(ValueError, match=words), MatchStore(path) as store:
        match = add_games(store, range(1))
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ValueError, match=words):
                GameDatabase(path)
            add(store, match, 1)
    with GameDatabase(path, create=False) as store:
        assert set(store.match_games(match)) == {0}


# Disks


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as folder:
        yield folder


def test_a_read_only_disk(disk):
    """What is there can be read; what cannot be written is told before any game is played."""
    with MatchStore(disk / "store") as store:
        match = add_games(store, range(3))
    remount(disk, "ro")
    with GameDatabase(disk / "store", create=False) as store:
        (stored,) = store.matches()
        assert set(stored.games) == {0, 1, 2} == set(store.match_games(match)) and len(groups(store)) == 1
    for name in ("store", "new", "folder/new"):
        with pytest.raises(ValueError) as refused:
            GameDatabase(disk / name)
        assert re.fullmatch(f"{disk / name}: .*read-?only.*; choose another .*", str(refused.value), re.I)


def test_games_of_a_killed_run_are_read_on_a_read_only_disk(disk):
    """They are in a second file, that SQLite cannot read there without a third one."""
    with MatchStore(disk / "store") as store:
        add_games(store, range(3))
        (disk / "copy").write_bytes((disk / "store").read_bytes())
        (disk / "copy-wal").write_bytes((disk / "store-wal").read_bytes())
    remount(disk, "ro")
    with GameDatabase(disk / "copy", create=False) as store:
        (stored,) = store.matches()
    assert set(stored.games) == {0, 1, 2}


def test_a_disk_that_fills_up(disk):
    """In the middle of a match: one line, and all games that were stored before are there."""
    stored = 0
    with pytest.raises(ValueError) as refused, MatchStore(disk / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1, "mine.txt")
        with store.turn(match, 100_000):
            for number in range(100_000):
                add(store, match, number)
                stored += 1
    words = "(database or disk is full|disk I/O error|.*No space left.*|.*unable to open.*); "
    assert re.match(f"{disk / 'store'}: {words}", str(refused.value))
    fill(disk)
    for name in ("store", "new"):
        with pytest.raises(ValueError) as refused, MatchStore(disk / name) as full:
            add_games(full, range(stored, stored + 20))
        assert re.match(f"{disk / name}: {words}", str(refused.value))
    remount(disk, "size=4m")
    with MatchStore(disk / "store") as store:
        assert set(store.match_games(match)) == set(range(stored)) and stored > 10


# A killed run


def command(store: Path, cores: int, pairs: int = 200) -> list[str]:
    return [
        sys.executable, str(ROOT / "evaluate.py"), "match", "random", "random_legal", "--pairs", str(pairs),
        "--seed", "5", "--games", str(store), "--workers", str(cores), "--openings", str(store.parent / "openings"),
    ]  # fmt: skip


def stored_rows(path: Path) -> list[tuple]:
    """All that should not depend on time."""
    if not path.exists():
        return []
    with sqlite3.connect(path, timeout=30) as connection:
        try:
            columns = (
                "match, number, first, second, moves, opening, seeds, points, record ->> 'cut', record ->> 'faults'"
            )
            return connection.execute(f"SELECT {columns} FROM games ORDER BY match, number").fetchall()
        except sqlite3.OperationalError:
            return []  # killed before it made the tables


def run_and_kill(store: Path, cores: int, rng: random.Random) -> int:
    """Starts the run, kills it and nothing else a little after it has stored new games; how many there are then.

    The run is one of more games than it could play before this process, kept waiting by others, comes to kill it.
    """
    before = len(stored_rows(store))
    process = subprocess.Popen(
        command(store, cores, pairs=100_000), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.perf_counter() + 60
    while len(stored_rows(store)) <= before + 5 and process.poll() is None and time.perf_counter() < deadline:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.wait()
    return len(stored_rows(store))


def test_killed_three_times_and_resumed(tmp_path):
    """400 games, SIGKILL at three random moments: the same store as that of an uninterrupted run."""
    cores = min(2, len(usable_cores()))
    (tmp_path / "openings").write_text("33\n3324\n012\n")
    whole, killed, rng = tmp_path / "whole", tmp_path / "killed", random.Random(1)
    subprocess.run(command(whole, 1), check=True, capture_output=True)
    stages = [run_and_kill(killed, cores, rng) for _ in range(3)]
    assert 0 < stages[0] < stages[1] < stages[2]
    known = sum(number < 400 for _, number, *_ in stored_rows(killed))
    done = subprocess.run(command(killed, cores), check=True, capture_output=True, text=True)
    assert f"reused {known} of 400 games" in done.stdout
    assert len(stored_rows(whole)) == 400 and [row for row in stored_rows(killed) if row[1] < 400] == stored_rows(whole)


@pytest.mark.parametrize(
    ("damage", "words"), [("record = '['", "Expecting value"), ("moves = '33333333'", "column 3 cannot be played")]
)
def test_a_damaged_row_does_not_end_the_others(damage, words, tmp_path):
    """It is named by file and row, and what is played in its place does not overwrite it."""
    path = tmp_path / "store"
    with MatchStore(path) as store:
        match = add_games(store, range(3))
        with store.connection:
            store.connection.execute(f"UPDATE games SET {damage} WHERE number = 1")
    with MatchStore(path) as store:
        assert [set(stored.games) for stored in store.matches()] == [{0, 2}]
        (why,) = store.left_out
        assert why.startswith(f"{path}: row 2 of its games, number 1: {words}")
        store.add_played(match, Task(1, (LEFT, RANDOM), (), (1, 2)), SHORT)
        assert len(store.connection.execute("SELECT id FROM games").fetchall()) == 3
