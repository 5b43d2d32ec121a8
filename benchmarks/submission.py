"""A built submission in Kaggle's own environment: wins, faults, its use of the clock, and what its wrapping costs.

python -m benchmarks.submission FILE [--against negamax:100 random:100 n_step:20] [--seed 1] [--without-numba]
python -m benchmarks.submission                  no games: how much longer a built file loads than ordinary modules

As on Kaggle, the file is loaded again for each game, so that every first move includes imports and compilation. Half of
the games are played in each seat.
"""

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import head, record
from connectx.clock import UNSPENT
from connectx_toolkit.builder.build import render
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.match import Match
from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE
from connectx_toolkit.system.files import AGENTS, ROOT
from evaluate import get_win_percentages

ACT_TIMEOUT = float(DEFAULTS["actTimeout"])  # seconds a move
HEADERS = ("games", "won", "drawn", "lost", "faults", "first move", "later moves", "poor", "overage")
LOADS = 9  # fresh processes for each load time
WRAPPED = "n_step"  # eight modules, no weights
# Processor time of a load, with the file's compilation, in a fresh process that has the modules of Kaggle's server.
TIME_LOAD = """
import sys, time
import kaggle_environments, numba
numba.njit(lambda x: x + 1)(1)
text = open(sys.argv[1], encoding="utf-8").read()
started = time.process_time()
exec(compile(text, sys.argv[1], "exec"), {})
print(time.process_time() - started)
"""


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
    """Seconds: (first move, slowest later move, slowest move begun with at most UNSPENT of overage time, overage)."""
    mine = [*game.calls(seat).values()]
    left, slowest_poor = OVERAGE, 0.0
    for seconds in mine:
        if left <= UNSPENT:
            slowest_poor = max(slowest_poor, seconds)
        left -= max(0.0, seconds - ACT_TIMEOUT)
    return mine[0], max(mine[1:], default=0.0), slowest_poor, OVERAGE - left


def print_row(name: str, *cells: str) -> None:
    print(f"{name:<12}{''.join(f'{cell:>13}' for cell in cells)}", flush=True)


def report(opponent: str, match: Match) -> dict[str, float]:
    """Prints the counts, and the worst times over all games; returns what of it is worth keeping."""
    clocks = [clock_of(game, number % 2) for number, game in match.games.items()]
    worst = [max(figures) for figures in zip(*clocks, strict=True)]
    counts = (len(match.games), match.wins[0], match.draws, match.wins[1], match.side(0).faults.total())
    print_row(opponent, *map(str, counts), *(f"{seconds:.2f} s" for seconds in worst))
    return dict(zip(HEADERS, (*counts, *(round(seconds, 2) for seconds in worst)), strict=True))


def load_seconds(file: Path) -> float:
    """The median processor time to load a file, each time in a fresh process."""
    command = [sys.executable, "-IB", "-c", TIME_LOAD, str(file)]
    runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(LOADS)]
    return sorted(float(run.stdout.split()[-1]) for run in runs)[LOADS // 2]


def measure_wrapping() -> None:
    """Compares the load of a built file without weights with that of the same code as ordinary Python files."""
    with tempfile.TemporaryDirectory() as folder:
        imported, built = Path(folder, "imported.py"), Path(folder, "built.py")
        source = (AGENTS / f"{WRAPPED}.py").read_text(encoding="utf-8")
        imported.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{source}", encoding="utf-8")
        built.write_text(render(inline(AGENTS / f"{WRAPPED}.py"), None)[0])
        seconds = {file.stem: load_seconds(file) for file in (imported, built)}
    more = round(1e3 * (seconds["built"] - seconds["imported"]), 1)
    record("wrapping", more, f"ms more to load {WRAPPED} built than imported", seconds=seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="a built submission")
    parser.add_argument("--against", nargs="+", default=["negamax:100", "random:100", "n_step:20"], metavar="AGENT:N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-numba", action="store_true", help="the agents cannot import numba")
    options = parser.parse_args()
    head(seed=options.seed, **({"numba": "cannot be imported"} if options.without_numba else {}))
    if options.file is None:
        return measure_wrapping()
    print(f"seconds are the worst over all games; 'poor': moves begun with {UNSPENT:.0f} s of overage time or less")
    print_row("opponent", *HEADERS)
    rows = {}
    with broken_numba() if options.without_numba else contextlib.nullcontext():
        for item in options.against:
            opponent, _, games = item.rpartition(":")
            with contextlib.redirect_stdout(io.StringIO()):
                match = get_win_percentages(options.file, opponent, int(games), seed=options.seed)
            rows[opponent] = report(opponent, match)
    name = Path(options.file).stem + ("-without-numba" if options.without_numba else "")
    overage = max(row["overage"] for row in rows.values())
    record(f"clock-{name}", overage, f"s of {OVERAGE:.0f} s overage time used at most", opponents=rows)
    return None


if __name__ == "__main__":
    main()
