"""The page of results is what its script makes of the records, and each record says how it was measured."""

import json

import pytest

from benchmarks import results_page
from benchmarks.machine import RESULTS
from benchmarks.results_page import PAGE, PLOTS, SECTIONS, page

RECORDS = sorted(RESULTS.glob("*.json"))


def test_the_page_is_that_of_the_records():
    """Otherwise: python -m benchmarks.results_page"""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_how_it_was_measured(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    fields = ("figure", "unit", "command", "commit", "machine", "versions", "date")
    assert all(record[field] not in ("", None) for field in fields) and "anchor" in record


def test_the_page_shows_every_record(monkeypatch):
    shown: list[str] = []
    read = results_page.read

    def noting(name: str) -> results_page.Record:
        shown.append(name)
        return read(name)

    monkeypatch.setattr(results_page, "read", noting)
    page()
    assert set(shown) == {path.stem for path in RECORDS}


def test_text_is_short_and_plots_are_there():
    text = [line for line in page().splitlines() if not line.startswith("|")]
    assert len(" ".join(text).split()) < 1500
    assert {section.picture for section in SECTIONS if section.picture} == set(PLOTS)
    assert all(PAGE.with_name(name).is_file() for name in PLOTS)
