"""Makes positions of 7x6 with the exact score of every move, by our own solver, on all cores; resumable.

Recipe. Every position comes from a game of its own: half from uniform random play, half from near-perfect play, see
``training.data.sampling``. The number of stones follows one of the ``MIXES``: the solver takes twice as long with each
ply fewer, so that the mix "late" has few positions below ply 16, and the mix "early", of those plies alone, is worth
about as much time for each. Random games do not make lines; near-perfect ones may, and are then played again. The
positions of the opening book's score file are added to the late ones. The mix "varied" has 9 to 20 stones from games of
other kinds, a quarter of each: random, half-random, careful, and of agents of many strengths. The mix "hard" has 8 to
16 stones, only positions that the solver itself takes long for, and costs many times as much. The mix "choices" has 10
to 30 stones from games of all kinds but half-random ones, and only positions with a choice: nobody wins at once, and
two or more moves do not lose at once. In others a network that judges replies has nothing to learn; they are a half of
the varied positions, and nearly three quarters of the late ones. The mix "walks" has such positions of 8 to 16 stones,
where networks err most, and several of each game of all kinds, in their order, because the solver's table then knows
something of each from the one before. The mix "late-walks" is the same of 11 to 20 stones, at a third of the cost.

With ``--judge``, the file of a network that judges replies, walks have only positions where that network
doubts its own move (``training.data.doubts``): those that it has most to learn from. A network of 1.7 million
parameters plays 97% of the others perfectly. With ``--doubt results``, only those where another move may have a better
result.

The mix "openings" comes from no games: it is all of plies 0 to 8. The table of the openings knows plies 0 to 7 with the
scores of all their moves at once. It knows the scores of ply 8, too, but not those of its moves, which the solver finds
in 0.5 s for each position; the seed shuffles them, so that a part of them is a fair sample.

With ``--bounds``, what the solver's table says of other positions is kept, too, in a file beside each shard
(``training.data.bounds``): for every label hundreds of positions of 9 to 21 stones, and of each an interval that
contains its score. It costs next to nothing, but needs the solver: packed scores are not used then.

A shard depends on the seed and its number alone. An interrupted run goes on with the shards that are missing. Where
``train.py pack`` has kept the scores of a shard, only its games are played again, which takes a tenth of the time.
"""

import os
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.geometry import STANDARD
from connectx.nets.network import REPLIES, PlainNetwork
from connectx.openings import openings
from connectx_toolkit.console.progress import progress
from connectx_toolkit.places import BOOK_SCORES
from connectx_toolkit.training.data.bounds import SUFFIX, Bounds, gleaned, write_bounds
from connectx_toolkit.training.data.doubts import DOUBTFUL, DOUBTS, RESULTS, SCORES, doubts
from connectx_toolkit.training.data.packed import ShardScores, completed, digest_of, read_scores_for
from connectx_toolkit.training.data.sampling import (
    Play,
    agents_games,
    agents_style,
    careful_games,
    careful_style,
    half_random_games,
    half_random_style,
    hard_games,
    near_perfect_games,
    near_perfect_style,
    random_games,
    random_style,
    score_moves,
    walks,
    with_a_choice,
)
from connectx_toolkit.training.data.shards import (
    AGENTS_PLAY,
    CAREFUL_PLAY,
    HALF_RANDOM_PLAY,
    HARD_PLAY,
    NEAR_PERFECT_PLAY,
    OPENING,
    RANDOM_PLAY,
    Labels,
    book_labels,
    opening_labels,
    read_labels,
    read_shard,
    splits_of,
    write_shard,
)
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.pool import LARGEST_TABLE, process_solver, solver_pool

RECIPE = 1  # changes whenever the positions of a seed do
LATE, EARLY, VARIED, CHOICES = "late", "early", "varied", "choices"
WALKS, LATE_WALKS, HARD, OPENINGS = "walks", "late-walks", "hard", "openings"
# Shares of the plies, as what they cost allows: with 8 stones a second for each position, with 17 it is 3 ms.
MIXES = {
    LATE: dict(enumerate([60, 90, 150, 250, 500, 1000, 2000, 4000, 8000, 16_000], 8))
    | dict.fromkeys(range(18, 34), 52_000)
    | dict.fromkeys(range(34, 41), 20_000),
    EARLY: dict(enumerate([300, 900, 2200, 4400, 9000, 18_000, 32_000, 50_000, 60_000, 60_000], 8)),
    VARIED: dict(enumerate([4, 8, 14, 24, 38, 54, 68, 80, 92, 100, 100, 100], 9)),
    HARD: dict(enumerate([2, 5, 10, 16, 20, 20, 16, 8, 4], 8)),
    CHOICES: dict(enumerate([3, 6, 12, 25, 50, 80], 10)) | dict.fromkeys(range(16, 28), 100) | {28: 60, 29: 40, 30: 20},
    WALKS: {8: 6, 9: 24, 10: 70},  # the first of each game
    LATE_WALKS: {11: 25, 12: 75},  # the same
}
WALKS_END = {WALKS: 16, LATE_WALKS: 20}  # the last ply of each game, if it comes to it
GLEANED_AT_ONCE = 500  # positions of a shard
WALKS_LENGTH = 5  # positions of a game, about
WALKS_A_DOUBT = {SCORES: 4, RESULTS: 14}  # positions for each that a network doubts, about
TWO_KINDS = ((RANDOM_PLAY, random_games), (NEAR_PERFECT_PLAY, near_perfect_games))
QUICK_KINDS = (  # half-random games that come to a choice take ten times as long as the solver
    (CAREFUL_PLAY, careful_games),
    (NEAR_PERFECT_PLAY, near_perfect_games),
    (AGENTS_PLAY, agents_games),
    (RANDOM_PLAY, random_games),
)
PLAY: dict[str, tuple[tuple[int, Play], ...]] = {  # the kinds of games of each mix, which take turns
    LATE: TWO_KINDS,
    EARLY: TWO_KINDS,
    VARIED: (
        (RANDOM_PLAY, random_games),
        (HALF_RANDOM_PLAY, half_random_games),
        (CAREFUL_PLAY, careful_games),
        (AGENTS_PLAY, agents_games),
    ),
    HARD: ((HARD_PLAY, hard_games),),
    CHOICES: tuple((origin, partial(with_a_choice, play)) for origin, play in QUICK_KINDS),
}
WALKING = {  # the styles of the games of walks, which take turns
    CAREFUL_PLAY: careful_style,
    NEAR_PERFECT_PLAY: near_perfect_style,
    AGENTS_PLAY: agents_style,
    RANDOM_PLAY: random_style,
    HALF_RANDOM_PLAY: half_random_style,
}


@dataclass
class Config(Options):
    """Options of ``train.py labels``."""

    METHOD = "labels"

    positions: int = option(1_000_000, "positions from play, before duplicates are dropped", least=1)
    mix: str = option(
        LATE,
        "'late': mostly 18 and more stones, and the opening book; 'early': 8 to 17 stones; 'varied': 9 to 20 stones, "
        "of other kinds of play; 'choices': 10 to 30 stones, with a choice; 'walks': such of 8 to 16 "
        "stones, some of each game; 'late-walks': of 11 to 20; 'hard': 8 to 16 stones, hard to solve; "
        "'openings': all of 0 to 8",
        among=(LATE, EARLY, VARIED, CHOICES, WALKS, LATE_WALKS, HARD, OPENINGS),
    )
    seed: int = option(1, "seed of the games")
    workers: int = option(os.cpu_count() or 1, "number of processes", least=1, is_free=True)
    table_bits: int = option(
        22,
        "log2 of the number of entries (8 bytes each) in each process's table",
        least=2,
        most=LARGEST_TABLE,
        is_free=True,
    )
    shard: int = option(4000, "positions per file", least=1)
    judge: str = option("", "file of a network: of walks only positions where it doubts its own move", reads=(".bin",))
    doubt: str = option(
        SCORES,
        "what it doubts, 'scores': that no move has a better result or score; 'results': a result, in half as many",
        among=(SCORES, RESULTS),
    )
    bounds: int = option(0, "bounds to keep from the solver's table for each position that it labels", least=0)
    book_scores: Path = option(BOOK_SCORES, "scores of the opening book, added to the mix 'late'", reads=(".txt",))
    packed: Path = option(Path("runs/pack"), "folder with packed scores, which need no solving again")
    output: Path = option(Path("runs/labels"), "folder for the shards")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.doubt != SCORES and not self.judge:
            raise ValueError("doubt needs a network that doubts, --judge")
        if self.judge and self.mix not in WALKS_END:
            raise ValueError(f"judge is for the mixes {WALKS} and {LATE_WALKS}, not {self.mix}")


def plies_of_shard(number: int, size: int, mix: dict[int, int]) -> np.ndarray:
    """The plies of a shard's positions, in the proportions of a mix: (size,) int64. Rare plies are in some shards."""
    shares = np.cumsum(list(mix.values())) / sum(mix.values())
    place = (np.arange(size) + (number * 0.6180339887) % 1) / size
    return np.array(list(mix))[np.searchsorted(shares, place, "right")]


class Unlabelled(NamedTuple):
    """The positions of a shard."""

    positions: np.ndarray  # (n,) int64
    masks: np.ndarray  # (n,) int64
    origins: np.ndarray  # (n,) uint8
    values: np.ndarray | None = None  # (n,) their exact scores, if they are known


def play_shard(
    seed: int, size: int, mix: dict[int, int], kinds: tuple[tuple[int, Play], ...], number: int
) -> Unlabelled:
    """The positions of a shard from play, in a worker."""
    solver = process_solver()
    rng = np.random.default_rng((seed, number))
    plies, turns = plies_of_shard(number, size, mix), (np.arange(size) + number) % len(kinds)
    positions, masks = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    for turn, (_, play) in enumerate(kinds):
        while (missing := np.flatnonzero((masks < 0) & (turns == turn))).size:
            positions[missing], masks[missing] = play(plies[missing], rng, solver)
    return Unlabelled(positions, masks, np.array([origin for origin, _ in kinds], np.uint8)[turns])


def walk_shard(
    seed: int, size: int, mix: str, number: int, judge: PlainNetwork | None = None, doubt: str = SCORES
) -> Unlabelled:
    """The positions of a shard of walks, some ``size`` of them, in a worker; of a judge only those that it doubts."""
    rng = np.random.default_rng((seed, number))
    games = size // WALKS_LENGTH * (1 if judge is None else WALKS_A_DOUBT[doubt])
    first = rng.permutation(plies_of_shard(number, games, MIXES[mix]))
    positions, masks, turns = walks(tuple(WALKING.values()), first, WALKS_END[mix], rng, STANDARD)
    rows = slice(None) if judge is None else np.flatnonzero(doubts(judge, positions, masks, doubt) >= DOUBTFUL[doubt])
    return Unlabelled(positions[rows], masks[rows], np.array(list(WALKING), np.uint8)[turns[rows]])


def choose_openings(seed: int, size: int, number: int) -> Unlabelled:
    """The positions of a shard of ply 8."""
    (positions, masks), scores = openings().last_layer()
    rows = np.random.default_rng(seed).permutation(len(masks))[number * size : (number + 1) * size]
    rows.sort()  # neighbours share subtrees
    return Unlabelled(positions[rows], masks[rows], np.full(len(rows), OPENING, np.uint8), scores[rows])


def judge_of(config: Config) -> PlainNetwork | None:
    """The network whose doubts choose the positions; None where there is none.

    Raises:
        ValueError: its file is damaged, or it judges positions themselves.
        OSError: its file cannot be read.
    """
    if not config.judge:
        return None
    network = PlainNetwork.from_bytes(Path(config.judge).read_bytes())
    if network.architecture.judges != REPLIES or network.architecture.geometry != STANDARD:
        raise ValueError(f"{config.judge} should be a network of 7x6 that judges replies")
    return network


def positions_maker(config: Config) -> Callable[[int], Unlabelled]:
    """Makes the positions of the shard of a number, in a worker."""
    if config.mix == OPENINGS:
        return partial(choose_openings, config.seed, config.shard)
    if config.mix in WALKS_END:
        return partial(walk_shard, config.seed, config.shard, config.mix, judge=judge_of(config), doubt=config.doubt)
    return partial(play_shard, config.seed, config.shard, MIXES[config.mix], PLAY[config.mix])


class Made(NamedTuple):
    """A shard."""

    labels: Labels
    bounds: Bounds | None = None


def make_shard(positions_of: Callable[[int], Unlabelled], kept: ShardScores | None, bounds: int, number: int) -> Made:
    """A shard, in a worker.

    Args:
        kept: its scores, if they are known.
        bounds: how many to keep for each position; more than 0 needs the solver.

    Raises:
        ValueError: they are those of other positions.
    """
    unlabelled = positions_of(number)
    positions, masks, origins, values = unlabelled
    if bounds:
        return solve_and_glean(unlabelled, bounds, np.random.default_rng(number))
    if kept is None:
        return Made(Labels(positions, masks, score_moves(positions, masks, process_solver(), values), origins))
    if digest_of(positions, masks) != kept.digest:
        raise ValueError(
            f"the packed scores of shard {number} are of other games than are played here (code, numpy or numba "
            "differ): --packed none solves them anew"
        )
    return Made(Labels(positions, masks, completed(positions, masks, kept.scores), origins))


def solve_and_glean(unlabelled: Unlabelled, share: int, rng: np.random.Generator) -> Made:
    """The shard and ``share`` bounds for each of its positions, part by part, each with a table that is empty at first.

    In a part of ``GLEANED_AT_ONCE`` the solver proves more than the table of 2 ** 22 entries holds by a half.
    """
    solver, scores, found = process_solver(), [], []
    positions, masks, origins, values = unlabelled
    for start in range(0, len(masks), GLEANED_AT_ONCE):
        part = slice(start, start + GLEANED_AT_ONCE)
        solver.clear()
        scores.append(score_moves(positions[part], masks[part], solver, None if values is None else values[part]))
        found.append(gleaned(solver, share * len(masks[part]), rng))
    bounds = Bounds(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
    return Made(Labels(positions, masks, np.concatenate(scores), origins), bounds)


def recipe_of(config: Config) -> dict[str, Any]:
    """What a shard's content depends on besides its number."""
    mix = {str(ply): count for ply, count in MIXES.get(config.mix, {}).items()} or OPENINGS
    recipe = {"recipe": RECIPE, "seed": config.seed, "shard": config.shard, "geometry": list(STANDARD[:3]), "mix": mix}
    if not config.judge:
        return recipe
    judge = sha256(Path(config.judge).read_bytes()).hexdigest()
    return recipe | {"judge": judge, "doubtful": DOUBTFUL[config.doubt], "doubts": DOUBTS, "doubt": config.doubt}


def missing_shards(config: Config) -> list[int]:
    """The numbers of the shards that are still to be made.

    Raises:
        ValueError: the folder has shards of another recipe.
    """
    available = len(openings().last_layer()[1]) if config.mix == OPENINGS else config.positions
    recipe, numbers = recipe_of(config), range(-(-min(config.positions, available) // config.shard))
    present = {path.stem for path in config.output.glob("*.shard")}
    whole = present & {path.stem for path in config.output.glob(f"*{SUFFIX}")} if config.bounds else present
    for stem in sorted(present)[:1]:
        found = read_shard(config.output / f"{stem}.shard")[1]
        if found != recipe:
            raise ValueError(f"{config.output} holds shards made by {found}, expected {recipe}")
    return [number for number in numbers if f"{number:05}" not in whole]


def write_ready_shard(config: Config) -> bool:
    """Writes the labels that need no solving, those of the opening book or of the table; False if they are there.

    Raises:
        ValueError: the labels that are there are others.
    """
    if config.mix not in (LATE, OPENINGS):
        return False
    shard = config.output / ("book.shard" if config.mix == LATE else "table.shard")
    labels = book_labels(config.book_scores) if config.mix == LATE else opening_labels()
    if not shard.exists():
        write_shard(shard, labels, recipe_of(config))
        return True
    if not all(np.array_equal(one, other) for one, other in zip(read_shard(shard)[0], labels, strict=True)):
        raise ValueError(f"{shard} was made from other scores than these: choose another --output, or delete it")
    return False


def train(config: Config) -> None:
    """Makes the shards that are missing. Raises ValueError if there are none."""
    recipe, missing = recipe_of(config), missing_shards(config)
    kept, positions_of = read_scores_for(config.packed, recipe), positions_maker(config)
    if not write_ready_shard(config) and not missing:
        raise ValueError(f"{config.output} is finished: choose another --output, or more --positions")
    with solver_pool(config.workers, config.table_bits) as pool:
        tasks = {
            pool.submit(make_shard, positions_of, kept.get(number), config.bounds, number): number for number in missing
        }
        with progress(len(tasks), "shard", delay=0) as bar:
            for task in as_completed(tasks):
                path, made = config.output / f"{tasks[task]:05}.shard", task.result()
                write_shard(path, made.labels, recipe)
                if made.bounds is not None:
                    write_bounds(path.with_suffix(SUFFIX), made.bounds, recipe | {"bounds": config.bounds})
                bar.update()
    labels = read_labels(config.output)
    counts = np.bincount(splits_of(labels.positions, labels.masks), minlength=3)
    print(f"{len(labels)} positions: {counts[0]} for training, {counts[1]} for validation, {counts[2]} for tests")
