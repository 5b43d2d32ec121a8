"""Which of two neighbours on the ladder is stronger: a match for each, until the games decide.

python -m benchmarks.ladder [AGENT ...] [--pairs 100] [--openings empty]

The agents are named from the strongest to the weakest. Each plays the next one, from balanced openings or from the
empty board, at 0.3 s a move and 9 s of overage time: Kaggle's clock, times 0.15. A match stops when its games accept 0
or +50 Elo (SPRT), or after --pairs. What is printed as stronger is proven with 95%, however often it is looked at.
Games are stored as they end: the same command goes on where it was stopped.
"""

import argparse
import sys
from itertools import pairwise

from benchmarks.machine import head, record
from connectx_toolkit.api import match
from connectx_toolkit.arena.results import interval, verdict
from connectx_toolkit.statistics.ratings import difference

AGENTS = ("perfect", "value_search", "nnue", "policy", "n_step", "negamax")
CLOCK = {"actTimeout": 0.3}
OVERAGE = 9.0
SPRT = (0, 50)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=AGENTS, metavar="AGENT", help="from the strongest to the weakest")
    parser.add_argument("--pairs", type=int, default=100, help="of games a match, at most (default %(default)s)")
    parser.add_argument("--openings", help='"empty", or a file with an opening on each line (default: balanced ones)')
    parser.add_argument("--workers", type=int, default=1, help="games at a time (default %(default)s)")
    options = parser.parse_args()
    head(pairs=options.pairs, seconds=CLOCK["actTimeout"], overage=OVERAGE)
    rows, proven = [], 0
    for names in pairwise(options.agents):
        played = match(
            *names,
            options.pairs,
            sprt=SPRT,
            config=CLOCK,
            overage=OVERAGE,
            openings=options.openings,
            workers=options.workers,
        )
        evidence = played.evidence
        estimate, said = difference(evidence)[0], verdict(evidence, *names, played.sprt)
        seats = [list(played.side(0, seat).tally) for seat in (0, 1)]
        counts = {"pairs": evidence.pairs, "distinct": evidence.distinct, "forfeits": played.forfeits}
        rows.append(counts | {"agents": names, "by seat": seats, "elo": interval(estimate), "verdict": said})
        print(f"{' v '.join(names)}: {evidence.pairs} pairs, {seats}, {interval(estimate)}: {said}", flush=True)
        proven += said == f"{names[0]} is stronger"
    kind = options.openings or "balanced"
    record(f"ladder-{kind}", proven, f"of {len(rows)} neighbours in a proven order", matches=rows, **CLOCK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
