"""What pip installs works: the wheel, in an environment without this checkout, from an empty folder."""

import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from connectx_toolkit.system.files import ROOT

AGENT = """from connectx.position import Position


def agent(obs, config):
    return Position.from_observation(obs, config).legal_columns()[0]
"""
HELPERS = """import board, train, agents


def agent(obs, config):
    return obs.board.index(0) % 7 * board.C * train.C * agents.C
"""
OWN_CONNECTX = "from connectx.tutorial import pick\n\n\ndef agent(obs, config):\n    return pick(obs)\n"
PICK = "def pick(obs):\n    return max(c for c in range(7) if obs.board[c] == 0)\n"


@pytest.fixture(scope="module")
def connectx(tmp_path_factory) -> Path:
    """The command of an environment in which the wheel is installed; its other packages are those of this one."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", symlinks=True)
    places = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    packages = Path(sysconfig.get_path("purelib", vars=places))
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = [*pip, "--python", str(folder / "env" / "bin" / "python")]
    subprocess.run([*environment, "install", "--no-deps", wheel], check=True)
    return folder / "env" / "bin" / "connectx"


@pytest.fixture
def run(connectx, tmp_path, monkeypatch):
    """Runs the command in an empty folder; gives its exit code and what it printed."""
    monkeypatch.delenv("PYTHONPATH", raising=False)

    def call(*words: str) -> tuple[int, str]:
        done = subprocess.run([connectx, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return call


def test_it_is_what_was_installed(connectx, tmp_path):
    code = (
        "import connectx_toolkit.system.files as p; print(p.ROOT, p.IS_CHECKOUT, (p.AGENTS / 'perfect.py').is_file())"
    )
    command = [connectx.with_name("python"), "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("site-packages False True\n") and str(ROOT) not in done.stdout


def test_agents_are_imported_from_the_toolkit(connectx, tmp_path):
    code = "import kaggle_environments; from connectx_toolkit.agents.minimax import agent; print(agent.__module__)"
    command = [connectx.with_name("python"), "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "connectx_toolkit.agents.minimax"


def test_what_the_reference_names_is_imported(connectx, tmp_path):
    """By the page's one import, and each name by its module; hints name what is there."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^from connectx_toolkit import .*$", page, re.M)
    named = [name.rpartition(".") for name in re.findall(r"^::: (\S+)$", page, re.M)]
    imports = [f"from {module} import {name}" for module, _, name in named]
    code = "\n".join([line, *imports, "get_win_percentages('leftmost', 'middle', 4)", "print(match.__module__)"])
    done = subprocess.run(
        [connectx.with_name("python"), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert len(imports) > 20 and done.stdout.endswith("connectx_toolkit.api\n")
    assert "lost: connectx evaluate analyse" in done.stdout and "python evaluate.py" not in done.stdout


def test_the_four_commands(run, tmp_path):
    (tmp_path / "my_agent.py").write_text(AGENT)
    code, text = run("evaluate", "my_agent.py", "negamax", "--rounds", "4")
    assert code == 0 and "connectx evaluate analyse" in text and "python evaluate.py" not in text
    code, text = run("build", "one_step", "-o", "s.py", "--positions", "20")
    assert code == 0 and "ACCEPT s.py" in text, text
    assert (tmp_path / "s.py").is_file()
    for command in ("train", "board"):
        code, text = run(command, "--help")
        assert code == 0 and text.startswith(f"usage: connectx {command}") and ".py " not in text.splitlines()[0]
    assert run("biuld")[0] == 2 and run()[0] == 2


def test_an_agents_own_modules_come_first(run, tmp_path):
    """Also where they are named like the toolkit's, or like its package ``connectx``."""
    for name, files in {
        "helpers": {"main.py": HELPERS, **dict.fromkeys(("board.py", "train.py", "agents.py"), "C = 1\n")},
        "own": {"main.py": OWN_CONNECTX, "connectx/__init__.py": "", "connectx/tutorial.py": PICK},
    }.items():
        for file, source in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(source)
        code, text = run("evaluate", f"{name}/main.py", "random", "--rounds", "2")
        assert code == 0 and "Invalid Plays by Agent 1: 0" in text, text
        code, text = run("build", f"{name}/main.py", "-o", f"{name}.py", "--positions", "20")
        assert code == 0, text


def test_kaggle_has_no_connectx(run, tmp_path):
    (tmp_path / "not_built.py").write_text(AGENT)
    code, text = run("build", "--check", "not_built.py")
    assert code == 1 and "No module named 'connectx'" in text


def test_a_missing_extra_is_named(connectx, run, monkeypatch, tmp_path):
    """In one line, with exit code 2."""
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code, text = run("train", "distill")
    assert code == 2 and text == 'connectx train: this Python has no torch: pip install "connectx-toolkit[train]"\n'
