"""The commands of evaluate.py by name, and those of them that play games."""

import argparse
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

from arena.cli.list_agents import list_agents
from arena.cli.options import FRESH
from arena.cli.play import play
from arena.cli.replays import analyse, rematch
from arena.cli.review import report, show_ladder
from arena.game.openings import openings_for
from arena.game.rules import Game, Rules
from arena.players.loading import resolve
from arena.players.spec import AgentSpec
from arena.reporting.tables import match_table
from arena.results.match import Match, play_match
from arena.results.rounds import play_rounds, rounds_lines
from arena.results.stats import Sprt
from arena.results.store import Store
from arena.results.tournament import Tournament, pairings, participants
from arena.results.words import lost_game_line, match_lines
from arena.runs.cores import check_concurrency
from arena.runs.open import open_slots
from arena.runs.slot import Setup, Task
from console.files import check_folder
from console.progress import progress
from console.tables import console_for_tables


def episodes(options: argparse.Namespace) -> None:
    """The games of a submission, from Kaggle. Its SDK takes half a second to import, which only this command pays."""
    from arena.cli.episodes import episodes as fetch_and_review

    fetch_and_review(options)


def _setup(options: argparse.Namespace, specs: Iterable[AgentSpec]) -> Setup:
    referee = options.referee
    if referee == "auto":
        referee = "kaggle" if any(spec.kind == "file" for spec in specs) else "fast"
    check_concurrency(options.concurrency)
    return Setup(Rules(options.config or {}, options.bank), referee, FRESH[options.fresh])


def rounds(options: argparse.Namespace) -> None:
    """Two agents by the course's protocol."""
    specs = resolve(options.agent1), resolve(options.agent2)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    played = play_rounds(specs, options.rounds, _setup(options, specs), options.concurrency, seed)
    print(*rounds_lines(played), sep="\n")
    if len(played.games) < played.asked:
        raise KeyboardInterrupt("these games are not stored; those of match are")


class _Entry(NamedTuple):
    """A match in the store: its number there, and the games that are played already."""

    pair: tuple[AgentSpec, AgentSpec]
    number: int
    known: dict[int, Game]


def _play(
    pairs: Sequence[tuple[AgentSpec, AgentSpec]], options: argparse.Namespace, sprt: Sprt | None = None
) -> Iterator[Match]:
    """Plays those games of each two agents that the store has not got; yields the matches as they end."""
    setup = _setup(options, {spec for pair in pairs for spec in pair})
    openings = openings_for(setup.rules.geometry, options.openings, options.seed)
    total = 2 * options.pairs
    with Store(options.store) as store, open_slots(setup, options.concurrency, options.scheduler) as slots:
        entries = []
        for pair in pairs:
            number = store.match_id(*pair, setup, openings, options.seed)
            known = {index: game for index, game in store.games(number).items() if index < total}
            entries.append(_Entry(pair, number, known))
        slots.check(dict.fromkeys(spec for entry in entries if len(entry.known) < total for spec in entry.pair))
        with _progress([len(entry.known) for entry in entries], total, options.store) as bar:
            for entry in entries:

                def on_game(task: Task, game: Game, number: int = entry.number) -> None:
                    store.add(number, task, game)
                    bar.update()

                yield play_match(
                    *entry.pair, setup, openings, options.pairs, options.seed, sprt=sprt, known=entry.known,
                    on_game=on_game, slots=slots,
                )  # fmt: skip


def _progress(known: Sequence[int], total: int, store: Path):
    """A bar over the games that are left of matches of ``total`` games; says how many are known."""
    if any(known):
        others = "--seed N plays others, --store FILE keeps them elsewhere"
        print(f"{sum(known)} of {len(known) * total} games were known ({store}): {others}")
    left = len(known) * total - sum(known)
    return progress(left, "game")


def _sprt(elos: Sequence[float] | None) -> Sprt | None:
    if elos is None:
        return None
    if not -inf < elos[0] < elos[1] < inf:
        raise ValueError(f"--sprt takes two differences, the lower first, not {elos[0]:g} {elos[1]:g}")
    return Sprt(*elos)


def match(options: argparse.Namespace) -> None:
    """Two agents, from balanced openings, with a verdict."""
    sprt, console = _sprt(options.sprt), console_for_tables()
    (played,) = _play([(resolve(options.agent1), resolve(options.agent2))], options, sprt)
    console.print(match_table(played))
    for line in [*match_lines(played, sprt), *lost_game_line(played, Rules(options.config or {}).geometry)]:
        console.print(line, highlight=False, soft_wrap=True)


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
        console.print(line, highlight=False)
    names = [(match.first.label, match.second.label) for match in matches]
    show_ladder(Tournament(matches, names), anchor, console, options.ladder)


# Each has its options in arena.cli.options.OPTIONS, under the same name.
COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "": rounds,
    "match": match,
    "tournament": tournament,
    "report": report,
    "analyse": analyse,
    "rematch": rematch,
    "episodes": episodes,
    "list": list_agents,
    "play": play,
}
