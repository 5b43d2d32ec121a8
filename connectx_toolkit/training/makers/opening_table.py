"""Makes the opening table: the exact score of every position up to ply 8, by our own solver, on all cores.

Only positions of the last ply in which the side to move cannot win at once are solved. The scores of earlier plies
follow from them. Every score is appended to a file at once, one line per position. An interrupted run resumes from it.
"""

import os
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from connectx.books import LAST_PLY, Openings, layers, wins_at_once
from connectx.position import STANDARD, Geometry, Position
from connectx.solver import NO_LIMIT, UNKNOWN, Limit, Solver, Value, job_of, read_queue
from connectx_toolkit.system.console import ctrl_c_waits, progress
from connectx_toolkit.system.files import BOOK_SCORES
from connectx_toolkit.training.makers.exact_scores import Form, PositionFile, read_scores
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import LARGEST_TABLE, begin, process_solver, publish, solver_pool

STOPPABLE = Limit(float("inf"), NO_LIMIT)  # with a deadline, the solver looks up now and then
SCORE: Form[int] = Form("a score", r"-?\d+", int, str)

Bounds = dict[int, Value]  # what is known about scores, by the key of the canonical position
Job = tuple[Position, Value]  # a position to solve, and what is known about its score


@dataclass
class Config(Options):
    """Options of ``train.py openings``."""

    METHOD = "openings"

    table_bits: int = option(
        27,
        "log2 of the number of entries (8 bytes each) in the shared table",
        least=2,
        most=LARGEST_TABLE,
        is_free=True,
    )
    lasting_bits: int = option(
        27,
        "log2 of the number of entries kept for positions of up to 14 stones",
        least=2,
        most=LARGEST_TABLE,
        is_free=True,
    )
    workers: int = option(os.cpu_count() or 1, "number of threads on this machine", least=1, is_free=True)
    scheduler: str = option(
        "",
        "address of a dask cluster to use instead, such as tcp://10.0.0.1:8786; each worker has its own "
        "table of --table-bits",
        is_free=True,
    )
    scores: Path = option(Path("runs/openings-scores.txt"), "file of all scores found so far, also by earlier runs")
    book_scores: Path = option(BOOK_SCORES, "file of the scores found when the book was built", reads=(".txt",))
    run: Path = option(Path("runs/openings"), "folder of the run")
    output: Path = option(Path(), "file to write: the table", in_run="openings.bin")


def bounds_from(path: Path) -> Bounds:
    """What the book's scores tell about the last ply: from its positions, and those one ply before and after."""
    bounds: Bounds = {}

    def learn(position: Position, value: Value) -> None:
        known = bounds.get(position.canonical().key, UNKNOWN)
        bounds[position.canonical().key] = Value(max(known.low, value.low), min(known.high, value.high))

    for position, scores in read_scores(path).items():
        legal = {column: score for column, score in enumerate(scores) if score is not None}
        if position.ply == LAST_PLY:
            learn(position, Value(max(legal.values()), max(legal.values())))
        elif position.ply == LAST_PLY - 1:
            for column, score in legal.items():
                learn(position.play(column), Value(-score, -score))
        elif position.ply == LAST_PLY + 1:
            for parent in parents(position):
                learn(parent, Value(-max(legal.values()), UNKNOWN.high))
    return bounds


def parents(position: Position) -> Iterator[Position]:
    """The positions from which one move leads to this one."""
    geometry = position.geometry
    for column in range(geometry.columns):
        stones = position.mask & geometry.column_mask(column)
        top = 1 << stones.bit_length() - 1 if stones else 0
        if top & ~position.position:
            yield Position(position.position ^ position.mask ^ top, position.mask ^ top, geometry)


def score_of(solver: Solver, job: Job) -> int:
    """The exact score of a position, of which bounds are known; stops early if the solver is stopped."""
    position, bounds = job
    queue = solver.queue([job_of(position, bounds)])
    solver.work(queue, STOPPABLE)
    return read_queue(queue)[0].low


def score_in_worker(job: Job) -> int:
    return score_of(process_solver(), job)


def solved_by_threads(jobs: list[Job], config: Config) -> Generator[tuple[Job, int]]:
    """Solves the positions, started in the given order, by threads that share one table."""
    with ctrl_c_waits():
        first = Solver(jobs[0][0].geometry, config.table_bits, lasting_bits=config.lasting_bits, threads=config.workers)
        solvers = [first, *(first.beside(number) for number in range(1, config.workers))]
    idle: SimpleQueue[Solver] = SimpleQueue()
    for solver in solvers:
        idle.put(solver)

    def solve(job: Job) -> int:
        solver = idle.get()
        found = score_of(solver, job)
        idle.put(solver)
        return found

    with ThreadPoolExecutor(config.workers) as pool:
        try:
            tasks = {pool.submit(solve, job): job for job in jobs}
            for task in as_completed(tasks):
                yield tasks[task], task.result()
        finally:
            for solver in solvers:
                solver.is_stopped = True  # a position may take minutes
            pool.shutdown(cancel_futures=True)


def solved_by_cluster(jobs: list[Job], config: Config) -> Generator[tuple[Job, int]]:
    """Solves the positions by the workers of a dask cluster."""
    with solver_pool(config.workers, config.table_bits, config.scheduler) as pool:
        yield from pool.map_unordered(score_in_worker, jobs)


def solve_all(jobs: list[Job], scores: PositionFile[int], config: Config) -> None:
    """Solves the positions, and writes each score as soon as it is found."""
    if not jobs:
        return
    solved = (solved_by_cluster if config.scheduler else solved_by_threads)(jobs, config)
    with closing(solved), progress(len(jobs), "position", "openings", delay=0) as bar:
        for (position, _), score in solved:
            scores.add(position, score)
            bar.update()


def build(config: Config, geometry: Geometry, last_ply: int, bounds: Bounds) -> Openings:
    """The table of a board's openings; solves the positions that are not yet in the file of scores.

    Args:
        bounds: what is known about the scores of the last ply.
    """
    *_, last = layers(geometry, last_ply)
    quiet = ~wins_at_once(last, geometry)
    positions = [
        Position(int(p), int(m), geometry) for p, m in zip(last.positions[quiet], last.masks[quiet], strict=True)
    ]
    with PositionFile(config.scores, SCORE, geometry) as scores:
        unknown = [position for position in positions if position not in scores.known]
        quietly = f"{len(positions)} positions of ply {last_ply} in which nobody wins at once"
        print(f"{quietly}, {len(unknown)} to solve", flush=True)
        solve_all([(each, bounds.get(each.canonical().key, UNKNOWN)) for each in unknown], scores, config)
        return Openings(geometry, last_ply, np.array([scores.known[position] for position in positions], np.int8))


def train(config: Config) -> Openings:
    """Makes the table and writes it. The same scores give the same bytes."""
    begin(config)
    table = build(config, STANDARD, LAST_PLY, bounds_from(config.book_scores))
    facts = {"positions": len(table), "last_ply": LAST_PLY}
    publish(config, table.to_bytes(), facts, f"{len(table):,} positions through ply {LAST_PLY}, each solved")
    return table
