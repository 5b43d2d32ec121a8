"""Gives one process its own root folder, in a Linux mount namespace, by system calls that Python 3.11 does not offer.

It needs root, or a system that allows user namespaces. The module can be imported on any system.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path

AGENT = "/kaggle_simulations/agent"  # where Kaggle puts a submission

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32  # linux/mount.h
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE = 1 << 10, 1 << 11, 1 << 12, 1 << 14, 1 << 18
MS_RELATIME, ST_RELATIME = 1 << 21, 1 << 12  # the only one of these flags with another value in statvfs
KEPT_FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME  # fixed in a user namespace


def _call(name: str, *arguments: object) -> None:
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise OSError(errno.ENOSYS, f"{sys.platform} has no {name}")
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2). Raises OSError if it fails or this system does not have it."""
    texts = [text.encode() or None for text in (source, target, kind)]
    _call("mount", *texts, ctypes.c_ulong(flags), data.encode() or None)


def bind(source: str, target: str, read_only: bool) -> None:
    """Bind-mounts the folder or file ``source``, with everything mounted below it, at ``target``. Raises OSError."""
    mount(source, target, "", MS_BIND | MS_REC)
    if read_only:
        found = os.statvfs(target).f_flag
        kept = found & KEPT_FLAGS | (MS_RELATIME if found & ST_RELATIME else 0)
        mount("", target, "", MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def unshare() -> None:
    """Enters a new mount namespace: as root, or inside a user namespace in which the user keeps its number.

    Raises:
        OSError: this system does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    try:
        _call("unshare", CLONE_NEWNS)
    except PermissionError:
        _call("unshare", CLONE_NEWNS | CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    mount("", "/", "", MS_REC | MS_PRIVATE)
