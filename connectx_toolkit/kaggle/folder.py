"""Gives one process Kaggle's folder for submissions, /kaggle_simulations/agent, and hides the user's account from it.

The process gets a mount namespace with a root of its own: everything of this machine, and that folder. Nothing is
written outside the caller's folder, so that every agent can have its own. Linux only, as root or with user namespaces.
"""

import os
from pathlib import Path

from connectx_toolkit.kaggle.mounts import AGENT, MS_NODEV, MS_NOSUID, MS_RDONLY, bind, mount, unshare

CREDENTIALS = ("~/.kaggle", "~/.config/kaggle")


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


def _show(source: str, target: str) -> None:
    """Makes ``source``, with everything mounted below it, visible at ``target``, too."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        Path(target).touch()
    bind(source, target, read_only=False)


def enter(agent: str, root: str) -> None:
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
            _show(f"/{name}", f"{root}/{name}")
    os.makedirs(root + AGENT)
    bind(agent, root + AGENT, read_only=True)
    os.chroot(root)
    os.chdir(here)
