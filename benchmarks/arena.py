"""Measures what games cost: processor time beside the course's own function, and the games a second of each referee.

python -m benchmarks.arena [--games 2000]

Files: 40 games of two that take no time, against each other: the first column that is open, and a random one. The
course's ``get_win_percentages`` is given their functions, loaded once; ours, and a match, load the files before every
game. Processor time is that of this process and of all that it has started.

Large files: a match of two that import torch, and of two with 3 MB of weights in their text, beside Kaggle's
``evaluate`` of the same files. Each runs as a command of its own, so that both begin with nothing imported.

Games a second are those of Kaggle's random agent against itself, by the clock. Each way is measured several times in
turn; medians count.
"""

import argparse
import base64
import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from kaggle_environments import evaluate
from kaggle_environments.agent import get_last_callable

from benchmarks.machine import head, record
from connectx_toolkit import get_win_percentages, match
from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.arena.schedule import pair_tasks
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import kaggle_agents, resolve
from connectx_toolkit.system.files import ROOT

REPEATS = 3
ROUNDS = 40  # of files
KAGGLE_SHARE = 50  # Kaggle's evaluate plays one in so many of the games
KAGGLE, INLINE, APART, TWO = "Kaggle's evaluate", "our loop", "each agent in a process", "the same on two cores"
OPEN = "[column for column in range(config.columns) if not obs.board[column]]"
SOURCES = {
    "first.py": f"def agent(obs, config):\n    return {OPEN}[0]\n",
    "random.py": f"import random\n\ndef agent(obs, config):\n    return random.choice({OPEN})\n",
}
LARGE_ROUNDS = 20  # of large files
WEIGHTS = 550_000  # float32: 3 MB as base64
KAGGLES = "import sys; from kaggle_environments import evaluate; "
KAGGLES += "evaluate('connectx', sys.argv[1:3], {}, [], int(sys.argv[3]))"
TORCH = """
import torch
from torch import nn

torch.manual_seed({seed})
net = nn.Sequential(nn.Linear(42, 64), nn.ReLU(), nn.Linear(64, 7))


def agent(obs, config):
    with torch.no_grad():
        scores = net(torch.tensor(obs.board, dtype=torch.float32))
    return max((column for column in range(config.columns) if not obs.board[column]), key=lambda c: float(scores[c]))
"""
LARGE = """
import base64
import numpy as np

weights = np.frombuffer(base64.b64decode("{text}"), np.float32)[: 42 * 7].reshape(42, 7)


def agent(obs, config):
    scores = np.array(obs.board, np.float32) @ weights
    return int(max((column for column in range(config.columns) if not obs.board[column]), key=lambda c: scores[c]))
"""


def random_games(games: int) -> Iterator[Task]:
    random_agent = resolve(kaggle_agents()["random"])
    return pair_tasks(random_agent, random_agent, [()], games // 2, 1)


def play_kaggle(games: int) -> int:
    count = max(2, games // KAGGLE_SHARE)
    evaluate("connectx", ["random", "random"], {}, [], count)
    return count


def ours(concurrency: int, isolate: bool) -> Callable[[int], int]:
    setup = Setup(Rules(), "fast", isolate=isolate)

    def play(games: int) -> int:
        with open_pool(setup, concurrency) as pool:
            return sum(1 for _ in pool.play(random_games(games)))

    return play


def processor_seconds(play: Callable[[], object]) -> float:
    """Of this process and of its ended children."""
    before = sum(os.times()[:4])
    with contextlib.redirect_stdout(io.StringIO()):
        play()
    return sum(os.times()[:4]) - before


def files_beside_functions() -> dict[str, float]:
    """Processor seconds of each way to play the files, as medians; the course's comes first."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in SOURCES]
        for path, text in zip(paths, SOURCES.values(), strict=True):
            Path(path).write_text(text, encoding="utf-8")
        functions = [get_last_callable(text, path=path) for path, text in zip(paths, SOURCES.values(), strict=True)]

        def course(rounds: int) -> None:
            config = {"rows": 6, "columns": 7, "inarow": 4}
            evaluate("connectx", functions, config, [], rounds // 2)
            evaluate("connectx", functions[::-1], config, [], rounds - rounds // 2)

        def play_match(rounds: int) -> None:
            match(*paths, pairs=rounds // 2, games=str(Path(folder, f"{time.perf_counter_ns()}.sqlite")))

        ways: dict[str, Callable[[int], object]] = {
            "the course's function": course,
            "get_win_percentages": lambda rounds: get_win_percentages(*paths, rounds),
            "match": play_match,
        }
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for play in ways.values():
            processor_seconds(lambda play=play: play(2))  # type: ignore[misc]  # imports are over
        for _ in range(REPEATS):
            for name, play in ways.items():
                rates[name].append(processor_seconds(lambda play=play: play(ROUNDS)))  # type: ignore[misc]
    return {name: statistics.median(seconds) for name, seconds in rates.items()}


def large_sources(kind: str) -> list[str]:
    """The texts of two files that differ by their weights."""
    if kind == "torch":
        return [TORCH.format(seed=seed) for seed in (1, 2)]
    arrays = [np.random.default_rng(seed).standard_normal(WEIGHTS, np.float32) for seed in (1, 2)]
    return [LARGE.format(text=base64.b64encode(array.tobytes()).decode()) for array in arrays]


def large_files(kind: str) -> tuple[float, float]:
    """Processor seconds of Kaggle's ``evaluate`` and of a match, as medians."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("one.py", "other.py")]
        for path, text in zip(paths, large_sources(kind), strict=True):
            Path(path).write_text(text, encoding="utf-8")

        def kaggles() -> None:
            run([sys.executable, "-c", KAGGLES, *paths, str(LARGE_ROUNDS)])

        def ours() -> None:
            options = [
                "--pairs",
                str(LARGE_ROUNDS // 2),
                "--games",
                str(Path(folder, f"{time.perf_counter_ns()}.sqlite")),
            ]
            run([sys.executable, str(ROOT / "evaluate.py"), "match", *paths, *options])

        def run(command: list[str]) -> None:
            subprocess.run(command, check=True, capture_output=True)

        seconds = [[processor_seconds(play) for play in (kaggles, ours)] for _ in range(REPEATS)]
    theirs, own = (statistics.median(each) for each in zip(*seconds, strict=True))
    return theirs, own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2000, help="games of each measurement (default %(default)s)")
    games = parser.parse_args().games
    head(seed=1)
    files = files_beside_functions()
    course = next(iter(files.values()))
    for name, seconds in files.items():
        print(f"{name:<26}{seconds:>9.2f} s, {ROUNDS} games{seconds / course:>8.2f} times the course's")
    times_of_large = {}
    for kind in ("torch", "3 MB of weights"):
        theirs, own = large_files(kind)
        times_of_large[kind] = round(own / theirs, 2)
        print(f"{'match, ' + kind:<26}{own:>9.2f} s, {LARGE_ROUNDS} games{own / theirs:>8.2f} times Kaggle's evaluate")
    ways = {KAGGLE: play_kaggle, INLINE: ours(1, False), APART: ours(1, True), TWO: ours(2, True)}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for play in ways.values():
        play(max(2, games // 10))  # imports are over
    for _ in range(REPEATS):
        for name, play in ways.items():
            started = time.perf_counter()
            count = play(games)
            rates[name].append(count / (time.perf_counter() - started))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for name, rate in medians.items():
        print(f"{name:<26}{rate:>9.1f} games/s{rate / medians[KAGGLE]:>8.1f} times Kaggle's")
    scaling = round(medians[TWO] / medians[APART], 2)
    speed = round(medians[APART] / medians[KAGGLE], 1)
    times = {name: round(rate / medians[KAGGLE], 1) for name, rate in medians.items()}
    of_files = {name: round(seconds / course, 2) for name, seconds in files.items()}
    record(
        "arena",
        speed,
        "times the games a second of Kaggle's evaluate",
        1,
        scaling=scaling,
        times_kaggles=times,
        files_beside_the_course=of_files,
        large_files_beside_kaggles=times_of_large,
    )


if __name__ == "__main__":
    main()
