"""Nothing needs Linux, or POSIX: with all of it taken away, everything still runs. And texts as Windows writes them."""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

from connectx_toolkit.system.files import ROOT

pytestmark = pytest.mark.slow
AWAY = """
import ctypes, importlib, multiprocessing, os, select, signal, socket, stat, subprocess, sys, sysconfig
import builtins, io, _io

PACKAGES = ("<frozen", sysconfig.get_path("stdlib"))
GONE = {
    os: "fork forkpty setsid killpg getpgid kill getuid geteuid getgid getegid getppid sched_getaffinity chroot uname"
    " sched_setaffinity getloadavg wait4 wait3 waitpid nice setpriority PRIO_PROCESS O_NOFOLLOW O_CLOEXEC O_NONBLOCK"
    " memfd_create statvfs sysconf mkfifo chown posix_spawn WNOHANG",
    signal: "SIGKILL SIGSTOP SIGCONT SIGALRM SIGUSR1 SIGUSR2 SIGHUP SIGCHLD SIGPIPE alarm setitimer pthread_sigmask",
    socket: "AF_UNIX",
}


def asked_by_a_package(depth=2):
    # they have their own ways elsewhere
    frame = sys._getframe(depth)
    while frame and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    name = frame.f_code.co_filename if frame else ""
    return name.startswith(PACKAGES) or "site-packages" in name


def hide(module, names):
    there = {name: getattr(module, name) for name in names.split() if hasattr(module, name)}
    for name in there:
        delattr(module, name)

    def found(name):
        if name in there and asked_by_a_package():
            return there[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = found


importing = builtins.__import__


def imported(name, *rest, **options):
    if name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty") and not asked_by_a_package():
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return importing(name, *rest, **options)


class Popen(subprocess.Popen):
    def __init__(self, *arguments, pass_fds=(), preexec_fn=None, creationflags=0, **options):
        assert not pass_fds and preexec_fn is None, "Windows has neither"
        super().__init__(*arguments, **options)


class Library(ctypes.CDLL):
    def __init__(self, name, *arguments, **options):
        if name is None and not asked_by_a_package():
            raise TypeError("LoadLibrary() argument 1 must be str, not None")
        super().__init__(name, *arguments, **options)


def without(function):
    def guarded(path, *arguments, **options):
        if str(path).startswith(("/proc", "/sys")) and not asked_by_a_package():
            raise FileNotFoundError(2, "No such file or directory", path)
        return function(path, *arguments, **options)

    return guarded


def no_links(source, target, *arguments, **options):
    raise OSError(1314, "A required privilege is not held by the client")


def sockets_only(read, write, other, timeout=None):
    assert asked_by_a_package() or not any(isinstance(file, int) for file in read), "Windows selects sockets only"
    return selected(read, write, other, timeout)


selected, select.select = select.select, sockets_only
builtins.__import__ = imported
builtins.open = io.open = without(builtins.open)
os.listdir = without(os.listdir)
is_folder, os.path.isdir = os.path.isdir, lambda path: not str(path).startswith("/proc") and is_folder(path)
os.symlink = no_links
multiprocessing.set_start_method("spawn")
subprocess.Popen = Popen
ctypes.CDLL = Library
for module, names in GONE.items():
    hide(module, names)
"""
PACKAGES = f"{os.sep}site-packages{os.sep}"
AGENT = "import os\n\ndef agent(obs, config):\n    assert not hasattr(os, 'fork')\n    return obs.board.index(0)\n"
SCRIPT = """
import sys
from connectx_toolkit.cli.main import run
from evaluate import get_win_percentages

def mine(obs, config):
    return obs.board.index(0)

if __name__ == "__main__":
    for agent, workers in ((mine, 1), ("random", 2)):  # a function plays in this process, others in spawned ones
        rounds = get_win_percentages(agent, "mine.py", 2, workers=min(workers, WORKERS))
        assert rounds.forfeits == (0, 0), rounds.forfeits
    if WORKERS > 1:
        try:
            get_win_percentages(mine, "random", 2, workers=2)
            raise AssertionError("a function cannot be in another process here")
        except ValueError as problem:
            assert "mine exists in this process alone: several games at a time need a name or a file" in str(problem)
    assert run("evaluate", "match packed.tar.gz n_step --pairs 1 --games store".split()) == 0
    assert run("evaluate", "tournament leftmost random mine.py --pairs 1 --games store --ladder ladder".split()) == 0
    assert run("evaluate", "report --games store --html page.html".split()) == 0
    assert run("evaluate", "list".split()) == 0
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """Of an environment in which every Python that starts lacks all of ``AWAY``; its packages are those of this one."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (packages / "sitecustomize.py").write_text(AWAY)
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


@pytest.fixture
def folder(tmp_path) -> Path:
    """With an agent's file as Windows writes them."""
    (tmp_path / "mine.py").write_bytes(f"# Größe\n{AGENT}".replace("\n", "\r\n").encode())
    (tmp_path / "main.py").write_text(AGENT)
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    subprocess.run(["tar", "czf", "packed.tar.gz", "main.py"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def call(python, folder):
    """Runs Python in the folder, with little of the shell's environment, and no text that leaves its encoding open."""

    def started(*words: object) -> subprocess.CompletedProcess:
        known = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}
        known |= {"PYTHONWARNDEFAULTENCODING": "1", "PYTHONWARNINGS": "always::EncodingWarning", "LC_ALL": "C"}
        done = subprocess.run(
            [python, *map(str, words)], cwd=folder, env=known, capture_output=True, timeout=300, check=False,
            text=True, encoding="utf-8",
        )  # fmt: skip
        lines = done.stderr.splitlines()
        assert not [each for each in lines if "EncodingWarning" in each and str(ROOT) in each and PACKAGES not in each]
        return done

    return started


@pytest.fixture
def run(call, folder):
    """Runs a script."""

    def started(text: str) -> subprocess.CompletedProcess:
        (folder / "script.py").write_text(text)
        return call("script.py")

    return started


def test_games_need_no_linux(run, folder):
    done = run(SCRIPT.replace("WORKERS", str(os.cpu_count() or 1)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Number of Invalid Plays by Agent 2: 0") == 2 and "exception" not in done.stdout
    assert "mine plays in this process, since this system has no fork" in done.stderr
    assert (folder / "page.html").stat().st_size > 10_000 and "packed.tar.gz v n_step" in done.stdout


def test_every_module_can_be_imported(run):
    """Of what plays, builds and trains, without any of it; and without numba: agents compile as they load."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("connectx_core", "connectx_toolkit", "agents")
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    assert len(names) > 110
    plain = "import importlib, sys\nsys.modules['numba'] = None\n"
    done = run(plain + "".join(f"importlib.import_module({name!r})\n" for name in names))
    assert done.returncode == 0, done.stderr


def test_the_commands_need_no_posix(call, folder):
    """The help, a match, an analysis, and a build, whose pre-flight says what it could not do."""
    script = {name: str(ROOT / name) for name in ("evaluate.py", "build_submission.py")}
    assert call(script["evaluate.py"], "--help").stdout.startswith("usage: evaluate.py")
    played = call(script["evaluate.py"], "match", "mine.py", "leftmost", "--pairs", "1")
    assert played.returncode == 0 and "pair results" in played.stdout, played.stderr
    analysed = call(script["evaluate.py"], "analyse", "635333434362446655522262245461011")
    assert analysed.returncode == 0 and "<- won to lost" in analysed.stdout, analysed.stderr
    built = call(script["build_submission.py"], "mine.py", "-o", "s.py", "--positions", "20")
    words = " ".join(built.stdout.split())
    assert built.returncode == 0 and "ACCEPT s.py" in words, built.stderr + words
    assert "not imitated: /kaggle_simulations/agent cannot be made here" in words
    assert "a limit on memory, a slower processor, the end of all that a file starts" in words and "peak" not in words
    assert (folder / "s.py").read_bytes().count(b"\r") == 0
    assert "Größe" in (folder / "s.py").read_text(encoding="utf-8")
