"""The file of games: loading 10,000 replays, its size, the time of a query, and loading that is killed.

python -m benchmarks.game_database [--games 10000] [--played 20000] [--kills 3]

Replays are generated as Kaggle's environment writes them, of random games that take a win in one, against 40 teams.
They are loaded by ``evaluate.py explore --add`` in a process of its own, from the files. Then games as a match played
them, from the empty board, are stored one by one beside them, before queries of the ladder's games are timed. Then
loading is killed with SIGKILL at random moments and started again: in the end every game has to be there once.
"""

import argparse
import json
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import head, record
from connectx.position import STANDARD, Position
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.match import conditions_here
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import ROOT

TEAMS = 40
ME = "my_team"
QUERIES = 200


def random_game(rng: random.Random) -> list[int]:
    position, moves = Position.empty(STANDARD), list[int]()
    while not position.is_over():
        moves.append(rng.choice(position.winning_columns() or position.legal_columns()))
        position = position.play(moves[-1])
    return moves


def replay_text(moves: Sequence[int], names: tuple[str, str], episode: int) -> str:
    """A game as Kaggle's environment writes it, with the board of every step."""
    position = Position.empty(STANDARD)
    steps = [_step(position, None, 0)]
    for ply, column in enumerate(moves):
        position = position.play(column)
        steps.append(_step(position, column, ply + 1))
    content = {
        "name": "connectx",
        "configuration": {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2, "episodeSteps": 1000, "timeout": 2},
        "statuses": ["DONE", "DONE"],
        "info": {"TeamNames": names, "EpisodeId": episode},
        "steps": steps,
    }
    return json.dumps(content)


def _step(position: Position, column: int | None, step: int) -> list[dict]:
    board, action = position.to_board(), 0 if column is None else column
    seen = {"remainingOverageTime": 60, "board": board, "step": step}
    return [
        {"action": action if step % 2 else 0, "status": "ACTIVE", "reward": 0, "info": {}, "observation": seen},
        {"action": 0 if step % 2 else action, "status": "ACTIVE", "reward": 0, "info": {},
         "observation": {"remainingOverageTime": 60}},
    ]  # fmt: skip


def write_replays(folder: Path, count: int, seed: int) -> None:
    rng = random.Random(seed)
    with progress(count, "replay", "writing") as bar:
        for number in range(count):
            team = f"team {rng.randrange(TEAMS)}"
            names = (ME, team) if number % 2 else (team, ME)
            text = replay_text(random_game(rng), names, number + 1)
            (folder / f"episode-{number + 1}-replay.json").write_text(text)
            bar.update()


def loading(folder: Path, path: Path) -> subprocess.Popen:
    """A process that loads."""
    command = [sys.executable, str(ROOT / "evaluate.py"), "explore", "--add", str(folder), "--games", str(path)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def load(folder: Path, path: Path) -> tuple[float, float]:
    """Seconds that loading takes, and those of the processor."""
    start, before = time.perf_counter(), _processor_seconds()
    if loading(folder, path).wait():
        raise RuntimeError("loading failed")
    return round(time.perf_counter() - start, 1), round(_processor_seconds() - before, 1)


def _processor_seconds() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def store_played(path: Path, count: int, seed: int) -> float:
    """Stores games of a match; milliseconds of the processor for each, a commit of its own included."""
    rng, pair = random.Random(seed), (resolve("leftmost"), resolve("random"))
    games = [Game(STANDARD, tuple(moves), (pair[0].label, pair[1].label), overage=(60.0,) * len(moves),
                  measured=(0.001,) * len(moves), loads=(0.0, 0.0))
             for moves in (random_game(rng) for _ in range(count))]  # fmt: skip
    with GameDatabase(path) as database:
        match, here, start = (
            database.match_id(*pair, Setup(Rules()), [()], seed),
            conditions_here(),
            time.process_time(),
        )
        for number, game in enumerate(games):
            database.add_played(match, Task(number, pair, (), (1, 2)), game, here)
    return round(1000 * (time.process_time() - start) / max(1, count), 3)


def query_milliseconds(path: Path, seed: int) -> dict[str, float]:
    """Median time of a query at the start, and at positions of games, without and with a filter."""
    rng = random.Random(seed)
    with GameDatabase(path, create=False) as database:
        games = list(database.games())
        chosen = [rng.choice(games) for _ in range(QUERIES)]
        inside = [Position.from_moves(game.moves[: rng.randrange(1, 12)], STANDARD) for game in chosen]
        found = {
            "start": _median(database, [Position.empty(STANDARD)] * 20),
            "plies 1 to 11": _median(database, inside),
        }
        return {**found, "plies 1 to 11 against one team": _median(database, inside, opponent="team 7", me=ME)}


def _median(database: GameDatabase, positions: Sequence[Position], opponent: str = "", me: str = "") -> float:
    times = []
    for position in positions:
        start = time.perf_counter()
        database.at(position, opponent, me)
        times.append(1000 * (time.perf_counter() - start))
    return round(statistics.median(times), 3)


def killed(folder: Path, path: Path, kills: int, count: int, seed: int) -> list[int]:
    """Games that are there after each kill, which comes as soon as so many are there, drawn at random."""
    rng, found = random.Random(seed), list[int]()
    for wanted in sorted(rng.sample(range(1, max(2, int(0.9 * count))), kills)):
        process = loading(folder, path)
        while process.poll() is None and _games_in(path) < wanted:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found.append(_games_in(path))
    return found


def _games_in(path: Path) -> int:
    try:
        with GameDatabase(path, create=False) as database:
            return len(database)
    except ValueError:  # it is being made
        return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=10_000, metavar="N", help="replays (default 10000)")
    parser.add_argument("--played", type=int, default=20_000, metavar="N", help="games of a match (default 20000)")
    parser.add_argument("--kills", type=int, default=3, metavar="N", help="kills while loading (default 3)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed (default 1)")
    options = parser.parse_args(arguments)
    head(seed=options.seed, games=options.games, kills=options.kills)
    with tempfile.TemporaryDirectory() as base:
        folder, path, other = Path(base) / "replays", Path(base) / "games.sqlite", Path(base) / "killed.sqlite"
        folder.mkdir()
        write_replays(folder, options.games, options.seed)
        (whole, processor), (again, _) = load(folder, path), load(folder, path)
        size, alone = path.stat().st_size / 1e6, query_milliseconds(path, options.seed)
        a_game = store_played(path, options.played, options.seed)
        queries = query_milliseconds(path, options.seed)
        there = killed(folder, other, options.kills, options.games, options.seed)
        load(folder, other)
        with GameDatabase(other, create=False) as database:
            episodes = [game.episode for game in database.games()]
    is_whole = episodes == list(range(1, options.games + 1))
    print(f"loading {whole} s, of the processor {processor} s; the same again {again} s; {size:.1f} MB")
    print(f"a query in ms: {alone}; beside {options.played} games that were played here: {queries}")
    print(f"to store one of those: {a_game} ms of the processor")
    print(f"games after each kill: {there}; in the end {'every game once' if is_whole else 'WRONG'}")
    record(
        "game_database", whole, f"s to load {options.games} replays", 60, processor_seconds=processor, again=again,
        megabytes=round(size, 1), query_milliseconds=alone, beside_played=queries,
        played=options.played, milliseconds_a_played_game=a_game, games_after_kills=there, every_game_once=is_whole,
    )  # fmt: skip
    return not is_whole


if __name__ == "__main__":
    sys.exit(main())
