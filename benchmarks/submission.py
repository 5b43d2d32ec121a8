"""A built submission in Kaggle's own environment: wins, faults, and its use of the clock.

python -m benchmarks.submission FILE [--against negamax:100 random:100 n_step:20] [--seed 1] [--without-numba]

As on Kaggle, the file is loaded again for each game, so that every first move includes imports and compilation. Half of
the games are played in each seat.
"""

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import describe
from connectx.clock import RESERVE
from connectx_toolkit.arena.play.rounds import Rounds
from connectx_toolkit.kaggle.rules import BANK, Game
from evaluate import get_win_percentages

ACT_TIMEOUT = 2.0  # seconds a move
HEADERS = ("games", "won", "drawn", "lost", "faults", "first move", "later moves", "without spare", "bank used")


@contextlib.contextmanager
def broken_numba() -> Iterator[None]:
    """Puts a module numba that raises ImportError on our path, which the agents' processes inherit."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "numba.py").write_text("raise ImportError('made unimportable')\n", encoding="utf-8")
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            sys.path.remove(folder)


def clock_of(game: Game, seat: int) -> tuple[float, float, float, float]:
    """Seconds: (first move, slowest later move, slowest move begun with a bank of at most RESERVE, bank used)."""
    mine = game.seconds[seat::2]
    bank, slowest_poor = BANK, 0.0
    for seconds in mine:
        if bank <= RESERVE:
            slowest_poor = max(slowest_poor, seconds)
        bank -= max(0.0, seconds - ACT_TIMEOUT)
    return mine[0], max(mine[1:], default=0.0), slowest_poor, BANK - bank


def print_row(name: str, *cells: str) -> None:
    padded = (f"{cell:>{len(header) + 2}}" for header, cell in zip(HEADERS, cells, strict=True))
    print(f"{name:<12}{''.join(padded)}", flush=True)


def report(opponent: str, rounds: Rounds) -> None:
    """Prints a row: the counts, and the worst times over all games."""
    swapped_from = len(rounds.games) // 2
    clocks = [clock_of(game, int(index >= swapped_from)) for index, game in enumerate(rounds.games)]
    first, later, poor, used = (max(figures) for figures in zip(*clocks, strict=True))
    won, lost = rounds.wins
    counts = (len(rounds.games), won, rounds.draws, lost, len(rounds.faults[0]))
    print_row(opponent, *map(str, counts), *(f"{seconds:.2f} s" for seconds in (first, later, poor, used)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="a built submission")
    parser.add_argument("--against", nargs="+", default=["negamax:100", "random:100", "n_step:20"], metavar="AGENT:N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-numba", action="store_true", help="the agents cannot import numba")
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}{'; numba cannot be imported' if options.without_numba else ''}")
    print("times are the worst over all games; 'without spare': moves begun when the bank was down to its reserve")
    print_row("opponent", *HEADERS)
    with broken_numba() if options.without_numba else contextlib.nullcontext():
        for item in options.against:
            opponent, _, games = item.rpartition(":")
            with contextlib.redirect_stdout(io.StringIO()):
                rounds = get_win_percentages(options.file, opponent, int(games), seed=options.seed)
            report(opponent, rounds)


if __name__ == "__main__":
    main()
