"""Processes that share a file of games: each match is played by one of them at a time; who waits sees its games."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from connectx_toolkit.arena.store import MatchStore
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.system.files import file_lock, lock_at, unlock
from tests.arena.test_store import FAST, LEFT, OPENINGS, RANDOM, ROOT, add_games
from tests.conftest import fill, small_disk, wait_until

pytestmark = pytest.mark.slow
GAMES = 40
PLAY = f"""
import json, signal, sys, time
from contextlib import closing
from pathlib import Path
from connectx_toolkit.arena.schedule import pair_tasks
from connectx_toolkit.arena.store import MatchStore
from connectx_toolkit.arena.match import Slot
from tests.conftest import wait_until
from tests.arena.test_store import FAST, HERE, LEFT, OPENINGS, RANDOM

store, seed, pause = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background inherits an ignored one
sys.stdin.readline()  # all start at once
with MatchStore(store) as store, closing(Slot(FAST._replace(isolate=False))) as slot:
    match, played = store.match_id(LEFT, RANDOM, FAST, OPENINGS, seed, "mine.txt"), 0
    with store.turn(match, {GAMES}) as known:
        for task in pair_tasks(LEFT, RANDOM, OPENINGS, {GAMES // 2}, seed):
            if task.number not in known:
                known[task.number] = slot.play(task)
                store.add_played(match, task, known[task.number], HERE)
                played += 1
                time.sleep(pause)
    print(json.dumps([played, {{number: game.moves for number, game in sorted(known.items())}}]))
"""


@contextmanager
def player(store: Path, seed: int = 1, pause: float = 0.0) -> Iterator[subprocess.Popen]:
    """A process that plays a match as soon as it is sent a line, with so many seconds between games."""
    command = [sys.executable, "-c", PLAY, str(store), str(seed), str(pause)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, text=True, bufsize=1, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def start(process: subprocess.Popen) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")


def outcome(process: subprocess.Popen) -> tuple[int, dict[str, list[int]], str]:
    """How many games it played, the games of the match that it sees, and what it said."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    played, games = json.loads(out)
    return played, games, err


def games_of(path: Path, seed: int = 1) -> int:
    """How many games of a match of the players' the store holds."""
    if not path.exists():
        return 0
    with MatchStore(path) as store:
        return len(store.match_games(store.match_id(LEFT, RANDOM, FAST, OPENINGS, seed, "mine.txt")))


def test_two_that_start_at_once_see_the_same_games(tmp_path):
    """Every game is played once, by one of the two, and nothing but the store is left."""
    with player(tmp_path / "store") as one, player(tmp_path / "store") as two:
        for process in (one, two):
            start(process)
        (first, games, _), (second, same, _) = outcome(one), outcome(two)
    assert sorted((first, second)) == [0, GAMES] and games == same and len(games) == GAMES
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_who_waits_says_for_whom_and_goes_on_after_a_kill(tmp_path):
    path = tmp_path / "store"
    with player(path, pause=0.2) as one, player(path) as two:
        start(one)
        wait_until(lambda: games_of(path) >= 3)
        start(two)
        assert two.stderr is not None
        words = "another process is playing this match; waiting for it (Ctrl-C stops; nothing is lost)\n"
        assert two.stderr.readline() == words and two.poll() is None
        one.send_signal(signal.SIGKILL)
        played, games, err = outcome(two)
    assert 0 < played < GAMES - 2 and len(games) == GAMES and err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_ctrl_c_while_waiting(tmp_path):
    path = tmp_path / "store"
    with player(path, pause=0.2) as one, player(path) as two:
        start(one)
        wait_until(lambda: games_of(path) >= 1)
        start(two)
        assert two.stderr is not None and "waiting for it" in two.stderr.readline()
        two.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in two.communicate(timeout=60)[1]
        assert one.poll() is None and (tmp_path / ".store.1.lock").exists()


def test_other_matches_are_played_at_the_same_time(tmp_path):
    path = tmp_path / "store"
    with player(path, pause=0.2) as one, player(path, seed=2) as two:
        start(one)
        wait_until(lambda: games_of(path) >= 1)
        start(two)
        played, games, err = outcome(two)
        assert (played, len(games), err) == (GAMES, GAMES, "") and one.poll() is None


def test_what_killed_processes_have_left_goes_with_the_next_turn(tmp_path):
    """Of other matches, too; the lock of one that is being played stays."""
    left, other = tmp_path / ".store.5.lock", tmp_path / ".store.7.lock"
    left.touch()
    held = lock_at(other, 0.0)
    assert held is not None
    with MatchStore(tmp_path / "store") as store, store.turn(add_games(store, range(2)), 2):
        assert not left.exists() and other.exists()
    unlock(held)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_lock_file_that_cannot_be_made(tmp_path):
    (tmp_path / ".store.1.lock").mkdir()
    words = "it is a folder, where a file was expected"
    with (
        pytest.raises(OSError, match=words),
        MatchStore(tmp_path / "store") as store,
        store.turn(add_games(store, range(1)), 2),
    ):
        pass


OPEN = "import sys; from pathlib import Path; from connectx_toolkit.games.database import GameDatabase as games; games"


def test_a_start_on_a_full_disk_removes_no_file_that_another_made(tmp_path):
    """It begins when there is no file yet; while it waits, another makes one and stores games, and the disk fills."""
    with MatchStore(tmp_path / "made") as store:
        add_games(store, range(5))
    with small_disk(tmp_path / "disk") as disk:
        path, pipe = disk / "store", subprocess.PIPE
        with file_lock(path):
            command = [sys.executable, "-c", f"{OPEN}(Path(sys.argv[1]))", str(path)]
            starting = subprocess.Popen(command, cwd=ROOT, text=True, stderr=pipe)
            assert starting.stderr is not None and "another process is writing" in starting.stderr.readline()
            path.write_bytes((tmp_path / "made").read_bytes())
            fill(disk)
        words = starting.communicate(timeout=60)[1]
        assert starting.returncode and "ValueError" in words.splitlines()[-1] and str(path) in words
        with GameDatabase(path, create=False) as store:
            (stored,) = store.matches()
    assert len(stored.games) == 5


WRITE = """
import itertools, sys
from pathlib import Path
from connectx_toolkit.arena.store import MatchStore
from connectx_toolkit.players.process import Task
from tests.arena.test_store import FAST, FAULTY, HERE, LEFT, OPENINGS, RANDOM

seed = int(sys.argv[2])
with MatchStore(Path(sys.argv[1])) as store:
    match = store.match_id(LEFT, RANDOM, FAST, OPENINGS, seed, "mine.txt")
    with store.turn(match, 10**9) as known:
        for number in itertools.count(len(known)):
            store.add_played(match, Task(number, (LEFT, RANDOM), (), (1, 2)), FAULTY, HERE)
            print(match, number, flush=True)
"""


@pytest.mark.parametrize("size", ["64m", "3m"], ids=["room", "full"])
def test_three_writers_and_twenty_kills(size, tmp_path):
    """What was said to be stored is stored, on a disk that fills, too; and nobody reads what is not whole."""
    told, listeners, rng = set[tuple[int, int]](), list[threading.Thread](), random.Random(1)
    with small_disk(tmp_path / "disk", size) as disk:
        path = disk / "store"

        def begin(seed: int) -> subprocess.Popen:
            command, quiet = [sys.executable, "-c", WRITE, str(path), str(seed)], subprocess.DEVNULL
            process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=quiet)
            listeners.append(threading.Thread(target=listen, args=(process.stdout,)))
            listeners[-1].start()
            return process

        def listen(lines: Iterator[str]) -> None:
            for line in lines:
                if line.endswith("\n"):
                    match, number = map(int, line.split())
                    told.add((match, number))

        writers = [begin(seed) for seed in range(3)]
        for _ in range(20):
            time.sleep(rng.uniform(0, 1.5))
            place = rng.randrange(3)
            writers[place].kill()
            writers[place].wait()
            writers[place] = begin(place)
        time.sleep(2)
        for writer in writers:
            writer.kill()
            writer.wait()
        for listener in listeners:
            listener.join()
        with GameDatabase(path, create=False) as store:
            kept = {(number, game) for number in (1, 2, 3) for game in store.match_games(number)}
            assert store.left_out == []
    assert len(told) > 100 and told <= kept
