"""Encodes positions as planes, the input of the networks. The name of an encoding ends in its version.

A plane is a board of 0s and 1s. The first plane holds the mover's stones. Row 0 is the bottom row: the cell with bit
``column * stride + row`` is at ``[row, column]``. A weight file names its encoding; a change to what an encoding
means needs a new version.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from connectx_core.evaluation import gap_planes
from connectx_core.position import STANDARD, Geometry, Position, field, line_step, open_cells, winning_spots


def stones(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The stones of the mover and of the opponent."""
    return [position, position ^ mask]


def facts(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """Stones, threats (cells that would complete a line) of each side, playable cells, and who is to move.

    The last plane is all 1 if the first player is to move; it tells which rows zugzwang favours the mover in.
    """
    opponent = position ^ mask
    first = np.where(np.bitwise_count(mask) % 2 == 0, geometry.board_mask, 0)
    spots = [winning_spots(side, mask, geometry) for side in (position, opponent)]
    return [position, opponent, *spots, open_cells(mask, geometry), first]


def tactics(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """Stones, threats of each side, and playable cells: those that win, must be blocked, or lie below a threat.

    A stone below a threat gives it up: the opponent can then complete its own line there, or block the mover's.
    """
    opponent = position ^ mask
    spots = [winning_spots(side, mask, geometry) for side in (position, opponent)]
    cells = open_cells(mask, geometry)
    return [position, opponent, *spots, *(cells & side for side in spots), *(cells & (side >> 1) for side in spots)]


def facing_pairs(side: np.ndarray, mask: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The empty cells of lines without the other side's stones that lack two stones: a stone there makes a threat."""
    empty, cells = geometry.board_mask ^ mask, np.zeros_like(mask)
    for direction in range(4):
        step = line_step(direction, geometry)
        _, two, three = gap_planes(empty, step, geometry.inarow)
        free = [(side | empty) >> distance * step for distance in range(geometry.inarow)]
        lines = np.bitwise_and.reduce(free) & two & ~three
        for distance in range(geometry.inarow):
            cells |= lines << distance * step
    return cells & empty


def safe_cells(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The moves after which the opponent cannot win at once: ``connectx_core.search.safe_moves`` for arrays."""
    moves, spots = open_cells(mask, geometry), winning_spots(position ^ mask, mask, geometry)
    forced = moves & spots
    answers = np.where(forced == 0, moves, np.where(forced & (forced - 1), 0, forced))
    return answers & ~(spots >> 1)


def line_planes(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The planes of ``facts``, the moves that do not lose at once, and for each side the cells that make a threat."""
    pairs = [facing_pairs(side, mask, geometry) for side in (position, position ^ mask)]
    return [*facts(position, mask, geometry), safe_cells(position, mask, geometry), *pairs]


def line_places() -> tuple[np.ndarray, np.ndarray]:
    """The lines of four of 7x6, as bits, and for each a place of its own among the cells of two planes: (69,), (69, 2).

    Which place has no meaning, but a line's mirror image has the mirrored place, so that planes are mirrored as ever.
    Horizontal lines that start in column s are at column 2s of the first plane; rising ones on the left of the second,
    falling ones on its right, vertical ones on what is left of both.
    """
    cells, places = [], []
    for row, start in np.ndindex(6, 4):
        cells.append([(row, start + step) for step in range(4)])
        places.append((0, row, 2 * start))
    for row, start in np.ndindex(3, 4):
        number = 4 * row + start
        rising = [(row + step, start + step) for step in range(4)]
        cells += [rising, [(r, 6 - column) for r, column in rising]]
        places += [(1, number // 3, number % 3), (1, number // 3, 6 - number % 3)]
    for row, column in np.ndindex(3, 7):
        cells.append([(row + step, column) for step in range(4)])
        beside = (0, column if column < 3 else 6 - column, 3 if column == 3 else 1 if column < 3 else 5)
        places.append((1, 4 + row, column) if row < 2 else beside)
    bits = np.array([[1 << column * STANDARD.stride + row for row, column in line] for line in cells], np.int64)
    at = np.zeros((len(places), 2), np.int64)
    for number, (plane, row, column) in enumerate(places):
        at[number, plane] = 1 << column * STANDARD.stride + row
    return bits.sum(1), at


FOURS, FOUR_PLACES = line_places()


def fours(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The planes of ``lines``, and those of the 69 lines of 7x6 in which one side has 1, 2 or 3 stones, the other none.

    The last twelve are two for each side and number, see ``line_places``. Stones that no longer matter are not in them.
    """
    if geometry != STANDARD:
        raise ValueError(f"the encoding 'fours-1' is for the standard board, not for one of {geometry[:3]}")
    planes = line_planes(position, mask, geometry)
    mine, theirs = (np.bitwise_count(side[:, None] & FOURS) for side in (position, position ^ mask))
    for stones, others in ((mine, theirs), (theirs, mine)):
        for count in (1, 2, 3):
            open_fours = (stones == count) & (others == 0)
            planes += [np.where(open_fours, places, 0).sum(1) for places in FOUR_PLACES.T]
    return planes


Bits = Callable[[np.ndarray, np.ndarray, Geometry], list[np.ndarray]]
ENCODINGS: dict[str, tuple[int, Bits]] = {  # number of planes, and the function that computes their bits
    "stones-1": (2, stones),
    "facts-1": (6, facts),
    "tactics-1": (8, tactics),
    "lines-1": (9, line_planes),
    "fours-1": (21, fours),
}


def planes_of(encoding: str) -> int:
    """The number of planes of an encoding.

    Raises:
        ValueError: there is no such encoding or no such version of it.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding {encoding!r} is unknown, expected one of {sorted(ENCODINGS)}")
    return ENCODINGS[encoding][0]


def bits_of(positions: np.ndarray, masks: np.ndarray, geometry: Geometry, encoding: str) -> np.ndarray:
    """The planes of n positions as bitboards, (n, planes) int64; positions and masks are two (n,) int64.

    Raises:
        ValueError: the encoding is unknown, or the geometry does not fit a word.
    """
    if not geometry.fits_word:
        raise ValueError(f"a board of {geometry[:3]} (rows, columns, inarow) does not fit a 64-bit word")
    planes_of(encoding)
    return np.stack(ENCODINGS[encoding][1](positions, masks, geometry), 1).astype(np.int64)


def unpack_planes(bits: np.ndarray, geometry: Geometry) -> np.ndarray:
    """Bitboards, (n, planes) int64, as cells: (n, planes, rows, columns) uint8 of 0 and 1."""
    cells = np.unpackbits(bits.astype("<i8").view(np.uint8).reshape(*bits.shape, 8), axis=2, bitorder="little")
    cells = cells[:, :, : geometry.columns * geometry.stride].reshape(*bits.shape, geometry.columns, geometry.stride)
    return np.ascontiguousarray(cells[:, :, :, : geometry.rows].transpose(0, 1, 3, 2))


def encode_many(positions: np.ndarray, masks: np.ndarray, geometry: Geometry, encoding: str) -> np.ndarray:
    """The planes of n positions, given as two (n,) int64: (n, planes, rows, columns) uint8. Raises as ``bits_of``."""
    return unpack_planes(bits_of(positions, masks, geometry, encoding), geometry)


def encode(position: Position, encoding: str) -> np.ndarray:
    """The planes of one position: (1, planes, rows, columns) uint8. Raises as ``bits_of``."""
    stones_and_mask = np.array([position.position], np.int64), np.array([position.mask], np.int64)
    return encode_many(*stones_and_mask, position.geometry, encoding)


def view_of(obs: Any, config: Any, name: str) -> np.ndarray:
    """Kaggle's observation in the form that learners of training.environments know by a name.

    Args:
        name: "course" for the board as it is, (1, rows, columns) of 0, 1, 2, top row first; "sides" for the same with 1
            for the mover's stones and 2 for the other side's; or an encoding, (planes, rows, columns).

    Raises:
        ValueError: as ``bits_of``.
    """
    if name not in ("course", "sides"):
        return encode(Position.from_observation(obs, config), name)[0]
    board = np.reshape(field(obs, "board"), (1, field(config, "rows"), field(config, "columns")))
    is_second = field(obs, "mark") == 2
    return np.where(board == 0, 0, 3 - board) if name == "sides" and is_second else board
