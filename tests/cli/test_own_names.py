"""A folder with a ``connectx`` of the user's: many give a file of their own the competition's name."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.builder.source.refusals import Refused
from connectx_toolkit.kaggle.remedies import NEW_NAME
from connectx_toolkit.players.process import AgentProcess
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.files import ROOT
from tests.conftest import evaluate

RULES = "def pick(obs):\n    return obs.board.index(0)\n"
AGENT = "import connectx\n\n\ndef agent(obs, config):\n    return connectx.pick(obs)\n"
SCRIPT = f"""{AGENT}
if __name__ == "__main__":
    from connectx_toolkit import build, check, get_win_percentages

    get_win_percentages(agent, "leftmost", 2)
    print(build(agent, "live.py"), build("agent.py", "file.py"), check("live.py"))
"""
FORMS = ["connectx.py", "connectx/__init__.py"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *words]
    return subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_users_in_every_door(form, tmp_path, capsys):
    (tmp_path / form).parent.mkdir(exist_ok=True)
    (tmp_path / form).write_text(RULES)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run(tmp_path, "script.py")
    assert done.returncode == 0 and done.stdout.count("ACCEPT") == 3, done
    assert RULES in (tmp_path / "live.py").read_text() and RULES in (tmp_path / "file.py").read_text()
    evaluate([str(tmp_path / "agent.py"), "leftmost", "--rounds", "2"])
    assert "Invalid Plays by Agent 1: 0" in capsys.readouterr().out


def test_another_core_is_refused(tmp_path):
    (tmp_path / "connectx_core.py").write_text("")
    done = run(tmp_path, "-c", "from connectx_toolkit import build")
    words = "connectx_core.py hides connectx_core, a package of connectx_toolkit: rename it"
    assert done.stderr.splitlines()[-1] == f"ImportError: {tmp_path / words}"


def test_the_former_name_is_explained(tmp_path):
    path = tmp_path / "old.py"
    path.write_text("from connectx.position import STANDARD\n\n\ndef agent(obs, config):\n    return 0\n")
    with contextlib.closing(AgentProcess(resolve(path))) as worker:
        failed = worker.load()
    assert failed and failed.fault == "load" and NEW_NAME in failed.detail
    with pytest.raises(Refused, match=NEW_NAME):
        inline(path)
