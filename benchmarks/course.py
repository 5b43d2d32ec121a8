"""The table of Kaggle's course "Intro to Game AI": each of its agents against random.

python -m benchmarks.course [--rounds N] [--seed N]

The course's protocol: get_win_percentages in Kaggle's environment, half of the games with swapped seats.
"""

import argparse
import contextlib
import io
from typing import Any

from benchmarks.machine import describe
from evaluate import get_win_percentages


def course_middle(obs, config):
    """The course's agent_middle, which keeps playing the middle column when it is full."""
    return config.columns // 2


# name, agent, games, reported result
ROWS: list[tuple[str, Any, int, str]] = [
    ("leftmost", "leftmost", 100, "82% wins"),
    ("middle, as in the course", course_middle, 100, "65% wins, 35 invalid plays"),
    ("middle, ours", "middle", 100, "-"),
    ("one_step", "one_step", 100, "96% wins"),
    ("n_step (3)", "n_step", 50, "100% wins"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="games per row (default: as many as in the report)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the agents' random generators (default 1)")
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}")
    print(f"{'agent v random':<26}{'games':>6}{'wins':>7}{'invalid plays':>15}   reported")
    for name, agent, games, reported in ROWS:
        with contextlib.redirect_stdout(io.StringIO()):
            rounds = get_win_percentages(agent, "random", options.rounds or games, seed=options.seed)
        share, invalid = rounds.percentages[0], rounds.forfeits[0]
        print(f"{name:<26}{len(rounds.games):>6}{share:>7.0%}{invalid:>15}   {reported}", flush=True)


if __name__ == "__main__":
    main()
