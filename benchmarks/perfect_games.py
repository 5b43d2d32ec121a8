"""The built exact agent against bitbully with its database: as first player it should win, as second not lose early.

python -m benchmarks.perfect_games FILE [--games 100] [--seed 1] [--share 1.0]

FILE is a built submission of the agent perfect. It plays in Kaggle's own environment, with Kaggle's clock, and is
loaded again for each game: --games games as first player, as many as second player ("choosing"), and again as many as
second player with its choice among equal moves switched off, so that it plays the slowest loss ("slowest"); perfect
play ends at ply 41, and with the choice not before ply 37. Afterwards, each of its moves is compared with bitbully's
scores. --share restricts both players and the referee to that part of one core.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from benchmarks.machine import describe
from benchmarks.oracle import scores_of
from benchmarks.submission import clock_of
from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.score import sign
from connectx_toolkit.arena.play.match import derived_seed
from connectx_toolkit.arena.play.pool import play_all
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.kaggle.rules import BANK, Game, Rules
from connectx_toolkit.kaggle.slow_processor import Restriction

OPPONENT = str(Path(__file__).with_name("bitbully_perfect.py"))
LAST_PLY = 41  # the first player wins with this stone if both play perfectly
SWITCH = "SWINDLE = True"


@contextlib.contextmanager
def without_choice(file: Path) -> Iterator[Path]:
    """A copy of the submission with its choice among equal moves switched off."""
    text = file.read_text(encoding="utf-8")
    if text.count(SWITCH) != 1:
        raise SystemExit(f"benchmarks.perfect_games: {file} should be a built 'perfect', with one line {SWITCH!r}")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain.py")
        plain.write_text(text.replace(SWITCH, "SWINDLE = False"), encoding="utf-8")
        yield plain


def results_lost(game: Game, seat: int) -> int:
    """The number of moves of a seat that made the result worse, by bitbully's scores."""
    lost, position = 0, Position.empty(STANDARD)
    for column in game.moves:
        if position.ply % 2 == seat:
            scores = scores_of(position)
            best = max(score for score in scores if score is not None)
            lost += sign(scores[column] or 0) < sign(best)
        position = position.play(column)
    return lost


def play(name: str, players: tuple[AgentSpec, AgentSpec], seat: int, options: argparse.Namespace) -> None:
    """Plays the games of one seat and prints its row."""
    tasks = [
        Task(number, players, (), (derived_seed(options.seed, number, 0), derived_seed(options.seed, number, 1)))
        for number in range(options.games)
    ]
    bar = tqdm(play_all(tasks, Setup(Rules(), "kaggle"), 1), total=len(tasks), unit="game", leave=False)
    games = [game for _, game in bar]
    won = sum(game.score == 1 - seat for game in games)
    drawn = sum(game.score == 0.5 for game in games)
    faults = sum(fault.seat == seat for game in games for fault in game.faults)
    theirs = sum(fault.seat != seat for game in games for fault in game.faults)
    shortest = min(len(game.moves) for game in games)
    first, later, _, used = (max(figures) for figures in zip(*(clock_of(game, seat) for game in games), strict=True))
    print(
        f"{name:<10}{len(games):>6}{won:>6}{drawn:>6}{faults:>8}{theirs:>8}{shortest:>10}"
        f"{len({game.moves for game in games}):>10}{sum(results_lost(game, seat) for game in games):>8}"
        f"{first:>8.2f} s{later:>8.2f} s{used:>8.2f} s",
        flush=True,
    )


def restricted(options: argparse.Namespace) -> int:
    """Runs this benchmark again in a control group with a part of one core; returns its exit status."""
    with Restriction(options.share) as restriction:
        group = restriction.job.get("cgroup")
        if group is None:
            sys.exit("benchmarks.perfect_games: --share needs a control group, which cannot be made here")
        print(f"{options.share:.0%} of a core by {restriction.kind}", flush=True)
        arguments = [str(options.file), "--games", str(options.games), "--seed", str(options.seed)]
        return subprocess.run(
            [sys.executable, "-m", "benchmarks.perfect_games", *arguments],
            preexec_fn=lambda: Path(group, "cgroup.procs").write_text(str(os.getpid())),
            check=False,
        ).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a built submission of the agent perfect")
    parser.add_argument("--games", type=int, default=100, help="games in each seat")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="share of one core for both players and the referee")
    options = parser.parse_args()
    if options.share < 1:
        sys.exit(restricted(options))
    print(f"{describe()}; seed {options.seed}; clock: the worst of all games, bank {BANK:.0f} s")
    print(
        f"{'seat':<10}{'games':>6}{'won':>6}{'drawn':>6}{'faults':>8}{'theirs':>8}{'shortest':>10}{'different':>10}"
        f"{'errors':>8}{'first move':>10}{'later':>10}{'bank used':>10}"
    )
    with without_choice(options.file) as plain:
        play("first", (resolve(str(options.file)), resolve(OPPONENT)), 0, options)
        play("choosing", (resolve(OPPONENT), resolve(str(options.file))), 1, options)
        play("slowest", (resolve(OPPONENT), resolve(str(plain))), 1, options)


if __name__ == "__main__":
    main()
