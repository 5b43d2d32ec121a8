"""The results of many agents: the crosstable and the ladder."""

from dataclasses import dataclass
from typing import NamedTuple

from connectx_toolkit.arena.results.evidence import Evidence
from connectx_toolkit.arena.results.match import Match
from connectx_toolkit.arena.results.ratings import Rating, connected, ratings
from connectx_toolkit.arena.results.stats import mean_and_variance


class Standing(NamedTuple):
    """One line of the ladder."""

    name: str
    rating: Rating
    score: float  # share of the points against others, 0 to 1
    as_first: float  # the same for the games in which it moved first
    as_second: float
    forfeits: int
    worst_seconds: float  # its longest move or load


@dataclass
class Tournament:
    """Matches between named agents. ``names``: of the first and second agent of each match."""

    matches: list[Match]
    names: list[tuple[str, str]]

    def evidence(self) -> dict[tuple[str, str], Evidence]:
        """The evidence on each two agents that met, each two once, from the side of the first in the key."""
        table: dict[tuple[str, str], Evidence] = {}
        for match, (first, second) in zip(self.matches, self.names, strict=True):
            swapped = (second, first) in table
            evidence = table.setdefault((second, first) if swapped else (first, second), Evidence())
            for pair in match.pairs():
                evidence.add(pair.swapped() if swapped else pair)
        return {key: evidence for key, evidence in table.items() if evidence.pairs}

    def crosstable(self) -> dict[tuple[str, str], tuple[float, int]]:
        """(share of the points, games) of each agent against each opponent, over complete pairs."""
        table = {}
        for (first, second), evidence in self.evidence().items():
            share, games = mean_and_variance(evidence.results)[0], 2 * evidence.pairs
            table[first, second], table[second, first] = (share, games), (1 - share, games)
        return table

    def components(self) -> list[set[str]]:
        """The groups of agents that games connect, largest first; equally large ones in the order of their matches."""
        pairings, found = self.evidence(), list[set[str]]()
        for name in dict.fromkeys(name for pair in pairings for name in pair):
            if not any(name in group for group in found):
                found.append(connected(pairings, name))
        return sorted(found, key=len, reverse=True)

    def among(self, names: set[str]) -> "Tournament":
        """The matches between these agents only."""
        kept = [index for index, pair in enumerate(self.names) if names >= set(pair)]
        return Tournament([self.matches[index] for index in kept], [self.names[index] for index in kept])

    def ladder(self, anchor: str, anchor_elo: float = 0.0) -> list[Standing]:
        """The agents by rating, best first. Raises ValueError as ``ratings.ratings`` does."""
        rated = ratings(self.evidence(), anchor, anchor_elo)
        return [self._standing(name, rating) for name, rating in rated.items()]

    def _standing(self, name: str, rating: Rating) -> Standing:
        points, games, forfeits, worst = [0.0, 0.0], [0, 0], 0, 0.0
        for match, names in zip(self.matches, self.names, strict=True):
            for agent in (0, 1):
                for seat in (0, 1) if names[agent] == name != names[1 - agent] else ():
                    side = match.side(agent, seat)
                    points[seat] += side.tally.wins + side.tally.draws / 2
                    games[seat] += sum(side.tally)
                    forfeits += side.forfeits
                    worst = max(worst, *side.move_seconds, *side.load_seconds, 0.0)
        as_first, as_second = (p / max(g, 1) for p, g in zip(points, games, strict=True))
        return Standing(name, rating, sum(points) / sum(games), as_first, as_second, forfeits, worst)
