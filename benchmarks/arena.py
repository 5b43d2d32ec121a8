"""The two referees: do they give the same results, and how many games per second do they play?

python -m benchmarks.arena equality --games 10000     scripted games, with faults and scripted clocks, under both
python -m benchmarks.arena speed                       kaggle's evaluate and our loop
python -m benchmarks.arena scaling --games 2000        our loop on one core and on two
"""

import argparse
import os
import resource
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from kaggle_environments import agent as kaggle_agent
from kaggle_environments import core as kaggle_core
from kaggle_environments import evaluate

from benchmarks.machine import describe
from connectx_toolkit.arena.play import referee as referees
from connectx_toolkit.arena.play.match import pair_tasks
from connectx_toolkit.arena.play.pool import open_pool, play_all
from connectx_toolkit.arena.play.referee import play_fast, play_kaggle
from connectx_toolkit.arena.players.loading import kaggle_agents, resolve
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.kaggle.rules import Rules
from tests.misbehaving import Clock, scripted_games

REPEATS = 3  # of each measurement; the medians are printed


def equality(games: int) -> None:
    """Plays scripted games under both referees and counts those with different results."""
    clock, fast_clock = Clock(), Clock()
    endings: Counter[str] = Counter()
    different = 0
    with (
        mock.patch.object(kaggle_agent, "perf_counter", clock),
        mock.patch.object(kaggle_core, "perf_counter", clock),
        mock.patch.object(referees, "perf_counter", fast_clock),
    ):
        for truth, ours in scripted_games(games, 2, [(play_kaggle, clock), (play_fast, fast_clock)]):
            close = all(abs(a - b) < 1e-5 for a, b in zip(truth.banks, ours.banks, strict=True))
            different += not close or {**truth.__dict__, "banks": 0} != {**ours.__dict__, "banks": 0}
            endings[ours.ending] += 1
    print(f"{games} games, {different} with different verdicts; endings: {dict(endings.most_common())}")


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def games_per_second(play: Callable[[int], object], games: int) -> tuple[float, float]:
    """Games per second of wall time and of CPU time, which a busy machine does not distort; medians after a warm-up."""
    play(max(2, games // 10))
    rates = []
    for _ in range(REPEATS):
        start, cpu_start = time.perf_counter(), cpu_seconds()
        play(games)
        rates.append((games / (time.perf_counter() - start), games / (cpu_seconds() - cpu_start)))
    wall, cpu = zip(*rates, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def random_games(games: int) -> Iterator[Task]:
    """Kaggle's random agent against itself."""
    random_agent = resolve(kaggle_agents()["random"])
    return pair_tasks(random_agent, random_agent, [()], games // 2, 1)


def ours(setup: Setup) -> Callable[[int], object]:
    return lambda games: list(play_all(random_games(games), setup))


def speed() -> None:
    fast, inline = Setup(Rules(), "fast"), Setup(Rules(), "fast", isolate=False)
    rates = {
        "kaggle's evaluate": games_per_second(lambda n: evaluate("connectx", ["random", "random"], {}, [], n), 30),
        "our loop, agents in its own process": games_per_second(ours(inline), 2000),
        "our loop, each agent in a process": games_per_second(ours(fast), 1000),
    }
    base = rates["kaggle's evaluate"]
    print(f"{'games of random v random':<48}{'games/s':>10}{'times':>7}{'games/CPU s':>13}{'times':>7}")
    for name, (wall, cpu) in rates.items():
        print(f"{name:<48}{wall:>10.1f}{wall / base[0]:>7.1f}{cpu:>13.1f}{cpu / base[1]:>7.1f}", flush=True)


def scaling(games: int) -> None:
    """Measures one slot on one core and two slots on two cores, alternately; each slot plays ``games`` games.

    If other jobs use the cores, wall time measures them, too. The CPU seconds per game then show how much more two
    slots cost than one, and so the speed of two cores without other jobs.
    """
    setup = Setup(Rules(), "fast")
    wall: dict[int, list[float]] = {1: [], 2: []}
    cpu: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(REPEATS):
        for count in (1, 2):
            with open_pool(setup, count) as pool:
                list(pool.play(random_games(200)))
                start, cpu_start = time.perf_counter(), running_cpu_seconds()
                list(pool.play(random_games(count * games)))
                wall[count].append(count * games / (time.perf_counter() - start))
                cpu[count].append((running_cpu_seconds() - cpu_start) / (count * games))
    rates = {count: statistics.median(values) for count, values in wall.items()}
    costs = {count: statistics.median(values) for count, values in cpu.items()}
    for count in (1, 2):
        print(f"{count} slots: {rates[count]:.0f} games/s, {1000 * costs[count]:.3f} CPU ms a game, all processes")
    print(f"scaling {rates[2] / rates[1]:.2f} by the wall, {2 * costs[1] / costs[2]:.2f} by CPU seconds")


def running_cpu_seconds() -> float:
    """CPU seconds of this process and of all its descendants that still run, from /proc."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_ours(pid: int) -> bool:
        while pid not in (os.getpid(), 0):
            pid = parents.get(pid, 0)
        return pid != 0

    return sum(seconds for pid, seconds in used.items() if is_ours(pid))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("equality", "speed", "scaling"))
    parser.add_argument("--games", type=int, default=10_000, help="games of equality and scaling (default %(default)s)")
    options = parser.parse_args()
    print(describe())
    if options.what == "equality":
        equality(options.games)
    elif options.what == "speed":
        speed()
    else:
        scaling(options.games)


if __name__ == "__main__":
    main()
