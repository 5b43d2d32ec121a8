"""The commands of evaluate.py that play games: the course's rounds, match, and tournament."""

from __future__ import annotations

import argparse
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from connectx_toolkit.cli.analyse import print_lines
from connectx_toolkit.cli.options import (
    AGENTS,
    Command,
    add_anchor,
    add_games,
    add_ladder,
    add_pairs,
    add_scheduler,
    add_setup,
    any_seed,
    from_one,
    number,
)
from connectx_toolkit.cli.show import show_ladder
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.files import check_folder
from connectx_toolkit.system.foreign import left_out_lines

if TYPE_CHECKING:
    from tqdm import tqdm

    from connectx_toolkit.arena.match import Pool
    from connectx_toolkit.arena.start_positions import Opening
    from connectx_toolkit.games.database import GameDatabase
    from connectx_toolkit.games.game import Game
    from connectx_toolkit.games.match import Conditions, Match
    from connectx_toolkit.players.process import Setup, Task
    from connectx_toolkit.statistics.evidence import Evidence
    from connectx_toolkit.statistics.intervals import Sprt

PAIRS, SPRT_PAIRS = 50, 1000  # of a match: to play, and at most with --sprt
STORED = "the games are stored; the same command goes on"


def _setup(options: argparse.Namespace, referee: str) -> Setup:
    from connectx_toolkit.players.process import Setup

    check_concurrency(options.concurrency)
    return Setup(Rules(options.config or {}, options.overage), referee)


def add_rounds(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=rounds)
    parser.description = (
        "Plays two agents against each other and prints the four lines of Kaggle's Intro to Game AI course, in which a "
        "game that an agent loses by a fault is an invalid play and nobody's win. What else the games tell stands "
        "below; there, such a game is a loss."
    )
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py minimax negamax --rounds 20
  python evaluate.py my_agent.py minimax@2 --rounds 100 --concurrency 2
"""
    parser.add_argument("agent1", help="first agent; the list below says how to name one")
    parser.add_argument("agent2", help="second agent")
    parser.add_argument(
        "--rounds",
        type=from_one,
        default=100,
        metavar="N",
        help="number of games, half of them with seats swapped (default: 100)",
    )
    parser.add_argument(
        "--seed", type=any_seed, metavar="N", help="random seed of the agents (default: a new one each time)"
    )
    add_setup(parser)


def rounds(options: argparse.Namespace) -> None:
    """Two agents by the course's protocol."""
    from connectx_toolkit.arena.match import play_rounds
    from connectx_toolkit.games.match import course_lines
    from connectx_toolkit.players.spec import resolve

    specs = resolve(options.agent1), resolve(options.agent2)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    played = play_rounds(specs, options.rounds, _setup(options, "kaggle"), options.concurrency, seed)
    print(*course_lines(played), sep="\n")
    if played.ending == "interrupted":
        raise KeyboardInterrupt("games of --rounds are not stored; those of match are")


class _Entry(NamedTuple):
    """A match in the file of games: its number there, and the games that are played already."""

    pair: tuple[AgentSpec, AgentSpec]
    number: int
    known: dict[int, Game]


def _play(
    pairs: Sequence[tuple[AgentSpec, AgentSpec]], options: argparse.Namespace, sprt: Sprt | None = None
) -> Iterator[Match]:
    """Plays those games of each two agents that the file of games does not have; yields the matches as they end."""
    from connectx_toolkit.arena.match import open_pool
    from connectx_toolkit.arena.start_positions import openings_for
    from connectx_toolkit.games.database import GameDatabase
    from connectx_toolkit.games.match import Conditions, conditions_here, other_conditions_line
    from connectx_toolkit.system.console import progress
    from connectx_toolkit.system.table import console_for_tables

    setup = _setup(options, "fast")
    openings = openings_for(setup.rules.geometry, options.openings, options.seed)
    here, total = conditions_here(options.concurrency, options.scheduler), 2 * options.pairs
    with GameDatabase(options.games) as database, open_pool(setup, options.concurrency, options.scheduler) as pool:
        entries = []
        for pair in pairs:
            number = database.match_id(*pair, setup, openings, options.seed)
            games = {index: game for index, game in database.match_games(number).items() if index < total}
            entries.append(_Entry(pair, number, games))
        if known := sum(len(entry.known) for entry in entries):
            print(f"reused {known} of {len(entries) * total} games from {options.games}; --seed N plays new ones")
            played = sum((database.conditions(entry.number, total) for entry in entries), Counter[Conditions]())
            print_lines(console_for_tables(), other_conditions_line(played, here))
        print_lines(console_for_tables(), left_out_lines(database.left_out))
        pool.check(dict.fromkeys(spec for entry in entries if len(entry.known) < total for spec in entry.pair))
        left = sum(total - len(entry.known) for entry in entries)
        with progress(left, "game", delay=0 if sprt else 2) as bar:
            run = _Run(database, here, setup, openings, options, sprt, pool, bar)
            for entry in entries:
                yield _play_entry(run, entry)


class _Run(NamedTuple):
    """What all matches of a run have in common."""

    database: GameDatabase
    here: Conditions
    setup: Setup
    openings: Sequence[Opening]
    options: argparse.Namespace
    sprt: Sprt | None
    pool: Pool
    bar: tqdm


def _play_entry(run: _Run, entry: _Entry) -> Match:
    """Plays a match when no other process is playing it; what it returns is what the file holds."""
    from connectx_toolkit.arena.match import play_match
    from connectx_toolkit.games.match import sprt_progress

    def on_game(task: Task, game: Game) -> Game:
        run.bar.update()
        return run.database.add_played(entry.number, task, game, run.here)

    def on_pair(evidence: Evidence) -> None:
        if run.sprt:
            run.bar.set_postfix_str(sprt_progress(run.sprt, evidence), refresh=False)

    pairs, seed = run.options.pairs, run.options.seed
    with run.database.turn(entry.number, 2 * pairs) as known:
        run.bar.update(len(known) - len(entry.known))  # another process has played these meanwhile
        return play_match(
            *entry.pair, run.setup, run.openings, pairs, seed, sprt=run.sprt, known=known,
            on_game=on_game, on_pair=on_pair, pool=run.pool,
        )  # fmt: skip


def _sprt(elos: Sequence[float] | None) -> Sprt | None:
    from connectx_toolkit.statistics.intervals import Sprt

    if elos is None:
        return None
    if not -inf < elos[0] < elos[1] < inf:
        raise ValueError(f"--sprt takes two Elo differences, the lower one first, not {elos[0]:g} {elos[1]:g}")
    return Sprt(*elos)


def add_match(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=match)
    parser.description = "Plays pairs of games from balanced openings, each from both seats, and says who is stronger."
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py match my_agent.py minimax@4 --pairs 100 --concurrency 2
  python evaluate.py match my_agent.py perfect~20 --sprt 0 50     recommended: stops when the games decide
"""
    parser.add_argument("agent1", help="agent to judge; the list below says how to name one")
    parser.add_argument("agent2", help="its opponent")
    parser.add_argument(
        "--sprt", type=number, nargs=2, metavar=("ELO0", "ELO1"),
        help="sequential test: play until the games accept one of two differences in Elo, for example 0 50",
    )  # fmt: skip
    help_text = f"number of pairs of games (default: {PAIRS}); with --sprt, the largest number (default: {SPRT_PAIRS})"
    add_pairs(parser, None, help_text)
    add_games(parser)
    add_setup(parser)
    add_scheduler(parser)


def match(options: argparse.Namespace) -> None:
    """Two agents, from balanced openings, with a verdict."""
    from connectx_toolkit.games.match import lost_game_line, match_lines
    from connectx_toolkit.players.spec import resolve
    from connectx_toolkit.report.tables import match_table
    from connectx_toolkit.system.table import console_for_tables

    sprt, console = _sprt(options.sprt), console_for_tables()
    options.pairs = options.pairs or (SPRT_PAIRS if sprt else PAIRS)
    (played,) = _play([(resolve(options.agent1), resolve(options.agent2))], options, sprt)
    console.print(match_table(played))
    for line in [*match_lines(played, sprt), *lost_game_line(played)]:
        console.print(line, soft_wrap=True)
    if played.ending == "interrupted":
        raise KeyboardInterrupt(STORED)


def add_tournament(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=tournament)
    parser.description = "Plays every two agents against each other and rates all of them."
    parser.epilog = f"""{AGENTS}  agents/                 a folder: every Python file in it

examples
  python evaluate.py tournament my_agent.py n_step minimax@4 random --pairs 20
  python evaluate.py tournament my_agent.py minimax@2 minimax@4 perfect~20 --gauntlet
  python evaluate.py tournament perfect minimax n_step leftmost random --pairs 50 --concurrency 2 --ladder runs/ladder
"""
    parser.add_argument("agents", nargs="+", help="agents to rate; the list below says how to name them")
    parser.add_argument(
        "--gauntlet", action="store_true", help="let only the first agent play, against each of the others"
    )
    add_anchor(parser, "the last one")
    add_ladder(parser)
    add_pairs(parser, 20, "number of pairs of games for every two agents (default: 20)")
    add_games(parser)
    add_setup(parser)
    add_scheduler(parser)


def tournament(options: argparse.Namespace) -> None:
    """Many agents, and a ladder of them."""
    from connectx_toolkit.arena.schedule import pairings, participants
    from connectx_toolkit.games.tournament import Tournament
    from connectx_toolkit.system.console import beside_bars
    from connectx_toolkit.system.table import console_for_tables

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


COMMANDS = {
    "": Command(add_rounds),
    "match": Command(add_match, "find out which of two agents is stronger"),
    "tournament": Command(add_tournament, "rate many agents"),
}
