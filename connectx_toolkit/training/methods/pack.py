"""Packs the labels of a folder into a few files that a repository can hold; see ``training.data.packed`` for the forms.

``scores``: the scores alone, a file for every ``--block`` shards. The games are not kept: ``train.py labels`` plays
them again and takes the scores from here. Only files to which shards were added are written again, so that a folder
that is still growing can be packed now and then.

``labels``: positions, too, in one file, which ``distill`` and ``leaf`` read as they are. For what has no recipe of its
own, and for games that need the solver.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from connectx_toolkit.console.files import write_whole
from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.data.packed import (
    ShardScores,
    digest_of,
    pack_labels,
    pack_scores,
    read_packed,
    searched_scores,
)
from connectx_toolkit.training.data.shards import read_labels, read_shard
from connectx_toolkit.training.support.options import Options, option

SCORES, LABELS = "scores", "labels"
MEGABYTE = 1_000_000


@dataclass
class Config(Options):
    """Options of ``train.py pack``."""

    METHOD = "pack"

    labels: Path = option(Path("data/labels"), "folder of shards that train.py labels has made")
    form: str = option(SCORES, "'scores': without the positions; 'labels': with them", among=(SCORES, LABELS))
    block: int = option(25, "shards in a file of scores", least=1)
    limit: float = option(8.0, "megabytes that the output folder may hold in all", above=0)
    output: Path = option(Path("runs/pack"), "folder for the files")


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_within(limit: float, folder: Path, path: Path, content: bytes) -> None:
    """Writes a file of a folder. Raises ValueError if the folder would hold more than ``limit`` megabytes."""
    before = path.stat().st_size if path.exists() else 0
    size = folder_size(folder) - before + len(content)
    if size > limit * MEGABYTE:
        raise ValueError(f"{path} would make {folder} hold {size / MEGABYTE:.2f} MB, above its limit of {limit:g}")
    write_whole(path, content)


def blocks(folder: Path, size: int) -> Iterator[tuple[int, dict[int, Path]]]:
    """(number of a file, its shards by number), of the shards of a folder that are numbered."""
    numbers = sorted(int(path.stem) for path in folder.glob("*.shard") if path.stem.isdecimal())
    for number, members in groupby(numbers, lambda number: number // size):
        yield number, {member: folder / f"{member:05}.shard" for member in members}


def scores_in(shards: dict[int, Path]) -> tuple[dict[int, ShardScores], dict[str, Any]]:
    """The scores of some shards, and their recipe. Raises ValueError if it is not one."""
    found, recipes = {}, []
    for number, path in shards.items():
        labels, recipe = read_shard(path)
        kept = searched_scores(labels.positions, labels.masks, labels.scores)
        found[number] = ShardScores(digest_of(labels.positions, labels.masks), kept)
        recipes.append(recipe)
        if recipe != recipes[0]:
            raise ValueError(f"{path} was made by {recipe}, the others by {recipes[0]}")
    return found, recipes[0]


def is_packed(path: Path, shards: dict[int, Path]) -> bool:
    """Whether a file has the scores of these shards already; they never change.

    Raises:
        ValueError: it has those of other shards.
    """
    if not path.exists():
        return False
    (packed, before), now = read_packed(path), read_shard(next(iter(shards.values())))[1]
    if before != now:
        raise ValueError(f"{path} has the scores of shards made by {before}, not by {now}: give another --output")
    return set(shards) <= set(packed)


def pack_scores_of(config: Config) -> int:
    """Writes the files to which shards were added; returns the number of shards in all of them."""
    files = list(blocks(config.labels, config.block))
    if not files:
        raise ValueError(f"no shards in {config.labels}: python train.py labels makes them")
    with progress(len(files), "file") as bar:
        for number, shards in files:
            path = config.output / f"{number:05}.scores"
            if not is_packed(path, shards):
                write_within(config.limit, config.output, path, pack_scores(*scores_in(shards)))
            bar.update()
    return sum(len(shards) for _, shards in files)


def pack_labels_of(config: Config) -> int:
    """Writes the file with positions; returns the number of shards in it."""
    paths = sorted(config.labels.rglob("*.shard"))
    recipes: list[Any] = []
    for path in paths:
        recipe = read_shard(path)[1]
        recipes += [] if recipe in recipes else [recipe]
    content = pack_labels(read_labels(config.labels)._asdict(), recipes)
    write_within(config.limit, config.output, config.output / f"{config.labels.name}.labels", content)
    return len(paths)


def train(config: Config) -> None:
    """Packs, and prints what the output folder holds."""
    count = (pack_scores_of if config.form == SCORES else pack_labels_of)(config)
    print(f"{config.output}: {folder_size(config.output) / MEGABYTE:.2f} MB; has {count} shards of {config.labels}")
