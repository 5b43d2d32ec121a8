"""What people give to ``build_submission.py --check`` that is no submission: one clear answer, and no wait."""

import bz2
import gzip
import io
import json
import lzma
import os
import socket
import tarfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from connectx_toolkit.builder.source.inline import Refused, inline
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.kaggle import upload
from connectx_toolkit.kaggle.raised import Raised, raised_from_line, to_raised
from connectx_toolkit.kaggle.remedies import Situation, remedy_for
from tests.conftest import LINUX

pytestmark = pytest.mark.slow
AGENT = b"def agent(obs, config):\n    return obs.board.index(0)\n"


def tar_of(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def bomb() -> bytes:
    """An archive of a few bytes whose header promises 5 GiB."""
    info = member("main.py")
    info.size = 5 << 30
    return gzip.compress(info.tobuf() + bytes(10_240))


def damaged(archive: bytes) -> bytes:
    """The same archive, compressed anew, with bytes in its middle that cannot be decompressed."""
    content, compressor = gzip.decompress(archive), zlib.compressobj(wbits=31)
    half = compressor.compress(content[: len(content) // 2]) + compressor.flush(zlib.Z_FULL_FLUSH)
    return half + b"\x07" * 100  # a kind of block that does not exist


MAIN = (member("main.py"), AGENT)
NOTEBOOK = {"cells": [{"cell_type": "code", "source": []}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
REPLAY = {"name": "connectx", "steps": [], "rewards": [1, -1], "statuses": ["DONE", "DONE"]}

# name -> (content, words of the one reason)
REJECTED: dict[str, tuple[bytes, str]] = {
    "empty.py": (b"", "is empty"),
    "blank.py": (b"\n  \n", "is empty"),
    "comments.py": (b"# later\n", "it defines no function"),
    "notebook.py": (json.dumps(NOTEBOOK).encode(), "it is a notebook"),
    "script.py": (
        b"get_ipython().run_cell_magic('writefile', 'main.py', 'def agent(obs, config): return 0')\n",
        "line 1 holds the text of main.py, as a notebook writes it: build the notebook (.ipynb), or run it and check",
    ),
    "replay.json": (json.dumps(REPLAY).encode(), "it is the replay of a game"),
    "replay.py": (json.dumps(REPLAY).encode(), "it is the replay of a game"),
    "settings.json": (b'{"rows": 6}', "it is JSON, not Python"),
    "page.py": (b"<!DOCTYPE html>\n<html></html>\n", "does not compile"),
    "utf_16.py": (AGENT.decode().encode("utf-16"), "is UTF-16"),
    "compiled.pyc": (b"\xa7\r\r\n" + bytes(12) + b"\xe3" + bytes(40), "NUL"),
    "agent.py.gz": (gzip.compress(AGENT), "one file compressed by gzip, no archive: submit agent.py itself"),
    "text.tar.gz": (AGENT, "named like an archive"),
    "plain.tar": (tar_of(MAIN, mode="w"), "not compressed by gzip"),
    "agent.tar.bz2": (bz2.compress(tar_of(MAIN, mode="w")), "compressed by bzip2"),
    "agent.tar.xz": (lzma.compress(tar_of(MAIN, mode="w")), "compressed by xz"),
    "nested.tar.gz": (tar_of((member("submission.tar.gz"), tar_of(MAIN))), "no main.py at its root"),
    "absolute_link.tar.gz": (tar_of((member("main.py", tarfile.SYMTYPE, "/etc/hostname"), b"")), "absolute path"),
    "climbs.tar.gz": (tar_of((member("../main.py"), AGENT)), "cannot be unpacked"),
    "cut.tar.gz": (tar_of(MAIN)[:-30], "cannot be unpacked"),
    "damaged.tar.gz": (damaged(tar_of((member("main.py"), bytes(50_000)))), "cannot be unpacked"),
    "deeper.tar.gz": (tar_of((member("sub/main.py"), AGENT)), "(it is at sub/main.py: pack from inside that folder)"),
    "agent.zip": (b"PK\x03\x04" + bytes(40), "a .zip; only a .tar.gz is certain"),
    "sum.py": (b"COLUMN = " + b"+".join([b"0"] * 12_000), "does not compile"),
    "signs.py": (b"COLUMN = " + b"-" * 20_000 + b"0", "does not compile"),
    "folder.tar.gz": (tar_of((member("main.py", tarfile.DIRTYPE), b"")), "main.py in the archive is a folder"),
    "bomb.tar.gz": (bomb(), "unpacks to more than 4,294,967,296 bytes"),
}


def outcome(path: Path, capsys) -> tuple[int, str, list[str]]:
    """Exit code, output, and the lines on standard error that are not progress."""
    code = build_submission.main(["--check", str(path), "--json"])
    out, err = capsys.readouterr()
    return code, out, [line for line in err.splitlines() if not line.startswith("checking")]


@pytest.mark.parametrize("name", REJECTED)
def test_what_kaggle_cannot_run(name, tmp_path, capsys):
    content, words = REJECTED[name]
    (tmp_path / name).write_bytes(content)
    code, out, errors = outcome(tmp_path / name, capsys)
    report = json.loads(out)
    reasons = [finding["text"] for finding in report["findings"] if finding["level"] == "reject"]
    assert (code, report["verdict"], errors) == (1, "REJECT", [])
    assert words in reasons[0] and "Traceback" not in out
    assert os.listdir(tmp_path) == [name]


NEEDED = "import rich\nimport numpy\n"
CAUGHT = "try:\n    import rich\nexcept ImportError:\n    pass\n"


@pytest.mark.parametrize(
    ("imports", "options", "code", "words"),
    [
        (NEEDED, [], 3, "unknown package rich: no module beside the agent, and it is not among the packages"),
        (NEEDED, ["--allow-package", "rich"], 0, "package rich: taken on your word"),
        (CAUGHT, [], 0, "package rich: not known to be on Kaggle"),
    ],
)
def test_a_package_that_only_this_machine_is_known_to_have(imports, options, code, words, tmp_path, capsys):
    """The rule and the words of the build, which refuses it."""
    (tmp_path / "agent.py").write_bytes(imports.encode() + AGENT)
    (tmp_path / "a.tar.gz").write_bytes(tar_of((member("main.py"), imports.encode() + AGENT)))
    for name in ("a.tar.gz", "agent.py"):
        assert build_submission.main(["--check", str(tmp_path / name), "--json", *options]) == code
        texts = [finding["text"] for finding in json.loads(capsys.readouterr().out)["findings"]]
        assert len([text for text in texts if text.startswith(words)]) == 1
    try:
        notes = inline(tmp_path / "agent.py", frozenset(options[1:])).notes
    except Refused as refused:
        notes = [str(refused)]
    assert any(text in notes[0] for text in texts)


class PicklingError(Exception):
    """As pickle has it, and torch.load."""


IMPORTS_NONE = "import importlib; importlib.import_module(None)"
FAULTS = [  # (code of main.py that raises, files beside it, what the cure says)
    ("raise AssertionError('Torch not compiled with CUDA enabled')", "", "the judge has no GPU"),
    ("raise RuntimeError('CUDA error: invalid device ordinal')", "", "the judge has no GPU"),
    ("raise OSError(\"'seaborn-dark' is not a valid package style\")", "", "leave it out"),
    ("open('/home/me/book.txt')", "book.txt", "open /kaggle_simulations/agent/book.txt"),
    ("open('book.txt')", "", "packs it with --data FILE"),
    ("open('book.txt')", "", "open /kaggle_simulations/agent/book.txt, in a .tar.gz"),
    ("open('book.txt')", "book.txt", "open /kaggle_simulations/agent/book.txt"),
    ("open('m.zip.zip')", "m.zip", "the archive has it, open /kaggle_simulations/agent/m.zip"),
    ("import subprocess; subprocess.run(['no-such-engine'])", "", "nobody says which programs the judge has"),
    ("raise ModuleNotFoundError(name='catboost')", "", "Kaggle's public image has it: pip install catboost"),
    ("import no_such_helpers", "", "Kaggle is not known to have no_such_helpers"),
    ("import no_such_engine.moves", "no_such_engine/moves.py", "no_such_engine lies beside main.py"),
    ("raise ImportError(path='/x/kaggle_environments/envs/lux_ai_s3/agents.py')", "agents/x.py", "rename your agents"),
    ("from . import x", "", "import x, not .x"),
    ("__file__", "", "sets no __file__"),
    ("globals()['__file__']", "", "sets no __file__"),
    ("raise UnpicklingError('Weights only load failed. See')", "", "save net.state_dict()"),
    ("raise PicklingError('it is not the same object')", "", "pickle plain lists"),
    ("import pickle; pickle.dumps(lambda: 0)", "", "pickle plain lists"),
    ("import numpy; numpy.bool_x", "", "numpy 2 on the judge, have no bool_x"),
    ("import numpy; numpy.zeros(3).itemset_x", "", "numpy 2 on the judge, have no itemset_x"),
    ("raise SystemExit", "", "ends the judge's process"),
    ("choice", "", "import or define choice in main.py"),
    ("get_ipython()", "", "it is a notebook's command"),
    ("import os; os.environ['NO_SUCH_VARIABLE']", "", "environment variables are not known"),
    ("open('/proc/no_such', 'w')", "", "packs it with"),
    ("raise PermissionError(13, 'Permission denied', '/x')", "", "that folder is read-only"),
    ("raise OSError(30, 'Read-only file system', '/x')", "", "that folder is read-only"),
    ("import socket; socket.getaddrinfo('no.such.host.invalid', 80)", "", "no network"),
    ("raise OSError(101, 'Network is unreachable')", "", "no network"),
    ("import io; io.StringIO().buffer", "", "text buffers"),
    ("import io; io.StringIO().fileno()", "", "text buffers"),
    ("raise RuntimeError('cannot cache function play: no locator')", "", "cache=True cannot work"),
    (
        f"exec(compile('{IMPORTS_NONE}', '/site-packages/numba/core/x.py', 'exec'))",
        "",
        "cache=True cannot work",
    ),
    (IMPORTS_NONE, "", None),
    ("{}['steps']", "", "steps are called episodeSteps now"),
    ("raise AttributeError(\"'Struct' object has no attribute 'steps'\")", "", "called episodeSteps now"),
    ("open('/episode/book.txt')", "", "os.getcwd() is not the file's folder on Kaggle: open /kaggle_simulations"),
    ("raise ModuleNotFoundError(name='main')", "", "save net.state_dict() and build the network"),
    ("raise ModuleNotFoundError(name='agent')", "", "pack it"),
    ("raise ValueError('signal only works in main thread of the main interpreter')", "", "in a new thread"),
    ("raise ValueError('something else')", "", None),
    ("1 // 0  # CUDA is not needed here", "", None),
    ("import os; 1 // int(os.environ.get('NO_SUCH_VARIABLE', 0))", "", None),
    ("raise ZeroDivisionError('PermissionError is not meant')", "", None),
    ("raise ValueError(\"No such file or directory: 'x', CUDA, SystemExit, name 'y' is not defined\")", "", None),
    ("raise KeyError('os.environ')", "", None),
    ("(lambda a: a)()", "", None),
    ("def deep():\n    local + 1\n    local = 1\ndeep()", "", None),
]


@pytest.mark.parametrize(("code", "files", "words"), FAULTS)
def test_remedies_say_what_is_true(code, files, words):
    """They go by the exception itself: what a source line, a comment or another message names decides nothing."""
    names = {"PicklingError": PicklingError, "UnpicklingError": type("UnpicklingError", (PicklingError,), {})}
    fault = Raised(("none",))
    try:
        exec(compile(code, "/kaggle_simulations/agent/main.py", "exec"), names)
    except BaseException as problem:
        fault = to_raised(problem)
    sent = Raised(*json.loads(json.dumps(fault)))  # as a process under test sends it
    cure = remedy_for(sent, Situation(frozenset({"main.py", files} - {""}), "2.4"))
    assert words in cure if words else cure == ""
    assert sent.kinds[0] == "none" or sent.place.startswith("main.py, line ")


def test_a_guard_tells_of_a_network_that_was_saved_whole():
    """Each module that it imports by name is in its file."""
    fault = raised_from_line("ModuleNotFoundError: No module named 'agent' (mine.py, line 3)")
    assert fault.place == "mine.py, line 3"
    assert "save net.state_dict()" in remedy_for(fault, Situation(frozenset({"main.py"}), "2.4"))


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


NO_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "no such file"),
    "folder": (Path.mkdir, "is a folder: pack it"),
    "pipe": (os.mkfifo, "is a pipe, not a file"),
    "socket": (make_socket, "is a device or a socket, not a file"),
    "link_to_nothing": (lambda path: path.symlink_to("nothing"), "no such file"),
    "link_to_itself": (lambda path: path.symlink_to(path), "symbolic links"),
    "link_to_a_device": (lambda path: path.symlink_to("/dev/zero"), "is a device or a socket, not a file"),
    "x" * 300: (lambda path: None, "name is too long"),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_what_is_no_file(name, tmp_path, capsys):
    make, words = NO_FILES[name]
    make(tmp_path / name)
    started = time.monotonic()
    code, out, errors = outcome(tmp_path / name, capsys)
    assert (code, out) == (2, "") and time.monotonic() - started < 5
    (line,) = errors
    assert line.startswith("build_submission.py: ") and words in line.lower()


@LINUX  # /proc
def test_a_file_that_cannot_be_read(capsys):
    code, _, (line,) = outcome(Path("/proc/self/mem"), capsys)
    assert code == 2 and "error" in line.lower()


def test_a_file_beyond_the_limit_is_not_read(tmp_path, capsys):
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate(200 << 20)
    code, out, _ = outcome(tmp_path / "large.py", capsys)
    assert code == 1 and "209,715,200 bytes of 104,857,600 allowed" in out


def test_members_are_counted_before_they_are_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("connectx_toolkit.kaggle.archive.MOST_UNPACKED", 100)
    with pytest.raises(upload.Unsuitable, match="unpacks to more than"):
        upload.unpack_upload("x.tar.gz", tar_of(MAIN, (member("large.bin"), bytes(1000))), tmp_path)
    assert os.listdir(tmp_path) == ["main.py"]
