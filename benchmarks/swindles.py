"""What choosing among equal moves is worth: points of the exact agent from lost positions, with and without it.

python -m benchmarks.swindles [--games 200] [--seconds 0.5] [--concurrency 1] [--seed 1] [--opponents NAME ...]

The exact agent plays the second seat from openings of 3 to 9 random plies that are lost for it, the same ones with
``SWINDLE`` on and off, against opponents that are not perfect. Each side has --seconds a move and no bank.
"""

import argparse
import random
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from statistics import mean, pstdev

from tqdm import tqdm

from agents import perfect
from arena.match import derived_seed
from arena.rules import Rules
from arena.slots import Setup, Task, play_all
from arena.specs import AgentSpec, resolve
from benchmarks.machine import describe
from benchmarks.positions import random_samples
from connectx.solver import Solver

MCTS = str(Path(__file__).with_name("mcts.py"))
OPPONENTS = ["negamax", "n_step", *(f"minimax@{depth}" for depth in (4, 6, 8, 10)), "minimax@6~10", MCTS]


def with_choice(obs, config):
    perfect.SWINDLE = True
    return perfect.agent(obs, config)


def without_choice(obs, config):
    perfect.SWINDLE = False
    return perfect.agent(obs, config)


def lost_openings(count: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Openings after which the second seat is to move and loses, but not within 8 plies."""
    solver, found = Solver(perfect.STANDARD), 0
    for sample in random_samples(seed, (3, 5, 7, 9)):
        value = solver.solve(sample.position, weak=True)
        lasts = (perfect.STANDARD.cells - sample.ply - 8) // 2
        if value.high < 0 and solver.solve(sample.position).low >= -lasts:
            yield sample.moves
            found += 1
        if found == count:
            return


def points(agent: AgentSpec, opponent: AgentSpec, openings: list[tuple[int, ...]], options) -> tuple[list[float], int]:
    """The agent's points of each game, and its faults."""
    rules = Rules({"actTimeout": options.seconds}, bank=0.0)
    tasks = [
        Task(number, (opponent, agent), opening, (derived_seed(options.seed, number, 0), 1))
        for number, opening in enumerate(openings)
    ]
    scores, faults = [0.0] * len(tasks), 0
    for task, game in play_all(tasks, Setup(rules, "fast", fresh=False), options.concurrency):
        scores[task.number] = 1 - game.score
        faults += sum(fault.seat == 1 for fault in game.faults)
    return scores, faults


def interval(values: list[float]) -> str:
    """Mean with its 95% interval, in percent."""
    return f"{mean(values):7.1%} +-{1.96 * pstdev(values) / sqrt(len(values)):5.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200, help="openings; each is played twice against each opponent")
    parser.add_argument("--seconds", type=float, default=0.5, help="a move")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--opponents", nargs="+", default=OPPONENTS, metavar="NAME")
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}")
    openings = list(tqdm(lost_openings(options.games, options.seed), "openings", options.games, leave=False))
    random.Random(options.seed).shuffle(openings)
    print(f"{'opponent':<16}{'games':>6}{'points with':>18}{'without':>18}{'difference':>18}{'faults':>8}")
    gains: list[float] = []
    for name in options.opponents:
        (on, faults), (off, more) = (
            points(resolve(agent), resolve(name), openings, options) for agent in (with_choice, without_choice)
        )
        gain = [a - b for a, b in zip(on, off, strict=True)]
        gains += gain
        cells = "".join(f"{interval(values):>18}" for values in (on, off, gain))
        print(f"{Path(name).stem:<16}{len(openings):>6}{cells}{faults + more:>8}", flush=True)
    print(f"{'all':<16}{len(gains):>6}{'':36}{interval(gains):>18}")


if __name__ == "__main__":
    main()
