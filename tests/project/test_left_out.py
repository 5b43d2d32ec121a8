"""What was not tested here is said in the end, with what brings it in."""

import subprocess
import sys

from connectx_toolkit.system.files import ROOT
from tests.conftest import LEFT_OUT, LONGEST, SLOW

TESTS = """
import pytest
from tests.conftest import needs

@needs("chromium", False)
@pytest.mark.parametrize("number", range(3))
def test_a_page(number):
    raise AssertionError

@needs("Linux", True)
def test_this_machine():
    pytest.skip("mounts: no such device")

def test_nobody_misses():
    pytest.skip("no time")

def test_others():
    pass
"""


def test_each_kind_that_was_left_out_is_a_line_and_other_reasons_fail(tmp_path):
    (tmp_path / "test_page.py").write_text(TESTS)
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-n", "1"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 failed, 1 passed, 4 skipped" in done.stdout
    assert "Skipped: no time is not among LEFT_OUT" in done.stdout
    _, _, end = done.stdout.partition(" left out ")
    assert end.splitlines()[1:3] == [
        f"3 that need chromium: {LEFT_OUT['chromium']}",
        f"1 that needs mounts: {LEFT_OUT['mounts']}",
    ]


def test_files_that_are_slow_are_there():
    """Or make quick would take them in where they have moved to."""
    there = {(path.parent.name, path.stem.removeprefix("test_")) for path in (ROOT / "tests").rglob("test_*.py")}
    assert {(folder, name) for folder, names in SLOW.items() for name in names.split() if name != "*"} <= there
    assert SLOW.keys() <= {folder for folder, _ in there} and {*LONGEST} <= {f"test_{name}" for _, name in there}
