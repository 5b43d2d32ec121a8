"""The page of results is what its script makes of the records, README says the same, and each record is traceable."""

import json
import re
from datetime import date

import pytest

from benchmarks import results_page
from benchmarks.machine import RESULTS
from benchmarks.results_page import MARKED, PAGE, PAGES, README, TABLES, filled, gains, read
from connectx_toolkit.system.files import ROOT

RECORDS = sorted(RESULTS.glob("*.json"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_pages_tables_are_those_of_the_records(path):
    """Otherwise: python -m benchmarks.results_page"""
    assert path.read_text(encoding="utf-8") == filled(path)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_how_it_was_measured(path):
    """By a command that is there, on a commit, a machine and a date, all of which were written down."""
    record = json.loads(path.read_text(encoding="utf-8"))
    command = re.match(r"python (?:-m (benchmarks\.\w+)|(evaluate)\.py)(?: |$)", record["command"])
    assert command and (ROOT / f"{(command[1] or command[2]).replace('.', '/')}.py").is_file()
    assert re.match(r"[0-9a-f]{7,40}( \(.+\))?$", record["commit"]), record["commit"]
    assert record["machine"] and date.fromisoformat(record["date"])
    assert record["figure"] not in ("", None) and record["unit"] and "anchor" in record
    assert "not recorded" not in path.read_text(encoding="utf-8")


def test_the_page_shows_every_record(monkeypatch):
    shown: list[str] = []

    def noting(name: str) -> results_page.Record:
        shown.append(name)
        return read(name)

    monkeypatch.setattr(results_page, "read", noting)
    filled(PAGE)
    assert set(shown) == {path.stem for path in RECORDS}
    assert {name for _, records in TABLES.values() for name in records} == set(shown), "each with its command"
    marks = [mark for path in PAGES for _, mark, _ in MARKED.findall(path.read_text(encoding="utf-8"))]
    assert sorted(marks) == sorted(TABLES)


def test_text_is_short():
    """What is written by hand."""
    assert len(MARKED.sub("", PAGE.read_text(encoding="utf-8")).split()) < 1000


def figures() -> list[tuple[str, ...]]:
    """What the records say, in the words of the README's rows of figures, in their order; the command comes last."""
    empty, seats, positions = read("empty-board"), read("perfect-games")["seats"], read("perfect-positions")
    others = [f"BitBully (C++) in the same run: {empty['anchor']['bitbully']:.0f} s"] if empty["anchor"] else []
    first, second = (f"{row['won']} of {row['games']}" for row in (seats["first"], seats["slowest"]))
    over_games = read("second-seat-empty")["interval"].replace("%", "").replace(" +-", " ± ")
    over = {part: f"{gain.mean:.1f} ± {gain.half:.1f}" for part, gain in gains().items()}
    network, looks = read("network-half-random"), read("verdicts-looks")
    policy, alone = (network["players"][player] for player in ("policy", "network"))
    learning, held_out = (read(f"learn-from-games-{pool}")["gains"]["again"] for pool in ("learning", "held-out"))
    assert positions["figure"] == 100
    return [
        (f"| {empty['figure']:.1f} s |", *others, "solver --empty"),
        (f"first player {first};", f"in theory, {second} |", "perfect games FILE"),
        (f"in {positions['count']:,} positions | none |", "perfect positions FILE"),
        (f"| +{over_games} over games", over["all"].partition(" ")[2], "second_seat --against FILE"),
        (f"| +{over['without leaf']} over players", f"+{over['without kin']}", "second_seat --against FILE"),
        (
            f"| {policy['perfect']:.1f}% of {network['positions']:,} (",
            f"{policy['passes']} forward",
            "recipes",
        ),
        (f"| {alone['perfect']:.1f}% of the same |", "recipes"),
        (f"| at most {looks['figure']}%", f"| up to {looks['anchor']['plain']}%", "verdicts --looks"),
        (f"| {learning} points", "learn_from_games report"),
        (f"| {held_out} points", "learn_from_games report"),
    ]


def test_the_readme_says_what_the_records_say():
    table = re.search(r"^\|---.*?\n\n", README.read_text(encoding="utf-8"), re.M | re.S)
    assert table
    for row, (*cells, command) in zip(table[0].splitlines()[1:-1], figures(), strict=True):
        assert all(cell in row for cell in cells), f"{row}\nlacks one of {cells}"
        assert row.endswith(f"| `python -m benchmarks.{command}` |")
