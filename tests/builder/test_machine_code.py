"""A built file whose machine code cannot be used: it is not used, and the file plays as if it had none."""

import base64
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from connectx_core.machine_code import pack_parts, processor, unpack_parts
from connectx_toolkit.builder.build import MACHINE_CODE, encode_data, render
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.system.files import ROOT
from tests.conftest import needs

pytestmark = [pytest.mark.slow, needs("an x86-64 processor", processor() is not None)]

AGENT = """
import numpy as np

from connectx_core.jit import jitable, njit, plain
from connectx_core.machine_code import prepare_kernel


@jitable
def lowest(board, columns):
    column = 0
    while board[column] != 0:
        column += 1
    return column


@njit
def fill(board, column):
    column[0] = lowest(board, 7)
    return True


def trial(run):
    column = np.zeros(1, np.int64)
    run(np.array([1, 2, 0, 0, 0, 0, 0]), column)
    return column.tolist()


kernel = prepare_kernel(fill, np.zeros(7, np.int64), np.zeros(1, np.int64), probe=trial)


def agent(obs, config):
    column = np.zeros(1, np.int64)
    (kernel or plain(fill))(np.array(obs["board"][:7]), column)
    return int(column[0])
"""
COMPILE = """
import importlib.util, json, sys
from connectx_toolkit.system.kernel_compiler import for_submission

def load():
    spec = importlib.util.spec_from_file_location("agent", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    sys.modules["agent"] = module
    spec.loader.exec_module(module)
    return module.agent

print(json.dumps({name: part.hex() for name, part in for_submission(load).items()}))
"""
# As Kaggle does: no __file__. In a process of its own, because some rows end what a process may do.
PLAY = """
import os, sys
{before}
scope = {{}}
exec(compile(open({file!r}, encoding="utf-8").read(), {file!r}, "exec"), scope)
config = {{"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2, "timeout": 2}}
reply = scope["agent"]({{"board": [1, 2, 0] + [0] * 39, "mark": 1, "step": 3, "remainingOverageTime": 60}}, config)
module = next(module for name, module in sys.modules.items() if name.endswith(".connectx_core.machine_code"))
used = any(module._codes.values())
os.write({answers}, f"{{reply}} {{used}}".encode())
os._exit(0)
"""
NO_NUMBA = "sys.modules['numba'] = None"
NOT_USED = "machine code is not usable"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> str:
    """The text of a built file with machine code."""
    file = tmp_path_factory.mktemp("agents") / "agent.py"
    file.write_text(AGENT)
    call = [sys.executable, "-c", COMPILE, str(file)]
    made = json.loads(subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    code = pack_parts({name: bytes.fromhex(part) for name, part in made.items()})
    return render(inline(file), code)


def play(text: str, folder: Path, before: str = NO_NUMBA, answers: str = "sys.__stdout__.fileno()"):
    """The column that a file plays where ``before`` was run (2 is right), whether it used its machine code, and its
    stderr. Without numba, unless ``before`` says otherwise: nothing waits then."""
    file = folder / "main.py"
    file.write_text(text, encoding="utf-8")
    code = PLAY.format(before=before, file=str(file), answers=answers)
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    column, used = run.stdout.split()
    return int(column), used == "True", run.stderr


def with_code(text: str, change: Callable[[bytes], bytes]) -> str:
    """The file with other machine code, whose outer checksum is right."""
    at = text.index(f"DATA[{MACHINE_CODE!r}]")
    end = text.index("''')\n", at) + 5
    stream = base64.b64decode(text[text.index("'''", at) + 3 : end - 5])
    digest, changed = encode_data(change(zlib.decompress(stream)))
    return f"{text[:at]}DATA[{MACHINE_CODE!r}] = ({digest!r}, r'''\n{changed}\n''')\n{text[end:]}"


def halved(code: bytes) -> bytes:
    """Code cut in two, with checksums of what is left of it."""
    return pack_parts(
        {name: part if ".probe" in name else part[: len(part) // 2] for name, part in unpack_parts(code).items()}
    )


def test_it_is_used_without_numba(built, tmp_path):
    assert play(built, tmp_path) == (2, True, "")


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda code: code[:-100],
    "half of it": halved,
    "none": lambda code: b"",
    "no test": lambda code: pack_parts(
        {name: part for name, part in unpack_parts(code).items() if ".probe" not in name}
    ),
    "another result of the test": lambda code: pack_parts(
        {name: b"[3]" if ".probe" in name else part for name, part in unpack_parts(code).items()}
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_code_is_not_used(change, built, tmp_path):
    column, used, said = play(with_code(built, CHANGES[change]), tmp_path)
    assert (column, used) == (2, False) and (NOT_USED in said or change == "none")


def test_a_flipped_bit_is_noticed(built, tmp_path):
    """None makes the file unreadable, as a backslash did that had been a letter."""
    at = built.index("'''\n", built.index(f"DATA[{MACHINE_CODE!r}]")) + 4
    end = built.index("\n'''", at)
    letter = at + re.search("[TLX][^xNuU]", built[at:end]).start()  # type: ignore[union-attr]
    flipped = built[:letter] + "\\x" + built[letter + 2 :]
    column, used, said = play(flipped, tmp_path)
    assert (column, used) == (2, False) and "checksum" in said


PLACES = {  # what the system forbids or lacks, and whether code runs there
    "no fork": ("del os.fork", False),
    "fork is refused": ("def refused(): raise BlockingIOError(11, 'no')\nos.fork = refused", False),
    "no files in memory": ("del os.memfd_create", False),
    "files in memory are refused": ("def refused(*args): raise OSError(38, 'no')\nos.memfd_create = refused", False),
    "memory may not become executable": ("import ctypes\nassert not ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)", True),
    "another processor": (
        "import numpy._core._multiarray_umath as numpys\nnumpys.__cpu_features__ = {'NEON': True}",
        False,
    ),
    "numpy 1": ("import numpy\nnumpy.core = numpy._core\ndel numpy._core", True),
    "many files are open": (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))\n[os.dup(1) for _ in range(1100)]",
        True,
    ),
    "ended processes are not waited for": ("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)", True),
    "alarms": ("import signal\nsignal.signal(14, lambda *_: None)\nsignal.setitimer(0, 0.002, 0.002)", True),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_lacks_something(place, built, tmp_path):
    before, is_used = PLACES[place]
    column, used, _ = play(built, tmp_path, f"{NO_NUMBA}\n{before}")
    assert (column, used) == (2, is_used)


def test_what_an_agent_prints_does_not_cost_its_move_where_streams_are_closed(built, tmp_path):
    """Each line would raise an exception."""
    text = built.replace("    return int(column[0])", "    print('chosen')\n    return int(column[0])")
    assert text != built
    closed = "sys.stdout.reconfigure(line_buffering=True)\nanswers = os.dup(1)\nos.closerange(0, 3)"
    for each, is_used in ((text, True), (with_code(text, halved), False)):
        assert play(each, tmp_path, f"{NO_NUMBA}\n{closed}", "answers")[:2] == (2, is_used)


@pytest.mark.parametrize("before", ["", "sys.modules['llvmlite'] = None"])
def test_numba_compiles_what_cannot_be_used(before, built, tmp_path):
    """And where it cannot, the kernel is plain Python."""
    column, used, said = play(with_code(built, halved), tmp_path, before)
    assert (column, used) == (2, False) and NOT_USED in said
    assert ("numba is not usable" in said) == bool(before)


@pytest.mark.parametrize("edit", [("    column = 0", "    column = 4"), ("lowest(board, 7)", "4")])
def test_code_of_another_source_is_not_used(edit, built, tmp_path):
    """Of the kernel, or of what it calls."""
    before, after = edit
    assert before in built
    assert play(built.replace(before, after, 1), tmp_path)[:2] == (4, False)
