"""The bitboard: who stands where, what can be played, what wins.

Bits of the 7x6 board, laid out like the board. A column takes 7 bits; its topmost bit (6, 13, ...) is a guard that
never holds a stone, so that no line runs from the top of one column into the bottom of the next:

     6 13 20 27 34 41 48     guards
     5 12 19 26 33 40 47
     4 11 18 25 32 39 46
     3 10 17 24 31 38 45
     2  9 16 23 30 37 44
     1  8 15 22 29 36 43
     0  7 14 21 28 35 42     bottom row

A position is two integers: ``position``, the stones of the side to move, and ``mask``, the stones of both sides. There
is no colour and no undo: after a move the other side is "the side to move". The functions below work on these integers,
in kernels and in Python; the class ``Position`` wraps them where speed matters less. The layout and the key are those
of Pons' tutorial (blog.gamesolver.org), here for any rows, columns and inarow.

``Geometry`` is the board's shape, and everything that follows from it alone. Games and openings are written as columns
counted from 0, "3342", or "3,3,10" if a column has two digits. An exact score says who wins, and when, for the side to
move; ``connectx_core.solver`` finds it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from connectx_core.jit import jitable

if TYPE_CHECKING:  # commands that need a board's shape alone answer at once
    import numpy as np

__all__ = ["STANDARD", "Geometry", "Position", "geometry_of"]


class Geometry(NamedTuple):
    """The shape of a board with its masks, made by ``geometry_of``. numba kernels accept it as an argument.

    A column takes ``stride = rows + 1`` bits, lowest cell first; its topmost bit, the guard, never holds a stone.
    """

    rows: int
    columns: int
    inarow: int
    stride: int
    bottom_mask: int  # lowest cell of every column
    board_mask: int  # every cell, no guard bit

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    @property
    def fits_word(self) -> bool:
        """Whether compiled kernels can use it: 64 bits hold the board with its guard bits, and no shift reaches 64."""
        return self.columns * self.stride <= 64 and (self.inarow - 1) * (self.stride + 1) < 64

    @property
    def column_order(self) -> tuple[int, ...]:
        """Columns from the centre, where most lines pass, outwards: the order in which a search tries them."""
        return tuple(sorted(range(self.columns), key=lambda column: abs(2 * column + 1 - self.columns)))

    def column_mask(self, column: int) -> int:
        """The cells of one column."""
        return ((1 << self.rows) - 1) << column * self.stride


@lru_cache(maxsize=64, typed=True)
def geometry_of(rows: int, columns: int, inarow: int) -> Geometry:
    """The geometry of a board.

    >>> board = geometry_of(6, 7, 4)
    >>> board == STANDARD, board.cells, board.fits_word
    (True, 42, True)

    Raises:
        ValueError: a size is not a positive integer.
    """
    for name, size in (("rows", rows), ("columns", columns), ("inarow", inarow)):
        if type(size) is not int or size < 1:
            raise ValueError(f"{name} should be an integer of at least 1, not {size!r}")
    stride = rows + 1
    bottom_mask = sum(1 << column * stride for column in range(columns))
    return Geometry(rows, columns, inarow, stride, bottom_mask, bottom_mask * ((1 << rows) - 1))


STANDARD = geometry_of(6, 7, 4)  # Connect Four


Columns = tuple[int, ...]


def write_columns(columns: Sequence[int]) -> str:
    """The text of an opening or a game; ``parse_columns`` reads it.

    >>> write_columns((3, 3, 4, 2)), write_columns((3, 10))
    ('3342', '3,10')
    """
    if all(column < 10 for column in columns):
        return "".join(map(str, columns))
    return ",".join(map(str, columns)) + ("," if len(columns) == 1 else "")  # "10" is columns 1 and 0


def parse_columns(text: str) -> Columns:
    """The columns in a text as ``write_columns`` writes it.

    >>> parse_columns("3342"), parse_columns("10,")
    ((3, 3, 4, 2), (10,))

    Raises:
        ValueError: it is not a sequence of columns.
    """
    try:
        return tuple(int(column) for column in (text.removesuffix(",").split(",") if "," in text else text))
    except ValueError:
        raise ValueError(f"expected columns such as 3342 or 3,10,3, not {text!r}") from None


@jitable
def open_cells(mask, geometry):
    """The playable cells: the lowest empty cell of each column that is not full."""
    return (mask + geometry.bottom_mask) & geometry.board_mask


@jitable
def column_cells(column, geometry):
    """All cells of one column."""
    return ((1 << geometry.rows) - 1) << column * geometry.stride


@jitable
def key_of(position, mask):
    """A number unique to the position on its geometry: a column's bits give its height and whose stones it holds."""
    return position + mask


def stones_of(keys, geometry):
    """Position and mask of a key, or of an array of keys.

    A column's bits of a key plus its lowest cell are its stones below a guard, the highest bit.
    """
    guarded = keys + geometry.bottom_mask
    mask = 0 * keys
    for step in range(1, geometry.stride):
        mask |= guarded >> step & geometry.bottom_mask * ((1 << geometry.stride - step) - 1)
    return guarded & mask, mask


@jitable
def line_step(direction, geometry):
    """Distance in bits between neighbours in a line. Directions: 0 vertical, 1 falling, 2 horizontal, 3 rising."""
    return 1 if direction == 0 else geometry.stride - 2 + direction


@jitable
def line_spots(stones, step, inarow):
    """Bits, on or off the board, that complete a line of ``inarow`` with ``stones`` in one direction.

    ``step`` is the distance in bits between neighbouring cells of the line.
    """
    if inarow == 4:
        pair_below = (stones << step) & (stones << 2 * step)
        pair_above = (stones >> step) & (stones >> 2 * step)
        return (
            (pair_below & ((stones << 3 * step) | (stones >> step)))
            | (pair_above & ((stones >> 3 * step) | (stones << step)))
        )  # fmt: skip
    spots = 0
    for below in range(inarow):  # stones of the line before the open cell
        line = -1
        for distance in range(1, below + 1):
            line &= stones << distance * step
        for distance in range(1, inarow - below):
            line &= stones >> distance * step
        spots |= line
    return spots


@jitable
def winning_spots(stones, mask, geometry):
    """The threats of ``stones``: empty cells, playable now or later, where one more stone of theirs makes a line."""
    spots = line_spots(stones, 1, geometry.inarow)
    for step in range(geometry.stride - 1, geometry.stride + 2):
        spots |= line_spots(stones, step, geometry.inarow)
    return spots & (geometry.board_mask ^ mask)


@jitable
def has_line(stones, geometry):
    """Whether ``stones`` hold a line of at least ``inarow``."""
    lines = 0
    for direction in range(4):
        step = line_step(direction, geometry)
        line = stones
        for distance in range(1, geometry.inarow):
            line &= stones >> distance * step
        lines |= line
    return lines != 0


@jitable
def mirror_bits(bits, geometry):
    """The bits with the columns in reverse order."""
    column_bits = (1 << geometry.stride) - 1
    mirrored = 0
    for column in range(geometry.columns):
        mirrored = (mirrored << geometry.stride) | ((bits >> column * geometry.stride) & column_bits)
    return mirrored


_REQUIRED = object()


def field(record, name: str, default=_REQUIRED):
    """An entry of an observation or a configuration: of a dict, of Kaggle's Struct, or an attribute.

    Raises:
        AttributeError: there is no such entry and no default was given.
    """
    try:
        return record[name]
    except (TypeError, KeyError):
        return getattr(record, name) if default is _REQUIRED else getattr(record, name, default)


class Position(NamedTuple):
    """An immutable position, seen by the side to move. Columns are counted from 0.

    >>> position = Position.from_moves([3, 0, 3, 0, 3, 0], geometry_of(6, 7, 4))
    >>> position.ply, position.winning_columns(), position.play(3).is_lost()
    (6, [3], True)

    Attributes:
        position: the stones of the side to move, as bits laid out as the module says.
        mask: the stones of both sides.
        geometry: the board's shape.
    """

    position: int  # stones of the side to move
    mask: int  # stones of both sides
    geometry: Geometry

    @classmethod
    def empty(cls, geometry: Geometry) -> "Position":
        """The position before the first stone."""
        return cls(0, 0, geometry)

    @classmethod
    def from_observation(cls, obs, config) -> "Position":
        """The position that Kaggle shows: ``obs.board`` lists the cells row by row from the top, 0 for empty.

        >>> board = [0] * 35 + [0, 0, 0, 1, 0, 0, 0]
        >>> config = {"rows": 6, "columns": 7, "inarow": 4}
        >>> Position.from_observation({"board": board, "mark": 2}, config).ply
        1

        Args:
            obs: with ``board`` and ``mark``, 1 or 2: whose stones are those of the side to move.
            config: with ``rows``, ``columns`` and ``inarow``.

        Raises:
            AttributeError: an entry is missing.
            ValueError: a size is not a positive integer.
        """
        geometry = geometry_of(field(config, "rows"), field(config, "columns"), field(config, "inarow"))
        mark, position, mask = field(obs, "mark"), 0, 0
        for cell, stone in enumerate(field(obs, "board")):
            if stone:
                row, column = divmod(cell, geometry.columns)
                bit = 1 << column * geometry.stride + geometry.rows - 1 - row
                mask |= bit
                position |= bit if stone == mark else 0
        return cls(position, mask, geometry)

    @classmethod
    def from_moves(cls, columns: Iterable[int], geometry: Geometry) -> "Position":
        """The position after the columns were played from the empty board.

        Raises:
            ValueError: a column is not legal when it is played, or the game was over.
        """
        state = cls.empty(geometry)
        for ply, column in enumerate(columns):
            if column not in state.legal_columns() or state.is_lost():
                raise ValueError(f"column {column!r} cannot be played on ply {ply}")
            state = state.play(column)
        return state

    def to_board(self) -> list[int]:
        """The cells as Kaggle lists them, row by row from the top: 0 empty, 1 the first player's, 2 the second's."""
        geometry, mover = self.geometry, 1 + self.ply % 2
        board = []
        for row in reversed(range(geometry.rows)):
            for column in range(geometry.columns):
                bit = 1 << column * geometry.stride + row
                board.append(0 if not self.mask & bit else mover if self.position & bit else 3 - mover)
        return board

    @property
    def ply(self) -> int:
        """Number of stones on the board."""
        return self.mask.bit_count()

    @property
    def key(self) -> int:
        """A number unique to the position on its geometry."""
        return key_of(self.position, self.mask)

    def legal_columns(self) -> list[int]:
        """The columns that are not full, from left to right; also after a line, where Kaggle's game has ended."""
        moves = open_cells(self.mask, self.geometry)
        return [c for c in range(self.geometry.columns) if moves & column_cells(c, self.geometry)]

    def winning_columns(self) -> list[int]:
        """The columns that make a line at once."""
        wins = self.winning_spots() & open_cells(self.mask, self.geometry)
        return [c for c in range(self.geometry.columns) if wins & column_cells(c, self.geometry)]

    def winning_spots(self) -> int:
        """The threats of the side to move, as bits: empty cells, playable now or later, that make a line."""
        return winning_spots(self.position, self.mask, self.geometry)

    def play(self, column: int) -> "Position":
        """The position after a stone in ``column``; the other side is then to move.

        Raises:
            ValueError: the column is full, or there is none of this number.
        """
        move = open_cells(self.mask, self.geometry) & column_cells(column, self.geometry)
        if not move:
            raise ValueError(f"column {column} is full, or not on the board")
        return Position(self.position ^ self.mask, self.mask | move, self.geometry)

    def pass_turn(self) -> "Position":
        """The same stones with the other side to move, for example to find what the opponent threatens."""
        return Position(self.position ^ self.mask, self.mask, self.geometry)

    def is_lost(self) -> bool:
        """Whether the side that moved last has a line."""
        return has_line(self.position ^ self.mask, self.geometry)

    def is_full(self) -> bool:
        """Whether no column takes a stone."""
        return self.mask == self.geometry.board_mask

    def is_over(self) -> bool:
        """Whether somebody has a line, or the board is full."""
        return self.is_full() or self.is_lost()

    def canonical(self) -> "Position":
        """The position or its mirror image, whichever has the smaller key; both give the same result."""
        return min(self, self.mirror(), key=lambda state: state.key)

    def mirror(self) -> "Position":
        """The position with its columns in reverse order."""
        return Position(mirror_bits(self.position, self.geometry), mirror_bits(self.mask, self.geometry), self.geometry)


SPAN = 32  # the largest score of any board that fits a 64-bit word
NO_MOVE = -128  # in arrays, in place of the score of a column that takes no stone: int8 has nothing below it
Scores = Sequence[int | None]  # the exact score of each column's move for the side to move; None if it is full


def sign(score: int) -> int:
    return (score > 0) - (score < 0)


def plies_to_end(score: int, ply: int, cells: int) -> int:
    """How many plies perfect play still lasts from a position of this score at ``ply``, with the winning stone."""
    if score == 0:
        return cells - ply
    last = cells + 1 - 2 * abs(score)  # the ply of the winning stone: this or one less, by who wins
    last -= (last - ply) % 2 == (score > 0)
    return last + 1 - ply


@lru_cache(maxsize=2)
def plies_to_end_table(cells: int) -> "np.ndarray":
    """``plies_to_end`` for every ply and score: int64 (cells + 1, 2 * cells + 1), at [ply, score + cells]."""
    import numpy as np

    scores = range(-cells, cells + 1)
    return np.array([[plies_to_end(score, ply, cells) for score in scores] for ply in range(cells + 1)])
