"""Makes positions of 7x6 with the exact score of every move, by our own solver, on all cores; resumable.

Recipe. Every position comes from a game of its own: half from uniform random play, half from near-perfect play, which
looks ahead some plies (near the end: to the end) and plays any move instead with a probability drawn for each game.
The number of stones follows one of the ``MIXES``: the solver takes twice as long with each ply fewer, so that the mix
"late" has few positions below ply 16, and the mix "early", of those plies alone, is worth about as much time for each.
Random games do not make lines; near-perfect ones may, and are then played again. The positions of the opening book's
score file are added to the late ones. Mirror images count as equal, and duplicates are dropped when labels are read.

Labels are stored in shards: containers of connectx.weights with the recipe and the seed inside. A shard depends on the
seed and its number alone. An interrupted run goes on with the shards that are missing.
"""

import os
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.geometry import STANDARD, Geometry
from connectx.heuristic import evaluate
from connectx.jit import jitable, njit, popcount
from connectx.position import column_cells, has_line, key_of, mirror_bits, open_cells, winning_spots
from connectx.search import safe_moves
from connectx.solver import JOB, JOB_LOW, SPAN, Solver
from connectx.weights import pack, unpack
from console.files import write_whole
from console.progress import progress
from training.book import parse_line, read_lines
from training.options import option
from training.workers import check_table_bits, worker_pool

RECIPE = 1  # changes whenever the positions of a seed do
FULL = -128  # the score of a column that takes no stone
RANDOM_PLAY, NEAR_PERFECT_PLAY, BOOK = range(3)  # origins
LATE, EARLY = "late", "early"
# Shares of the plies, as what they cost allows: with 8 stones a second for each position, with 17 it is 3 ms.
MIXES = {
    LATE: dict(enumerate([60, 90, 150, 250, 500, 1000, 2000, 4000, 8000, 16_000], 8))
    | dict.fromkeys(range(18, 34), 52_000)
    | dict.fromkeys(range(34, 41), 20_000),
    EARLY: dict(enumerate([300, 900, 2200, 4400, 9000, 18_000, 32_000, 50_000, 60_000, 60_000], 8)),
}
LARGEST_ERROR_SHARE = 0.4  # of the moves of a near-perfect game; the least is none
DEPTH = 3  # plies that near-perfect play looks ahead
EXACT_FROM = 22  # from this ply on its moves are the solver's
WON = 30_000
TRAINING, VALIDATION, TEST = range(3)  # splits
HELD_OUT = {False: 64, True: 20}  # one in so many is for validation, and one for test; more where there are few stones
FEW = 18  # stones: with fewer there are fewer labels
SPLIT_FACTOR = 0x9E3779B97F4A7C15  # odd: 2^64 over the golden ratio, which spreads keys well (Knuth)


@dataclass
class Config:
    """What ``train.py labels`` can be told."""

    positions: int = option(1_000_000, "positions from play, before duplicates are dropped")
    mix: str = option(LATE, "'late': mostly 18 and more stones, and the opening book; or 'early': 8 to 17 stones")
    seed: int = option(1, "of the games")
    workers: int = option(os.cpu_count() or 1, "processes")
    table_bits: int = option(22, "log2 of the entries of each worker's table, 8 bytes each")
    shard: int = option(4000, "positions in a file")
    book_scores: Path = option(Path("training/book-scores.txt"), "exact scores of opening positions, added as they are")
    output: Path = option(Path("data/labels"), "folder of the shards")

    def __post_init__(self) -> None:
        if self.mix not in MIXES:
            raise ValueError(f"mix should be {' or '.join(MIXES)}, not {self.mix!r}")
        if min(self.positions, self.workers, self.shard) < 1:
            raise ValueError(f"positions, workers and shard should be at least 1: {self}")
        check_table_bits(self.table_bits)


class Labels(NamedTuple):
    """Positions and the exact score of every move, seen by the side to move. All arrays have n rows."""

    positions: np.ndarray  # (n,) int64, stones of the side to move
    masks: np.ndarray  # (n,) int64, stones of both
    scores: np.ndarray  # (n, columns) int8, FULL where the column is full
    origins: np.ndarray  # (n,) uint8: RANDOM_PLAY, NEAR_PERFECT_PLAY or BOOK

    def __len__(self) -> int:
        return len(self.masks)

    def take(self, rows: np.ndarray) -> "Labels":
        return Labels(*(array[rows] for array in self))

    @property
    def plies(self) -> np.ndarray:
        """(n,) stones on the board."""
        return np.bitwise_count(self.masks)

    @property
    def values(self) -> np.ndarray:
        """(n,) int8, the exact score of each position: that of its best moves."""
        return self.scores.max(1)

    @property
    def legal(self) -> np.ndarray:
        """(n, columns) bool."""
        return self.scores != FULL

    @property
    def kept(self) -> np.ndarray:
        """(n, columns) bool: the moves that keep the result, win, draw or loss."""
        return self.legal & (np.sign(self.scores) == np.sign(self.values)[:, None])

    @property
    def perfect(self) -> np.ndarray:
        """(n, columns) bool: the moves of the best score, the quickest wins or slowest losses."""
        return self.scores == self.values[:, None]

    @property
    def decisive(self) -> np.ndarray:
        """(n,) bool: where not all legal moves keep the result."""
        return (self.legal & ~self.kept).any(1)


@jitable
def column_of_choice(weights):
    """An index drawn with probability proportional to its weight; -1 if all are 0."""
    total = 0.0
    for weight in weights:
        total += weight
    drawn = np.random.random() * total
    for index in range(len(weights)):
        drawn -= weights[index]
        if weights[index] > 0 and drawn < 0:
            return index
    return -1


@njit
def look_ahead(position, mask, depth, alpha, beta, geometry):
    """Fail-hard alpha-beta value for the mover, who has no line and against whom there is none; depth in plies."""
    if winning_spots(position, mask, geometry) & open_cells(mask, geometry):
        return WON - popcount(mask)
    moves = safe_moves(position, mask, geometry)
    if moves == 0:
        return 0 if mask == geometry.board_mask else popcount(mask) - WON
    if depth == 0:
        return evaluate(position, mask, geometry)
    for column in range(geometry.columns):
        move = moves & column_cells((column + geometry.columns // 2) % geometry.columns, geometry)
        if move:
            value = -look_ahead(position ^ mask, mask | move, depth - 1, -beta, -alpha, geometry)
            alpha = max(alpha, value)
            if alpha >= beta:
                return beta
    return alpha


@jitable
def weigh_random(position, mask, weights, geometry):
    """Every move that makes no line, alike."""
    wins = winning_spots(position, mask, geometry)
    for column in range(geometry.columns):
        move = open_cells(mask, geometry) & column_cells(column, geometry)
        weights[column] = 1.0 if move & ~wins else 0.0


@jitable
def weigh_best(position, mask, weights, geometry):
    """Every move of the best value that the look-ahead finds, alike."""
    best = -2 * WON
    for column in range(geometry.columns):
        move = open_cells(mask, geometry) & column_cells(column, geometry)
        weights[column] = 0.0
        if move == 0:
            continue
        value = WON
        if not has_line(position | move, geometry):
            value = -look_ahead(position ^ mask, mask | move, DEPTH - 1, -2 * WON, 1 - best, geometry)
        if value > best:
            best = value
            weights[:column] = 0.0
        if value == best:
            weights[column] = 1.0


@njit
def play_out(plies, error_share, geometry):
    """(position, mask) after a game of so many plies, (0, -1) if it ends before. ``error_share`` 1 is random play."""
    position = mask = 0
    weights = np.zeros(geometry.columns)
    for _ in range(plies):
        if np.random.random() < error_share:
            weigh_random(position, mask, weights, geometry)
        else:
            weigh_best(position, mask, weights, geometry)
        column = column_of_choice(weights)
        if column < 0:
            return 0, -1
        move = open_cells(mask, geometry) & column_cells(column, geometry)
        if has_line(position | move, geometry):
            return 0, -1
        position, mask = position ^ mask, mask | move
    return position, mask


@njit
def play_games(seed, plies, error_shares, geometry):
    """Positions and masks after games of the given plies, two (n,) int64; mask -1 where the game has ended before."""
    np.random.seed(seed)
    positions, masks = np.zeros(len(plies), np.int64), np.zeros(len(plies), np.int64)
    for game in range(len(plies)):
        positions[game], masks[game] = play_out(plies[game], error_shares[game], geometry)
    return positions, masks


def moves_of(masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The stone that each column would take: (n, columns) int64 of one bit each, 0 where the column is full."""
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    return open_cells(masks, geometry)[:, None] & columns


def score_moves(positions: np.ndarray, masks: np.ndarray, solver: Solver) -> np.ndarray:
    """The exact score of every move: (n, columns) int8, FULL where there is none. Nobody may have a line."""
    geometry = solver.geometry
    moves = moves_of(masks, geometry)
    wins = winning_spots(positions, masks, geometry)[:, None] & moves
    quickest = (geometry.cells + 1 - np.bitwise_count(masks).astype(np.int64)) // 2
    scores = np.where(wins != 0, quickest[:, None], FULL).astype(np.int8)
    rows, columns = np.nonzero((moves != 0) & (wins == 0))
    jobs = np.empty((len(rows), JOB), np.int64)
    jobs[:, 0], jobs[:, 1] = (positions ^ masks)[rows], masks[rows] | moves[rows, columns]
    jobs[:, 2:] = -SPAN, SPAN, -SPAN, SPAN  # all that is known, and all that is asked
    queue = jobs.reshape(-1)
    solver.work(queue)
    scores[rows, columns] = -queue[JOB_LOW::JOB]
    return scores


def canonical_keys(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """A number for each position that only its mirror image shares: (n,) int64."""
    mirrored = key_of(mirror_bits(positions, geometry), mirror_bits(masks, geometry))
    return np.minimum(key_of(positions, masks), mirrored)


def splits_of(positions: np.ndarray, masks: np.ndarray, geometry: Geometry = STANDARD) -> np.ndarray:
    """TRAINING, VALIDATION or TEST, for each position by its key: (n,) uint8. Mirror images share a split."""
    keys = canonical_keys(positions, masks, geometry).astype(np.uint64)
    spread = (keys * np.uint64(SPLIT_FACTOR)) >> np.uint64(40)
    drawn = spread % np.where(np.bitwise_count(masks) < FEW, HELD_OUT[True], HELD_OUT[False])
    return np.select([drawn == 0, drawn == 1], [TEST, VALIDATION], TRAINING).astype(np.uint8)


def labels_of(labels: Labels, split: int) -> Labels:
    """Those of TRAINING, VALIDATION or TEST. Raises ValueError if there are none."""
    chosen = labels.take(np.flatnonzero(splits_of(labels.positions, labels.masks) == split))
    if not len(chosen):
        raise ValueError("too few labels: a split is empty")
    return chosen


def plies_of_shard(number: int, size: int, mix: dict[int, int]) -> np.ndarray:
    """The plies of a shard's positions in the proportions of a mix, (size,) int64; rare ones take turns over shards."""
    shares = np.cumsum(list(mix.values())) / sum(mix.values())
    place = (np.arange(size) + (number * 0.6180339887) % 1) / size
    return np.array(list(mix))[np.searchsorted(shares, place, "right")]


def play_on(
    positions: np.ndarray, masks: np.ndarray, error_shares: np.ndarray, rng: np.random.Generator, solver: Solver
) -> tuple[np.ndarray, np.ndarray]:
    """One ply of exact play with errors; the positions after it, and mask -1 where the game is over."""
    scores = score_moves(positions, masks, solver).astype(np.int64)
    moves = moves_of(masks, solver.geometry)
    wins = winning_spots(positions, masks, solver.geometry)[:, None] & moves
    is_best = scores == scores.max(1, keepdims=True)
    wrong = (rng.random(len(masks)) < error_shares)[:, None]
    chances = np.where(wrong, (moves != 0) & (wins == 0), is_best) * rng.random(moves.shape)
    chosen = np.arange(len(masks)), chances.argmax(1)
    move = np.where((chances[chosen] > 0) & (wins[chosen] == 0), moves[chosen], 0)
    return positions ^ masks, np.where(move != 0, masks | move, -1)


def near_perfect_games(plies: np.ndarray, rng: np.random.Generator, solver: Solver) -> tuple[np.ndarray, np.ndarray]:
    """Positions and masks after near-perfect games of the given plies; mask -1 where the game has ended before."""
    error_shares = LARGEST_ERROR_SHARE * rng.random(len(plies))
    seed = int(rng.integers(1 << 32))
    positions, masks = play_games(seed, np.minimum(plies, EXACT_FROM), error_shares, solver.geometry)
    for ply in range(EXACT_FROM, int(plies.max(initial=0))):
        going = np.flatnonzero((plies > ply) & (masks >= 0))
        played = play_on(positions[going], masks[going], error_shares[going], rng, solver)
        positions[going], masks[going] = played
    return positions, masks


def random_games(plies: np.ndarray, rng: np.random.Generator, solver: Solver) -> tuple[np.ndarray, np.ndarray]:
    """Positions and masks after random games of the given plies; mask -1 where the game has ended before."""
    return play_games(int(rng.integers(1 << 32)), plies, np.ones(len(plies)), solver.geometry)


_solver: Solver | None = None  # of a worker process


def start_worker(table_bits: int) -> None:
    global _solver  # noqa: PLW0603 - a process has one table
    _solver = Solver(STANDARD, table_bits)


def make_shard(seed: int, number: int, size: int, mix: dict[int, int]) -> Labels:
    """The labels of one shard, in a worker."""
    assert _solver is not None
    rng = np.random.default_rng((seed, number))
    plies, origins = plies_of_shard(number, size, mix), (np.arange(size) + number) % 2
    positions, masks = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    for origin, play in ((RANDOM_PLAY, random_games), (NEAR_PERFECT_PLAY, near_perfect_games)):
        while (missing := np.flatnonzero((masks < 0) & (origins == origin))).size:
            positions[missing], masks[missing] = play(plies[missing], rng, _solver)
    return Labels(positions, masks, score_moves(positions, masks, _solver), origins.astype(np.uint8))


def book_labels(path: Path) -> Labels:
    """The positions of the opening book's score file, each once.

    Raises:
        ValueError: there is no such file, or it holds something else or nothing.
    """
    lines, _ = read_lines(path)
    known = [(position, scores) for position, scores in dict(map(parse_line, lines)).items() if not position.is_over()]
    if not known:
        raise ValueError(f"no scores in {path}: python train.py book makes them, --book-scores names another file")
    states = [position for position, _ in known]
    scores = [[FULL if score is None else score for score in of_moves] for _, of_moves in known]
    positions, masks = (np.array([state[part] for state in states], np.int64) for part in (0, 1))
    return Labels(positions, masks, np.array(scores, np.int8), np.full(len(states), BOOK, np.uint8))


def recipe_of(config: Config) -> dict[str, Any]:
    """What a shard's content depends on besides its number."""
    mix = {str(ply): count for ply, count in MIXES[config.mix].items()}
    return {"recipe": RECIPE, "seed": config.seed, "shard": config.shard, "geometry": list(STANDARD[:3]), "mix": mix}


def write_shard(path: Path, labels: Labels, recipe: dict[str, Any]) -> None:
    write_whole(path, pack(labels._asdict(), recipe))


def read_shard(path: Path) -> tuple[Labels, dict[str, Any]]:
    """The labels of one file, and its recipe.

    Raises:
        ValueError: the file is damaged or holds something else.
    """
    try:
        arrays, recipe = unpack(path.read_bytes())
        return Labels(**arrays), recipe
    except (ValueError, TypeError) as fault:
        raise ValueError(f"{path} is no shard of labels: {fault}") from None


def read_labels(folder: Path) -> Labels:
    """All labels of a folder and those within, each position (or its mirror image) once, in the order of their keys.

    Raises:
        ValueError: there are none, or a file is damaged.
    """
    shards = [read_shard(path)[0] for path in sorted(folder.rglob("*.shard"))]
    if not shards:
        raise ValueError(f"no labels in {folder}: python train.py labels makes them")
    labels = Labels(*(np.concatenate(arrays) for arrays in zip(*shards, strict=True)))
    _, first = np.unique(canonical_keys(labels.positions, labels.masks, STANDARD), return_index=True)
    return labels.take(first)


def missing_shards(config: Config) -> list[int]:
    """Numbers of the shards that are still to be made.

    Raises:
        ValueError: the folder holds shards of another recipe.
    """
    recipe, numbers = recipe_of(config), range(-(-config.positions // config.shard))
    present = {path.stem for path in config.output.glob("*.shard")}
    for stem in sorted(present)[:1]:
        found = read_shard(config.output / f"{stem}.shard")[1]
        if found != recipe:
            raise ValueError(f"{config.output} holds shards made by {found}, expected {recipe}")
    return [number for number in numbers if f"{number:05}" not in present]


def train(config: Config) -> None:
    """Makes the shards that are missing."""
    recipe, missing = recipe_of(config), missing_shards(config)
    shard = config.output / "book.shard"
    book = book_labels(config.book_scores) if config.mix == LATE and not shard.exists() else None
    config.output.mkdir(parents=True, exist_ok=True)
    if book:
        write_shard(shard, book, recipe)
    with worker_pool(config.workers, start_worker, (config.table_bits,)) as pool:
        made_as = config.shard, MIXES[config.mix]
        tasks = {pool.submit(make_shard, config.seed, number, *made_as): number for number in missing}
        with progress(len(tasks), "shard", delay=0) as bar:
            for task in as_completed(tasks):
                write_shard(config.output / f"{tasks[task]:05}.shard", task.result(), recipe)
                bar.update()
    labels = read_labels(config.output)
    counts = np.bincount(splits_of(labels.positions, labels.masks), minlength=3)
    print(f"{len(labels)} positions: {counts[0]} for training, {counts[1]} for validation, {counts[2]} for tests")
