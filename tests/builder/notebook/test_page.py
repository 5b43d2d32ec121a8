"""Agents out of pages: the built file plays what the notebook plays in IPython, or the page is refused."""

from pathlib import Path

import pytest

from connectx_toolkit.builder import comparison, originals
from connectx_toolkit.builder.build import render
from connectx_toolkit.builder.comparison import Comparison
from connectx_toolkit.builder.notebook.page import as_page_writes_it, from_page
from connectx_toolkit.builder.notebook.written import AGENT_PY
from connectx_toolkit.builder.originals import Cells
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.trial import Runner, open_sandbox
from connectx_toolkit.builder.source.refusals import Refused
from connectx_toolkit.kaggle.rules import Limits
from tests.builder.notebook.live_situations import PLAIN
from tests.builder.notebook.pages import FREE, HEAD, moves_in_ipython, moves_of_file, text_of, written
from tests.builder.notebook.situations import LESSON_1, MIDDLE, PLAYING, REFUSED, TOOLS, WRITING, Page, choosing

pytestmark = pytest.mark.slow
# A page gives what its running function does, but for names that nothing binds, and what is changed out of its sight.
LIVE_ALONE = {"a class", "classes of all kinds", "a memory of its own", "attributes that no file can hold"}
LIVE = {name: Page(each.cells, each.agent, named=True) for name, each in PLAIN.items() if name not in LIVE_ALONE}
PAGES = PLAYING | LIVE


@pytest.fixture(scope="module")
def in_ipython(tmp_path_factory) -> dict[str, tuple[Path, list[int]]]:
    """Each situation's page, and the moves of its agent in IPython after Run All."""
    pages = {}
    for name, page in PAGES.items():
        folder = tmp_path_factory.mktemp("page")
        pages[name] = written(folder / "lesson.ipynb", page.cells)
        for file, text in page.files:
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
    moves = moves_in_ipython([(path, PAGES[name].agent) for name, path in pages.items()])
    return {name: (path, moves[str(path.parent)]) for name, path in pages.items()}


@pytest.mark.parametrize("situation", PAGES)
def test_the_built_file_plays_as_the_notebook(situation, in_ipython, tmp_path):
    path, moves = in_ipython[situation]
    page = PAGES[situation]
    text = text_of(path, tmp_path / "agent", page.agent if page.named else None)
    assert moves_of_file(text, tmp_path / "submission.py") == moves and len(set(moves)) > 1


@pytest.mark.parametrize("situation", REFUSED)
def test_what_would_play_otherwise_is_refused(situation, tmp_path, runner, monkeypatch):
    """As the page is read, or as its moves are compared; few show it."""
    monkeypatch.setattr(comparison, "ENOUGH", 60)
    monkeypatch.setattr(comparison, "USUAL_SECONDS", 0.1)
    cells, words = REFUSED[situation]
    (tmp_path / "tools.py").write_text(TOOLS)
    assert words in refusal_of(written(tmp_path / "lesson.ipynb", cells), runner)


def comparison_of(path: Path, runner: Runner) -> Report:
    """What the comparison says of a page's agent."""
    (path.parent / "agent").mkdir()
    page = from_page(path, None, path.parent / "agent")
    inlined, report = page.to_inlined(), Report("submission.py")
    with open_sandbox(Limits(), runner, "submission.py") as judge:
        judge.main.write_text(render(inlined))
        Comparison(Cells(inlined, page), judge, judge.main, False, report).run(20)
    return report


def refusal_of(path: Path, runner: Runner) -> str:
    """Why a page's agent is not built; "" if it is."""
    try:
        report = comparison_of(path, runner)
    except (Refused, ValueError) as refused:
        return str(refused)
    assert report.accepted or report.findings[-1].level == "reject"
    return "" if report.accepted else report.findings[-1].text


def notes_of(cells: list[str], folder: Path) -> list[str]:
    (folder / "agent").mkdir(parents=True)
    return from_page(written(folder / "lesson.ipynb", cells), None, folder / "agent").notes


def test_notes(tmp_path):
    """What starts anew in a game, what was replaced or left out, what depends on the machine, and what is not seen."""
    cells = [
        "import os\nimport numpy as np\nCALLS, CACHE = 0, {}",
        "DEPTH = int(os.environ.get('DEPTH', 2))",
        f"{HEAD}    global CALLS\n    CALLS += DEPTH\n"
        "    CACHE[CALLS] = f'{np.Inf}', np.PINF, -np.NINF\n    return 3\nprint(len(CACHE))",
    ]
    assert notes_of(cells, tmp_path) == [
        "lesson.ipynb, cell 2, line 1: it reads the environment, and the judge's variables are not known",
        "lesson.ipynb, cell 1, line 3: CACHE changes while the agent plays: it begins as this cell makes it",
        "lesson.ipynb, cell 1, line 3: CALLS changes while the agent plays: it begins as this cell makes it",
        *(
            f"lesson.ipynb, cell 3, line 4: numpy 2 has no numpy.{old}: the built file sets it again"
            for old in ("Inf", "NINF", "PINF")
        ),
        "left out: lesson.ipynb, cell 3, line 6: print(len(CACHE))",
    ]
    text = (tmp_path / "agent" / AGENT_PY).read_text()
    assert "numpy.Inf = numpy.inf\nnumpy.NINF = -numpy.inf\nnumpy.PINF = numpy.inf\n" in text
    hidden = ["globals().update({'SIDE': 5, 'SL' + 'OPE': 2})", choosing("abs(c - SIDE) * SLOPE")]
    fact = "SLOPE: no cell defines it by a plain assignment (lesson.ipynb, cell 2, line 2)"
    assert notes_of(hidden, tmp_path / "hidden") == [fact]


def test_an_agent_in_a_file_of_the_page_is_a_page_of_its_own(tmp_path, runner):
    """What it needs of the file, with numpy's old names, below imports from the future; compared with the whole."""
    lines = ["from __future__ import annotations", "import numpy as np", "UNUSED = undefined_elsewhere = 3"]
    lines += [f"FIRST: Column = 5\n{HEAD}    return min({FREE}, key=lambda c: min(abs(c - FIRST), np.Inf))"]
    lines += ["if __name__ == '__main__':\n    FIRST = my_agent = None"]  # which no judge runs
    path = written(tmp_path / "lesson.ipynb", ["x = 1", "%%writefile submission.py\n" + "\n".join(lines)])
    assert refusal_of(path, runner) == ""
    text = (tmp_path / "agent" / AGENT_PY).read_text()
    assert "UNUSED" not in text and text.index("from __future__") < text.index("numpy.Inf = numpy.inf")
    assert notes_of(["%%writefile submission.py\n" + "\n".join(lines)], tmp_path / "again") == [
        "lesson.ipynb, cell 1, line 7: numpy 2 has no numpy.Inf: the built file sets it again"
    ]


def test_files_are_packed_as_the_cells_leave_them(tmp_path):
    """And nothing of the user's is written."""
    cells = [
        "import json\nsides = json.load(open('sides.json'))\nsides[5] = -1",
        "with open('sides.json', 'w') as file:\n    json.dump(sides, file)\nopen('new.txt', 'w').close()",
        "class Bot:\n    def __init__(self):\n        self.sides = json.load(open('sides.json'))\nbot = Bot()",
        choosing("bot.sides[c]"),
    ]
    (tmp_path / "sides.json").write_text("[0, 1, 2, 3, 4, 5, 6]")
    (tmp_path / "agent").mkdir()
    page = from_page(written(tmp_path / "lesson.ipynb", cells), None, tmp_path / "agent")
    inlined = page.to_inlined()
    Cells(inlined, page).pack_files_of_cells(inlined)
    (packed, _), *others = inlined.files.values()
    assert (
        not others
        and packed.read_text() == "[0, 1, 2, 3, 4, -1, 6]"
        and "sides.json: as the cells leave it" in inlined.notes
    )
    assert (tmp_path / "sides.json").read_text() == "[0, 1, 2, 3, 4, 5, 6]" and not (tmp_path / "new.txt").exists()


def test_cells_that_take_too_long_are_named(tmp_path, runner, monkeypatch):
    monkeypatch.setattr(originals, "CELLS_SECONDS", 1.0)
    path = written(tmp_path / "lesson.ipynb", [MIDDLE, "import time\nif my_agent:\n    time.sleep(30)"])
    assert "lesson.ipynb, cell 2 still ran after 1 s; take out what trains or plays there" in refusal_of(path, runner)


def test_lines_of_cells_that_were_never_asked(tmp_path, runner):
    """Of code that the agent needs."""
    cells = [
        "def other():\n    return 5",
        "SIDE = 3",
        f"{HEAD}    if obs.step > 99:\n        return SIDE\n    return {FREE}[0]",
    ]
    report = comparison_of(written(tmp_path / "lesson.ipynb", cells), runner)
    (said,) = (finding.text for finding in report.findings if finding.topic == "never asked")
    assert said == "lesson.ipynb, cell 3, line 3: no game and no position led there"


def test_a_function_that_is_defined_again(tmp_path):
    """Without a name, what the page writes counts; by its name, its last definition."""
    path = written(tmp_path / "lesson.ipynb", [choosing("c"), WRITING, choosing("-c")])
    texts = []
    for number, name in enumerate((None, "my_agent")):
        (tmp_path / str(number)).mkdir()
        texts.append(from_page(path, name, tmp_path / str(number)).agent.read_text())
    assert "key=lambda c: c)" in texts[0] and "key=lambda c: -c)" in texts[1]


def test_what_the_page_itself_writes(tmp_path):
    """Functions by getsource alone, files by %%writefile as they are, with what -a adds."""
    path = written(tmp_path / "lesson.ipynb", LESSON_1)
    assert as_page_writes_it(path, None)[0] == "submission.py" and "import" not in as_page_writes_it(path, None)[1]
    written(path, ["%%writefile main.py\nX = 3\n", MIDDLE, "%%writefile -a main.py\n" + MIDDLE])
    assert as_page_writes_it(path, None) == ("main.py", f"X = 3\n{MIDDLE}\n")
    written(path, [f"%%writefile main.py\n{MIDDLE}", "from pathlib import Path\nPath('main.py').write_text('X')"])
    for name in (None, "my_agent"):
        with pytest.raises(ValueError, match="ipynb, cell 2 writes main"):
            as_page_writes_it(path, name)
