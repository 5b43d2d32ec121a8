"""The solver against bitbully, an independent one: times and nodes without its database, scores with it.

    python -m benchmarks.solver                     six sets of the kinds of Pons', 200 positions, 50 of Begin-Hard
    python -m benchmarks.solver --size 50 --hard 4  a shorter run
    python -m benchmarks.solver --empty             the empty board: its score, that of every first move, and bitbully's
    python -m benchmarks.solver --check 5000        no times: compares scores of positions and of all their moves
    python -m benchmarks.solver --openings [FILE]   the same for the opening table: all positions through ply 8

Each set is cut into slices, which both solvers solve in turn on the same core. Times are CPU seconds of one thread.
Ours solves a slice in one call. bitbully is called once per position, with its default search (MTD(f) from 0) and with
its null-window search; the faster of the two counts, minus the time of a call of an empty method. Both solvers keep
their tables from position to position. Our nodes are positions whose moves were generated; positions that were decided
while their parent's moves were generated are not counted.
"""

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import head, record
from benchmarks.oracle import bitbully_core, bitbully_scores
from benchmarks.positions import SIX_SETS, Sample, random_samples, six_set
from connectx_core.books import Openings, layers, openings
from connectx_core.position import STANDARD, Position, Scores
from connectx_core.solver import Solver, job_of, read_queue
from connectx_toolkit.system.console import beside_bars, progress

SLICES = 5
METHODS = ("mtdf", "nullWindow")  # of bitbully
PUBLISHED = {  # (microseconds, nodes) per position: Pons (C++), connect-four-ai (Rust); exact scores, 1,000 positions
    "End-Easy": ((4.57, 51.3), (3.32, 51)),
    "Middle-Easy": ((37.5, 450), (32.2, 449)),
    "Middle-Medium": ((3210, 39_900), (2870, 39_855)),
    "Begin-Easy": ((255, 3298), (222, 3295)),
    "Begin-Medium": ((96_600, 1_200_000), (87_300, 1_190_000)),
    "Begin-Hard": ((5_490_000, 65_900_000), (5_090_000, 64_200_000)),
}
EMPTY_BOARD = [-2, -1, 0, 1, 0, -1, -2]  # the score of each first move, known since Allis (1988)
LEAST_STONES = 8  # of a position of --check


class Timing(NamedTuple):
    """The totals of one solver on a set: CPU seconds, nodes, wrong scores."""

    seconds: float
    nodes: int
    wrong: int


def board_of(moves: tuple[int, ...]) -> Any:
    board = bitbully_core.BoardCore()
    if not board.play("".join(map(str, moves))):
        raise ValueError(f"bitbully cannot play {moves}")
    return board


def run_ours(solver: Solver, samples: list[Sample]) -> Timing:
    queue, nodes = solver.queue([job_of(sample.position) for sample in samples]), solver.nodes
    start = time.thread_time()
    solver.work(queue)
    seconds = time.thread_time() - start
    wrong = sum(value != (sample.score,) * 2 for value, sample in zip(read_queue(queue), samples, strict=True))
    return Timing(seconds, solver.nodes - nodes, wrong)


def run_bitbully(engine: Any, method: str, samples: list[Sample]) -> Timing:
    boards, nodes = [board_of(sample.moves) for sample in samples], engine.getNodeCounter()
    solve, empty = getattr(engine, method), engine.isBookLoaded
    start = time.thread_time()
    scores = [solve(board, 0) for board in boards] if method == "mtdf" else [solve(board) for board in boards]
    between = time.thread_time()
    for _ in boards:
        empty()
    seconds = between - start - (time.thread_time() - between)
    wrong = sum(score != sample.score for score, sample in zip(scores, samples, strict=True))
    return Timing(seconds, engine.getNodeCounter() - nodes, wrong)


def compare(samples: list[Sample]) -> tuple[Timing, Timing, Timing]:
    """Times our solver, bitbully's MTD(f) and its null-window search on the same positions, slice by slice in turn."""
    solver, engines = Solver(STANDARD), {method: bitbully_core.BitBullyCore() for method in METHODS}
    totals = [Timing(0, 0, 0)] * 3
    for first in range(SLICES):
        part = samples[first::SLICES]
        runs = [run_ours(solver, part), *(run_bitbully(engine, m, part) for m, engine in engines.items())]
        totals = [
            Timing(total.seconds + run.seconds, total.nodes + run.nodes, total.wrong + run.wrong)
            for total, run in zip(totals, runs, strict=True)
        ]
    return totals[0], totals[1], totals[2]


def print_set(name: str, count: int, timings: tuple[Timing, Timing, Timing]) -> float:
    """Prints the line of a set; returns the seconds of the faster search of bitbully."""
    ours, mtdf, null_window = timings
    theirs = min(mtdf.seconds, null_window.seconds)
    published = " | ".join(f"{time:,.4g} us, {nodes:,.4g}" for time, nodes in PUBLISHED.get(name, ()))
    print(
        f"{name:14} {count:5} {ours.wrong:5} {ours.seconds / count * 1e6:12,.2f} {ours.nodes / count:12,.1f}"
        f" {ours.nodes / ours.seconds / 1e6:8.2f} {mtdf.seconds / count * 1e6:13,.2f} {mtdf.nodes / count:13,.1f}"
        f" {null_window.seconds / count * 1e6:13,.2f} {null_window.nodes / count:13,.1f}"
        f" {ours.seconds / theirs:7.3f}   {published}",
        flush=True,
    )
    if mtdf.wrong or null_window.wrong:
        print(f"{'':14} bitbully differs on {mtdf.wrong} (MTD(f)) and {null_window.wrong} (null window)")
    return theirs


def run_sets(named: dict[str, list[Sample]]) -> int:
    """Times all sets; returns the number of wrong scores."""
    ours, theirs, wrong, sets = 0.0, 0.0, 0, {}
    run_ours(Solver(STANDARD), [Sample((), Position.from_moves([0] * 6 + [1] * 6, STANDARD))])  # compiles
    print(
        f"{'set':14} {'count':>5} {'wrong':>5} {'ours us':>12} {'nodes':>12} {'Mnodes/s':>8} {'bitbully us':>13}"
        f" {'nodes':>13} {'null win. us':>13} {'nodes':>13} {'ratio':>7}   Pons us, nodes | connect-four-ai"
    )
    for name, samples in named.items():
        timings = compare(samples)
        faster = print_set(name, len(samples), timings)
        theirs += faster / len(samples)
        ours += timings[0].seconds / len(samples)
        wrong += timings[0].wrong
        sets[name] = {
            "positions": len(samples),
            "of bitbully's time": round(timings[0].seconds / faster, 2),
            "nodes": round(timings[0].nodes / len(samples), 1),
        }
    print(f"sum of the sets' mean times: ours {ours:.4g} s, bitbully {theirs:.4g} s; {wrong} scores wrong")
    unit = "of bitbully's time, sum of the sets' means"
    record("solver", round(ours / theirs, 3), unit, 1, wrong=wrong, sets=sets, published_us_and_nodes=PUBLISHED)
    return wrong


Scored = tuple[Position, int | None, Scores | None]  # a position, our score of it, and ours of its moves if known


def by_solver(count: int, seed: int) -> Iterator[Scored]:
    """Random positions, each number of stones alike, in random order."""
    solver, plies = Solver(STANDARD), list(range(LEAST_STONES, STANDARD.cells))
    plies = plies * -(-count // len(plies))
    random.Random(seed).shuffle(plies)
    sources = {ply: random_samples(seed + ply, [ply]) for ply in set(plies)}
    samples = (sample for ply in plies for sample in itertools.islice(sources[ply], 1))
    for sample in itertools.islice(samples, count):
        value = solver.solve(sample.position)
        scores = [one and one.low for one in solver.scores(sample.position)]
        yield sample.position, value.low if value.exact else None, scores


def by_table(table: Openings) -> Iterator[Scored]:
    """All positions of the table."""
    for layer in layers(table.geometry, table.last_ply):
        for stones, mask in zip(*layer, strict=True):
            position = Position(int(stones), int(mask), table.geometry)
            yield position, table.score(position), table.scores(position)


def compare_scores(name: str, known: Iterable[Scored], count: int) -> int:
    """Compares scores of positions and of their moves with bitbully's; returns how many positions were wrong."""
    checked = wrong = moves = 0
    with progress(count, "position", name) as bar:
        for position, score, scores in known:
            checked += 1
            theirs = bitbully_scores(position)
            moves += len(theirs) - theirs.count(None) if scores else 0
            if score != max(one for one in theirs if one is not None) or scores not in (None, theirs):
                wrong += 1
                with beside_bars():
                    print(f"{position}: ours {score} {scores}, bitbully {theirs}")
            bar.update()
    record(name, wrong, f"of {checked} positions with a wrong score", 0, positions=checked, moves=moves)
    return wrong


def empty_board() -> int:
    """Times both solvers on the empty board, and ours on its moves; returns how many of our two answers were wrong."""
    solver, empty = Solver(STANDARD, table_bits=25), Position.empty(STANDARD)
    solver.solve(Position.from_moves([0] * 6 + [1] * 6 + [2] * 6, STANDARD))  # compiles
    nodes, start = solver.nodes, time.thread_time()
    value = solver.solve(empty)
    seconds, nodes = time.thread_time() - start, solver.nodes - nodes
    values = [one and one.low for one in solver.scores(empty)]
    print(f"empty board: {value}, its moves: {values}, {time.thread_time() - start:.1f} s CPU in all")
    theirs: dict[str, dict[str, float]] = {}
    facts = {"nodes": nodes, "table_bytes": 2**28, "theirs": theirs}
    record("empty-board", round(seconds, 1), "s CPU", **facts)
    for method in METHODS:  # minutes each
        run = run_bitbully(bitbully_core.BitBullyCore(), method, [Sample((), empty, 1)])
        theirs[method] = {"seconds": round(run.seconds, 1), "nodes": run.nodes}
        anchor = {"bitbully": min(found["seconds"] for found in theirs.values())}
        record("empty-board", round(seconds, 1), "s CPU", anchor, **facts)
    return (value != (1, 1)) + (values != EMPTY_BOARD)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=200, help="positions in each set except Begin-Hard")
    parser.add_argument("--hard", type=int, default=50, help="positions in Begin-Hard")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", type=int, metavar="N", help="compare the scores of N positions and of their moves")
    parser.add_argument("--openings", type=Path, nargs="?", const="", metavar="FILE", help="compare an opening table")
    parser.add_argument("--empty", action="store_true", help="solve the empty board")
    options = parser.parse_args(arguments)
    head(seed=options.seed)
    if options.empty:
        return bool(empty_board())
    if options.check is not None:
        return bool(compare_scores("solver-scores", by_solver(options.check, options.seed), options.check))
    if options.openings is not None:
        given = options.openings != Path()
        table = Openings.from_bytes(options.openings.read_bytes()) if given else openings()
        return bool(compare_scores("opening-table", by_table(table), len(table)))
    counts = {kind: options.hard if kind.name == "Begin-Hard" else options.size for kind in SIX_SETS}
    return bool(run_sets({kind.name: six_set(kind, count, options.seed) for kind, count in counts.items()}))


if __name__ == "__main__":
    sys.exit(main())
