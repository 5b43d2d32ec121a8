"""How agents are found, loaded, seeded, timed, silenced and ended."""

import ast
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from kaggle_environments.agent import get_last_callable

from connectx_core import jit
from connectx_core.machine_code import processor
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.kaggle.agent_file import last_callable, load_agent
from connectx_toolkit.kaggle.rules import DEFAULTS
from connectx_toolkit.players.child import Struct
from connectx_toolkit.players.fork_server import ForkServer
from connectx_toolkit.players.process import AgentProcess, Inline
from connectx_toolkit.players.spec import AgentSpec, UnknownAgent, resolve
from connectx_toolkit.training.opponents import function_of_file
from evaluate import get_win_percentages
from tests.conftest import LINUX, REAL_CLOCK, needs

pytestmark = pytest.mark.slow
EMPTY = bytes(42)


def ask(worker: AgentProcess, ply: int = 0, seed: int = 1, begin: bool = True, overage: float = 60.0):
    if begin:
        worker.begin(DEFAULTS, seed)
    return worker.ask(ply, 1, overage, EMPTY, 2)


@pytest.fixture
def start():
    """Makes workers and closes them."""
    workers = []

    def make(agent, **options):
        workers.append(AgentProcess(resolve(agent), **options))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close()


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "submission.py") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write_file


@pytest.mark.parametrize("agent", ["no_such_agent", "no/such/file.py", "", 3, None], ids=repr)
def test_unknown_agents(agent):
    with pytest.raises(UnknownAgent, match="agent"):
        resolve(agent)


FILES = {
    "helper before": "def helper(x):\n    return 1\ndef agent(obs, config):\n    return 4\n",
    "helper after": "def agent(obs, config):\n    return 4\ndef last(obs, config):\n    return 2\n",
    "rebound": "def agent(obs, config):\n    return 4\ndef other(obs):\n    return 1\ndef agent(obs):\n    return 5\n",
    "class last": "def agent(obs, config):\n    return 4\nclass Last:\n    pass\n",
    "lambda": "agent = lambda obs: 3\n",
    "no name": "def agent(obs, config):\n    return 2 if __name__ == 'builtins' else 1\n",
    "raw path": "def agent(obs, config):\n    return len(config['__raw_path__']) % 7\n",
    "sibling": "import sibling_module\ndef agent(obs, config):\n    return sibling_module.COLUMN\n",
    "no callable": "x = 1\n",
    "syntax": "def agent(:\n",
    "dunder file": "try:\n    __file__\nexcept NameError:\n    COLUMN = 2\ndef agent(obs):\n    return COLUMN\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_load_as_on_kaggle(name, write, start):
    """The same callable is picked and given the same arguments, or loading fails in both."""
    write("COLUMN = 6\n", "sibling_module.py")
    path = write(FILES[name])
    reply = ask(start(path))
    sys.modules.pop("sibling_module", None)
    obs = Struct(board=[0] * 42, mark=1, step=0, remainingOverageTime=60)
    try:
        theirs = get_last_callable(FILES[name], path=path)
        ours = last_callable(path).agent
    except Exception:
        sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(path)]  # Kaggle leaves it there
        assert reply.fault == "load"
        return
    assert ours.__name__ == theirs.__name__
    if isinstance(theirs, type):
        assert reply.fault == "exception" or reply.action.type_name == "Last"
    else:
        arguments = (obs, Struct(**DEFAULTS, __raw_path__=path))[: theirs.__code__.co_argcount]
        assert reply.action == theirs(*arguments)


LEGAL = "def agent(obs, config):\n    return COLUMN\ndef helper(board):\n    return 0\n"
SOURCES = {  # what the builder takes: the source, and what is said of it as it is, with the cure
    "file": (f"from pathlib import Path\nCOLUMN = int((Path(__file__).parent / 'column.txt').read_text())\n{LEGAL}", 0),
    "ours": (
        "from connectx_core.weights import read_data\ndef agent(obs, config): return int(read_data('column.txt'))\n",
        0,
    ),
    "package": (f"from .own_engine.net import COLUMN\n{LEGAL}", 1),
    "late": ("def agent(obs, config):\n    from own_engine.net import COLUMN\n    return COLUMN\n", 2),
    "path": ("def agent(obs, config):\n    return int(open('column.txt').read())\n", 2),
    "listed": ("import os\n\n\ndef agent(obs, config):\n    return 4 + len(os.listdir('data'))\n", 5),
    "judge": ("def agent(obs, config):\n    return int(open('/kaggle_simulations/agent/column.txt').read())\n", 0),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_plays_as_its_built_file_does(name, write, start, tmp_path, monkeypatch):
    """Loaded as a module where Kaggle's loader fails; then it says what has to be done."""
    text, line = SOURCES[name]
    for folder in ("own_engine", "data", "elsewhere"):
        (tmp_path / folder).mkdir()
    write("COLUMN = 5\n", "own_engine/net.py")
    write("5", "column.txt")
    write("5", "data/column.txt")
    monkeypatch.chdir(tmp_path / "elsewhere")
    path = write(text, "mine.py")
    assert inline(Path(path)).entry[1] == "agent"
    worker = start(path)
    assert ask(worker).action == 5
    said = f"mine.py, line {line}: " if line else ""
    assert worker.warning.startswith(said) and bool(worker.warning) == bool(line)
    if line:
        assert "build_submission.py" in worker.warning and worker.warning.endswith("it is played as if built")


def test_a_source_plays_in_this_process_too(write):
    """And numba finds its cache in another process: the module has the same name in each."""
    write("COLUMN = 5\n", "own_module.py")
    path = write("from .own_module import COLUMN\nHERE = __file__\n\n\ndef agent(obs, config):\n    return COLUMN\n")
    path_before, first, second = list(sys.path), load_agent(path), load_agent(path)
    assert first.agent(None, None) == 5 and sys.path == path_before
    assert first.agent.__module__ == second.agent.__module__ and first.agent.__globals__["HERE"] == path
    assert function_of_file(Path(path))(None, None) == 5


def test_a_fault_comes_with_the_cure_of_the_pre_flight(write, start):
    path = write("def agent(obs, config):\n    return choice(obs.board)\n")
    words = "(submission.py, line 2); import or define choice in submission.py: other cells of a notebook"
    assert words in ask(start(path)).detail
    failed = start(write("shell = get_ipython()\n", "script.py")).load()
    assert "it is a notebook's command, not Python: leave it out" in failed.detail


OURS = ["agents", "benchmarks", "build_submission", "connectx_core", "connectx_toolkit", "evaluate", "tests", "train"]
OURS += ["board", "helper"]
PICK = "def pick(obs):\n    return 6\n"
USES = "from {} import pick\n\n\ndef agent(obs, config):\n    return pick(obs)\n"


def with_helper(folder: Path, name: str, form: str) -> Path:
    """An agent in ``folder``, and beside it a module or a package of that name, which plays the last column."""
    (folder / "main.py").write_text(USES.format(name if form == "module" else f"{name}.tutorial"))
    if form == "module":
        (folder / f"{name}.py").write_text(PICK)
    else:
        (folder / name).mkdir()
        (folder / name / "tutorial.py").write_text(PICK)
    if form == "package":
        (folder / name / "__init__.py").touch()
    return folder / "main.py"


FORMS = [(name, "module") for name in OURS]
FORMS += [(name, form) for name in ("connectx_core", "agents", "helper") for form in ("package", "folder")]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_what_lies_beside_an_agent_comes_before_this_toolkit(name, form, tmp_path, start):
    """In a process of its own, in this one, and in what the builder embeds."""
    path = with_helper(tmp_path, name, form)
    assert ask(start(path)).action == 6
    before, modules = list(sys.path), dict(sys.modules)
    worker = Inline(resolve(path))
    worker.begin(DEFAULTS, 1)
    assert worker.ask(0, 1, 60.0, EMPTY, 2).action == 6
    ours = [module for module in modules if module.partition(".")[0] in OURS]
    assert sys.path == before and all(sys.modules[module] is modules[module] for module in ours)
    assert PICK in inline(path).sources.values()
    for module in [module for module in sys.modules if module.partition(".")[0] in ("board", "helper")]:
        del sys.modules[module]


@pytest.mark.parametrize("name", ["agents", "connectx_toolkit", "connectx_core", "train"])
def test_kaggles_environment_plays_it(name, tmp_path):
    path = with_helper(tmp_path, name, "package")
    with tarfile.open(tmp_path / "mine.tar.gz", "w:gz") as tar:
        tar.add(path, "main.py")
        tar.add(tmp_path / name, name)
    for agent in (path, tmp_path / "mine.tar.gz"):
        assert get_win_percentages(agent, "leftmost", 2).forfeits == (0, 0)


@pytest.mark.parametrize("name", ["train", "connectx_toolkit", "tests", "agents", "no_such"])
def test_the_toolkit_is_out_of_reach(name, write, start):
    """But for connectx_core: what an agent imports here would be missing on Kaggle."""
    path = write(f"import connectx_core.position\nimport {name}\ndef agent(obs, config):\n    return 0\n")
    failed = start(path).load()
    assert failed.fault == "load" and f"No module named '{name}'" in failed.detail
    assert ("an agent reaches only connectx_core" in failed.detail) == (name != "no_such")
    with pytest.raises(ModuleNotFoundError, match=name):
        last_callable(path)
    late = write("def agent(obs, config):\n    import train\n", "late.py")
    assert "No module named 'train'" in ask(start(late)).detail


def test_agents_in_this_process_have_their_own_helpers(tmp_path):
    for column in (1, 2):
        (tmp_path / str(column)).mkdir()
        (tmp_path / str(column) / "some_helper.py").write_text(f"COLUMN = {column}\n")
        text = "import some_helper\ndef agent(obs, config):\n    return some_helper.COLUMN\n"
        (tmp_path / str(column) / "mine.py").write_text(text)
    loaded = [last_callable(str(tmp_path / str(column) / "mine.py")).agent for column in (1, 2, 1)]
    assert [agent(None, None) for agent in loaded] == [1, 2, 1]
    del sys.modules["some_helper"]


def test_an_agents_process_has_no_credentials(write, start, tmp_path, monkeypatch):
    """Neither variables, nor what lies in ~/.kaggle where mount namespaces are allowed."""
    (tmp_path / ".kaggle").mkdir()
    (tmp_path / ".kaggle" / "kaggle.json").write_text("{}")
    for name in ("KAGGLE_KEY", "KAGGLE_API_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    names = "sum(n.startswith('KAGGLE_') or n.endswith(('_TOKEN', '_KEY')) for n in os.environ)"
    text = f"import os\ndef agent(obs, config):\n    return {names}\n"
    assert ask(start(write(text))).action == 0
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs mounts: run it as root")
    text = f"import os\ndef agent(obs, config):\n    return len(os.listdir({str(tmp_path / '.kaggle')!r}))\n"
    assert ask(start(write(text))).action == 0 and os.listdir(tmp_path / ".kaggle") == ["kaggle.json"]


@REAL_CLOCK
def test_load_time_counts_and_files_start_anew(write, start):
    """Module state is lost between games for a file and kept for an agent that is not a file."""
    path = write(
        "import time\ntime.sleep(0.2)\nn = 0\ndef agent(obs, config):\n    global n\n    n += 1\n    return n\n"
    )
    worker, kept = start(path), start(path)
    kept.is_reloaded = False
    for game in range(2):
        replies = [ask(worker), ask(worker, 2, begin=False)]
        assert [reply.action for reply in replies] == [1, 2]
        assert replies[0].seconds >= 0.2 > replies[1].seconds
        assert ask(kept).action == game + 1


def test_observation_is_kaggles(start):
    def agent(obs, config):
        assert obs.board == obs["board"] == [0] * 42
        assert (obs.mark, obs.step, obs.remainingOverageTime) == (1, 4, 12.5)
        assert (config.rows, config["columns"], config.inarow, config.actTimeout) == (6, 7, 4, 2)
        obs.board[0] = 1
        config.rows = 3
        return 1

    worker = start(agent)
    assert ask(worker, 4, overage=12.5).action == 1
    assert ask(worker, 4, begin=False, overage=12.5).action == 1  # what it changed is not there the next time


def test_output_is_swallowed(start, capfd):
    def agent(obs, config):
        print("to stdout")
        print("to stderr", file=sys.stderr)
        os.write(1, b"raw")
        return 0

    assert ask(start(agent)).action == 0
    assert capfd.readouterr() == ("", "")


def test_a_dead_agent_is_replaced_in_the_next_game(start):
    def agent(obs, config):
        if obs.step:
            os._exit(3)
        return 1

    worker = start(agent)
    assert ask(worker).action == 1
    assert ask(worker, 2, begin=False).fault == "crash"
    assert ask(worker, 4, begin=False).fault == "crash"
    assert ask(worker).action == 1


def test_details_name_the_cause(start):
    def fails(obs, config):
        return obs.board[99]

    assert "IndexError: list index out of range" in ask(start(fails)).detail
    assert ask(start(lambda obs, config: os._exit(3))).detail.startswith("exit code 3; ")
    assert ask(start(lambda obs, config: os.kill(os.getpid(), 11))).detail.startswith("killed by SIGSEGV; ")
    assert ask(start(lambda obs, config: os.kill(os.getpid(), 35))).detail.startswith("killed by signal 35; ")


@REAL_CLOCK
def test_a_hang_is_killed_with_its_children(start, tmp_path):
    def agent(obs, config):
        if os.fork() == 0:
            (tmp_path / "pid").write_text(str(os.getpid()))
            time.sleep(1000)
        time.sleep(1000)

    worker = start(agent, grace=0.2)
    worker.begin(DEFAULTS, 1)
    reply = worker.ask(0, 1, 0.1, EMPTY, 0.2)
    assert reply.fault == "hang" and 0.5 <= reply.seconds < 2
    assert is_gone(int((tmp_path / "pid").read_text()))


@REAL_CLOCK
def test_a_load_that_never_ends_is_given_up_by_the_clock(start, write):
    """Whether it is the agent's trial or its first move that loads it."""
    path = write("while True:\n    pass\n")
    failed = start(path, grace=0.1, load_limit=0.3).load()
    assert failed.fault == "hang" and 0.4 <= failed.seconds < 1.5
    assert failed.detail == "still loading when its clock ran out (0.3 s: actTimeout and overage time)"
    worker = start(path, grace=0.1)
    worker.begin(DEFAULTS, 1)
    reply = worker.ask(0, 1, 0.1, EMPTY, 0.2)
    assert reply.fault == "hang" and 0.4 <= reply.seconds < 1.5 and reply.load == reply.seconds


@REAL_CLOCK
@LINUX  # which alone says how long a process waited
def test_what_a_load_waits_for_its_core_does_not_count(start, write):
    """It needs 0.3 s of a core that it shares with three others: by the clock on the wall, more than its limit."""
    path = write(
        "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end:\n    pass\n"
        "def agent(obs, config):\n    return 0\n"
    )
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        begun = time.perf_counter()
        assert start(path, grace=0.1, load_limit=0.4).load() is None
        assert time.perf_counter() - begun > 0.5  # load_limit and grace: without the waiting it would be late
    finally:
        os.sched_setaffinity(0, before)
        for other in others:
            other.kill()
            other.wait()


def is_gone(pid: int) -> bool:
    """Whether a process ended (a zombie counts), within 2 s."""
    for _ in range(200):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def left_by_a_killed_referee(spec: AgentSpec, note: Path, count: int) -> list[int]:
    """Kills a referee's process once its agent has noted so many processes; their ids."""
    if (referee := os.fork()) == 0:
        try:
            ask(AgentProcess(spec))
        finally:
            os._exit(0)
    deadline = time.perf_counter() + 20
    while not (note.exists() and note.read_text().count(" ") == count) and time.perf_counter() < deadline:
        time.sleep(0.01)
    os.kill(referee, 9)
    os.waitpid(referee, 0)
    return [int(pid) for pid in note.read_text().split()]


@LINUX  # prctl
@pytest.mark.parametrize("agent", ["callable", "file"])
def test_no_agent_outlives_a_killed_referee(agent, write, tmp_path):
    """A referee's process is killed while its agent spins: the agent goes too."""
    note, names = tmp_path / "pid", dict[str, Any]()
    write_pid = f"open({str(note)!r}, 'w').write(f'{{os.getpid()}} ')"
    spin = f"import os\ndef agent(obs, config):\n    {write_pid}\n    while 1: pass\n"
    exec(spin, names)
    (pid,) = left_by_a_killed_referee(resolve(write(spin) if agent == "file" else names["agent"]), note, 1)
    assert is_gone(pid)


@LINUX
def test_what_an_agents_file_has_started_ends_with_a_killed_referee(write, tmp_path):
    """Also what has left the agent's group, and whose parent has ended."""
    note = tmp_path / "pids"
    path = write(
        "import os, time\n"
        "for leaves in (False, True):\n"
        "    if os.fork() == 0:\n"
        "        if leaves:\n"
        "            os.setsid()\n"
        "        if not leaves or os.fork() == 0:\n"
        f"            os.write(os.open({str(note)!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY), b'%d ' % os.getpid())\n"
        "            time.sleep(1000)\n"
        "        os._exit(0)\n"
        "def agent(obs, config):\n"
        "    time.sleep(1000)\n"
    )
    pids = left_by_a_killed_referee(resolve(path), note, 2)
    assert len(pids) == 2 and all(map(is_gone, pids))


@LINUX
def test_an_agent_that_kills_what_it_was_forked_from_crashes_alone(start, write):
    other = write("def agent(obs, config):\n    return 3\n", "other.py")
    fork_server = ForkServer()
    killer = start(
        write("import os\ndef agent(obs, config):\n    os.kill(os.getppid(), 9)\n    return 1\n"),
        server=fork_server,
    )
    ask(killer)
    worker = start(other, server=fork_server)
    assert ask(worker).action == 3
    fork_server.close()


def test_each_game_is_a_fresh_process_with_what_kaggle_has_imported(start, write):
    """No module, variable or random state of the game before; numpy is there, as in Kaggle's server."""
    agent = """
import os, sys
before = sorted({"numpy", "numpy.random", "connectx_toolkit", "marked"} & sys.modules.keys())
before += [name for name in os.environ if name == "MARKED"] + [str(hasattr(sys, "marked"))]
sys.modules["marked"], os.environ["MARKED"], sys.marked = sys, "1", 1
import numpy.random
fresh = numpy.random.default_rng().integers(1 << 60)
def agent(obs, config):
    raise ValueError(before, os.getpid(), numpy.random.random(), int(fresh))
"""
    worker = start(write(agent))
    told = [ast.literal_eval(ask(worker, seed=seed).raised.message) for seed in (1, 1, 2)]
    assert [each[0] for each in told] == [["numpy", "numpy.random", "False"]] * 3
    assert len({each[1] for each in told}) == 3 and told[0][2] == told[1][2] != told[2][2]
    assert len({each[3] for each in told}) == 3  # what is seeded by the system is not shared


PREPARES = """
import sys
import numpy as np
from connectx_core.jit import njit
from connectx_core.machine_code import prepare_kernel

@njit
def is_positive(numbers):
    return numbers[0] > 0

prepare_kernel(is_positive, np.zeros(1, np.int64), probe=lambda run: [])
compiled = "numba" in sys.modules
try:
    import connectx_toolkit
except ModuleNotFoundError:
    hidden = True

def agent(obs, config):
    return int(compiled) if hidden else -1
"""


@needs("numba: pip install -r requirements.txt", jit.compiles() and processor() is not None)
def test_what_numba_has_compiled_is_kept_also_while_a_file_loads(tmp_path, monkeypatch, write, start):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = write(PREPARES)
    assert [ask(start(path)).action for _ in range(2)] == [1, 0]
