"""Games a second: Kaggle's ``evaluate``, our loop, and our loop with each agent in a process, on one core and on two.

python -m benchmarks.arena [--games 2000]

The games are those of Kaggle's random agent against itself. Each is measured several times in turn; medians count.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

from kaggle_environments import evaluate

from benchmarks.machine import head, record
from connectx_toolkit.arena.match import play_all
from connectx_toolkit.arena.schedule import pair_tasks
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import kaggle_agents, resolve

REPEATS = 3
KAGGLE_SHARE = 50  # Kaggle's evaluate plays one in so many of the games
KAGGLE, INLINE, APART, TWO = "Kaggle's evaluate", "our loop", "each agent in a process", "the same on two cores"


def random_games(games: int) -> Iterator[Task]:
    random_agent = resolve(kaggle_agents()["random"])
    return pair_tasks(random_agent, random_agent, [()], games // 2, 1)


def play_kaggle(games: int) -> int:
    count = max(2, games // KAGGLE_SHARE)
    evaluate("connectx", ["random", "random"], {}, [], count)
    return count


def ours(concurrency: int, isolate: bool) -> Callable[[int], int]:
    setup = Setup(Rules(), "fast", isolate=isolate)
    return lambda games: sum(1 for _ in play_all(random_games(games), setup, concurrency))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2000, help="games of each measurement (default %(default)s)")
    games = parser.parse_args().games
    head(seed=1)
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
    record("arena", speed, "times the games a second of Kaggle's evaluate", 1, scaling=scaling, times_kaggles=times)


if __name__ == "__main__":
    main()
