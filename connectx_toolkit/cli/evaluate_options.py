"""The options of evaluate.py, command by command. Nothing here takes long to import: --help should be quick."""

import argparse
from pathlib import Path

from connectx_toolkit.cli.option_groups import (
    add_anchor,
    add_bank,
    add_config,
    add_from_one,
    add_games,
    add_judging,
    add_judging_time,
    add_ladder,
    add_me,
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
  minimax, perfect, ...   an agent of the toolkit (python evaluate.py list)
  random, negamax         an agent of Kaggle's
  my_agent.py             a file; it is loaded as on Kaggle, before every game
  minimax@4               minimax that searches 4 plies, whatever the clock says
  perfect~10              any named agent that plays a random move 10% of the time; minimax@4~10 does both
"""


def add_rounds(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Plays two agents against each other and prints the four lines of Kaggle's Intro to Game AI course, in which a "
        "game that an agent loses by a fault is an invalid play and nobody's win. What else the games tell stands "
        "below; there, such a game is a loss."
    )
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py minimax negamax --rounds 20
  python evaluate.py my_agent.py minimax@2 --rounds 100 --concurrency 2

other commands, each with --help
  python evaluate.py match        find out which of two agents is stronger
  python evaluate.py tournament   rate many agents
  python evaluate.py report       make a ladder and a page from stored games
  python evaluate.py analyse      give every move of your games its exact score
  python evaluate.py episodes     fetch a submission's games from Kaggle and analyse them
  python evaluate.py rematch      see whether a new agent repeats old mistakes
  python evaluate.py explore      see what was played in a position, and how it ended
  python evaluate.py scout        see what an opponent repeats, and the line that beats it
  python evaluate.py list         list the agents of the toolkit, with their strength
  python evaluate.py board        play, watch and analyse on a page
"""
    parser.add_argument("agent1", help="first agent; the list below says how to name one")
    parser.add_argument("agent2", help="second agent")
    parser.add_argument(
        "--rounds",
        type=from_one,
        default=100,
        metavar="N",
        help="number of games, half of them with seats swapped (default: 100)",
    )
    parser.add_argument(
        "--seed", type=any_seed, metavar="N", help="random seed of the agents (default: a new one each time)"
    )
    add_setup(parser)


def add_match(parser: argparse.ArgumentParser) -> None:
    parser.description = "Plays pairs of games from balanced openings, each from both seats, and says who is stronger."
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py match my_agent.py minimax@4 --pairs 100 --concurrency 2
  python evaluate.py match my_agent.py perfect~20 --sprt 0 50     recommended: stops when the games decide
"""
    parser.add_argument("agent1", help="agent to judge; the list below says how to name one")
    parser.add_argument("agent2", help="its opponent")
    parser.add_argument(
        "--sprt", type=number, nargs=2, metavar=("ELO0", "ELO1"),
        help="sequential test: play until the games accept one of two differences in Elo, for example 0 50",
    )  # fmt: skip
    help_text = f"number of pairs of games (default: {PAIRS}); with --sprt, the largest number (default: {SPRT_PAIRS})"
    add_pairs(parser, None, help_text)
    add_store(parser)
    add_setup(parser)
    add_scheduler(parser)


def add_tournament(parser: argparse.ArgumentParser) -> None:
    parser.description = "Plays every two agents against each other and rates all of them."
    parser.epilog = f"""{AGENTS}  agents/                 a folder: every Python file in it

examples
  python evaluate.py tournament my_agent.py n_step minimax@4 random --pairs 20
  python evaluate.py tournament my_agent.py minimax@2 minimax@4 perfect~20 --gauntlet
  python evaluate.py tournament perfect minimax n_step leftmost random --pairs 50 --concurrency 2 --ladder runs/ladder
"""
    parser.add_argument("agents", nargs="+", help="agents to rate; the list below says how to name them")
    parser.add_argument(
        "--gauntlet", action="store_true", help="let only the first agent play, against each of the others"
    )
    add_anchor(parser, "the last one")
    add_ladder(parser)
    add_pairs(parser, 20, "number of pairs of games for every two agents (default: 20)")
    add_store(parser)
    add_setup(parser)
    add_scheduler(parser)


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = "Shows a ladder and a table of all results, from stored games. Nothing is played."
    parser.epilog = """\
examples
  python evaluate.py report
  python evaluate.py report --html runs/report.html --judge     plots, and games to replay with exact scores
"""
    parser.add_argument(
        "--anchor",
        metavar="NAME",
        help="agent whose rating is fixed at 0 (default: random, or else the first by name)",
    )
    add_ladder(parser)
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page to FILE, with plots and games to replay"
    )
    parser.add_argument(
        "--games",
        type=from_one,
        default=20,
        metavar="N",
        help="number of games on the page, the latest ones (default: 20)",
    )
    parser.add_argument("--judge", action="store_true", help="add exact scores to the games on the page")
    add_judging(parser)
    add_store(parser)


def add_analyse(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Shows which moves gave a result away. For one game, it lists every move with its exact score. For your own games, it
prints a row for each game and a summary of where points were lost, and writes a page if you ask for one."""
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
    help_text = "a game as its columns; or any number of replays, folders, archives, patterns and stores"
    parser.add_argument("what", nargs="+", help=help_text)
    add_from_one(parser)
    add_review(parser)
    add_config(parser)
    help_text = "take only the latest N games of each group of a store (default: 10 in a list; all with --me, "
    parser.add_argument("--games", type=from_one, metavar="N", help=f"{help_text}--html or --json)")
    help_text = "leave out the first N plies of a game given as columns, which its players did not choose (default: 0)"
    parser.add_argument("--opening", type=integer_from(0), default=0, metavar="N", help=help_text)
    help_text = "names of the players of a game given as columns, in the order of their moves (default: first second)"
    parser.add_argument("--names", nargs=2, metavar=("FIRST", "SECOND"), help=help_text)
    add_judging(parser)
    add_judging_time(parser)


def add_rematch(parser: argparse.ArgumentParser) -> None:
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


def add_episodes(parser: argparse.ArgumentParser) -> None:
    parser.description = """\
Fetches the games of one of your submissions from Kaggle, with your agent's logs, and analyses them. Each file is
fetched once. The games and today's leaderboard are added to the database that explore and scout read."""
    parser.epilog = """\
examples
  python evaluate.py episodes                        your submissions, with their numbers
  python evaluate.py episodes 45678901 --html runs/episodes.html

It uses the credentials of Kaggle's own command line, for example ~/.kaggle/access_token or KAGGLE_API_TOKEN.
"""
    parser.add_argument(
        "submission",
        nargs="?",
        type=from_one,
        help="number of the submission; without one, your submissions are listed",
    )
    help_text = f"folder for the files; each submission gets a folder in it (default: {EPISODES})"
    parser.add_argument("--folder", type=Path, default=EPISODES, metavar="FOLDER", help=help_text)
    parser.add_argument("--latest", type=from_one, metavar="N", help="fetch only the latest N games (default: all)")
    parser.add_argument(
        "--pause",
        type=seconds,
        default=1.0,
        metavar="SECONDS",
        help="seconds to wait between two requests to Kaggle (default: 1)",
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
  python evaluate.py explore --remove old_replays 70000012
"""
    parser.add_argument(
        "moves",
        nargs="*",
        metavar="MOVES",
        help="position: the columns played so far, counted from 0, for example 3342 (default: the empty board)",
    )
    add_from_one(parser)
    parser.add_argument("--opponent", metavar="NAME", help="count only games against this player")
    help_text = (
        "take these games out of the file first: Kaggle's numbers, or the files, folders or stores they came from"
    )
    parser.add_argument("--remove", nargs="+", default=[], metavar="WHAT", help=help_text)
    help_text = "count only games in which you moved first, or second"
    parser.add_argument("--seat", choices=("first", "second"), help=help_text)
    help_text = "count only opponents whose latest known leaderboard score is between LOW and HIGH"
    parser.add_argument("--rating", type=number, nargs=2, metavar=("LOW", "HIGH"), help=help_text)
    add_to_games(parser)
    add_config(parser)
    help_text = "time limit for the exact scores, in seconds (default: 10)"
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
        "opponent",
        nargs="?",
        metavar="OPPONENT",
        help="name of the opponent in the games; without one, a table of all opponents",
    )
    add_to_games(parser)
    help_text = "write a page to FILE, with the lines and games to replay"
    parser.add_argument("--html", type=Path, metavar="FILE", help=help_text)
    help_text = (
        "time limit for the exact scores, in seconds (default: 120); the report says how many positions are unsolved"
    )
    parser.add_argument("--time", type=seconds, default=120.0, metavar="SECONDS", help=help_text)


def add_list(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Lists the agents of the toolkit: what each does, its measured strength, its weights and its size."
    )
    parser.epilog = """\
example
  python evaluate.py list

The strengths come from agents/ladder.json, which a tournament writes with --ladder agents/ladder.
"""


def add_board(parser: argparse.ArgumentParser) -> None:
    parser.description = "Opens a board in the browser: play, watch two agents, or analyse a game with exact scores."
    parser.epilog = f"""{AGENTS}
examples
  python evaluate.py board minimax@2
  python evaluate.py board perfect value_search                  two agents play each other
  python evaluate.py board --game 362133214545441233165554311450066
  python evaluate.py board --game episode-12345.json             a replay downloaded from Kaggle

Only you can open the page, on this machine (127.0.0.1). You can change agents, board and game on it.
"""
    parser.add_argument(
        "agents",
        nargs="*",
        metavar="AGENT",
        help="one agent plays you, two play each other; the list below says how to name them",
    )
    parser.add_argument("--second", action="store_true", help="let the agent move first")
    parser.add_argument(
        "--game", metavar="GAME", help="game to look at: its columns, counted from 0, or a replay (.json)"
    )
    add_from_one(parser)
    add_config(parser)
    parser.add_argument(
        "--bank",
        type=number,
        default=BANK,
        metavar="SECONDS",
        help="overage time of each agent in a game, in seconds (default: 60)",
    )
    help_text = "database of your games, as episodes and explore --add fill it: shows what was played in each position"
    parser.add_argument("--games", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("--no-browser", action="store_true", help="print the address, but open no browser")
