"""The network alone, and the agent ``policy`` with its second look, on positions that training did not choose.

python -m benchmarks.recipes [--weights FILE] [--count 1000] [--seed 1] [--only NAME ...] [--folder runs/recipes]
                             [--timed 0]

The recipes, each reported apart, written down before anything was measured:

- "random": uniform random play without lines, 9 to 20 stones, each number alike.
- "half-random": each move by chance random or perfect, 4 to 27 stones, without positions in which somebody could win
  with the next stone. After Clausen (2020), whose networks of 6 and 1.57 million parameters play the perfect move in
  93.5 and 92.4% of his.
- "plies 4 to 7": uniform random play.
- "plies 10 to 16": careful random play, in which nobody who can help it lets the other win at once.
- "near-perfect": three of four moves perfect, the others random, 2 to 36 stones.
- "searchers": two heuristic alpha-beta searchers of 1 to 8 plies after six random moves, 8 to 36 stones.

Perfect moves are those of the table of the openings and of the exact solver; of equal ones any. Positions and the
scores of all moves are kept in the folder, so that another network meets the same ones at once. With --timed, the agent
value_search is asked so many positions of 4 to 16 stones of each recipe, too, with the clock of a game.
"""

import argparse
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from agents import value_search
from benchmarks.machine import describe
from benchmarks.nets import AGENTS, MOVE_SECONDS, played, policy_alone, policy_looking_twice, print_shares
from benchmarks.positions import Choice, careful_choice, play_out, uniform_choice
from connectx.clock import Budget
from connectx.exact import move_values
from connectx.geometry import STANDARD
from connectx.nets.network import PlainNetwork
from connectx.position import Position
from connectx.score import NO_MOVE
from connectx.search import Searcher
from connectx.solver import Solver
from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.data.shards import RANDOM_PLAY, Labels, read_shard, write_shard

TABLE_BITS = 24
TIMED_STONES = range(4, 17)
RANDOM_PLIES = 6  # of a game of searchers


def erring(solver: Solver, error_share: float) -> Choice:
    """A perfect move, or with some probability any."""

    def choose(rng: random.Random, position: Position, columns: list[int]) -> int:
        if rng.random() < error_share:
            return rng.choice(columns)
        values = move_values(position, solver, best=True)
        lows = {column: value.low for column in columns if (value := values[column]) is not None}
        return rng.choice([column for column in columns if lows[column] == max(lows.values())])

    return choose


def searching(depths: tuple[int, int]) -> Choice:
    """Two searchers, each as deep as it is."""
    searchers = [Searcher(STANDARD) for _ in depths]

    def choose(rng: random.Random, position: Position, columns: list[int]) -> int:
        if position.ply < RANDOM_PLIES:
            return rng.choice(columns)
        seat = position.ply % 2
        return searchers[seat].search(position, Budget(), max_depth=depths[seat], columns=set(columns)).column

    return choose


def is_trivial(position: Position) -> bool:
    """Whether the next stone of either side could make a line."""
    return bool(position.winning_columns() or position.pass_turn().winning_columns())


Recipe = Callable[[random.Random, Solver], Position | None]  # None where a game does not come to it


def recipe(first: int, last: int, choice: Callable[[random.Random, Solver], Choice], trivial: bool = True) -> Recipe:
    """Positions of ``first`` to ``last`` stones, each number alike, by games of a kind."""

    def draw(rng: random.Random, solver: Solver) -> Position | None:
        sample = play_out(rng, STANDARD, rng.randint(first, last), choice(rng, solver))
        return None if sample is None or (not trivial and is_trivial(sample.position)) else sample.position

    return draw


RECIPES: dict[str, Recipe] = {
    "random": recipe(9, 20, lambda rng, solver: uniform_choice),
    "half-random": recipe(4, 27, lambda rng, solver: erring(solver, 0.5), trivial=False),
    "plies 4 to 7": recipe(4, 7, lambda rng, solver: uniform_choice),
    "plies 10 to 16": recipe(10, 16, lambda rng, solver: careful_choice),
    "near-perfect": recipe(2, 36, lambda rng, solver: erring(solver, 0.25)),
    "searchers": recipe(8, 36, lambda rng, solver: searching((rng.randint(1, 8), rng.randint(1, 8)))),
}


def drawn(name: str, count: int, seed: int) -> Labels:
    """``count`` different positions of a recipe, mirror images counting as equal, with the score of every move."""
    rng, solver, found = random.Random(f"{name} {seed}"), Solver(STANDARD, TABLE_BITS), dict[int, Position]()
    scores = np.full((count, STANDARD.columns), NO_MOVE, np.int8)
    with progress(count, name) as bar:
        while len(found) < count:
            position = RECIPES[name](rng, solver)
            if position is None or position.canonical().key in found:
                continue
            for column, value in enumerate(move_values(position, solver)):
                if value is not None:
                    scores[len(found), column] = value.low
            found[position.canonical().key] = position
            bar.update()
    positions, masks = (np.array([state[part] for state in found.values()], np.int64) for part in (0, 1))
    return Labels(positions, masks, scores, np.full(count, RANDOM_PLAY, np.uint8))


def labels_for(name: str, options: argparse.Namespace) -> Labels:
    """Those of the folder, or made now."""
    made_as = {"recipe": name, "count": options.count, "seed": options.seed}
    path = options.folder / f"{name.replace(' ', '-')}-{options.count}-{options.seed}.shard"
    if not path.exists():
        write_shard(path, drawn(name, options.count, options.seed), made_as)
    return read_shard(path)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, default=AGENTS / "weights" / "net.bin", help="the network")
    parser.add_argument("--count", type=int, default=1000, help="positions of each recipe")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=RECIPES, default=list(RECIPES), metavar="NAME")
    parser.add_argument("--timed", type=int, default=0, help="positions of each recipe for value_search at the clock")
    parser.add_argument("--folder", type=Path, default=Path("runs/recipes"), help="where positions are kept")
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}; {options.weights}")
    print(f"{'':<20}{'positions':>7}{'kept':>7}{'decisive':>10}{'perfect':>10}{'decisive share':>16}")
    network = PlainNetwork.from_bytes(options.weights.read_bytes())
    for name in options.only:
        labels = labels_for(name, options)
        print_shares(name, labels, policy_alone(network, labels))
        print_shares("  second look", labels, policy_looking_twice(network, labels))
    if options.timed:
        print(f"value_search at {MOVE_SECONDS} s, {TIMED_STONES[0]} to {TIMED_STONES[-1]} stones")
        for name in options.only:
            labels = labels_for(name, options)
            labels = labels.take(np.flatnonzero(np.isin(labels.plies, TIMED_STONES))[: options.timed])
            print_shares(name, labels, played(at_the_clock, labels, "seconds"))


def at_the_clock(position: Position) -> int:
    """The agent value_search's column."""
    return value_search.best_column(position, Budget.seconds(MOVE_SECONDS))


if __name__ == "__main__":
    main()
