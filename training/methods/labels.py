"""Makes positions of 7x6 with the exact score of every move, by our own solver, on all cores; resumable.

Recipe. Every position comes from a game of its own: half from uniform random play, half from near-perfect play, see
``training.data.sampling``. The number of stones follows one of the ``MIXES``: the solver takes twice as long with each
ply fewer, so that the mix "late" has few positions below ply 16, and the mix "early", of those plies alone, is worth
about as much time for each. Random games do not make lines; near-perfect ones may, and are then played again. The
positions of the opening book's score file are added to the late ones.

A shard depends on the seed and its number alone. An interrupted run goes on with the shards that are missing.
"""

import os
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from connectx.geometry import STANDARD
from console.progress import progress
from training.data.sampling import near_perfect_games, random_games, score_moves
from training.data.shards import (
    NEAR_PERFECT_PLAY,
    RANDOM_PLAY,
    Labels,
    book_labels,
    read_labels,
    read_shard,
    splits_of,
    write_shard,
)
from training.support.options import Options, option
from training.support.pool import LARGEST_TABLE, process_solver, solver_pool

RECIPE = 1  # changes whenever the positions of a seed do
LATE, EARLY = "late", "early"
# Shares of the plies, as what they cost allows: with 8 stones a second for each position, with 17 it is 3 ms.
MIXES = {
    LATE: dict(enumerate([60, 90, 150, 250, 500, 1000, 2000, 4000, 8000, 16_000], 8))
    | dict.fromkeys(range(18, 34), 52_000)
    | dict.fromkeys(range(34, 41), 20_000),
    EARLY: dict(enumerate([300, 900, 2200, 4400, 9000, 18_000, 32_000, 50_000, 60_000, 60_000], 8)),
}


@dataclass
class Config(Options):
    """Options of ``train.py labels``."""

    positions: int = option(1_000_000, "positions from play, before duplicates are dropped", least=1)
    mix: str = option(
        LATE, "'late': mostly 18 and more stones, and the opening book; or 'early': 8 to 17 stones", among=(LATE, EARLY)
    )
    seed: int = option(1, "seed of the games")
    workers: int = option(os.cpu_count() or 1, "number of processes", least=1)
    table_bits: int = option(
        22, "log2 of the number of entries (8 bytes each) in each process's table", least=2, most=LARGEST_TABLE
    )
    shard: int = option(4000, "positions per file", least=1)
    book_scores: Path = option(Path("training/book-scores.txt"), "scores of the opening book, added to the mix 'late'")
    output: Path = option(Path("data/labels"), "folder for the shards")


def plies_of_shard(number: int, size: int, mix: dict[int, int]) -> np.ndarray:
    """The plies of a shard's positions, in the proportions of a mix: (size,) int64. Rare plies are in some shards."""
    shares = np.cumsum(list(mix.values())) / sum(mix.values())
    place = (np.arange(size) + (number * 0.6180339887) % 1) / size
    return np.array(list(mix))[np.searchsorted(shares, place, "right")]


def make_shard(seed: int, number: int, size: int, mix: dict[int, int]) -> Labels:
    """The labels of one shard, in a worker."""
    solver = process_solver()
    rng = np.random.default_rng((seed, number))
    plies, origins = plies_of_shard(number, size, mix), (np.arange(size) + number) % 2
    positions, masks = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    for origin, play in ((RANDOM_PLAY, random_games), (NEAR_PERFECT_PLAY, near_perfect_games)):
        while (missing := np.flatnonzero((masks < 0) & (origins == origin))).size:
            positions[missing], masks[missing] = play(plies[missing], rng, solver)
    return Labels(positions, masks, score_moves(positions, masks, solver), origins.astype(np.uint8))


def recipe_of(config: Config) -> dict[str, Any]:
    """What a shard's content depends on besides its number."""
    mix = {str(ply): count for ply, count in MIXES[config.mix].items()}
    return {"recipe": RECIPE, "seed": config.seed, "shard": config.shard, "geometry": list(STANDARD[:3]), "mix": mix}


def missing_shards(config: Config) -> list[int]:
    """The numbers of the shards that are still to be made.

    Raises:
        ValueError: the folder has shards of another recipe.
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
    with solver_pool(config.workers, config.table_bits) as pool:
        made_as = config.shard, MIXES[config.mix]
        tasks = {pool.submit(make_shard, config.seed, number, *made_as): number for number in missing}
        with progress(len(tasks), "shard", delay=0) as bar:
            for task in as_completed(tasks):
                write_shard(config.output / f"{tasks[task]:05}.shard", task.result(), recipe)
                bar.update()
    labels = read_labels(config.output)
    counts = np.bincount(splits_of(labels.positions, labels.masks), minlength=3)
    print(f"{len(labels)} positions: {counts[0]} for training, {counts[1]} for validation, {counts[2]} for tests")
