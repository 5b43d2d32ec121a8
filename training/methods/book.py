"""Builds the opening book on all cores: exact scores from our own solver, moves chosen by connectx.choice.

Every score is appended to a file at once, one line per position. An interrupted run resumes from this file, and after a
change of the choice or of the book's size only new positions have to be solved.
"""

import os
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from connectx.book import Book, Layer, walk
from connectx.choice import Scores, choose, sign
from connectx.geometry import STANDARD
from connectx.position import Position
from console.progress import progress
from training.data.book_scores import ScoreFile
from training.support.manifest import check_output, publish
from training.support.options import Options, option
from training.support.pool import LARGEST_TABLE, process_solver, solver_pool


@dataclass
class Config(Options):
    """Options of ``train.py book``."""

    first_ply: int = option(10, "last ply of the first seat's book", least=1)
    second_ply: int = option(9, "last ply of the second seat's book", least=1)
    full_plies: int = option(3, "up to this ply, every position is in the book", least=0)
    table_bits: int = option(
        25, "log2 of the number of entries (8 bytes each) in each process's table", least=2, most=LARGEST_TABLE
    )
    workers: int = option(os.cpu_count() or 1, "number of processes", least=1)
    scores: Path = option(Path("training/book-scores.txt"), "file of all scores found so far, also by earlier runs")
    output: Path = option(Path("agents/weights/book.bin"), "file to write: the book")


def solve(positions: list[Position]) -> list[Scores]:
    """The exact score of each column of each position; called in a worker process."""
    solver = process_solver()
    return [[None if value is None else value.low for value in solver.scores(p)] for p in positions]


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
    """Used where the choice does not look ahead."""
    return None


class Builder:
    """Solves the positions of the walk and chooses our columns."""

    def __init__(self, scores: ScoreFile, pool: Executor):
        self.scores, self.pool = scores, pool
        self.columns: list[np.ndarray] = []

    def learn(self, groups: list[list[Position]], label: str) -> None:
        """Solves the positions that are not known yet; those of a group in the same worker, whose table they share."""
        distinct = [dict.fromkeys(position.canonical() for position in group) for group in groups]
        wanted = [[position for position in group if self.scores.get(position) is None] for group in distinct]
        tasks = {self.pool.submit(solve, group): group for group in wanted if group}
        with progress(len(tasks), "group", label) as bar:
            for task in as_completed(tasks):
                for position, scores in zip(tasks[task], task.result(), strict=True):
                    self.scores.add(position, scores)
                bar.update()

    def columns_of(self, layer: Layer, ours: np.ndarray) -> np.ndarray:
        """Our column in each position of a layer; no trap search (look-ahead) where our own play cannot lead."""
        positions = positions_of(layer)
        ply = positions[0].ply
        self.learn([[position] for position in positions], f"ply {ply}: scores")
        played = [position for position, mine in zip(positions, ours, strict=True) if mine]
        self.learn([children_to_know(p, self.scores[p]) for p in played], f"ply {ply}: choices")
        # Only scores that were asked for are used: the book must not depend on other contents of the file.
        replies = [self.scores.get if mine else no_replies for mine in ours]
        columns = [choose(p, self.scores[p], r, most_replies=1) for p, r in zip(positions, replies, strict=True)]
        self.columns.append(np.array(columns, np.uint8))
        return self.columns[-1]


def train(config: Config) -> Book:
    """Builds the book and writes it. The same scores give the same book."""
    check_output(config.output)
    last_plies = (config.first_ply, config.second_ply)
    with ScoreFile(config.scores) as scores, solver_pool(config.workers, config.table_bits) as pool:
        builder = Builder(scores, pool)
        for layer in walk(STANDARD, config.full_plies, last_plies, builder.columns_of):
            print(f"ply {positions_of(layer)[0].ply}: {len(layer.masks)} positions", flush=True)
    book = Book(STANDARD, config.full_plies, last_plies, np.concatenate(builder.columns))
    command = f"python train.py book --first-ply {config.first_ply} --second-ply {config.second_ply}"
    facts = {"positions": len(book), "full_plies": config.full_plies, "last_plies": list(last_plies)}
    publish(config.output, book.to_bytes(), f"{command} --full-plies {config.full_plies}", facts)
    return book
