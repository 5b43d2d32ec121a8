"""The value of choosing among equal moves: points of the exact agent against fallible players, with and without it.

python -m benchmarks.swindles [--starts empty] [--against AGENT] [--half held-out] [--opponents NAME ...] [--games 100]

The same games are played twice against each player of ``training.games.opponent_pool``: by the exact agent, and by
--against, which is the exact agent without the choice (slowest loss, most central draw), or any other, such as a built
file of another version. The starts:

- "empty": the empty board, the exact agent in the second seat. Its draws among equal choices make games differ, against
  players that always play alike, too.
- "lost": openings of 10 to 13 plies by careful random play that the second seat loses, but only late.
- "drawn": drawn openings of 4 to 7 plies, the exact agent in either seat.

Each side has --seconds per move, and a bank for the load only. Intervals are 95%; differences are those of paired
games. With --log, the results of a player are appended to a file, and an interrupted run goes on from there.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import islice
from math import sqrt
from pathlib import Path
from statistics import mean, pstdev
from typing import NamedTuple

from tqdm import tqdm

from agents import perfect
from benchmarks.machine import describe
from benchmarks.positions import careful_choice, may_end_within, random_samples
from connectx.clock import RESERVE
from connectx.geometry import STANDARD
from connectx.openings import openings
from connectx.solver import Solver
from connectx_toolkit.arena.play.match import derived_seed
from connectx_toolkit.arena.play.open import play_all
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.training.games.opponent_pool import DEVELOPMENT, HELD_OUT, agent_of

HALVES = {"held-out": HELD_OUT, "development": DEVELOPMENT}
LOST_PLIES, DRAWN_PLIES = range(10, 14), range(4, 8)  # of the openings
LONGEST = 34  # openings from which perfect play ends at this ply or earlier are left out


class Start(NamedTuple):
    """The first moves of a game, and the seat of the exact agent."""

    moves: tuple[int, ...] = ()
    seat: int = 1


def with_choice(obs, config):
    perfect.SWINDLE = True
    return perfect.agent(obs, config)


def without_choice(obs, config):
    perfect.SWINDLE = False
    return perfect.agent(obs, config)


def lost_openings(seed: int) -> Iterator[Start]:
    """By careful random play; perfect play ends with a late loss of the second seat."""
    solver = Solver(STANDARD)
    samples = random_samples(seed, LOST_PLIES, choose=careful_choice)
    long = (sample for sample in samples if not may_end_within(solver, sample.position, LONGEST - sample.ply))
    for sample in (s for s in long if solver.solve(s.position, weak=True).result == (-1) ** s.ply):
        yield Start(sample.moves)


def drawn_openings(seed: int) -> Iterator[Start]:
    samples = random_samples(seed, DRAWN_PLIES, choose=careful_choice)
    for number, sample in enumerate(s for s in samples if openings().score(s.position) == 0):
        yield Start(sample.moves, number % 2)


def starts_for(options: argparse.Namespace) -> list[Start]:
    if options.starts == "empty":
        return [Start()] * options.games
    made = {"lost": lost_openings, "drawn": drawn_openings}[options.starts](options.seed)
    return list(tqdm(islice(made, options.games), "openings", options.games, leave=False))


def points(
    agent: AgentSpec, opponent: AgentSpec, starts: list[Start], options: argparse.Namespace
) -> tuple[list[float], int]:
    """The agent's points in each game, and the number of faults of both sides: if there are any, ignore the points."""
    rules = Rules({"actTimeout": options.seconds}, bank=RESERVE)
    tasks = []
    for number, start in enumerate(starts):
        players = (agent, opponent) if start.seat == 0 else (opponent, agent)
        seeds = derived_seed(options.seed, number, 0), derived_seed(options.seed, number, 1)
        tasks.append(Task(number, players, start.moves, seeds))
    scores, faults = [0.0] * len(tasks), 0
    games = play_all(tasks, Setup(rules, "fast", fresh=False), options.concurrency)
    for task, game in tqdm(games, opponent.label, len(tasks), leave=False):
        scores[task.number] = game.score if starts[task.number].seat == 0 else 1 - game.score
        faults += len(game.faults)
    return scores, faults


def played(agent: AgentSpec, opponent: AgentSpec, options: argparse.Namespace) -> tuple[list[float], int]:
    """``points``, from the log if they are there."""
    key = [agent.label, opponent.label, options.starts, options.games, options.seconds, options.seed]
    lines = options.log.read_text().splitlines() if options.log and options.log.exists() else []
    for row in map(json.loads, lines):
        if row["key"] == key:
            return row["points"], row["faults"]
    scores, faults = points(agent, opponent, starts_for(options), options)
    if options.log:
        with options.log.open("a") as file:
            file.write(json.dumps({"key": key, "points": scores, "faults": faults}) + "\n")
    return scores, faults


def interval(values: list[float]) -> str:
    """Mean with its 95% interval, in percent."""
    return f"{mean(values):7.1%} +-{1.96 * pstdev(values) / sqrt(len(values)):5.1%}"


def resolved(name: str, players: dict[str, Callable]) -> AgentSpec:
    return resolve(players.get(name, name))


def compare(options: argparse.Namespace) -> None:
    """Plays against each player and prints its row, then that of all."""
    pool = {player.name: agent_of(player) for player in HALVES[options.half]}
    sides = resolve(with_choice), resolve(options.against or without_choice)
    print(f"{'opponent':<22}{'games':>6}{'points with':>18}{sides[1].label[:14]:>18}{'difference':>18}{'faults':>8}")
    gains: list[float] = []
    for name in options.opponents or list(pool):
        opponent = resolved(name, pool)
        (on, faults), (off, more) = (played(side, opponent, options) for side in sides)
        gain = [a - b for a, b in zip(on, off, strict=True)]
        gains += gain
        cells = "".join(f"{interval(values):>18}" for values in (on, off, gain))
        print(f"{name if name in pool else Path(name).stem:<22}{len(gain):>6}{cells}{faults + more:>8}", flush=True)
    print(f"{'all':<22}{len(gains):>6}{'':36}{interval(gains):>18}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", choices=("empty", "lost", "drawn"), default="empty")
    parser.add_argument("--against", metavar="AGENT", help="what the choice is compared with")
    parser.add_argument("--half", choices=HALVES, default="held-out", help="of the pool")
    parser.add_argument("--opponents", nargs="+", metavar="NAME", help="players of this half, or any agents")
    parser.add_argument("--games", type=int, default=100, help="each is played twice against each opponent")
    parser.add_argument("--seconds", type=float, default=0.3, help="time per move")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="file of results, from which a run goes on")
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}; {options.starts}, {options.seconds} s a move")
    compare(options)


if __name__ == "__main__":
    main()
