"""The built exact agent at the real clock: does it keep the result, win as fast and lose as slowly as possible?

python -m benchmarks.perfect_positions FILE [--count 2000] [--seed 1] [--share 1.0]

Positions of 7x6 with 0 to 40 stones, every other one from uniform random play, the rest from near-perfect play (three
of four moves best, one random). Each is asked as in a game of its own: 2 s and a bank of 60 s. The file is loaded once,
in a process of its own. Truth is bitbully's, with its database. Lost positions are asked a second
time of the same file with its choice among equal moves switched off, which should lose as slowly as possible.
--share restricts the agent to that part of one core.
"""

import argparse
import contextlib
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tqdm import tqdm

from benchmarks.machine import describe
from benchmarks.oracle import scores_of
from benchmarks.perfect_games import without_choice
from benchmarks.positions import play_out, uniform_choice
from benchmarks.submission import ACT_TIMEOUT
from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.score import sign
from connectx.solver import Solver
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.process import AgentProcess
from connectx_toolkit.arena.players.protocol import Reply
from connectx_toolkit.kaggle.rules import BANK, Rules
from connectx_toolkit.kaggle.slow_processor import Restriction

ERROR_SHARE = 0.25  # of the moves of near-perfect play


def near_perfect_choice(solver: Solver):
    """A chooser for ``play_out``: best moves without a line, sometimes any; random before ply 8, to save time."""

    def choose(rng: random.Random, position: Position, columns: list[int]) -> int:
        if position.ply < 8 or rng.random() < ERROR_SHARE:
            return rng.choice(columns)
        values = solver.best_moves(position)
        scores = {column: value.low for column in columns if (value := values[column]) is not None}
        return rng.choice([column for column in columns if scores[column] == max(scores.values())])

    return choose


def positions(seed: int, count: int, solver: Solver) -> Iterator[Position]:
    """Distinct positions of unfinished games; the number of stones is drawn uniformly."""
    rng = random.Random(seed)
    seen: set[Position] = set()
    choosers = [uniform_choice, near_perfect_choice(solver)]
    while len(seen) < count:
        sample = play_out(rng, STANDARD, rng.randrange(41), choosers[len(seen) % 2])
        if sample is not None and sample.position not in seen:
            seen.add(sample.position)
            yield sample.position


@contextlib.contextmanager
def restricted(share: float) -> Iterator[Path | None]:
    """The list of processes that get this part of one core, all of them together; None for a whole one."""
    if share >= 1:
        yield None
        return
    with Restriction(share) as restriction:
        group = restriction.job.get("cgroup")
        if group is None:
            sys.exit("benchmarks.perfect_positions: --share needs a control group, which cannot be made here")
        print(f"{share:.0%} of a core by {restriction.kind}", flush=True)
        yield Path(group, "cgroup.procs")


@contextlib.contextmanager
def asked(file: Path, group: Path | None) -> Iterator[Callable[[Position], Reply]]:
    """Asks a file, loaded once, for its move in a position; ``group`` is that of ``restricted``."""
    rules = Rules()
    with AgentProcess(resolve(str(file))) as worker:
        worker.begin(rules.config, 1)
        if group and worker.process:
            group.write_text(str(worker.process.pid))
        worker.ask(0, 1, BANK, bytes(42), ACT_TIMEOUT)  # loads
        yield lambda p: worker.ask(p.ply, 1 + p.ply % 2, BANK, bytes(p.to_board()), ACT_TIMEOUT)


def run(options: argparse.Namespace, ask: Callable[[Position], Reply], ask_plain: Callable[[Position], Reply]) -> None:
    """Asks all positions, compares the replies with the exact scores, and prints the table."""
    slowest, counts = 0.0, Counter[tuple[str, str]]()
    sample = positions(options.seed, options.count, Solver(STANDARD))
    for position in tqdm(sample, total=options.count, mininterval=10):
        truth = scores_of(position)
        best = max(score for score in truth if score is not None)
        kind = ("lost", "drawn", "won")[sign(best) + 1]
        for name, answer in (kind, ask), *([("lost, no choice", ask_plain)] if kind == "lost" else []):
            reply = answer(position)
            chosen = None if reply.fault else truth[reply.action]
            slowest = max(slowest, reply.seconds)
            counts[name, "asked"] += 1
            counts[name, "fault"] += chosen is None
            counts[name, "kept"] += chosen is not None and sign(chosen) == sign(best)
            counts[name, "best"] += chosen == best
            if chosen is None or sign(chosen) != sign(best):
                tqdm.write(f"ply {position.ply}: {position}, column {reply.action}, {reply.fault}, {truth}")
    print(f"slowest answer {slowest:.2f} s, most of a bank {max(slowest - ACT_TIMEOUT, 0):.2f} s")
    for name in sorted({name for name, _ in counts}):
        total, faults = counts[name, "asked"], counts[name, "fault"]
        shares = f"kept {counts[name, 'kept'] / total:.2%}, best distance {counts[name, 'best'] / total:.2%}"
        print(f"{name:<16}{total:>6} positions, {faults} faults: {shares}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a built submission of the agent perfect")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of one core, for the agent")
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}")
    with (
        restricted(options.share) as group,
        without_choice(options.file) as plain,
        asked(options.file, group) as ask,
        asked(plain, group) as ask_plain,
    ):
        run(options, ask, ask_plain)


if __name__ == "__main__":
    main()
