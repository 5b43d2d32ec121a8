"""Makes the table of the openings: the exact score of every position through ply 8, by our own solver, on all cores.

Only the last ply's positions in which nobody wins at once are solved; those of the plies before follow from them. Every
score that is found goes to a file at once, one line a position, and an interrupted run goes on from there.
"""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tqdm import tqdm

from connectx.geometry import STANDARD
from connectx.openings import LAST_PLY, layers
from connectx.position import Position
from connectx.solver import UNKNOWN, Solver, Value, job_of, read_queue
from training.data.book_scores import parse_line, read_lines
from training.methods.book import positions_of
from training.support.options import Options, option
from training.support.pool import LARGEST_TABLE

LINE = re.compile(rb"\d+ \d+ -?\d+")
HALF_LINE = re.compile(rb"[-\d ]*")

Bounds = dict[int, Value]  # what is known of positions' scores, by the smaller key of each and its mirror image


@dataclass
class Config(Options):
    """Options of ``train.py openings``."""

    table_bits: int = option(
        27, "log2 of the entries of the table that all threads share, 8 bytes each", least=2, most=LARGEST_TABLE
    )
    lasting_bits: int = option(
        27, "the same of its part for positions of the first 14 plies", least=2, most=LARGEST_TABLE
    )
    workers: int = option(os.cpu_count() or 1, "threads", least=1)
    scores: Path = option(Path("runs/openings/scores.txt"), "every score found so far; kept over runs")
    book_scores: Path = option(Path("training/book-scores.txt"), "what is known from building the book")


def canonical_key(position: Position) -> int:
    return min(position.key, position.mirror().key)


class ScoreFile:
    """Exact scores by key, in memory and in a file of lines ``position mask score``."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        *lines, rest = (path.read_bytes() if path.exists() else b"").split(b"\n")
        for number, line in enumerate([*lines, rest], 1):
            if not (LINE if number <= len(lines) else HALF_LINE).fullmatch(line):
                raise ValueError(f"{path}, line {number}: expected a position, its mask and a score, not {line[:40]!r}")
        numbers = [tuple(map(int, line.split())) for line in lines]
        self.known = {canonical_key(Position(p, m, STANDARD)): score for p, m, score in numbers}
        self._file = path.open("ab")
        self._file.truncate(self._file.tell() - len(rest))

    def add(self, position: Position, score: int) -> None:
        self.known[canonical_key(position)] = score
        self._file.write(f"{position.position} {position.mask} {score}\n".encode("ascii"))
        self._file.flush()


def bounds_from(path: Path) -> Bounds:
    """What the scores behind the book say of the last ply: a position's moves give its score and those after them."""
    bounds: Bounds = {}

    def learn(position: Position, value: Value) -> None:
        known = bounds.get(canonical_key(position), UNKNOWN)
        bounds[canonical_key(position)] = Value(max(known.low, value.low), min(known.high, value.high))

    for line in read_lines(path)[0]:
        position, scores = parse_line(line)
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


def solve_all(positions: list[Position], bounds: Bounds, scores: ScoreFile, config: Config) -> None:
    """Solves the positions, in their order, and writes each score as it is found."""
    first = Solver(STANDARD, config.table_bits, lasting_bits=config.lasting_bits, threads=config.workers)
    idle: SimpleQueue[Solver] = SimpleQueue()
    for solver in [first, *(first.beside(number) for number in range(1, config.workers))]:
        idle.put(solver)

    def solve(position: Position) -> int:
        solver = idle.get()
        queue = solver.queue([job_of(position, bounds.get(canonical_key(position), UNKNOWN))])
        solver.work(queue)
        idle.put(solver)
        return read_queue(queue)[0].low

    with ThreadPoolExecutor(config.workers) as pool:
        tasks = {pool.submit(solve, position): position for position in positions}
        try:
            for task in tqdm(as_completed(tasks), "openings", len(tasks), mininterval=5):
                scores.add(tasks[task], task.result())
        finally:
            pool.shutdown(cancel_futures=True)


def train(config: Config) -> None:
    """Solves what is not known yet, and writes the table."""
    scores = ScoreFile(config.scores)
    *_, last = layers(STANDARD, LAST_PLY)
    quiet = [position for position in positions_of(last) if not position.winning_columns()]
    unknown = [position for position in quiet if canonical_key(position) not in scores.known]
    print(f"{len(quiet)} positions of ply {LAST_PLY} in which nobody wins at once, {len(unknown)} to solve", flush=True)
    solve_all(unknown, bounds_from(config.book_scores), scores, config)
