"""The notebook, run from top to bottom with little of everything; its set-up as on Kaggle; its games in a browser."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from connectx_toolkit.system.files import ROOT

pytestmark = pytest.mark.slow
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


def test_a_command_that_fails_stops_the_notebook(tmp_path):
    """In the cell that holds it, with its own message; one that succeeds does not."""
    notebook = nbformat.v4.new_notebook()
    sources = (first_cell(), "!$EVALUATE list", "!$EVALUATE leftmost nobody", "print('went on')")
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    with pytest.raises(CellExecutionError, match=r"the command above failed \(exit code 2\)"):
        run(notebook, tmp_path)
    assert "perfect" in text_of(notebook.cells[1]) and "no agent 'nobody'" in text_of(notebook.cells[2])
    assert not notebook.cells[3].outputs


def test_every_cell_does_what_it_says(executed, home):
    assert "perfect" in output_of(executed, "$EVALUATE list")
    assert "Agent 1 Win Percentage" in output_of(executed, '"n_step", "random"')
    assert "Elo, random = 0" in output_of(executed, "$EVALUATE tournament")
    analysed = output_of(executed, "$EVALUATE analyse")  # in so short a tournament the lost game may be short, too
    assert "moves" in analysed or "judged from ply" in analysed
    assert "to learn from" in output_of(executed, "$TRAIN labels")
    assert "keeps the result" in output_of(executed, "Trainer(config)")
    assert "my_net_agent.py v my_agent.py" in output_of(executed, "$EVALUATE match")
    assert ("good" if torch.cuda.is_available() else "no GPU here") in output_of(executed, "$TRAIN network")
    assert "ACCEPT submission.py" in output_of(executed, "$BUILD my_net_agent.py")
    assert [path.name for path in home.iterdir()] == ["submission.py"]  # and nothing else
    assert (home / "submission.py").stat().st_size > 100_000  # the network is in it
    assert 'same moves as PPO.load("my_ppo.zip").predict(' in output_of(executed, "$TRAIN adopt")
    assert "1000 steps" in output_of(executed, "model.learn(")
    assert "ACCEPT my_ppo_submission.py" in output_of(executed, "$BUILD my_ppo_agent.py")
    shown = [form for cell in executed.cells for out in cell.get("outputs", []) for form in out.get("data", {})]
    assert (shown.count("image/png"), shown.count("image/svg+xml")) == (2, 1)


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


def test_on_kaggle_with_a_clone(tmp_path, monkeypatch):
    repository = tmp_path / "repository"
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(repository)]
    copy_of_the_toolkit(repository)
    subprocess.run([*run, "init", "-q"], check=True)
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-qm", "all"], check=True)
    names = set_up(monkeypatch, tmp_path / "kaggle", repository.as_uri())
    assert (names["TOOLKIT"] / "build_submission.py").is_file()


def test_without_the_repository_the_first_cell_says_what_is_missing(tmp_path, monkeypatch):
    """As with pip alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(AssertionError, match="attach it as a dataset, or put its address into REPOSITORY"):
        set_up(monkeypatch, tmp_path / "kaggle")
