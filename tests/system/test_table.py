"""Tables: three renderers of one declaration."""

import html
import re
from operator import itemgetter

from connectx_toolkit.system.table import Column, Table, markdown_text

EVIL = "<b>|[red]`x`"
COLUMNS = (
    Column("<name>", help="who it is", classes="first"),
    Column("points", show="{:.0%}".format, shade=float),
    Column("span", lambda row: row[1] and (row[1] - 0.25, 1), lambda ends: f"{ends[0]} to {ends[1]}", align="right"),
    Column("note", itemgetter(2)),
)
TABLE = Table("scores & more", COLUMNS, [(EVIL, 0.75, "won"), ("a_b", None, "")], "of 100", itemgetter(2))


def test_page():
    """Every text is escaped; help is at the head, and below with its column's class; the colour at the cell."""
    text = TABLE.html("scores")
    cells = re.findall(r"<t[hd]([^>]*)>([^<>]*)</t", text)
    assert [html.unescape(cell) for _, cell in cells[:4]] == ["<name>", "points", "span", "note"]
    assert [html.unescape(cell) for _, cell in cells[4:]] == [EVIL, "75%", "0.5 to 1", "won", "a_b", "", "", ""]
    assert cells[0][0] == ' class="first" title="who it is"' and cells[1][0] == ' class="number"'
    assert cells[5][0].endswith('style="background: color-mix(in srgb, var(--cx-win) 25%, transparent)"')
    assert '<table id="scores" aria-label="scores &amp; more">' in text and '<tr class="won">' in text
    note = '<p class="note"><span class="first">&lt;name&gt;: who it is; </span><span>of 100</span></p>'
    assert text.endswith(note) and "<b>" not in text


def test_markdown():
    r"""Pipes and what else means something are escaped, the sides are in the rule.

    As Markdown has it, an escaped pipe is no border: each line has five of the others.
    """
    lines = TABLE.markdown().splitlines()
    assert lines[:2] == [r"| \<name\> | points | span | note |", "| --- | --: | --: | --- |"]
    assert lines[2] == r"| \<b\>\|\[red\]\`x\` | 75% | 0.5 to 1 | won |"
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]] == [5] * 4
    assert lines[3:] == ["| a_b |  |  |  |", "", r"\<name\>: who it is; of 100."]


def test_for_machines():
    assert TABLE.records()[0] == {"<name>": EVIL, "points": 0.75, "span": (0.5, 1), "note": "won"}


def test_a_name_that_is_shown_once_is_in_each_record():
    rows = [("a", 1), ("a", 2), ("b", 2), ("a", 2)]
    table = Table("", [Column("agent", is_once=True), "games"], rows)
    assert [[text for _, text, _ in row] for row in table.cells()] == [["a", "1"], ["", "2"], ["b", "2"], ["a", "2"]]
    assert [record["agent"] for record in table.records()] == ["a", "a", "b", "a"]


def test_markdown_leaves_ordinary_names_alone():
    for name in ("my_agent.py", "minimax@4~10", "runs/one_step.py", "1188 to 1200", "-5"):
        assert markdown_text(name) == name
    assert markdown_text("__init__*`#") == r"\_\_init\_\_\*\`\#"
