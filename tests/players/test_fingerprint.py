"""What an agent is made of: a change of any part of it is another agent, a change of anything else is not."""

import shutil
from pathlib import Path

import pytest

from connectx_toolkit.players.fingerprint import files_of
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.files import ROOT
from tests.conftest import evaluate as main

AGENT = """
from my_helpers import pick
import tools.deep as deep
try:
    from late import extra
except ImportError:
    extra = 1

def agent(obs, config):
    return pick(obs) + deep.zero + extra
"""
FILES = {
    "mine.py": AGENT,
    "my_helpers.py": "import numpy\nfrom more import pick\nWEIGHTS = 'w.bin'\n",
    "more.py": "def pick(obs):\n    return next(c for c in range(7) if not obs.board[c])\n",
    "late.py": "import json, os\nextra = 0\n",
    "tools/__init__.py": "",
    "tools/deep.py": "from . import base\nfrom pathlib import Path\nzero = 0\nTABLE = Path('data') / 'table.json'\n",
    "tools/base.py": "x = 1\n",
    "tools/data/table.json": "[]",
    "w.bin": "weights",
    "unrelated.py": "x = 1\n",
    "other.bin": "x",
    "json.py": "x = 1\n",
}
UNUSED = ("unrelated.py", "other.bin", "json.py")


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_changed_part_is_another_agent(name, folder):
    before = resolve(folder / "mine.py").fingerprint()
    (folder / name).write_text(FILES[name] + " \n")
    assert (resolve(folder / "mine.py").fingerprint() == before) == (name in UNUSED)
    (folder / name).write_text(FILES[name])
    assert resolve(folder / "mine.py").fingerprint() == before


def test_the_kit_is_part_of_what_uses_it(tmp_path, monkeypatch):
    """In a copy of it, one file of which changes."""
    shutil.copytree(ROOT / "connectx_core", tmp_path / "connectx_core", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "mine.py").write_text("import connectx_core.position\ndef agent(obs, config):\n    return 0\n")
    for module in ("players.fingerprint", "kaggle.dependencies"):
        monkeypatch.setattr(f"connectx_toolkit.{module}.ROOT", tmp_path)
    before = resolve(tmp_path / "mine.py").fingerprint()
    for name, is_part in (("books.py", False), ("position.py", True)):
        path = tmp_path / "connectx_core" / name
        path.write_text(path.read_text() + "\n")
        assert (resolve(tmp_path / "mine.py").fingerprint() != before) == is_part


@pytest.mark.parametrize("name", ["train", "connectx_core", "agents", "connectx_toolkit"])
def test_what_an_agent_imports_is_beside_it(name, tmp_path):
    """And not a part of the kit that has the same name; of the kit, only connectx_core may be part of an agent."""
    (tmp_path / "mine.py").write_text(f"import {name}\ndef agent(obs, config):\n    return 0\n")
    before = files_of(tmp_path / "mine.py")
    assert {path.parent for path in before[1:]} == ({ROOT / "connectx_core"} if name == "connectx_core" else set())
    (tmp_path / f"{name}.py").touch()
    assert files_of(tmp_path / "mine.py") == [tmp_path / "mine.py", tmp_path / f"{name}.py"]


def test_agents_of_ours_have_their_modules_and_weights():
    found = {str(path.relative_to(ROOT)) for path in files_of(ROOT / "agents" / "policy.py")}
    assert {
        "agents/policy.py",
        "connectx_core/lookahead.py",
        "agents/weights/policy.bin",
        "connectx_core/network.py",
    } <= found
    assert "agents/weights/perfect_second_book.bin" not in found and "agents/minimax.py" not in found
    prints = {
        resolve(name).fingerprint() for name in ("policy", "policy~5", "policy~6", "minimax", "minimax@4", "random")
    }
    assert len(prints) == 6


def test_a_changed_helper_replays_its_games(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    match = ["match", "mine.py", "leftmost", "--pairs", "1", "--games", "games"]
    outputs = []
    for text in (FILES["more.py"], FILES["more.py"], "def pick(obs):\n    return 99\n"):
        (folder / "more.py").write_text(text)
        main(match)
        outputs.append(capsys.readouterr().out)
    assert ["reused 2 of 2 games from games" in out for out in outputs] == [False, True, False]
    assert "2 no such column (first on ply" in outputs[2] and "no such column" not in outputs[1]
