"""The functions of ``connectx_toolkit``, as notebooks use them: in a real kernel, with names, paths and functions."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import connectx_toolkit
from connectx_toolkit import analyse, build, check, match, tournament
from connectx_toolkit.builder.build import NotAccepted
from connectx_toolkit.system.files import ROOT

pytestmark = pytest.mark.slow
IMPORT = (
    "from connectx_toolkit import get_win_percentages, match, tournament, exam, analyse, build, check, adopt, Board"
)
LEFTMOST = """def my_agent(obs, config):
    return [column for column in range(config.columns) if obs.board[column] == 0][0]"""
CELLS = [
    IMPORT,
    LEFTMOST,
    "old = my_agent",
    "import numpy as np\nLIKES = np.arange(7)",
    """def my_agent(obs, config):
    return int(max((c for c in range(config.columns) if obs.board[c] == 0), key=lambda c: LIKES[c]))""",
    "match(my_agent, old, pairs=2)",
    "match(my_agent, old, pairs=2)",  # the same: nothing is played
    "LIKES[:] = 6 - LIKES\nmatch(my_agent, old, pairs=2)",  # other weights: another agent
    "tournament(old, my_agent, 'middle', pairs=1, anchor=my_agent)",
    "rounds = get_win_percentages(my_agent, old, 2)",
    "rounds",
    "analyse(rounds.lost(my_agent)[0])",
    "try:\n    match(my_agent, old, sprt=(50, 0))\nexcept ValueError as problem:\n    print(problem)",
    "!echo 'x = 1' > none.py\nreport = check('none.py')\nreport",
    "def misspelt(obs, config):\n    return colum\n\nrounds = get_win_percentages(misspelt, old, 2)",
    "def of_numpy(obs, config):\n    return np.argmin(obs.board[:7])\n\nrounds = get_win_percentages(of_numpy, old, 2)",
    """for call in (build, lambda agent: match(agent, 'middle')):
    try:
        call('my_agent')
    except ValueError as problem:
        print(problem)""",
    "check('nothing.py')",
    "analyse('33333333')",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> list[list[Any]]:
    """What each cell shows, by cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.cells[0].source = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{IMPORT}"
    for cell in notebook.cells[-2:]:
        cell.metadata.tags = ["raises-exception"]
    folder = tmp_path_factory.mktemp("notebook")
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in notebook.cells]


def printed(cell: list[Any]) -> str:
    return "".join(out.text for out in cell if out.output_type == "stream" and out.name == "stdout")


def html_of(cell: list[Any]) -> str:
    (shown,) = [out.data["text/html"] for out in cell if out.output_type == "execute_result"]
    return shown


def test_functions_of_one_name_are_told_apart_by_their_cells(outputs):
    assert "<strong>my_agent In[5] v my_agent In[2]: 4 games</strong>" in html_of(outputs[5])
    assert "my_agent In[2] v my_agent In[5]: won" in printed(outputs[8])
    assert "Elo, my_agent In[5] = 0" in html_of(outputs[8])
    assert "my_agent In[5] v my_agent In[2]: " in printed(outputs[9])


def test_stored_games_are_those_of_the_same_function_with_the_same_values(outputs):
    assert "reused" not in printed(outputs[5])
    assert printed(outputs[6]).startswith("reused 4 of 4 games from runs/games.sqlite; another seed plays new ones")
    assert "reused" not in printed(outputs[7])


def test_a_fault_has_its_cell_or_its_cure(outputs):
    assert "2 exception (first on ply 0: NameError: name 'colum' is not defined (In[15], line 2" in printed(outputs[14])
    assert re.search(r"2 not an integer \(first on ply 0: .*int64.*: return int\(column\)\)", printed(outputs[15]))


def test_a_function_goes_without_quotes(outputs):
    meant = [line.partition("did you mean ")[2].partition("?")[0] for line in printed(outputs[16]).splitlines()]
    assert meant == ["my_agent, without quotes"] * 2


def test_what_is_refused_is_said_in_a_line(outputs):
    shown = [cell[0].traceback for cell in outputs[-2:]]
    assert shown == [
        ["FileNotFoundError: nothing.py: no such file or folder"],
        ["ValueError: column 3 cannot be played on ply 6: the column is full"],
    ]


def test_what_they_give_has_fields(tmp_path, monkeypatch, capsys):
    """In a script; a table is printed where a result is."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(LEFTMOST)
    played = match("mine.py", "middle", pairs=1)
    assert sum(played.wins) + played.draws == 2 and played.first.label == "mine.py"
    assert repr(played).startswith("mine.py v middle: 2 games\n")
    found = tournament("mine.py", "middle", pairs=1, ladder="ladder")
    assert len(found.standings()) == 2 and Path("ladder.json").is_file() and "\n2 mine.py" in repr(found)
    analysed = analyse(played.games[0])
    game = played.games[0]
    assert len(analysed.games[0].moves) == len(game.moves) - game.opening and "moves by exact score" in repr(analysed)


def test_a_build_gives_its_report_or_one_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(LEFTMOST)
    report = build("mine.py", positions=20)
    assert report.verdict == "ACCEPT" and report.written == Path("submission.py")
    assert "ACCEPT submission.py" in repr(report)
    Path("bad.py").write_text("def agent(obs, config):\n    return 99\n")
    with pytest.raises(NotAccepted, match=r"^REJECT bad_built.py; ") as caught:
        build("bad.py", "bad_built.py", positions=20)
    assert caught.value.report.reasons and not Path("bad_built.py").exists()
    assert check("bad.py").verdict == "REJECT"
    for given, words in (("no.py", "no agent no.py"), ("mine.py", "positions should be an integer of at least 1")):
        with pytest.raises(ValueError, match=words):
            build(given, positions=0 if given == "mine.py" else 20)
    with pytest.raises(ValueError, match="is the agent itself"):
        build("mine.py", "mine.py")


@pytest.mark.parametrize("line", ["import connectx_toolkit", IMPORT.replace(", Board", "")])
def test_the_import_is_quick(line):
    """Below 0.3 s of processor time, and without what is heavy."""
    code = f"""
import sys, time
before = time.process_time()
{line}
seconds = time.process_time() - before
heavy = {{"numpy", "numba", "torch", "rich", "kaggle_environments", "anywidget", "sqlite3"}} & sys.modules.keys()
print(seconds, *heavy)"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, *heavy = done.stdout.split()
    assert float(seconds) < 0.3 and heavy == []


def test_all_is_what_the_reference_page_imports():
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert IMPORT in page and sorted(IMPORT.split("import ")[1].split(", ")) == sorted(connectx_toolkit.__all__)
    import evaluate

    assert evaluate.get_win_percentages is connectx_toolkit.get_win_percentages and evaluate.Board


def test_a_board_without_its_package_says_one_line(monkeypatch):
    """When it is called: the one import works."""
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "connectx_toolkit.board.widget", raising=False)
    board = connectx_toolkit.Board
    with pytest.raises(ModuleNotFoundError, match=r"^this Python has no anywidget: .*pip install.*$"):
        board("minimax@2")
