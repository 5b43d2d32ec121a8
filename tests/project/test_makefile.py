"""What make does before it installs anything."""

import subprocess
from pathlib import Path

import pytest

from connectx_toolkit.system.files import ROOT


def python_of(folder: Path, version: str) -> Path:
    """Something that says it is this version of Python."""
    folder.mkdir(parents=True)
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho Python {version}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("version", "accepted"), [("3.12.1", True), ("3.13.0", False)])
def test_an_environment_of_another_python_is_not_used(tmp_path, version, accepted):
    """PYTHON= would otherwise be forgotten without a word, where .venv is there already."""
    python_of(tmp_path / "venv" / "bin", "3.12.1")
    asked = python_of(tmp_path / "other", version)
    command = ["make", "-n", "check", f"PYTHON={asked}", f"VENV={tmp_path / 'venv'}"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode == 0) == accepted
    assert accepted or "is of Python 3.12.1, not of" in run.stderr
