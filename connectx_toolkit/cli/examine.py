"""``evaluate.py exam``: agents asked for their moves in positions of which every move's exact score is known."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from connectx.position import STANDARD
from connectx_toolkit import api
from connectx_toolkit.api import EXAM_POSITIONS
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
from connectx_toolkit.system.console import plural, shell
from connectx_toolkit.system.files import check_folder, write_whole


def add_exam(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=exam)
    parser.description = """\
Asks agents for their moves in positions of which every move's exact score is known. It says how many moves keep the
result and how many are perfect, who is better, and where each agent is weak."""
    parser.epilog = f"""{AGENTS}
examples
  {shell("evaluate")} exam my_agent.py                           300 positions of the standard exam
  {shell("evaluate")} exam my_agent.py minimax@4 --count 1000 --html runs/exam.html
  {shell("evaluate")} exam my_agent.py --seed 7                  fresh positions, solved first (a minute or two)
  {shell("evaluate")} exam my_agent.py --positions runs/mistakes.txt
  {shell("evaluate")} exam my_agent.py --positions runs/games.sqlite --me my_agent.py --result lost --seat second
"""
    parser.add_argument("agents", nargs="+", help="agents to ask; the list below says how to name them")
    help_text = f"number of positions (default: {EXAM_POSITIONS}; all of those of --positions)"
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
    parser.add_argument("--seat", choices=("first", "second"), help=help_text)
    parser.add_argument(
        "--result", choices=("won", "drawn", "lost"), help="take only the games that you won, drew or lost"
    )
    help_text = "ask for each move so often, with other random numbers each time, and give means (default: 1)"
    parser.add_argument("--times", type=from_one, default=1, metavar="N", help=help_text)
    add_setup(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page to FILE, with the mistakes to practise")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as tables")
    add_write_mistakes(parser)


def exam(options: argparse.Namespace) -> None:
    """Agents in the positions of an exam, with what their answers are worth."""
    from connectx_toolkit.arena.start_positions import add_openings, read_openings
    from connectx_toolkit.system.table import print_parts

    for path in (options.html, options.write_mistakes):
        check_folder(path)
    if options.write_mistakes and options.write_mistakes.exists():
        read_openings(options.write_mistakes, STANDARD)  # refused before any work is done
    names = ("count", "seed", "positions", "from_one", "me", "seat", "result", "times", "config", "overage")
    found = api.exam(*options.agents, workers=options.concurrency, **{name: getattr(options, name) for name in names})
    notes = []
    if options.html:
        write_whole(options.html, found.page().encode())
        notes.append(f"page: {options.html}")
    if options.write_mistakes:
        mistakes = [(one.moves, f"{one.agent}: {one.theme}; {one.judged.words()}") for one in found.mistakes]
        added, held = add_openings(options.write_mistakes, mistakes, STANDARD)
        notes.append(f"{options.write_mistakes}: {added} {plural('position', added)} added, {held} in all")
    if options.json:
        print(json.dumps(found.document(), indent=2))
    else:
        print_parts([*found.parts(), *notes])
    if found.is_interrupted:
        raise KeyboardInterrupt


COMMANDS = {
    "exam": Command(add_exam, "find out how many of an agent's moves are right, and where it is weak"),
}
