"""Plays matches: on one core in this process, on several of this machine, or on a dask cluster.

Each core has a slot, which plays games one after the other and keeps the agents' processes between games. So an agent
that takes seconds to load is loaded only once. Processes of agents that are not playing are suspended, so that they
cannot use the core of the agents that are.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from platform import node
from typing import Any, NamedTuple, TypeVar

from connectx_toolkit.arena.options import GameOptions
from connectx_toolkit.arena.referee import REFEREES, warm_up
from connectx_toolkit.arena.results import COPIES, Match
from connectx_toolkit.arena.schedule import pair_tasks
from connectx_toolkit.arena.start_positions import Opening
from connectx_toolkit.games.game import Game
from connectx_toolkit.kaggle import archive
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.child import end_pools, obstacle
from connectx_toolkit.players.fork_server import ForkServer
from connectx_toolkit.players.process import GRACE, AgentProcess, Inline, Player, Setup, Task, stamp_of
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.statistics.evidence import Evidence
from connectx_toolkit.system.console import ProcessFailed, progress
from connectx_toolkit.system.cores import core_of_its_own
from connectx_toolkit.system.posix import HAS_FORK
from connectx_toolkit.system.workers import Workers, cluster_workers, local_workers

Item = TypeVar("Item")
Result = TypeVar("Result")

KEPT = 16  # agents' processes per slot; with torch, each takes 0.3 GB
SILENCE = 4.0  # seconds until a load is reported
WITH_US = " plays in this process, since this system has no fork: if it hangs, so does the match; a file plays apart"
# Archives and Kaggle's environment, which redirects the standard streams, are those of the process.
_playing = threading.RLock()


def play_rounds(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, setup: Setup, workers: int, seed: int) -> Match:
    """Plays ``n_rounds`` games from the empty board, ``workers`` at a time. Agent 1 moves first in half, rounded down.

    The seats are swapped after each game, so that a run that Ctrl-C ends early has games of both; those are kept.

    Raises:
        ValueError: ``workers`` is above the number of cores, or an agent cannot be loaded or was changed meanwhile.
        KeyboardInterrupt: it came before the first game had finished.
    """
    with open_pool(setup, workers) as pool:
        agents = Unchanged(specs)
        pool.check(dict.fromkeys(specs))
        with progress(n_rounds, "game") as bar:

            def on_game(task: Task, game: Game) -> None:
                agents.check()
                bar.update()

            match = Match(*specs, {}, seed=seed, fixed=n_rounds)
            play_match(match, [()], (n_rounds + 1) // 2, pool, on_game)
    if not match.games:
        raise KeyboardInterrupt
    return match


class MatchEnd:
    """Decides when a match is over: the SPRT accepts a hypothesis, or the agents only repeat themselves.

    Pairs are looked at in the order of their numbers, not as they finish, because short games finish first. So a match
    stops at the same pair for any number of workers; later pairs are left out.
    """

    def __init__(self, match: Match, on_pair: Callable[[Evidence], None]):
        self._match, self._on_pair, self._copies = match, on_pair, 0
        self.evidence = Evidence()  # of the pairs that were looked at

    def is_over(self) -> bool:
        """Looks at the pairs that have become complete; the match's ending says why it is over."""
        match, evidence = self._match, self.evidence
        while not match.ending and {2 * (index := evidence.pairs), 2 * index + 1} <= match.games.keys():
            self._copies = 0 if evidence.add(match.pair(index)) else self._copies + 1
            if match.sprt and match.sprt.decision(evidence.counts):
                match.ending = "sprt"
            elif self._copies == COPIES and match.fixed is None:
                match.ending = "copies"
            self._on_pair(evidence)
        return bool(match.ending)


def play_match(
    match: Match,
    openings: Sequence[Opening],
    pairs: int,
    pool: Pool,
    on_game: Callable[[Task, Game], None],
    on_pair: Callable[[Evidence], None] = lambda evidence: None,
) -> None:
    """Plays up to ``pairs`` pairs, or until ``MatchEnd`` says that it is over. Ctrl-C ends it with the games so far.

    Args:
        match: its agents, its seed, which determines that of every game and agent, and the games that it has, which are
            not played again. Those that are played are added to it. With an odd fixed number of games, the last pair is
            only the game in which the second agent moves first.
        pool: where to play.
        on_game: called with each new game before it counts: it stores the game, or raises what ends the match.
        on_pair: called with the evidence so far after each pair, in their order.
    """
    assert match.seed is not None
    known = {*match.games, *([match.fixed - 1] if match.fixed and match.fixed % 2 else [])}
    every = pair_tasks(match.first, match.second, openings, pairs, match.seed)
    end = MatchEnd(match, on_pair)
    try:
        for task, game in () if end.is_over() else pool.play(task for task in every if task.number not in known):
            on_game(task, game)
            match.games[task.number] = game
            if end.is_over():
                break
    except KeyboardInterrupt:
        match.ending = match.ending or "interrupted"
    last = 2 * (end.evidence.pairs if match.ending in ("sprt", "copies") else pairs)
    match.games = {number: game for number, game in match.games.items() if number < last}


class Unchanged:
    """Agents' files as they are now. They are loaded again before every game, and may be edited between two."""

    def __init__(self, specs: Iterable[AgentSpec]):
        reloaded = [spec for spec in dict.fromkeys(specs) if spec.is_users_code]
        self._found = {spec: ({file: stamp_of(file) for file in spec.files()}, spec.fingerprint()) for spec in reloaded}

    def check(self) -> None:
        """Raises ValueError if an agent is not what it was; reads files only if they were written meanwhile."""
        for spec, (stamps, content) in self._found.items():
            if (new := {file: stamp_of(file) for file in stamps}) != stamps:
                if spec.fingerprint() != content:
                    raise ValueError(f"{spec.label} was changed while it played: give the command again")
                self._found[spec] = new, content


# Where games are played


def setup_of(options: GameOptions, referee: str = "fast") -> Setup:
    """Raises ValueError: a configuration or an overage time that Kaggle would refuse."""
    return Setup(Rules(options["config"] or {}, options["overage"]), referee, isolate=options["isolate"])


class CannotLoad(ValueError):
    """An agent cannot be loaded."""


class Pool:
    """Plays the games of a run: in a slot of this process, or by workers, each of which has one."""

    def __init__(self, setup: Setup, workers: Workers | None = None, is_remote: bool = False):
        self.slot = Slot(setup)  # of this process
        self._workers = workers
        self._is_remote = is_remote
        self._fingerprints: dict[AgentSpec, str] = {}

    def play(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Game]]:
        """Plays the tasks and yields each with its game as it finishes. Stop iterating to stop.

        Raises:
            ProcessFailed: an agent's process cannot be started, or workers die again and again.
        """
        return self.each(Slot.play, tasks)

    def check(self, specs: Iterable[AgentSpec]) -> None:
        """Loads each agent once; prints the warnings, and which load takes long, to standard error.

        Raises CannotLoad: some agents cannot be loaded; all are named in one line.
        """
        unique = list(dict.fromkeys(specs))
        loads = self.each(Slot.try_load, unique)
        found: dict[AgentSpec, Finding] = {}
        while left := [spec for spec in unique if spec not in found]:
            with _said_if_long(f"loading {left[0].label} ..."):
                spec, finding = next(loads)
            found[spec] = finding
        next(loads, None)
        findings = [found[spec] for spec in unique]
        if problems := [finding.problem for finding in findings if finding.problem]:
            raise CannotLoad("; ".join(problems))
        for finding in findings:
            if finding.warning:
                print(finding.warning, file=sys.stderr)

    def each(self, function: Callable[[Slot, Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yields each item with what a slot's ``function`` makes of it, as it is found.

        Args:
            function: importable by name in another process.
            items: agents, or what has agents as its ``players``.
        """
        if self._workers is None:
            for item in items:
                yield item, function(self.slot, item)
            return
        jobs = ((item, self._fingerprints_of(item)) for item in items)
        for (item, _), result in self._workers.map_unordered(partial(_in_slot, self.slot.setup, function), jobs):
            yield item, result

    def _fingerprints_of(self, item: Any) -> dict[AgentSpec, str]:
        """The fingerprints of an item's agents, with which a machine of a cluster compares its own."""
        if not self._is_remote and HAS_FORK:
            return {}
        specs = (item,) if isinstance(item, AgentSpec) else item.players
        for spec in specs:
            if spec.is_here:
                who = "other machines need" if self._is_remote else "several games at a time need"
                raise ValueError(f"{spec.label} exists in this process alone: {who} a name or a file")
            if self._is_remote and spec not in self._fingerprints:
                self._fingerprints[spec] = spec.fingerprint()
        return {spec: self._fingerprints[spec] for spec in specs if self._is_remote}


@contextmanager
def _said_if_long(text: str) -> Iterator[None]:
    """Prints the text to standard error if the block takes longer than ``SILENCE`` seconds."""
    timer = threading.Timer(SILENCE, print, (text,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def open_pool(setup: Setup, concurrency: int = 1, scheduler: str | None = None) -> Iterator[Pool]:
    """Opens a pool until the end of the ``with`` block; on this machine, another thread's waits until then.

    Args:
        concurrency: games at a time. 1 plays in this process; more in as many forks, which inherit callables, or where
            there is no fork in new processes. Each, and its agents, are bound to a core of their own.
        scheduler: address of a dask cluster to play on instead.

    Raises:
        ValueError: there are fewer cores than that, or the cluster cannot be used.
    """
    if scheduler is not None:
        with cluster_workers(scheduler, _leave_slot, finalizer=_leave_cluster, own_cores=True) as workers:
            yield Pool(setup, workers, is_remote=True)
    elif concurrency == 1:
        with _playing, archive.share_archives(), core_of_its_own() if setup.isolate else nullcontext():
            pool = Pool(setup)
            with closing(pool.slot):
                yield pool
    else:
        with _playing, archive.share_archives():
            warm_up(setup.rules, setup.referee)  # before the fork: importing Kaggle's package takes over a second
            end_pools()
            method, leave = ("fork", _leave_slot) if HAS_FORK else ("spawn", _leave_cluster)
            with local_workers(concurrency, _enter_slot, (leave,), method, own_cores=True) as workers:
                yield Pool(setup, workers)


class Finding(NamedTuple):
    """The result of a trial load; each text is one line or empty."""

    problem: str = ""  # why the agent cannot be loaded
    warning: str = ""


class Slot:
    """Plays tasks one after the other, and keeps the processes of their agents."""

    def __init__(self, setup: Setup):
        self.setup = setup
        self.players: dict[tuple[AgentSpec, int], Player] = {}  # in the order of their latest game
        self._fork_server = ForkServer()

    def close(self) -> None:
        while self.players:
            self.players.popitem()[1].close()
        self._fork_server.close()

    def play(self, task: Task) -> Game:
        first, second = task.players
        players = self.players_for([(first, 0), (second, int(first == second))])  # two processes, even against itself
        game = REFEREES[self.setup.referee](players, self.setup.rules, task.opening, task.seeds)
        return replace(game, names=(first.label, second.label))

    def try_load(self, spec: AgentSpec) -> Finding:
        """Loads an agent to see whether it can be loaded."""
        is_fork = multiprocessing.parent_process() is not None
        if spec.is_here and is_fork and (problem := obstacle()):  # whether isolated or not
            return Finding(f"{spec.label} cannot be loaded: {problem}")
        player = self.players_for([(spec, 0)])[0]
        failed = player.load()
        if failed is None:
            is_with_us = self.setup.isolate and isinstance(player, Inline)
            return Finding(warning=f"{spec.label}{WITH_US}" if is_with_us else player.warning)
        lines = [line for line in failed.detail.split("\n") if line.strip()]
        return Finding(f"{spec.label} cannot be loaded: {lines[-1].strip() if lines else failed.fault}")

    def players_for(self, keys: Sequence[tuple[AgentSpec, int]]) -> list[Player]:
        """The players for a game. All other processes are suspended, and the longest unused beyond ``KEPT`` end."""
        for key, player in self.players.items():
            if key not in keys:
                player.pause()
        for key in keys:
            self.players[key] = self.players.pop(key) if key in self.players else self._new(key[0])
            self.players[key].resume()
        for key in list(self.players)[: max(0, len(self.players) - KEPT)]:
            self.players.pop(key).close()
        return [self.players[key] for key in keys]

    def release(self, spec: AgentSpec) -> None:
        """Ends the processes of an agent that will not be asked again."""
        for key in [key for key in self.players if key[0] == spec]:
            self.players.pop(key).close()

    def _new(self, spec: AgentSpec) -> Player:
        setup = self.setup
        limit = setup.rules.config["actTimeout"] + setup.rules.overage
        is_apart = setup.isolate and (HAS_FORK or not spec.is_here)
        return AgentProcess(spec, GRACE, limit, self._fork_server) if is_apart else Inline(spec, limit)


# In a worker's process, whose slot lasts from call to call

_slot: Slot | None = None
_compared: set[tuple[AgentSpec, str]] = set()


def _enter_slot(leave: Callable[[], None]) -> None:
    multiprocessing.util.Finalize(None, leave, exitpriority=10)


def _in_slot(setup: Setup, function: Callable[[Slot, Item], Result], job: tuple[Item, dict[AgentSpec, str]]) -> Result:
    """What a slot's ``function`` makes of an item, whose agents have to have the fingerprints that come with it.

    Raises ProcessFailed: an agent is another on this machine.
    """
    global _slot  # noqa: PLW0603 (an executor offers no other place for what its processes keep)
    item, expected = job
    for spec, value in expected.items():
        if (spec, value) not in _compared:
            if spec.fingerprint() != value:
                raise ProcessFailed(f"{spec.label} is another on {node()}: all need the same checkout")
            _compared.add((spec, value))
    if _slot is None or _slot.setup != setup:
        _leave_slot()
        _slot = Slot(setup)
    return function(_slot, item)


def _leave_slot() -> None:
    """Closes this process's slot, which ends its agents' processes."""
    global _slot  # noqa: PLW0603
    if _slot is not None:
        _slot.close()
    _slot = None


def _leave_cluster() -> None:
    """Cleans up what a run has left in a worker of a cluster."""
    _compared.clear()
    _leave_slot()
    archive.clear_archives()
