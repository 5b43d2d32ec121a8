"""The manifests of what ships."""

import hashlib
import json

import pytest

from connectx_toolkit.system.files import ROOT
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
