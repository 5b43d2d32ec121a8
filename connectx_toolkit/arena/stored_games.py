"""Plays matches whose games are stored: those that the file of games has are not played again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Unpack

from connectx_toolkit.arena.match import Unchanged, open_pool, play_match, setup_of
from connectx_toolkit.arena.options import MatchOptions
from connectx_toolkit.arena.results import Match, sprt_progress
from connectx_toolkit.arena.start_positions import openings_for, source_of
from connectx_toolkit.arena.store import MatchStore, conditions_here
from connectx_toolkit.arena.tournament import Tournament
from connectx_toolkit.games.game import Game
from connectx_toolkit.players.process import Task
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.statistics.evidence import Evidence
from connectx_toolkit.statistics.intervals import Sprt
from connectx_toolkit.system.console import beside_bars, progress
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.foreign import left_out_lines
from connectx_toolkit.system.table import print_parts


def play_matches(
    matches: Sequence[tuple[AgentSpec, AgentSpec]],
    pairs: int,
    sprt: Sprt | None = None,
    **options: Unpack[MatchOptions],
) -> Iterator[Match]:
    """Plays those games of each two agents that the file of games does not have; yields the matches as they end.

    Prints lines about the games that it has.

    Args:
        matches: the two agents of each.
        options: all of them.

    Raises:
        ValueError: too few cores, openings or a file of games that cannot be read, or an agent that cannot be loaded or
            was changed meanwhile.
    """
    setup, seed, file = setup_of(options), options["seed"], Path(options["games"])
    place = options["workers"], options["scheduler"]
    check_concurrency(options["workers"])
    named = None if options["openings"] is None else Path(options["openings"])
    openings = openings_for(setup.rules.geometry, named, seed)
    source = source_of(openings, named, setup.rules.geometry)
    here, total = conditions_here(*place), 2 * pairs
    with MatchStore(file) as database, open_pool(setup, *place) as pool:
        agents = Unchanged([spec for pair in matches for spec in pair])
        entries = [(pair, database.match_id(*pair, setup, openings, seed, source)) for pair in matches]
        known = {number: sum(n < total for n in database.match_games(number)) for _, number in entries}
        if reused := sum(known.values()):
            played = sum((database.conditions(number, total) for number in known), Counter[str]())
            line = f"reused {reused} of {len(entries) * total} games from {file}; another seed plays new ones"
            print_parts([line, *_other_conditions(played, here)])
        print_parts(left_out_lines(database.left_out))
        pool.check(dict.fromkeys(spec for pair, number in entries if known[number] < total for spec in pair))
        left = len(entries) * total - reused
        title = sprt_progress(sprt, Evidence()) if sprt else None
        with progress(None if sprt and left else left, "game", title, delay=0 if sprt else 2) as bar:

            def on_pair(evidence: Evidence) -> None:
                if sprt:
                    bar.set_description_str(sprt_progress(sprt, evidence), refresh=False)

            for pair, number in entries:

                def on_game(task: Task, game: Game, number: int = number) -> None:
                    agents.check()  # what has been played meanwhile is not stored
                    bar.update()
                    database.add_played(number, task, game, here)

                with database.turn(number, total) as games:
                    bar.update(len(games) - known[number])  # another process has played these meanwhile
                    match = Match(*pair, games, seed=seed, sprt=sprt)
                    play_match(match, openings, pairs, pool, on_game, on_pair)
                yield match


def _other_conditions(played: Counter[str], here: str) -> list[str]:
    """How many of the reused games were played under other conditions, in which a search may have got further."""
    other = [(line, count) for line, count in played.most_common() if line != here]
    words = f"{sum(count for _, count in other)} of them were played under other conditions; they still count"
    return [f"{words}: {'; '.join(line for line, _ in other)} (now {here})"] if other else []


def play_tournament(matches: Iterable[Match], anchor: str) -> Tournament:
    """The matches as they end, until one is interrupted; prints a line of each."""
    played = Tournament([], anchor)
    for match in matches:
        played.matches.append(match)
        tally, names = match.side(0).tally, " v ".join(played.names[-1])
        with beside_bars():
            print_parts([f"{names}: won {tally.wins} drawn {tally.draws} lost {tally.losses}"])
        if played.is_interrupted:
            break
    return played
