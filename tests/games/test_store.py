"""Matches in the file of games: games come back as they went in, and a killed run ends as if it had not been killed."""

import contextlib
import json
import platform
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from connectx.position import STANDARD
from connectx_toolkit.arena.match import play_match
from connectx_toolkit.games import schema
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.match import Conditions, conditions_here, other_conditions_line
from connectx_toolkit.games.schema import VERSION
from connectx_toolkit.games.tournament import groups, matches
from connectx_toolkit.kaggle.rules import Fault, Rules
from connectx_toolkit.players.fingerprint import fingerprint
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.cores import usable_cores
from connectx_toolkit.system.files import ROOT
from tests.conftest import fill, remount, small_disk

FAST = Setup(Rules(), "fast")
LEFT, RANDOM = resolve("leftmost"), resolve("random")
OPENINGS = [(3, 3), (0, 1, 2)]
FAULTY = Game(
    STANDARD, (3, 3, 6), (LEFT.label, RANDOM.label), 2,
    faults=(Fault(1, 3, "timeout", "é\n", True),),
    overage=(60.0, 60.0, 60.0, -5.5), measured=(None, None, 0.25, 67.5), loads=(0.125, 7.25),
)  # fmt: skip
SHORT = Game(STANDARD, (1,), (LEFT.label, RANDOM.label), cut="step limit", overage=(60.0,), measured=(0.1,))
HERE = Conditions("Ours, 2 cores", (("python", "3.12"), ("numba", "0.68.1")), 2)


def add(store: GameDatabase, match: int, number: int, game: Game = FAULTY, conditions: Conditions = HERE) -> Game:
    """Stores a game; what is stored then, but for when and where."""
    return plain(store.add_played(match, Task(number, (LEFT, RANDOM), (), (1, 2)), game, conditions))


def add_games(store: GameDatabase, numbers: range, conditions: Conditions = HERE, setup: Setup = FAST) -> int:
    """Stores games of a match, and returns its id."""
    match = store.match_id(LEFT, RANDOM, setup, OPENINGS, 1)
    for number in numbers:
        add(store, match, number, replace(FAULTY, geometry=setup.rules.geometry), conditions)
    return match


def plain(game: Game) -> Game:
    return replace(game, date=None, source="")


def games_in(store: GameDatabase, match: int) -> dict[int, Game]:
    return {number: plain(game) for number, game in store.match_games(match).items()}


def test_games_come_back(tmp_path):
    with GameDatabase(tmp_path / "new" / "store.sqlite") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        played = play_match(LEFT, RANDOM, FAST, OPENINGS, 3, 1)
        for number, game in played.games.items():
            add(store, match, number, game)
        add(store, match, 6)
    with GameDatabase(tmp_path / "new" / "store.sqlite", create=False) as store:
        (stored,) = matches(store)
    assert stored.match.games[6].source == str(tmp_path / "new" / "store.sqlite" / f"{match}-7")
    assert time.strptime(stored.match.games[6].date or "", "%Y-%m-%dT%H:%M:%SZ")
    assert plain(stored.match.games.pop(6)) == FAULTY
    assert stored.match.first == LEFT and stored.match.second == RANDOM and stored.reserve == 60.0
    for number, game in played.games.items():
        found = stored.match.games[number]
        assert found.overage == pytest.approx(game.overage, abs=1e-5)
        assert found.loads == pytest.approx(game.loads, abs=1e-6)
        assert found.measured[game.opening :] == pytest.approx(game.measured[game.opening :], abs=1e-6)
        bare = [replace(one, overage=(), measured=(), loads=None) for one in (plain(found), game)]
        assert bare[0] == bare[1]
    assert stored.config == FAST.rules.config
    assert (stored.match.seed, stored.hashes) == (1, (fingerprint(LEFT), fingerprint(RANDOM)))
    assert stored.conditions == {HERE: 7}


def test_a_game_is_stored_once(tmp_path):
    """The first one stays, and is what whoever adds another one gets."""
    with GameDatabase(tmp_path / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        assert add(store, match, 0) == FAULTY == add(store, match, 0, SHORT)
        assert games_in(store, match) == {0: FAULTY}


@pytest.mark.parametrize(
    "game",
    [
        SHORT,
        replace(FAULTY, faults=(Fault(0, 2, "none", "played", False), *FAULTY.faults)),
        replace(SHORT, cut="run limit"),
        replace(SHORT, moves=(1, 2, 1, 2, 1, 2, 1), cut="", measured=(0.1,) * 7),
    ],
    ids=lambda game: game.ending,
)
def test_every_ending_comes_back(game, tmp_path):
    """A game that the run limit ended is half a point for either."""
    with GameDatabase(tmp_path / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        found = add(store, match, 0, game)
    assert (found.ending, found.points, found.faults) == (game.ending, game.points, game.faults)
    assert found.points == {"line": (1, 0), "timeout": (1, 0)}.get(game.ending, (0.5, 0.5))


def test_what_decides_the_games_decides_the_match(tmp_path):
    """Any change gives a new match; asking again gives the same."""
    path = tmp_path / "agent.py"
    path.write_text("def agent(obs, config):\n    return 0\n")
    with GameDatabase(tmp_path / "store") as store:
        asked: list[tuple] = [
            (LEFT, RANDOM, FAST, OPENINGS, 1),
            (RANDOM, LEFT, FAST, OPENINGS, 1),
            (LEFT, RANDOM, FAST._replace(rules=Rules({"rows": 5})), OPENINGS, 1),
            (LEFT, RANDOM, FAST._replace(rules=Rules(overage=1.0)), OPENINGS, 1),
            (LEFT, RANDOM, FAST, OPENINGS[:1], 1),
            (LEFT, RANDOM, FAST, OPENINGS, 2),
            (LEFT, resolve(str(path)), FAST, OPENINGS, 1),
        ]
        ids = [store.match_id(*match) for match in asked]
        assert len(set(ids)) == len(asked) and ids == [store.match_id(*match) for match in asked]
        path.write_text("def agent(obs, config):\n    return 1\n")
        assert store.match_id(*asked[-1]) not in ids


def test_a_game_of_one_move_in_column_10(tmp_path):
    """Its text is not that of a move in column 1 and one in column 0."""
    wide = Rules({"columns": 11})
    short = replace(SHORT, geometry=wide.geometry, moves=(10,))
    with GameDatabase(tmp_path / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST._replace(rules=wide), OPENINGS, 1)
        assert add(store, match, 0, short) == short
        assert games_in(store, match) == {0: short}


# Conditions


def test_the_conditions_of_this_process():
    here = conditions_here(2)
    assert here.concurrency == 2 and here.machine.endswith((" core", " cores"))
    assert dict(here.versions)["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {"numpy", "numba", "torch", "kaggle-environments"} < dict(here.versions).keys()
    assert Conditions.from_json(here.to_json()) == here == conditions_here(2)
    assert conditions_here(2, "tcp://host:8786") == here._replace(
        machine="dask cluster tcp://host:8786", concurrency=None
    )


def test_a_machine_without_proc(monkeypatch):
    def missing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr("connectx_toolkit.games.match.version_of", lambda name: "1.0")  # which reads files, too
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert conditions_here().machine == f"{platform.machine()}, 8 cores"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, []),
        ({"machine": "Theirs, 8 cores"}, ["another machine (Theirs, 8 cores)"]),
        ({"machine": "dask cluster tcp://a:1", "concurrency": None}, ["another machine (dask cluster tcp://a:1)"]),
        ({"concurrency": 1}, ["1 game at a time instead of 2"]),
        ({"versions": (("python", "3.12"), ("numba", "0.60.0"))}, ["numba 0.60.0 instead of 0.68.1"]),
        ({"versions": (("python", "3.11"), ("numba", "0.68.1"))}, ["python 3.11 instead of 3.12"]),
        ({"versions": (("python", "3.12"), ("numba", "absent"))}, ["no numba instead of 0.68.1"]),
        ({"versions": ()}, []),
    ],
)
def test_differences_in_words(changed, words):
    assert HERE._replace(**changed).differences(HERE) == words


def test_a_package_that_only_one_of_two_has():
    without = HERE._replace(versions=(("numba", "absent"),))
    assert HERE.differences(without) == ["numba 0.68.1 instead of none"]


def test_games_under_other_conditions_are_of_the_same_match(tmp_path):
    """Each number counts once, the game that was stored first."""
    theirs, later = HERE._replace(machine="Theirs, 8 cores"), HERE._replace(versions=(("numba", "0.70.0"),))
    with GameDatabase(tmp_path / "store") as store:
        match = add_games(store, range(4), theirs)
        add(store, match, 3, SHORT)
        assert add_games(store, range(3, 6)) == match == add_games(store, range(7), later)
        assert {number: game.moves for number, game in store.match_games(match).items()} == dict.fromkeys(
            range(7), FAULTY.moves
        )
        assert store.conditions(match) == {theirs: 4, HERE: 2, later: 1} and store.conditions(match, 3) == {theirs: 3}
        with store.turn(match, 5) as known:
            assert set(known) == set(range(5))
        add_games(store, range(2), theirs, FAST._replace(rules=Rules({"rows": 5})))
        group, other = groups(store)
    assert [group.title, other.title] == [f"{rows}x7, 4 in a row, 60 s overage time" for rows in (6, 5)]
    assert [len(match.games) for match in group.tournament.matches] == [7] and group.conditions.total() == 7
    assert other.conditions == {theirs: 2}


def test_games_under_other_conditions_are_told():
    """Those of the smaller part, or those that differ from the conditions here; nothing if all are the same."""
    theirs, before = HERE._replace(machine="Theirs, 8 cores"), HERE._replace(versions=(("numba", "0.60.0"),))
    played = Counter({theirs: 2, HERE: 5, before: 1})
    words = "another machine (Theirs, 8 cores); numba 0.60.0 instead of 0.68.1"
    assert other_conditions_line(played) == [f"3 of 8 games were played under other conditions, and count: {words}"]
    (line,) = other_conditions_line(played, theirs)
    assert line.startswith("6 of 8 games were played under other conditions, and count: another machine (Ours, 2 cores")
    assert other_conditions_line(Counter({HERE: 5})) == other_conditions_line(Counter()) == []


# Files of other versions, and files that are something else


def test_what_is_read_only_opened_cannot_be_changed(tmp_path):
    with GameDatabase(tmp_path / "store") as store:
        add_games(store, range(1))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="cannot be read"), GameDatabase(tmp_path / "store", create=False) as store:
        add_games(store, range(2))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_other_schemas_are_refused(tmp_path):
    with GameDatabase(tmp_path / "store") as store:
        add_games(store, range(1))
    for version, words in ((VERSION + 1, "a newer version"), (-1, "too old a version")):
        with contextlib.closing(sqlite3.connect(tmp_path / "store", isolation_level=None)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        for create in (True, False):
            before = (tmp_path / "store").read_bytes()
            with pytest.raises(ValueError) as refused:
                GameDatabase(tmp_path / "store", create)
            assert (tmp_path / "store").read_bytes() == before
            told = f"written by {words} of the toolkit (schema {version}, this one reads {VERSION})"
            assert str(refused.value) == f"{tmp_path / 'store'}: {told}"


@pytest.mark.parametrize("create", [True, False])
def test_other_files_are_refused(tmp_path, create):
    (tmp_path / "text").write_text("not a database, and long enough to be looked at" * 20)
    (tmp_path / "folder").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "recipes")) as connection:
        connection.execute("CREATE TABLE t (x)")
    before = (tmp_path / "text").read_bytes(), (tmp_path / "recipes").read_bytes()
    for name, words in {
        "text": "is not a file of games (not an SQLite database)",
        "recipes": "is not a file of games (a database of something else)",
        "folder": "is a folder, where a file was expected",
    }.items():
        with pytest.raises(ValueError) as refused:
            GameDatabase(tmp_path / name, create)
        assert str(refused.value) == f"{tmp_path / name} {words}"
    assert before == ((tmp_path / "text").read_bytes(), (tmp_path / "recipes").read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "recipes", "text"]


def test_nothing_to_read(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match="no games yet: there is no file"):
        GameDatabase(tmp_path / "missing", create=False)
    with pytest.raises(ValueError, match=r"empty is not a file of games \(it is empty\)"):
        GameDatabase(tmp_path / "empty", create=False)
    with pytest.raises(ValueError, match=r"text is not a folder\); choose another file with --games"):
        (tmp_path / "text").touch()
        GameDatabase(tmp_path / "text" / "new" / "store")


def test_locked_for_too_long(tmp_path, monkeypatch):
    """Whether it is opened or in use."""
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.1)
    path = tmp_path / "store"
    words = "store: locked by another process for more than 0.1 s; try again when it has ended"
    with pytest.raises(ValueError, match=words), GameDatabase(path) as store:
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
    with GameDatabase(disk / "store") as store:
        match = add_games(store, range(3))
    remount(disk, "ro")
    with GameDatabase(disk / "store", create=False) as store:
        (stored,) = matches(store)
        assert set(stored.match.games) == {0, 1, 2} == set(store.match_games(match)) and len(groups(store)) == 1
    for name in ("store", "new", "folder/new"):
        with pytest.raises(ValueError) as refused:
            GameDatabase(disk / name)
        words = "cannot be written (read-only folder); choose another file with --games"
        assert str(refused.value) == f"{disk / name}: {words}"


def test_games_of_a_killed_run_are_not_left_out_on_a_read_only_disk(disk):
    """They are in a second file, that SQLite cannot read here if the third one was not copied with them."""
    with GameDatabase(disk / "store") as store:
        add_games(store, range(3))
        (disk / "copy").write_bytes((disk / "store").read_bytes())
        (disk / "copy-wal").write_bytes((disk / "store-wal").read_bytes())
    remount(disk, "ro")
    with pytest.raises(ValueError, match="copy-wal holds its latest games; copy both files to another folder"):
        GameDatabase(disk / "copy", create=False)
    remount(disk, "rw")
    with GameDatabase(disk / "copy", create=False) as store:
        (stored,) = matches(store)
    assert set(stored.match.games) == {0, 1, 2}


def test_a_disk_that_fills_up(disk):
    """In the middle of a match: one line, and all games that were stored before are there."""
    stored = 0
    with pytest.raises(ValueError) as refused, GameDatabase(disk / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        with store.turn(match, 100_000):
            for number in range(100_000):
                add(store, match, number)
                stored += 1
    words = "no space left on the disk; nothing that was stored before is lost"
    assert str(refused.value) == f"{disk / 'store'}: {words}"
    fill(disk)
    for name in ("store", "new"):
        with pytest.raises(ValueError) as refused, GameDatabase(disk / name) as full:
            add_games(full, range(stored, stored + 20))
        assert str(refused.value) == f"{disk / name}: {words}"
    assert not (disk / "new").exists()
    remount(disk, "size=4m")
    with GameDatabase(disk / "store") as store:
        assert set(store.match_games(match)) == set(range(stored)) and stored > 10


# A killed run


def command(store: Path, cores: int, pairs: int = 200) -> list[str]:
    return [
        sys.executable, str(ROOT / "evaluate.py"), "match", "random", "random_legal", "--pairs", str(pairs),
        "--seed", "5", "--games", str(store), "--concurrency", str(cores), "--openings", str(store.parent / "openings"),
    ]  # fmt: skip


def stored(path: Path) -> list[tuple]:
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
    before = len(stored(store))
    process = subprocess.Popen(
        command(store, cores, pairs=100_000), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.perf_counter() + 60
    while len(stored(store)) <= before + 5 and process.poll() is None and time.perf_counter() < deadline:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.wait()
    return len(stored(store))


def test_killed_three_times_and_resumed(tmp_path):
    """400 games, SIGKILL at three random moments: the same store as that of an uninterrupted run."""
    cores = min(2, len(usable_cores()))
    (tmp_path / "openings").write_text("33\n3324\n012\n")
    whole, killed, rng = tmp_path / "whole", tmp_path / "killed", random.Random(1)
    subprocess.run(command(whole, 1), check=True, capture_output=True)
    stages = [run_and_kill(killed, cores, rng) for _ in range(3)]
    assert 0 < stages[0] < stages[1] < stages[2]
    known = sum(number < 400 for _, number, *_ in stored(killed))
    done = subprocess.run(command(killed, cores), check=True, capture_output=True, text=True)
    assert f"reused {known} of 400 games" in done.stdout
    assert len(stored(whole)) == 400 and [row for row in stored(killed) if row[1] < 400] == stored(whole)


# What others wrote


BAD_MATCHES = {
    "an agent that is no JSON": ("first = '['", "it is not JSON"),
    "an agent without a label": ('second = \'["ours", "x"]\'', "AgentSpec|unpack"),
    "a configuration without rows": ("config = '{}'", "the configuration has no rows"),
    "a configuration that is a list": ("config = '[]'", "the configuration should be a JSON object"),
    "infinite overage time": ("reserve = 9e999", "overage time should be a finite number"),
    "a seed that is a text": ("seed = 'one'", "the seed should be an integer"),
}
BAD_GAMES = {
    "moves of a full column": ("moves = '33333333'", "column 3 cannot be played on ply 5: the column is full"),
    "another board": ("rows = 6", "its board is 6x7k4, not 5x7k4"),
    "a fault of one field": ("faults", "[[0]]", "_fault"),
    "an unknown fault": ("faults", '[[0, 3, "tired", "", true]]', "there is no fault 'tired'"),
    "seconds that are a number": ("measured", "5", "not iterable"),
    "no seconds": ("measured", "[]", "it has the times of 0 calls, not of 2"),
    "seconds that are NaN": ("measured", "[NaN]", "seconds of a call should be a finite number"),
    "a cut that is a list": ("cut", "[]", r"a cut should be one of step limit, run limit, not \[\]"),
    "a game that has not ended": ("faults", "[]", "1.0 points, but its moves and faults say 'unfinished'"),
    "an opening longer than the game": ("opening = 99", "the opening should be an integer from 0 to 3"),
    "loads of one agent": ("loads", "[1.0]", "expected the load of two players, not of 1"),
    "a field that is none": ("rewards", "[1, 0]", "rewards"),
    "a record that is a list": ("record = '[]'", "the record should be a JSON object"),
}


def damage_of(fields: tuple[str, ...], record: str) -> tuple[str, list[str]]:
    """A change of a row in SQL, and its values. Of three fields, the first one is a field in the record."""
    if len(fields) == 2:
        return fields[0], []
    parts = [f'"{name}":{json.dumps(value)}' for name, value in json.loads(record).items() if name != fields[0]]
    return "record = ?", ["{" + ",".join([*parts, f'"{fields[0]}":{fields[1]}']) + "}"]


@pytest.mark.parametrize("damage", [*BAD_MATCHES, *BAD_GAMES])
def test_a_bad_row_does_not_end_the_others(damage, tmp_path):
    """It is named with what is wrong with it, and all other games are there."""
    path = tmp_path / "store"
    with GameDatabase(path) as store:
        add_games(store, range(3))
        other = add_games(store, range(3), setup=FAST._replace(rules=Rules({"rows": 5})))
        fields = BAD_MATCHES.get(damage) or BAD_GAMES[damage]
        (record,) = store.connection.execute("SELECT record FROM games WHERE match = ?", [other]).fetchone()
        change, values = damage_of(fields, record)
        if damage in BAD_MATCHES:
            store.connection.execute(f"UPDATE matches SET {change} WHERE id = ?", [other])
        else:
            where = "match = ? AND number = 1"
            store.connection.execute(f"UPDATE games SET {change} WHERE {where}", [*values, other])
    with GameDatabase(path, create=False) as store:
        found = [set(stored.match.games) for stored in matches(store)]
    assert found == [{0, 1, 2}, {0, 2}] if damage in BAD_GAMES else found == [{0, 1, 2}]
    (why,) = store.left_out
    assert why.startswith(f"{path}: ") and f"match {other}" in why and re.search(fields[-1], why), why


def test_damaged_conditions_cost_no_games(tmp_path):
    with GameDatabase(tmp_path / "store") as store:
        match = add_games(store, range(3))
        store.connection.execute("UPDATE conditions SET text = '5'")
        (stored,) = matches(store)
        assert set(stored.match.games) == {0, 1, 2} and not stored.conditions
        assert (
            "the conditions should be a JSON object" in store.left_out[0] and f"of match {match}" in store.left_out[0]
        )


def test_a_damaged_game_is_played_again(tmp_path):
    """It is not known when the match goes on, and what is played takes its place."""
    with GameDatabase(tmp_path / "store") as store:
        match = add_games(store, range(2))
        store.connection.execute("UPDATE games SET record = '[' WHERE number = 1")
        with store.turn(match, 2) as known:
            assert set(known) == {0} and "game 1 of match 1: it is not JSON" in store.left_out[0]
        assert add(store, match, 1, SHORT) == SHORT
        assert games_in(store, match) == {0: FAULTY, 1: SHORT}
        count = "SELECT count(*) FROM positions WHERE game NOT IN (SELECT id FROM games)"
        assert store.connection.execute(count).fetchone()[0] == 0
