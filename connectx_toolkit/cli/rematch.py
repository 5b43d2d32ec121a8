"""``evaluate.py rematch``: an agent is asked for the positions of old games that were not won."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from connectx.geometry import Geometry
from connectx_toolkit.cli.analyse import judged_reviews, print_lines
from connectx_toolkit.cli.option_groups import (
    AGENTS,
    add_bank,
    add_config,
    add_judging,
    add_judging_time,
    add_me,
    any_seed,
)
from connectx_toolkit.foreign import left_out_lines
from connectx_toolkit.kaggle.rules import Rules, sizes_of

if TYPE_CHECKING:
    from connectx_toolkit.arena.players.process import Player
    from connectx_toolkit.arena.replays.rematch import Answer
    from connectx_toolkit.arena.replays.review import Review
    from connectx_toolkit.arena.results.records import Game

MISTAKES = Path("runs/mistakes.txt")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=rematch)
    parser.description = """\
Replays the positions where you threw games away, and shows which of these mistakes your new agent still makes, and
which new ones. The positions of the mistakes are added to a file of openings."""
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py rematch my_replays --agent my_new_agent.py
  python evaluate.py rematch my_replays --agent my_new_agent.py --all
  python evaluate.py rematch my_replays --agent my_new_agent.py --config actTimeout=0.2 --bank 38
"""
    parser.add_argument("replays", nargs="+", help="replays from Kaggle: files, folders or patterns")
    parser.add_argument("--agent", required=True, help="agent to ask; the list below says how to name one")
    add_me(parser)
    help_text = "ask about every mistake, also in games that were won (default: games that were not won)"
    parser.add_argument("--all", action="store_true", help=help_text)
    help_text = f"file of openings to which the positions of the mistakes are added (default: {MISTAKES})"
    parser.add_argument("--mistakes", type=Path, default=MISTAKES, metavar="FILE", help=help_text)
    add_config(parser)
    add_bank(parser)
    parser.add_argument("--seed", type=any_seed, default=1, metavar="N", help="random seed of the agent (default: 1)")
    add_judging(parser)
    add_judging_time(parser)


def rematch(options: argparse.Namespace) -> None:
    """An agent in the positions of old games that were not won, or of all."""
    from connectx_toolkit.arena.play.match import open_pool
    from connectx_toolkit.arena.play.openings import read_openings
    from connectx_toolkit.arena.players.loading import resolve
    from connectx_toolkit.arena.players.process import Setup
    from connectx_toolkit.arena.replays.rematch import add_mistakes, games_to_ask
    from connectx_toolkit.arena.replays.replay import read_replays, replay_paths, without_copies
    from connectx_toolkit.arena.replays.review import team_of
    from connectx_toolkit.arena.reporting.tables import answers_table
    from connectx_toolkit.console.tables import console_for_tables

    spec = resolve(options.agent)
    read, left_out = read_replays(replay_paths(options.replays))
    replays, copies = without_copies(read)
    left_out += copies
    team = team_of(replays, options.me)
    board = _board_of(replays)
    if options.mistakes.exists():
        read_openings(options.mistakes, board)  # refused before any work is done
    config = (options.config or {}) | sizes_of(board)
    setup = Setup(Rules(config, options.bank))
    reviews = judged_reviews(replays, team, options)
    games = games_to_ask(reviews, options.all)
    if not games:
        what = "was a result to keep" if options.all else f"did {team} fail to win with something to keep"
        raise ValueError(f"in none of the {len(replays)} replays {what}")
    with open_pool(setup) as pool:
        pool.check([spec])
        (player,) = pool.slot.players_for([(spec, 0)])
        answers = list(_asked(player, games, setup.rules, options.seed))
    added, held = add_mistakes(options.mistakes, games)
    console = console_for_tables()
    console.print(answers_table(spec.label, team, answers))
    command = f"python evaluate.py match {options.agent} OLD_AGENT --openings {options.mistakes}"
    lines = _not_asked(reviews, games)
    lines.append(f"{options.mistakes}: {added} positions added, {held} in all; a match from there: {command}")
    print_lines(console, [*lines, *left_out_lines(left_out)])


def _not_asked(reviews: Sequence[Review], games: Sequence[Review]) -> list[str]:
    """How many mistakes are not asked about, if any."""
    from connectx_toolkit.arena.replays.rematch import games_to_ask

    asked, made = (sum(len(one.mistakes) for one in some) for some in (games, games_to_ask(reviews, with_won=True)))
    if asked == made:
        return []
    return [f"Asked about {asked} of {made} mistakes: those of the games that were not won. --all asks about all."]


def _board_of(replays: Sequence[Game]) -> Geometry:
    """The one board of all of them. Raises ValueError if they are of several."""
    boards = {replay.geometry for replay in replays}
    if len(boards) > 1:
        sizes = ", ".join(sorted(f"{board.rows}x{board.columns}" for board in boards))
        raise ValueError(f"rematch takes games of one board, not of {sizes}: name fewer replays")
    return boards.pop()


def _asked(player: Player, games: Sequence[Review], rules: Rules, seed: int) -> Iterator[Answer]:
    """Answers, with a bar. Ctrl-C ends it with those that are there."""
    from connectx_toolkit.arena.replays.rematch import ask, positions_to_ask
    from connectx_toolkit.console.progress import progress

    with progress(sum(len(positions_to_ask(game)) for game in games), "position", "asking", delay=0) as bar:
        try:
            for game in games:
                for answer in ask(player, game, rules, seed):
                    bar.update()
                    yield answer
        except KeyboardInterrupt:
            print("stopped: what follows is of the positions asked until now", file=sys.stderr)
