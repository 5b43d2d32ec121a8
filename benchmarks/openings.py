"""The table of exact openings against bitbully's database: every score, and the scores of all moves.

python -m benchmarks.openings                    the toolkit's own table
python -m benchmarks.openings --file FILE        another table that train.py openings has written
python -m benchmarks.openings --every 100        one of every hundred positions of each ply
"""

import argparse
import sys
import time
from pathlib import Path

from tqdm import tqdm

from benchmarks.machine import describe
from benchmarks.oracle import scores_of
from connectx.openings import Openings, layers, openings
from connectx.position import Position


def wrong_of(table: Openings, position: Position) -> bool:
    """Whether the table's score of a position, or of one of its moves, differs from bitbully's."""
    theirs = scores_of(position)
    ours = table.scores(position)
    best = max(score for score in theirs if score is not None)
    return table.score(position) != best or (position.ply < table.last_ply and ours != theirs)


def check(table: Openings, every: int) -> int:
    """Prints the comparison by ply; returns how many positions were wrong."""
    total = wrong = 0
    for ply, layer in enumerate(layers(table.geometry, table.last_ply)):
        both = list(zip(layer.positions, layer.masks, strict=True))[::every]
        found = 0
        for position, mask in tqdm(both, f"ply {ply}", disable=None, leave=False):
            found += wrong_of(table, Position(int(position), int(mask), table.geometry))
        print(f"ply {ply}: {len(both):6} positions, {found} wrong", flush=True)
        total, wrong = total + len(both), wrong + found
    print(f"{total} positions, {wrong} wrong")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="the table to compare")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="compare one position in N")
    options = parser.parse_args(arguments)
    print(describe())
    try:
        start = time.process_time()
        table = Openings.from_bytes(options.file.read_bytes()) if options.file else openings()
        print(f"read in {(time.process_time() - start) * 1e3:.0f} ms of CPU")
    except (OSError, ValueError) as fault:
        print(f"benchmarks.openings: {fault}", file=sys.stderr)
        return 2
    return bool(check(table, max(1, options.every)))


if __name__ == "__main__":
    sys.exit(main())
