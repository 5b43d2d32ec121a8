"""The judge's place: what a file finds there, that nothing is left behind, and what happens where it cannot be made."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from connectx_toolkit.builder.preflight.check import run_preflight
from connectx_toolkit.builder.preflight.trial import Runner
from connectx_toolkit.system.files import ROOT
from tests.corpus_files import CORPUS, content_of

pytestmark = pytest.mark.slow


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
assert not any(name.split(".")[0] in ("bundler", "connectx_core", "tests") for name in sys.modules)
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
        pytest.skip(f"needs mounts, as root has: {runner.hello['obstacle']}")
    return runner


@pytest.fixture(scope="module")
def bare():
    """A runner on a system that cannot make the place."""
    with Runner(has_sandbox=False) as running:
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
    report = run_preflight(written(tmp_path, "looks.py", source), runner)
    assert report.verdict == "ACCEPT" and not report.warnings, report.findings


@pytest.mark.usefixtures("runner", "scratch")
def test_side_by_side_and_nothing_is_left(tmp_path):
    """Each has its own /kaggle_simulations/agent at the same time."""
    names = ("absolute_path_at_load", "data_in_another_folder", "chdir_to_the_folder", "package_with_submodules")

    def verdict(name: str) -> str:
        with Runner() as own:
            return run_preflight(packed(tmp_path, name), own).verdict

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(verdict, names)) == ["ACCEPT", "REJECT", "ACCEPT", "ACCEPT"]


@pytest.mark.usefixtures("runner")
def test_a_user_namespace_does_where_root_may_not_mount(tmp_path):
    """As for every user who is not root; skipped where this machine allows no user namespaces."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root, who can give the right up by setpriv")
    without = ["setpriv", "--bounding-set=-sys_admin", sys.executable]
    if subprocess.run(["setpriv", "--bounding-set=-sys_admin", "unshare", "-Ur", "true"], check=False).returncode:
        pytest.skip("needs user namespaces: sysctl -w user.max_user_namespaces=15000")
    code = "import sys; from connectx_toolkit.kaggle import sandbox; print(sandbox.obstacle(sys.argv[1]))"
    done = subprocess.run([*without, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.parametrize("name", ["absolute_path_at_load", "exists_else_nothing"])
def test_without_the_place_a_file_that_needs_it_is_not_judged(name, bare, tmp_path):
    report = run_preflight(packed(tmp_path, name), bare)
    assert report.verdict == "NOT JUDGED"
    assert "/kaggle_simulations/agent cannot be made here" in " ".join(text for _, _, text in report.findings)


def test_without_the_place_this_machines_files_are_hidden_too(bare, tmp_path):
    secret = written(tmp_path, "secret.txt", "of this machine")
    needs = f"TEXT = open({str(secret)!r}).read()\n\n\ndef agent(obs):\n    return obs.board.index(0)\n"
    assert "Kaggle has only what you submit" in run_preflight(written(tmp_path, "a.py", needs), bare).reasons[0]
    own = "with open('/tmp/preflight_own_file', 'w') as file:\n    file.write('x')\nopen(file.name).close()\n"
    own += "import os\n\nos.remove(file.name)\n\n\ndef agent(obs):\n    return obs.board.index(0)\n"
    assert run_preflight(written(tmp_path, "b.py", own), bare).verdict == "ACCEPT"
