"""The commands of evaluate.py that look at games already played."""

import argparse
from pathlib import Path

from rich.console import Console

from arena.analysis import GameRecord, JudgedMove, judge, losing_move, parse_game, read_replay, solver_scores
from arena.ladder import write_ladder
from arena.openings import write_opening
from arena.page import game_entry, group_html, page
from arena.report import accuracy_table, check_folder, console_for_tables, cross_table, ladder_table, write_whole
from arena.rules import Rules
from arena.store import Group, Store, group_records, groups
from arena.tournament import Standing, Tournament


def show_ladder(tournament: Tournament, anchor: str, console: Console, stem: Path | None) -> list[Standing]:
    """Prints the ladder and the crosstable; writes the ladder to files too if ``stem`` is given."""
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
    for group in found:
        names = sorted({name for pair in group.tournament.names for name in pair})
        anchor = options.anchor or ("random" if "random" in names else names[0])
        console.print(f"\n{group.title}", highlight=False)
        ladder = show_ladder(group.tournament, anchor, console, options.ladder)
        if options.html:
            judged, games = _judged_games(group, options)
            entries += games
            sections += group_html(group.title, group.tournament, ladder, judged)
    if options.html:
        write_whole(options.html, page(sections, entries).encode())


def _judged_games(group: Group, options: argparse.Namespace) -> tuple[dict[str, list[JudgedMove]], list[dict]]:
    """The latest games of a group for the page; their moves by agent, judged if that was asked for."""
    geometry = Rules(group.config).geometry
    scores = solver_scores(geometry) if options.judge else None
    by_agent: dict[str, list[JudgedMove]] = {}
    entries = []
    for record, ending in group_records(group)[-max(0, options.games) :]:
        judged = judge(record, scores, options.from_ply) if scores else []
        for move in judged:
            by_agent.setdefault(record.names[move.seat], []).append(move)
        entries.append(game_entry(record, judged, ending))
    return by_agent, entries


def analyse(options: argparse.Namespace) -> None:
    console = console_for_tables()
    by_agent: dict[str, list[JudgedMove]] = {}
    for record in _records(options):
        judged = judge(record, solver_scores(record.geometry), options.from_ply)
        for move in judged:
            by_agent.setdefault(record.names[move.seat], []).append(move)
        mistake = losing_move(judged)
        moves = write_opening(record.moves)
        words = mistake.words() if mistake else f"no move from ply {options.from_ply} on changed the result"
        console.print(f"{record.names[0]} v {record.names[1]}, {moves}: {words}", highlight=False, soft_wrap=True)
    console.print(accuracy_table(by_agent))


def _records(options: argparse.Namespace) -> list[GameRecord]:
    if options.what.replace(",", "").isdigit() and not Path(options.what).exists():
        return [parse_game(options.what, Rules(options.config or {}).geometry)]
    if options.what.endswith(".json"):
        return [read_replay(Path(options.what))]
    with Store(Path(options.what), create=False) as store:
        return [record for group in groups(store) for record, _ in group_records(group)[-max(0, options.games) :]]
