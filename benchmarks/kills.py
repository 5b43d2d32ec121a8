"""Kills commands that write, at random moments, and runs it again: does it go on, or start clean?

python -m benchmarks.kills                     all commands, 20 kills each: about an hour
python -m benchmarks.kills match build --kills 5

Each command runs once undisturbed, for its result. Then it is started in a new folder, its process group is killed with
SIGKILL at a moment drawn from its running time, and it is run again to its end. The second run has to succeed, with the
same result, and to leave no temporary file behind.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import head, record
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import ROOT

LIMIT = 900  # seconds of any one run
TEMPORARY = (".partial", ".lock", ".tmp")


@dataclass
class Command:
    """A command in a folder of its own. ``{}`` in its words stands for the toolkit's root."""

    words: str
    prepare: Callable[[Path], None] = lambda folder: None
    result: Callable[[Path], Any] = lambda folder: None


def moves_of(games: str) -> Callable[[Path], Any]:
    """The games of matches in a file, without what depends on time."""

    def result(folder: Path) -> Any:
        with sqlite3.connect(folder / games) as connection:
            return connection.execute("SELECT number, moves, points FROM games ORDER BY match, number").fetchall()

    return result


def files(*patterns: str) -> Callable[[Path], Any]:
    """The contents of files."""

    def result(folder: Path) -> Any:
        found = sorted(path for pattern in patterns for path in folder.glob(pattern))
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}

    return result


def whole_page(name: str) -> Callable[[Path], Any]:
    """Whether a page is there to its end; the plots in it have random names."""
    return lambda folder: (folder / name).read_text().rstrip().endswith("</html>")


def run(words: str, folder: Path) -> None:
    """Runs a command that has to succeed."""
    done = subprocess.run(argv(words), cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}")


def argv(words: str) -> list[str]:
    script, *rest = words.split()
    return [sys.executable, str(ROOT / script), *(word.replace("{}", str(ROOT)) for word in rest)]


def replays(folder: Path) -> None:
    """Six games of Kaggle's environment, as it stores them."""
    from kaggle_environments import make

    random.seed(1)
    for number in range(6):
        env = make("connectx", debug=True)
        env.run(["random", "negamax"] if number % 2 else ["negamax", "random"])
        names = ["my_team", "them"] if number % 2 else ["them", "my_team"]
        content = env.toJSON() | {"info": {"TeamNames": names, "EpisodeId": 100 + number}}
        (folder / f"episode-{100 + number}-replay.json").write_text(json.dumps(content))


def stored_games(folder: Path) -> None:
    run("evaluate.py match leftmost random --pairs 20 --games games.sqlite", folder)


def model(folder: Path) -> None:
    """A model of stable-baselines3 with random weights."""
    import gymnasium
    from stable_baselines3 import PPO

    import connectx_toolkit.training.environments  # noqa: F401 (registers ConnectX-v0)

    trained = PPO("MlpPolicy", gymnasium.make("ConnectX-v0", observation="course"), seed=1, n_steps=64)
    trained.num_timesteps = 64
    trained.save(folder / "model.zip")


def labels(folder: Path) -> None:
    run("train.py labels --games 150 --workers 1 --run labels", folder)


COMMANDS = {
    "match": Command("evaluate.py match random leftmost --pairs 150 --games s.sqlite", result=moves_of("s.sqlite")),
    "tournament": Command(
        "evaluate.py tournament random leftmost middle --pairs 40 --games s.sqlite --ladder ladder",
        result=moves_of("s.sqlite"),
    ),
    "report": Command(
        "evaluate.py report --games games.sqlite --html page.html", stored_games, whole_page("page.html")
    ),
    "exam": Command("evaluate.py exam leftmost middle --write-mistakes mistakes.txt", result=files("mistakes.txt")),
    "analyse": Command(
        "evaluate.py analyse . --me my_team --write-mistakes mistakes.txt", replays, files("mistakes.txt")
    ),
    "build": Command("build_submission.py leftmost -o built.py", result=files("built.py")),
    "adopt": Command("train.py adopt model.zip -o mine.py --positions 50", model, files("mine.py", "mine*.bin")),
    "labels": Command(
        "train.py labels --games 450 --workers 1 --run labels",
        result=files("labels/labels.labels"),
    ),
    "distill": Command(
        "train.py distill --labels labels/labels.labels --samples 40000 --batch 256 --layers dense:16 --run run "
        "--output net.bin",
        labels,
        files("net.bin"),
    ),
    "replies": Command(
        "train.py replies --games 1 --rematches 0 --types 2 --samples 4096 --layers dense:8 "
        "--labels labels/labels.labels --replies-policy {}/agents/weights/perfect_replies_policy.bin --run run "
        "--output replies.bin",
        labels,
        files("replies.bin"),
    ),
    "book": Command(
        "train.py book --first-ply 2 --workers 1 --table-bits 20 --scores scores.txt --output book.bin",
        result=files("book.bin"),
    ),
}


class Trial:
    """One command, its undisturbed result, and what kills did to it."""

    def __init__(self, name: str, base: Path):
        self.name, self.command = name, COMMANDS[name]
        self.prepared = base / f"{name}-prepared"
        self.prepared.mkdir()
        self.command.prepare(self.prepared)
        start, whole = time.perf_counter(), self.fresh(base / f"{name}-whole")
        run(self.command.words, whole)
        self.seconds = time.perf_counter() - start
        self.expected = self.command.result(whole)

    def fresh(self, folder: Path) -> Path:
        shutil.copytree(self.prepared, folder)
        return folder

    def kill(self, folder: Path, after: float) -> str:
        """Runs, kills and runs again; what is wrong then, or "", or "ended" if the command was faster than the kill."""
        self.fresh(folder)
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(
            argv(self.command.words), cwd=folder, stdout=quiet, stderr=quiet, start_new_session=True
        )
        try:
            process.wait(after)
            return "ended"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        try:
            run(self.command.words, folder)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            return str(problem)
        if self.command.result(folder) != self.expected:
            return "another result"
        left = [path.name for path in folder.rglob("*") if path.name.endswith(TEMPORARY)]
        return f"left behind: {', '.join(left)}" if left else ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", default=list(COMMANDS), metavar="COMMAND", help=", ".join(COMMANDS))
    parser.add_argument("--kills", type=int, default=20, metavar="N", help="kills of each command (default 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed of the moments (default 1)")
    options = parser.parse_args(arguments)
    head(seed=options.seed, kills=options.kills)
    print(f"\n| command | seconds | killed | went on or began clean | what else |\n| --- |{' --- |' * 4}")
    failed, rng = 0, random.Random(options.seed)
    for name in options.commands:
        with tempfile.TemporaryDirectory() as base:
            trial, found = Trial(name, Path(base)), list[str]()
            with progress(options.kills, "kill", name) as bar:
                while len(found) < options.kills:
                    folder = Path(base) / f"{name}-killed"
                    what = trial.kill(folder, rng.uniform(0, trial.seconds))
                    shutil.rmtree(folder)
                    if what != "ended":
                        found.append(what)
                        bar.update()
        wrong = sorted({what for what in found if what})
        failed += sum(map(bool, found))
        row = [name, f"{trial.seconds:.1f}", str(len(found)), str(found.count("")), "; ".join(wrong)]
        print(f"| {' | '.join(row)} |", flush=True)
    record("kills", failed, "killed runs that did not go on or begin clean", 0, commands=options.commands)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
