"""What a learner sees of a board, by name, as arrays with their gymnasium spaces.

course      (1, rows, columns) int64: the board as Kaggle shows it, 1 the first player's stones, 2 the second's, row
            0 at the top, as Kaggle's course "Intro to Game AI" has it. It does not tell whose stones are whose.
sides       the same, but 1 the learner's stones and 2 the opponent's, whoever began
ENCODING    (planes, rows, columns) uint8, 0 and 1: the planes of connectx.nets.encoding, row 0 at the bottom
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from gymnasium import spaces

from connectx.geometry import Geometry
from connectx.nets.encoding import ENCODINGS, encode_many, planes_of
from connectx_toolkit.training.games.batch import FIRST
from connectx_toolkit.training.games.connectx import bitboards

NAMES = ("course", "sides", *ENCODINGS)


class Observation(NamedTuple):
    """A form of seeing.

    ``of(stones, seats)`` is what the players ``seats``, (n,) of FIRST and SECOND, see of n boards: (n, *space.shape).
    ``stones`` are those of connectx_toolkit.training.games.batch: (n, rows, columns) int8.
    """

    space: spaces.Box
    of: Callable[[np.ndarray, np.ndarray], np.ndarray]


def observation_named(name: str, geometry: Geometry) -> Observation:
    """The observation of that name. Its space says so, in an attribute ``shows`` that models are saved with.

    Raises:
        ValueError: there is none, or it is an encoding and the board does not fit 64 bits.
    """
    if name not in NAMES:
        raise ValueError(f"observation should be one of {', '.join(NAMES)}, not {name!r}")
    if name in ("course", "sides"):
        dtype = np.int64 if name == "course" else np.int8
        space = _saying(name, spaces.Box(0, 2, (1, geometry.rows, geometry.columns), dtype))
        return Observation(space, _course if name == "course" else _sides)
    if not geometry.fits_word:
        raise ValueError(f"a board of {geometry[:3]} (rows, columns, inarow) does not fit the 64 bits of {name}")
    space = _saying(name, spaces.Box(0, 1, (planes_of(name), geometry.rows, geometry.columns), np.uint8))

    def planes(stones: np.ndarray, seats: np.ndarray) -> np.ndarray:
        return encode_many(*bitboards(stones * seats[:, None, None], geometry), geometry, name)

    return Observation(space, planes)


def _saying(name: str, space: spaces.Box) -> spaces.Box:
    """The space, which says what it shows: shape and type alone do not tell it."""
    vars(space)["shows"] = name
    return space


def _course(stones: np.ndarray, seats: np.ndarray) -> np.ndarray:
    return np.where(stones < 0, 2, stones)[:, None].astype(np.int64)


def _sides(stones: np.ndarray, seats: np.ndarray) -> np.ndarray:
    return _course(stones * (seats * FIRST)[:, None, None], seats).astype(np.int8)
