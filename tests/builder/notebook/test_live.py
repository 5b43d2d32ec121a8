"""Functions of a running kernel become files that play as they do, or are refused with the cell and the cure."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from connectx_core.position import STANDARD
from connectx_toolkit.builder.build import submission_bytes
from connectx_toolkit.builder.notebook.written import Written
from connectx_toolkit.builder.preflight.trial import Runner, open_sandbox, sample_questions
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.system.files import ROOT
from tests.builder.notebook.kernel import POSITIONS
from tests.builder.notebook.live_situations import PLAIN, REFUSED, Situation

pytestmark = pytest.mark.slow
ALL = PLAIN | REFUSED
KERNEL = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tests.builder.notebook import kernel"
ANEW = f"import gc; gc.freeze()  # else reset looks at all there is\nget_ipython().reset(new_session=True)\n{KERNEL}"


def capturing(situation: Situation) -> str:
    """The call that captures its agent, and asks it if no refusal is due."""
    asking = "" if situation.expected else f"\nkernel.ask({situation.agent}, {{place!r}})"
    return f"kernel.capture({situation.agent}, {{place!r}}){asking}"


def run(situations: dict[str, Situation], calls: dict[str, str], folder: Path) -> dict[str, list[str]]:
    """Runs cells and a call, with a place of its own, of each situation in one kernel, in a history of its own.

    Returns:
        The errors of its cells, by situation.
    """
    notebook = nbformat.v4.new_notebook()
    owners = list[str]()
    for number, (name, each) in enumerate(situations.items()):
        for source in [ANEW, *each.cells, f"{KERNEL}\n{calls[name].format(place=str(folder / str(number)))}"]:
            notebook.cells.append(nbformat.v4.new_code_cell(source))
            owners.append(name)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="python3", timeout=300, allow_errors=True, resources=resources).execute()
    errors: dict[str, list[str]] = {}
    for name, cell in zip(owners, notebook.cells, strict=True):
        found = ["\n".join(out["traceback"]) for out in cell.outputs if out["output_type"] == "error"]
        errors.setdefault(name, []).extend(found)
    return errors


@pytest.fixture(scope="module")
def kernel(tmp_path_factory) -> tuple[Path, dict[str, list[str]]]:
    folder = tmp_path_factory.mktemp("kernel")
    return folder, run(ALL, {name: capturing(each) for name, each in ALL.items()}, folder)


def facts_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "facts.json").read_text())


def written_in(folder: Path) -> Written:
    facts = facts_of(folder)
    assert "refused" not in facts, facts["refused"]
    facts.pop("changed")
    facts |= {"agent": Path(facts["agent"]), "root": Path(facts["root"])}
    facts["folders"] = tuple(map(Path, facts["folders"]))
    facts["places"] = {int(line): place for line, place in facts["places"].items()}
    return Written(**facts)


def built(folder: Path) -> bytes:
    """The submission's text, of the files in ``folder``."""
    return submission_bytes(written_in(folder).to_inlined(), Path("submission.py"))


def moves_of(content: bytes, runner: Runner) -> list[Any]:
    """The columns of a built file that Kaggle's loader has loaded where the judge has it."""
    with open_sandbox(Limits(), runner, "main.py") as sandbox:
        sandbox.main.write_bytes(content)
        sandbox.seal()
        answer = sandbox.replies(sandbox.main, "path", sample_questions(POSITIONS, geometries=(STANDARD,)))
    assert "raised" not in answer["result"], answer["result"]
    assert not any("guard" in reply["stderr"] for reply in answer["result"]["replies"]), answer["result"]["replies"][0]
    return [reply["column"] for reply in answer["result"]["replies"]]


@pytest.mark.parametrize("name", PLAIN)
def test_the_file_plays_as_the_function_does(name, kernel, runner):
    folder, errors = kernel
    situation, place = PLAIN[name], folder / str([*ALL].index(name))
    assert not errors[name], "\n".join(errors[name])
    written = written_in(place)
    text = written.agent.read_text()
    assert moves_of(built(place), runner) == json.loads((place / "moves.json").read_text()), text
    assert all(part in "\n".join(written.notes) for part in situation.says.split("|"))
    assert sorted(facts_of(place)["changed"]) == sorted(filter(None, situation.changes.split(", ")))


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_file_can_hold_is_refused(name, kernel):
    folder, errors = kernel
    assert not errors[name], "\n".join(errors[name])
    refused = facts_of(folder / str([*ALL].index(name)))["refused"]
    assert re.search(REFUSED[name].expected, refused), refused
    assert len(refused.splitlines()) == 1


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from tests.builder.notebook import kernel
WEIGHTS = [n * n for n in range(7)]
WEIGHTS[3] = 100

def my_agent(obs, config):
    return max((c for c in range(7) if obs.board[c] == 0), key=lambda c: WEIGHTS[c])

kernel.capture(my_agent, {place!r})
kernel.ask(my_agent, {place!r})
"""


@pytest.mark.parametrize("how", ["a script", "standard input", "-c"])
def test_without_ipython(how, tmp_path, runner):
    """A script has its source; what is typed has none."""
    place, script = tmp_path / "0", tmp_path / "mine.py"
    script.write_text(SCRIPT.format(root=str(ROOT), place=str(place)))
    options = {"a script": [str(script)], "standard input": ["-"], "-c": ["-c", script.read_text()]}[how]
    given = script.read_text() if how == "standard input" else ""
    subprocess.run([sys.executable, *options], input=given, text=True, check=True, cwd=tmp_path)
    if how == "a script":
        assert moves_of(built(place), runner) == json.loads((place / "moves.json").read_text())
        assert "mine.py, line 8" in written_in(place).places.values()
    else:
        assert "made by exec, or typed at Python's prompt" in facts_of(place)["refused"]
