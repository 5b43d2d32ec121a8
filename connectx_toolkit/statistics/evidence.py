"""What the games of two agents prove together. A pair of games that repeats an earlier one is a copy, not new evidence.

Deterministic agents play the same games again from the same opening. So the pairs from one opening together weigh as
much as there are different ones among them, and their results keep their shares: ten copies of one pair weigh as one,
ten different pairs as ten. Whether such variants of play say something beyond the openings played is decided with an
opening as one observation (``connectx_toolkit.statistics.intervals.by_openings``). Openings that are mirror images of
each other, or lead to the same position by another order of moves, are one opening.
"""

from collections.abc import Iterable
from typing import NamedTuple

from connectx_core.position import Geometry, Position
from connectx_toolkit.statistics.intervals import mean_and_variance, pentanomial

Moves = tuple[int, ...]
EMPTY_BOARD = 0  # its key


class PairOfGames(NamedTuple):
    """Two games from the same opening with swapped seats, and what the first agent made of them."""

    opening: int  # key of the opening's position, the same for its mirror image
    games: tuple[Moves, Moves]  # the moves after it; first the game in which the first agent moves first
    points: float  # 0 to 2

    def from_other_side(self) -> "PairOfGames":
        """The pair as the second agent sees it."""
        return PairOfGames(self.opening, self.games[::-1], 2 - self.points)


def pair_of(moves: tuple[Moves, Moves], opening: int, points: float, geometry: Geometry) -> PairOfGames:
    """The pair of two whole games, whose first ``opening`` plies are the opening."""
    start = Position.from_moves(moves[0][:opening], geometry)
    games = [game[opening:] for game in moves]
    mirrored = [tuple(geometry.columns - 1 - column for column in game) for game in games]
    key, image = start.key, start.mirror().key
    if key == image:  # each game has two images, whatever the other one is
        games = [min(both) for both in zip(games, mirrored, strict=True)]
    first, second = games if key <= image else mirrored
    return PairOfGames(min(key, image), (first, second), points)


class _Cluster:
    """The pairs from one opening."""

    def __init__(self) -> None:
        self.results = [0] * 5
        self.different: set[tuple[Moves, Moves]] = set()

    def is_distinct(self, pair: PairOfGames) -> bool:
        """Whether a pair is no copy of one that is here: some move differs."""
        return pair.games not in self.different

    @property
    def pairs(self) -> int:
        return sum(self.results)

    @property
    def counts(self) -> list[float]:
        weight = len(self.different) / self.pairs
        return [weight * n for n in self.results]


class Evidence:
    """The pairs of two agents, by opening, from the side of the first agent.

    Attributes:
        rounds: the openings' mean scores after 1, 2, 4, ... pairs, in the order in which they had so many.
    """

    def __init__(self, pairs: Iterable[PairOfGames] = ()):
        self.clusters: dict[int, _Cluster] = {}
        self.rounds: list[list[float]] = []
        self.pairs = 0
        for pair in pairs:
            self.add(pair)

    def add(self, pair: PairOfGames) -> bool:
        """Adds a pair; whether it is a new one, not a copy."""
        cluster = self.clusters.setdefault(pair.opening, _Cluster())
        is_new = cluster.is_distinct(pair)
        cluster.different.add(pair.games)
        for result, count in enumerate(pentanomial([pair.points])):
            cluster.results[result] += count
        self.pairs += 1
        if (count := cluster.pairs).bit_count() == 1:
            number = count.bit_length() - 1
            if number == len(self.rounds):
                self.rounds.append([])
            self.rounds[number].append(mean_and_variance(cluster.results)[0])
        return is_new

    @property
    def distinct(self) -> int:
        """How many different pairs there are."""
        return sum(len(cluster.different) for cluster in self.clusters.values())

    @property
    def openings(self) -> int:
        return len(self.clusters)

    @property
    def is_sample(self) -> bool:
        """Whether the pairs are independent: each has an opening of its own, or all begin with the empty board."""
        return self.openings == self.pairs or self.clusters.keys() == {EMPTY_BOARD}

    @property
    def counts(self) -> list[float]:
        """Pentanomial counts, in which copies count once; they sum to ``distinct``."""
        return [sum(column) for column in zip([0.0] * 5, *self.by_opening().values(), strict=True)]

    @property
    def results(self) -> list[int]:
        """Pentanomial counts of all pairs, copies too."""
        return [sum(column) for column in zip([0] * 5, *(c.results for c in self.clusters.values()), strict=True)]

    def by_opening(self) -> dict[int, list[float]]:
        """The counts of each opening, under its key."""
        return {key: cluster.counts for key, cluster in self.clusters.items()}
