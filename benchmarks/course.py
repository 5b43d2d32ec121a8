"""The table of Kaggle's course and of its readers' favourite chapters: each of their agents against random.

python -m benchmarks.course [--rounds N]

Protocol of the course: get_win_percentages on Kaggle's environment, half of the rounds with the seats swapped.
"""

import argparse
import contextlib
import io

from benchmarks.machine import describe
from evaluate import get_win_percentages


def course_middle(obs, config):
    """The course's agent_middle, which goes on playing its column when that is full."""
    return config.columns // 2


# name, agent, rounds, reported wins of 100 and what else was reported
ROWS = [
    ("leftmost", "leftmost", 100, "82% wins"),
    ("middle, as in the course", course_middle, 100, "65% wins, 35 invalid plays"),
    ("middle, ours", "middle", 100, "-"),
    ("one_step", "one_step", 100, "96% wins"),
    ("n_step (3)", "n_step", 50, "100% wins"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="games a row (default: as many as reported)")
    options = parser.parse_args()
    print(describe())
    print(f"{'agent v random':<26}{'games':>6}{'won':>7}{'faults':>8}   reported")
    for name, agent, rounds, reported in ROWS:
        with contextlib.redirect_stdout(io.StringIO()):
            outcome = get_win_percentages(agent, "random", n_rounds=options.rounds or rounds)
        print(outcome, reported)


if __name__ == "__main__":
    main()
