"""What several test files need: boards to test on, random games, observations as Kaggle sends them, a cluster."""

import contextlib
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from xdist.scheduler import LoadScopeScheduling

from connectx_core.position import Geometry, Position, geometry_of
from connectx_toolkit.builder import submission
from connectx_toolkit.builder.preflight.trial import Runner
from connectx_toolkit.cli.main import run
from connectx_toolkit.kaggle.runner import import_judge
from connectx_toolkit.system.console import DOOR
from connectx_toolkit.system.cores import usable_cores

os.environ[DOOR] = "pytest"  # messages are those of commands, unless a test takes it away
os.environ["OMP_NUM_THREADS"] = "1"  # torch's threads would wait for the cores, which the workers of pytest have

import_judge()  # before a test imports Kaggle's package: OpenSpiel's games take longer than the rest of it

# rows, columns, inarow: the standard board, small, tall, wide, single-row, square, and beyond 64 bits.
SHAPES = [
    (6, 7, 4),
    (5, 4, 3),
    (4, 5, 3),
    (8, 9, 5),
    (9, 8, 5),
    (3, 3, 3),
    (7, 1, 4),
    (1, 7, 4),
    (8, 8, 4),
    (12, 12, 5),
]


def needs(what: str, found: object) -> pytest.MarkDecorator:
    """Leaves a test out where it lacks something. pytest ends with a line of what that is, and what brings it in."""
    return pytest.mark.skipif(not found, reason=f"needs {what}")


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CHROMIUM = needs("chromium: apt-get install chromium", BROWSER)
LINUX = needs("Linux", sys.platform == "linux")
TWO_CORES = needs("two cores", len(usable_cores()) >= 2)


def evaluate(arguments: Sequence[str]) -> None:
    """Runs evaluate.py in this process; raises SystemExit if it does not succeed."""
    if code := run("evaluate", arguments):
        sys.exit(code)


def refused(arguments: Sequence[str], capsys, code: int = 2, prints: bool = False) -> str:
    """The one line with which evaluate.py ends in this process; before it there is no output, unless it ``prints``."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        evaluate(arguments)
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert stop.value.code == code and bool(out) == prints
    return line


def start_interruptible(command: Sequence[str], **more: Any) -> subprocess.Popen:
    """A process that SIGINT ends. What a job in the background starts would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, **more)
    finally:
        signal.signal(signal.SIGINT, before)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# For tests that hold an agent or the kit to the real clock: a busy machine may take a process off its core for tenths
# of a second, whatever it does. Such a test is repeated, and has failed if it fails four times in a row.
REAL_CLOCK = pytest.mark.flaky(reruns=3)


LONGEST = ("test_idioms", "test_notebook", "test_preflight", "test_build_submission")
LONG = Path(__file__).with_name("long_tests.txt")


@pytest.hookimpl(tryfirst=True)  # before those that -m leaves out go
def pytest_collection_modifyitems(config, items):
    """Marks what is long. The longest files first, so that no worker has one left when the others have nothing."""
    lines = {line for line in LONG.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}
    met = set[str]()
    for item in items:
        names = {item.nodeid, item.nodeid.split("[")[0], item.nodeid.split("::")[0]} & lines
        met |= names
        if names:
            item.add_marker("long")
    if config.args == config.getini("testpaths") and not config.option.keyword and lines - met:
        raise pytest.UsageError(f"{LONG.name} names what there is not: {', '.join(sorted(lines - met))}")
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def pytest_collection_finish():
    """What is imported by now stays: no collection need look at it, here or in the many forks, which would copy it."""
    gc.collect()
    gc.freeze()


class ByFile(LoadScopeScheduling):
    """Each file's tests in one worker; idioms, which mostly wait, in four. (xdist's groups need pytest before 9.2.)"""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return f"{file} {crc32(nodeid.encode()) % 4}" if "test_idioms" in file else file


def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: tests of the clock wait most of the time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session", autouse=True)
def _tidy(tmp_path_factory):
    """Where stable-baselines3 logs: it leaves a folder of each model that learns, otherwise in /tmp."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SB3_LOGDIR", str(tmp_path_factory.getbasetemp() / "sb3"))
        yield


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    """Output without colours, whatever the shell that runs the tests asks for."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch, tmp_path_factory):
    """Scores are solved, not read from the user's folder."""
    monkeypatch.setattr(
        "connectx_toolkit.games.known_scores.user_cache_path", lambda name: tmp_path_factory.mktemp("scores")
    )


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """The process in which tests run pre-flights."""
    with Runner() as running:
        yield running


@pytest.fixture(autouse=True)
def _one_runner(monkeypatch, request):
    """What a test builds or checks in this process is tried in the tests' own runner: to start one takes a second."""
    monkeypatch.setattr(submission, "Runner", lambda: contextlib.nullcontext(request.getfixturevalue("runner")))


@pytest.fixture(params=SHAPES, ids=lambda shape: "{}x{}k{}".format(*shape))
def geometry(request) -> Geometry:
    return geometry_of(*request.param)


def random_game(geometry: Geometry, rng: random.Random) -> Iterator[Position]:
    """The positions of a game of random moves, from the empty board to the last one before the end."""
    position = Position.empty(geometry)
    while not position.is_over():
        yield position
        position = position.play(rng.choice(position.legal_columns()))


def observe(position: Position, act_timeout: float = 2.0, overage: float = 60.0, **extra) -> tuple[dict, dict]:
    """(obs, config) that show the position to the side to move, as plain dicts."""
    geometry = position.geometry
    obs = {
        "board": position.to_board(),
        "mark": 1 + position.ply % 2,
        "step": position.ply,
        "remainingOverageTime": overage,
    }
    config = {
        "rows": geometry.rows,
        "columns": geometry.columns,
        "inarow": geometry.inarow,
        "actTimeout": act_timeout,
        "timeout": act_timeout,
        "episodeSteps": 1000,
        "runTimeout": 1200,
    }
    return obs, config | extra


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "512k") -> Iterator[Path]:
    """A file system of its own at ``folder``."""
    folder.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"needs mounts, as root has: {problem}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def fill(folder: Path) -> None:
    """Until there is no space left."""
    with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@contextlib.contextmanager
def disk_that_is(state: str, folder: Path, files: Mapping[str, bytes]) -> Iterator[Path]:
    """A small disk with these files on it, that is "full" or "read-only"."""
    with small_disk(folder, "256k"):
        for name, content in files.items():
            (folder / name).write_bytes(content)
        if state == "full":
            fill(folder)
        else:
            remount(folder, "ro")
        yield folder
