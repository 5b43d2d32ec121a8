"""Where figures of docs/project/results.md and the guide to exams come from: each table has its commands, commits and
dates below it.

test_readme parses the commands.
"""

import re
import subprocess
from datetime import UTC, datetime
from itertools import takewhile
from typing import NamedTuple

import pytest

from connectx_toolkit.system.files import ROOT

PAGES = [ROOT / "docs" / "project" / "results.md", ROOT / "docs" / "guides" / "exam.md"]
LINES = [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()]
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
COMMIT = re.compile(r"\bcommit ([0-9a-f]{7,40})\b")
GONE = re.compile(r"- until ([0-9a-f]{7,40}): (.*?), (?:with|commit)")  # benchmarks that the repository had until then
RECORDS = [line for line in LINES if line.startswith("- ") and DATE.search(line)]


class Table(NamedTuple):
    section: str
    line: int  # of its heads


TABLES = [
    Table(next(LINES[above] for above in range(line, -1, -1) if LINES[above].startswith("## ")), line)
    for line in range(len(LINES) - 1)
    if LINES[line + 1].startswith("| ---")
]


def git(*words: str) -> str:
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.section[3:]}, line {table.line + 1}")
def test_each_table_has_its_record(table):
    """Below it, in its section. Rows of the first table name their sections instead."""
    if table.section == "## In short":
        links = {re.findall(r"\]\(#([\w-]+)\)", row)[0] for row in takewhile(bool, LINES[table.line + 2 :])}
        sections = {line[3:].lower().replace(" ", "-") for line in LINES if line.startswith("## ")}
        assert links and links <= sections
    else:
        below = takewhile(lambda line: not line.startswith("## "), LINES[table.line :])
        assert any(line in RECORDS for line in below)


@pytest.mark.parametrize("record", RECORDS)
def test_records_name_commands_and_commits(record):
    assert COMMIT.search(record) and (GONE.match(record) or re.search(r"`python [^`]+`", record))


@pytest.mark.skipif(git("rev-parse", "--is-shallow-repository") != "false", reason="no clone, or one without history")
@pytest.mark.parametrize("record", RECORDS)
def test_commits_exist(record):
    """None is newer than its figures; a benchmark that is gone is in the commit that is named for it."""
    for commit in COMMIT.findall(record):
        seconds = git("log", "-1", "--format=%ct", commit)
        assert seconds, f"no commit {commit}"
        made = datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
        assert made <= max(DATE.findall(record)), f"{commit} is of {made}"
    if gone := GONE.match(record):
        for name in re.findall(r"`(\w+)", gone[2]):
            assert git("cat-file", "-t", f"{gone[1]}:benchmarks/{name}.py") == "blob", name


def test_the_machine_is_named():
    assert any("the machine is AMD EPYC" in line for line in LINES[:4])
