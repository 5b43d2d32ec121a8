"""The options of evaluate.py, command by command. Nothing here takes long to import: --help should be quick."""

import argparse
from pathlib import Path

from connectx_toolkit.cli.option_groups import (
    add_anchor,
    add_bank,
    add_config,
    add_games,
    add_judging,
    add_judging_time,
    add_ladder,
    add_me,
    add_mix,
    add_own_games,
    add_pairs,
    add_review,
    add_scheduler,
    add_setup,
    add_store,
    add_to_games,
    any_seed,
    from_one,
    integer_from,
    number,
    seconds,
)
from connectx_toolkit.kaggle.rules import BANK

PAIRS, SPRT_PAIRS = 50, 1000  # of a match: to play, and at most with --sprt
MISTAKES = Path("runs/mistakes.txt")
EPISODES = Path("runs/episodes")
AGENTS = """\
An agent is one of
  minimax, perfect, ...   a name in agents/ (python evaluate.py list)
  random, negamax         one of Kaggle's own
  my_agent.py             a file, loaded as Kaggle loads it, again before every game
  minimax@4               minimax that searches 4 plies, whatever the clock says
  perfect~10              any named agent that plays a random move 10% of the time; minimax@4~10 is both
"""


def add_rounds(parser: argparse.ArgumentParser) -> None:
    parser.description = "Lets two agents play and counts wins and faults, as Kaggle's course does."
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py minimax negamax --rounds 20
  python evaluate.py my_agent.py minimax@2 --rounds 100 --concurrency 2

more, each with --help
  python evaluate.py match        who is stronger, with intervals and an early stop
  python evaluate.py tournament   a ladder of many agents
  python evaluate.py report       ladder, plots and a page with replays from stored games
  python evaluate.py analyse      every move of a game, or all of one's replays, against exact values
  python evaluate.py episodes     fetch a submission's games from Kaggle, and judge them
  python evaluate.py rematch      does a new agent repeat the mistakes of old games?
  python evaluate.py explore      what was played in a position, by whom, and how it ended
  python evaluate.py scout        what an opponent repeats, and the line that beats it
  python evaluate.py forecast     a submission's rating by game, and where it settles
  python evaluate.py list         the agents, with their strength
  python evaluate.py board        a board to click: play, watch, analyse
"""
    parser.add_argument("agent1", help="see below")
    parser.add_argument("agent2")
    parser.add_argument(
        "--rounds", type=from_one, default=100, metavar="N", help="games; half with seats swapped (100)"
    )
    parser.add_argument(
        "--seed", type=any_seed, metavar="N", help="of the agents' random generators; drawn if not given"
    )
    add_setup(parser)


def add_match(parser: argparse.ArgumentParser) -> None:
    parser.description = "Plays pairs of games from balanced openings, seats swapped, and says who is stronger."
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py match my_agent.py minimax@4 --pairs 100 --concurrency 2
  python evaluate.py match my_agent.py perfect~20 --sprt 0 50     the way we recommend: stops when the games decide
"""
    parser.add_argument("agent1", help="see below")
    parser.add_argument("agent2")
    parser.add_argument(
        "--sprt", type=number, nargs=2, metavar=("ELO0", "ELO1"),
        help="sequential test: play until one of two Elo differences is accepted, for example 0 50",
    )  # fmt: skip
    help_text = f"pairs of games to play (default {PAIRS}); with --sprt, the most to play (default {SPRT_PAIRS})"
    add_pairs(parser, None, help_text)
    add_store(parser)
    add_mix(parser)
    add_setup(parser)
    add_scheduler(parser)


def add_tournament(parser: argparse.ArgumentParser) -> None:
    parser.description = "Plays agents against each other and rates them."
    parser.epilog = f"""{AGENTS}  agents/                 a folder: every Python file in it

examples
  python evaluate.py tournament my_agent.py n_step minimax@4 random --pairs 20
  python evaluate.py tournament my_agent.py minimax@2 minimax@4 perfect~20 --gauntlet
  python evaluate.py tournament perfect minimax n_step leftmost random --pairs 50 --concurrency 2 --ladder runs/ladder
"""
    parser.add_argument("agents", nargs="+", help="see below")
    parser.add_argument("--gauntlet", action="store_true", help="only the first agent plays, against each other one")
    add_anchor(parser, "the last one")
    add_ladder(parser)
    add_pairs(parser, 20, "pairs of games for each two agents (default 20)")
    add_store(parser)
    add_mix(parser)
    add_setup(parser)
    add_scheduler(parser)


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = "Ladder and crosstable from the store alone."
    parser.epilog = """\
examples
  python evaluate.py report
  python evaluate.py report --html runs/report.html --judge     plots, and games to replay with exact scores
"""
    parser.add_argument(
        "--anchor",
        metavar="NAME",
        help="agent whose rating is fixed at 0 (default: random, or else the first in the alphabet)",
    )
    add_ladder(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots and games to replay")
    parser.add_argument("--games", type=from_one, default=20, metavar="N", help="games on the page, the latest (20)")
    parser.add_argument("--judge", action="store_true", help="add exact scores to these games")
    add_judging(parser)
    add_store(parser)
    add_mix(parser)


def add_analyse(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Shows which moves gave a result away. Of one game it lists every move with its exact score. Of your own games it says
where points were lost: a row for each game, a summary, and a page if you ask for one."""
    parser.epilog = """\
examples
  python evaluate.py analyse 362133214545441233165554311450066
                                                     one game, as columns counted from 0
  python evaluate.py analyse episode-12345.json      one game, a replay downloaded from Kaggle
  python evaluate.py analyse runs/arena.sqlite       the latest games of a store, a line each
  python evaluate.py analyse runs/arena.sqlite --me my_agent.py --html runs/my_agent.html
                                                     your agent's games in a store: rows, summary, page
  python evaluate.py analyse my_replays --html runs/replays.html
                                                     your games on Kaggle: all replays in a folder
"""
    help_text = (
        "a game as its columns; or replays (.json), folders of them, stores (.sqlite) and patterns, in any number"
    )
    parser.add_argument("what", nargs="+", help=help_text)
    add_review(parser)
    add_config(parser)
    help_text = "take only the latest N games of each group of a store (default: 10 in a list, all with --me, "
    parser.add_argument("--games", type=from_one, metavar="N", help=f"{help_text}--html or --json)")
    help_text = "do not judge the first N plies of a game given as columns: its players did not choose them (default 0)"
    parser.add_argument("--opening", type=integer_from(0), default=0, metavar="N", help=help_text)
    help_text = "names of the players of a game given as columns, in the order of their moves (default: first second)"
    parser.add_argument("--names", nargs=2, metavar=("FIRST", "SECOND"), help=help_text)
    add_judging(parser)
    add_judging_time(parser)


def add_rematch(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Asks an agent for the positions of old games that were not won, wherever a win or a draw was there to be kept: which of
the old mistakes it still makes, and which new ones. The positions of the mistakes are kept in a file of openings."""
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py rematch my_replays --agent my_new_agent.py
  python evaluate.py rematch my_replays --agent my_new_agent.py --all
  python evaluate.py rematch my_replays --agent my_new_agent.py --config actTimeout=0.2 --bank 38
"""
    parser.add_argument("replays", nargs="+", help="replays of Kaggle's: files, folders, patterns")
    parser.add_argument("--agent", required=True, help="see below")
    add_me(parser)
    help_text = "ask about the games that were won, too, and so about every mistake (default: games not won)"
    parser.add_argument("--all", action="store_true", help=help_text)
    help_text = f"where positions of mistakes are added ({MISTAKES})"
    parser.add_argument("--mistakes", type=Path, default=MISTAKES, metavar="FILE", help=help_text)
    add_config(parser)
    add_bank(parser)
    parser.add_argument("--seed", type=any_seed, default=1, metavar="N", help="of the agent's random generators (1)")
    add_judging(parser)
    add_judging_time(parser)


def add_episodes(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Fetches the games of a submission of yours from Kaggle, replays and your agent's logs, then judges them as analyse does.
What has been fetched is not fetched again. Games and today's leaderboard are added to a file for explore, scout and
forecast. The forecast of the rating is printed last."""
    parser.epilog = """\
examples
  python evaluate.py episodes                        your submissions, with their numbers
  python evaluate.py episodes 45678901 --html runs/episodes.html

Credentials are those of Kaggle's own command line: ~/.kaggle/access_token, KAGGLE_API_TOKEN, ~/.kaggle/kaggle.json, ...
"""
    parser.add_argument("submission", nargs="?", type=from_one, help="its number; without it, yours are listed")
    help_text = f"where the files go, in a folder of the submission's number ({EPISODES})"
    parser.add_argument("--folder", type=Path, default=EPISODES, metavar="FOLDER", help=help_text)
    parser.add_argument("--latest", type=from_one, metavar="N", help="only the latest games (all)")
    parser.add_argument(
        "--pause", type=seconds, default=1.0, metavar="SECONDS", help="between two requests to Kaggle (1)"
    )
    add_games(parser)
    add_review(parser)
    add_judging(parser)
    add_judging_time(parser)


def add_explore(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Shows what was played in a position: how often, by whom and how it ended, beside the exact score of each move.
Mirror images of the position count as the same."""
    parser.epilog = """\
examples
  python evaluate.py explore --add my_replays            the first moves of all games, after adding those of a folder
  python evaluate.py explore 33 --seat first             the games in which you moved first and 3, 3 was played
  python evaluate.py explore 332 --opponent "Some Team" --since 2026-11
"""
    parser.add_argument("moves", nargs="?", default="", metavar="MOVES", help="columns counted from 0, such as 3342")
    parser.add_argument("--opponent", metavar="NAME", help="only games against this player")
    help_text = "only games in which you moved first, or second"
    parser.add_argument("--seat", choices=("first", "second"), help=help_text)
    help_text = "only opponents whose latest known leaderboard score lies between"
    parser.add_argument("--rating", type=number, nargs=2, metavar=("LOW", "HIGH"), help=help_text)
    add_to_games(parser)
    add_config(parser)
    help_text = "time limit for the exact scores in seconds (default 10)"
    parser.add_argument("--time", type=seconds, default=10.0, metavar="SECONDS", help=help_text)


def add_scout(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Shows what your games tell of an opponent: whether it repeats itself, its answers as a tree, where it gives results
away, its time and faults, and the line that beats it. Without a name: all opponents, by the points they cost you."""
    parser.epilog = """\
examples
  python evaluate.py scout --add my_replays
  python evaluate.py scout "Some Team" --html runs/scout.html
"""
    parser.add_argument(
        "opponent", nargs="?", metavar="OPPONENT", help="its name in the games; without it, a table of all"
    )
    add_to_games(parser)
    help_text = "write a page to FILE, with the lines and games to replay"
    parser.add_argument("--html", type=Path, metavar="FILE", help=help_text)
    help_text = "time limit for the exact scores in seconds (default 120); positions left unsolved are counted"
    parser.add_argument("--time", type=seconds, default=120.0, metavar="SECONDS", help=help_text)


def add_forecast(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Estimates a submission's rating on Kaggle after each of its games, what each was worth, and the level where the rating
settles. With two submissions: which one ends higher."""
    parser.epilog = """\
examples
  python evaluate.py forecast                                  the one submission in the file of games
  python evaluate.py forecast --submission 45678901 45912345   two of them, and which one ends higher
"""
    add_own_games(parser)
    help_text = "number of the submission, or of two to compare (default: the only one in the games)"
    parser.add_argument("--submission", type=from_one, nargs="+", default=[], metavar="N", help=help_text)


def add_list(parser: argparse.ArgumentParser) -> None:
    parser.description = "The agents that can be named: what each does, its measured strength, its weights, its size."
    parser.epilog = """\
example
  python evaluate.py list

Strengths are those of agents/ladder.json, which a tournament writes with --ladder agents/ladder.
"""


def add_board(parser: argparse.ArgumentParser) -> None:
    parser.description = "A board to click, in the browser: play, watch and analyse, with exact scores."
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py board minimax@2
  python evaluate.py board perfect value_search                  two agents play each other
  python evaluate.py board --game 362133214545441233165554311450066
  python evaluate.py board --game episode-12345.json             a replay downloaded from Kaggle

The page is served on 127.0.0.1 and for you alone; agents, board and game can be changed on it.
"""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="see below; one plays you, two each other")
    parser.add_argument("--second", action="store_true", help="you move second")
    parser.add_argument(
        "--game", metavar="GAME", help="one to look at: its columns, counted from 0, or a replay (.json)"
    )
    add_config(parser)
    parser.add_argument(
        "--bank",
        type=number,
        default=BANK,
        metavar="SECONDS",
        help="the agents' overage time of a game in seconds (default 60)",
    )
    help_text = "file of games, as episodes and explore --add fill it: list what was played in each position"
    parser.add_argument("--games", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
