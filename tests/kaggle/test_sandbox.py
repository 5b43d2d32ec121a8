"""The judge's place: what a file finds there, that nothing is left behind, and what happens where it cannot be made."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from connectx_toolkit.builder.preflight.check import check
from connectx_toolkit.builder.preflight.stage import Runner
from connectx_toolkit.kaggle import sandbox
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.system.files import ROOT
from tests.corpus_files import CORPUS, content_of

# What has to be in the place's /tmp: a Python that lies there, as that of a checkout in /tmp does.
PYTHONS = {Path(path).parts[2] for path in (sys.prefix, sys.base_prefix) if Path(path).parts[:2] == ("/", "tmp")}
# Every line fails where the place differs from the judge's.
LOOKS_AROUND = f"""
import os
import sys
import tempfile

AGENT = "/kaggle_simulations/agent"
assert os.listdir("/kaggle_simulations") == ["agent"] and os.listdir(AGENT) == ["main.py"]
assert os.getcwd() != AGENT and os.listdir() == [] and os.listdir("/tmp") == {sorted(PYTHONS)}
open("own.txt", "w").close()
assert os.path.exists(tempfile.mkdtemp()) and os.path.isdir(os.environ["HOME"])
for path in (AGENT + "/new.txt", AGENT + "/main.py", "/usr/new.txt", "/etc/hostname"):
    try:
        open(path, "a").close()
    except OSError:
        continue
    raise AssertionError(path)
assert not os.path.exists({str(ROOT / "build_submission.py")!r}) and not os.path.exists(SECRET)
assert not any(name.split(".")[0] in ("bundler", "connectx", "tests") for name in sys.modules)
try:
    import connectx_toolkit.builder
except ImportError:
    pass
else:
    raise AssertionError("this project can be imported")


def agent(obs, config):
    assert config["__raw_path__"] == AGENT + "/main.py"
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
"""


@pytest.fixture(scope="module")
def runner(runner):
    if runner.hello["obstacle"]:
        pytest.skip(f"mounts: {runner.hello['obstacle']}")
    return runner


@pytest.fixture(scope="module")
def bare():
    """A runner on a system that cannot make the place."""
    with Runner(has_place=False) as running:
        yield running


def written(folder: Path, name: str, source: str) -> Path:
    (folder / name).write_text(source)
    return folder / name


def packed(folder: Path, name: str) -> Path:
    """One of the corpus' archives."""
    (folder / f"{name}.tar.gz").write_bytes(content_of(CORPUS / "idioms" / name))
    return folder / f"{name}.tar.gz"


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Iterator[Path]:
    """The temporary folder of a pre-flight, which has to be empty when it is over, as the machine is without traces."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = sorted(os.listdir("/"))
    yield folder
    assert os.listdir(folder) == [] and sorted(os.listdir("/")) == before
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("shared", ["", "/var/tmp"])  # which a system has of its own, unlike the one of pytest
def test_what_a_file_finds_there(shared, runner, tmp_path):
    with tempfile.TemporaryDirectory(dir=shared or tmp_path) as folder:
        _look_around(written(Path(folder), "secret.txt", "of this machine"), runner, tmp_path)


def _look_around(secret: Path, runner: Runner, tmp_path: Path) -> None:
    source = f"SECRET = {str(secret)!r}\n{LOOKS_AROUND}"
    report = check(written(tmp_path, "looks.py", source), runner)
    assert report.verdict == "ACCEPT" and not report.warnings, report.findings


@pytest.mark.usefixtures("runner", "scratch")
def test_side_by_side_and_nothing_is_left(tmp_path):
    """Each has its own /kaggle_simulations/agent at the same time."""
    names = ("absolute_path_at_load", "data_in_another_folder", "chdir_to_the_folder", "package_with_submodules")

    def verdict(name: str) -> str:
        with Runner() as own:
            return check(packed(tmp_path, name), own).verdict

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(verdict, names)) == ["ACCEPT", "REJECT", "ACCEPT", "ACCEPT"]


@pytest.mark.usefixtures("runner")
def test_a_user_namespace_does_where_root_may_not_mount(tmp_path):
    """As for every user who is not root; skipped where this machine allows no user namespaces."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("mounts: only root can give the right up, by setpriv")
    without = ["setpriv", "--bounding-set=-sys_admin", sys.executable]
    if subprocess.run(["setpriv", "--bounding-set=-sys_admin", "unshare", "-Ur", "true"], check=False).returncode:
        pytest.skip("user namespaces")
    code = "import sys; from connectx_toolkit.kaggle import sandbox; print(sandbox.obstacle(sys.argv[1]))"
    done = subprocess.run([*without, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_what_is_in_the_way_is_said(tmp_path, monkeypatch):
    """Another system, a kernel that refuses: a text, no exception."""
    for name in ("refused", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("connectx_toolkit.kaggle.sandbox.CLONE_NEWNS", 1)  # no flag that there is
    assert sandbox.obstacle(str(tmp_path / "refused")) == "unshare: Invalid argument"
    monkeypatch.setattr(ctypes, "CDLL", lambda *names, **options: object())
    assert sandbox.obstacle(str(tmp_path / "elsewhere")) == f"{sys.platform} has no unshare"


@pytest.mark.parametrize("name", ["absolute_path_at_load", "exists_else_nothing"])
def test_without_the_place_a_file_that_needs_it_is_not_judged(name, bare, tmp_path):
    report = check(packed(tmp_path, name), bare)
    assert report.verdict == "NOT JUDGED"
    assert "/kaggle_simulations/agent cannot be made here" in " ".join(text for _, _, text in report.findings)


def test_without_the_place_the_report_says_what_was_not_tried(bare, tmp_path):
    report = check(packed(tmp_path, "path_append_and_import"), bare)
    assert report.verdict == "ACCEPT"
    assert any(f.topic == "place" and "could not be tried" in f.text for f in report.findings)
    plain = check(written(tmp_path, "plain.py", "def agent(obs):\n    return obs.board.index(0)\n"), bare)
    assert plain.verdict == "ACCEPT" and all(finding.topic != "place" for finding in plain.findings)


def test_without_the_place_this_machines_files_are_hidden_too(bare, tmp_path):
    secret = written(tmp_path, "secret.txt", "of this machine")
    needs = f"TEXT = open({str(secret)!r}).read()\n\n\ndef agent(obs):\n    return obs.board.index(0)\n"
    assert "Kaggle has only what you submit" in check(written(tmp_path, "a.py", needs), bare).reasons[0]
    own = "with open('/tmp/preflight_own_file', 'w') as file:\n    file.write('x')\nopen(file.name).close()\n"
    own += "import os\n\nos.remove(file.name)\n\n\ndef agent(obs):\n    return obs.board.index(0)\n"
    assert check(written(tmp_path, "b.py", own), bare).verdict == "ACCEPT"


def test_what_was_hidden_is_said(runner, tmp_path):
    secret = written(tmp_path, "secret.txt", "of this machine")
    source = f"try:\n    open({str(secret)!r}).close()\nexcept OSError:\n    pass\n\n\n"
    report = check(written(tmp_path, "a.py", source + "def agent(obs):\n    return obs.board.index(0)\n"), runner)
    assert any(f"opens {secret}. The judge lacks that file" in f.text and f.level == "note" for f in report.findings)


def test_progress_is_told_while_it_lasts(runner, tmp_path):
    """What takes more than a few seconds says what it is at."""
    source = "import time\n\ntime.sleep(4.6)\n\n\ndef agent(obs):\n    return obs.board.index(0)\n"
    told: list[str] = []
    runner.tell = told.append
    try:
        report = check(written(tmp_path, "slow.py", source), runner, Limits(act_timeout=0.5, overage=9.0))
    finally:
        runner.tell = lambda line: None
    assert report.accepted
    assert told[0] == "checking: loading and asking, load, 4 s" and any("game at 0.5 s a move" in line for line in told)
