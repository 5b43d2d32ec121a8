"""The folder in which Kaggle puts a submission, /kaggle_simulations/agent, and the machine around it.

``show_agent`` gives one process that folder, and leaves it all else of this machine: for agents in our own games.
``enter`` moves a process to the judge's place, for a file under test. The process gets its own root, in a mount
namespace that no other process sees: the folders of the system and of Python, read-only, and nothing else of this
machine. The working directory and /tmp are empty at first and vanish with the process. Nothing is written outside the
caller's temporary folder, so that any number of them can run at once.
This needs Linux, and root or user namespaces; elsewhere ``obstacle`` says what is missing.
"""

import os
import sys
from pathlib import Path

from connectx_toolkit.kaggle.mounts import AGENT, MS_NODEV, MS_NOSUID, MS_RDONLY, bind, mount, unshare

CREDENTIALS = ("~/.kaggle", "~/.config/kaggle")  # of the user's account
HOME = "/home/judge"
WORK = "/episode"  # the working directory: Kaggle's is not published, and it is not the agent's folder

SYSTEM = ("bin", "dev", "etc", "lib", "lib32", "lib64", "nix", "proc", "sbin", "sys", "usr")
SOURCES = ("/usr/src", "/usr/local/src")  # in these, people's files may lie: they are empty there
LIVE = ("dev", "proc", "sys")  # not made read-only, unlike all others


class NoPlace(RuntimeError):
    """The place cannot be made here; the text says why."""


def _python_folders() -> list[str]:
    """Folders with this Python and its packages, outermost first, both as named and with links resolved."""
    found = [sys.prefix, sys.exec_prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), *sys.path]
    named = {name for path in found if os.path.isdir(path) for name in (os.path.abspath(path), os.path.realpath(path))}
    chosen: list[str] = []
    for path in sorted(named, key=len):
        is_there = path.split("/")[1] in SYSTEM and not path.startswith(SOURCES)
        inside = is_there or any(f"{path}/".startswith(f"{outer}/") for outer in chosen)
        hides = any(f"{own}/".startswith(f"{path.rstrip('/')}/") for own in (AGENT, HOME, WORK, "/tmp"))
        if not inside and not hides:
            chosen.append(path)
    return chosen


def _furnish(root: str) -> None:
    """Fills the new root with the system's folders, Python's folders, and empty ones."""
    for name in SYSTEM:
        source, target = f"/{name}", f"{root}/{name}"
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        elif os.path.isdir(source):
            os.mkdir(target)
            bind(source, target, name not in LIVE)
    for path in filter(os.path.isdir, SOURCES):
        mount("none", root + path, "tmpfs", MS_NOSUID | MS_NODEV)
    for path in _python_folders():
        os.makedirs(root + path)
        bind(path, root + path, True)
    for path in (AGENT, HOME, WORK, "/tmp"):
        os.makedirs(root + path, exist_ok=True)
    os.chmod(f"{root}/tmp", 0o1777)


def enter(root: str, agent: str, home: str) -> None:
    """Moves this process, which must have a single thread, into the place. It cannot leave it.

    Args:
        root: an empty folder, on which the new root is mounted.
        agent: the folder that becomes ``AGENT``.
        home: the folder that becomes ``HOME``; only what is written there remains when the process ends.

    Raises:
        NoPlace: a system call fails.
    """
    try:
        unshare()
        mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
        _furnish(root)
        bind(agent, root + AGENT, True)
        bind(home, root + HOME, False)
        os.chroot(root)
        os.chdir(WORK)
    except OSError as fault:
        raise NoPlace(f"{fault.strerror}{f' ({fault.filename})' if fault.filename else ''}") from fault


def obstacle(folder: str) -> str:
    """Why the place cannot be made here, "" if it can: a forked process tries it, in an empty ``folder``."""
    parts = [os.path.join(folder, name) for name in ("root", "agent", "home")]
    for part in parts:
        os.mkdir(part)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        text = ""
        try:
            enter(*parts)
        except BaseException as fault:
            text = str(fault) or type(fault).__name__
        os.write(write, text.encode()[:500])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return text


def hide_credentials() -> None:
    """Mounts an empty folder over each of ``CREDENTIALS`` for the rest of this process, which must have one thread.

    Raises:
        OSError: the system does not allow it.
    """
    folders = [folder for folder in map(os.path.expanduser, CREDENTIALS) if os.path.isdir(folder)]
    if folders:
        unshare()
    for folder in folders:
        mount("none", folder, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV)


def _mirror(source: str, target: str) -> None:
    """Makes ``source``, with everything mounted below it, visible at ``target``, too."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        Path(target).touch()
    bind(source, target, read_only=False)


def show_agent(agent: str, root: str) -> None:
    """Mounts the folder ``agent`` at ``AGENT``, read-only, for the rest of this process, which must have one thread.

    Args:
        root: an empty folder to mount the new root on; other processes do not see that mount.

    Raises:
        OSError: the system does not allow it.
    """
    here = os.getcwd()
    unshare()
    mount("none", root, "tmpfs", 0)
    for name in os.listdir("/"):
        if name != AGENT.split("/")[1]:
            _mirror(f"/{name}", f"{root}/{name}")
    os.makedirs(root + AGENT)
    bind(agent, root + AGENT, read_only=True)
    os.chroot(root)
    os.chdir(here)
