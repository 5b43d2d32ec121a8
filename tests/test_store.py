"""The store: games come back as they went in, and a killed run ends as if it had not been killed."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from arena.cores import usable_cores
from arena.match import play_match
from arena.players.fingerprint import fingerprint
from arena.players.loading import resolve
from arena.rules import Fault, Game, Rules
from arena.slots import Setup, Task
from arena.store import SCHEMA_VERSION, Store

ROOT = Path(__file__).resolve().parent.parent
FAST = Setup(Rules(), "fast")
LEFT, RANDOM = resolve("leftmost"), resolve("random")
OPENINGS = [(3, 3), (0, 1, 2)]
FAULTY = Game(
    (3, 3, 11),
    2,
    (None, 0),
    ("TIMEOUT", "DONE"),
    (0.25, 7.5),
    (-5.5, 60.0),
    (Fault(0, 3, "timeout", "é\n", True),),
    "timeout",
    (7.25, 0.0),
)


def test_games_come_back(tmp_path):
    with Store(tmp_path / "new" / "store.sqlite") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        played = play_match(LEFT, RANDOM, FAST, OPENINGS, 3, 1, on_game=lambda t, g: store.add(match, t, g))
        store.add(match, Task(6, (LEFT, RANDOM), (), (1, 2)), FAULTY)
    with Store(tmp_path / "new" / "store.sqlite", create=False) as store:
        (stored,) = store.matches()
    assert stored.match.games.pop(6) == FAULTY
    assert stored.match.first == LEFT and stored.match.second == RANDOM and stored.match.bank == 60.0
    assert [g.moves for g in stored.match.games.values()] == [g.moves for g in played.games.values()]
    assert stored.match.counts == played.counts and stored.config == FAST.rules.config
    assert (stored.referee, stored.seed, stored.hashes) == ("fast", 1, (fingerprint(LEFT), fingerprint(RANDOM)))


def test_stores_of_version_1_stay_readable(tmp_path):
    """They have no loads; new games in them do."""
    with Store(tmp_path / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        store.add(match, Task(0, (LEFT, RANDOM), (), (1, 2)), FAULTY)
    connection = sqlite3.connect(tmp_path / "store", isolation_level=None)
    connection.execute("ALTER TABLE games DROP COLUMN loads")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    with Store(tmp_path / "store") as store:
        assert store.games(match) == {0: replace(FAULTY, loads=None)}
        store.add(match, Task(1, (RANDOM, LEFT), (), (1, 2)), FAULTY)
    with Store(tmp_path / "store", create=False) as store:
        assert store.games(match) == {0: replace(FAULTY, loads=None), 1: FAULTY}


def test_a_game_is_stored_once(tmp_path):
    with Store(tmp_path / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        store.add(match, Task(0, (LEFT, RANDOM), (), (1, 2)), FAULTY)
        other = Game((1,), 0, (0, 0), ("DONE", "DONE"), (0.1,), (60.0, 60.0), (), "line")
        store.add(match, Task(0, (LEFT, RANDOM), (), (1, 2)), other)
        assert store.games(match) == {0: FAULTY}


def test_what_decides_the_games_decides_the_match(tmp_path):
    """Any change gives a new match; asking again gives the same."""
    path = tmp_path / "agent.py"
    path.write_text("def agent(obs, config):\n    return 0\n")
    with Store(tmp_path / "store") as store:
        asked = [
            (LEFT, RANDOM, FAST, OPENINGS, 1),
            (RANDOM, LEFT, FAST, OPENINGS, 1),
            (LEFT, RANDOM, FAST._replace(referee="kaggle"), OPENINGS, 1),
            (LEFT, RANDOM, FAST._replace(rules=Rules({"rows": 5})), OPENINGS, 1),
            (LEFT, RANDOM, FAST._replace(rules=Rules(bank=1.0)), OPENINGS, 1),
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
    short = Game((10,), 0, (0, 0), ("DONE", "DONE"), (0.1,), (60.0, 60.0), (), "step limit")
    with Store(tmp_path / "store") as store:
        match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, 1)
        store.add(match, Task(0, (LEFT, RANDOM), (), (1, 2)), short)
        assert store.games(match) == {0: short}


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, and long enough to be looked at" * 20)
    with pytest.raises(ValueError, match="not a store"):
        Store(tmp_path / "text")
    with pytest.raises(ValueError, match="there is no store"):
        Store(tmp_path / "missing", create=False)
    connection = sqlite3.connect(tmp_path / "later")
    connection.execute("CREATE TABLE t (x)")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(ValueError, match=f"version {SCHEMA_VERSION + 1}"):
        Store(tmp_path / "later")


# A killed run


def command(store: Path, cores: int, pairs: int = 200) -> list[str]:
    return [
        sys.executable, str(ROOT / "evaluate.py"), "match", "random", "random_legal", "--pairs", str(pairs),
        "--seed", "5", "--store", str(store), "--concurrency", str(cores), "--openings", str(store.parent / "openings"),
    ]  # fmt: skip


def stored(path: Path) -> list[tuple]:
    """All that should not depend on time."""
    if not path.exists():
        return []
    with sqlite3.connect(path, timeout=30) as connection:
        try:
            columns = "match, number, moves, opening, seeds, rewards, statuses, ending, faults"
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
    assert f"{known} of 400 games were known" in done.stdout
    assert len(stored(whole)) == 400 and [row for row in stored(killed) if row[1] < 400] == stored(whole)
