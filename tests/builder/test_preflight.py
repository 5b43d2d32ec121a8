"""The pre-flight: what it asks, measures and says; its verdicts on the corpus of small agents are in test_idioms."""

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectx_toolkit.builder.build import render
from connectx_toolkit.builder.preflight.asking import ON_OVERAGE
from connectx_toolkit.builder.preflight.check import run_preflight
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.trial import Runner, open_sandbox, question_after
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.kaggle.agent_function import meant_agent
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.system.cores import share_of_core
from connectx_toolkit.system.files import ROOT
from tests.conftest import LINUX, REAL_CLOCK, needs

pytestmark = pytest.mark.slow
TORCH = needs("torch: pip install -r requirements.txt", importlib.util.find_spec("torch"))


def finished(tmp_path: Path, name: str, content: bytes) -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def built(tmp_path: Path, source: str) -> Path:
    """The submission of a source, one file."""
    (tmp_path / "mine.py").write_text(source)
    return finished(tmp_path, "built.py", render(inline(tmp_path / "mine.py")).encode())


@REAL_CLOCK
def test_the_restriction_is_real(runner, tmp_path):
    common = {"limit": 20, "memory": 8 << 30, "home": str(tmp_path), "cwd": str(tmp_path)}
    share = runner.run({"job": "spin", "seconds": 1.0} | common | share_of_core(1 / 3))["result"]["share"]
    assert 0 < share < 0.45  # less than a third on a busy machine, but never more


FIRST_LEGAL = "\n\ndef agent(obs, config):\n    return [c for c in range(config.columns) if obs.board[c] == 0][0]\n"


def found(report, topic: str) -> list[str]:
    return [finding.text for finding in report.findings if finding.topic == topic]


def test_an_agent_that_remembers_its_game_is_not_warned_about(runner, tmp_path):
    """The hard questions are no game: what fails only because of their order is no fault."""
    source = "SEEN = []\n\n\ndef agent(obs, config):\n    assert obs.step not in SEEN or obs.step < 2\n"
    source += "    assert not SEEN or obs.step == SEEN[-1] + 2\n    SEEN.append(obs.step)\n"
    source += "    return [c for c in range(config.columns) if obs.board[c] == 0][0]\n"
    report = run_preflight(finished(tmp_path, "agent.py", source.encode()), runner)
    assert report.accepted and not report.warnings, report.findings


def test_a_fault_that_one_game_may_miss_is_sought_in_more(runner, tmp_path, monkeypatch):
    games, run = [], runner.run

    def counted(job, *rest):
        games.extend([job] if job["job"] == "game" else [])
        return run(job, *rest)

    monkeypatch.setattr(runner, "run", counted)
    run_preflight(finished(tmp_path, "agent.py", FIRST_LEGAL.encode()), runner)
    assert len(games) == 1
    second_legal = FIRST_LEGAL.replace("[0]\n", "[1]\n")  # crashes with one column left, but always plays the same
    run_preflight(finished(tmp_path, "agent.py", second_legal.encode()), runner)
    assert len(games) == 1 + 3
    drawn = f"import random\n{second_legal}".replace("[1]", "[random.randrange(2)]")
    report = run_preflight(finished(tmp_path, "agent.py", drawn.encode()), runner)
    assert len(games) == 1 + 3 + 20 and [job["seed"] for job in games[-20:]] == list(range(20))
    assert report.accepted and "(none of 20 games with seeds from 0 failed)" in found(report, "game")[0]


def hidden_by_a_quick_clock(margin: float) -> bytes:
    source = "import time\n" + FIRST_LEGAL.replace("    return", "    start = time.time()\n    return")
    loop = f"    while time.time() - start < config.actTimeout - {margin}:\n        time.sleep(0.01)\n        fault\n"
    return source.replace("    return", f"{loop}    return").encode()


def test_a_build_plays_a_quick_game_unless_the_judges_clock_shows_a_fault(runner, tmp_path, monkeypatch):
    def check_build(source: bytes, limits: Limits, full: bool = False):
        return run_preflight(finished(tmp_path, "a.py", source), runner, limits, full=full, extra=lambda *_: None)

    told: list[str] = []
    monkeypatch.setattr(runner, "tell", told.append)
    limits = Limits(act_timeout=0.5)
    sound = hidden_by_a_quick_clock(0.4).replace(b"        fault\n", b"")
    assert "only a quick game (0.1 s a move" in found(check_build(sound, limits), "game")[0]
    assert "the judge's clock: DONE" in found(check_build(sound, limits, full=True), "game")[0]
    thinks = hidden_by_a_quick_clock(0.1).replace(b"        fault\n", b"")  # a game at that clock would be announced
    assert "only a quick game" in found(check_build(thinks, Limits(act_timeout=0.8)), "game")[0]
    assert not any("a game against itself" in line or "the game" in line for line in told)  # it is not played
    unsound = check_build(hidden_by_a_quick_clock(0.4), limits)
    assert any(line.endswith("(it failed when asked at that clock)") for line in told)  # before the game, too
    assert "it failed when asked at that clock, so the judge's clock: ERROR" in found(unsound, "game")[0]


THINKS = (
    "import time\n\n\ndef agent(obs, config):\n    start = time.CLOCK()\n    while time.CLOCK() - start < SECONDS:\n"
)
THINKS += "        pass\n    return [c for c in range(config.columns) if obs.board[c] == 0][0]\n"


@pytest.fixture
def others() -> Iterator[None]:
    """Two programs that compute on the one core that is left to this process."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    os.sched_setaffinity(0, before)
    for program in programs:
        program.kill()
        program.wait()


@LINUX  # which alone says how long a process waited
@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(
    ("clock", "seconds", "verdicts"),
    [("time", 0.15, ("REJECT", "NOT JUDGED")), ("process_time", 0.04, ("ACCEPT", "NOT JUDGED"))],
)
def test_beside_two_programs_a_core(clock, seconds, verdicts, tmp_path):
    """The verdict of an idle machine or none, whether the agent looks at the clock or works until it is done."""
    path = finished(tmp_path, "a.py", THINKS.replace("CLOCK", clock).replace("SECONDS", str(seconds)).encode())
    with Runner() as beside_them:
        report = run_preflight(path, beside_them, Limits(act_timeout=0.05, overage=1.2))
    assert report.verdict in verdicts, report.findings
    assert report.verdict != "NOT JUDGED" or "not judged: other programs kept it from the" in str(report.findings)


def test_a_crash_has_its_line_its_cure_and_no_time(runner, tmp_path):
    """As a function that inspect.getsource wrote, whose import stood in another cell."""
    source = b"def my_agent(obs, config):\n    return choice(obs.board)\n"
    report = run_preflight(finished(tmp_path, "cell.py", source), runner)
    place, cure = "(cell.py, line 2)", "import or define choice in cell.py: other cells of a notebook are not submitted"
    assert all(place in text for topic in ("replies", "game") for text in found(report, topic))
    assert cure in found(report, "replies")[0]
    assert found(report, "first move") == found(report, "overage time") == ["not measured: the call fails"]
    assert all(finding.level != "pass" for finding in report.findings if finding.topic in ("first move", ON_OVERAGE))


@REAL_CLOCK
def test_a_load_beyond_the_judges_clock(runner, tmp_path):
    (reason,) = run_preflight(
        finished(tmp_path, "agent.py", b"import time\n\ntime.sleep(9)\n"), runner, Limits(2, 1)
    ).reasons
    assert reason == "load: no answer in 3 s (load)"


def test_the_command_line_tells_verdicts_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    latent = "def agent(obs, config):\n    return [c for c in range(config.columns) if obs.board[c] == 0][:2][-1]\n"
    finished(tmp_path, "good.py", latent.encode())
    finished(tmp_path, "latent.py", latent.replace("[:2][-1]", "[1]").encode())
    finished(tmp_path, "missing.py", f"import catboost\n{FIRST_LEGAL}".encode())
    wanted = {
        "good.py": (0, "ACCEPT good.py"),
        "latent.py": (0, "ACCEPT latent.py; Kaggle takes it, and the warnings say where it will lose games"),
        "missing.py": (3, "NOT JUDGED missing.py"),
    }
    for name, (code, last) in wanted.items():
        assert build_submission.main(["--check", name]) == code
        assert capsys.readouterr().out.splitlines()[-1] == last


MEANT = [
    ("def agent(obs): pass\ndef helper(x): pass\n", "helper", "agent"),
    ("def agent(obs): pass\ndef act(obs, config): return agent(obs)\n", "act", None),
    ("def legal(obs): pass\ndef act(o, c): pass\n", "act", None),
    ("def agent(obs): pass\ndef main(): agent({})\n", "main", "agent"),
]


@pytest.mark.parametrize(("source", "taken", "meant"), MEANT)
def test_which_function_was_meant(source, taken, meant):
    found_one = meant_agent(ast.parse(source), taken, fails=False)
    assert (found_one and found_one.name) == meant


@REAL_CLOCK
@pytest.mark.parametrize("is_guarded", [False, True])
def test_an_agent_that_hangs_is_rejected_and_nothing_of_it_passes(is_guarded, runner, tmp_path):
    """In its own thread or behind the guard: the clock of the first move is the limit."""
    source = "import time\n\n\ndef agent(obs, config):\n    while True:\n        time.sleep(0.1)\n"
    path = built(tmp_path, source) if is_guarded else finished(tmp_path, "agent.py", source.encode())
    report = run_preflight(path, runner, Limits(act_timeout=0.5, overage=1.5))
    assert not report.accepted and (is_guarded or {each.level for each in report.findings} <= {"reject", "note"})


LEGAL = "    return [c for c in range(config.columns) if obs.board[c] == 0][0]\n"
LOOKS = "import os\nPATH = os.path.join('/kaggle_simulations/agent', 'dqn.pth')\nif not os.path.exists(PATH):\n"
SAID = {  # source, whether it is built, the verdict, and words of the report
    "an object": (
        f"class Miner:\n    def __call__(self, obs, config):\n    {LEGAL}\nmy_agent = Miner()\n",
        False, "ACCEPT", "Kaggle will call `my_agent` (line 5): the last callable (a Miner)",
    ),
    "data that is not there": (
        f"{LOOKS}    print('weights not found: plays untrained'){FIRST_LEGAL}",
        False, "ACCEPT", "names dqn.pth, which is not beside it, and plays without; it says: weights not found: plays",
    ),
    "data that is not there, built": (f"{LOOKS}    pass{FIRST_LEGAL}", True, "ACCEPT", "names dqn.pth, which is not"),
    "data that it writes": (f"{LOOKS.replace('/kaggle_simulations/agent', '')}    open(PATH, 'w'){FIRST_LEGAL}",
                            True, "ACCEPT", ""),
    "a package that is missing here": (f"import learntools{FIRST_LEGAL}", False, "NOT JUDGED", "has it"),
    "the same, built": (f"import learntools{FIRST_LEGAL}", True, "NOT JUDGED", "Kaggle's public image has it"),
    "a helper alone": (
        "def preprocess(obs, config):\n    return list(obs.board)\n",
        True, "REJECT", "the file defines no agent: preprocess, which was taken for it, returned [0, 0",
    ),
    "another cell's name, built": (f"SIZE = REPLACE{FIRST_LEGAL}", True, "REJECT", "or define REPLACE in mine.py"),
    "a list": ("def agent(obs, config):\n    return [3]\n", False, "REJECT", "return one of them, such as int("),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_a_report_says(name, runner, tmp_path):
    source, is_built, verdict, words = SAID[name]
    path = built(tmp_path, source) if is_built else finished(tmp_path, "mine.py", source.encode())
    report = run_preflight(path, runner)
    texts = " ".join(finding.text for finding in report.findings)
    assert report.verdict == verdict and words in texts, report.findings
    assert bool(report.warnings) == ("dqn.pth" in words) and "pip install learntools" not in texts


def test_a_finding_has_no_colours():
    report = Report("x")
    report.add("load", "reject", "do \x1b[1mthese\x1b[0m\nsteps")
    assert report.reasons == ["load: do these steps"]


TORCH_AT_LOAD = """
import sys

imports = []
sys.addaudithook(lambda event, given: imports.append(given[0]) if event == "import" else None)
was_there = "torch" in sys.modules
import torch


def agent(obs, config):
    raise ValueError(len(imports), was_there, torch.ones(2).sum().item())
"""


@TORCH
def test_torch_is_imported_once_and_each_load_takes_as_long_as_ever(tmp_path):
    """A file that does not import it does not see it; a processor's share slows the import as all else."""
    file = finished(tmp_path, "main.py", TORCH_AT_LOAD.encode())
    parts = []
    with Runner() as own, open_sandbox(Limits(), own, "main.py") as here:
        for options in ({}, {}, share_of_core(0.5)):
            here.main.write_bytes(file.read_bytes())
            parts.append(here.replies(here.main, "path", [question_after("first", [])], **options)["parts"])
        here.main.write_text("import sys\n\n\ndef agent(obs, config):\n    return 'torch' in sys.modules\n")
        (unaware,) = here.replies(here.main, "path", [question_after("first", [])])["parts"][1:]
    told = [ast.literal_eval(reply["text"].removeprefix("ValueError")) for _, reply in parts]
    assert [each[1:] for each in told] == [(False, 2.0)] * 3
    assert told[0][0] > 500 > told[1][0] == told[2][0]
    first, again, slow = (load["load_seconds"] - load["waited"] for load, _ in parts)
    assert again > 0.4 * first and slow > 1.5 * again
    assert unaware["text"] == "False"


def test_nothing_watches_the_threads_of_a_file_under_test():
    """faulthandler's thread crashed processes that imported torch in their first move."""
    folders = [ROOT / "connectx_toolkit" / name for name in ("kaggle", "builder")]
    assert not [path for folder in folders for path in folder.rglob("*.py") if "faulthandler" in path.read_text()]
