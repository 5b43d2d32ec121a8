"""The page "On Kaggle, with pip only": its cells, one after the other in a kernel, in an empty folder."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from connectx_toolkit.system.files import ROOT
from tests.project.test_notebook import text_of

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs" / "start" / "kaggle.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def executed(tmp_path_factory) -> tuple[Path, str]:
    """The working directory, and all that the cells printed. It raises if a cell does."""
    folder = tmp_path_factory.mktemp("working")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(text) for text in re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return folder, "\n".join(map(text_of, notebook.cells))


def test_a_newcomer_has_an_agent_a_verdict_and_a_file(executed):
    folder, printed = executed
    assert "Agent 1 Win Percentage" in printed and "SPRT of +0 against +50 Elo accepts +50" in printed
    assert "no game lost" in printed or "turning point" in printed  # the cell of analyse shows what it finds
    assert printed.count("ACCEPT") == 2 and (folder / "submission.py").is_file()  # built, and checked


def test_the_file_is_played_by_kaggle(executed):
    from kaggle_environments import make

    environment = make("connectx")
    environment.run([str(executed[0] / "submission.py"), "random"])
    assert [state.status for state in environment.steps[-1]] == ["DONE", "DONE"]
