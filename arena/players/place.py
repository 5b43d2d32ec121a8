"""Kaggle's folder for a submission, shown to one process alone: /kaggle_simulations/agent.

The process gets a mount namespace and in it a root of its own: all of this machine's, and that folder. Nothing is made
outside the caller's folder, so that every agent can have its own. Linux only, as root or with user namespaces.
"""

import ctypes
import errno
import os
from pathlib import Path

AGENT = "/kaggle_simulations/agent"
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18  # linux/mount.h
LOCKED = 2 | 4 | 8 | 1024 | 2048  # nosuid, nodev, noexec, noatime, nodiratime: a user namespace may not drop them
ST_RELATIME, MS_RELATIME = 4096, 1 << 21  # of these flags the one that statvfs gives another value


def _call(name: str, *arguments: object) -> None:
    """A call of the C library. Raises OSError if it fails, or is missing."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise OSError(errno.ENOSYS, f"this system has no {name}")
    if function(*arguments):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    kind_bytes = kind.encode() if kind else None
    _call("mount", source.encode(), target.encode(), kind_bytes, ctypes.c_ulong(flags), None)


def _unshare() -> None:
    """A mount namespace of our own, as root or by a user namespace in which this user keeps its number."""
    user, group = os.getuid(), os.getgid()
    try:
        _call("unshare", CLONE_NEWNS)
    except PermissionError:
        _call("unshare", CLONE_NEWNS | CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount("none", "/", None, MS_REC | MS_PRIVATE)


def _show(source: str, target: str) -> None:
    """Makes what is at ``source``, and mounted below it, be at ``target`` too."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        Path(target).touch()
    _mount(source, target, None, MS_BIND | MS_REC)


def enter(agent: str, root: str) -> None:
    """Shows this process, which must have one thread, the folder ``agent`` as ``AGENT``, read-only, for good.

    Args:
        root: an empty folder, to mount the new root on; others do not see that.

    Raises:
        OSError: the system does not let us.
    """
    here = os.getcwd()
    _unshare()
    _mount("none", root, "tmpfs", 0)
    for name in os.listdir("/"):
        if name != AGENT.split("/")[1]:
            _show(f"/{name}", f"{root}/{name}")
    os.makedirs(root + AGENT)
    _mount(agent, root + AGENT, None, MS_BIND)
    found = os.statvfs(root + AGENT).f_flag
    kept = found & LOCKED | (MS_RELATIME if found & ST_RELATIME else 0)
    _mount("none", root + AGENT, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)
    os.chroot(root)
    os.chdir(here)
