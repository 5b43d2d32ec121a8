"""Plays games and labels their positions with the best moves and their exact score: what the networks learn from.

Half of the games are half-random (each move is random with probability 1/2), the others near-perfect (1/4). The other
moves are a network's, and in the first plies perfect ones of the opening table. Nobody makes a line: a game ends where
every move would.

Our own solver labels a game from its end: of each position the score first, for which the position after it gives a
bound, then only which moves are best. That takes a third of the time of all scores, which one label in seven has.
Positions in which the next stone can make a line teach little: one in ten is taken. --open-lines 0 takes hard positions
alone, in which neither side can. All positions of the first eight plies are added from the opening table, whenever
labels are read.

The run's folder keeps a file for every 150 games. An interrupted run goes on from there, and more games add to them.
The same seed gives the same labels for any number of processes and machines, as far as their networks round alike.
"""

import io
import os
import zipfile
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from connectx_core.afterstates import MoveNetwork
from connectx_core.books import openings
from connectx_core.exact import move_values
from connectx_core.opponent import columns_of_scores
from connectx_core.position import NO_MOVE, SPAN, STANDARD, Position, key_of, stones_of, winning_spots
from connectx_core.solver import UNKNOWN, Solver, Value
from connectx_toolkit.games.labelled import (
    BOUND,
    LABELS_SUFFIX,
    Labels,
    concatenate_labels,
    labels_to_bytes,
    moves_of,
    read_file,
    spread_keys,
    write_labels,
)
from connectx_toolkit.system.console import progress, shell
from connectx_toolkit.system.files import ROOT, WEIGHTS, check_folder, file_lock
from connectx_toolkit.training.options import Options, digest_of, option
from connectx_toolkit.training.runs import process_solver, publish, solver_pool

LABELS = ROOT / "labels" / "hard.labels"  # those that the toolkit's networks have learnt from; not in the package
TRAINING, VALIDATION, TEST = range(3)  # splits
HELD_OUT = {False: 64, True: 20}  # one in so many positions is for validation and one for test; True: below FEW stones
FEW = 18  # stones; there are fewer labels with fewer stones, so that a larger share is held out


def splits_of(positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """TRAINING, VALIDATION or TEST, for each position by its key: (n,) uint8. Mirror images share a split."""
    spread = spread_keys(positions, masks) >> np.uint64(40)
    remainder = spread % np.where(np.bitwise_count(masks) < FEW, HELD_OUT[True], HELD_OUT[False])
    return np.select([remainder == 0, remainder == 1], [TEST, VALIDATION], TRAINING).astype(np.uint8)


def labels_of(labels: Labels, split: int) -> Labels:
    """The labels of a split: TRAINING, VALIDATION or TEST. Those to measure on have the exact scores of all moves.
    Raises ValueError if there are none.
    """
    is_one = splits_of(labels.positions, labels.masks) == split
    chosen = labels.take(np.flatnonzero(is_one if split == TRAINING else is_one & labels.whole))
    if not len(chosen):
        raise ValueError("too few labels: a split is empty")
    return chosen


def opening_labels() -> Labels:
    """Labels of all positions of plies 0 to 7, mirror images counted once, from the table of openings: 38,203."""
    plies = list(openings().scores_by_ply())
    positions, masks = (np.concatenate(parts) for parts in zip(*(layer for layer, _ in plies), strict=True))
    return Labels(positions, masks, np.concatenate([scores for _, scores in plies]))


def read_labels(path: Path) -> Labels:
    """What networks learn from: the labels of a file, and those of all positions of plies 0 to 7. Raises ValueError if
    there is no such file, or it is no file of labels.
    """
    if not path.is_file():
        raise ValueError(f"no labels in {path}: {shell('train labels')} makes them, and --labels names them")
    return concatenate_labels([read_file(path)[0], opening_labels()])


ERROR_SHARES = (0.5, 0.25)  # of random moves, in turn: half-random and near-perfect games
FIRST_TAKEN, LAST_TAKEN = 8, 33  # stones of the first and the last position; the opening table has all before
# Share of the positions that are taken, by their stones; of later ones all. The solver takes long where there are few:
# 290 ms of processor time for the best moves at 8 stones, 83 at 10, 21 at 12, 8 at 14, 0.5 at 20.
TAKEN = {8: 0.02, 9: 0.05, 10: 0.15, 11: 0.35, 12: 0.7}
WHOLE = 0.15  # share of the labels that have the exact scores of all moves


def play_paths(games: int, rng: np.random.Generator, network: MoveNetwork) -> list[list[Position]]:
    """The positions of so many games, up to ``LAST_TAKEN`` stones."""
    shares, numbers = np.resize(ERROR_SHARES, games), np.arange(games)
    stones, masks = np.zeros(games, np.int64), np.zeros(games, np.int64)
    paths: list[list[Position]] = [[] for _ in range(games)]
    for ply in range(LAST_TAKEN + 1):
        positions = [Position(*pair, STANDARD) for pair in zip(stones.tolist(), masks.tolist(), strict=True)]
        for number, position in zip(numbers, positions, strict=True):
            paths[number].append(position)
        moves = moves_of(masks, STANDARD)
        playable = (moves != 0) & (winning_spots(stones, masks, STANDARD)[:, None] & moves == 0)
        worth = rng.random(moves.shape)
        chosen = np.flatnonzero(rng.random(len(masks)) >= shares)
        if ply < FIRST_TAKEN:
            known = [openings().scores(positions[row]) or [] for row in chosen]
            worth[chosen] += columns_of_scores(known).reshape(-1, STANDARD.columns)
        elif len(chosen):
            worth[chosen] = network.evaluate_many(stones[chosen], masks[chosen])["policy"]
        columns = np.where(playable, worth, -np.inf).argmax(1)
        on = np.flatnonzero(playable.any(1))
        stones, masks = (stones ^ masks)[on], (masks | moves[np.arange(len(masks)), columns])[on]
        shares, numbers = shares[on], numbers[on]
    return paths


def label_games(
    games: int, rng: np.random.Generator, solver: Solver, network: MoveNetwork, open_lines: float
) -> Labels:
    """Labels of the positions of so many games, as ``TAKEN`` says.

    Args:
        open_lines: share that is taken of the positions in which the next stone can make a line.
    """
    found: list[tuple[int, int, list[int]]] = []
    for path in play_paths(games, rng, network):
        following = None  # the score of the next position of the game, where it is known
        for position in reversed(path[FIRST_TAKEN:]):
            is_open = bool(position.winning_columns() or position.pass_turn().winning_columns())
            if rng.random() >= TAKEN.get(position.ply, 1.0) * (open_lines if is_open else 1.0):
                following = None
                continue
            score = solver.solve(position, known=UNKNOWN if following is None else Value(-following, SPAN)).low
            is_whole = rng.random() < WHOLE
            values = move_values(position, solver, best=not is_whole, known=Value(score, score))
            found.append((position.position, position.mask, [to_label(value) for value in values]))
            following = score
    stones, masks, scores = zip(*found, strict=True) if found else ([], [], [])
    labels = Labels(np.array(stones, np.int64), np.array(masks, np.int64), np.array(scores, np.int8).reshape(-1, 7))
    return labels.take(np.flatnonzero((labels.legal & ~labels.perfect).any(1)))


def to_label(value: Value | None) -> int:
    """What labels hold of a move's value: its score, or an upper bound, or that there is no such move."""
    return NO_MOVE if value is None else value.low if value.exact else value.high - BOUND


TABLE_BITS = 22  # log2 of the entries of each process's table: 32 MiB
FILE_GAMES = 150  # of a file; the last one has fewer
CHECKED, FEWEST = 300, 12  # of the labels that are read in, so many are checked, of those with so many stones


@dataclass
class Config(Options):
    """Options of ``train.py labels``."""

    METHOD = "labels"
    RESUMES = True

    games: int = option(30_000, "number of games to play, each of which gives about 10 positions", least=0)
    add: Path = option(Path(), "labels to add: an .npz of positions, masks and scores", reads=True)
    network: Path = option(WEIGHTS / "policy.bin", "network that chooses the moves that are not random", reads=True)
    open_lines: float = option(
        0.1, "share that is taken of the positions in which the next stone can make a line", least=0, most=1
    )
    seed: int = option(1, "random seed of the games", least=0)
    workers: int = option(os.cpu_count() or 1, "number of processes on this machine", least=1, is_free=True)
    scheduler: str = option("", "address of a dask cluster to use instead, such as tcp://10.0.0.1:8786", is_free=True)
    run: Path = option(Path("runs/labels"), "folder of the run")
    output: Path = option(Path(), "file to write: the labels", in_run="labels.labels")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.games and self.add == Path():
            raise ValueError("games should be at least 1, or add should name labels")

    @property
    def recipe(self) -> dict[str, Any]:
        """What the content of a file depends on besides its number and that of its games."""
        shares = {"random": list(ERROR_SHARES), "open": self.open_lines, "whole": WHOLE}
        taken = {str(stones): share for stones, share in TAKEN.items()}
        network = digest_of(self.network)
        return {"seed": self.seed, **shares, "taken": taken, "network": network}


@cache
def network_in(path: Path) -> MoveNetwork:
    return MoveNetwork.from_bytes(path.read_bytes())


def make_file(network: Path, seed: int, open_lines: float, file: tuple[int, int]) -> Labels:
    """The labels of a file, (number, games), in a worker."""
    solver, (number, games) = process_solver(), file
    solver.clear()
    return label_games(games, np.random.default_rng((seed, number)), solver, network_in(network), open_lines)


def read_foreign_labels(path: Path, seed: int) -> Labels:
    """Labels that somebody else made, of which the solver checks some.

    Args:
        path: an .npz of "positions" and "masks", (n,) int64, and "scores", (n, columns) int8, as ``Labels`` has them.

    Raises:
        ValueError: it is none, a position cannot come up, or what is said of a move is not so.
        OSError: it cannot be read.
    """
    content = io.BytesIO(path.read_bytes())
    try:
        with np.load(content, allow_pickle=False) as arrays:
            labels = Labels(*(arrays[name] for name in ("positions", "masks", "scores")))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as fault:
        raise ValueError(f"{path}: an .npz with positions, masks and scores was expected ({fault})") from None
    count = len(labels.masks)
    kinds = [(array.shape, array.dtype) for array in labels]
    if kinds != [((count,), np.int64), ((count,), np.int64), ((count, STANDARD.columns), np.int8)]:
        raise ValueError(f"{path}: positions and masks (n,) int64 and scores (n, 7) int8 were expected, not {kinds}")
    stones, masks = stones_of(key_of(labels.positions, labels.masks), STANDARD)
    has_move = moves_of(labels.masks, STANDARD) != 0
    is_one = (stones == labels.positions) & (masks == labels.masks) & (has_move == labels.legal).all(1)
    if not is_one.all():
        raise ValueError(f"{path}: row {is_one.argmin()} is no position, or has scores of full columns")
    solver, rows = Solver(STANDARD, TABLE_BITS), np.flatnonzero(labels.plies >= FEWEST)
    chosen = labels.take(np.random.default_rng(seed).permutation(rows)[:CHECKED])
    with progress(len(chosen), "label", f"checking {path.name}") as bar:
        for stones, mask, scores, exact in zip(*chosen, chosen.exact, strict=True):
            values = move_values(Position(int(stones), int(mask), STANDARD), solver)
            truth = np.array([to_label(value) for value in values])
            bounds = (scores + BOUND >= truth) & (truth < truth.max())
            if not np.where(exact | (truth == NO_MOVE), scores == truth, bounds).all():
                raise ValueError(f"{path}: the scores of moves are {truth.tolist()}, not {scores.tolist()}")
            bar.update()
    return labels


def files_of(config: Config) -> tuple[list[Path], list[tuple[int, int]]]:
    """The files that the run consists of, and those of them that are missing or have too few games: (number, games).
    Raises ValueError if one is of another recipe, or damaged.
    """
    sizes = [min(FILE_GAMES, config.games - first) for first in range(0, config.games, FILE_GAMES)]
    files = [config.run / "games" / f"{number:05}{LABELS_SUFFIX}" for number in range(len(sizes))]
    missing = list[tuple[int, int]]()
    for number, (path, games) in enumerate(zip(files, sizes, strict=True)):
        made_as = read_file(path)[1] if path.exists() else config.recipe | {"games": 0}
        if made_as != config.recipe | {"games": made_as.get("games")}:
            raise ValueError(f"{config.run} holds labels of {made_as}, not of {config.recipe}: choose another --run")
        if made_as["games"] < games:
            missing.append((number, games))
    return files, missing


def train(config: Config) -> dict[str, Any]:
    """Makes the files that are missing, then the one of all labels."""
    check_folder(config.output, is_made=True)
    added = [read_foreign_labels(config.add, config.seed)] if config.add != Path() else []
    with file_lock(config.run / "games", words=f"another process makes the labels of {config.run}"):
        files, missing = files_of(config)
        bar_of = partial(progress, len(files), "file", done=len(files) - len(missing), delay=0)
        with solver_pool(config.workers, TABLE_BITS, config.scheduler) as pool, bar_of() as bar:
            making = partial(make_file, config.network, config.seed, config.open_lines)
            for (number, games), labels in pool.map_unordered(making, missing):
                write_labels(files[number], labels, config.recipe | {"games": games})
                bar.update()
    labels = concatenate_labels([*(read_file(path)[0] for path in files), *added])
    counts = np.bincount(splits_of(labels.positions, labels.masks), minlength=3).tolist()
    facts = {"positions": len(labels), **dict(zip(("training", "validation", "test"), counts, strict=True))}
    told = f"{labels.whole.sum():,} with the score of every move, {counts[0]:,} to learn from"
    score = f"{len(labels):,} positions: {told}"
    publish(config, labels_to_bytes(labels, config.recipe | {"of": config.games}), facts, score)
    return facts
