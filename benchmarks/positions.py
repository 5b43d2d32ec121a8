"""Positions drawn from games, the same for the same seed; and six sets of the kinds of Pons' tutorial.

The sets are kept in runs/six-sets, a line "moves score nodes" for each position, columns from 1. Whoever asks for them
again gets them from there.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from connectx_core.books import openings
from connectx_core.clock import Budget
from connectx_core.position import STANDARD, Geometry, Position, plies_to_end
from connectx_core.solver import NO_LIMIT, Solver, job_of, read_queue
from connectx_toolkit.games.recipes import SOLVER_BITS, Choice, careful_choice, play_out, uniform_choice
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import write_whole

FOLDER = Path("runs/six-sets")


class Sample(NamedTuple):
    """A position, the moves that lead to it (columns from 0), and its score if known."""

    moves: tuple[int, ...]
    position: Position
    score: int | None = None
    nodes: int | None = None  # that the solver entered to find it


class Band(NamedTuple):
    """Positions for which the solver, with an empty table, enters at least and fewer than so many nodes."""

    least: int
    below: int
    share: float  # of a set


ANY_NODES = Band(0, NO_LIMIT, 1.0)


class Kind(NamedTuple):
    """A set of positions: inclusive bounds of the number of stones and of the moves left in perfect play."""

    name: str
    stones: tuple[int, int]
    left: tuple[int, int]
    bands: tuple[Band, ...] = (ANY_NODES,)

    def band(self, nodes: int | None) -> Band | None:
        """The band that so many nodes are in; None if they are in none."""
        return next((band for band in self.bands if nodes is not None and band.least <= nodes < band.below), None)

    def admits(self, sample: Sample, score: int) -> bool:
        left = plies_to_end(score, sample.position.ply, sample.position.geometry.cells)
        return self.left[0] <= left <= self.left[1]


# The six sets of Pons' tutorial (blog.gamesolver.org, part 2). How he made them is not published, but what they cost:
# 65.9 million nodes of his solver for a position of Begin-Hard, some 16 million of ours. Ours is random play up to a
# number of stones drawn uniformly from the range, without moves that make a line or, if avoidable, let the opponent
# make one at once.
#
# Begin-Easy and Begin-Medium have no positions with fewer than 7 stones: there are few. A set as hard as his Begin-Hard
# cannot do without them, for with 7 stones a position takes 2 million nodes on average, with 5 stones 4, with 4 stones
# 15, with 3 stones 30. So it has 3 to 13 stones; of ten positions three take 1 to 4 million nodes, three 4 to 16, four
# 16 to 128.
MILLION = 1_000_000
SIX_SETS = (
    Kind("End-Easy", (29, 41), (0, 13)),
    Kind("Middle-Easy", (14, 28), (0, 13)),
    Kind("Middle-Medium", (14, 28), (14, 28)),
    Kind("Begin-Easy", (7, 13), (0, 13)),
    Kind("Begin-Medium", (7, 13), (14, 28)),
    Kind(
        "Begin-Hard",
        (3, 13),
        (29, 42),
        (
            Band(1 * MILLION, 4 * MILLION, 0.3),
            Band(4 * MILLION, 16 * MILLION, 0.3),
            Band(16 * MILLION, 128 * MILLION, 0.4),
        ),
    ),
)


def random_samples(
    seed: int, stones: Sequence[int], geometry: Geometry = STANDARD, choose: Choice = uniform_choice
) -> Iterator[Sample]:
    """Positions from random play without lines; the number of stones of each is drawn from ``stones``.

    No two are equal or mirror images. Ends after 1,000 games in a row without a new one.
    """
    rng, seen, in_vain = random.Random(seed), set(), 0
    while in_vain < 1000:
        in_vain += 1
        moves = play_out(rng, geometry, rng.choice(stones), choose)
        position = None if moves is None else Position.from_moves(moves, geometry)
        if moves is not None and position is not None and position.canonical().key not in seen:
            seen.add(position.canonical().key)
            in_vain = 0
            yield Sample(moves, position)


def may_end_within(solver: Solver, position: Position, moves: int) -> bool:
    """Whether perfect play may end within that many moves. False is certain. It is much cheaper than the score."""
    cells, stones = solver.geometry.cells, position.ply
    if cells - stones <= moves:
        return True
    ends = {score: plies_to_end(score, stones, cells) for score in range(-cells, cells + 1)}
    quick = min(score for score in range(1, cells) if min(ends[score], ends[-score]) <= moves)
    queue = solver.queue([job_of(position, window=(1 - quick, quick - 1))])
    solver.work(queue)
    [value] = read_queue(queue)
    return value.low >= quick - 1 or value.high <= 1 - quick


def score_sample(kind: Kind, sample: Sample, solver: Solver) -> Sample | None:
    """The sample with its score and the nodes that finding it took; None if it is not of this kind."""
    known = openings().score(sample.position)
    if known is not None and not kind.admits(sample, known):
        return None
    if not may_end_within(solver, sample.position, kind.left[1]):
        return None
    if kind.bands != (ANY_NODES,):
        solver.clear()
    before = solver.nodes
    value = solver.solve(sample.position, Budget(nodes=kind.bands[-1].below))
    if not value.exact or not kind.admits(sample, value.low):
        return None
    return sample._replace(score=value.low, nodes=solver.nodes - before)


def choose_samples(kind: Kind, size: int, seed: int, solver: Solver, known: Sequence[Sample] = ()) -> Iterator[Sample]:
    """``size`` samples of one kind with their scores and nodes, from careful random play; others are dropped.

    Args:
        known: the first of them, which an earlier call has yielded and this one does not.
    """
    earlier = {sample.moves for sample in known}
    counts = Counter(kind.band(sample.nodes) for sample in known)
    for drawn in random_samples(seed, range(kind.stones[0], kind.stones[1] + 1), solver.geometry, careful_choice):
        if counts.total() == size:
            return
        if earlier:  # nothing new before the last of them
            earlier.discard(drawn.moves)
        elif sample := score_sample(kind, drawn, solver):
            band = kind.band(sample.nodes)
            if band is not None and counts[band] < math.ceil(size * band.share):
                counts[band] += 1
                yield sample


def line_of(sample: Sample) -> str:
    return f"{''.join(str(column + 1) for column in sample.moves)} {sample.score} {sample.nodes}"


def sample_of(line: str) -> Sample:
    """The sample in a line "moves score" or "moves score nodes", columns from 1. Raises ValueError if it is none."""
    moves, *numbers = line.split()
    columns = tuple(int(digit) - 1 for digit in moves)
    score, nodes = numbers if len(numbers) == 2 else (*numbers, "0")
    return Sample(columns, Position.from_moves(columns, STANDARD), int(score), int(nodes))


def six_set(kind: Kind, size: int, seed: int, folder: Path = FOLDER) -> list[Sample]:
    """The ``size`` samples of a set: those that the folder has, and then, kept there one by one, the others."""
    path = folder / f"{kind.name}-{size}-{seed}.txt"
    samples = [sample_of(line) for line in path.read_text().splitlines()] if path.exists() else []
    with progress(size, kind.name, done=len(samples)) as bar:
        for sample in choose_samples(kind, size, seed, Solver(STANDARD, SOLVER_BITS), tuple(samples)):
            samples.append(sample)
            write_whole(path, "".join(f"{line_of(each)}\n" for each in samples).encode())
            bar.update()
    return samples
