"""A match between two agents: pairs of games with swapped seats, their totals, and when to stop."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from arena.game.openings import Opening
from arena.game.rules import Fault, Game
from arena.players.spec import AgentSpec
from arena.results.records import GameRecord
from arena.results.stats import Sprt, pentanomial
from arena.runs.open import Slots, open_slots
from arena.runs.slot import Setup, Task
from connectx.geometry import Geometry


def derived_seed(*parts: object) -> int:
    """A seed of 63 bits that depends on all parts and on nothing else."""
    text = "/".join(map(str, parts))
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


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

    @property
    def names(self) -> tuple[str, str]:
        """Names of the agents for texts: their labels, made different if they are equal."""
        first, second = self.first.label, self.second.label
        return (f"{first} (first named)", f"{second} (second named)") if first == second else (first, second)

    def pair_scores(self) -> list[float]:
        """Points (0 to 2) of the first agent in each complete pair, in order."""
        pairs = sorted(number // 2 for number in self.games if number % 2 == 0 and number + 1 in self.games)
        return [self.games[2 * pair].score + 1 - self.games[2 * pair + 1].score for pair in pairs]

    @property
    def counts(self) -> list[int]:
        """Pentanomial counts of the complete pairs."""
        return pentanomial(self.pair_scores())

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

    def record(self, number: int, geometry: Geometry, names: tuple[str, str] | None = None) -> GameRecord:
        """A game in the form that the analysis takes. ``names``: used instead of the agents' own."""
        game, (first, second) = self.games[number], names or self.names
        forfeit = None if game.forfeit is None else (game.forfeit.seat, game.forfeit.kind)
        seated = (second, first) if number % 2 else (first, second)
        return GameRecord(geometry, seated, game.moves, game.opening, forfeit)

    def lost(self, agent: int, geometry: Geometry) -> list[GameRecord]:
        """The games that agent 0 or 1 lost, in order, including losses by a fault."""
        points = {number: game.score if number % 2 == agent else 1 - game.score for number, game in self.games.items()}
        return [self.record(number, geometry) for number in sorted(points) if points[number] == 0]


def pair_tasks(
    first: AgentSpec, second: AgentSpec, openings: Sequence[Opening], pairs: int, seed: int
) -> Iterator[Task]:
    """The games of a match in order: in each pair, first the game in which ``first`` moves first, then the other.

    Openings are used in order, and repeated if there are fewer openings than pairs.
    """
    for pair in range(pairs):
        opening = openings[pair % len(openings)]
        for swapped in (0, 1):
            number = 2 * pair + swapped
            seeds = [derived_seed(seed, number, agent) for agent in (1, 2)]
            players, order = ((second, first), seeds[::-1]) if swapped else ((first, second), seeds)
            yield Task(number, players, opening, (order[0], order[1]))


def play_match(
    first: AgentSpec,
    second: AgentSpec,
    setup: Setup,
    openings: Sequence[Opening],
    pairs: int,
    seed: int,
    concurrency: int = 1,
    sprt: Sprt | None = None,
    known: Mapping[int, Game] | None = None,
    on_game: Callable[[Task, Game], None] = lambda task, game: None,
    slots: Slots | None = None,
) -> Match:
    """Plays up to ``pairs`` pairs, or until the SPRT accepts a hypothesis.

    The SPRT counts pairs in the order of their numbers, not as they finish, because short games finish first. So it
    stops at the same pair for any concurrency; later pairs are left out of the match.

    Args:
        seed: determines the seed of every game and agent.
        known: games of this match that were played earlier; they are not played again.
        on_game: called with each new game.
        slots: where to play, opened with the same setup; by default ``concurrency`` slots are opened for this match.
    """
    match = Match(first, second, setup.rules.bank, dict(known or {}))
    tasks = (task for task in pair_tasks(first, second, openings, pairs, seed) if task.number not in match.games)
    watch = _Watch(match, sprt)
    if not watch.is_decided():
        with open_slots(setup, concurrency) if slots is None else nullcontext(slots) as used:
            for task, game in used.play(tasks):
                match.games[task.number] = game
                on_game(task, game)
                if watch.is_decided():
                    break
    last = 2 * (watch.pairs if watch.is_decided() else pairs)
    match.games = {number: game for number, game in match.games.items() if number < last}
    return match


class _Watch:
    """Applies a sequential test to a match, to its pairs in order, as far as they are complete."""

    def __init__(self, match: Match, sprt: Sprt | None):
        self.match = match
        self.sprt = sprt
        self.counts = [0] * 5
        self.pairs = 0
        self.answer: str | None = None

    def is_decided(self) -> bool:
        """Whether the test accepts a hypothesis after ``self.pairs`` pairs."""
        games = self.match.games
        while self.sprt and not self.answer and 2 * self.pairs in games and 2 * self.pairs + 1 in games:
            points = games[2 * self.pairs].score + 1 - games[2 * self.pairs + 1].score
            self.counts[int(2 * points)] += 1
            self.pairs += 1
            self.answer = self.sprt.accepted(self.counts)
        return self.answer is not None
