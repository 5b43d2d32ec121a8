"""Notebooks on the command line: built, checked as they are, and played by evaluate.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kaggle_environments import make

from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.cli.main import run
from connectx_toolkit.players.spec import UnknownAgent, resolve
from connectx_toolkit.system.files import ROOT
from tests.builder.notebook.pages import FREE, HEAD, moves_of, moves_of_file, written
from tests.builder.notebook.situations import LESSON_1, MIDDLE, choosing

pytestmark = pytest.mark.slow

BEST = f"BEST = -np.Inf\n{choosing('max(near(c), BEST)')}"
PAGE = ["import numpy as np", "from tools import near", BEST, "agent = 'random'"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with a module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text("def near(c):\n    return abs(c - 5)\n")
    return tmp_path


def test_a_build_is_accepted_and_plays_in_kaggles_environment(folder, capsys):
    written(folder / "lesson.ipynb", PAGE)
    assert build_submission.main(["lesson.ipynb", "-o", "submission.py", "--positions", "20"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "ACCEPT submission.py" in printed and "agree on 295 openings, 12 games, 20 positions" in printed
    assert "lesson.ipynb, cell 3, line 1: numpy 2 has no numpy.Inf: the built file sets it again" in printed
    environment = make("connectx")
    environment.run(["submission.py", "random"])
    assert [each.status for each in environment.state] == ["DONE", "DONE"]
    assert environment.steps[1][0].action == 5


@pytest.mark.parametrize(
    ("cells", "name", "words"),
    [
        (PAGE[1:], "lesson.ipynb", "lesson.ipynb, cell 2, line 1: np is used, and no cell defines it"),
        ([MIDDLE], "lesson.ipynb:other", "lesson.ipynb: no cell defines other"),
        ([MIDDLE, MIDDLE.replace("my_", "your_")], "lesson.ipynb", "which of its functions is the agent?"),
        ([MIDDLE], "leson.ipynb", "no agent leson.ipynb: did you mean lesson.ipynb?"),
        ([MIDDLE], "tools.py:near", "no agent tools.py:near: did you mean tools.py?"),
        ([f"import sys\n{MIDDLE}\nsys.exit()"], "lesson.ipynb", ""),
    ],
)
def test_what_is_refused_in_a_line_each(cells, name, words, folder, capsys):
    written(folder / "lesson.ipynb", cells)
    code = build_submission.main([name, "-o", "submission.py", "--positions", "5"])
    printed = capsys.readouterr()
    assert (code, Path("submission.py").exists()) == ((2, False) if words else (0, True))
    lines = [line for line in printed.err.splitlines() if line.startswith("build_submission.py: ")]
    assert len(lines) == bool(words) and (not words or words in lines[0])


def test_a_fault_in_the_agent_is_told_with_its_cell(folder, capsys):
    written(folder / "lesson.ipynb", ["x = 1", f"{HEAD}    if obs.step > 1:\n        1 / 0\n    return {FREE}[0]"])
    assert build_submission.main(["lesson.ipynb", "-o", "submission.py", "--positions", "5"]) == 1
    assert "division by zero (lesson.ipynb, cell 2, line 3)" in " ".join(capsys.readouterr().out.split())
    assert not Path("submission.py").exists()
    run("evaluate", ["lesson.ipynb", "random", "--rounds", "2"])
    assert "ZeroDivisionError: division by zero (lesson.ipynb, cell 2, line 3)" in capsys.readouterr().out


def test_check_looks_at_the_file_that_the_notebook_writes(folder, capsys):
    """By getsource the function alone, as it will be submitted; by %%writefile the cell."""
    written(folder / "lesson.ipynb", LESSON_1)
    assert build_submission.main(["--check", "lesson.ipynb"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "REJECT submission.py" in printed and "NameError" in printed and "brings them along" in printed
    written(folder / "lesson.ipynb", [MIDDLE, f"%%writefile main.py\n{choosing('c')}"])
    assert build_submission.main(["--check", "lesson.ipynb"]) == 0
    assert "ACCEPT main.py" in capsys.readouterr().out
    written(folder / "lesson.ipynb", [MIDDLE])
    assert build_submission.main(["--check", "lesson.ipynb"]) == 2
    assert "writes no submission that could be checked: build lesson.ipynb:my_agent" in capsys.readouterr().err
    assert build_submission.main(["--check", "lesson.ipynb", "--submit", "x"]) == 2


def test_evaluate_plays_a_notebooks_agent(folder, capsys):
    """As the built file would play: its moves, its helper imported late, its label."""
    late = f"{HEAD}    from tools import near\n    return min({FREE}, key=near)"
    path = written(folder / "lesson.ipynb", ["agent = 3", late, choosing("c").replace("my_agent", "left")])
    run("evaluate", ["lesson.ipynb:my_agent", "leftmost", "--rounds", "2"])
    printed = capsys.readouterr().out
    assert "lesson.ipynb:my_agent v leftmost: " in printed and "Invalid Plays by Agent 1: 0" in printed
    spec = resolve("lesson.ipynb:my_agent")
    assert spec.kind == "notebook" and spec.target == f"{path}:my_agent" and spec.label == "lesson.ipynb:my_agent"
    assert build_submission.main(["lesson.ipynb:left", "-o", "submission.py", "--positions", "5"]) == 0
    built = moves_of_file(Path("submission.py").read_text(), folder / "submission.py")
    assert moves_of(resolve("lesson.ipynb:left").load()) == built
    for name, words in (("lesson.ipynb", "which of its functions"), ("lesson.ipynb~5", "not files")):
        with pytest.raises(UnknownAgent, match=words):
            resolve(name)


OLD_SCRIPT = """
from connectx_toolkit import build


def my_agent(obs, config):
    import numpy as np
    best, choice = -np.Inf, None
    for column in range(config.columns):
        if obs.board[column] == 0 and np.float_(column % 4) > best:
            best, choice = column % 4, column
    if obs.step > 99:
        return 0
    return choice


print(build(my_agent, "built.py", positions=20))
"""


def test_a_live_function_has_the_names_that_numpy_2_dropped(tmp_path):
    """As a page has them: in the built file, and where the function itself is asked."""
    (tmp_path / "lesson.py").write_text(OLD_SCRIPT)
    run = subprocess.run(
        [sys.executable, "lesson.py"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "ACCEPT built.py" in run.stdout and "lesson.py, line 12: no game" in run.stdout, run.stderr
    assert "line 7: numpy 2 has no numpy.Inf: the built file sets it again" in " ".join(run.stdout.split())
    assert "numpy.Inf = numpy.inf\nnumpy.float_ = numpy.float64\n" in (tmp_path / "built.py").read_text()
