"""Streams that are closed, broken or full: no fault of ours, no false code, and what was done is kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from connectx_toolkit.cli.main import READER_LEFT, run
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.system.files import ROOT
from tests.conftest import LINUX

pytestmark = [pytest.mark.slow, LINUX]
MATCH = "match leftmost middle --pairs 1 --games games"
COMMANDS = [  # that print, in this order: report needs the games of match
    ("evaluate", "leftmost middle --rounds 2"),
    ("evaluate", MATCH),
    ("evaluate", "tournament leftmost middle one_step --pairs 1 --games games"),
    ("evaluate", "exam leftmost --count 5"),
    ("evaluate", "analyse 3333"),
    ("evaluate", "explore --games games --from arena --time 0"),
    ("evaluate", "report --games games"),
    ("evaluate", "list"),
    ("evaluate", "--help"),
    ("evaluate", "match --help"),
    ("build", "--help"),
    ("train", "--help"),
    ("train", "menace --game nim --games 20"),
]


def code_in_shell(words: str, folder: Path) -> tuple[int, str]:
    """Exit code and standard error of "SCRIPT ARGUMENTS REDIRECTIONS", as a shell runs it."""
    script, _, rest = words.partition(" ")
    call = ["bash", "-o", "pipefail", "-c", f"{sys.executable} {ROOT / script} {rest}"]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("evaluate.py list >&-", 0),
        ("evaluate.py list >&- 2>&- <&-", 0),
        ("evaluate.py match nobody middle 2>&-", 2),
        (f"evaluate.py {MATCH} >&- 2>&- <&-", 0),
        ("evaluate.py list | true", 141),
        (f"evaluate.py {MATCH} 2>&1 | true", 141),
        ("evaluate.py match nobody middle 2>&1 | true", 2),
        ("build_submission.py --help | true", 141),
        ("train.py --help >&-", 0),
        ("evaluate.py --help > /dev/full", 2),
    ],
)
def test_in_a_shell(words, code, tmp_path):
    found, err = code_in_shell(words, tmp_path)
    assert found == code, err
    assert "Traceback" not in err and "toolkit's fault" not in err and "Exception ignored" not in err
    if MATCH in words:
        with GameDatabase(tmp_path / "games", create=False, origin="arena") as database:
            assert len(database) == 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("streams")


@pytest.mark.parametrize(("word", "arguments"), COMMANDS)
def test_every_command_ends_quietly_where_its_reader_has_left(word, arguments, folder, monkeypatch, capfd):
    """Standard output is a pipe that nobody reads, as soon as ``head -1`` has ended."""
    monkeypatch.chdir(folder)
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        assert _code_of(word, arguments) == READER_LEFT
    assert "fault" not in capfd.readouterr().err


def _code_of(word: str, arguments: str) -> int:
    try:
        return run(word, arguments.split())
    except SystemExit as stop:
        return int(stop.code or 0)
