"""Built submissions: the guard, isolation, the command line, and our own agents in Kaggle's environment."""

import contextlib
import copy
import gc
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from kaggle_environments import make
from kaggle_environments.agent import get_last_callable

from connectx_core.position import Position, geometry_of
from connectx_toolkit.builder import build as building
from connectx_toolkit.builder import comparison, submission
from connectx_toolkit.builder.build import (
    BuildOptions,
    NotAccepted,
    Report,
    archive_bytes,
    render,
)
from connectx_toolkit.builder.embedded.guard import fallback_column, legal_column
from connectx_toolkit.builder.preflight.trial import Runner, question_after, sample_questions
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.system.files import ROOT
from tests.conftest import REAL_CLOCK

pytestmark = pytest.mark.slow
AGENTS = Path(__file__).parents[1] / "corpus" / "agents"
LEGAL = "[c for c in range(config.columns) if obs.board[c] == 0]"
# Needs the guard: each agent fails in its own way, and a legal column must come in time all the same.
FAILING = {
    "raises": "def agent(obs, config):\n    raise ValueError('no\\nidea')\n",
    "exits": "import sys as s\n\n\ndef agent(obs, config):\n    getattr(s, 'exit')('bye')\n",
    "hangs": "def agent(obs, config):\n    while True:\n        pass\n",
    "hangs_and_swallows": "def agent(obs, config):\n    while True:\n        try:\n            obs.board[0]\n"
    "        except Exception:\n            pass\n",
    "sleeps": "import time\n\n\ndef agent(obs, config):\n    time.sleep(30)\n",
    "none": "def agent(obs, config):\n    pass\n",
    "float": "def agent(obs, config):\n    return 3.0\n",
    "full": "def agent(obs, config):\n    return 3\n",
    "does_not_load": "import zlib\n\nzlib.decompress(b'corrupt')\n\n\ndef agent(obs, config):\n    return 0\n",
    "no_numba": "raise ImportError('numba is broken')\n\n\ndef agent(obs, config):\n    return 0\n",
    "leaves_nothing": "def agent(obs, config):\n    obs.board[:] = []\n    config.columns = 0\n    return None\n",
}
BLOCK = question_after("a block in column 3, which is full below", [3, 3, 3, 3, 3, 3, 0, 1, 0, 1, 0], clock=(0.3, 0.2))


def text_of(folder: Path, files: dict[str, str]) -> str:
    for name, source in files.items():
        (folder / name).write_text(source)
    return render(inline(folder / "agent.py"))


def build(agent: Path, output: Path, options: BuildOptions, runner: Runner) -> Report:
    return building.build(inline(agent), output, options, runner)


def loaded(text: str):
    return get_last_callable(text, path=text)


@REAL_CLOCK
@pytest.mark.parametrize("name", FAILING)
def test_the_guard_answers_for_a_failing_agent(name, tmp_path, capsys):
    agent = loaded(text_of(tmp_path, {"agent.py": FAILING[name]}))
    for _move in range(2):
        obs, config = copy.deepcopy((BLOCK.obs, BLOCK.config))
        started = time.perf_counter()
        column = agent(obs, config)
        assert time.perf_counter() - started < 2  # 0.5 s are allowed; the rest is for a busy machine
        assert column == 0 and type(column) is int  # blocks the three in column 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line]
    assert all(line.startswith("submission guard:") for line in lines)
    assert len(lines) == (3 if name in ("does_not_load", "no_numba") else 2)


@REAL_CLOCK
def test_an_agent_that_comes_back_is_asked_again(tmp_path):
    source = f"import time\n\n\ndef agent(obs, config):\n    time.sleep(obs.step)\n    return max({LEGAL})\n"
    agent = loaded(text_of(tmp_path, {"agent.py": source}))
    config = BLOCK.config | {"actTimeout": 0.2}
    obs = BLOCK.obs | {"remainingOverageTime": 0.0}
    assert agent(obs | {"step": 0.5}, config) == 0  # late: the guard
    assert agent(obs | {"step": 0}, config) == 0  # still at it: the guard
    time.sleep(0.5)
    assert agent(obs | {"step": 0}, config) == 6


@REAL_CLOCK
def test_a_move_that_is_late_before_it_starts_is_not_lost(tmp_path):
    agent = loaded(text_of(tmp_path, {"agent.py": f"def agent(obs, config):\n    return max({LEGAL})\n"}))
    late = BLOCK.obs | {"remainingOverageTime": -1.0}
    for _ in range(300):
        assert agent(late, BLOCK.config) in (0, 6)
        assert agent(BLOCK.obs, BLOCK.config | {"nodeBudget": 1}) == 6


@REAL_CLOCK
def test_a_load_that_takes_too_long_is_outwaited_then_used(tmp_path):
    source = f"import time\n\ntime.sleep(0.6)\n\n\ndef agent(obs, config):\n    return max({LEGAL})\n"
    text = text_of(tmp_path, {"agent.py": source}).replace("LOAD_WAIT = 30.0", "LOAD_WAIT = 0.1")
    agent = loaded(text)
    started = time.perf_counter()
    assert agent(BLOCK.obs, BLOCK.config) == 0 and time.perf_counter() - started < 0.5
    time.sleep(0.6)
    assert agent(BLOCK.obs, BLOCK.config) == 6


def test_a_node_budget_has_no_clock(tmp_path, capsys):
    source = f"import time\n\n\ndef agent(obs, config):\n    time.sleep(0.8)\n    return max({LEGAL})\n"
    agent = loaded(text_of(tmp_path, {"agent.py": source}))
    assert agent(BLOCK.obs, BLOCK.config | {"nodeBudget": 5}) == 6
    assert not capsys.readouterr().err


def test_integers_of_any_type_become_ints_and_the_collector_rests(tmp_path):
    source = "import gc\n\nimport numpy\n\n\ndef agent(obs):\n    assert not gc.isenabled()\n"
    source += "    return numpy.int64(obs['step'])\n"
    agent = loaded(text_of(tmp_path, {"agent.py": source}))
    reply = agent(BLOCK.obs | {"step": 5, "remainingOverageTime": 60}, BLOCK.config)
    assert reply == 5 and type(reply) is int and gc.isenabled()


def test_load_time_is_charged_to_the_clock(tmp_path):
    source = (
        "import time\n\nfrom connectx_core import clock\n\ntime.sleep(0.3)\n\n\n"
        "def agent(obs, config):\n    return 6 if sum(clock._charges) >= 0.3 else 1\n"
    )
    agent = loaded(text_of(tmp_path, {"agent.py": source}))
    assert agent(BLOCK.obs | {"remainingOverageTime": 60}, BLOCK.config) == 6


COUNTER = f"""CALLS = 0


def agent(obs, config):
    global CALLS
    import helper

    CALLS += 1
    helper.SEEN.append(CALLS)
    return {LEGAL}[(helper.OFFSET + len(helper.SEEN)) % len({LEGAL})]
"""


def test_two_versions_and_one_against_itself_in_kaggles_environment(tmp_path):
    paths = []
    for offset in (0, 3):
        folder = tmp_path / str(offset)
        folder.mkdir()
        text = text_of(folder, {"agent.py": COUNTER, "helper.py": f"OFFSET = {offset}\nSEEN = []\n"})
        paths.append(str(tmp_path / f"bundle{offset}.py"))
        Path(paths[-1]).write_text(text)
    for pair, expected in ((paths, [1, 4, 2, 5, 3, 6]), ((paths[0], paths[0]), [1, 1, 2, 2, 3, 3])):
        env = make("connectx")
        env.run(list(pair))
        assert [step[ply % 2].action for ply, step in enumerate(env.steps[1:7])] == expected


@REAL_CLOCK
def test_nothing_is_left_of_a_dropped_submission(tmp_path):
    text = text_of(tmp_path, {"agent.py": COUNTER, "helper.py": "OFFSET = 0\nSEEN = []\n"})
    gc.collect()  # what earlier tests dropped
    time.sleep(0.2)
    threads, finders, modules = threading.active_count(), len(sys.meta_path), len(sys.modules)
    agent = loaded(text)
    agent(question_after("", []).obs, question_after("", []).config)
    assert len(sys.meta_path) == finders + 1 and threading.active_count() == threads + 1
    del agent
    gc.collect()
    time.sleep(0.2)
    assert (len(sys.meta_path), threading.active_count()) == (finders, threads)
    assert len(sys.modules) <= modules


@pytest.mark.parametrize("shape", [(6, 7, 4), (4, 5, 3), (9, 8, 5), (2, 2, 2), (1, 7, 4)])
def test_fallback_wins_blocks_or_keeps_to_the_middle(shape):
    geometry = geometry_of(*shape)
    for asked in sample_questions(60, 3, (geometry,)) if geometry.cells > 20 else [question_after("", [], geometry)]:
        position = Position.from_observation(asked.obs, asked.config)
        column = fallback_column(asked.obs["board"], asked.obs["mark"], *shape)
        wins, threats = position.winning_columns(), position.pass_turn().winning_columns()
        assert column in asked.legal
        assert column in (wins or threats or asked.legal)
        if not wins and not threats:
            best = min(abs(2 * c + 1 - shape[1]) for c in asked.legal)
            assert abs(2 * column + 1 - shape[1]) == best


@pytest.mark.parametrize("reply", [None, 3.0, "3", True, -1, 7, 0, np.array([1, 2]), [1]])
def test_replies_that_are_not_legal_columns(reply):
    full, beyond = "0, which is full", "(-1|7), which is not on the board"
    with pytest.raises(ValueError, match=f"^the agent returned|^agent returned column ({full}|{beyond})"):
        legal_column(reply, [1, 0, 0, 0, 0, 0, 0], 7)


@pytest.mark.parametrize(
    "path",
    [
        "flat_minimax/submission.py",
        "net_in_second_module/agent.py",
        "numpy_tables/main.py",
        "name_clash/agent.py",
        "tricky/agent.py",
        str(ROOT / "agents" / "one_step.py"),
    ],
)
def test_agents_as_people_write_them_are_accepted(path, runner, tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "ENOUGH", 40)
    monkeypatch.setattr(comparison, "USUAL_SECONDS", 0.2)
    output = tmp_path / ("built.tar.gz" if path.startswith("net") else "built.py")
    report = build(AGENTS / path, output, BuildOptions(positions=20), runner)
    assert report.accepted and output.is_file()
    (line,) = [finding for finding in report.findings if finding.topic == "same moves"]
    agree = r"the built file, loaded twice, and its source agree on \d+ openings, \d+ games, \d+ positions"
    assert line.level == "pass" and re.match(agree, line.text)
    assert report.figures["kaggle_environments"] == "1.33.2"
    assert not list(tmp_path.glob(".*partial"))


def test_a_slow_agent_is_asked_of_each_kind_what_the_time_allows(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "ENOUGH", 25)
    monkeypatch.setattr(comparison, "USUAL_SECONDS", 0.1)
    (tmp_path / "agent.py").write_text(
        f"import time\n\n\ndef agent(obs, config):\n    time.sleep(0.02)\n    return {LEGAL}[0]\n"
    )
    report = build(tmp_path / "agent.py", tmp_path / "built.py", BuildOptions(), runner)
    assert 25 <= report.figures["compared_positions"] < 60
    (line,) = [finding.text for finding in report.findings if finding.topic == "same moves"]
    assert re.search(r"agree on \d+ openings, [1-6] games, \d+ positions", line)
    assert line.endswith("Its moves take long, so that not all were asked")


@pytest.mark.parametrize(
    ("source", "topic"),
    [
        ("raise ValueError('at load')\n\n\ndef agent(obs, config):\n    return 0\n", "guard"),
        ("def agent(obs, config):\n    return 3\n", "guard"),
        ("def agent(obs, config):\n    return float(obs.board.index(0))\n", "guard"),
        # knows that it is in a submission, and plays otherwise there
        (
            f"def agent(obs, config):\n    legal = {LEGAL}\n    return legal[-1 if 'submission_' in __name__ else 0]\n",
            "same moves",
        ),
    ],
)
def test_an_agent_that_needs_its_guard_is_not_built(source, topic, runner, tmp_path):
    (tmp_path / "agent.py").write_text(source)
    with pytest.raises(NotAccepted) as caught:
        build(tmp_path / "agent.py", tmp_path / "out.py", BuildOptions(positions=20), runner)
    assert topic in {finding.topic for finding in caught.value.report.findings if finding.level == "reject"}
    assert [path.name for path in tmp_path.iterdir()] == ["agent.py"]


def test_positions_where_the_source_fails_are_left_out(runner, tmp_path):
    """No game of two leftmost players meets them, and the guard plays there."""
    source = "def agent(obs, config):\n    if obs.board[-1] and not obs.board[-config.columns]:\n"
    source += f"        raise KeyError(obs.step)\n    return {LEGAL}[0]\n"
    (tmp_path / "agent.py").write_text(source)
    report = build(tmp_path / "agent.py", tmp_path / "out.py", BuildOptions(positions=60), runner)
    assert report.figures["compared_positions"] > 300
    (note,) = [finding.text for finding in report.findings if "the guard plays there" in finding.text]
    assert note.startswith("asked outside of a game, its source raises KeyError(")
    assert re.search(r"after \d+ plies, and gives no legal column in \d+ of \d+ positions", note)


OF_ONE_GAME = """OPEN = list(range(7))


def agent(obs, config):
    global OPEN
    OPEN = [c for c in OPEN if obs.board[c] == 0]  # a full column stays full
    return OPEN[obs.step % len(OPEN)]
"""


def test_a_state_of_one_game_is_asked_in_new_processes(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "FRESH", 12)
    (tmp_path / "agent.py").write_text(OF_ONE_GAME)
    report = build(tmp_path / "agent.py", tmp_path / "out.py", BuildOptions(positions=20), runner)
    said = [finding.text for finding in report.findings if finding.topic == comparison.TOPIC]
    text = "agree on 12 openings, 6 games, 12 positions. It keeps a state: each had a process of its own"
    assert len(said) == 1 and text in said[0]


UNASKED = f"""def agent(obs, config):
    legal = {LEGAL}
    if obs.step > 99:
        return legal[1]
    try:
        return legal[7]
    except Exception:
        return legal[0]
"""


def test_what_was_never_asked_and_what_is_caught(runner, tmp_path):
    (tmp_path / "agent.py").write_text(UNASKED)
    findings = build(tmp_path / "agent.py", tmp_path / "out.py", BuildOptions(positions=20), runner).findings
    said = {finding.topic: finding.text for finding in findings}
    assert said["never asked"] == "agent.py, line 4: no game and no position led there"
    count = re.fullmatch(
        r"in (\d+) of (\d+) .* catches IndexError: .* \(agent\.py, line 6\), and goes on", said["caught"]
    )
    assert count and int(count[2]) - 9 < int(count[1]) < int(count[2])  # some boards have more columns


BY_CLOCK = f"""import time


def agent(obs, config):
    legal = {LEGAL}
    time.sleep(0.06)
    return legal[time.perf_counter_ns() // 1000 % len(legal) if obs.step % 4 == 1 else 0]
"""


@REAL_CLOCK
@pytest.mark.parametrize("is_faithful", [True, False])
def test_an_agent_that_goes_by_the_clock(is_faithful, runner, tmp_path, monkeypatch):
    """Moves that the clock draws are excused. Those that the build changes are not, beside them."""
    if not is_faithful:
        monkeypatch.setattr(building, "render", lambda *given: render(*given).replace("else 0", "else -1"))
    monkeypatch.setattr(comparison, "COMPARE_SECONDS", 6.0)
    (tmp_path / "agent.py").write_text(BY_CLOCK)
    with contextlib.nullcontext() if is_faithful else pytest.raises(NotAccepted, match="each side keeps to its own"):
        report = build(tmp_path / "agent.py", tmp_path / "out.py", BuildOptions(positions=40), runner)
        (line,) = [finding for finding in report.findings if finding.topic == "same moves"]
        assert line.level == "note" and "no fault of the build" in line.text


DRAWS = (
    "import random\n\n\ndef agent(obs, config):\n    return random.choice([c for c in range(7) if obs.board[c] == 0])\n"
)
IS_FICKLE_EARLY = f"""import os


def agent(obs, config):
    legal = {LEGAL}
    return legal[os.urandom(1)[0] % len(legal) if obs.step < 12 else 0]
"""


DRAWS_BUT_LATE = DRAWS.replace("random.choice(", "(min if obs.step > 20 else random.choice)(")


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        (DRAWS, "random.choice", "min"),
        (DRAWS, "range(7)", "(1, 0, 2, 3, 4, 5, 6)"),
        (DRAWS_BUT_LATE, "> 20", "> 24"),
        (IS_FICKLE_EARLY, "else 0", "else -1"),
    ],
)
def test_a_build_that_plays_otherwise_is_rejected(source, old, new, runner, tmp_path, monkeypatch):
    """Also where it draws as often, and where the source disagrees with itself on some: that excuses no others."""
    monkeypatch.setattr(building, "render", lambda *given: render(*given).replace(old, new))
    (tmp_path / "agent.py").write_text(source)
    with pytest.raises(NotAccepted, match="the built file and its source play otherwise in"):
        build(tmp_path / "agent.py", tmp_path / "out.py", BuildOptions(positions=40), runner)


BY_HASH = "BOOK = {hash('left'): 0, hash('right'): -1}\n"
BY_LOAD = "import random\n\nSHIFT = random.randrange(1 << 30)\n"


@pytest.mark.parametrize(
    ("head", "choice", "what"),
    [
        (BY_HASH, "min(BOOK) % len(legal)", "goes by the order of a set, or by hash() of texts"),
        (BY_LOAD, "(SHIFT >> obs.step) % len(legal)", "draws as it is loaded"),
    ],
)
def test_what_each_process_has_for_itself_is_no_fault_of_the_build(head, choice, what, runner, tmp_path):
    """The source plays otherwise in each game as well, and the file as it does."""
    (tmp_path / "agent.py").write_text(
        f"{head}\n\ndef agent(obs, config):\n    legal = {LEGAL}\n    return legal[{choice}]\n"
    )
    report = build(tmp_path / "agent.py", tmp_path / "out.py", BuildOptions(positions=20), runner)
    (line,) = [finding for finding in report.findings if finding.topic == "same moves"]
    assert line.level == "note" and line.text.startswith(f"the agent {what}: it plays otherwise in another process")


READS_FILES = """import json
import os

import numpy as np
from tools.read_it import LAST

HERE = "/kaggle_simulations/agent" if os.path.exists("/kaggle_simulations/agent") else "."
ORDER = json.load(open(os.path.join(HERE, "data", "order.json")))
BIAS = np.load("bias.npy")
assert open("/kaggle_simulations/agent/data/order.json").read()


def agent(obs, config):
    with open("log.txt", "a") as log:
        log.write("asked")
    legal = [c for c in ORDER if c < config.columns and obs.board[c] == 0]
    return legal[int(BIAS[0])] if len(legal) > 1 else legal[LAST]
"""


def test_an_agent_with_files_is_built_as_an_archive_that_plays_the_same(runner, tmp_path):
    """Named as no module can be, with files opened in three ways; what it writes goes nowhere near its source."""
    (tmp_path / "data").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "my-agent.v2.py").write_text(READS_FILES)
    (tmp_path / "data" / "order.json").write_text(json.dumps([3, 2, 4, 1, 5, 0, 6, *range(7, 30)]))
    np.save(tmp_path / "bias.npy", np.array([1]))
    reading = "from pathlib import Path\n\nLAST = int(Path(__file__).with_name('last.txt').read_text())\n"
    (tmp_path / "tools" / "read_it.py").write_text(reading)
    (tmp_path / "tools" / "last.txt").write_text("0")
    before = sorted(tmp_path.rglob("*"))
    output = tmp_path / "built.tar.gz"
    report = build(tmp_path / "my-agent.v2.py", output, BuildOptions(positions=60), runner)
    assert report.figures["compared_positions"] > 400 and "different_moves" not in report.figures
    (packed,) = [finding.text for finding in report.findings if finding.topic == "data"]
    assert packed.endswith("3 files beside the agent: bias.npy (136), data/order.json (110), tools/last.txt (1)")
    assert sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts) == sorted([*before, output])


@pytest.mark.parametrize("name", ["class.py", "123.py", "züge + 1.py", "connectx.py", "queue.py"])
def test_any_file_name_builds_and_plays(name, runner, tmp_path):
    (tmp_path / name).write_text(f"import helper\n\n\ndef agent(obs, config):\n    return helper.pick({LEGAL})\n")
    (tmp_path / "helper.py").write_text("def pick(legal):\n    return legal[0]\n")
    report = build(tmp_path / name, tmp_path / f"built {name}", BuildOptions(positions=10), runner)
    assert report.accepted and "different_moves" not in report.figures


@pytest.mark.parametrize(
    ("name", "reply"),
    [("np.int64", "numpy.argmax(free)"), ("array", "numpy.array(free.index(True))"), ("int", "free.index(True)")],
)
def test_replies_that_the_guard_repairs_are_named_with_the_remedy(name, reply, runner, tmp_path):
    source = "import numpy\n\n\ndef agent(obs, config):\n"
    source += f"    free = [obs.board[c] == 0 for c in range(config.columns)]\n    return {reply}\n"
    (tmp_path / "my agent.py").write_text(source)
    report = build(tmp_path / "my agent.py", tmp_path / "out.py", BuildOptions(positions=20), runner)
    notes = [finding.text for finding in report.findings if finding.topic == "guard"]
    assert bool(notes) == (name != "int")
    assert all(name in note and "return int(column)" in note and "also here" in note for note in notes)


@pytest.mark.parametrize("output", ["helper.py", "mine.py", "notes.py", "notes.tar.gz", "built.tar.gz", "link.py"])
def test_nothing_but_a_built_file_is_replaced(output, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(submission, "build", lambda *arguments: pytest.fail("the checks were made first"))
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(f"import helper\n\n\ndef agent(obs, config):\n    return helper.pick({LEGAL})\n")
    Path("helper.py").write_text("# ConnectX submission: even if it was built\ndef pick(legal):\n    return legal[0]\n")
    Path("notes.py").write_text("ideas = 1\n")
    Path("link.py").symlink_to("helper.py")
    Path("notes.tar.gz").write_bytes(archive_bytes(b"ideas = 1\n", {}))
    Path("built.tar.gz").write_bytes(b"\x1f\x8b no archive")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert build_submission.main(["mine.py", "-o", output]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"build_submission.py: {output} ") and "choose another file with --output" in error
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "build_submission.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_command_line_builds_checks_and_speaks_json(tmp_path):
    (tmp_path / "mine.py").write_text(f"import helper\n\n\ndef agent(obs, config):\n    return helper.pick({LEGAL})\n")
    (tmp_path / "helper.py").write_text("def pick(legal):\n    return legal[0]\n")
    built = run(["mine.py", "-o", "submission.py", "--positions", "20", "--json"], tmp_path)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["verdict"] == "ACCEPT"
    (tmp_path / "helper.py").write_text("import nonesuch\n\n\ndef pick(legal):\n    return legal[0]\n")
    refused = run(["mine.py", "-o", "other.py"], tmp_path)
    assert refused.returncode == 2 and "helper.py:1: unknown package nonesuch" in refused.stderr
