"""Files of a book's entries, and the manifest."""

import hashlib
import json
import subprocess
import sys

import pytest

from connectx_core.position import STANDARD, Position
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.training.makers.entries import entries_in
from connectx_toolkit.training.runs import MANIFEST

pytestmark = pytest.mark.slow
ONLY_CHECKED = {"openings.bin": "python -m benchmarks.solver --openings"}  # its maker is gone
MADE = ("agents/weights", "connectx_core/data", "labels", "connectx_toolkit/training/makers/networks")


@pytest.mark.parametrize("folder", MADE)
def test_manifest_is_true(folder):
    """Every file is recorded, with the checksum that it has."""
    entries = json.loads((ROOT / folder / MANIFEST).read_text(encoding="utf-8"))
    files = {path.name for path in (ROOT / folder).iterdir()} - {MANIFEST}
    assert set(entries) == files
    for name, entry in entries.items():
        assert hashlib.sha256((ROOT / folder / name).read_bytes()).hexdigest() == entry["sha256"]
        if name in ONLY_CHECKED:
            assert entry["checked_by"] == ONLY_CHECKED[name] and "command" not in entry
        else:
            assert entry["command"].startswith("python train.py ")


def test_entries_outlive_a_killed_run(tmp_path):
    """Half a line at the end is dropped, what is whole is kept; what depends on something else is refused."""
    path = tmp_path / "entries.txt"
    position = Position.from_moves([0, 1], STANDARD).canonical()
    with entries_in(path, "mine") as file:
        file.add(position, (2, 3))
    with path.open("ab") as half:
        half.write(b"77 99 1")
    with entries_in(path, "mine") as again:
        assert again.known == {position: (2, 3)}
    assert path.read_bytes().count(b"\n") == 2 and path.read_bytes().endswith(b"\n")
    with pytest.raises(ValueError, match="begins with b'mine', expected 'yours'"), entries_in(path, "yours"):
        pass


ADDING = """
import sys
from pathlib import Path
from connectx_core.position import STANDARD
from connectx_core.position import Position
from connectx_toolkit.training.makers.entries import entries_in

for column in range(7):
    for other in range(6):
        with entries_in(Path(sys.argv[1]), "mine") as entries:
            entries.add(Position.from_moves([column, other, int(sys.argv[2])], STANDARD), (column,))
"""


def test_two_runs_of_one_file_of_entries(tmp_path):
    """They take turns: every line of both is whole."""
    path = tmp_path / "entries.txt"
    runs = [
        subprocess.Popen([sys.executable, "-c", ADDING, path, number], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for number in "06"
    ]
    assert all("Traceback" not in run.communicate(timeout=120)[1] and run.returncode == 0 for run in runs)
    lines = path.read_text().splitlines()
    with entries_in(path, "mine") as entries:
        assert len(lines) == 1 + 2 * 42 and entries.known
    assert list(tmp_path.iterdir()) == [path]
