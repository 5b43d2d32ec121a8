"""Trains networks and makes the tables that the agents use: python train.py --help"""

import sys

from connectx_toolkit.cli.main import run

if __name__ == "__main__":
    sys.exit(run("train"))
