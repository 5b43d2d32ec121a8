"""Archives play as files do: found, unpacked, shown where Kaggle has them, known again, and cleaned up."""

import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from connectx_toolkit.kaggle import upload
from connectx_toolkit.kaggle.archive import BadArchive, share_archives, unpack_once
from connectx_toolkit.kaggle.rules import DEFAULTS
from connectx_toolkit.players.process import AgentProcess
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.files import ROOT
from evaluate import get_win_percentages
from tests.conftest import TWO_CORES, refused
from tests.conftest import evaluate as main

pytestmark = pytest.mark.slow
MAIN = """
import os, sys
BOOK = open("/kaggle_simulations/agent/book.bin").read()
sys.path.append("/kaggle_simulations/agent")
import early

def agent(obs, config):
    from late import choose
    assert config["__raw_path__"] == "/kaggle_simulations/agent/main.py" and os.getcwd() != os.path.dirname(early.PATH)
    return choose([column for column in BOOK.split() if not obs.board[int(column)]])
"""
FILES = {"main.py": MAIN, "early.py": "PATH = __file__\n", "late.py": "def choose(c):\n    return int(c[0])\n"}
FILES |= {"book.bin": "3 2 4 1 5 0 6"}
PLAIN = "def agent(obs, config):\n    return obs.board.index(0)\n"


def packed(path: Path, files: dict[str, str], time: int = 0) -> str:
    """Writes an archive of these files, made at that time."""
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(text.encode()), time
            tar.addfile(info, io.BytesIO(text.encode()))
    return str(path)


@pytest.fixture(autouse=True)
def _tidy():
    """What a test unpacks outside any run goes with the test: a worker of pytest-xdist ends without its exit hooks."""
    with share_archives():
        yield


@pytest.fixture
def has_place(tmp_path):
    """Skips where the judge's folder cannot be shown. In a process of its own, which enters it for good."""
    (tmp_path / "root").mkdir()
    code = "import sys\nfrom connectx_toolkit.kaggle.sandbox import show_agent\nshow_agent(*sys.argv[1:])\n"
    command = [sys.executable, "-c", code, str(tmp_path), str(tmp_path / "root")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs mounts, as root has: {done.stderr.splitlines()[-1]}")


@pytest.mark.usefixtures("has_place")
@pytest.mark.parametrize("command", ["", "match", "tournament folder", pytest.param("concurrency", marks=TWO_CORES)])
def test_what_reads_the_judges_folder_plays(command, tmp_path, monkeypatch, capsys):
    """Its book by absolute path while it loads, its modules at the top and within a move."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # with no other run that has reserved cores
    Path("agents").mkdir()
    Path("agents/other.py").write_text(PLAIN)
    packed(Path("agents/mine.tar.gz"), FILES)
    before = list(Path("/kaggle_simulations").rglob("*"))  # empty, but for a machine like Kaggle's
    arguments = {
        "": "agents/mine.tar.gz agents/other.py --rounds 2",
        "match": "match agents/mine.tar.gz agents/mine.tar.gz --pairs 1 --games store",
        "tournament folder": "tournament agents --pairs 1 --games store",
        "concurrency": "agents/mine.tar.gz leftmost --rounds 4 --workers 2",
    }
    main(arguments[command].split())
    out, err = capsys.readouterr()
    assert err == "" and "exception" not in out and "cannot" not in out
    if command in ("", "concurrency"):
        assert "Number of Invalid Plays by Agent 1: 0" in out
    assert list(Path("/kaggle_simulations").rglob("*")) == before


@pytest.mark.usefixtures("has_place")
def test_the_folder_is_the_agents_alone_and_read_only(tmp_path):
    """Two archives at a time each see their own; neither can write there, nor see it where no archive is."""
    text = "import os\nHERE = '/kaggle_simulations/agent'\ndef agent(obs, config):\n"
    text += "    return int(open(f'{HERE}/n').read()) + (2 if os.access(HERE, os.W_OK) else 0)\n"
    plain = "import os\ndef agent(obs, config):\n    return int(os.path.exists('/kaggle_simulations/agent/n'))\n"
    (tmp_path / "plain.py").write_text(plain)
    paths = [
        packed(tmp_path / f"{n}{end}", {"main.py": text, "n": str(n)}) for n, end in enumerate((".tar.gz", ".tgz"))
    ]
    workers = [AgentProcess(resolve(path)) for path in (*paths, tmp_path / "plain.py")]
    try:
        for worker in workers:
            worker.begin(DEFAULTS, 1)
        replies = [worker.ask(0, 1, 60.0, bytes(42), 2) for worker in workers]
    finally:
        for worker in workers:
            worker.close()
    assert [reply.action for reply in replies] == [0, 1, 0], replies


def test_without_the_place_an_archive_plays_from_a_folder(tmp_path, monkeypatch, capsys):
    """What needs the judge's folder is told why it is not there."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes\nLoad = ctypes.CDLL\nctypes.CDLL = lambda *a, **k: type('C', (), {'prctl': print})()\n"
    )
    beside = "import beside\ndef agent(obs, config):\n    return beside.first(obs.board)\n"
    files = {"main.py": beside, "beside.py": "def first(board):\n    return board.index(0)\n"}
    rounds = get_win_percentages(packed(tmp_path / "beside.tar.gz", files), "leftmost", 2)
    assert rounds.forfeits == (0, 0)
    with pytest.raises(ValueError, match=r"mine\.tar\.gz cannot be loaded: FileNotFoundError") as problem:
        get_win_percentages(packed(tmp_path / "mine.tar.gz", FILES), "leftmost", 2)
    assert "(/kaggle_simulations/agent cannot be shown here: linux has no unshare)" in str(problem.value)


def test_an_archive_is_known_by_what_is_in_it(tmp_path):
    """Not by when it was packed, or in which order."""
    specs = [
        resolve(packed(tmp_path / "a.tar.gz", {"main.py": PLAIN, "b": "1"})),
        resolve(packed(tmp_path / "b.tar.gz", {"./b": "1", "./main.py": PLAIN}, time=10**9)),
        resolve(packed(tmp_path / "c.tar.gz", {"main.py": PLAIN, "b": "2"})),
        resolve(packed(tmp_path / "d.tar.gz", {"main.py": PLAIN, "c": "1"})),
    ]
    first, second, *others = (spec.fingerprint() for spec in specs)
    assert first == second and len({first, *others}) == 3


@pytest.mark.parametrize("cores", [1, pytest.param(2, marks=TWO_CORES)])
def test_nothing_is_left_behind(cores, tmp_path, monkeypatch, capsys):
    """By a run, whose processes share what was unpacked; it is not left to the end of this process."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    text = f"import glob\nassert len(glob.glob({str(folder / 'connectx-archives-*' / '*')!r})) == 1\n" + PLAIN
    path = packed(tmp_path / "mine.tar.gz", {"main.py": text})
    assert get_win_percentages(path, path, 4, workers=cores).forfeits == (0, 0)
    assert not list(folder.glob("connectx-archives-*"))


def hostile(path: Path, **changes) -> Path:
    """An archive with a good main.py and one member that has these attributes."""
    with tarfile.open(path, "w:gz") as tar:
        good = tarfile.TarInfo("main.py")
        good.size = len(PLAIN)
        tar.addfile(good, io.BytesIO(PLAIN.encode()))
        bad = tarfile.TarInfo("bad")
        for name, value in changes.items():
            setattr(bad, name, value)
        tar.addfile(bad, io.BytesIO(bytes(bad.size)))
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "../outside.py"}, "would be extracted to"),
        ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "link to an absolute path"),
        ({"type": tarfile.SYMTYPE, "linkname": "../../x"}, "outside"),
        ({"type": tarfile.LNKTYPE, "linkname": "../../x"}, "outside"),
        ({"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}, "is a special file"),
        ({"type": tarfile.FIFOTYPE}, "is a special file"),
        ({"size": 2000}, "unpacks to more than 1,000 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_hostile_archives(changes, words, tmp_path, monkeypatch):
    """Refused in one line, and nothing is unpacked."""
    monkeypatch.setattr("connectx_toolkit.kaggle.archive.MOST_UNPACKED", 1000)
    path = hostile(tmp_path / "bad.tar.gz", **changes)
    with pytest.raises(BadArchive, match=words):
        unpack_once(str(path))
    with pytest.raises(ValueError, match=f"bad.tar.gz cannot be loaded: the archive .*{words}") as problem:
        get_win_percentages(path, "leftmost", 2)
    assert "\n" not in str(problem.value) and not (tmp_path / "outside.py").exists()


def stream(*headers: tuple[bytes, int], rest: int = 0) -> bytes:
    """A compressed archive of members (type, size), each with as many zeros, and ``rest`` zeros after its end."""
    parts = []
    for kind, size in headers:
        info = tarfile.TarInfo("x")
        info.type, info.size = kind, size
        parts += [info.tobuf(), bytes(-(-size // 512) * 512)]
    return gzip.compress(b"".join(parts) + bytes(1024 + rest), 1)


LIMITED = {
    "members": ([(tarfile.DIRTYPE, 0)] * 30, 0, "unpacks to more than 100,000 bytes or 20 files"),
    "bytes": ([(tarfile.REGTYPE, 60_000)] * 2, 0, "unpacks to more than 100,000 bytes or 20 files"),
    "the rest": ([(tarfile.REGTYPE, 1)], 10**6, "unpacks to more than 100,000 bytes or 20 files"),
    "a header": ([(tarfile.XHDTYPE, 2 << 20)], 0, "cannot be unpacked: a header of 2,097,152 bytes"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_limits_hold_for_evaluation_and_check_alike(name, tmp_path, monkeypatch):
    monkeypatch.setattr("connectx_toolkit.kaggle.archive.MOST_UNPACKED", 100_000)
    monkeypatch.setattr("connectx_toolkit.kaggle.archive.MOST_FILES", 20)
    headers, rest, words = LIMITED[name]
    content = stream(*headers, rest=rest)
    (tmp_path / "bad.tar.gz").write_bytes(content)
    with pytest.raises(BadArchive, match=words):
        unpack_once(str(tmp_path / "bad.tar.gz"))
    with pytest.raises(upload.Unsuitable, match=words):
        upload.unpack_upload("bad.tar.gz", content, tmp_path)


def test_as_many_files_as_are_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr("connectx_toolkit.kaggle.archive.MOST_FILES", 2)
    files = {"main.py": PLAIN, "a": ""}
    assert unpack_once(packed(tmp_path / "two.tar.gz", files)).is_file()
    with pytest.raises(BadArchive, match=r"unpacks to more than .* or 2 files"):
        unpack_once(packed(tmp_path / "three.tar.gz", files | {"b": ""}))


DAMAGED = {
    "deep": ({"my_agent/main.py": PLAIN}, "no main.py at its root (it is at my_agent/main.py: pack from"),
    "other": ({"agent.py": PLAIN, "notes": ""}, "no main.py at its root (it holds agent.py, notes"),
    "empty": ({}, "no main.py at its root (it holds nothing"),
    "folder": ({"main.py/agent.py": PLAIN}, "main.py in the archive is a folder"),
    "syntax": ({"main.py": "def agent(:\n"}, "SyntaxError: invalid syntax (main.py, line 1)"),
    "no function": ({"main.py": "x = 1\n"}, "it defines no function"),
    "raises": ({"main.py": "import no_such_module\n"}, "No module named 'no_such_module' (main.py, line 1)"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_archives_that_kaggle_could_not_run(name, tmp_path, capsys):
    files, words = DAMAGED[name]
    path = packed(tmp_path / "bad.tar.gz", files)
    for arguments in ([path, "leftmost"], ["match", path, "leftmost", "--games", str(tmp_path / "store")]):
        err = refused(arguments, capsys)
        assert "bad.tar.gz cannot be loaded: " in err and words in err


CONTENTS = {
    "text": (b"def agent(obs, config): pass", "bad.tar.gz", "cannot be unpacked: Not a gzipped file"),
    "nothing": (b"", "bad.tar.gz", "cannot be unpacked: "),
    "gzip of text": (gzip.compress(b"def agent(obs, config): pass"), "bad.tar.gz", "cannot be unpacked: "),
    "wrong name": (gzip.compress(b"main.py"), "bad.gz", "an archive should be a .tar.gz with main.py at its root"),
}


@pytest.mark.parametrize("name", [*CONTENTS, "cut off", "a bit flipped"])
def test_damaged_archives(name, tmp_path, capsys):
    path = Path(packed(tmp_path / "bad.tar.gz", {"main.py": PLAIN, "noise": os.urandom(5000).hex()}))
    content, words = path.read_bytes(), "cannot be unpacked: "
    if name in CONTENTS:
        content, file, words = CONTENTS[name]
        path = tmp_path / file
    elif name == "cut off":
        content = content[: len(content) // 2]
    else:
        content = content[:2000] + bytes([content[2000] ^ 255]) + content[2001:]
    path.write_bytes(content)
    assert words in refused([str(path), "leftmost"], capsys)
