"""The notebook, run from top to bottom with little of everything; its set-up as on Kaggle; its games in a browser."""

import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from packaging.requirements import Requirement

from connectx_toolkit.cli import train
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.training.options import config_from
from notebooks.store import LARGEST, kept
from tests.conftest import BROWSER, CHROMIUM

NOTEBOOK = ROOT / "notebooks" / "connectx.ipynb"
SETTINGS = ("CONNECTX_REPOSITORY", "CONNECTX_WORK", "CONNECTX_QUICK")


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """The directory that the notebook is started in: below the toolkit, which the first cell looks for."""
    (ROOT / "runs").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "runs", prefix="notebook-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def executed(work, home) -> nbformat.NotebookNode:
    """The notebook with its outputs. It raises if a cell does."""
    return run(nbformat.read(NOTEBOOK, as_version=4), work, home)


def run(notebook: nbformat.NotebookNode, work: Path, home: Path = NOTEBOOK.parent) -> nbformat.NotebookNode:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONNECTX_QUICK", "1")
        patch.setenv("CONNECTX_WORK", str(work))
        resources = {"metadata": {"path": str(home)}}
        return NotebookClient(notebook, timeout=600, resources=resources).execute()


def text_of(cell: nbformat.NotebookNode) -> str:
    """All that a cell printed, and its results as text."""
    return "".join(out.get("text", "") or out.get("data", {}).get("text/plain", "") for out in cell.outputs)


def output_of(executed: nbformat.NotebookNode, start: str) -> str:
    """What the one cell that contains ``start`` printed."""
    (cell,) = (cell for cell in executed.cells if cell.cell_type == "code" and start in cell.source)
    return text_of(cell)


def first_cell() -> str:
    return next(cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code")


def test_the_first_cell_fits_a_screen():
    assert len(first_cell().splitlines()) <= 17


def test_a_command_that_fails_stops_the_notebook(tmp_path):
    """In the cell that holds it, with its own message; one that succeeds does not."""
    notebook = nbformat.v4.new_notebook()
    sources = (first_cell(), "!$EVALUATE list", "!$EVALUATE leftmost nobody", "print('went on')")
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    with pytest.raises(CellExecutionError, match=r"the command above failed \(exit code 2\)"):
        run(notebook, tmp_path)
    assert "perfect" in text_of(notebook.cells[1]) and "no agent 'nobody'" in text_of(notebook.cells[2])
    assert not notebook.cells[3].outputs


def test_it_is_stored_with_its_outputs():
    """Of one run from top to bottom in which no cell failed; small, and without paths of the machine that made it."""
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, 1 + len(cells)))
    assert not any(output.output_type == "error" for cell in cells for output in cell.outputs)
    printed = "".join(map(text_of, cells))
    assert "ACCEPT submission.py" in printed and "my_net_agent.py is stronger" in printed  # the match has a verdict
    assert NOTEBOOK.stat().st_size < 300_000 and str(ROOT) not in NOTEBOOK.read_text()


def test_long_outputs_are_stored_in_their_short_form():
    player = nbformat.v4.new_output("display_data", {"text/html": "x" * (LARGEST + 1), "text/plain": "<HTML object>"})
    assert kept(player, {}) is None
    picture = nbformat.v4.new_output("display_data", {"image/png": "x", "text/plain": "<Figure>"})
    assert kept(picture, {}) == picture
    printed = nbformat.v4.new_output("stream", text="files: /some/where/labels")
    assert kept(printed, {"/some/where": "~"}) == printed and printed.text == "files: ~/labels"


def test_the_command_for_a_gpu():
    """As it is typed: options that are there, values that they allow."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    (line,) = (line for cell in cells for line in cell.source.splitlines() if "$TRAIN distill" in line)
    words = shlex.split(line.replace("$SAMPLES", "1000"))
    given = train.parse(words[1:])
    config = config_from(train.module_of("distill").Config, given)
    assert config.device == "cuda" and config.output.name == "my_net.bin"


def test_every_cell_does_what_it_says(executed, home):
    assert "perfect" in output_of(executed, "$EVALUATE list")
    assert "Agent 1 Win Percentage" in output_of(executed, '"n_step", "random"')
    assert "Elo, random = 0" in output_of(executed, "$EVALUATE tournament")
    analysed = output_of(executed, "$EVALUATE analyse")  # in so short a tournament the lost game may be short, too
    assert "moves" in analysed or "judged from ply" in analysed
    assert "to learn from" in output_of(executed, "$TRAIN labels")
    assert "keeps the result" in output_of(executed, "Trainer(config)")
    assert "my_net_agent.py v my_agent.py" in output_of(executed, "$EVALUATE match")
    assert ("good" if torch.cuda.is_available() else "no GPU here") in output_of(executed, "$TRAIN distill")
    assert "ACCEPT submission.py" in output_of(executed, "$BUILD my_net_agent.py")
    assert [path.name for path in home.iterdir()] == ["submission.py"]  # and nothing else
    assert (home / "submission.py").stat().st_size > 100_000  # the network is in it
    assert 'same moves as PPO.load("my_ppo.zip").predict(' in output_of(executed, "$TRAIN adopt")
    assert "2000 steps" in output_of(executed, "model.learn(")
    assert "ACCEPT my_ppo_submission.py" in output_of(executed, "$BUILD my_ppo_agent.py")
    shown = [form for cell in executed.cells for out in cell.get("outputs", []) for form in out.get("data", {})]
    assert (shown.count("image/png"), shown.count("image/svg+xml")) == (2, 1)


@CHROMIUM
def test_games_are_visible_offline(executed, tmp_path):
    """Kaggle's player of the first game, in a browser that reaches no other machine."""
    (cell,) = (cell for cell in executed.cells if "n_step.py" in cell.source)
    page = next(out["data"]["text/html"] for out in cell.outputs if "text/html" in out.get("data", {}))
    (tmp_path / "page.html").write_text(f"<html><body>{page}</body></html>")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=700,650", "--virtual-time-budget=20000"]
    command += [f"--screenshot={tmp_path / 'page.png'}", (tmp_path / "page.html").as_uri()]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    from matplotlib.image import imread

    picture = imread(tmp_path / "page.png")[..., :3]
    assert len({tuple(pixel) for pixel in (picture[::7, ::7] * 15).astype(int).reshape(-1, 3)}) > 8  # not a blank page


def set_up(monkeypatch, kaggle: Path, repository: str = "") -> dict:
    """Runs the first cell as if on Kaggle, with its folders at ``kaggle``; its names."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CONNECTX_REPOSITORY", repository)
    monkeypatch.setattr(tempfile, "tempdir", str(kaggle.parent / "temp"))
    (kaggle.parent / "temp").mkdir()
    (kaggle / "working").mkdir(parents=True)
    monkeypatch.chdir(kaggle / "working")
    monkeypatch.syspath_prepend(str(kaggle))
    monkeypatch.delitem(sys.modules, "start", raising=False)
    names: dict = {}
    exec(first_cell().replace('Path("/kaggle")', f"Path({str(kaggle)!r})"), names)
    assert Path(os.getcwd()) == kaggle.parent / "temp" / "connectx-notebook"
    assert names["RESULT"] == kaggle / "working" / "submission.py" and not list((kaggle / "working").iterdir())
    return names


def copy_of_the_toolkit(folder: Path) -> None:
    """What the first cell needs of it."""
    (folder / "notebooks").mkdir(parents=True)
    (folder / "build_submission.py").write_text("")
    shutil.copy(ROOT / "requirements.txt", folder)
    shutil.copy(ROOT / "notebooks" / "start.py", folder / "notebooks")


def test_on_kaggle_with_a_dataset(tmp_path, monkeypatch):
    copy_of_the_toolkit(tmp_path / "kaggle" / "input" / "my-dataset" / "toolkit")
    names = set_up(monkeypatch, tmp_path / "kaggle")
    assert names["TOOLKIT"] == tmp_path / "kaggle" / "input" / "my-dataset" / "toolkit"


def test_what_is_there_is_not_replaced(tmp_path, monkeypatch, capsys):
    """Of a Kaggle with an older torch and without rich, rich alone is installed, and must leave the others."""
    copy_of_the_toolkit(tmp_path / "kaggle" / "input" / "toolkit")
    names = [
        "anywidget",
        "kaggle_environments",
        "numba",
        "numpy",
        "matplotlib",
        "torch",
        "tqdm",
        "unrelated",
        "gymnasium",
    ]
    names += ["stable_baselines3", "sb3_contrib"]
    there = [SimpleNamespace(name=name, version="1.5.0+cu999" if name == "torch" else "2.0") for name in names]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: there)
    commands: list[list] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    set_up(monkeypatch, tmp_path / "kaggle")
    (command,) = commands
    (asked,) = command[command.index("-c") + 2 :]
    assert command[1:4] == ["-m", "pip", "install"] and Requirement(asked).name == "rich"
    assert {"torch==1.5.0+cu999", "numpy==2.0", "unrelated==2.0"} <= set(command[6].read_text().split())
    printed = capsys.readouterr().out
    assert "torch: 1.5.0+cu999 (tried: " in printed and "rich: missing" in printed


def test_on_kaggle_with_a_clone(tmp_path, monkeypatch):
    repository = tmp_path / "repository"
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(repository)]
    copy_of_the_toolkit(repository)
    subprocess.run([*run, "init", "-q"], check=True)
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-qm", "all"], check=True)
    names = set_up(monkeypatch, tmp_path / "kaggle", repository.as_uri())
    assert (names["TOOLKIT"] / "build_submission.py").is_file()
