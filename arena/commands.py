"""What evaluate.py does once its options are read: the commands that play games."""

import argparse
import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Console
from tqdm import tqdm

from arena.course import play_rounds, rounds_lines
from arena.match import Match, Setup, Task, check_concurrency, play_match
from arena.openings import Opening, openings_for
from arena.options import FRESH
from arena.report import console_for_tables, match_lines, match_table, no_progress_bar
from arena.review import analyse, print_ladder, report
from arena.rules import Game, Rules
from arena.specs import AgentSpec, resolve
from arena.stats import Sprt
from arena.store import Store
from arena.tournament import Tournament, pairings, participants


def _setup(options: argparse.Namespace, specs: Sequence[AgentSpec]) -> Setup:
    referee = options.referee
    if referee == "auto":
        referee = "kaggle" if any(spec.kind == "file" for spec in specs) else "fast"
    check_concurrency(options.concurrency)
    return Setup(Rules(options.config or {}, options.bank), referee, FRESH[options.fresh])


def rounds(options: argparse.Namespace) -> None:
    """Two agents by the course's protocol."""
    specs = resolve(options.agent1), resolve(options.agent2)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(
        *rounds_lines(play_rounds(specs, options.rounds, _setup(options, specs), options.concurrency, seed)), sep="\n"
    )


class Plan(NamedTuple):
    """How many games of a match are played, and from where."""

    openings: Sequence[Opening]
    pairs: int
    seed: int
    concurrency: int
    sprt: Sprt | None = None


def _play_stored(specs: tuple[AgentSpec, AgentSpec], setup: Setup, plan: Plan, store: Store, console: Console) -> Match:
    """Plays those games of a match that the store has not got."""
    number = store.match_id(*specs, setup, plan.openings, plan.seed)
    known = {index: game for index, game in store.games(number).items() if index < 2 * plan.pairs}
    if known:
        console.print(f"{len(known)} of {2 * plan.pairs} games were known", highlight=False)

    def on_game(task: Task, game: Game) -> None:
        store.add(number, task, game)
        bar.update()

    total = 2 * plan.pairs - len(known)
    with tqdm(total=total, unit="game", delay=2, leave=False, disable=no_progress_bar()) as bar:
        return play_match(
            *specs, setup, plan.openings, plan.pairs, plan.seed, plan.concurrency, plan.sprt, known, on_game
        )


def _sprt(elos: Sequence[float] | None) -> Sprt | None:
    if elos is None:
        return None
    if not elos[0] < elos[1]:
        raise ValueError(f"--sprt takes the lower difference first, not {elos[0]:g} {elos[1]:g}")
    return Sprt(*elos)


def match(options: argparse.Namespace) -> None:
    sprt = _sprt(options.sprt)
    specs = resolve(options.agent1), resolve(options.agent2)
    setup = _setup(options, specs)
    openings = openings_for(setup.rules.geometry, options.openings, options.pairs, options.seed)
    plan = Plan(openings, options.pairs, options.seed, options.concurrency, sprt)
    console = console_for_tables()
    with Store(options.store) as store:
        played = _play_stored(specs, setup, plan, store, console)
    console.print(match_table(played))
    for line in match_lines(played, sprt):
        console.print(line, highlight=False, soft_wrap=True)


def tournament(options: argparse.Namespace) -> None:
    specs = participants(options.agents)
    anchor = options.anchor or specs[-1].label
    if anchor not in [spec.label for spec in specs]:
        raise ValueError(f"--anchor {anchor!r} is not one of the agents")
    setup = _setup(options, specs)
    openings = openings_for(setup.rules.geometry, options.openings, options.pairs, options.seed)
    plan = Plan(openings, options.pairs, options.seed, options.concurrency)
    console, matches = console_for_tables(), []
    with Store(options.store) as store:
        for first, second in pairings(specs, options.gauntlet):
            match = _play_stored((first, second), setup, plan, store, console)
            matches.append(match)
            tally = match.side(0).tally
            console.print(f"{first.label} v {second.label}: {tally.wins} {tally.draws} {tally.losses}", highlight=False)
    print_ladder(Tournament(matches, [(m.first.label, m.second.label) for m in matches]), anchor, console)


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "": rounds,
    "match": match,
    "tournament": tournament,
    "report": report,
    "analyse": analyse,
}
