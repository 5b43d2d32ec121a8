"""Files that are whole or not there, however many runs write them at once, on disks that are full or read-only."""

import multiprocessing
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectx_toolkit.system.files import ROOT, check_folder, file_lock, replacing, write_whole
from tests.conftest import disk_that_is

pytestmark = pytest.mark.slow
SIZE, TIMES = 200_000, 60
COUNTER = """
import sys, time
from pathlib import Path
from connectx_toolkit.system.files import file_lock, write_whole

path = Path(sys.argv[1])
for _ in range({times}):
    with file_lock(path):
        lines = path.read_text() if path.exists() else ""
        time.sleep(0.001)
        write_whole(path, (lines + sys.argv[2] + "\\n").encode())
"""


def two_at_once(text: str, path: Path) -> list[str]:
    """Runs the text in two processes at the same time; what each wrote to standard error, but that it waits."""
    code = text.format(times=TIMES, size=SIZE)
    runs = [
        subprocess.Popen([sys.executable, "-c", code, path, letter], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for letter in ("A", "B")
    ]
    errors = [run.communicate(timeout=120)[1] for run in runs]
    return [re.sub(r"^another process is writing .*; waiting for it .*\n", "", error) for error in errors]


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_whole_or_the_one_before(tmp_path):
    """What fails half-way leaves the file that was there, and nothing else."""
    path = tmp_path / "new" / "folder" / "weights.bin"
    write_whole(path, b"before")

    def fails():
        with replacing(path) as partial:
            partial.write_bytes(b"half")
            assert path.read_bytes() == b"before"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert names_in(path.parent) == [path.name] and path.read_bytes() == b"before"
    write_whole(path, b"after")
    assert names_in(path.parent) == [path.name] and path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()  # others may read it, as any new file


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_two_writers_of_one_file_in_turn(tmp_path):
    """One has written half of its file when the other publishes; neither fails, and neither gets the other's half."""
    path = tmp_path / "net.bin"
    with replacing(path) as mine:
        mine.write_bytes(b"A" * 10)
        with replacing(path) as other:
            other.write_bytes(b"B" * 20)
        assert path.read_bytes() == b"B" * 20
    assert path.read_bytes() == b"A" * 10 and names_in(tmp_path) == ["net.bin"]


def test_two_processes_change_a_file_at_once(tmp_path):
    """Every line of both is there, and no lock file is left."""
    path = tmp_path / "new" / "mistakes.txt"
    assert two_at_once(COUNTER, path) == ["", ""]
    lines = path.read_text().split()
    assert (lines.count("A"), lines.count("B")) == (TIMES, TIMES) and names_in(path.parent) == ["mistakes.txt"]


def _hold(path: Path, held, release) -> None:
    with file_lock(path):
        held.set()
        release.wait(60)


def test_a_lock_ends_with_its_process(tmp_path):
    """Killed while it holds the lock, a process leaves a lock file that stops nobody."""
    path, context = tmp_path / "manifest.json", multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(path, held, release))
    process.start()
    assert held.wait(60)
    process.kill()
    process.join()
    assert names_in(tmp_path) == [".manifest.json.lock"]
    with file_lock(path):
        write_whole(path, b"{}")
    assert names_in(tmp_path) == ["manifest.json"]


def _write(path: Path, held, release) -> None:
    with replacing(path) as partial:
        partial.write_bytes(b"half")
        held.set()
        release.wait(60)


def test_what_a_killed_writer_leaves_goes_with_the_next_write(tmp_path):
    """But what a writer is writing stays, whichever of two was killed."""
    path, context = tmp_path / "net.bin", multiprocessing.get_context("spawn")
    writers = []
    for _ in range(3):
        held, release = context.Event(), context.Event()
        process = context.Process(target=_write, args=(path, held, release))
        process.start()
        assert held.wait(60)
        writers.append((process, release))
    for process, _ in writers[::2]:
        process.kill()
        process.join()
    write_whole(path, b"whole")
    assert names_in(tmp_path) == [".net.bin.1.partial", ".net.bin.1.partial.lock", "net.bin"]
    writers[1][1].set()
    writers[1][0].join()
    assert names_in(tmp_path) == ["net.bin"] and path.read_bytes() == b"half"


def test_a_link_stays(tmp_path):
    """The file that it leads to is written, which may be a new one, in a folder that is checked before."""
    link, target = tmp_path / "page.html", tmp_path / "kept" / "page.html"
    link.symlink_to(target)
    with pytest.raises(ValueError, match=f"cannot write {target}: there is no folder"):
        check_folder(link)
    for content in (b"first", b"second"):
        write_whole(link, content)
        assert link.is_symlink() and target.read_bytes() == content and names_in(target.parent) == ["page.html"]
    with file_lock(link):
        assert names_in(target.parent) == [".page.html.lock", "page.html"]


@pytest.fixture(params=["full", "read-only"])
def disk(request, tmp_path) -> Iterator[Path]:
    with disk_that_is(request.param, tmp_path / "disk", {"page.html": b"before"}) as folder:
        yield folder


def test_a_disk_that_takes_nothing(disk):
    """The message names the file and says what to do, without a number or a temporary name; the old file stays."""
    path, before = disk / "page.html", names_in(disk)
    words = "no space left on the disk; free some" if "filler" in before else "cannot be written (read-only folder)"
    with pytest.raises(OSError, match="page") as caught:
        write_whole(path, bytes(10_000))
    assert str(caught.value).startswith(f"{path}: {words}") and "partial" not in str(caught.value)
    assert path.read_text() == "before" and names_in(disk) == before
    if "filler" not in before:
        for attempt in (lambda: check_folder(path), lambda: file_lock(path).__enter__()):
            with pytest.raises((ValueError, OSError)) as refused:
                attempt()
            assert str(refused.value) == f"{path}: {words}; choose another folder"


def test_what_cannot_be_written(tmp_path):
    """Before the work: folders that are files, are not there, or take no files whoever asks."""
    (tmp_path / "notes.txt").write_text("")
    for path, words in (
        (tmp_path, f"cannot write {tmp_path}: it is a folder"),
        (tmp_path / "no" / "x.html", "there is no folder"),
        (tmp_path / "notes.txt" / "x.html", "notes.txt is not a folder"),
        (Path("/proc/x.html"), "/proc/x.html: cannot be written (read-only folder)"),
    ):
        with pytest.raises(ValueError, match=r"x\.html|folder") as caught:
            check_folder(path)
        assert words in str(caught.value) and "Errno" not in str(caught.value)
    with pytest.raises(
        OSError, match=r"^/proc/x\.html: cannot be written \(read-only folder\); choose another folder$"
    ):
        write_whole(Path("/proc/x.html"), b"")


def test_errors_of_the_block_stay_as_they_are(tmp_path):
    """What is not about the file is not blamed on it."""
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "new.py"):
        (tmp_path / "other.txt").read_text()
    assert caught.value.filename == str(tmp_path / "other.txt")
