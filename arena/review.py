"""The commands of evaluate.py that look at games already played."""

import argparse
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rich.console import Console

from arena.analysis import GameRecord, JudgedMove, Scores, judge, losing_move, parse_game, read_replay, solver_scores
from arena.ladder import write_ladder
from arena.openings import write_opening
from arena.page import game_entry, group_html, page
from arena.report import accuracy_table, cross_table, ladder_table
from arena.rules import Rules
from arena.store import Group, Store, group_records, groups
from arena.tournament import Standing, Tournament
from connectx.position import Position
from console.files import check_folder, write_whole
from console.progress import progress
from console.tables import console_for_tables

LONG_BEFORE = 8  # plies: one position of fewer stones can take the solver longer than anyone waits without a word


def show_ladder(
    tournament: Tournament, anchor: str, console: Console, stem: Path | None, edited: Collection[str] = ()
) -> list[Standing]:
    """Prints the ladder and the crosstable; writes the ladder to files too if ``stem`` is given.

    Agents that no games connect with the anchor have no place on it, and are named. ``edited``: those that are one of
    several versions of an agent.
    """
    parts = tournament.components()
    part = next((names for names in parts if anchor in names), set[str]())
    if part and (left_out := sorted(set[str]().union(*parts) - part)):
        why = "; edited versions of a file count as different agents" if set(edited) & {*left_out, anchor} else ""
        line = f"left out, as no games connect them with {anchor}: {', '.join(left_out)}{why}"
        console.print(line, highlight=False, soft_wrap=True)
        tournament = tournament.among(part)
    try:
        ladder = tournament.ladder(anchor)
    except ValueError as problem:
        console.print(f"no ladder: {problem}", highlight=False)
        return []
    console.print(ladder_table(ladder, anchor))
    console.print(cross_table(tournament, [line.name for line in ladder]))
    if stem is not None:
        write_ladder(stem, ladder, anchor)
    return ladder


def report(options: argparse.Namespace) -> None:
    check_folder(options.html)
    check_folder(options.ladder)
    console, sections, entries = console_for_tables(), [], []
    with Store(options.store, create=False) as store:
        found = groups(store)
    if not found:
        raise ValueError(f"{options.store} holds no games")
    if options.ladder and len(found) > 1:
        titles = "; ".join(group.title for group in found)
        raise ValueError(f"--ladder takes a store of one kind of games, but {options.store} holds {titles}")
    if options.anchor and not any(options.anchor in pair for group in found for pair in group.tournament.names):
        raise ValueError(f"--anchor {options.anchor!r} has played no games in {options.store}")
    for group in found:
        anchor = options.anchor or _anchor_of(group.tournament)
        console.print(f"\n{group.title}", highlight=False)
        ladder = show_ladder(group.tournament, anchor, console, options.ladder, group.edited)
        if options.html:
            judged, games = _judged_games(group, options)
            entries += games
            sections += group_html(group.title, group.tournament, ladder, judged)
    if options.html:
        write_whole(options.html, page(sections, entries).encode())


def _anchor_of(tournament: Tournament) -> str:
    """random, or else the first in the alphabet, of the largest group of agents that games connect."""
    parts = tournament.components() or [{name for pair in tournament.names for name in pair}]
    return "random" if "random" in parts[0] else min(parts[0])


def _judged_games(group: Group, options: argparse.Namespace) -> tuple[dict[str, list[JudgedMove]], list[dict]]:
    """The latest games of a group for the page; their moves by agent, judged if that was asked for."""
    geometry = Rules(group.config).geometry
    scores = solver_scores(geometry) if options.judge else None
    by_agent: dict[str, list[JudgedMove]] = {}
    entries = []
    for record, ending in group_records(group)[-options.games :]:
        judged = judge(record, scores, options.from_ply) if scores else []
        for move in judged:
            by_agent.setdefault(record.names[move.seat], []).append(move)
        entries.append(game_entry(record, judged, ending))
    return by_agent, entries


def analyse(options: argparse.Namespace) -> None:
    console = console_for_tables()
    by_agent: dict[str, list[JudgedMove]] = {}
    records = _records(options)
    total = sum(max(0, len(record.moves) - max(options.from_ply, record.opening)) for record in records)
    with progress(total, "move", delay=0 if total and options.from_ply < LONG_BEFORE else 2) as bar:
        for record in records:
            judged = judge(record, _counted(solver_scores(record.geometry), bar.update), options.from_ply)
            for move in judged:
                by_agent.setdefault(record.names[move.seat], []).append(move)
            line = f"{record.names[0]} v {record.names[1]}, {write_opening(record.moves)}: "
            bar.clear()
            console.print(line + _in_words(record, judged, options.from_ply), highlight=False, soft_wrap=True)
    if by_agent:
        console.print(accuracy_table(by_agent))


def _counted(scores: Scores, update: Callable[[], object]) -> Scores:
    def counted(position: Position) -> list[int | None]:
        found = scores(position)
        update()
        return found

    return counted


def _in_words(record: GameRecord, judged: Sequence[JudgedMove], from_ply: int) -> str:
    """What the judged moves of a game show."""
    if mistake := losing_move(judged):
        return mistake.words()
    plies = len(record.moves)
    if not judged:
        return f"the game has {plies} plies, judged from ply {from_ply} on: --from-ply N judges earlier ones"
    start = judged[0]
    winner = start.seat if start.value > 0 else 1 - start.seat
    result = "drawn" if start.value == 0 else f"won by {record.names[winner]}"
    return f"no move from ply {start.ply} on changed the result: the position there was {result} with perfect play"


def _records(options: argparse.Namespace) -> list[GameRecord]:
    if options.what.replace(",", "").isdigit() and not Path(options.what).exists():
        return [parse_game(options.what, Rules(options.config or {}).geometry)]
    if options.what.endswith(".json"):
        return [read_replay(Path(options.what))]
    with Store(Path(options.what), create=False) as store:
        return [record for group in groups(store) for record, _ in group_records(group)[-options.games :]]
