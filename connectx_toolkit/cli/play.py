"""The commands of evaluate.py that play games: the course's rounds, match, and tournament."""

from __future__ import annotations

import argparse
import secrets
from typing import TYPE_CHECKING, Any

from connectx_toolkit import api
from connectx_toolkit.api import PAIRS, SPRT_PAIRS, TOURNAMENT_PAIRS
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
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.cores import check_concurrency

if TYPE_CHECKING:
    from connectx_toolkit.players.process import Setup

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
  {shell("evaluate")} minimax negamax --rounds 20
  {shell("evaluate")} my_agent.py minimax@2 --rounds 100 --concurrency 2
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


def add_match(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=match)
    parser.description = "Plays pairs of games from balanced openings, each from both seats, and says who is stronger."
    parser.epilog = f"""{AGENTS}
examples
  {shell("evaluate")} match my_agent.py minimax@4 --pairs 100 --concurrency 2
  {shell("evaluate")} match my_agent.py perfect~20 --sprt 0 50     recommended: stops when the games decide
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


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options that match and tournament share, as the functions of ``api`` take them."""
    names = ("pairs", "config", "overage", "seed", "openings", "games", "scheduler")
    return {name: getattr(options, name) for name in names} | {"workers": options.concurrency}


def match(options: argparse.Namespace) -> None:
    """Two agents, from balanced openings, with a verdict."""
    from connectx_toolkit.system.table import print_parts

    played = api.match(options.agent1, options.agent2, sprt=options.sprt, **_given(options))
    print_parts(played.parts())
    if played.ending == "interrupted":
        raise KeyboardInterrupt(STORED)


def add_tournament(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=tournament)
    parser.description = "Plays every two agents against each other and rates all of them."
    parser.epilog = f"""{AGENTS}  agents/                 a folder: every Python file in it

examples
  {shell("evaluate")} tournament my_agent.py n_step minimax@4 random --pairs 20
  {shell("evaluate")} tournament my_agent.py minimax@2 minimax@4 perfect~20 --gauntlet
  {shell("evaluate")} tournament perfect minimax n_step leftmost random --pairs 50 --concurrency 2 --ladder runs/ladder
"""
    parser.add_argument("agents", nargs="+", help="agents to rate; the list below says how to name them")
    parser.add_argument(
        "--gauntlet", action="store_true", help="let only the first agent play, against each of the others"
    )
    add_anchor(parser, "the last one")
    add_ladder(parser)
    help_text = f"number of pairs of games for every two agents (default: {TOURNAMENT_PAIRS})"
    add_pairs(parser, TOURNAMENT_PAIRS, help_text)
    add_games(parser)
    add_setup(parser)
    add_scheduler(parser)


def tournament(options: argparse.Namespace) -> None:
    """Many agents, and a ladder of them."""
    from connectx_toolkit.system.table import print_parts

    chosen = {name: getattr(options, name) for name in ("gauntlet", "anchor", "ladder")}
    played = api.tournament(*options.agents, **chosen, **_given(options))
    print_parts(played.parts())
    if played.is_interrupted:
        raise KeyboardInterrupt(STORED)


COMMANDS = {
    "": Command(add_rounds),
    "match": Command(add_match, "find out which of two agents is stronger"),
    "tournament": Command(add_tournament, "rate many agents"),
}
