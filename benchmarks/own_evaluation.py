"""What an evaluation of one's own costs the search: nodes a second with a copy of ours, given as anybody's is.

python -m benchmarks.own_evaluation [--nodes 3000000] [--rounds 5]

Each round searches the empty board twice in turn, with the built-in evaluation and with its copy in
``agents/minimax.py``, given to ``Searcher(evaluate=...)``, from empty tables. Both have to find the same. The figure is
the median of the rounds' ratios, in processor time.
"""

import argparse
import time
from statistics import median

from agents import minimax
from benchmarks.machine import head, record
from connectx_core.clock import Budget
from connectx_core.position import STANDARD, Position
from connectx_core.search import Result, Searcher

ALLOWED = 1.1  # times the built-in one's processor time


def seconds_of(searcher: Searcher, nodes: int) -> tuple[float, Result]:
    """Processor seconds of a search of so many nodes, and what it found."""
    searcher.forget()
    start = time.process_time()
    result = searcher.search(Position.empty(STANDARD), Budget(nodes=nodes))
    return time.process_time() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    head(nodes=options.nodes, rounds=options.rounds)
    searchers = Searcher(STANDARD), Searcher(STANDARD, evaluate=minimax.evaluate)
    for searcher in searchers:  # compiled, and at their speed
        seconds_of(searcher, options.nodes // 10)
    ratios, speeds = [], []
    for _ in range(options.rounds):
        (built_in, one), (own, two) = (seconds_of(searcher, options.nodes) for searcher in searchers)
        if one != two:
            raise SystemExit(f"the built-in evaluation finds {one}, its copy {two}")
        ratios.append(own / built_in)
        speeds.append(options.nodes / own)
    figure = round(median(ratios), 3)
    speed = round(median(speeds))
    record("own-evaluation", figure, "of the built-in one's time", ALLOWED, ratios=ratios, nodes_a_second=speed)


if __name__ == "__main__":
    main()
