"""The value of choosing among equal moves: points of the exact agent from lost positions, with and without the choice.

python -m benchmarks.swindles [--games 200] [--seconds 0.3] [--concurrency 1] [--seed 1] [--opponents NAME ...]

The exact agent has the second seat, in openings of 10 to 13 plies that it loses, but only when the board is nearly
full. The same openings are played with ``SWINDLE`` on and off, against imperfect opponents. Each side has --seconds per
move, and a bank for the load only. Intervals are 95%; differences are those of paired games.
"""

import argparse
import random
from collections.abc import Iterator
from itertools import islice
from math import sqrt
from pathlib import Path
from statistics import mean, pstdev

from tqdm import tqdm

from agents import perfect
from arena.game.rules import Rules
from arena.players.loading import resolve
from arena.players.spec import AgentSpec
from arena.results.match import derived_seed
from arena.runs.open import play_all
from arena.runs.slot import Setup, Task
from benchmarks.machine import describe
from benchmarks.positions import careful_choice, may_end_within, random_samples
from connectx.clock import RESERVE
from connectx.geometry import STANDARD
from connectx.solver import Solver

MCTS = str(Path(__file__).with_name("mcts.py"))
OPPONENTS = ["negamax", "n_step", *(f"minimax@{depth}" for depth in (4, 6, 8, 10)), "minimax@6~10", MCTS]
PLIES = range(10, 14)  # of the openings
LONGEST = 34  # openings from which perfect play ends at this ply or earlier are left out


def with_choice(obs, config):
    perfect.SWINDLE = True
    return perfect.agent(obs, config)


def without_choice(obs, config):
    perfect.SWINDLE = False
    return perfect.agent(obs, config)


def lost_openings(count: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Openings by careful random play from which perfect play ends with a late loss of the second seat."""
    solver = Solver(STANDARD)
    samples = random_samples(seed, PLIES, choose=careful_choice)
    long = (sample for sample in samples if not may_end_within(solver, sample.position, LONGEST - sample.ply))
    for sample in islice((s for s in long if solver.solve(s.position, weak=True).result == (-1) ** s.ply), count):
        yield sample.moves


def points(agent: AgentSpec, opponent: AgentSpec, openings: list[tuple[int, ...]], options) -> tuple[list[float], int]:
    """The agent's points in each game, and the number of faults of both sides: if there are any, ignore the points."""
    rules = Rules({"actTimeout": options.seconds}, bank=RESERVE)
    tasks = [
        Task(number, (opponent, agent), opening, (derived_seed(options.seed, number, 0), 1))
        for number, opening in enumerate(openings)
    ]
    scores, faults = [0.0] * len(tasks), 0
    for task, game in play_all(tasks, Setup(rules, "fast", fresh=False), options.concurrency):
        scores[task.number] = 1 - game.score
        faults += len(game.faults)
    return scores, faults


def interval(values: list[float]) -> str:
    """Mean with its 95% interval, in percent."""
    return f"{mean(values):7.1%} +-{1.96 * pstdev(values) / sqrt(len(values)):5.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200, help="openings; each is played twice against each opponent")
    parser.add_argument("--seconds", type=float, default=0.3, help="time per move")
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
