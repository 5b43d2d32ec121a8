"""What people get wrong, at all three command lines: one clear line, exit code 2, and nothing half-written."""

import contextlib
import gzip
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from connectx_core.weights import pack
from connectx_toolkit.builder.submission import find_agent
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.cli import train
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system import workers
from connectx_toolkit.system.files import ROOT
from tests.conftest import disk_that_is, evaluate

pytestmark = pytest.mark.slow
MAINS: dict[str, Callable] = {"build": build_submission.main, "evaluate": evaluate, "train": train.main}
NAMES = {"build": "build_submission.py", "evaluate": "evaluate.py", "train": "train.py"}
REPLAY = '{"name": "connectx", "configuration": {"rows": 6, "columns": 7, "inarow": 4}, "statuses": ["DONE", "DONE"], '


LOST = ", ".join('[{"action": 0}, {"action": 0}]' if ply % 2 else '[{"action": 1}, {"action": 1}]' for ply in range(8))


class Case(NamedTuple):
    command: str  # a key of MAINS and its arguments
    named: str  # what the line names
    code: int = 2  # 1: nothing was left of what was to be read


CASES = [
    # Agents
    Case("evaluate bord minimax@2", "did you mean board?"),
    Case("evaluate board middle middle middle", "board"),
    Case("evaluate board --game 3338", "column 8"),
    Case("evaluate board --game missing.json", "missing.json"),
    Case("evaluate board --games notes.txt", "notes.txt"),
    # Files of games
    Case("evaluate explore", "runs/games.sqlite"),
    Case("evaluate explore 4477", "--from-one"),
    Case("evaluate explore --add missing", "no such file"),
    Case("evaluate explore --add notes.txt", "notes.txt", 1),
    Case("evaluate explore --games games", "no ladder games"),
    Case("evaluate explore --games other_store", "other_store is not a file of games"),
    Case("evaluate explore --add games", "a file of games, not a replay", 1),
    Case("evaluate explore --origin both", "--origin"),
    Case("evaluate report --games games --judge", "--judge is for"),
    Case("evaluate board --second --no-browser", "--second is for"),
    Case("evaluate explore --since tomorrow", "--since takes a date"),
    Case("evaluate explore --since 2026-11-31", "2026-11-31"),
    Case("evaluate onestep.py random", "there is no such file"),
    Case("evaluate my-agnet.py random", "did you mean my-agent.py? there is no such file"),
    Case("evaluate loop.py random", "there is no such file"),
    Case("evaluate onestep random", "did you mean one_step?"),
    Case("build good.tar.gz", "python build_submission.py --check good.tar.gz checks it"),
    Case("evaluate match my-agent leftmost", "did you mean my-agent.py?"),
    Case(f"evaluate {'x' * 300} random", "no agent 'xxx"),
    Case("evaluate n_step@4 random", "n_step@4"),
    Case("evaluate random~101 leftmost --rounds 1", "0 to 100"),
    Case("build empty.py -o new.py", "empty.py"),
    Case("evaluate syntax.py random", "syntax.py"),
    Case("build syntax.py -o new.py", "syntax.py"),
    Case("build long_sum.py -o new.py", "long_sum.py"),
    Case("build signs.py -o new.py", "signs.py"),
    Case("evaluate no_agent.py random", "no_agent.py"),
    Case("build no_agent.py -o new.py", "no_agent.py"),
    Case("evaluate no_data.py random", "no_data.py"),
    Case("build no_data.py -o new.py", "missing.bin"),
    Case("build network.py -o new.py", "network.py"),
    # Numbers
    Case("build leftmost --slowdown 0.5 -o new.py", "--slowdown"),
    Case("train book --last-ply 0", "last_ply should be at least 1"),
    Case("train leaf --learning-rate nan", "learning_rate should be a finite number, not nan"),
    Case("train book --table-bits 60 --last-ply 1", "table"),
    # Options
    Case("build leftmost --ouptut new.py", "--ouptut"),
    Case("train bok", "bok"),
    Case("evaluate leftmost random --rounds 1 --config rows=0", "rows"),
    Case("evaluate leftmost random --rounds 1 --config rows=1000000,columns=1000000", "rows"),
    Case("evaluate leftmost random --rounds 1 --config actTimeout=NaN", "actTimeout"),
    Case("evaluate leftmost random --rounds 1 --config nodeBudget=[1]", "nodeBudget"),
    # Files to read
    Case("evaluate match leftmost random --openings folder", "folder"),
    Case("evaluate match leftmost random --openings words", "'hello'"),
    Case("evaluate match leftmost random --games notes.txt", "not a file of games"),
    Case("evaluate match leftmost random --games /proc/new/store", "/proc/new/store: cannot be written (read-only"),
    Case("evaluate report --games damaged", "damaged"),
    Case("evaluate analyse 4444444", "column 4"),
    Case("evaluate analyse 33 --me first", "--me"),
    Case("evaluate analyse games --me leftmos", "leftmost?"),
    Case("evaluate analyse games --names a b", "--names"),
    Case("evaluate analyse missing.json", "no such file: missing.json"),
    Case("evaluate analyse no_steps.json", "'steps'"),
    Case("build --check missing.py", "missing.py"),
    Case("train book --entries noise --output new.bin", "noise"),
    Case("train book --least 0", "least"),
    Case("train replies --replies-policy noise --output new.bin", "noise: not a weight container"),
    Case("train replies --games 0", "games"),
    Case("train distill --samples 3", "distill is called network now"),
    Case("train network --labels missing", "python train.py labels makes them"),
    Case("train network --labels bad.labels", "bad.labels is not a file of labels"),
    Case("train network --labels other.labels", "other.labels is not a file of labels"),
    Case("train leaf --labels folder", "no labels in"),
    Case("train network --labels labels", "labels"),
    Case("train labels --games 0 --add missing.npz", "missing.npz"),
    Case("train labels --games 0", "games should be at least 1, or add should name labels"),
    Case("train network --layers dense", "layers should look like"),
    Case("train network --layers conf:3,dens:3", "layers should be of the kinds conv, dense, not 'conf'"),
    Case("train network --layers dense:3,conv:3", "cannot follow"),
    Case("train ppo --steps 5", "multiple of 16 x games = 8000, not 5"),
    Case("train ppo --opponent self+nobody", "nobody"),
    Case("train ppo --board six", "read like 6x7k4"),
    Case("train ppo --board 12x12k5", "64"),
    Case("train ppo --encoding none", "encoding 'none' is unknown"),
    Case("train ppo --protocol lesson", "protocol should be one of self-play, course, not 'lesson'"),
    Case("train ppo --protocol course --steps 800000 --opponent negamax", "says what --opponent, --steps is"),
    Case("train actor-critic --opponent lookahead@0", "lookahead@PLIES"),
    Case("train actor-critic --practice 1", "practice should be below 1, not 1.0"),
    Case("train actor-critic --game 9x9k4 --opponent random", "does not fit the 64 bits"),
    Case("train network --labels labels/damaged.labels", "damaged.labels"),
    Case("train network --device tpu", "device should be one of auto, cpu, cuda, mps"),
    Case("train value --opponent missing.bin", "missing.bin"),
    Case("train value --opponent corrupt.bin", "corrupt.bin: "),
    Case("train policy-gradient --start random", "start should be one of nothing, opponent, not 'random'"),
    Case("train policy-gradient --stop -1", "stop should be above -1, not -1.0"),
    Case("train menace --game chess", "the game should be nim"),
    Case("train menace --game 6x7k4", "at most 39 cells"),
    Case("train tune missing.py", "missing.py"),
    Case("train tune notes.txt", "notes.txt is no .py file: save the agent as one"),
    Case("train tune net.pt", "net.pt"),
    Case("train tune tunable.py", "line 1: PLAY: the range '9 to 1' is upside down"),
    Case("train tune long_sum.py", "long_sum.py"),
    Case("train tune tunable.py -o missing/new.py", "missing"),
    Case("train tune ranged.py --run notes.txt", "notes.txt"),
    Case("train tune tunable.py --workers 999", "cores"),
    Case("train tune", "agent"),
    Case("train adopt missing.zip", "missing.zip"),
    Case("train adopt folder", "folder"),
    Case("train adopt notes.txt -o folder/new.py", "notes.txt"),
    Case("train adopt net.pt -o no_agent.py", "no_agent.py"),
    Case("train adopt net.pt -o new.bin", "new.bin"),
    Case("train adopt net.pt -o new.py --arguments [[1,2]]", "arguments should be a JSON object"),
    Case("train adopt net.pt -o new.py --board six", "board"),
    Case("train adopt", "model"),
    # Files to write
    Case("build leftmost -o folder", "folder"),
    Case("build my-agent.py -o my-agent.py", "my-agent.py"),
    Case("evaluate match leftmost random --games notes.txt/store", "notes.txt"),
    Case("evaluate report --games games --html no/such/folder/new.html", "html"),
    Case("train network --labels missing --output folder", "no labels in missing"),
]

# What the builder is given wrongly
CASES += [
    Case("build", "give either an agent"),
    Case("build my-agnt.py -o new.py", "my-agent.py?"),
    Case("build leftmost -o new.zip", "new.zip"),
    Case("build leftmost -o new.py --format tar.gz", "tar.gz"),
    Case("build leftmost -o new.py --allow-package scikit-learn", "scikit-learn"),
    Case("build leftmost -o new.py --positions 1000000", "not 1000000"),
    Case("build leftmost -o new.py --data missing.bin", "missing.bin"),
    Case("build my-agent.py -o new.tar.gz --data /etc/hostname", "hostname"),
    Case("build --check leftmost.py --data words", "--data"),
    Case("build my-agent.py -o new.py", "my-agent.py"),
    Case("build ppo.py -o new.py", "ppo.py"),
    Case("build loads_torch.py -o new.py", "loads_torch.py"),
    Case("build typo.py -o new.py", "typo.py"),
    Case("build folder/hides.py -o new.py", "queue.py"),
]

# What evaluate.py and train.py are told wrongly: numbers, the configuration, and games to judge
CASES += [
    Case("evaluate board --practise words --no-browser", "line 2"),
    Case("evaluate analyse ladder.json", "ladder.json"),
    Case("evaluate analyse flat.json", "rows"),
    Case("evaluate analyse lost.json --from-one", "--from-one"),
    Case("evaluate analyse \N{SUPERSCRIPT TWO}", "\N{SUPERSCRIPT TWO}"),
    Case("evaluate analyse notes.txt", "notes.txt"),
    Case("evaluate analyse half.json list.json", "half.json", 1),
    Case("evaluate analyse lost.json lost.json --me nobody", "nobody"),
    Case("evaluate analyse lost.json --me first --write-mistakes words", "'hello'"),
    Case("evaluate exam", "agents"),
    Case("evaluate exam leftmost leftmost", "twice"),
    Case("evaluate exam leftmost --config rows=5", "7x6"),
    Case("evaluate exam leftmost --positions words", "line 2"),
    Case("evaluate exam leftmost --positions cut.json", "cut.json is not a ConnectX replay: it is not JSON", 1),
    Case("evaluate exam leftmost --positions words --seed 1", "--seed"),
    Case("evaluate exam leftmost --positions words --me first", "--me"),
    Case("evaluate exam leftmost --me first", "--positions"),
    Case("evaluate episodes mine", "submission should be an integer of at least 1"),
    Case("build leftmost -o new.py --submit", "--submit"),
    Case("train book leaf", "leaf"),
    Case("evaluate match leftmost random --pair=3 --sed 1", "--pairs, --seed?"),
    Case("evaluate leftmost random --zzzzzz", "--zzzzzz"),
    Case("train network --sampels 3", "--samples?"),
    Case("build leftmost -o new.py --positoins 5", "--positions?"),
    Case("evaluate analyse lost.json --html /proc/new.html", "/proc/new.html"),
    Case("build leftmost -o /proc/new.py", "/proc/new.py"),
    Case("train menace --output notes.txt/new.bin", "notes.txt"),
    Case("train", "METHOD"),
    Case("evaluate", "agent1, agent2"),
    Case("evaluate tournament", "agents"),
    Case("evaluate tournament leftmost random --anchor middle", "middle"),
    Case("evaluate leftmost random --workers 1000", "1000"),
    Case("evaluate match leftmost random --sprt 20 0", "sprt takes two"),
]

AGENT = "def agent(obs, config):\n    return 0\n"
FILES: dict[str, str | bytes] = {
    "notes.txt": "These are notes.\n",
    "empty.py": "",
    "good.tar.gz": gzip.compress(b"of any content"),
    "ranged.py": "PLAY = 5  # tune: 1 to 9\n\n\ndef agent(obs, config):\n    return PLAY % 7\n",
    "tunable.py": "PLAY = 5  # tune: 9 to 1\n\n\ndef agent(obs, config):\n    return PLAY % 7\n",
    "syntax.py": "def agent(obs, config:\n    return 0\n",
    "long_sum.py": f"COLUMN = {'+'.join(['0'] * 12_000)}\n{AGENT}",  # too deep for a tree of Python objects
    "signs.py": f"COLUMN = {'-' * 20000}0\n{AGENT}",  # too deep for the parser itself
    "no_agent.py": "COLUMN = 3\n",
    "corrupt.py": "from connectx_core.weights import read_data, unpack\n\nunpack(read_data('corrupt.bin'))\n\n\n"
    + AGENT,
    "no_data.py": f"from connectx_core.weights import read_data\n\nread_data('missing.bin')\n\n\n{AGENT}",
    "network.py": f"import nonesuch_network\n\n\n{AGENT}",
    "my-agent.py": f"WORDS = open('words').read()\n\n\n{AGENT}",
    "ppo.py": f"from stable_baselines3 import PPO\n\nmodel = PPO.load('ppo.zip')\n\n\n{AGENT}",
    "loads_torch.py": f"import torch\n\nSTATE = torch.load('net.pt')\n\n\n{AGENT}",
    "net.pt": b"not looked at",
    "typo.py": f"import nunpy as np\n\n\n{AGENT}",
    "words": "3342\nhello\n",
    "noise": bytes(range(256)) * 40,
    "bad.labels": b"CXW2 and nothing good",
    "other.labels": pack({"x": np.arange(3)}),
    "half.json": REPLAY,
    "list.json": "[]",
    "cut.json": '[{"steps": ',
    "no_steps.json": REPLAY + '"steps": 3}',
    "ladder.json": '{"anchor": "random", "agents": {}}',
    "flat.json": REPLAY.replace('"rows": 6', '"rows": 0') + '"steps": []}',
    "lost.json": f'{REPLAY}"steps": [{LOST}]}}',
}


def flipped(content: bytes) -> bytes:
    """The same with one bit in the middle of its last half changed."""
    at = len(content) * 3 // 4
    return content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with all that the cases name."""
    folder = tmp_path_factory.mktemp("input")
    (folder / "folder").mkdir()
    (folder / "folder" / "queue.py").write_text("")
    (folder / "folder" / "hides.py").write_text(f"import queue\n\n\n{AGENT}")
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "loop.py").symlink_to("loop.py")
    (folder / "labels").mkdir()
    (folder / "labels" / "damaged.labels").write_bytes(flipped(pack({"masks": np.ones(1000, np.int64)})))
    (folder / "corrupt.bin").write_bytes(flipped(pack({"weight": np.ones(1000, np.float32)})))
    with contextlib.chdir(folder):
        evaluate(["match", "leftmost", "random", "--pairs", "20", "--games", "games"])
    store = (folder / "games").read_bytes()
    (folder / "damaged").write_bytes(store[:4096] + bytes(len(store) - 4096))
    with contextlib.closing(sqlite3.connect(folder / "other_store")) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    return folder


def outcome(command: str, capsys) -> tuple[int, str, str]:
    """Exit code, output and errors of a command in this process."""
    script, *arguments = command.split()
    try:
        code = MAINS[script](arguments)
    except SystemExit as stop:
        code = stop.code
    return (int(code or 0), *capsys.readouterr())


def without_progress(errors: str) -> list[str]:
    """The lines on standard error that are not the builder's stages."""
    stages = ("inlining", "compiling", "checking", "comparing")
    return [line for line in errors.splitlines() if line.split()[0] not in stages]


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file's bytes, but for those that SQLite keeps beside an open database and clears away at its next use."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal"))]
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.command)
def test_one_line_a_code_and_nothing_written(case, made, capsys, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_LIMIT", 0.5)  # seconds for a scheduler that is not there
    monkeypatch.chdir(made)
    before = content_of(made)
    code, out, err = outcome(case.command, capsys)
    line, *more = without_progress(err)
    name = NAMES[case.command.split()[0]]
    assert (code, out) == (case.code, "") and line.startswith(name) and case.named in line
    assert (
        "[Errno" not in line.partition("cannot be loaded: ")[0] and ".partial" not in line
    )  # an agent's own words stay
    if "arguments are required" in line:
        assert more[0].startswith(f"usage: {name}") and more[-1].endswith("--help explains all options")
        assert case.command != "evaluate" or more[1].startswith("or a command: match, tournament, exam")
    else:
        assert more == []
    assert content_of(made) == before


@pytest.mark.parametrize("name", ["onestep.py", "./ppo.py", "loop.py"])
def test_where_a_file_was_meant_only_files_are_suggested(name, tmp_path, monkeypatch):
    """No agent of ours, and not what has the same name and is no file."""
    monkeypatch.chdir(tmp_path)
    Path("loop.py").symlink_to("loop.py")
    with pytest.raises(ValueError) as of_match:
        resolve(name)
    assert str(of_match.value) == f"no agent {name!r}: there is no such file"
    with pytest.raises(ValueError, match=f"no agent {name}: expected a file"):
        find_agent(name)


@pytest.mark.parametrize(
    "command",
    [
        "evaluate.py list", "build_submission.py minimax", "train.py book", "train.py network --help",
        "evaluate.py --help", "evaluate.py match --help", "train.py --help",
    ],
)  # fmt: skip
def test_outside_of_the_virtual_environment(command, tmp_path):
    """Without the packages, which -S takes away: which is missing, and how to have it. Help is there all the same."""
    script, *arguments = command.split()
    call = [sys.executable, "-S", str(ROOT / script), *arguments]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    if command.endswith("--help") and "network" not in command:
        assert (done.returncode, done.stderr) == (0, "") and f"usage: {script}" in done.stdout
    else:
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
        assert "this Python has no" in done.stderr and "source .venv/bin/activate" in done.stderr


@pytest.fixture(params=["full", "read-only"])
def disk(request, made, tmp_path) -> Iterator[Path]:
    """With a store of games in it."""
    with disk_that_is(request.param, tmp_path / "disk", {"games": (made / "games").read_bytes()}) as folder:
        yield folder


@pytest.mark.parametrize(
    "command",
    [
        "build leftmost -o DISK/new.py",
        "evaluate match leftmost random --pairs 1 --games DISK/new",
        "evaluate match leftmost random --pairs 1 --seed 2 --games DISK/games",
        "evaluate report --games games --html DISK/new.html",
        "evaluate report --games games --ladder DISK/new",
    ],
)
def test_a_disk_that_is_full_or_read_only(command, disk, made, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("games").write_bytes((made / "games").read_bytes())
    before = content_of(disk)
    code, _, err = outcome(command.replace("DISK", str(disk)), capsys)
    (line,) = without_progress(err)
    assert code == 2 and line.startswith(NAMES[command.split()[0]]) and str(disk) in line
    assert re.search("no space left on the disk|disk is full|disk I/O error|read-?only", line)
    assert "[Errno" not in line and ".partial" not in line
    assert content_of(disk) == before


@pytest.fixture
def _heard() -> Iterator[None]:
    """Tests that run in the background inherit an ignored SIGINT, and so would the programs that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


SLOW = "import pathlib, time\n\n\ndef agent(obs, config):\n    pathlib.Path('playing').touch()\n    time.sleep(60)\n"
SLOW_TO_BUILD = f"import time\n\ntime.sleep(60)\n\n\n{AGENT}"


@pytest.mark.parametrize(
    ("command", "sign"),
    [
        ("evaluate.py match slow.py leftmost --games store", "playing"),
        ("build_submission.py slow_to_build.py -o new.py", ".new.py.*.partial"),
        ("train.py book --table-bits 10 --entries scores --output new.bin --workers 1", "scores"),
    ],
)
@pytest.mark.usefixtures("_heard")
def test_ctrl_c(command, sign, tmp_path):
    """As a terminal sends it, to all processes of the command: it ends at once, in one line, and leaves nothing."""
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "slow_to_build.py").write_text(SLOW_TO_BUILD)
    script, *arguments = command.split()
    process = subprocess.Popen(
        [sys.executable, ROOT / script, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob(sign)) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    deadline = time.monotonic() + 10
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and err.splitlines()[-1].startswith(f"{script}") and "Traceback" not in err
    assert not list(tmp_path.glob("*new*")) and not list(tmp_path.glob(".*"))
    with pytest.raises(ProcessLookupError):  # none of its processes is left, once the system has cleared them away
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(0.1)
