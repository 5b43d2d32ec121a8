"""Samples of positions, reproducible from a seed: from random play, and sets like the six of Pons."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from connectx.geometry import STANDARD, Geometry
from connectx.position import Position
from connectx.score import plies_to_end
from connectx.solver import Solver, job_of, read_queue


class Sample(NamedTuple):
    """A position, the moves that lead to it (columns from 0), and its score if known."""

    moves: tuple[int, ...]
    position: Position
    score: int | None = None

    @property
    def ply(self) -> int:
        return len(self.moves)


class Kind(NamedTuple):
    """A set of positions: inclusive bounds of the number of stones and of the moves left in perfect play."""

    name: str
    stones: tuple[int, int]
    left: tuple[int, int]


# The six sets of Pons' tutorial (blog.gamesolver.org, part 2). His recipe is not published. Ours is random play up to a
# number of stones drawn uniformly from the range, without moves that make a line or, if avoidable, let the opponent
# make one at once. Begin has no positions with fewer than 7 stones: there are few, and one takes as long as all others
# together.
SIX_SETS = (
    Kind("End-Easy", (29, 41), (0, 13)),
    Kind("Middle-Easy", (14, 28), (0, 13)),
    Kind("Middle-Medium", (14, 28), (14, 28)),
    Kind("Begin-Easy", (7, 13), (0, 13)),
    Kind("Begin-Medium", (7, 13), (14, 28)),
    Kind("Begin-Hard", (7, 13), (29, 42)),
)


Choice = Callable[[random.Random, Position, list[int]], int]


def play_out(rng: random.Random, geometry: Geometry, stones: int, choose: Choice) -> Sample | None:
    """A position with ``stones`` stones and no line; ``choose`` picks among moves without a line. None if stuck."""
    position, moves = Position.empty(geometry), []
    for _ in range(stones):
        winning = position.winning_columns()
        quiet = [column for column in position.legal_columns() if column not in winning]
        if not quiet:
            return None
        moves.append(choose(rng, position, quiet))
        position = position.play(moves[-1])
    return Sample(tuple(moves), position)


def uniform_choice(rng: random.Random, position: Position, columns: list[int]) -> int:
    """Any of the columns."""
    return rng.choice(columns)


def careful_choice(rng: random.Random, position: Position, columns: list[int]) -> int:
    """Any of the columns that do not let the opponent win at once; if there are none, any."""
    careful = [column for column in columns if not position.play(column).winning_columns()]
    return rng.choice(careful or columns)


def random_samples(
    seed: int, stones: Sequence[int], geometry: Geometry = STANDARD, choose: Choice = uniform_choice
) -> Iterator[Sample]:
    """Positions from random play without lines; the number of stones of each is drawn from ``stones``.

    No two are equal or mirror images. Ends after 1,000 games in a row without a new one.
    """
    rng, seen, in_vain = random.Random(seed), set(), 0
    while in_vain < 1000:
        in_vain += 1
        sample = play_out(rng, geometry, rng.choice(stones), choose)
        if sample is not None and sample.position.canonical().key not in seen:
            seen.add(sample.position.canonical().key)
            in_vain = 0
            yield sample


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


def labelled(kind: Kind, size: int, seed: int, solver: Solver) -> list[Sample]:
    """``size`` samples of one kind with their scores, from careful random play; other positions are dropped."""
    geometry, samples = solver.geometry, []
    for sample in random_samples(seed, range(kind.stones[0], kind.stones[1] + 1), geometry, careful_choice):
        if not may_end_within(solver, sample.position, kind.left[1]):
            continue
        score = solver.solve(sample.position).low
        if kind.left[0] <= plies_to_end(score, sample.ply, geometry.cells) <= kind.left[1]:
            samples.append(sample._replace(score=score))
            if len(samples) == size:
                break
    return samples
