"""Agents out of pages: the built file plays what the notebook plays in IPython, or the page is refused."""

from pathlib import Path

import pytest

from connectx_toolkit.builder.source.refusals import Refused
from tests.builder.notebook.pages import moves_in_ipython, moves_of_file, text_of, written
from tests.builder.notebook.situations import PLAYING, REFUSED


@pytest.fixture(scope="module")
def in_ipython(tmp_path_factory) -> dict[str, tuple[Path, list[int]]]:
    """Each situation's page, and the moves of its agent in IPython after Run All."""
    pages = {}
    for name, page in PLAYING.items():
        folder = tmp_path_factory.mktemp("page")
        pages[name] = written(folder / "lesson.ipynb", page.cells)
        for file, text in page.files:
            (folder / file).write_text(text)
    moves = moves_in_ipython([(path, PLAYING[name].agent) for name, path in pages.items()])
    return {name: (path, moves[str(path.parent)]) for name, path in pages.items()}


@pytest.mark.parametrize("situation", PLAYING)
def test_the_built_file_plays_as_the_notebook(situation, in_ipython, tmp_path):
    path, moves = in_ipython[situation]
    page = PLAYING[situation]
    text = text_of(path, tmp_path / "agent", page.agent if page.named else None)
    assert moves_of_file(text, tmp_path / "submission.py") == moves and len(set(moves)) > 1


@pytest.mark.parametrize("situation", REFUSED)
def test_what_would_play_otherwise_is_refused(situation, tmp_path):
    cells, words = REFUSED[situation]
    path = written(tmp_path / "lesson.ipynb", cells)
    (tmp_path / "tools.py").write_text("def fill(c):\n    return c\n\n\ndef train_model(n):\n    return [n] * 7\n")
    with (tmp_path / "tools.py").open("a") as file:
        file.write("\n\nSTATE = {}\n\n\ndef train_all(n):\n    STATE[n] = 1\n\n\nclass Trainer:\n    pass\n")
    with pytest.raises((Refused, ValueError)) as refused:
        text_of(path, tmp_path / "agent")
    assert words in str(refused.value)
