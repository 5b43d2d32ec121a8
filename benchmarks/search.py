"""Speed of minimax, compiled with its network and in plain Python with the heuristic: nodes a second, and depth.

python -m benchmarks.search [--seconds 1]
"""

import argparse
import time
from statistics import mean

from agents.minimax import network
from benchmarks.machine import head, record
from connectx.clock import Budget
from connectx.position import STANDARD, Position
from connectx.search import Searcher

# Moves from the empty board, columns from 1: openings, and random middle games that are not decided within a second.
POSITIONS = ["", "4", "44", "4443", "44444", "35333", "1234567", "552354", "55235465", "5523546515", "147641371421"]


def measured(compiled: bool, seconds: float) -> tuple[float, float]:
    """Prints a row for each position; returns the mean depth, and the mean number of nodes a second."""
    started = time.perf_counter()
    Searcher(STANDARD, compiled, net=network).search(Position.empty(STANDARD), Budget(nodes=1))
    print(f"\n{'compiled' if compiled else 'plain Python'}, ready in {time.perf_counter() - started:.1f} s")
    print(f"{'position':<18}{'depth':>6}{'score':>8}{'nodes':>11}{'nodes/s':>11}")
    depths, rates = [], []
    for moves in POSITIONS:
        position = Position.from_moves([int(move) - 1 for move in moves], STANDARD)
        started = time.perf_counter()
        result = Searcher(STANDARD, compiled, net=network).search(position, Budget.seconds(seconds))
        rates.append(result.nodes / (time.perf_counter() - started))
        depths.append(result.depth)
        print(f"{moves or '-':<18}{result.depth:>6}{result.score:>8}{result.nodes:>11,}{rates[-1]:>11,.0f}")
    return mean(depths), mean(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="time per position (default 1)")
    seconds = parser.parse_args().seconds
    head(seconds=seconds)
    for name, compiled in (("search", True), ("search-plain", False)):
        depth, rate = measured(compiled, seconds)
        record(name, round(rate), "nodes a second", depth=round(depth, 1))


if __name__ == "__main__":
    main()
