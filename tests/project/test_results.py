"""The page of results is what its script makes of the records, README says the same, and each record is traceable."""

import json
import re
from datetime import date

import pytest

from benchmarks import results_page
from benchmarks.machine import RESULTS
from benchmarks.results_page import PAGE, README, SECTIONS, gains, page, read, readme
from connectx_toolkit.places import ROOT

RECORDS = sorted(RESULTS.glob("*.json"))


def test_the_pages_are_those_of_the_records():
    """Otherwise: python -m benchmarks.results_page"""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert README.read_text(encoding="utf-8") == readme() and "<!-- ladder -->\n| agent |" in readme()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_how_it_was_measured(path):
    """By a command that is there, on a commit, a machine and a date, all of which were written down."""
    record = json.loads(path.read_text(encoding="utf-8"))
    module = re.match(r"python -m benchmarks\.(\w+)|python (evaluate)\.py ", record["command"])
    assert module and any(
        (ROOT / folder / f"{name}.py").is_file() for folder in ("benchmarks", "") for name in module.groups()
    )
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
    page()
    assert set(shown) == {path.stem for path in RECORDS}
    assert {name for section in SECTIONS for name in section.records} == set(shown), "each with its command"


def test_text_is_short():
    text = [line for line in page().splitlines() if not line.startswith("|")]
    assert len(" ".join(text).split()) < 1500


def figures() -> list[tuple[str, ...]]:
    """What the records say, in the words of the README's rows of figures, in their order; the command comes last."""
    empty, games, positions = read("empty-board"), read("perfect-games"), read("perfect-positions")
    (bitbully,), half = empty["anchor"].values(), read("network-half-random")["players"]
    looks = read("verdicts-looks")
    seat, (twelve, ten) = read("second-seat-empty"), gains()
    learning, held_out = (read(f"learn-from-games-{pool}")["gains"]["again"] for pool in ("learning", "held-out"))
    first, second = (
        f"{games['seats'][seat]['won']} of {games['seats'][seat]['games']}" for seat in ("first", "slowest")
    )
    assert positions["figure"] == 100
    return [
        (f"| {empty['figure']:.1f} s |", f"{bitbully:.0f} s", "benchmarks.solver --empty"),
        (
            f"{first['won']} of {first['games']}",
            f"{second['won']} of {second['games']}",
            "benchmarks.perfect games FILE",
        ),
        (f"in {positions['count']:,} positions", "| none |", "benchmarks.perfect positions FILE"),
        (f"+{seat['interval'].replace('%', '').replace(' +-', ' ± ')}", f"± {twelve[1]:.1f}", "benchmarks.second_seat"),
        (f"+{ten[0]:.1f} ± {ten[1]:.1f}", "benchmarks.second_seat"),
        (f"{half['policy']['perfect']:.1f}%", f"{half['policy']['passes']:g} forward passes", "benchmarks.recipes"),
        (f"{half['network']['perfect']:.1f}%", "benchmarks.recipes"),
        (f"at most {looks['figure']}%", f"{looks['anchor']['plain']}%", "benchmarks.verdicts --looks"),
        (learning, "benchmarks.learn_from_games report"),
        (held_out, "benchmarks.learn_from_games report"),
    ]


def test_the_readme_says_what_the_records_say():
    rows = [
        line for line in README.read_text(encoding="utf-8").split("## Three")[0].splitlines() if line.startswith("| ")
    ]
    for row, found in zip(rows[1:], figures(), strict=True):
        *cells, command = found
        assert all(cell in row for cell in cells), f"{row}\nlacks one of {cells}"
        assert f"`python -m {command}" in row.split("|")[-2], row
