"""The ladder and the table of all results of a file of games, and a page with charts and games. Nothing is played."""

from collections.abc import Callable
from pathlib import Path

from connectx_toolkit.arena.tournament import Tournament, ladder_parts, tournament_of
from connectx_toolkit.games.analysis import JudgedMove
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.groups import Group, groups
from connectx_toolkit.games.review import Review
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.report.ladder import write_ladder
from connectx_toolkit.report.pages import game_entry, group_html, results_page
from connectx_toolkit.report.tables import TOO_LARGE
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.files import check_folder, write_whole
from connectx_toolkit.system.foreign import NothingLeft, left_out_lines
from connectx_toolkit.system.table import Part, Told

Judge = Callable[[Game], Review]


def results(games: Path, ladder: Path | None, html: Path | None, latest: int, judge: Judge | None) -> Told:
    """See ``connectx_toolkit.report``. ``judge``: what judges the games on the page; None: nothing does."""
    if judge and not html:
        raise ValueError(f"{as_option('judge')} is for the games on the page: {as_option('html', 'FILE')}")
    check_folder(html)
    check_folder(ladder)
    with GameDatabase(games, create=False) as database:
        found = groups(database)
    if not found and database.left_out:
        raise NothingLeft(database.left_out)
    if not found:
        raise ValueError(f"{games} holds no games of matches")
    if ladder and len(found) > 1:
        titles = "; ".join(group.title for group in found)
        raise ValueError(f"{as_option('ladder')} takes a file of one kind of matches, but {games} holds {titles}")
    told, sections, entries, unsolvable = list[Part](), list[str](), list[dict](), list[str]()
    for group in found:
        tournament = tournament_of(group)
        anchor = _anchor_of(tournament)
        parts, standings = ladder_parts(tournament, anchor, group.edited)
        told += [f"\n{group.title}", *parts]
        if ladder and standings:
            write_ladder(ladder, standings, anchor)
        if html:
            by_agent, shown = _judged_games(group, latest, judge)
            if judge and not Rules(group.config).geometry.fits_word:
                unsolvable.append(group.title)
            entries += shown
            sections += group_html(group.title, tournament, standings, by_agent)
    if html:
        write_whole(html, results_page(sections, entries).encode())
    told += [f"not judged: {title} ({TOO_LARGE})" for title in unsolvable]
    return Told([*told, *left_out_lines(database.left_out)])


def _anchor_of(tournament: Tournament) -> str:
    """random, or else the first in the alphabet, of the largest group of agents that games connect."""
    parts = tournament.components() or [{name for pair in tournament.names for name in pair}]
    return "random" if "random" in parts[0] else min(parts[0])


def _judged_games(group: Group, latest: int, judge: Judge | None) -> tuple[dict[str, list[JudgedMove]], list[dict]]:
    """The latest games of a group for the page; their moves by agent, if they are judged."""
    by_agent: dict[str, list[JudgedMove]] = {}
    entries = []
    for game in group.games()[-latest:]:
        one = judge(game) if judge else Review(game, [])
        for move in one.moves:
            by_agent.setdefault(game.names[move.seat], []).append(move)
        entries.append(game_entry(one))
    return by_agent, entries
