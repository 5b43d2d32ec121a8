"""The built exact agent under the real clock: does it keep the result, win quickest, lose slowest?

python -m benchmarks.perfect_positions FILE [--count 2000] [--seed 1]

Positions of 7x6 with 0 to 40 stones, every other one from uniform random play, the rest from near-perfect play (three
of four moves best, one random). Each is asked as in a game of its own: 2 s and a bank of 60 s. The file is loaded once,
in a process of its own. Truth comes from our solver, which benchmarks/solver.py compares with bitbully.

A lost position counts as a slowest loss only when the agent does not gamble: build the file with SWINDLE = False in
agents/perfect.py for that figure.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator

from tqdm import tqdm

from arena.rules import BANK, Rules
from arena.specs import resolve
from arena.worker import Worker
from benchmarks.machine import describe
from benchmarks.positions import play_out, uniform_choice
from connectx.choice import sign
from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.solver import Solver

ERROR_SHARE = 0.25  # of the moves of near-perfect play


def near_perfect_choice(solver: Solver):
    """A chooser for ``play_out``: a best move that makes no line, or now and then any. Cheap below 8 plies: random."""

    def choose(rng: random.Random, position: Position, columns: list[int]) -> int:
        if position.ply < 8 or rng.random() < ERROR_SHARE:
            return rng.choice(columns)
        values = solver.best_moves(position)
        scores = {column: value.low for column in columns if (value := values[column]) is not None}
        return rng.choice([column for column in columns if scores[column] == max(scores.values())])

    return choose


def positions(seed: int, count: int, solver: Solver) -> Iterator[Position]:
    """Distinct positions in which the game goes on; the number of stones is drawn uniformly."""
    rng = random.Random(seed)
    seen: set[Position] = set()
    choosers = [uniform_choice, near_perfect_choice(solver)]
    while len(seen) < count:
        sample = play_out(rng, STANDARD, rng.randrange(41), choosers[len(seen) % 2])
        if sample is not None and sample.position not in seen:
            seen.add(sample.position)
            yield sample.position


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="a built submission of the agent perfect")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}")
    solver, slowest, bank_used = Solver(STANDARD), 0.0, 0.0
    counts: Counter = Counter()
    rules = Rules()
    with Worker(resolve(options.file), fresh=False) as worker:
        worker.begin(rules.config, options.seed)
        worker.ask(0, 1, BANK, bytes(42), 2.0)  # loads
        for position in tqdm(positions(options.seed, options.count, solver), total=options.count, mininterval=10):
            reply = worker.ask(position.ply, 1 + position.ply % 2, BANK, bytes(position.to_board()), 2.0)
            truth = [None if value is None else value.low for value in solver.scores(position)]
            best = max(score for score in truth if score is not None)
            chosen = truth[reply.action] if reply.fault is None else None
            slowest, bank_used = max(slowest, reply.seconds), max(bank_used, reply.seconds - 2.0)
            kind = ("lost", "drawn", "won")[sign(best) + 1]
            counts[kind] += 1
            if chosen is None:
                counts["fault"] += 1
            else:
                counts[kind, "kept"] += sign(chosen) == sign(best)
                counts[kind, "best"] += chosen == best
            if chosen is None or sign(chosen) != sign(best):
                tqdm.write(f"result lost at ply {position.ply}: {position}, column {reply.action}, {truth}")
    print(f"faults {counts['fault']}; slowest answer {slowest:.2f} s, most of a bank {max(bank_used, 0):.2f} s")
    for kind in ("won", "drawn", "lost"):
        total = max(1, counts[kind])
        print(
            f"{kind:<6}{counts[kind]:>6} positions: result kept {counts[kind, 'kept'] / total:.2%}, "
            f"quickest win or slowest loss {counts[kind, 'best'] / total:.2%}"
        )


if __name__ == "__main__":
    main()
