"""An NNUE-style evaluator: a small integer network for the leaves of a search, about as fast as the heuristic.

It follows NNUE (Nasu 2018), with patterns as inputs instead of piece squares. The first layer is a table with one row
for each possible content of each column (the column's field of the position's key), and for each threat (cell that
completes a line) of each side. The active rows are summed: ten on average, so that a full sum costs no more than an
incremental update. A clipped ReLU follows, then an output layer of its own for each number of stones, whose parity
tells who is to move. Everything is seen from the first player's side.
"""

from typing import NamedTuple

import numpy as np

from connectx_core.evaluation import LIMIT
from connectx_core.jit import jitable, popcount
from connectx_core.position import STANDARD, key_of, winning_spots
from connectx_core.weights import unpack

ENCODING = "columns-spots-1"  # the meaning of the rows; a change needs a new version
GEOMETRY = STANDARD  # the only board that networks are trained for
PATTERNS = GEOMETRY.columns << GEOMETRY.stride
SPOTS = GEOMETRY.columns * GEOMETRY.stride  # threat rows of one side; those of the guard bits are never active
ROWS = PATTERNS + 2 * SPOTS + 1  # the last row is the bias, always active
MOST_ROWS = GEOMETRY.columns + 2 * SPOTS + 1  # no more rows can be active at once
ONE_BITS = 7  # 1 << ONE_BITS stands for 1.0, the largest value of a hidden unit
ONE = 1 << ONE_BITS
LARGEST_INPUT = (2**15 - 1) // MOST_ROWS  # the largest entry of the table, so that no sum overflows int16
UNIT_BITS = 6  # a logit of 1.0 is 1 << UNIT_BITS points of the search's evaluation
OUTPUT_BITS = 3  # fractional bits of the outputs, in such points


class LeafNet(NamedTuple):
    """The network's arrays and working memory, as ``leaf_net`` makes them. numba kernels accept it as an argument."""

    inputs: np.ndarray  # (ROWS, hidden) int16, in units of 1 / ONE
    outputs: np.ndarray  # (cells + 1, hidden) int16, by number of stones, in units of 2 ** -(UNIT_BITS + OUTPUT_BITS)
    offsets: np.ndarray  # (cells + 1,) int64, by number of stones, in 1 / ONE of the unit of outputs
    rows: np.ndarray  # (MOST_ROWS,) int64, working memory
    sums: np.ndarray  # (hidden,) int16, working memory


def leaf_net(inputs: np.ndarray, outputs: np.ndarray, offsets: np.ndarray) -> LeafNet:
    """A network with these arrays.

    Raises:
        ValueError: a dtype or shape is not that of ``LeafNet``, or a sum could overflow.
    """
    hidden = inputs.shape[-1]
    plies = GEOMETRY.cells + 1
    expected: dict[str, tuple[str, tuple[int, ...]]]
    expected = {
        "inputs": ("int16", (ROWS, hidden)),
        "outputs": ("int16", (plies, hidden)),
        "offsets": ("int64", (plies,)),
    }
    arrays = {"inputs": inputs, "outputs": outputs, "offsets": offsets}
    for name, array in arrays.items():
        if (array.dtype.name, array.shape) != expected[name]:
            raise ValueError(f"{name} of a leaf net: {array.dtype} {array.shape}, expected {expected[name]}")
    if np.abs(inputs.astype(np.int64)).max() > LARGEST_INPUT:
        raise ValueError(f"inputs of a leaf net beyond +-{LARGEST_INPUT}: their sums could overflow")
    return LeafNet(inputs, outputs, offsets, np.zeros(MOST_ROWS, np.int64), np.zeros(hidden, np.int16))


def leaf_net_from_bytes(content: bytes) -> LeafNet:
    """The network in a file.

    Raises:
        ValueError: the file is damaged, of another encoding, or its arrays do not form a network.
    """
    arrays, meta = unpack(content)
    if meta != ENCODING or set(arrays) != {"inputs", "outputs", "offsets"}:
        raise ValueError(f"a leaf net of {ENCODING!r} was expected, not {sorted(arrays)} of {meta!r:.100}")
    return leaf_net(**arrays)


@jitable
def active_rows(first, mask, rows, geometry):
    """Writes the numbers of the active rows, except the bias, to ``rows``; returns how many there are.

    Args:
        first: the first player's stones.
    """
    key = key_of(first, mask)
    for column in range(geometry.columns):
        pattern = (key >> column * geometry.stride) & ((1 << geometry.stride) - 1)
        rows[column] = column << geometry.stride | pattern
    count, base = geometry.columns, geometry.columns << geometry.stride
    for side in (first, first ^ mask):
        spots = winning_spots(side, mask, geometry)
        while spots:
            rows[count] = base + popcount((spots & -spots) - 1)
            spots &= spots - 1
            count += 1
        base += geometry.columns * geometry.stride
    return count


@jitable
def leaf_value(position, mask, net, geometry):
    """Value for the side to move, within +-LIMIT: the logit of its expected result (a draw is half a win)."""
    stones = popcount(mask)
    first = position if stones % 2 == 0 else position ^ mask
    for unit in range(len(net.sums)):
        net.sums[unit] = net.inputs[-1, unit]
    for index in range(active_rows(first, mask, net.rows, geometry)):
        row = net.rows[index]
        for unit in range(len(net.sums)):
            net.sums[unit] += net.inputs[row, unit]
    total = net.offsets[stones]
    for unit in range(len(net.sums)):
        total += np.int64(max(0, min(ONE, net.sums[unit]))) * net.outputs[stones, unit]
    value = max(-LIMIT, min(LIMIT, total >> (ONE_BITS + OUTPUT_BITS)))
    return value if stones % 2 == 0 else -value
