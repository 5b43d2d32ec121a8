"""What people get wrong, at all three command lines: one clear line, exit code 2, and nothing half-written."""

import contextlib
import os
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

from connectx.weights import pack
from connectx_toolkit.builder.preflight.stage import Runner
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.cli import evaluate, train
from connectx_toolkit.places import BOOK_SCORES, ROOT
from tests.conftest import disk_that_is

MAINS: dict[str, Callable] = {"build": build_submission.main, "evaluate": evaluate.main, "train": train.main}
NAMES = {"build": "build_submission.py", "evaluate": "evaluate.py", "train": "train.py"}
REPLAY = '{"name": "connectx", "configuration": {"rows": 6, "columns": 7, "inarow": 4}, "statuses": ["DONE", "DONE"], '


LOST = ", ".join('[{"action": 0}, {"action": 0}]' if ply % 2 else '[{"action": 1}, {"action": 1}]' for ply in range(8))


class Case(NamedTuple):
    command: str  # a key of MAINS and its arguments
    words: str  # of the line


CASES = [
    # Agents
    Case("evaluate board minmax", "no agent 'minmax'"),
    Case("evaluate board middle middle middle", "a board has two sides, not 3"),
    Case("evaluate board --config rows=0", "rows should be an integer of at least 1"),
    Case("evaluate board --game 3338", "there is no column 8"),
    Case("evaluate board --game missing.json", "no such file: missing.json"),
    Case("evaluate missing.py random", "no agent 'missing.py'"),
    Case("build missing.py", "no agent missing.py"),
    Case("evaluate folder random", "'folder' is a folder"),
    Case("build folder", "folder is a folder"),
    Case("evaluate minmax random", "no agent 'minmax'"),
    Case("build minmax", "no agent minmax"),
    Case(f"evaluate {'x' * 300} random", "no agent 'xxx"),
    Case("evaluate n_step@4 random", "only minimax has a depth"),
    Case("evaluate random~101 leftmost --rounds 1", "0 to 100"),
    Case("evaluate notes.txt random", "notes.txt cannot be loaded: SyntaxError"),
    Case("build notes.txt", "not a Python file"),
    Case("evaluate empty.py random", "empty.py cannot be loaded"),
    Case("build empty.py -o new.py", "empty.py"),
    Case("evaluate syntax.py random", "(syntax.py, line 1)"),
    Case("build syntax.py -o new.py", "syntax.py:1"),
    Case("build long_sum.py -o new.py", "long_sum.py:1: nested too deeply"),
    Case("build signs.py -o new.py", "signs.py:1: nested too deeply"),
    Case("evaluate no_agent.py random", "it defines no function"),
    Case("build no_agent.py -o new.py", "no_agent.py"),
    Case("evaluate corrupt.py random", "checksum differs"),
    Case("evaluate no_data.py random", "No such file"),
    Case("build no_data.py -o new.py", "missing.bin"),
    Case("build network.py -o new.py", "network.py:1"),
    # Numbers
    Case("evaluate leftmost random --rounds 0", "at least 1, not 0"),
    Case("evaluate leftmost random --rounds -5", "at least 1, not -5"),
    Case("evaluate leftmost random --rounds 2.5", "--rounds"),
    Case("evaluate leftmost random --concurrency 0", "at least 1, not 0"),
    Case("evaluate leftmost random --rounds 1 --bank nan", "bank"),
    Case("evaluate leftmost random --rounds 1 --bank inf", "bank"),
    Case("evaluate leftmost random --rounds 1 --bank 1e10", "bank"),
    Case("evaluate leftmost random --rounds 1 --seed 9223372036854775808", "--seed"),
    Case("evaluate match leftmost random --seed 100000000000000000000", "--seed"),
    Case("evaluate match leftmost random --seed -9223372036854775809", "--seed"),
    Case("evaluate play leftmost --seed 100000000000000000000", "--seed"),
    Case("evaluate match leftmost random --sprt 0 nan", "--sprt"),
    Case("evaluate match leftmost random --pairs -1", "at least 1, not -1"),
    Case("evaluate report --store games --html new.html --games 0", "at least 1, not 0"),
    Case("evaluate analyse games --games -2", "at least 1, not -2"),
    Case("build leftmost --positions -3 -o new.py", "--positions"),
    Case("build leftmost --slowdown nan -o new.py", "--slowdown"),
    Case("build leftmost --size-limit inf -o new.py", "--size-limit"),
    Case("build leftmost --size-limit 1e305 -o new.py", "--size-limit"),
    Case("build leftmost --memory-limit nan -o new.py", "--memory-limit"),
    Case("build leftmost --memory-limit 1e305 -o new.py", "--memory-limit"),
    Case("train book --workers 0", "at least 1"),
    Case("train book --table-bits -1 --first-ply 1", "table"),
    Case("train book --table-bits 60 --first-ply 1", "table"),
    Case("train openings --table-bits 60", "table"),
    Case("train openings --workers 0", "workers"),
    # Options
    Case("evaluate leftmost random --round 5 --seeed 1", "--seeed"),
    Case("build leftmost --ouptut new.py", "--ouptut"),
    Case("train bok", "invalid choice"),
    Case("evaluate leftmost random --rounds 1 --config rows=0", "rows"),
    Case("evaluate leftmost random --rounds 1 --config rows=1000000,columns=1000000", "rows"),
    Case("evaluate leftmost random --rounds 1 --config row=5", "row"),
    Case("evaluate leftmost random --rounds 1 --config columns=[7]", "columns"),
    Case("evaluate leftmost random --rounds 1 --config inarow=-4", "inarow"),
    Case("evaluate leftmost random --rounds 1 --config actTimeout=NaN", "actTimeout"),
    Case("evaluate leftmost random --rounds 1 --config actTimeout=1e10", "actTimeout"),
    Case("evaluate leftmost random --rounds 1 --config timeout=-1", "timeout"),
    Case("evaluate leftmost random --rounds 1 --config timeout=2.5", "timeout"),
    Case("evaluate leftmost random --rounds 1 --config agentTimeout=-1", "agentTimeout"),
    Case("evaluate leftmost random --rounds 1 --config nodeBudget=0", "nodeBudget"),
    Case("evaluate leftmost random --rounds 1 --config nodeBudget=[1]", "nodeBudget"),
    Case("evaluate leftmost random --rounds 1 --config {}", "NAME=NUMBER"),
    # Files to read
    Case("evaluate match leftmost random --openings missing", "missing"),
    Case("evaluate match leftmost random --openings folder", "folder"),
    Case("evaluate match leftmost random --openings words", "'hello'"),
    Case("evaluate match leftmost random --openings over", "the game is over after it"),
    Case("evaluate match leftmost random --openings comments", "holds none"),
    Case("evaluate match leftmost random --openings noise", "openings"),
    Case("evaluate match leftmost random --store notes.txt", "not a store"),
    Case("evaluate match leftmost random --store folder", "folder"),
    Case("evaluate report --store missing", "no store missing"),
    Case("evaluate report --store games --anchor nobody --ladder new", "'nobody' has played no games in games"),
    Case("evaluate report --store noise", "noise is not a store"),
    Case("evaluate report --store damaged", "damaged"),
    Case("evaluate report --store other_store", "other_store"),
    Case("evaluate analyse 4444444", "column 4 cannot be played"),
    Case("evaluate analyse 9", "no column 9: columns are counted from 0, here to 6"),
    Case("evaluate analyse missing.json", "missing.json"),
    Case("evaluate analyse noise.json", "noise.json is not a ConnectX replay: it is not JSON"),
    Case("evaluate analyse half.json", "half.json is not a ConnectX replay: it is not JSON"),
    Case("evaluate analyse list.json", "list.json is not a ConnectX replay: 'name' is missing"),
    Case("evaluate analyse no_steps.json", "'steps' has an unexpected form"),
    Case("evaluate analyse null_moves.json", "there is no column None"),
    Case("build --check missing.py", "missing.py"),
    Case("build --check folder", "folder"),
    Case("train book --scores notes.txt", "notes.txt"),
    Case("train book --scores noise", "noise"),
    Case("train book --scores one_line", "one_line"),
    Case("train book --second --entries noise --output new.bin", "noise"),
    Case("train book --second --least 0", "above 0"),
    Case("train replies --taste noise --output new.bin", "weight container"),
    Case("train replies --games 0", "at least 1"),
    Case("train distill --labels missing", "no labels in missing"),
    Case("train distill --labels labels", "no shard of labels"),
    Case("train distill --labels missing --layers dense", "layers should look like"),
    Case("train distill --labels missing --encoding facts-9", "facts-9"),
    Case("train labels --positions 0", "at least 1"),
    Case("train labels --judge net.bin", "judge is for the mixes walks and late-walks, not late"),
    Case("train labels --mix walks --judge missing.bin --output new", "missing.bin"),
    Case(
        "train labels --mix random",
        "mix should be one of late, early, varied, choices, walks, late-walks, hard, openings",
    ),
    Case("train pack --labels missing", "no shards in missing"),
    Case("train pack --labels missing --form labels", "no labels in missing"),
    Case("train pack --labels labels", "no shard of labels"),
    Case("train pack --limit 0", "limit should be above 0"),
    Case("train pack --form all", "form should be one of scores, labels"),
    *(
        Case(f"train {method} --device tpu", "device should be one of auto, cpu, cuda, mps")
        for method in ("distill", "ppo", "actor-critic", "policy-gradient", "value")
    ),
    Case("train value --opponent missing.bin", "missing.bin"),
    Case("train value --opponent corrupt.bin", "checksum differs"),
    Case("train policy-gradient --start random", "start should be"),
    Case("train menace --game chess", "'chess'"),
    Case("train adopt missing.zip", "no model missing.zip"),
    Case("train adopt folder", "no model folder"),
    Case("train adopt notes.txt -o folder/new.py", "notes.txt is no model that stable-baselines3 has saved"),
    Case("train adopt net.pt -o new.py --module missing:Net", "there is no file missing.py"),
    Case("train adopt net.pt -o no_agent.py", "no_agent.py is there already"),
    Case("train adopt net.pt -o new.bin", "output should be the name of a Python file"),
    Case("train adopt net.pt -o new.py --arguments [1]", "arguments should be an object of JSON"),
    Case("train adopt net.pt -o new.py --board six", "board should read like 6x7k4"),
    Case("train adopt net.pt -o new.py --positions 0", "positions should be at least 1"),
    Case("train adopt", "model"),
    # Files to write
    Case("build leftmost -o folder", "it is a folder"),
    Case("build leftmost -o notes.txt/new.py", "notes.txt/new.py"),
    Case("build my-agent.py -o my-agent.py", "the agent itself"),
    Case("evaluate match leftmost random --store notes.txt/store", "notes.txt"),
    Case("evaluate report --store games --html folder", "folder"),
    Case("evaluate report --store games --html no/such/folder/new.html", "new.html"),
    Case("train book --scores notes.txt/scores", "notes.txt"),
    Case("train book --output folder", "folder"),
    Case("train distill --labels missing --output folder", "folder"),
    Case("train book --output notes.txt/new.bin", "notes.txt"),
]

# What the builder is given wrongly
CASES += [
    Case("build minmax -o new.py", "did you mean minimax?"),
    Case("build my-agnt.py -o new.py", "did you mean my-agent.py?"),
    Case("build folder/mini.v2 -o new.py", "did you mean folder/mini.v2.py?"),
    Case("build leftmost -o new.zip", "new.zip should end in .py or .tar.gz"),
    Case("build leftmost -o new.py --format tar.gz", "new.py should end in .tar.gz"),
    Case("build leftmost -o new.py --allow-package scikit-learn", "as import statements have it, not 'scikit-learn'"),
    Case("build leftmost -o new.py --positions 1000000", "at most 20,000, not 1,000,000"),
    Case("build leftmost -o new.py --data missing.bin", "--data missing.bin: no such file"),
    Case("build my-agent.py -o new.tar.gz --data /etc/hostname", "does not lie beside the agent"),
    Case("build --check leftmost.py --data words", "--data is for building"),
    Case("build my-agent.py -o new.py", "my-agent.py:1: words is opened by its path, which a single .py cannot hold"),
    Case("build missing_file.py -o new.py", "missing_file.py:3: weights.npz: there is no such file"),
    Case("build of_this_machine.py -o new.py", "is a path of this machine"),
    Case("build ppo.py -o new.py", "ppo.py:1: unknown package stable_baselines3"),
    Case("build ppo.py -o new.py", "`python train.py adopt ppo.zip -o ppo_adopted.py`"),
    Case("build loads_torch.py -o new.py", "adopt net.pt -o loads_torch_adopted.py --module FILE.py:CLASS --obs"),
    Case("build typo.py -o new.py", "typo.py:1: unknown package nunpy: no module beside the agent"),
    Case("build exits.py -o new.py", "exits.py:3: sys.exit: it would end the judge's process"),
    Case("build kills.py -o new.py", "kills.py:5: os._exit"),
    Case("build types_in.py -o new.py", "types_in.py:1: input: nobody types on the judge"),
    Case("build star.py -o new.py", "star.py:1: a star import"),
    Case("build folder/hides.py -o new.py", "queue.py beside the agent has the name of the module queue: rename it"),
]

# What evaluate.py and train.py are told wrongly: numbers, the configuration, and games to judge
CASES += [
    Case("evaluate leftmost random --rounds ten", "--rounds: expected an integer of at least 1, not 'ten'"),
    Case("evaluate leftmost random --rounds 1e3", "expected an integer of at least 1, not '1e3'"),
    Case("evaluate leftmost random --concurrency two", "expected an integer of at least 1, not 'two'"),
    Case("evaluate leftmost random --bank soon", "--bank: expected a number, not 'soon'"),
    Case("evaluate match leftmost random --seed one", "less than 2**63, not 'one'"),
    Case("evaluate match leftmost random --sprt 0 much", "--sprt: expected a number, not 'much'"),
    Case("evaluate leftmost random --config actTimout=1", "unknown configuration actTimout: did you mean actTimeout?"),
    Case("evaluate play leftmost --config colums=5", "unknown configuration colums: did you mean columns?"),
    Case("evaluate leftmost random --config nodeBuget=5", "episodeSteps, runTimeout\n"),  # not what is undocumented
    Case("evaluate tournament labels random", "folder 'labels' holds no Python file"),
    Case("evaluate match leftmost random --openings words", "expected columns such as 3342 or 3,10,3"),
    Case("evaluate analyse ladder.json", "ladder.json is not a ConnectX replay: 'name' is missing"),
    Case("evaluate analyse halite.json", "it is of 'halite'"),
    Case("evaluate analyse text.json", "text.json is not a ConnectX replay: it is not JSON"),
    Case("evaluate analyse no_inarow.json", "'inarow' is missing"),
    Case("evaluate analyse flat.json", "rows should be an integer of at least 1, not 0"),
    Case("evaluate analyse column_9.json", "there is no column 9: columns are counted from 0, here to 6 (ply 0)"),
    Case("evaluate analyse 1234567", "there is no column 7: columns are counted from 0, here to 6"),
    Case("evaluate analyse 3,,3", "expected columns such as 3342 or 3,10,3, not '3,,3'"),
    Case("evaluate analyse \N{SUPERSCRIPT TWO}", "is neither a game's columns nor a file"),
    Case("evaluate analyse 33 --opening -1", "--opening: expected an integer of at least 0, not -1"),
    Case("evaluate analyse 33 --from-ply late", "--from-ply: expected an integer of at least 0, not 'late'"),
    Case("evaluate analyse 33 --time -1", "--time: expected a number of seconds of at least 0, not '-1'"),
    Case("evaluate analyse notes.txt", "notes.txt is not a ConnectX replay: it is not JSON"),
    Case("evaluate analyse folder", "no replays (.json) in folder"),
    Case("evaluate analyse folder half.json", "no replays (.json) in folder"),
    Case("evaluate analyse half.json list.json", "half.json is not a ConnectX replay: it is not JSON (and 1 more)"),
    Case("evaluate analyse half.json notes.txt", "is not a ConnectX replay: it is not JSON (and 1 more)"),
    Case("evaluate analyse noth*.json", "no such file: noth*.json"),
    Case("evaluate analyse lost.json lost.json --me nobody", "--me 'nobody' is in none of the games"),
    Case("evaluate analyse lost.json --html folder", "cannot write folder: it is a folder"),
    Case("evaluate analyse lost.json --html missing/new.html", "there is no folder missing"),
    Case("evaluate analyse games --json", "more than one name is in all 40 games: pass --me NAME"),
    Case("evaluate rematch folder --agent leftmost", "no replays (.json) in folder"),
    Case("evaluate rematch lost.json --agent leftmos", "no agent 'leftmos'"),
    Case("evaluate rematch lost.json", "required: --agent"),
    Case("evaluate rematch lost.json --agent leftmost --me first --mistakes words", "'hello'"),
    Case("evaluate episodes mine", "expected an integer of at least 1, not 'mine'"),
    Case("evaluate episodes 7 --pause -1", "--pause: expected a number of seconds of at least 0, not '-1'"),
    Case("build leftmost -o new.py --submit", "--submit: expected one argument"),
    Case("train book leaf", "unrecognized arguments: leaf\n"),
    Case("evaluate leftmost random --roundz 3", "unrecognized arguments: --roundz 3; did you mean --rounds?"),
    Case("evaluate match leftmost random --pair=3 --sed 1", "; did you mean --pairs, --seed?"),
    Case("evaluate leftmost random --zzzzzz", "unrecognized arguments: --zzzzzz\n"),
    Case("train distill --sampels 3", "unrecognized arguments: --sampels 3; did you mean --samples?"),
    Case("build leftmost -o new.py --positoins 5", "; did you mean --positions?"),
    Case("evaluate match leftmost random --openings nosuch.txt", "openings: nosuch.txt: no such file or folder\n"),
    Case("evaluate match leftmost random --openings noise", "openings: noise is not text"),
    Case("evaluate analyse lost.json --html /proc/new.html", "/proc/new.html: cannot be written (read-only folder)"),
    Case("build leftmost -o /proc/new.py", "/proc/new.py: cannot be written (read-only folder)"),
    Case("train menace --output notes.txt/new.bin", "notes.txt"),
    Case("train", "METHOD"),
    Case("evaluate", "required: agent1, agent2"),
    Case("evaluate tournament", "required: agents"),
]

AGENT = "def agent(obs, config):\n    return 0\n"
FILES: dict[str, str | bytes] = {
    "notes.txt": "These are notes.\n",
    "empty.py": "",
    "syntax.py": "def agent(obs, config:\n    return 0\n",
    "long_sum.py": f"COLUMN = {'+'.join(['0'] * 12_000)}\n{AGENT}",  # too deep for a tree of Python objects
    "signs.py": f"COLUMN = {'-' * 20000}0\n{AGENT}",  # too deep for the parser itself
    "no_agent.py": "COLUMN = 3\n",
    "corrupt.py": f"from connectx.weights import read_data, unpack\n\nunpack(read_data('corrupt.bin'))\n\n\n{AGENT}",
    "no_data.py": f"from connectx.weights import read_data\n\nread_data('missing.bin')\n\n\n{AGENT}",
    "network.py": f"import nonesuch_network\n\n\n{AGENT}",
    "my-agent.py": f"WORDS = open('words').read()\n\n\n{AGENT}",
    "missing_file.py": f"import numpy as np\n\nW = np.load('weights.npz')\n\n\n{AGENT}",
    "of_this_machine.py": f"BOOK = open('/home/me/book.txt').read()\n\n\n{AGENT}",
    "ppo.py": f"from stable_baselines3 import PPO\n\nmodel = PPO.load('ppo.zip')\n\n\n{AGENT}",
    "loads_torch.py": f"import torch\n\nSTATE = torch.load('net.pt')\n\n\n{AGENT}",
    "net.pt": b"not looked at",
    "typo.py": f"import nunpy as np\n\n\n{AGENT}",
    "exits.py": f"import sys\n\nsys.exit()\n\n\n{AGENT}",
    "kills.py": "import os\n\n\ndef agent(obs, config):\n    os._exit(0)\n",
    "types_in.py": f"COLUMN = int(input())\n\n\n{AGENT}",
    "star.py": f"from my_helpers import *\n\n\n{AGENT}",
    "my_helpers.py": "COLUMN = 3\n",
    "words": "3342\nhello\n",
    "over": "0101010\n",
    "comments": "# 3342\n\n",
    "noise": bytes(range(256)) * 40,
    "one_line": "my only copy",
    "noise.json": bytes(range(256)),
    "half.json": REPLAY,
    "list.json": "[]",
    "no_steps.json": REPLAY + '"steps": 3}',
    "ladder.json": '{"anchor": "random", "agents": {}}',
    "halite.json": '{"name": "halite"}',
    "text.json": "my game\n",
    "no_inarow.json": REPLAY.replace(', "inarow": 4', "") + '"steps": []}',
    "flat.json": REPLAY.replace('"rows": 6', '"rows": 0') + '"steps": []}',
    "column_9.json": REPLAY + '"steps": [[{"action": 0}, {"action": 0}], [{"action": 9}, {"action": 0}]]}',
    "lost.json": f'{REPLAY}"steps": [{LOST}]}}',
    "null_moves.json": REPLAY + '"steps": [[{"action": 0}, {"action": 0}], [{"action": null}, {"action": null}]]}',
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
    (folder / "folder" / "mini.v2.py").write_text(AGENT)
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "labels").mkdir()
    (folder / "labels" / "00000.shard").write_bytes(flipped(pack({"masks": np.ones(1000, np.int64)})))
    (folder / "corrupt.bin").write_bytes(flipped(pack({"weight": np.ones(1000, np.float32)})))
    with contextlib.chdir(folder):
        evaluate.main(["match", "leftmost", "random", "--pairs", "20", "--store", "games"])
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
    return [line for line in errors.splitlines() if line.split()[0] not in ("inlining", "checking", "comparing")]


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file's bytes, but for those that SQLite keeps beside an open database and clears away at its next use."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal"))]
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.command)
def test_one_line_code_2_and_nothing_written(case, made, capsys, monkeypatch):
    monkeypatch.chdir(made)
    before = content_of(made)
    code, out, err = outcome(case.command, capsys)
    line, *more = without_progress(err)
    name = NAMES[case.command.split()[0]]
    assert (code, out) == (2, "") and line.startswith(name) and case.words in f"{line}\n"
    assert (
        "[Errno" not in line.partition("cannot be loaded: ")[0] and ".partial" not in line
    )  # an agent's own words stay
    if "arguments are required" in line:
        assert more[0].startswith(f"usage: {name}") and more[-1].endswith("--help explains all options")
    else:
        assert more == []
    assert content_of(made) == before


@pytest.mark.parametrize(
    "command", ["evaluate.py list", "evaluate.py leftmost random", "train.py book", "train.py distill --help"]
)
def test_outside_of_the_virtual_environment(command, tmp_path):
    """A Python without the packages: which is missing, and how to have it. -S takes them away from this one."""
    script, *arguments = command.split()
    call = [sys.executable, "-S", str(ROOT / script), *arguments]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert "this Python has no" in done.stderr and "source .venv/bin/activate" in done.stderr


@pytest.mark.parametrize("command", ["evaluate.py --help", "evaluate.py match --help", "train.py --help"])
def test_help_outside_of_the_virtual_environment(command, tmp_path):
    script, *arguments = command.split()
    call = [sys.executable, "-S", str(ROOT / script), *arguments]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and f"usage: {script}" in done.stdout


@pytest.fixture(params=["full", "read-only"])
def disk(request, made, tmp_path) -> Iterator[Path]:
    """With a store of games in it."""
    with disk_that_is(request.param, tmp_path / "disk", {"games": (made / "games").read_bytes()}) as folder:
        yield folder


@pytest.mark.parametrize(
    "command",
    [
        "build leftmost -o DISK/new.py",
        "evaluate match leftmost random --pairs 1 --store DISK/new",
        "evaluate match leftmost random --pairs 1 --seed 2 --store DISK/games",
        "evaluate report --store games --html DISK/new.html",
        "evaluate report --store games --ladder DISK/new",
        "train book --first-ply 1 --scores scores --output DISK/new.bin",
    ],
)
def test_a_disk_that_is_full_or_read_only(command, disk, made, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("games").write_bytes((made / "games").read_bytes())
    Path("scores").write_bytes(BOOK_SCORES.read_bytes())
    before = content_of(disk)
    code, _, err = outcome(command.replace("DISK", str(disk)), capsys)
    (line,) = without_progress(err)
    assert code == 2 and line.startswith(NAMES[command.split()[0]]) and str(disk) in line
    assert "no space left on the disk" in line or "(read-only folder)" in line
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
        ("evaluate.py match slow.py leftmost --store store", "playing"),
        ("build_submission.py slow_to_build.py -o new.py", ".new.py.*.partial"),
        ("train.py book --table-bits 10 --scores scores --output new.bin --workers 1", "scores"),
        (
            "train.py openings --table-bits 10 --lasting-bits 10 --scores scores --output new.bin --workers 1 "
            f"--book-scores {BOOK_SCORES}",
            "scores",
        ),
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
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and err.splitlines()[-1].startswith(f"{script}") and "Traceback" not in err
    assert not list(tmp_path.glob("*new*")) and not list(tmp_path.glob(".*"))
    with pytest.raises(ProcessLookupError):  # none of its processes is left
        os.killpg(process.pid, 0)


FAILING = {
    "raises.py": "def agent(obs, config):\n    raise ValueError('no idea')\n",
    "float.py": "def agent(obs, config):\n    return 3.0\n",
    "corrupt.py": FILES["corrupt.py"],
}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as running:
        yield running


@pytest.mark.parametrize("name", FAILING)
def test_what_the_pre_flight_rejects_is_not_written(name, runner, made, tmp_path, monkeypatch, capsys):
    """Exit code 1: it could be built, and the table says why Kaggle or its author would not be content."""
    monkeypatch.setattr(build_submission, "Runner", lambda: contextlib.nullcontext(runner))
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(str(FAILING[name]))
    Path("corrupt.bin").write_bytes((made / "corrupt.bin").read_bytes())
    before = content_of(tmp_path)
    code, out, _ = outcome(f"build {name} -o new.py", capsys)
    assert code == 1 and out.splitlines()[-1] == "REJECT new.py" and content_of(tmp_path) == before
