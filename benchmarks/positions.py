"""Samples of positions, reproducible from a seed: random play, near-perfect play, and Pons' six sets."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from connectx.geometry import STANDARD, Geometry
from connectx.position import Position
from connectx.solver import Solver


class Sample(NamedTuple):
    """A position, how it came about (columns from 0, in the order played), and its score if known."""

    moves: tuple[int, ...]
    position: Position
    score: int | None = None

    @property
    def ply(self) -> int:
        return len(self.moves)


class Kind(NamedTuple):
    """A set of positions: bounds of the stones on the board and of the moves left in perfect play, inclusive."""

    name: str
    stones: tuple[int, int]
    left: tuple[int, int]


# The six sets of Pons' tutorial (blog.gamesolver.org, part 2). His recipe is not published; ours is uniform random play
# to a number of stones drawn uniformly from the range, without a move that makes a line. Fewer than 7 stones are left
# out of Begin: there are few such positions, and one takes as long as all others together.
SIX_SETS = (
    Kind("End-Easy", (29, 41), (0, 13)),
    Kind("Middle-Easy", (14, 28), (0, 13)),
    Kind("Middle-Medium", (14, 28), (14, 28)),
    Kind("Begin-Easy", (7, 13), (0, 13)),
    Kind("Begin-Medium", (7, 13), (14, 28)),
    Kind("Begin-Hard", (7, 13), (29, 42)),
)


def play_out(
    rng: random.Random, geometry: Geometry, stones: int, choose: Callable[[random.Random, Position, list[int]], int]
) -> Sample | None:
    """A position of ``stones`` stones without a line, choosing among moves that make none; None at a dead end."""
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


def random_samples(seed: int, stones: Sequence[int], geometry: Geometry = STANDARD) -> Iterator[Sample]:
    """Positions by uniform random play that makes no line; each has a number of stones drawn from ``stones``.

    No two are the same position or mirrored. Ends when 1,000 games in a row bring nothing new.
    """
    rng, seen, in_vain = random.Random(seed), set(), 0
    while in_vain < 1000:
        in_vain += 1
        sample = play_out(rng, geometry, rng.choice(stones), uniform_choice)
        if sample is not None and min(sample.position.key, sample.position.mirror().key) not in seen:
            seen.add(min(sample.position.key, sample.position.mirror().key))
            in_vain = 0
            yield sample


def moves_left(score: int, stones: int, cells: int) -> int:
    """Moves to the end of the game in perfect play, the last one included, from the score of the side to move."""
    if score == 0:
        return cells - stones
    last = cells + 1 - 2 * abs(score)  # stones before the winning one: this or one less, by who wins
    last -= (last - stones) % 2 != (score < 0)
    return last + 1 - stones


def labelled(kind: Kind, size: int, seed: int, solver: Solver) -> list[Sample]:
    """``size`` samples of one kind with their scores: random positions, those of other kinds left out."""
    geometry, samples = solver.geometry, []
    for sample in random_samples(seed, range(kind.stones[0], kind.stones[1] + 1), geometry):
        score = solver.solve(sample.position).low
        if kind.left[0] <= moves_left(score, sample.ply, geometry.cells) <= kind.left[1]:
            samples.append(sample._replace(score=score))
            if len(samples) == size:
                break
    return samples
