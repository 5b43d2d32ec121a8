"""The commands of evaluate.py that look at games already played."""

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rich.console import Console

from arena.cli.options import JUDGED_FROM
from arena.game.openings import write_opening
from arena.game.rules import Rules
from arena.reporting.ladder import write_ladder
from arena.reporting.page import game_entry, group_html, page
from arena.reporting.tables import accuracy_table, cross_table, ladder_table
from arena.results.exact_analysis import (
    JudgedMove,
    Scores,
    judge,
    judge_backwards,
    losing_move,
    mistakes,
    solver_results,
    solver_scores,
)
from arena.results.records import GameRecord, parse_game, read_replay
from arena.results.store import Group, Store, group_records, groups
from arena.results.tournament import Standing, Tournament
from connectx.geometry import Geometry
from connectx.position import Position
from console.files import check_folder, write_whole
from console.progress import progress
from console.tables import console_for_tables

LONG_BEFORE = 8  # plies: one position of fewer stones can take the solver longer than anyone waits without a word
BACK_SECONDS = 120  # to look for a turning point before the plies that are judged; from ply 3 on seconds suffice


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
    geometry = Rules(options.config or {}).geometry
    show_games(records_of(options.what, geometry, options.opening, options.games), options.from_ply)


def show_games(records: Sequence[GameRecord], from_ply: int | None = None) -> None:
    """Prints where each game turned, and how good the moves were.

    Args:
        from_ply: moves before it are not judged. None: from ``JUDGED_FROM`` on, and where a game that was lost on the
            board did not turn there, its turning point is looked for in the plies before.

    Raises:
        ValueError: the solver cannot hold a board.
    """
    console = console_for_tables()
    by_agent: dict[str, list[JudgedMove]] = {}
    first = JUDGED_FROM if from_ply is None else from_ply
    for record in records:
        start = max(first, record.opening)
        total = max(0, len(record.moves) - start)
        with progress(total, "move", delay=0 if total and start < LONG_BEFORE else 2) as bar:
            judged = judge(record, _counted(solver_scores(record.geometry), bar.update), start)
        for move in judged:
            by_agent.setdefault(record.names[move.seat], []).append(move)
        earlier = _judged_before(record, judged) if from_ply is None else []
        line = f"{record.names[0]} v {record.names[1]}, {write_opening(record.moves)}: "
        console.print(line + in_words(record, [*earlier, *judged], start), highlight=False, soft_wrap=True)
    if by_agent:
        console.print(accuracy_table(by_agent))


def _counted(scores: Scores, update: Callable[[], object]) -> Scores:
    def counted(position: Position) -> list[int | None]:
        found = scores(position)
        update()
        return found

    return counted


def _judged_before(record: GameRecord, judged: Sequence[JudgedMove]) -> list[JudgedMove]:
    """The loser's moves back to the turning point of a game that was lost before those that are judged.

    Their scores are results. The winner's need no look: none of them can have turned the game to its own good.
    """
    before, winner = judged[0].ply if judged else len(record.moves), record.winner
    if winner is None or losing_move(judged) or before <= record.opening:
        return []
    line = f"the game was lost before ply {before}: looking where it turned, for up to {BACK_SECONDS} s"
    print(line, file=sys.stderr)
    found = list[JudgedMove]()
    with progress(BACK_SECONDS, "s", delay=0) as bar:
        results = solver_results(record.geometry, BACK_SECONDS, bar.update)
        for move in judge_backwards(record, 1 - winner, before, results):
            found.insert(0, move)
            if not move.kept_result:
                break
    return found


def in_words(record: GameRecord, judged: Sequence[JudgedMove], from_ply: int) -> str:
    """What the judged moves of a game show, in a line."""
    plies, given = len(record.moves), mistakes(judged)
    words = [f"{record.player(record.forfeit[0])} lost by {record.forfeit[1]} on ply {plies}"] if record.forfeit else []
    if given:
        turning = given.pop()
        words.append(f"turning point of {record.player(turning.seat)}: {turning.words()}")
        others = [f"{record.player(m.seat)} on ply {m.ply} ({m.results[0]}, now {m.results[1]})" for m in given]
        words += [f"given away before: {', '.join(others)}"] if others else []
    elif not judged:
        words.append(f"the game has {plies} plies, judged from ply {from_ply} on: --from-ply N judges earlier ones")
    else:
        start = judged[0]
        winner = start.seat if start.value > 0 else 1 - start.seat
        result = "drawn" if start.value == 0 else f"won by {record.player(winner)}"
        words.append(f"no move from ply {start.ply} on changed the result: the position there was {result}")
        is_whole = start.ply <= record.opening + 1  # of who lost, there may be no earlier move
        words[-1] += " with perfect play" + ("" if is_whole else " (--from-ply N judges earlier ones)")
    return "; ".join(words)


def records_of(what: str, geometry: Geometry, opening: int = 0, games: int = 10) -> list[GameRecord]:
    """Games by their text: columns, the path of a replay of Kaggle's, or that of a store.

    Args:
        geometry, opening: of a game that is given by its columns.
        games: of each group of a store, the latest.

    Raises:
        ValueError: it is none of these.
    """
    path = Path(what)
    if what.replace(",", "").isdecimal() and not path.exists():
        return [parse_game(what, geometry, opening)]
    if path.is_dir():
        raise ValueError(f"{what} is a folder, where a game's columns, a replay (.json) or a store was expected")
    if path.suffix == ".json":
        return [read_replay(path)]
    with Store(path, create=False) as store:
        return [record for group in groups(store) for record, _ in group_records(group)[-games:]]
