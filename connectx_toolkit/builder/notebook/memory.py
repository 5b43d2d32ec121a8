"""Lays arrays into one piece of memory, for ``carrying``: those that share memory in the notebook share it there."""

import ctypes
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

ALIGNED = 64  # bytes: arrays begin at multiples of it, as numpy's own do


class Place(NamedTuple):
    """Where an array is in the memory: the offset of its first element, and its strides, None if they are C's."""

    offset: int
    strides: list[int] | None


def memory_of(arrays: Mapping[int, np.ndarray]) -> tuple[bytes, dict[int, Place]]:
    """The bytes that the arrays hold, in the order of their keys, and their places."""
    blocks = list[tuple[int, int, list[int]]]()  # where each begins and ends, and its arrays
    for start, end, key in sorted((*_bounds(array), key) for key, array in arrays.items()):
        is_apart = not blocks or start >= blocks[-1][1]
        first, last, keys = (start, end, []) if is_apart else blocks.pop()
        keys.append(key)
        blocks.append((first, max(last, end), keys))
    memory, places = bytearray(), dict[int, Place]()
    for start, end, keys in sorted(blocks, key=lambda block: min(block[2])):
        for key in keys:
            array = arrays[key]
            if len(keys) == 1 and end - start > array.nbytes:  # a column of a table that nothing else needs
                array = array.copy("K")
                start, end = _bounds(array)
            strides = None if array.flags.c_contiguous else list(array.strides)
            places[key] = Place(len(memory) + _address(array) - start, strides)
        memory += ctypes.string_at(start, end - start)
        memory += bytes(-len(memory) % ALIGNED)
    return bytes(memory), places


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """The addresses at which an array's memory begins and ends."""
    start = _address(array)
    if not array.size:
        return start, start
    steps = [(count - 1) * stride for count, stride in zip(array.shape, array.strides, strict=True)]
    below, above = (sum(step for step in steps if (step < 0) == is_below) for is_below in (True, False))
    return start + below, start + above + array.itemsize
