"""Names, titles and texts of exceptions that look like markup: shown as they are by every output of every command."""

import contextlib
import html
import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.cli import build as build_submission
from tests.conftest import evaluate

# Of rich (tags that close nothing, styles, emoji), of plots (hidden labels, formulas), of Markdown and
# HTML. A "/" can only stand between a folder and a file.
CRASHES, PLAYS = "_[/x]$a_b$.py", "[bold]|<b>$^$:x:"
FAULT = "no model at [/kaggle/net.bin] [bold] $x_"
LEFTMOST = "    return obs.board.index(0)\n"
CRASHING = f"    if sum(map(bool, obs.board)) > 14:\n        raise ValueError({FAULT!r})\n{LEFTMOST}"
AGENTS = {CRASHES: CRASHING, f"{PLAYS}.py": LEFTMOST}
MOVES = [3, 3, 3, 3, 2, 2, 4, 0, 5]  # the first player wins; the second could have stopped it


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Both agents, a store of their games, and a replay in which the one's team lost to the other's."""
    folder = tmp_path_factory.mktemp("names")
    for name, source in AGENTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"def agent(obs, config):\n{source}")
    steps = [[{"action": 0}, {"action": 0}]]
    steps += [[{"action": move}] * 2 for move in MOVES]
    replay = {"name": "connectx", "configuration": {"rows": 6, "columns": 7, "inarow": 4}, "statuses": ["DONE"] * 2}
    more = {"steps": steps, "info": {"TeamNames": [PLAYS, CRASHES]}}
    (folder / "[x].json").write_text(json.dumps({**replay, **more}))
    with contextlib.chdir(folder):
        evaluate(["match", CRASHES, f"{PLAYS}.py", *PLAYED])
    return folder


PLAYED = ["--pairs", "2", "--games", "store"]
BOTH = f"{CRASHES} {PLAYS}.py"
# What is printed, by command: the texts that must be there.
COMMANDS: dict[str, tuple[str, ...]] = {
    f"match {BOTH} --pairs 2 --games store": (CRASHES, f"{PLAYS}.py", FAULT),
    f"tournament {BOTH} leftmost --pairs 2 --games store --ladder [bold]": (CRASHES, f"{PLAYS}.py"),
    f"{BOTH} --rounds 2": (CRASHES, f"{PLAYS}.py", FAULT),
    "report --games store": (CRASHES, f"{PLAYS}.py"),
    "analyse store": (CRASHES, f"{PLAYS}.py"),
    f"analyse store --me {CRASHES}": (CRASHES, f"{PLAYS}.py"),
    "analyse [x].json": (CRASHES, PLAYS),
    f"analyse [x].json [x].json --me {CRASHES}": (CRASHES, PLAYS),
    f"analyse {''.join(map(str, MOVES))} --names {CRASHES} {PLAYS}": (CRASHES, PLAYS),
    f"explore --add [x].json --games games --me {CRASHES}": (PLAYS,),
    f"analyse [x].json [x].json --me {CRASHES} --write-mistakes [bold].txt": (CRASHES, "[bold].txt"),
    f"exam {BOTH} --count 3": (CRASHES, f"{PLAYS}.py"),
}


def words_of(out: str) -> str:
    """The output without the frames of tables, and without the line breaks and spaces that fit a text into one."""
    return re.sub(r"[\s─-╿]", "", out)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    evaluate(command.split())
    out = words_of(capsys.readouterr().out)
    for text in COMMANDS[command]:
        assert words_of(text) in out


def a_ladder(monkeypatch) -> None:
    monkeypatch.setattr("connectx_toolkit.report.catalogue.read_ladder", lambda: (PLAYS, {f"{CRASHES}@4": 1.0}))
    monkeypatch.setattr("connectx_toolkit.report.catalogue.kaggle_agents", lambda: {CRASHES: None})
    evaluate(["list"])


def submissions(monkeypatch) -> None:
    one = SimpleNamespace(ref=1, date=datetime(2026, 1, 1), public_score="1", file_name=CRASHES, description=PLAYS)
    one.status = SimpleNamespace(name="COMPLETE")
    monkeypatch.setattr("connectx_toolkit.games.episodes.list_submissions", lambda kaggle: [one])
    monkeypatch.setattr("connectx_toolkit.games.episodes.connect_account", contextlib.nullcontext)
    evaluate(["episodes"])


def a_build(monkeypatch) -> None:
    report = Report(CRASHES)
    report.add("[/x]", "note", PLAYS)
    report.add("plays", "reject", FAULT)
    report.written = Path(PLAYS)
    build_submission.show(report, False)


@pytest.mark.parametrize("shown", [a_ladder, submissions, a_build])
def test_what_needs_more_than_a_store(shown: Callable, monkeypatch, capsys):
    shown(monkeypatch)
    out = words_of(capsys.readouterr().out)
    assert CRASHES in out and PLAYS in out


def test_a_ladder_to_publish(folder, monkeypatch, capsys):
    """In Markdown, with every sign escaped that would mean something there; and in the chart."""
    monkeypatch.chdir(folder)
    evaluate(["report", "--games", "store", "--ladder", "[i]"])
    rows = Path("[i].md").read_text().splitlines()
    (row,) = [row for row in rows if row.startswith("|") and "bold" in row]
    assert r"| \[bold\]\|\<b\>\$^\$:x:.py |" in row and any(r"| \_\[/x\]\$a_b\$.py |" in row for row in rows)
    assert (
        html.escape(CRASHES) in Path("[i].svg").read_text()
        and CRASHES in json.loads(Path("[i].json").read_text())["agents"]
    )


def test_pages_and_charts(folder, monkeypatch, capsys):
    """Names are text in the page, in its tables and in every chart."""
    monkeypatch.chdir(folder)
    arguments = ["--latest", "40", "--judge", "--html", "[x].html"]
    evaluate(["report", "--games", "store", *arguments])
    text = Path("[x].html").read_text()
    charts = re.findall(r"<svg.*?</svg>", text, re.S)
    names = [html.escape(name) for name in (CRASHES, f"{PLAYS}.py")]
    assert len(charts) == 3  # ladder, times, accuracy
    for name in names:
        assert all(f">{name}</text>" in chart and name in chart.split("</desc>")[0] for chart in charts)
        cell = f"{re.escape(name)}</td>"
        assert re.search(rf'<td class="name">{cell}.*<td class="name">\d {cell}', text, re.S)
    assert "<b>" not in text


def test_the_page_of_replays(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    evaluate(["analyse", "[x].json", "--me", CRASHES, "--html", "[x].html"])
    text = Path("[x].html").read_text()
    assert html.escape(CRASHES) in text and "<b>" not in text
