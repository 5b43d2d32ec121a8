"""The ladder and the table of all results of a file of games, and a page with charts and games. Nothing is played."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from connectx_toolkit.arena.tournament import Tournament, ladder_parts, tournament_of
from connectx_toolkit.games.groups import Group
from connectx_toolkit.games.review import Review, moves_by_agent
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.report.ladder import write_ladder
from connectx_toolkit.report.pages import game_entry, group_html, results_page
from connectx_toolkit.report.tables import TOO_LARGE
from connectx_toolkit.system.files import write_whole
from connectx_toolkit.system.foreign import left_out_lines
from connectx_toolkit.system.table import Part, Told


def results(
    groups: Sequence[Group],
    shown: Sequence[Sequence[Review]],
    left_out: Sequence[str],
    ladder: Path | None,
    html: Path | None,
    is_judged: bool,
) -> Told:
    """See ``connectx_toolkit.api.report``. ``shown``: of each group, the games for the page."""
    told, sections, tournaments = list[Part](), list[str](), list[Tournament]()
    for group, games in zip(groups, shown, strict=True):
        tournament = tournament_of(group)
        anchor = _anchor_of(tournament)
        parts, standings = ladder_parts(tournament, anchor, group.edited)
        told += [f"\n{group.title}", *parts]
        tournaments.append(replace(tournament, anchor=anchor))
        if ladder and standings:
            write_ladder(ladder, standings, anchor)
        if html:
            judged = moves_by_agent(games)
            sections += group_html(group.title, tournament, standings, anchor, judged, len(games))
    if html:
        write_whole(html, results_page(sections, [game_entry(one) for games in shown for one in games]).encode())
    unsolvable = [group.title for group in groups if is_judged and not Rules(group.config).geometry.fits_word]
    told += [*(f"not judged: {title} ({TOO_LARGE})" for title in unsolvable), *left_out_lines(left_out)]

    def document() -> dict[str, Any]:
        pairs = zip(groups, tournaments, strict=True)
        return {"groups": [{"title": group.title} | one.document() for group, one in pairs], "left_out": [*left_out]}

    return Told(told, document)


def _anchor_of(tournament: Tournament) -> str:
    """random, or else the first in the alphabet, of the largest group of agents that games connect."""
    parts = tournament.components() or [{name for pair in tournament.names for name in pair}]
    return "random" if "random" in parts[0] else min(parts[0])
