"""``evaluate.py exam``: agents asked for their moves in positions of which every move's exact score is known."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from connectx.position import STANDARD
from connectx_toolkit.cli.analyse import own_games
from connectx_toolkit.cli.options import (
    AGENTS,
    Command,
    add_from_one,
    add_me,
    add_setup,
    add_write_mistakes,
    any_seed,
    from_one,
)
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.system.console import plural
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.files import check_folder, write_whole
from connectx_toolkit.system.foreign import left_out_lines

if TYPE_CHECKING:
    from connectx_toolkit.games.grades import Sheet
    from connectx_toolkit.games.labelled import Labels
    from connectx_toolkit.players.process import Setup
    from connectx_toolkit.players.spec import AgentSpec
    from connectx_toolkit.report.exams import Mistake

COUNT = 300
POINTS = {"won": 1.0, "drawn": 0.5, "lost": 0.0}
SEATS = ("first", "second")
OF_GAMES = (".json", ".gz", ".bz2", ".xz", ".tar", ".tgz", ".zip")  # suffixes of replays and archives of them
KEPT = "the answers are kept; the same command goes on"


def add_exam(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=exam)
    parser.description = """\
Asks agents for their moves in positions of which every move's exact score is known. It says how many moves keep the
result and how many are perfect, who is better, and where each agent is weak."""
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py exam my_agent.py                           300 positions of the standard exam
  python evaluate.py exam my_agent.py minimax@4 --count 1000 --html runs/exam.html
  python evaluate.py exam my_agent.py --seed 7                  fresh positions, solved first (a minute or two)
  python evaluate.py exam my_agent.py --positions runs/mistakes.txt
  python evaluate.py exam my_agent.py --positions runs/games.sqlite --me my_agent.py --result lost --seat second
"""
    parser.add_argument("agents", nargs="+", help="agents to ask; the list below says how to name them")
    help_text = f"number of positions (default: {COUNT}; all of those of --positions)"
    parser.add_argument("--count", type=from_one, metavar="N", help=help_text)
    help_text = "draw fresh positions with this random seed (default: the standard exam, the same for everybody)"
    parser.add_argument("--seed", type=any_seed, metavar="N", help=help_text)
    help_text = (
        "take the positions from FILE: lines of columns, lines of columns and score as in Pons' files, lines of JSON "
        "with a board, a file of labels, a file of games, or a folder of replays"
    )
    parser.add_argument("--positions", type=Path, metavar="FILE", help=help_text)
    add_from_one(parser)
    add_me(parser)
    help_text = "take only the games in which you had this seat (default: both)"
    parser.add_argument("--seat", choices=SEATS, help=help_text)
    parser.add_argument("--result", choices=[*POINTS], help="take only the games that you won, drew or lost")
    help_text = "ask for each move so often, with other random numbers each time, and give means (default: 1)"
    parser.add_argument("--times", type=from_one, default=1, metavar="N", help=help_text)
    add_setup(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page to FILE, with the mistakes to practise")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as tables")
    add_write_mistakes(parser)


def exam(options: argparse.Namespace) -> None:
    """Agents in the positions of an exam, with what their answers are worth."""
    from connectx_toolkit.arena.exam import Exam
    from connectx_toolkit.arena.start_positions import read_openings
    from connectx_toolkit.games.exam_positions import FOLDER
    from connectx_toolkit.players.process import Setup

    specs = _specs(options.agents)
    setup = Setup(Rules(options.config or {}, options.overage))
    if setup.rules.geometry != STANDARD:
        raise ValueError("an exam is of 7x6: --config cannot change the board")
    check_concurrency(options.concurrency)
    for path in (options.html, options.write_mistakes):
        check_folder(path)
    if options.write_mistakes and options.write_mistakes.exists():
        read_openings(options.write_mistakes, STANDARD)  # refused before any work is done
    labels, left_out = _positions(options)
    taken = Exam(specs, labels, setup, options.times, FOLDER)
    taken.sit(options.concurrency)
    sheets = taken.sheets()
    if len(sheets[0].labels):
        notes = [f"reused {taken.reused} answers from {FOLDER}"] if taken.reused else []
        _show(sheets, setup, options, notes, left_out)
    if not taken.is_whole:
        raise KeyboardInterrupt(KEPT)


def _specs(agents: Sequence[str]) -> list[AgentSpec]:
    from connectx_toolkit.players.spec import resolve

    specs = [resolve(agent) for agent in agents]
    for field in ("target", "label"):
        names = [getattr(spec, field) for spec in specs]
        if twice := next((spec.label for spec, name in zip(specs, names, strict=True) if names.count(name) > 1), None):
            raise ValueError(f"{twice} is given twice: name each agent once")
    return specs


def _positions(options: argparse.Namespace) -> tuple[Labels, list[str]]:
    """The positions, with the score of every move, and what was left out."""
    from connectx_toolkit.games.exam_positions import first_of, fresh_exam, standard_exam

    if options.positions is None:
        if options.me or options.seat or options.result or options.from_one:
            raise ValueError("--me, --seat, --result and --from-one are for --positions FILE")
        count = options.count or COUNT
        return (standard_exam(count) if options.seed is None else fresh_exam(count, options.seed)), []
    if options.seed is not None:
        raise ValueError("--seed draws fresh positions, --positions FILE has its own: leave one of them out")
    labels, left_out = _given_positions(options)
    return first_of(labels, options.count or len(labels)), left_out


def _given_positions(options: argparse.Namespace) -> tuple[Labels, list[str]]:
    """The positions of a file or a folder."""
    from connectx_toolkit.games.exam_positions import given_positions, positions_of, solved
    from connectx_toolkit.games.schema import is_database

    path = options.positions
    of_games = path.is_dir() or path.suffix in OF_GAMES or is_database(path)
    if not of_games and (options.me or options.seat or options.result):
        raise ValueError(f"{path} holds no games: --me, --seat and --result choose among games")
    if not of_games:
        return given_positions(path, options.from_one)
    options.what, options.latest = [str(path)], None
    games, left_out = own_games(options)
    seat = SEATS.index(options.seat) if options.seat else None
    found = [*positions_of(games, options.me, seat, POINTS[options.result] if options.result else None)]
    if not found:
        raise ValueError(f"{path} holds no such positions of {options.me}")
    return solved(path.name, found), left_out


def _show(
    sheets: Sequence[Sheet], setup: Setup, options: argparse.Namespace, notes: list[str], left_out: Sequence[str]
) -> None:
    """Prints what the exam says, or JSON; writes the page and the mistakes."""
    from connectx_toolkit.report.exams import exam_lines, exam_tables, mistakes_of, page_of
    from connectx_toolkit.system.table import print_parts

    act_timeout, mistakes = setup.rules.config["actTimeout"], mistakes_of(sheets)
    tables, lines = exam_tables(sheets, act_timeout), exam_lines(sheets)
    if options.html:
        write_whole(options.html, page_of(sheets, act_timeout, mistakes).encode())
        notes.append(f"page: {options.html}")
    if options.write_mistakes:
        notes.append(_written(options.write_mistakes, mistakes))
    if options.json:
        found = {table.title: table.records() for table in tables}
        rows = [mistake.row() for mistake in mistakes]
        document = {"positions": len(sheets[0].labels), "tables": found, "lines": lines, "mistakes": rows}
        print(json.dumps(document | {"left_out": [*left_out]}, indent=2))
        return
    print_parts([*tables, *lines, *notes, *left_out_lines(left_out)])


def _written(path: Path, mistakes: Sequence[Mistake]) -> str:
    from connectx_toolkit.arena.start_positions import add_openings

    found = [(one.moves, f"{one.agent}: {one.theme}; {one.judged.words()}") for one in mistakes]
    added, held = add_openings(path, found, STANDARD)
    return f"{path}: {added} {plural('position', added)} added, {held} in all"


COMMANDS = {
    "exam": Command(add_exam, "find out how many of an agent's moves are right, and where it is weak"),
}
