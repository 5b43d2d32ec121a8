"""The games of a match between two agents, and what each agent did in them."""

import html
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.results.evidence import Evidence, PairOfGames, pair_of
from connectx_toolkit.arena.results.records import SEATS, Game
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


@dataclass(repr=False)
class Match:
    """The games of two agents.

    Games 2k and 2k + 1 are a pair with the same opening: the first agent moves first in 2k, the second in 2k + 1. In
    pairs of numbers, index 0 is the first agent.
    """

    first: AgentSpec
    second: AgentSpec
    games: dict[int, Game]  # by number, with the agents' labels as names
    ending: str = ""  # why there are fewer games than asked for: "sprt", "copies" or "interrupted"
    seed: int | None = None  # pass it to play the same games again
    fixed: int | None = None  # number of games asked for, if all are played whatever their results

    @property
    def names(self) -> tuple[str, str]:
        """Names of the agents for texts: their labels, made different if they are equal."""
        first, second = self.first.label, self.second.label
        return (f"{first} (first named)", f"{second} (second named)") if first == second else (first, second)

    @property
    def percentages(self) -> tuple[float, float]:
        """Share of the games, from 0 to 1, that each agent won by the count of Kaggle's course: not by a forfeit."""
        won = self.wins[0] - self.forfeits[1], self.wins[1] - self.forfeits[0]
        return won[0] / len(self.games), won[1] / len(self.games)

    @property
    def wins(self) -> tuple[int, int]:
        """How many games each agent won, those included that the other one forfeited."""
        return self.side(0).tally.wins, self.side(1).tally.wins

    @property
    def draws(self) -> int:
        return self.side(0).tally.draws

    @property
    def forfeits(self) -> tuple[int, int]:
        """How many games each agent lost by a fault: what the course calls its invalid plays."""
        return self.side(0).forfeits, self.side(1).forfeits

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

    def lost(self, agent: str | Callable | int) -> list[Game]:
        """The games that an agent lost, in order, including losses by a fault.

        ``evaluate.analyse``, or the command line in a game's ``command``, shows the move that lost it.

        Args:
            agent: its name, with or without folder, ending or module; or the callable, or 1 or 2.

        Raises:
            ValueError: it is neither of the two agents, or both have this name.
        """
        name, specs = resolve(agent) if callable(agent) else agent, (self.first, self.second)
        found = [n for n, spec in enumerate(specs) if name in (n + 1, spec, spec.label, _short_name(spec))]
        if len(found) != 1:
            labels = f"1 for {specs[0].label!r}, 2 for {specs[1].label!r}"
            raise ValueError(f"expected one agent by its name, or {labels}, not {agent!r}")
        games = sorted(self.games.items())
        return [self.shown(number) for number, game in games if not _points(game, found[0] ^ number % 2)]

    def __repr__(self) -> str:
        """The results in total and by seat, in a line."""
        counts, played = "{} won, {} drawn, {} lost".format, len(self.games)
        stopped = f"stopped after {played} of {self.fixed} games. " if self.fixed and played < self.fixed else ""
        counted = ", forfeits counted as losses" if any(self.forfeits) else ""
        seats = "; ".join(f"{name} {counts(*self.side(0, seat).tally)}" for seat, name in enumerate(SEATS))
        return f"{stopped}{' v '.join(self.names)}{counted}: {counts(*self.side(0).tally)} ({seats})"

    def _repr_html_(self) -> str:
        """For notebooks: the results by seat."""
        rows = ["<tr><th>agent</th><th></th><th>won</th><th>drawn</th><th>lost</th><th>forfeits</th></tr>"]
        for agent, name in enumerate(self.names):
            for seat, words in ((None, "both"), *enumerate(SEATS)):
                side = self.side(agent, seat)
                cells = [html.escape(name) if seat is None else "", words, *map(str, side.tally), str(side.forfeits)]
                rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        return f"<table>{''.join(rows)}</table>"


def _short_name(spec: AgentSpec) -> str:
    return spec.label.rpartition(".")[2] if spec.kind == "callable" else Path(spec.label).stem


def _points(game: Game, seat: int) -> float:
    """A seat's points of a game of a match, which all are played to their end."""
    assert game.points is not None
    return game.points[seat]
