"""Plays matches whose games are stored: those that the file of games has are not played again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.arena.match import Unchanged, open_pool, play_match
from connectx_toolkit.arena.results import Match, sprt_progress
from connectx_toolkit.arena.start_positions import Opening, openings_for
from connectx_toolkit.arena.store import MatchStore, conditions_here
from connectx_toolkit.arena.tournament import Tournament
from connectx_toolkit.games.game import Game
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.statistics.evidence import Evidence
from connectx_toolkit.statistics.intervals import Sprt
from connectx_toolkit.system.console import beside_bars, progress
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.foreign import integer, left_out_lines
from connectx_toolkit.system.table import print_parts


class Plan(NamedTuple):
    """What all matches of a run have in common."""

    setup: Setup
    pairs: int
    file: Path  # of games
    seed: int
    openings: Path | Sequence[Opening] | None = None  # a file, as ``start_positions.openings_for`` takes it, or they
    concurrency: int = 1  # games at a time
    scheduler: str | None = None  # of a dask cluster
    sprt: Sprt | None = None


def play_matches(pairs: Sequence[tuple[AgentSpec, AgentSpec]], plan: Plan) -> Iterator[Match]:
    """Plays those games of each two agents that the file of games does not have; yields the matches as they end.

    Prints lines about the games that it has.

    Raises:
        ValueError: pairs or a seed that are no such number, too few cores, openings or a file of games that cannot be
            read, or an agent that cannot be loaded or was changed meanwhile.
    """
    if type(plan.pairs) is not int or plan.pairs < 1:
        raise ValueError(f"pairs should be an integer of at least 1, not {plan.pairs!r}")
    integer(plan.seed, "seed")
    check_concurrency(plan.concurrency)
    openings = plan.openings
    if openings is None or isinstance(openings, Path):
        openings = openings_for(plan.setup.rules.geometry, openings, plan.seed)
    here, total = conditions_here(plan.concurrency, plan.scheduler), 2 * plan.pairs
    with MatchStore(plan.file) as database, open_pool(plan.setup, plan.concurrency, plan.scheduler) as pool:
        agents = Unchanged(spec for pair in pairs for spec in pair)
        entries = [(pair, database.match_id(*pair, plan.setup, openings, plan.seed)) for pair in pairs]
        known = {number: sum(n < total for n in database.match_games(number)) for _, number in entries}
        if reused := sum(known.values()):
            played = sum((database.conditions(number, total) for number in known), Counter[str]())
            line = f"reused {reused} of {len(entries) * total} games from {plan.file}; another seed plays new ones"
            print_parts([line, *_other_conditions(played, here)])
        print_parts(left_out_lines(database.left_out))
        pool.check(dict.fromkeys(spec for pair, number in entries if known[number] < total for spec in pair))
        with progress(len(entries) * total - reused, "game", delay=0 if plan.sprt else 2) as bar:

            def on_pair(evidence: Evidence) -> None:
                if plan.sprt:
                    bar.set_postfix_str(sprt_progress(plan.sprt, evidence), refresh=False)

            for pair, number in entries:

                def on_game(task: Task, game: Game, number: int = number) -> None:
                    agents.check()  # what has been played meanwhile is not stored
                    bar.update()
                    database.add_played(number, task, game, here)

                with database.turn(number, total) as games:
                    bar.update(len(games) - known[number])  # another process has played these meanwhile
                    match = Match(*pair, games, seed=plan.seed, sprt=plan.sprt)
                    play_match(match, openings, plan.pairs, pool, on_game, on_pair)
                yield match


def _other_conditions(played: Counter[str], here: str) -> list[str]:
    """How many of the reused games were played under other conditions, in which a search may have got further."""
    other = [(line, count) for line, count in played.most_common() if line != here]
    words = f"{sum(count for _, count in other)} of them were played under other conditions; they still count"
    return [f"{words}: {'; '.join(line for line, _ in other)} (now {here})"] if other else []


def play_tournament(matches: Iterable[Match], anchor: str) -> Tournament:
    """The matches as they end, until one is interrupted; prints a line of each."""
    played = Tournament([], [], anchor)
    for match in matches:
        played.matches.append(match)
        played.names.append((match.first.label, match.second.label))
        tally, names = match.side(0).tally, " v ".join(played.names[-1])
        with beside_bars():
            print_parts([f"{names}: won {tally.wins} drawn {tally.draws} lost {tally.losses}"])
        if played.is_interrupted:
            break
    return played
