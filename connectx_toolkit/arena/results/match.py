"""The games of a match between two agents, and what each agent did in them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.results.evidence import Evidence, PairOfGames, pair_of
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.kaggle.rules import Fault

COPIES = 10  # pairs in a row that repeat earlier ones, after which a match ends: its agents have no new games to show


class Tally(NamedTuple):
    """Games of one agent, by result."""

    wins: int
    draws: int
    losses: int


class Side(NamedTuple):
    """What one agent did in a match, in one seat."""

    tally: Tally
    faults: Counter  # by kind, including those that did not end the game
    forfeits: int  # games lost by a fault
    move_seconds: tuple[float, ...]  # of every call, without loads
    load_seconds: tuple[float, ...]  # of the load, in every game where it is recorded
    overage_used: float  # seconds, in the game that used the most


@dataclass
class Match:
    """The games of two agents.

    Games 2k and 2k + 1 are a pair with the same opening: the first agent moves first in 2k, the second in 2k + 1.
    """

    first: AgentSpec
    second: AgentSpec
    games: dict[int, Game]  # by number, with the agents' labels as names
    ending: str = ""  # why there are fewer games than asked for: "sprt", "copies" or "interrupted"

    @property
    def names(self) -> tuple[str, str]:
        """Names of the agents for texts: their labels, made different if they are equal."""
        first, second = self.first.label, self.second.label
        return (f"{first} (first named)", f"{second} (second named)") if first == second else (first, second)

    def pairs(self) -> Iterator[PairOfGames]:
        """The complete pairs, in order."""
        for number in sorted(number for number in self.games if number % 2 == 0 and number + 1 in self.games):
            yield self.pair(number // 2)

    def pair(self, index: int) -> PairOfGames:
        """A complete pair, from the side of the first agent."""
        first, second = self.games[2 * index], self.games[2 * index + 1]
        points = _points(first, 0) + _points(second, 1)
        return pair_of((first.moves, second.moves), first.opening, points, first.geometry)

    @property
    def evidence(self) -> Evidence:
        """What the complete pairs prove together."""
        return Evidence(self.pairs())

    def side(self, agent: int, seat: int | None = None) -> Side:
        """The results of agent 0 or 1, in seat 0 (moves first), in seat 1, or in both."""
        points, faults, seconds, loads, forfeits, overage = [], Counter[str](), [], [], 0, 0.0
        for number, game in sorted(self.games.items()):
            taken = agent ^ (number % 2)
            if seat is not None and taken != seat:
                continue
            points.append(_points(game, taken))
            own = [fault for fault in game.faults if fault.seat == taken]
            faults.update(fault.kind for fault in own)
            forfeits += sum(fault.fatal for fault in own)
            seconds += game.move_seconds(taken)
            loads += [game.loads[taken]] if game.loads else []
            overage = max(overage, game.overage_used(taken) or 0.0)
        tally = Tally(points.count(1), points.count(0.5), points.count(0))
        return Side(tally, faults, forfeits, tuple(seconds), tuple(loads), overage)

    def first_faults(self, agent: int) -> dict[str, tuple[Game, Fault]]:
        """For each kind of fault of agent 0 or 1, the first one and its game."""
        found: dict[str, tuple[Game, Fault]] = {}
        for number, game in sorted(self.games.items()):
            for fault in game.faults:
                if fault.seat == agent ^ (number % 2):
                    found.setdefault(fault.kind, (game, fault))
        return found

    def shown(self, number: int, names: tuple[str, str] | None = None) -> Game:
        """A game with other names of the agents than their labels: by default ``names``, which differ."""
        first, second = names or self.names
        return replace(self.games[number], names=(second, first) if number % 2 else (first, second))

    def lost(self, agent: int) -> list[Game]:
        """The games that agent 0 or 1 lost, in order, including losses by a fault."""
        return [
            self.shown(number) for number, game in sorted(self.games.items()) if not _points(game, agent ^ number % 2)
        ]


def _points(game: Game, seat: int) -> float:
    """A seat's points of a game of a match, which all are played to their end."""
    assert game.points is not None
    return game.points[seat]
