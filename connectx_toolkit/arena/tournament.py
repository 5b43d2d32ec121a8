"""The results of many agents: the crosstable and the ladder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from connectx_toolkit.arena.results import Match, verdict
from connectx_toolkit.games.database import StoredMatch
from connectx_toolkit.games.owner import VERSION_SUFFIX
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.statistics.evidence import Evidence
from connectx_toolkit.statistics.intervals import mean_and_variance
from connectx_toolkit.statistics.ratings import Rating, agents_connected_with, ratings
from connectx_toolkit.system.table import Column, Part, Shown, Table, percent, two_digits, whole

__all__ = ["Tournament"]


class Standing(NamedTuple):
    """One line of the ladder."""

    name: str
    rating: Rating
    score: float  # share of the points against others, 0 to 1
    as_first: float  # the same for the games in which it moved first
    as_second: float
    forfeits: int
    worst_seconds: float  # its longest move, without the load


@dataclass(repr=False)
class Tournament(Shown):
    """Matches between named agents.

    Attributes:
        anchor: the agent whose Elo is 0 where the ladder is shown; None: the last one.
    """

    matches: list[Match]
    anchor: str | None = None

    @property
    def names(self) -> list[tuple[str, str]]:
        """Those of the first and second agent of each match."""
        return [(match.first.label, match.second.label) for match in self.matches]

    def parts(self) -> list[Part]:
        """The ladder and the crosstable of all whom games connect with the anchor."""
        return ladder_parts(self, self.anchor or self.names[-1][1])[0]

    def document(self) -> dict[str, Any]:
        """The same for machines, as JSON has it."""
        lines = [line._asdict() | line.rating._asdict() for line in self.standings()]
        return {
            "anchor": self.anchor or self.names[-1][1],
            "standings": [{name: value for name, value in line.items() if name != "rating"} for line in lines],
            "matches": [one.document() | {"agents": two} for one, two in zip(self.matches, self.names, strict=True)],
        }

    def standings(self) -> list[Standing]:
        """The lines of that ladder; none if there is none."""
        return ladder_parts(self, self.anchor or self.names[-1][1])[1]

    @property
    def is_interrupted(self) -> bool:
        """Whether it was stopped before its last game; what is missing is played when it is asked for again."""
        return bool(self.matches) and self.matches[-1].ending == "interrupted"

    def evidence(self) -> dict[tuple[str, str], Evidence]:
        """The evidence on each two agents that met, each two once, from the side of the first in the key."""
        table: dict[tuple[str, str], Evidence] = {}
        for match, (first, second) in zip(self.matches, self.names, strict=True):
            swapped = (second, first) in table
            evidence = table.setdefault((second, first) if swapped else (first, second), Evidence())
            for pair in match.pairs():
                evidence.add(pair.from_other_side() if swapped else pair)
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
                found.append(agents_connected_with(pairings, name))
        return sorted(found, key=len, reverse=True)

    def among(self, names: set[str]) -> "Tournament":
        """The matches between these agents only."""
        return replace(self, matches=[one for one in self.matches if names >= {one.first.label, one.second.label}])

    def ladder(self, anchor: str) -> list[Standing]:
        """The agents by rating, best first. Raises ValueError as ``ratings.ratings`` does."""
        return [self._standing(name, rating) for name, rating in ratings(self.evidence(), anchor).items()]

    def _standing(self, name: str, rating: Rating) -> Standing:
        points, games, forfeits, worst = [0.0, 0.0], [0, 0], 0, 0.0
        for match, names in zip(self.matches, self.names, strict=True):
            for agent in (0, 1):
                for seat in (0, 1) if names[agent] == name != names[1 - agent] else ():
                    side = match.side(agent, seat)
                    points[seat] += side.tally.wins + side.tally.draws / 2
                    games[seat] += sum(side.tally)
                    forfeits += side.forfeits
                    worst = max(worst, *side.move_seconds, 0.0)
        as_first, as_second = (p / max(g, 1) for p, g in zip(points, games, strict=True))
        return Standing(name, rating, sum(points) / sum(games), as_first, as_second, forfeits, worst)


PROVEN = {True: "proven", False: "not yet"}
LADDER = (  # of rows (place, standing)
    Column(""),
    Column("name", lambda row: row[1].name, classes="name"),
    Column("Elo", lambda row: row[1].rating.elo, whole),
    Column("95% interval", lambda row: row[1].rating, lambda rating: rating.interval, align="right"),
    Column("stronger than next", lambda row: row[1].rating.above_next, PROVEN.__getitem__,
           help="at most 5 of 100 ladders have a wrong \"proven\"", align="right"),
    Column("games", lambda row: row[1].rating.games),
    Column("points", lambda row: row[1].score, percent),
    Column("as first", lambda row: row[1].as_first, percent, shade=float),
    Column("as second", lambda row: row[1].as_second, percent, shade=float),
    Column("forfeits", lambda row: row[1].forfeits, is_rare=True),
    Column("worst s", lambda row: row[1].worst_seconds, two_digits, help="longest move, without the load"),
)  # fmt: skip


def ladder_table(standings: Sequence[Standing], anchor: str) -> Table:
    """The ladder: agents by Elo, whether each is proven stronger than the next, its points, also by seat."""
    note = f"the interval is of the Elo above {anchor}; intervals and proofs stay valid if you look and play on"
    return Table(f"Elo, {anchor} = 0", LADDER, enumerate(standings, 1), note, names=2)


def cross_table(tournament: Tournament, names: Sequence[str]) -> Table:
    """Share of the points of the agent on the left against the one above, in per cent."""
    shares = {pair: share for pair, (share, _) in tournament.crosstable().items()}
    rows = [(f"{n} {name}", *(shares.get((name, other)) for other in names)) for n, name in enumerate(names, 1)]
    against = (Column(str(n), show=lambda share: f"{100 * share:.0f}", shade=float) for n in range(1, len(names) + 1))
    return Table("points against each, %", (Column("name", classes="name"), *against), rows)


def ladder_parts(tournament: Tournament, anchor: str) -> tuple[list[Part], list[Standing]]:
    """The ladder and the crosstable, to be shown, and the ladder's lines.

    Agents that no games connect with the anchor have no place on it, and are named.
    """
    components, found = tournament.components(), list[Part]()
    part = next((names for names in components if anchor in names), set[str]())
    if part and (left_out := sorted(set[str]().union(*components) - part)):
        is_edited = any(map(VERSION_SUFFIX.search, (*left_out, anchor)))
        why = "; edited versions of a file count as different agents" if is_edited else ""
        found.append(f"left out, as no games connect them with {anchor}: {', '.join(left_out)}{why}")
        tournament = tournament.among(part)
    try:
        ladder = tournament.ladder(anchor)
    except ValueError as problem:
        return [*found, f"no ladder: {problem}"], []
    found += [ladder_table(ladder, anchor), cross_table(tournament, [line.name for line in ladder])]
    if len(ladder) == 2:  # in the words of their match
        found += [verdict(evidence, *two) for two, evidence in tournament.evidence().items() if two[0] != two[1]]
    return found, ladder


def match_of(stored: StoredMatch) -> Match:
    """A match of the file of games."""
    first, second = (AgentSpec(*agent[:3]) for agent in stored.agents)
    return Match(first, second, stored.games, seed=stored.seed)


def tournament_of(matches: Sequence[StoredMatch]) -> Tournament:
    """Matches of a file of games that can be compared."""
    return Tournament([*map(match_of, matches)])
