"""The judge's place: a process that enters it finds the file under test in /kaggle_simulations/agent, read-only.

It gets a root of its own, in a mount namespace that nobody else sees: of this machine the system's folders and Python's
are there, read-only, and nothing else. The rest is empty and its own: the working directory, /tmp, and what it writes
to them, which is gone when it ends. Nothing is made outside the caller's temporary folder, so that any number can run
side by side. This needs Linux, and root or user namespaces; elsewhere ``obstacle`` says what is in the way.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path

AGENT = "/kaggle_simulations/agent"
HOME = "/home/judge"
WORK = "/episode"  # the working directory: Kaggle's is not published, and it is not the agent's folder

SYSTEM = ("bin", "dev", "etc", "lib", "lib32", "lib64", "nix", "opt", "proc", "run", "sbin", "sys", "usr", "var")
LIVE = ("dev", "proc", "sys")  # these stay as they are; all else is made read-only

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = (
    1 << 10,
    1 << 11,
    1 << 12,
    1 << 14,
    1 << 18,
    1 << 21,
)
# statvfs's flags (of them relatime's alone has another value) that a remount may not drop inside a user namespace
KEPT_FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME
ST_RELATIME = 1 << 12


class NoPlace(RuntimeError):
    """The place cannot be made here; the text says why."""


def _call(name: str, *arguments: object) -> None:
    """A system call by its C function, which Python 3.11 has no other way to.

    Raises:
        OSError: it fails, or this system does not have it.
    """
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise OSError(errno.ENOSYS, f"{sys.platform} has no {name}")
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    texts = [text.encode() or None for text in (source, target, kind)]
    _call("mount", *texts, ctypes.c_ulong(flags), data.encode() or None)


def _bind(source: str, target: str, read_only: bool) -> None:
    """Shows the folder ``source`` at ``target``, with all that is mounted in it."""
    _mount(source, target, "", MS_BIND | MS_REC)
    if read_only:
        found = os.statvfs(target).f_flag
        kept = found & KEPT_FLAGS | (MS_RELATIME if found & ST_RELATIME else 0)
        _mount("", target, "", MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def _unshare() -> None:
    """A mount namespace of our own: as root, or by a user namespace in which this user keeps its number."""
    user, group = os.getuid(), os.getgid()
    try:
        _call("unshare", CLONE_NEWNS)
    except PermissionError:
        _call("unshare", CLONE_NEWNS | CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount("", "/", "", MS_REC | MS_PRIVATE)


def _python_folders() -> list[str]:
    """Folders that hold this Python and its packages, outermost first, under each of their names."""
    found = [sys.prefix, sys.exec_prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), *sys.path]
    named = {name for path in found if os.path.isdir(path) for name in (os.path.abspath(path), os.path.realpath(path))}
    chosen: list[str] = []
    for path in sorted(named, key=len):
        inside = path.split("/")[1] in SYSTEM or any(f"{path}/".startswith(f"{outer}/") for outer in chosen)
        hides = any(f"{own}/".startswith(f"{path.rstrip('/')}/") for own in (AGENT, HOME, WORK, "/tmp"))
        if not inside and not hides:
            chosen.append(path)
    return chosen


def _furnish(root: str) -> None:
    """Lays out the new root: the system's folders, Python's, and empty ones."""
    for name in SYSTEM:
        source, target = f"/{name}", f"{root}/{name}"
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        elif os.path.isdir(source):
            os.mkdir(target)
            _bind(source, target, name not in LIVE)
    for path in _python_folders():
        os.makedirs(root + path)
        _bind(path, root + path, True)
    for path in (AGENT, HOME, WORK, "/tmp"):
        os.makedirs(root + path, exist_ok=True)
    os.chmod(f"{root}/tmp", 0o1777)


def enter(root: str, agent: str, home: str) -> None:
    """Moves this process, which must have a single thread, into the place for good.

    Args:
        root: an empty folder, on which the new root is mounted.
        agent: the folder that becomes ``AGENT``.
        home: the folder that becomes ``HOME``, the one thing that outlives the process.

    Raises:
        NoPlace: a system call is refused.
    """
    try:
        _unshare()
        _mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
        _furnish(root)
        _bind(agent, root + AGENT, True)
        _bind(home, root + HOME, False)
        os.chroot(root)
        os.chdir(WORK)
    except OSError as fault:
        raise NoPlace(f"{fault.strerror}{f' ({fault.filename})' if fault.filename else ''}") from fault


def obstacle(folder: str) -> str:
    """Why the place cannot be made here, "" if it can: found out by a process that tries, in an empty ``folder``."""
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
