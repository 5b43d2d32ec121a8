"""Files of candidates: an agent's text with other numbers, in a folder where it finds all that lies beside it."""

import os
from pathlib import Path

from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.files import ROOT

OURS = ROOT / "connectx"  # beside an agent in a checkout; elsewhere, numba would compile it again


def place_for(original: Path, folder: Path, name: str) -> Path:
    """Makes a folder in which a file of this name has the original's neighbours, by links; gives the file's path.

    So helpers and data beside the agent are found, the user's folder stays as it is, and what a killed run leaves is
    not in the way.

    Args:
        original: the agent's file.
        folder: where the folder is made; it may be there already.

    Raises:
        OSError: it cannot be made.
    """
    beside = original.absolute().parent
    place = folder.absolute() / (beside.name or "agent")  # a package may be imported by its name
    place.mkdir(parents=True, exist_ok=True)
    for entry in place.iterdir():
        if entry.is_symlink() and not os.path.lexists(beside / entry.name):
            entry.unlink()
    for entry in beside.iterdir():
        link = place / entry.name
        is_left_out = entry.name in (name, original.name, "__pycache__") or entry == OURS  # found where it is
        if not is_left_out and not os.path.lexists(link):
            link.symlink_to(entry)
    return place / name


def spec_of(path: Path, label: str) -> AgentSpec:
    """An agent's file as tables call it."""
    return AgentSpec("file", str(path.absolute()), label)
