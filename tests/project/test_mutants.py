"""Faults that are planted: where they may be, and that a test which can fail sees them and another one does not."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from connectx_toolkit.system.files import ROOT
from tests.conftest import needs

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cosmic-ray"]
FOLDERS = [
    "connectx",
    "connectx_toolkit/builder/source",
    "connectx_toolkit/builder/embedded",
    "connectx_toolkit/statistics",
    "connectx_toolkit/training/environments",
]
COSMIC_RAY = needs("cosmic-ray", importlib.util.find_spec("cosmic_ray"))

SOURCE = '''def longest(words: "int | str" = 0, most: int | None = None) -> int | str:
    """Not 1 + 1."""
    return words + 1
'''
SCRIPT = """
import pathlib
from benchmarks import mutants
mutants.TESTS = {"mine.py": ["test_mine"]}
faults = mutants.draw(["mine.py"], 9, 1)
assert faults == mutants.draw(["mine.py"], 9, 1) and {fault.start_pos[0] for fault in faults} == {1, 3}
assert not any(fault.start_pos == (1, 54) for fault in faults)  # the bar of an annotation
rows = [mutants.ask(fault) for fault in faults if fault.start_pos[0] == 3]
print(*[row["by"] for row in rows], sep="\\n")
assert "words + 1\\n" in pathlib.Path("mine.py").read_text()
"""


def test_every_file_has_tests():
    """Those of the folders that are mutated, and each test is there."""
    files = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path.stem != "__init__"}
    assert files <= {ROOT / name for name in SETTINGS["tests"]}
    for name, tests in SETTINGS["tests"].items():
        assert (ROOT / name).is_file() and tests
        assert all((ROOT / "tests" / f"{test}.py").is_file() for test in tests), name


@COSMIC_RAY
def test_a_fault_is_seen_where_a_test_can_fail(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "mine.py").write_text(SOURCE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *map(str, filter(None, sys.path))])}
    for expected, seen in (("== 3", "tests/test_mine.py::test_longest"), ("is not None", "None")):
        test = f"from mine import longest\n\n\ndef test_longest():\n    assert longest(2) {expected}\n"
        Path(tmp_path, "tests", "test_mine.py").write_text(test)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert set(done.stdout.split()) == {seen}
