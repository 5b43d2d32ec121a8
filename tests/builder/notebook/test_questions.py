"""What the proof asks both sides is the same, whatever an agent does with its board, and whenever Kaggle plays."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from connectx_toolkit.builder.preflight.trial import sample_questions
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.kaggle.replies import ask_agent
from connectx_toolkit.system.files import ROOT

SCRIPT = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from tests.builder.notebook import kernel
START = time.time()
count = 0


def writes(obs, config):
    global count
    count += 1
    columns = [c for c in range(7) if obs.board[c] == 0]
    column = columns[(count + sum(map(bool, obs.board))) % len(columns)]
    row = max(r for r in range(6) if obs.board[7 * r + column] == 0)
    obs.board[7 * row + column] = obs.mark
    obs["step"] = config["columns"] = 1
    return column


def waits(obs, config):
    columns = [c for c in range(7) if obs.board[c] == 0]
    return columns[0] if time.time() - START > 1000.0 else columns[-1]


for agent in (writes, waits):
    kernel.make(agent, agent.__name__, is_quick=True)
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    (folder / "script.py").write_text(SCRIPT)
    subprocess.run([sys.executable, "script.py"], check=True, cwd=folder, capture_output=True)
    return folder


def same_moves(folder: Path) -> list[list[str]]:
    findings = json.loads((folder / "facts.json").read_text())
    return [[level, text] for topic, level, text in findings if topic == "same moves"]


def test_an_agent_may_play_its_move_on_the_board(reports):
    ((level, text),) = same_moves(reports / "writes")
    assert level == "pass" and "agree on" in text


def test_a_time_of_the_notebook_is_rejected(reports):
    ((level, text),) = same_moves(reports / "waits")
    assert level == "reject" and "a day later" in text and "a time of this notebook: START" in text


def test_a_question_stays_as_it_was():
    asked = sample_questions(1)[0].as_json()
    before = json.dumps(asked)

    def agent(obs, config):
        obs.board[0] = obs["mark"] = config["rows"] = 9
        return 0

    ask_agent(agent, asked, "", lambda entries: Struct(**entries))
    assert json.dumps(asked) == before
