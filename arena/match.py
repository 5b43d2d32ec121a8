"""Playing many games: tasks in, games out, on one core or on several, each slot with its own agents' processes."""

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from arena.openings import Opening
from arena.referee import REFEREES, warm_up
from arena.rules import Game, Rules
from arena.specs import AgentSpec
from arena.stats import Sprt, pentanomial
from arena.worker import GRACE, Inline, Worker, die_with_parent

BATCH = {"kaggle": 2, "fast": 16}  # games sent to a slot at once: sending costs 0.5 ms, a fast game takes from 0.7 ms


class Setup(NamedTuple):
    """What all games of a run have in common."""

    rules: Rules
    referee: str = "fast"  # a key of REFEREES
    fresh: bool | None = None  # see Worker
    grace: float = GRACE
    isolate: bool = True  # False: agents play in the slot's own process, see Inline


class Task(NamedTuple):
    """One game to play."""

    number: int
    players: tuple[AgentSpec, AgentSpec]  # who moves first, who second
    opening: tuple[int, ...]
    seeds: tuple[int, int]


def derived_seed(*parts: object) -> int:
    """A seed of 63 bits that depends on every part and on nothing else."""
    text = "/".join(map(str, parts))
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


class Slot:
    """Plays tasks one after the other, and keeps the processes of the agents that it meets in the present pairing."""

    def __init__(self, setup: Setup):
        self.setup = setup
        self.workers: dict[tuple[AgentSpec, int], Worker | Inline] = {}

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self.workers:
            self.workers.popitem()[1].close()

    def play(self, task: Task) -> Game:
        first, second = task.players
        keys = [(first, 0), (second, int(first == second))]  # an agent that meets itself does so in two processes
        for key in self.workers.keys() - set(keys):
            self.workers.pop(key).close()
        for key in keys:
            if key not in self.workers:
                self.workers[key] = self._start(key[0])
        players = [self.workers[key] for key in keys]
        return REFEREES[self.setup.referee](players, self.setup.rules, task.opening, task.seeds)

    def _start(self, spec: AgentSpec) -> Worker | Inline:
        setup = self.setup
        return Worker(spec, setup.fresh, setup.grace) if setup.isolate else Inline(spec, setup.fresh)


# What runs in a slot's process

_slot: Slot | None = None


def _enter_slot(setup: Setup, cores) -> None:
    global _slot  # noqa: PLW0603 (a process pool offers no other place for what a process keeps)
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which then ends its slots
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores.get()})
    _slot = Slot(setup)
    multiprocessing.util.Finalize(None, _slot.close, exitpriority=10)


def _play_in_slot(tasks: Sequence[Task]) -> list[Game]:
    assert _slot is not None
    return [_slot.play(task) for task in tasks]


# The run's side


def usable_cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def check_concurrency(concurrency: int) -> None:
    """Raises ValueError unless every game at a time gets a core to itself: a shared core makes clocks lie."""
    cores = len(usable_cores())
    if not 1 <= concurrency <= cores:
        raise ValueError(f"concurrency should be 1 to {cores}, the cores that can be used, not {concurrency}")


@contextmanager
def local_slots(setup: Setup, concurrency: int) -> Iterator[Executor]:
    """Processes to play in, forked so that callables go with them, each with all its agents bound to its own core."""
    check_concurrency(concurrency)
    warm_up(setup.rules, setup.referee)  # before the fork: importing Kaggle's package takes over a second
    context = multiprocessing.get_context("fork")
    cores = context.SimpleQueue()
    for core in usable_cores()[:concurrency]:
        cores.put(core)
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(concurrency, context, _enter_slot, (setup, cores))
    try:
        yield executor
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()  # what they play is of no use any more, and may take minutes
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def play_all(tasks: Iterable[Task], setup: Setup, concurrency: int = 1) -> Iterator[tuple[Task, Game]]:
    """Plays the tasks and yields each with its game, as they finish. Stop iterating to stop the run.

    Args:
        concurrency: games at a time. 1 plays in this process; more in as many processes, each on its own core.

    Raises:
        ValueError: there are fewer cores than that.
        RuntimeError: an agent's process cannot be started, or a slot's process died.
    """
    if concurrency == 1:
        with Slot(setup) as slot:
            for task in tasks:
                yield task, slot.play(task)
        return
    with local_slots(setup, concurrency) as executor:
        yield from play_on(executor, tasks, concurrency, BATCH[setup.referee])


def play_on(executor: Executor, tasks: Iterable[Task], concurrency: int, batch: int) -> Iterator[tuple[Task, Game]]:
    """Plays the tasks on an executor, at most twice as many batches under way as there are slots."""
    source = iter(tasks)
    under_way: dict[Future, list[Task]] = {}
    while True:
        while len(under_way) < 2 * concurrency and (some := list(islice(source, batch))):
            under_way[executor.submit(_play_in_slot, some)] = some
        if not under_way:
            return
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            yield from zip(under_way.pop(future), future.result(), strict=True)


# A match of two agents


class Tally(NamedTuple):
    """Games of one agent, by result."""

    wins: int
    draws: int
    losses: int


class Side(NamedTuple):
    """What one agent did in a match, in one seat."""

    tally: Tally
    faults: Counter  # by kind; those that did not end the game included
    forfeits: int  # games lost by a fault
    move_seconds: tuple[float, ...]  # of every call
    bank_used: float  # seconds, in the game that used most


@dataclass
class Match:
    """Two agents' games. Games 2k and 2k + 1 are a pair: one opening, begun by the first agent, then by the second."""

    first: AgentSpec
    second: AgentSpec
    bank: float
    games: dict[int, Game]

    def pair_scores(self) -> list[float]:
        """Points of the first agent in each complete pair, in order."""
        pairs = sorted(number // 2 for number in self.games if number % 2 == 0 and number + 1 in self.games)
        return [self.games[2 * pair].score + 1 - self.games[2 * pair + 1].score for pair in pairs]

    @property
    def counts(self) -> list[int]:
        """Pentanomial counts of the complete pairs."""
        return pentanomial(self.pair_scores())

    def side(self, agent: int, seat: int | None = None) -> Side:
        """Agent 0 or 1 in seat 0 (moves first) or 1, or in both."""
        scores, faults, seconds, forfeits, bank = [], Counter[str](), [], 0, 0.0
        for number, game in sorted(self.games.items()):
            taken = agent ^ (number % 2)
            if seat is not None and taken != seat:
                continue
            scores.append(game.score if taken == 0 else 1 - game.score)
            own = [fault for fault in game.faults if fault.seat == taken]
            faults.update(fault.kind for fault in own)
            forfeits += sum(fault.fatal for fault in own)
            seconds += [s for index, s in enumerate(game.seconds) if (game.opening + index) % 2 == taken]
            bank = max(bank, self.bank - game.banks[taken])
        tally = Tally(scores.count(1), scores.count(0.5), scores.count(0))
        return Side(tally, faults, forfeits, tuple(seconds), bank)


def pair_tasks(
    first: AgentSpec, second: AgentSpec, openings: Sequence[Opening], pairs: int, seed: int
) -> Iterator[Task]:
    """The games of a match in order: of each pair, the one that ``first`` begins, then the one with seats swapped.

    Openings are used in order and, if there are fewer than pairs, again from the start.
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
) -> Match:
    """Plays up to ``pairs`` pairs, or until the SPRT accepts a hypothesis.

    The SPRT looks at pairs in their order, not in that of their ends: short games would come first. So it stops at the
    same pair however many games are played at a time; pairs beyond that one are left out of the match.

    Args:
        seed: of the agents' random generators; each game and agent gets its own from it.
        known: games of this match played earlier; they are not played again.
        on_game: called with each new game.
    """
    match = Match(first, second, setup.rules.bank, dict(known or {}))
    tasks = (task for task in pair_tasks(first, second, openings, pairs, seed) if task.number not in match.games)
    watch = _Watch(match, sprt)
    if not watch.is_decided():
        for task, game in play_all(tasks, setup, concurrency):
            match.games[task.number] = game
            on_game(task, game)
            if watch.is_decided():
                break
    last = 2 * (watch.pairs if watch.is_decided() else pairs)
    match.games = {number: game for number, game in match.games.items() if number < last}
    return match


class _Watch:
    """Follows a match with a sequential test, along the pairs from the start without a gap."""

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
