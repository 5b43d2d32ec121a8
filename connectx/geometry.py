"""The board's shape, and everything that follows from it alone."""

from functools import lru_cache
from typing import NamedTuple

__all__ = ["STANDARD", "Geometry", "geometry_of"]


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
