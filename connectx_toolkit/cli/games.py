"""The commands of evaluate.py that play games: the course's rounds, match, and tournament."""

import argparse
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from tqdm import tqdm

from connectx_toolkit.arena.play.match import play_match, play_rounds
from connectx_toolkit.arena.play.openings import Opening, openings_for
from connectx_toolkit.arena.play.pairings import pairings, participants
from connectx_toolkit.arena.play.pool import Pool, open_pool
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.arena.reporting.tables import match_table
from connectx_toolkit.arena.results.conditions import Conditions, conditions_here, other_conditions_line
from connectx_toolkit.arena.results.evidence import Evidence
from connectx_toolkit.arena.results.match import Match
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.arena.results.stats import Sprt
from connectx_toolkit.arena.results.store import Store
from connectx_toolkit.arena.results.tournament import Tournament
from connectx_toolkit.arena.results.words import course_lines, lost_game_line, match_lines, sprt_progress
from connectx_toolkit.cli.analyse import print_lines
from connectx_toolkit.cli.evaluate_options import PAIRS, SPRT_PAIRS
from connectx_toolkit.cli.report import show_ladder
from connectx_toolkit.console.files import check_folder
from connectx_toolkit.console.progress import beside_bars, progress
from connectx_toolkit.console.tables import console_for_tables
from connectx_toolkit.foreign import left_out_lines
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.machine.cores import check_concurrency

STORED = "the games are stored; the same command goes on"


def _setup(options: argparse.Namespace, referee: str) -> Setup:
    check_concurrency(options.concurrency)
    return Setup(Rules(options.config or {}, options.bank), referee)


def rounds(options: argparse.Namespace) -> None:
    """Two agents by the course's protocol."""
    specs = resolve(options.agent1), resolve(options.agent2)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    played = play_rounds(specs, options.rounds, _setup(options, "kaggle"), options.concurrency, seed)
    print(*course_lines(played), sep="\n")
    if played.ending == "interrupted":
        raise KeyboardInterrupt("games of --rounds are not stored; those of match are")


class _Entry(NamedTuple):
    """A match in the store: its number there, and the games that are played already."""

    pair: tuple[AgentSpec, AgentSpec]
    number: int
    known: dict[int, Game]


def _play(
    pairs: Sequence[tuple[AgentSpec, AgentSpec]], options: argparse.Namespace, sprt: Sprt | None = None
) -> Iterator[Match]:
    """Plays those games of each two agents that the store does not have; yields the matches as they end."""
    setup = _setup(options, "fast")
    openings = openings_for(setup.rules.geometry, options.openings, options.seed)
    here, total = conditions_here(options.concurrency, options.scheduler), 2 * options.pairs
    with Store(options.store) as store, open_pool(setup, options.concurrency, options.scheduler) as pool:
        entries = []
        for pair in pairs:
            number = store.match_id(*pair, setup, openings, options.seed, here)
            games = {index: game for index, game in store.games(number).items() if index < total}
            entries.append(_Entry(pair, number, games))
        if known := sum(len(entry.known) for entry in entries):
            print(f"reused {known} of {len(entries) * total} games from {options.store}; --seed N plays new ones")
            played = sum((store.conditions(entry.number, total) for entry in entries), Counter[Conditions]())
            print_lines(console_for_tables(), other_conditions_line(played, here))
        print_lines(console_for_tables(), left_out_lines(store.left_out))
        pool.check(dict.fromkeys(spec for entry in entries if len(entry.known) < total for spec in entry.pair))
        left = sum(total - len(entry.known) for entry in entries)
        with progress(left, "game", delay=0 if sprt else 2) as bar:
            run = _Run(store, setup, openings, options, sprt, pool, bar)
            for entry in entries:
                yield _play_entry(run, entry)


class _Run(NamedTuple):
    """What all matches of a run have in common."""

    store: Store
    setup: Setup
    openings: Sequence[Opening]
    options: argparse.Namespace
    sprt: Sprt | None
    pool: Pool
    bar: tqdm


def _play_entry(run: _Run, entry: _Entry) -> Match:
    """Plays a match when no other process is playing it; what it returns is what the store holds."""

    def on_game(task: Task, game: Game) -> Game:
        run.bar.update()
        return run.store.add(entry.number, task, game)

    def on_pair(evidence: Evidence) -> None:
        if run.sprt:
            run.bar.set_postfix_str(sprt_progress(run.sprt, evidence), refresh=False)

    pairs, seed = run.options.pairs, run.options.seed
    with run.store.turn(entry.number, 2 * pairs) as known:
        run.bar.update(len(known) - len(entry.known))  # another process has played these meanwhile
        return play_match(
            *entry.pair, run.setup, run.openings, pairs, seed, sprt=run.sprt, known=known,
            on_game=on_game, on_pair=on_pair, pool=run.pool,
        )  # fmt: skip


def _sprt(elos: Sequence[float] | None) -> Sprt | None:
    if elos is None:
        return None
    if not -inf < elos[0] < elos[1] < inf:
        raise ValueError(f"--sprt takes two Elo differences, the lower one first, not {elos[0]:g} {elos[1]:g}")
    return Sprt(*elos)


def match(options: argparse.Namespace) -> None:
    """Two agents, from balanced openings, with a verdict."""
    sprt, console = _sprt(options.sprt), console_for_tables()
    options.pairs = options.pairs or (SPRT_PAIRS if sprt else PAIRS)
    (played,) = _play([(resolve(options.agent1), resolve(options.agent2))], options, sprt)
    console.print(match_table(played))
    for line in [*match_lines(played, sprt), *lost_game_line(played)]:
        console.print(line, soft_wrap=True)
    if played.ending == "interrupted":
        raise KeyboardInterrupt(STORED)


def tournament(options: argparse.Namespace) -> None:
    """Many agents, and a ladder of them."""
    specs = participants(options.agents)
    anchor = options.anchor or specs[-1].label
    if anchor not in [spec.label for spec in specs]:
        raise ValueError(f"--anchor {anchor!r} is not one of the agents")
    check_folder(options.ladder)
    console, matches = console_for_tables(), []
    for match in _play(pairings(specs, options.gauntlet), options):
        matches.append(match)
        tally = match.side(0).tally
        line = f"{match.first.label} v {match.second.label}: won {tally.wins} drawn {tally.draws} lost {tally.losses}"
        with beside_bars():
            console.print(line)
        if match.ending == "interrupted":
            break
    names = [(match.first.label, match.second.label) for match in matches]
    is_whole = matches[-1].ending != "interrupted"
    show_ladder(Tournament(matches, names), anchor, console, options.ladder if is_whole else None)
    if not is_whole:
        raise KeyboardInterrupt(STORED)
