"""What pip installs works: the wheel of the sdist, in an environment without this checkout, from an empty folder."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from connectx_toolkit.system.files import ROOT
from tests.conftest import needs

pytestmark = pytest.mark.slow
NEWEST = os.environ.get("CONNECTX_NEWEST")  # the Python of an environment with the newest of all packages

AGENT = """from connectx_core.position import Position


def agent(obs, config):
    return Position.from_observation(obs, config).legal_columns()[0]
"""
HELPERS = """import board, train, agents


def agent(obs, config):
    return obs.board.index(0) % 7 * board.C * train.C * agents.C
"""
OWN_CORE = "from connectx_core.tutorial import pick\n\n\ndef agent(obs, config):\n    return pick(obs)\n"
PICK = "def pick(obs):\n    return max(c for c in range(7) if obs.board[c] == 0)\n"


LEARN = """
from stable_baselines3 import PPO
from connectx_toolkit.training.environments.sb3 import batch_env

PPO("MlpPolicy", batch_env(4, opponent="random"), n_steps=8, batch_size=32).learn(32)
"""
PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED = [*map(Requirement, (*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())))]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Made of the sdist, not of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], cwd=ROOT, check=True)
    (sdist,) = folder.glob("*.tar.gz")
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, sdist], check=True)
    return next(folder.glob("*.whl"))


def packages_of(folder: Path) -> Path:
    """Where the packages of an environment lie."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))


@pytest.fixture(scope="module")
def connectx(wheel, tmp_path_factory) -> Path:
    """The command of an environment in which the wheel is installed; its other packages are those of this one."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", symlinks=True)
    (packages_of(folder / "env") / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "env" / "bin" / "python"
    subprocess.run([*PIP, "--python", python, "install", "--no-deps", wheel], check=True)
    return python.with_name("connectx")


def test_lower_bounds_are_those_of_the_tested_ranges():
    """And none of what pip installs for a user has an upper one, which would replace what works."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    tested = {each.name: each.specifier for each in map(Requirement, filter(None, lines))}
    for asked in ASKED:
        (least,) = asked.specifier
        assert least.operator == ">=" and tested[asked.name].contains(least.version), asked
        assert least.version in {each.version for each in tested[asked.name] if each.operator in (">=", "==")}, asked
    assert {asked.name for asked in ASKED} == tested.keys()


def test_pip_replaces_nothing_that_is_there(wheel, tmp_path):
    """Of a Python whose packages are all newer than any that was tried, offline."""
    venv.create(tmp_path / "env", symlinks=True)
    for asked in ASKED:
        name = asked.name.replace("-", "_")
        about = packages_of(tmp_path / "env") / f"{name}-9999.0.dist-info"
        about.mkdir(exist_ok=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {asked.name}\nVersion: 9999.0\n")
        (about / "INSTALLER").write_text("pip\n")
    extras = ",".join(PROJECT["optional-dependencies"])
    words = ["install", "--no-index", "--dry-run", "--report", tmp_path / "report.json", f"{wheel}[{extras}]"]
    plain = {**os.environ, "PIP_CONFIG_FILE": os.devnull}  # this machine may have constraints of its own
    subprocess.run([*PIP, "--python", tmp_path / "env" / "bin" / "python", *words], check=True, env=plain)
    installs = json.loads((tmp_path / "report.json").read_text())["install"]
    assert [each["metadata"]["name"] for each in installs] == ["connectx-toolkit"]


@needs("the newest packages: the Python of an environment with them in CONNECTX_NEWEST", NEWEST)
def test_the_newest_of_each_package(tmp_path):
    """Everything can be imported, an agent plays and is built, a network gives a move, a model learns."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("connectx_core", "connectx_toolkit")
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    (tmp_path / "all.py").write_text("\n".join(f"import {name}" for name in modules))
    (tmp_path / "mine.py").write_text("def agent(obs, config):\n    return obs.board.index(0)\n")
    (tmp_path / "learn.py").write_text(LEARN)
    python = str(NEWEST)
    command = Path(python).with_name("connectx")
    calls: list[list[str | Path]] = [
        [python, "all.py"],
        [command, "evaluate", "mine.py", "policy", "--rounds", "2"],
        [command, "build", "mine.py", "-o", "s.py", "--positions", "20"],
        [python, "learn.py"],
    ]
    for words in calls:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"


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
    assert "\nconnectx evaluate analyse" in done.stdout and "python evaluate.py" not in done.stdout


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
    """Also where they are named like the toolkit's, or like its package ``connectx_core``."""
    for name, files in {
        "helpers": {"main.py": HELPERS, **dict.fromkeys(("board.py", "train.py", "agents.py"), "C = 1\n")},
        "own": {"main.py": OWN_CORE, "connectx_core/__init__.py": "", "connectx_core/tutorial.py": PICK},
    }.items():
        for file, source in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(source)
        code, text = run("evaluate", f"{name}/main.py", "random", "--rounds", "2")
        assert code == 0 and "Invalid Plays by Agent 1: 0" in text, text
        code, text = run("build", f"{name}/main.py", "-o", f"{name}.py", "--positions", "20")
        assert code == 0, text


def test_kaggle_has_no_connectx_core(run, tmp_path):
    (tmp_path / "not_built.py").write_text(AGENT)
    code, text = run("build", "--check", "not_built.py")
    assert code == 1 and "No module named 'connectx_core'" in text


def test_a_missing_extra_is_named(connectx, run, monkeypatch, tmp_path):
    """In one line, with exit code 2."""
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code, text = run("train", "network")
    assert code == 2 and text == 'connectx train: this Python has no torch: pip install "connectx-toolkit[train]"\n'
