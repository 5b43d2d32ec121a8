"""Pages in all forms that they come in: formats, languages, commands; and what is no page."""

import ast
from pathlib import Path

import pytest

from connectx_toolkit.builder.notebook.cells import cells_of, page_named, python_of, texts_of_magic
from connectx_toolkit.builder.notebook.page import from_page
from connectx_toolkit.builder.notebook.written import AGENT_PY, compose_source
from connectx_toolkit.builder.source.inline import Refused, inline
from tests.builder.notebook.pages import written
from tests.builder.notebook.situations import MIDDLE


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("x = '%d' % 3\n%matplotlib inline", "x = '%d' % 3\n\n"),
        ("if x:\n    !ls \\\n       -l\ny = 1", "if x:\n    pass\n\ny = 1\n"),
        ("TEXT = '''\n%a\n!b\n'''\n!echo don't", "TEXT = '''\n%a\n!b\n'''\n\n"),
        ("pip install gym\nls = 3", "\nls = 3\n"),
        ("f?\n??f\nf.g??", "\n\n\n"),
        ("a, b = !ls", "a, b = __output_of_a_command__\n"),
        ("%time x = f()", "x = f()\n"),
        ("  x = 1\n  y = 2", "x = 1\ny = 2\n"),
        ("x = await f()", "x = await f()\n"),
    ],
)
def test_commands_are_left_out_line_by_line(source, code):
    assert python_of(source) == (code, "", 1)


def test_what_is_no_python_is_said_with_its_line():
    assert python_of("x = 1\ndef f(:\n    pass")[1:] == ("syntax error: invalid syntax", 2)
    assert python_of("x = 1\nreturn x")[1:] == ("syntax error: 'return' outside function", 2)


def test_cells_are_numbered_as_run_all_does(tmp_path):
    """Empty ones and text have no numbers; the counts in the file do not matter."""
    path = written(tmp_path / "lesson.ipynb", [("markdown", "text"), "", "x = 1", ("raw", "y"), "%%time\n\nz = 2"])
    assert [cell.code for cell in cells_of(path)] == ["x = 1\n", "\n\nz = 2\n"]
    assert cells_of(path)[1].places[2] == "lesson.ipynb, cell 2, line 3"


def test_what_is_composed_has_the_blank_lines_of_python_and_knows_its_places():
    parts = [
        ("x = 1", ["cell 1"]),
        ("y = 2", [""]),
        ("def f():\n    return 1", ["cell 2", "cell 3"]),
        ("import b", [""]),
    ]
    text, places = compose_source("import a", parts)
    assert text == "import a\n\nx = 1\ny = 2\n\n\ndef f():\n    return 1\n\n\nimport b\n"
    assert places == {3: "cell 1", 7: "cell 2", 8: "cell 3"}


BAD = {
    b"{": "no.ipynb is no notebook: it should be JSON, but",
    b"": "no.ipynb is no notebook: it should be JSON, but",
    b"\xff\xfe\x00": "no.ipynb is no notebook: it is no text in UTF-8",
    b"[1]": "no.ipynb is no notebook: it is JSON without cells",
    b'{"cells": [1, {"cell_type": "code", "source": 5}]}': "no.ipynb is no notebook: it is JSON without cells",
    b'{"nbformat": 3, "worksheets": [{"cells": []}]}': "it is JSON without cells as Jupyter",
    b'{"cells": [], "metadata": {"language_info": {"name": "R"}}}': "is a notebook in R: an agent should be Python",
    b'{"cells": [], "metadata": {"kernelspec": {"language": "julia"}}}': "no.ipynb is a notebook in julia",
}


@pytest.mark.parametrize("content", BAD)
def test_what_is_no_page(content, tmp_path):
    path = tmp_path / "no.ipynb"
    path.write_bytes(content)
    with pytest.raises(ValueError) as fault:
        from_page(path, None, tmp_path)
    assert BAD[content] in str(fault.value) and not (tmp_path / AGENT_PY).exists()


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("get_ipython().run_line_magic('time', 'x')", ["time", "x"]),
        ("get_ipython().run_cell_magic('time', '-q', x)", ["time", "-q", ""]),
        ("get_ipython().run_line_magic('time')", []),
        ("print('time', 'x')", []),
        ("import time", []),
    ],
)
def test_what_a_magic_is_given(code, texts):
    assert texts_of_magic(ast.parse(code).body[0]) == texts


def test_an_agent_of_a_file_that_a_page_writes(tmp_path):
    """By its name, which is nowhere else; a name that is like it is proposed."""
    cells = ["x = 1", f"%%writefile tools.py\n{MIDDLE}", "%%writefile notes.txt\nmy_agent is in tools.py"]
    page = written(tmp_path / "lesson.ipynb", cells)
    assert from_page(page, "my_agent", tmp_path).agent.read_text().endswith(MIDDLE + "\n")
    with pytest.raises(ValueError, match=r"lesson.ipynb: no cell defines my_agnt: did you mean my_agent\?"):
        from_page(page, "my_agnt", tmp_path)


def test_names_of_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "lesson.ipynb", [MIDDLE])
    (tmp_path / "plain.py").write_text(f"%%writefile submission.py\n{MIDDLE}\n")
    assert page_named("lesson.ipynb") == (Path("lesson.ipynb"), None)
    assert page_named("lesson.ipynb:my_agent") == (Path("lesson.ipynb"), "my_agent")
    assert page_named("plain.py") is page_named("plain.py:my_agent") is page_named("no.ipynb:my_agent") is None
    with pytest.raises(Refused, match="is a notebook's command, not Python: leave it out"):
        inline(Path("plain.py"))
