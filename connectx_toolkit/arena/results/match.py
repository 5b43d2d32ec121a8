"""The games of a match between two agents, and what each agent did in them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from connectx.geometry import STANDARD, Geometry
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.results.evidence import Evidence, PairOfGames, pair_of
from connectx_toolkit.arena.results.records import GameRecord
from connectx_toolkit.kaggle.rules import Fault, Game

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
    bank_used: float  # seconds, in the game that used the most


@dataclass
class Match:
    """The games of two agents.

    Games 2k and 2k + 1 are a pair with the same opening: the first agent moves first in 2k, the second in 2k + 1.
    """

    first: AgentSpec
    second: AgentSpec
    bank: float
    games: dict[int, Game]
    geometry: Geometry = STANDARD
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
        return pair_of((first.moves, second.moves), first.opening, first.score + 1 - second.score, self.geometry)

    @property
    def evidence(self) -> Evidence:
        """What the complete pairs prove together."""
        return Evidence(self.pairs())

    def side(self, agent: int, seat: int | None = None) -> Side:
        """The results of agent 0 or 1, in seat 0 (moves first), in seat 1, or in both."""
        scores, faults, seconds, loads, forfeits, bank = [], Counter[str](), [], [], 0, 0.0
        for number, game in sorted(self.games.items()):
            taken = agent ^ (number % 2)
            if seat is not None and taken != seat:
                continue
            scores.append(game.score if taken == 0 else 1 - game.score)
            own = [fault for fault in game.faults if fault.seat == taken]
            faults.update(fault.kind for fault in own)
            forfeits += sum(fault.fatal for fault in own)
            calls = range((game.opening + taken) % 2, len(game.seconds), 2)
            seconds += [game.move_seconds(index) for index in calls]
            loads += [game.loads[taken]] if game.loads else []
            bank = max(bank, self.bank - game.banks[taken])
        tally = Tally(scores.count(1), scores.count(0.5), scores.count(0))
        return Side(tally, faults, forfeits, tuple(seconds), tuple(loads), bank)

    def first_faults(self, agent: int) -> dict[str, tuple[Game, Fault]]:
        """For each kind of fault of agent 0 or 1, the first one and its game."""
        found: dict[str, tuple[Game, Fault]] = {}
        for number, game in sorted(self.games.items()):
            for fault in game.faults:
                if fault.seat == agent ^ (number % 2):
                    found.setdefault(fault.kind, (game, fault))
        return found

    def record(self, number: int, names: tuple[str, str] | None = None) -> GameRecord:
        """A game in the form that the analysis takes. ``names``: used instead of the agents' own."""
        game, (first, second) = self.games[number], names or self.names
        forfeit = None if game.forfeit is None else (game.forfeit.seat, game.forfeit.kind)
        seated = (second, first) if number % 2 else (first, second)
        return GameRecord(self.geometry, seated, game.moves, game.opening, forfeit)

    def lost(self, agent: int) -> list[GameRecord]:
        """The games that agent 0 or 1 lost, in order, including losses by a fault."""
        points = {number: game.score if number % 2 == agent else 1 - game.score for number, game in self.games.items()}
        return [self.record(number) for number in sorted(points) if points[number] == 0]
