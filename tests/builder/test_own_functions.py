"""Machine code of an agent's own functions under numba's njit: the same results without numba; why there is none."""

import json
import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from connectx import jit
from connectx.machine_code import Wanted, processor
from connectx_toolkit.builder.build import Options, machine_code, render
from connectx_toolkit.builder.preflight.stage import Runner
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.recording import Recorder, Watched
from tests.conftest import needs

COMPILES = needs("numba", jit.compiles() and processor() is not None)
AGENT = '''
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import tables
try:
    import numba as nb
    from numba import njit
    HAS_NUMBA = True
except ImportError:
    HAS_NUMBA = False

    def njit(function=None, **options):
        return function if callable(function) else njit

    class nb:
        jit = staticmethod(njit)

ROWS, COLUMNS = 6, 7
WEIGHTS = np.array([3, 4, 5, 7, 5, 4, 3], np.float64)


@njit(cache=True)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@njit
def calls_fib(n):
    return fib(n) + fib(n + 1)


@njit
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@njit
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@njit(cache=True)
def drop(board, column, mark=1):
    for row in range(ROWS - 1, -1, -1):
        if board[row, column] == 0:
            board[row, column] = mark
            return row
    raise ValueError("column is full")


@nb.jit(nopython=True)
def heuristic(board, mark):
    score = 0.0
    for row in range(ROWS):
        score += run(board[row, 1:5], mark) * 0.1
        for column in range(COLUMNS):
            if board[row, column]:
                score += WEIGHTS[column] if board[row, column] == mark else -WEIGHTS[column]
    return score, mark * tables.FACTOR, score > 0


@njit
def run(cells, mark):
    length = 0
    for cell in cells[::-1]:
        length += cell == mark
    return length


@njit
def smooth(x, factors):
    return math.exp(-x * x) + math.log(1 + x * x) + abs(x) ** 2.5 + factors[0] * math.tanh(x) + factors[1]


@njit
def copy_to(source, target):
    target[:] = source


@njit
def looked_up(index):
    return tables.TABLE[index % 900]


@njit
def maybe(x, limit=None):
    if limit is not None and x > limit:
        return x


@njit("float64(int64[:,:], float64)")
def declared(board, factor):
    return board[0, 0] * factor


@njit(nogil=True)
def total(numbers):
    sum = 0
    for number in numbers:
        sum += number
    return sum


@njit
def scaled(numbers, factor):
    return numbers[0] * factor


@njit
def mixed(bits, shift):
    shift = np.int64(shift)
    return (bits * 6364136223846793005 + shift) ^ (bits >> shift)


def outcome(function, *args, **named):
    try:
        return repr(function(*args, **named))
    except Exception as fault:
        return type(fault).__name__


def results(seed):
    """What all the functions find for random arguments, and what they write into them."""
    draw = np.random.default_rng(seed)
    board = draw.integers(0, 3, (ROWS, COLUMNS)) * (np.arange(ROWS)[:, None] > draw.integers(0, 5))
    number, x = int(draw.integers(0, 12)), float(draw.normal())
    found = [outcome(function, number) for function in (fib, calls_fib, is_even, looked_up, maybe)]
    boards = [board, np.asfortranarray(board.astype(np.int8)), np.tile(board, 2)[:, ::2]]
    for each in boards:
        found += [outcome(drop, each, number % COLUMNS, 2), outcome(drop, each, column=3)]
        found += [outcome(drop, each, 3, mark=1), outcome(heuristic, each, 1), repr(each)]
    found += [outcome(smooth, x, (number, 0.5)), outcome(smooth, number, (number, x)), outcome(maybe, number, limit=5)]
    lines = draw.normal(size=(3, 4))
    found += [outcome(copy_to, lines[0], lines[1]), outcome(copy_to, lines[0, 1:], lines[2, :2]), repr(lines)]
    found += [outcome(declared, board, x), outcome(mixed, number << 50, number), outcome(mixed, np.int64(number), True)]
    found += [outcome(scaled, lines.astype(np.float32)[0], kind(x)) for kind in (float, np.float32, np.float64)]
    arrays = [np.full(2000, n) for n in range(40)]
    with ThreadPoolExecutor(4) as pool:
        return [*found, repr(list(pool.map(total, arrays)))]


def agent(obs, config):
    results(obs["step"])
    return obs["board"].index(0)
'''
TABLES = "import numpy as np\n\nTABLE = np.arange(1000) * 7919 % 1009\nFACTOR = 3\n"
NEEDING = """
import numpy as np
from numba import int64, njit, prange
from numba.typed import Dict


@njit
def counts(n):
    found = Dict.empty(int64, int64)
    found[n] = 1
    return len(found)


@njit
def copies(board):
    return board.copy().sum()


@njit
def draws():
    return np.random.random()


@njit
def tells(n):
    print(n)


@njit(parallel=True)
def in_parallel(numbers):
    sum = 0
    for index in prange(len(numbers)):
        sum += numbers[index]
    return sum


@njit(fastmath=True)
def fast(numbers):
    sum = 0.0
    for number in numbers:
        sum += number
    return sum


@njit
def of_list(numbers):
    return numbers[0]


@njit
def itself(numbers):
    return numbers


@njit(fastmath=True)
def whole(n):
    return n + 1


def agent(obs, config):
    numbers = np.arange(9)
    counts(1), copies(numbers), draws(), tells(1), in_parallel(numbers), fast(numbers * 0.5), of_list([1]), whole(1)
    itself(numbers)
    return obs.board.index(0)
"""
# Plays as Kaggle runs it. Prints what the functions find, those that have run without code, and whether numba is there.
PLAY = """
import json, sys
text = open(sys.argv[1]).read()
class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Without)
place = {"__name__": "builtins"}
exec(compile(text, "main.py", "exec"), place)
config = {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2}
obs = {"board": [0] * 42, "mark": 1, "step": 0, "remainingOverageTime": 60.0}
assert place["agent"](obs, config) == 0
module = next(module for name, module in sys.modules.items() if name.endswith(".agent"))
found = [module.results(seed) for seed in range(60)]
functions = {name: f for name, f in vars(module).items() if type(f).__name__ == "Function"}
without = [name for name, f in functions.items() if None in f._calls.found.values()]
print(json.dumps([found, without, module.HAS_NUMBA, [n for n in sys.modules if n.startswith("numba")]]))
"""


def built(folder: Path, files: dict[str, str]) -> tuple[str, list[str]]:
    for name, source in files.items():
        (folder / name).write_text(source)
    inlined = inline(folder / "agent.py")
    with Runner() as runner:
        code, has_own, notes = machine_code(inlined, runner, Options(), lambda line: None)
    sources = inlined.sources | (inlined.with_code if has_own else {})
    return render(replace(inlined, sources=sources), None, code)[0], notes


def played(folder: Path, text: str) -> tuple[list, str]:
    (folder / "built.py").write_text(text)
    call = [sys.executable, "-c", PLAY, str(folder / "built.py")]
    run = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(run.stdout), run.stderr


@COMPILES
def test_own_functions_find_the_same_without_numba(tmp_path):
    text, notes = built(tmp_path, {"agent.py": AGENT, "tables.py": TABLES})
    assert notes == []
    (found, without, has_numba, numbas), errors = played(tmp_path, text)
    assert (without, has_numba, numbas) == ([], True, [])
    assert "not usable, numba compiles instead" not in errors
    source = f"import json, sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import agent\n"
    source += "print(json.dumps([agent.results(seed) for seed in range(60)]))"
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    expected = json.loads(run.stdout)
    assert sum(each == "ValueError" for results in expected for each in results) > 60  # one each, and full columns
    assert found == expected

    damaged = re.sub(r"(DATA\['connectx/machine_code.bin'\].*\n)", r"\1A", text)
    assert damaged != text
    (_, _, has_numba, _), errors = played(tmp_path, damaged)
    assert not has_numba and "machine code is not usable" in errors  # as the agent plays where numba is missing


@COMPILES
def test_it_is_said_which_functions_need_numba_and_why(tmp_path):
    text, notes = built(tmp_path, {"agent.py": NEEDING})
    said = {
        re.match(r"`(\w+)` (.*?), which needs numba: compiling takes \d+\.\d\d s on every load\. ", n) for n in notes
    }
    assert {match[1]: match[2] for match in said if match} == {
        "counts": "uses a typed dict (numba_dict_free)",
        "copies": "makes an array, a list or a copy (NRT_MemInfo_alloc_aligned)",
        "draws": "uses np.random (numba_get_np_random_state)",
        "tells": "uses Python, as for print (numba_gil_ensure)",
        "in_parallel": "uses prange (numba_parallel_for)",
        "fast": "uses fastmath, whose results depend on the processor",
        "of_list": "takes a list",
        "itself": "returns neither a number nor a tuple of numbers",
    }
    assert any(note.endswith("Use an array instead.") for note in notes)
    assert "from .connectx.stand_in import int64, njit, prange" in text  # for the one that has code


@pytest.mark.parametrize(
    ("statement", "rewritten"),
    [
        ("import numba", "from .connectx import stand_in as numba"),
        ("import numpy as np, numba as nb", "import numpy as np; from .connectx import stand_in as nb"),
        ("from numba import njit, prange", "from .connectx.stand_in import njit, prange"),
        ("import helper, numba", "from . import helper; from .connectx import stand_in as numba"),
        (
            "import numba\nfrom numba.typed import Dict",
            "from .connectx import stand_in as numba\nfrom numba.typed import Dict",
        ),
    ],
)
def test_imports_of_numba_lead_to_the_stand_in_where_there_is_code(tmp_path, statement, rewritten):
    agent = "\n\n\ndef agent(obs, config):\n    return 0\n"
    (tmp_path / "agent.py").write_text(statement + agent)
    (tmp_path / "helper.py").write_text("")
    inlined = inline(tmp_path / "agent.py")
    assert inlined.with_code["agent.py"] == rewritten + agent
    assert {"connectx/jit.py", "connectx/machine_code.py", "connectx/stand_in.py"} <= inlined.with_code.keys()
    assert "stand_in" not in inlined.sources["agent.py"] and "connectx/jit.py" not in inlined.sources


def test_a_package_of_the_agents_own_called_connectx_has_none(tmp_path):
    (tmp_path / "connectx").mkdir()
    (tmp_path / "connectx" / "__init__.py").write_text("x = 1\n")
    (tmp_path / "agent.py").write_text("import connectx, numba\n\n\ndef agent(obs, config):\n    return 0\n")
    inlined = inline(tmp_path / "agent.py")
    assert not inlined.with_code and not inlined.numba


TABLE, OTHER = np.arange(3), np.arange(3) + random.randrange(1, 9)


def test_code_is_for_the_values_of_global_arrays(monkeypatch):
    def function(index):
        return TABLE[index]

    def key() -> str:
        return Wanted(function, (1,), lambda run: [], False).key

    before = key()
    monkeypatch.setitem(globals(), "TABLE", OTHER)
    assert before != key()
    monkeypatch.setitem(globals(), "TABLE", np.arange(3))
    assert before == key()


def test_numbas_cache_is_not_asked_for_what_is_recorded():
    """What it has comes without the module that machine code is made of."""
    function = test_code_is_for_the_values_of_global_arrays
    watched = Recorder([os.path.realpath(__file__)])._watched(function, (), {"cache": True, "nogil": True})
    assert type(watched) is Watched and watched._options == {"cache": False, "nogil": True}
