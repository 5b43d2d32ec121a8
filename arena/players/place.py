"""Kaggle's folder for a submission, shown to one process alone: /kaggle_simulations/agent.

The process gets a mount namespace and in it a root of its own: all of this machine's, and that folder. Nothing is made
outside the caller's folder, so that every agent can have its own. Linux only, as root or with user namespaces.
"""

import os
from pathlib import Path

from console.mounts import AGENT, bind, mount, unshare


def _show(source: str, target: str) -> None:
    """Makes what is at ``source``, and mounted below it, be at ``target`` too."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        Path(target).touch()
    bind(source, target, read_only=False)


def enter(agent: str, root: str) -> None:
    """Shows this process, which must have one thread, the folder ``agent`` as ``AGENT``, read-only, for good.

    Args:
        root: an empty folder, to mount the new root on; others do not see that.

    Raises:
        OSError: the system does not let us.
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
