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
from arena.results.evidence import Evidence, PairOfGames, pair_of
from arena.results.records import GameRecord
from arena.results.stats import Sprt
from arena.runs.open import Slots, open_slots
from arena.runs.slot import Setup, Task
from connectx.geometry import STANDARD, Geometry

COPIES = 10  # pairs in a row that repeat earlier ones, after which a match ends: its agents have no new games to show


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
    on_game: Callable[[Task, Game], Game] = lambda task, game: game,
    on_pair: Callable[[Evidence], None] = lambda evidence: None,
    slots: Slots | None = None,
) -> Match:
    """Plays up to ``pairs`` pairs, or until the SPRT accepts a hypothesis, or the agents only repeat themselves.

    Pairs are looked at in the order of their numbers, not as they finish, because short games finish first. So a match
    stops at the same pair for any concurrency; later pairs are left out. Ctrl-C ends it with the pairs played so far.

    Args:
        seed: determines the seed of every game and agent.
        known: games of this match that were played earlier; they are not played again.
        on_game: called with each new game; gives the one that counts, which is another one in a store that has it.
        on_pair: called with the evidence so far after each pair, in their order.
        slots: where to play, opened with the same setup; by default ``concurrency`` slots are opened for this match.
    """
    match = Match(first, second, setup.rules.bank, dict(known or {}), setup.rules.geometry)
    tasks = (task for task in pair_tasks(first, second, openings, pairs, seed) if task.number not in match.games)
    watch = _Watch(match, sprt, on_pair)
    try:
        if not watch.is_over():
            with open_slots(setup, concurrency) if slots is None else nullcontext(slots) as used:
                for task, game in used.play(tasks):
                    match.games[task.number] = on_game(task, game)
                    if watch.is_over():
                        break
    except KeyboardInterrupt:
        match.ending = "interrupted"
    last = 2 * (watch.evidence.pairs if watch.ending else pairs)
    match.games = {number: game for number, game in match.games.items() if number < last}
    match.ending = watch.ending or match.ending
    return match


class _Watch:
    """Looks at the pairs of a match in order, as far as they are complete, and tells when to stop."""

    def __init__(self, match: Match, sprt: Sprt | None, on_pair: Callable[[Evidence], None]):
        self.match = match
        self.sprt = sprt
        self.on_pair = on_pair
        self.evidence = Evidence()
        self.copies = 0  # in a row
        self.ending = ""

    def is_over(self) -> bool:
        """Whether the match ends after ``self.evidence.pairs`` pairs."""
        games = self.match.games
        while not self.ending and 2 * (index := self.evidence.pairs) in games and 2 * index + 1 in games:
            is_new = self.evidence.add(self.match.pair(index))
            self.copies = 0 if is_new else self.copies + 1
            if self.sprt and self.sprt.accepted(self.evidence.counts):
                self.ending = "sprt"
            elif self.copies == COPIES:
                self.ending = "copies"
            self.on_pair(self.evidence)
        return bool(self.ending)
