"""What is prepared for an agent's next process: nothing is done twice, and each game is charged as if it were."""

import ast
import importlib.util
import os
import tempfile
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest

from connectx_core import jit
from connectx_toolkit.arena.referee import play_fast, play_kaggle
from connectx_toolkit.kaggle.rules import DEFAULTS, Rules
from connectx_toolkit.players.fork_server import ForkServer
from connectx_toolkit.players.process import AgentProcess
from connectx_toolkit.players.protocol import Reply
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.posix import HAS_FORK
from tests.conftest import needs

pytestmark = [pytest.mark.slow, needs("a system with fork", HAS_FORK)]
TORCH = needs("torch: pip install -r requirements.txt", importlib.util.find_spec("torch"))
NUMBA = needs("numba: pip install -r requirements.txt", jit.compiles())

COUNTS = """
import os, sys
imports = []
sys.addaudithook(lambda event, given: imports.append(given[0]) if event == "import" else None)
"""
AGENT = """
def agent(obs, config):
    raise ValueError({told})
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[ForkServer]:
    """What the processes of most tests are forked from: it has torch, as after games of an agent that uses it."""
    prepared = ForkServer()
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder, "user.py")).write_text("import torch\ndef agent(obs, config):\n    return 1\n")
        worker = AgentProcess(resolve(str(file)), server=prepared)
        assert [ask(worker).charged > 0.2 for _ in range(2)] == [False, True]
        worker.close()
    yield prepared
    prepared.close()


@pytest.fixture
def anew() -> Iterator[ForkServer]:
    prepared = ForkServer()
    yield prepared
    prepared.close()


@pytest.fixture
def start(request, tmp_path):
    """Makes the process of a file's agent; those of a test are forked from one, which is new where it says so."""
    prepared = request.getfixturevalue("anew" if "anew" in request.fixturenames else "shared")
    workers: list[AgentProcess] = []

    def make(text: str, name: str = "submission.py") -> AgentProcess:
        (tmp_path / name).write_text(text, encoding="utf-8")
        workers.append(AgentProcess(resolve(str(tmp_path / name)), server=prepared))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close()


def ask(worker: AgentProcess, seed: int = 1) -> Reply:
    worker.begin(DEFAULTS, seed)
    return worker.ask(0, 1, 60.0, bytes(42), 2)


def told(reply: Reply):
    """What an agent has told by an exception."""
    assert reply.raised is not None, reply
    return ast.literal_eval(reply.raised.message)


IMPORTS = {
    "load": """
import torch
def agent(obs, config):
    was, torch.marked = hasattr(torch, "marked"), True
    raise ValueError(len(imports), os.getpid(), was)
""",
    "first move": """
def agent(obs, config):
    import torch
    was, torch.marked = hasattr(torch, "marked"), True
    raise ValueError(len(imports), os.getpid(), was)
""",
}


@TORCH
@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("where", IMPORTS)
def test_the_second_game_does_not_import_torch_anew_and_is_charged_the_import(where, start):
    worker = start(COUNTS + IMPORTS[where])
    replies = [ask(worker) for _ in range(3)]
    counts, processes, marked = zip(*map(told, replies), strict=True)
    assert counts[0] > 300 and max(counts[1:]) < 30 and len(set(processes)) == 3 and not any(marked)
    charged = [reply.charged for reply in replies]
    assert charged[0] == 0 and charged[1] == pytest.approx(charged[2], abs=0.05) and charged[1] > 0.2
    assert all(reply.seconds > charged[1] for reply in replies[1:])
    assert [reply.load > 0.2 for reply in replies[1:]] == 2 * [where == "load"]


@TORCH
def test_what_torch_draws_from_the_system_is_of_each_game_its_own(start):
    worker = start("import torch\nseed = torch.initial_seed()\n" + AGENT.format(told="seed"))
    assert len({told(ask(worker)) for _ in range(3)}) == 3


@TORCH
@pytest.mark.parametrize("play", [play_fast, play_kaggle])
def test_both_clocks_run_on_for_an_import_that_was_prepared(play, start):
    worker = start("import torch\ndef agent(obs, config):\n    return obs.step // 2 % 7\n")
    other = start("def agent(obs, config):\n    return 6 - obs.step // 2 % 7\n", "other.py")
    rules = Rules({"actTimeout": 0.05}, overage=60.0)
    games = [play([worker, other], rules, (), (1, 2)) for _ in range(2)]
    for game in games:
        assert not game.faults, astuple(game)
        assert game.loads[0] > 0.2 > game.loads[1] and game.overage[0] < 60 - game.loads[0] + 0.05
    (late,) = play([worker, other], Rules({"actTimeout": 0.05}, overage=0.1), (), (1, 2)).faults
    assert (late.kind, late.seat, late.ply) == ("timeout", 0, 0)


@TORCH
def test_an_agent_that_does_not_import_it_notices_nothing(start):
    looks = """
import importlib.util, sys
names = sorted({"torch", "torch.nn", "typing_extensions", "torchgen"} & sys.modules.keys())
there = importlib.util.find_spec("torch").origin.endswith("__init__.py")
"""
    worker = start(looks + AGENT.format(told="names, there, 'torch' in sys.modules"), "other.py")
    replies = [ask(worker) for _ in range(2)]
    assert [told(reply) for reply in replies] == 2 * [([], True, False)]
    assert max(reply.charged for reply in replies) < 0.1


@TORCH
def test_a_module_of_the_agents_own_comes_first_and_is_never_prepared(start, tmp_path):
    """Beside its file, or in a folder that it puts on the path."""
    (tmp_path / "own").mkdir()
    pids = tmp_path / "pids"
    note = f"import os\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\nMINE = 1\nmanual_seed = print\n"
    for file in ("own/torch.py", "numba.py"):
        (tmp_path / file).write_text(note)
    text = f"import sys\nsys.path.insert(0, {str(tmp_path / 'own')!r})\nimport os, torch, numba\n"
    worker = start(text + AGENT.format(told="torch.MINE, numba.MINE, os.getpid()"), "mine.py")
    of_games = [told(ask(worker)) for _ in range(2)]
    assert [each[:2] for each in of_games] == [(1, 1), (1, 1)]
    assert pids.read_text().split() == [str(each[2]) for each in of_games for _ in range(2)]


@TORCH
@NUMBA
@pytest.mark.usefixtures("anew")
def test_what_is_prepared_computes(start):
    """Matrices on one thread and on two, and a function that numba compiles; numba heeds what the agent has set."""
    text = """
import os, sys
os.environ["NUMBA_OPT"] = "1"
import numba, numba.np, torch.nn.functional

@numba.njit
def twice(x):
    return 2 * x

def agent(obs, config):
    a = torch.arange(90000, dtype=torch.float64).reshape(300, 300).remainder(7)
    products = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        products.append(int((a @ a).sum()))
    found = torch.__spec__.name, numba.config.OPT == 1, torch.nn is sys.modules["torch.nn"]
    raise ValueError(products[0] == products[1] > 0, twice(4), *found)
"""
    worker = start(text)
    assert [told(ask(worker)) for _ in range(3)] == 3 * [(True, 8, "torch", True, True)]


@TORCH
@pytest.mark.parametrize(("deed", "fault"), [("os._exit(3)", "crash"), ("sys.exit()", "exit"), ("1 / 0", "exception")])
def test_an_agent_that_misbehaves_after_an_import_does_so_alone(deed, fault, start):
    worker = start(f"import os, sys, torch\ntorch.matmul = None\ndef agent(obs, config):\n    {deed}\n")
    found = [ask(worker) for _ in range(3)]
    assert [reply.fault for reply in found] == [fault] * 3
    other = start("import torch\ndef agent(obs, config):\n    return 1 + (torch.matmul is None)\n", "other.py")
    assert [ask(other).action for _ in range(2)] == [1, 1]


KINDS = {
    "file": "VALUE = {0}\ndef agent(obs, config):\n    return VALUE\n",
    "two agents": "def my_agent(obs, config):\n    return {0}\ndef agent(obs, config):\n    return my_agent(obs, 0)\n",
    "module": "HERE = __file__\ndef agent(obs, config):\n    return {0}\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_read_and_compiled_again_only_if_it_changes(kind, start, tmp_path):
    """Another content under the same time of writing and size is not noticed: nobody reads it."""
    worker, file = start(KINDS[kind].format(1)), tmp_path / "submission.py"
    stat = os.stat(file)
    assert [ask(worker).action, ask(worker).action] == [1, 1]
    file.write_text(KINDS[kind].format(2))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    reply = ask(worker)
    assert reply.action == 1 and 0 < reply.charged < 0.1
    file.write_text(KINDS[kind].format(3))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))
    reply = ask(worker)
    assert reply.action == 3 and reply.charged == 0
    assert [ask(worker).action, ask(worker).charged > 0] == [3, True]


def test_a_file_that_cannot_be_compiled_any_more_says_so_itself(start, tmp_path):
    worker = start("def agent(obs, config):\n    return 1\n")
    assert [ask(worker).action, ask(worker).action] == [1, 1]
    (tmp_path / "submission.py").write_text("def agent(:\n")
    assert ask(worker).fault == "load"
    (tmp_path / "submission.py").unlink()
    assert "No such file" in ask(worker).detail
