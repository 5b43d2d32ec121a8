"""Builds the opening book: exact scores by our own solver, choices by connectx.choice, on all cores.

Every score that is found goes to a file at once, one line a position. An interrupted run goes on from there, and a
change of the choice or of the book's extent solves again only what is new.
"""

import os
import re
from collections.abc import Iterable
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from connectx.book import Book, Layer, walk
from connectx.choice import Scores, choose, sign
from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.solver import Solver
from training.manifest import check_output, publish
from training.options import option
from training.workers import check_table_bits, worker_pool

LINE = re.compile(rb"\d+ \d+( -?\d+| -){7}")  # of a file of scores
HALF_LINE = re.compile(rb"[-\d ]*")

_solver: Solver | None = None  # of a worker process


@dataclass
class Config:
    """What ``train.py book`` can be told."""

    first_ply: int = option(10, "last ply of the first seat's book")
    second_ply: int = option(9, "last ply of the second seat's book")
    full_plies: int = option(3, "through this ply, every position is in the book")
    table_bits: int = option(25, "log2 of the entries of each worker's table, 8 bytes each")
    workers: int = option(os.cpu_count() or 1, "processes")
    scores: Path = option(Path("training/book-scores.txt"), "every score found so far; kept over runs")
    output: Path = option(Path("agents/weights/book.bin"), "the book")

    def __post_init__(self) -> None:
        if min(self.first_ply, self.second_ply, self.workers) < 1 or self.full_plies < 0:
            raise ValueError(f"plies and workers should be at least 1, full_plies at least 0: {self}")
        check_table_bits(self.table_bits)


def start_worker(table_bits: int) -> None:
    global _solver  # noqa: PLW0603 - a process has one table
    _solver = Solver(STANDARD, table_bits)


def solve(positions: list[Position]) -> list[Scores]:
    """The exact score of each column of each position, in a worker."""
    assert _solver is not None
    return [[None if value is None else value.low for value in _solver.scores(p)] for p in positions]


def canonical(position: Position) -> Position:
    return min(position, position.mirror(), key=lambda p: p.key)


def read_lines(path: Path) -> tuple[list[str], int]:
    """The lines of a file of scores, and the bytes of half a line at its end, as a run that was killed may leave it.

    Raises:
        ValueError: the file holds something else.
    """
    *lines, rest = (path.read_bytes() if path.exists() else b"").split(b"\n")
    for number, line in enumerate([*lines, rest], 1):
        if not (LINE if number <= len(lines) else HALF_LINE).fullmatch(line):
            raise ValueError(f"{path}, line {number}: expected a position, its mask and 7 scores, not {line[:40]!r}")
    return [line.decode("ascii") for line in lines], len(rest)


def parse_line(line: str) -> tuple[Position, Scores]:
    """A position and the score of each column from a line of a file of scores."""
    position, mask, *scores = line.split()
    columns = [None if score == "-" else int(score) for score in scores]
    return Position(int(position), int(mask), STANDARD), columns


class ScoreFile:
    """Exact scores of positions, in memory and in a file of lines ``position mask score ...`` ("-": a full column)."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lines, rest = read_lines(path)
        self._known: dict[Position, Scores] = dict(map(parse_line, lines))
        self._file = path.open("ab")
        self._file.truncate(self._file.tell() - rest)

    def get(self, position: Position) -> Scores | None:
        """The scores by column, as the position stands; None if they are not known."""
        state = canonical(position)
        scores = self._known.get(state)
        return scores if scores is None or state == position else scores[::-1]

    def __getitem__(self, position: Position) -> Scores:
        scores = self.get(position)
        if scores is None:
            raise KeyError(position)
        return scores

    def items(self) -> Iterable[tuple[Position, Scores]]:
        """Every position, the smaller of it and its mirror image, with its scores."""
        return self._known.items()

    def add(self, position: Position, scores: Scores) -> None:
        self._known[position] = scores
        columns = " ".join("-" if score is None else str(score) for score in scores)
        self._file.write(f"{position.position} {position.mask} {columns}\n".encode("ascii"))
        self._file.flush()


def positions_of(layer: Layer) -> list[Position]:
    return [Position(int(p), int(m), STANDARD) for p, m in zip(layer.positions, layer.masks, strict=True)]


def children_to_know(position: Position, scores: Scores) -> list[Position]:
    """The positions whose scores the choice needs: after each move that keeps a lost or drawn result."""
    best = max(score for score in scores if score is not None)
    if best > 0:
        return []
    children = [position.play(c) for c, score in enumerate(scores) if score is not None and sign(score) == sign(best)]
    return [child for child in children if not child.is_over()] if len(children) > 1 else []


def no_replies(position: Position) -> Scores | None:
    """For positions in which the choice does not look further."""
    return None


class Builder:
    """Solves what the walk asks for, and chooses."""

    def __init__(self, config: Config, pool: Executor):
        self.pool, self.scores = pool, ScoreFile(config.scores)
        self.columns: list[np.ndarray] = []

    def learn(self, groups: list[list[Position]], label: str) -> None:
        """Solves the positions that are not known yet; those of a group in one worker, whose table they share."""
        wanted = [[p for p in dict.fromkeys(map(canonical, group)) if self.scores.get(p) is None] for group in groups]
        tasks = {self.pool.submit(solve, group): group for group in wanted if group}
        for task in tqdm(as_completed(tasks), label, len(tasks), disable=not tasks):
            for position, scores in zip(tasks[task], task.result(), strict=True):
                self.scores.add(position, scores)

    def columns_of(self, layer: Layer, ours: np.ndarray) -> np.ndarray:
        """Our column in each position of a layer. What only full coverage put there is not worth a search for traps."""
        positions = positions_of(layer)
        ply = positions[0].ply
        self.learn([[position] for position in positions], f"ply {ply}: scores")
        played = [position for position, mine in zip(positions, ours, strict=True) if mine]
        self.learn([children_to_know(p, self.scores[p]) for p in played], f"ply {ply}: choices")
        # Only what was asked for is used: the book must not depend on what else the file of scores happens to hold.
        replies = [self.scores.get if mine else no_replies for mine in ours]
        columns = [choose(p, self.scores[p], r, most_replies=1) for p, r in zip(positions, replies, strict=True)]
        self.columns.append(np.array(columns, np.uint8))
        return self.columns[-1]


def train(config: Config) -> Book:
    """Builds the book and writes it. The same scores give the same book."""
    check_output(config.output)
    with worker_pool(config.workers, start_worker, (config.table_bits,)) as pool:
        builder = Builder(config, pool)
        last_plies = (config.first_ply, config.second_ply)
        for layer in walk(STANDARD, config.full_plies, last_plies, builder.columns_of):
            print(f"ply {positions_of(layer)[0].ply}: {len(layer.masks)} positions", flush=True)
    book = Book(STANDARD, config.full_plies, last_plies, np.concatenate(builder.columns))
    command = f"python train.py book --first-ply {config.first_ply} --second-ply {config.second_ply}"
    facts = {"positions": len(book), "full_plies": config.full_plies, "last_plies": list(last_plies)}
    publish(config.output, book.to_bytes(), f"{command} --full-plies {config.full_plies}", facts)
    return book
