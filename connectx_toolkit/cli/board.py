"""``evaluate.py board``: the board on a page of this machine's own."""

import argparse
from pathlib import Path

from connectx_toolkit.cli.option_groups import AGENTS, add_bank, add_config, add_from_one


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=board)
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
    add_bank(parser)
    help_text = "database of your games, as episodes and explore --add fill it: shows what was played in each position"
    parser.add_argument("--games", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("--no-browser", action="store_true", help="print the address, but open no browser")


def board(options: argparse.Namespace) -> None:
    """Serves the board until Ctrl-C."""
    from connectx_toolkit.board import server

    server.board(options)
