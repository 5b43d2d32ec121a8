"""The opening book: our move in every position that can arise while we follow it, packed to three bits a position.

No position is stored. A walk from the empty board finds them all in a fixed order, ply by ply, and the book is the list
of our columns in that order: whoever walks with the same columns passes the same positions. The builder of the book
and its reader share the walk, and differ only in where a position's column comes from.

Book positions of a ply are those with us to move, playing either seat, after our own book move and any reply of the
opponent. Through ply ``full_plies`` all other positions are in the book, too, but not what follows from them. Of a
position and its mirror image the one with the smaller key is meant. Games that are over are left out.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from connectx.geometry import Geometry, geometry_of
from connectx.position import Position, column_cells, key_of, mirror_bits, open_cells, winning_spots
from connectx.weights import pack, unpack

KIND = "repertoire"


class Layer(NamedTuple):
    """Book positions of one ply, each its own smaller mirror image, in order of their keys: int64 (n,) each."""

    positions: np.ndarray
    masks: np.ndarray

    @property
    def keys(self) -> np.ndarray:
        return key_of(self.positions, self.masks)


def canonical(layer: Layer, geometry: Geometry) -> Layer:
    """The distinct positions up to mirroring, sorted by key."""
    mirrored = Layer(*(mirror_bits(bits, geometry) for bits in layer))
    keep = layer.keys <= mirrored.keys
    chosen = Layer(*(np.where(keep, bits, other) for bits, other in zip(layer, mirrored, strict=True)))
    _, order = np.unique(chosen.keys, return_index=True)
    return Layer(chosen.positions[order], chosen.masks[order])


def after_columns(layer: Layer, columns: np.ndarray, geometry: Geometry) -> Layer:
    """The positions after each played its column, where that is legal and does not end the game."""
    positions, masks = layer
    moves = open_cells(masks, geometry) & column_cells(columns.astype(np.int64), geometry)
    wins = moves & winning_spots(positions, masks, geometry)
    goes_on = (moves != 0) & (wins == 0) & ((masks | moves) != geometry.board_mask)
    return Layer((positions ^ masks)[goes_on], (masks | moves)[goes_on])


def after_any(layer: Layer, geometry: Geometry) -> Layer:
    """The positions after every move that does not end the game."""
    replies = [after_columns(layer, np.full(len(layer.masks), column), geometry) for column in range(geometry.columns)]
    return canonical(Layer(*(np.concatenate(bits) for bits in zip(*replies, strict=True))), geometry)


# Gives our column in each position of a layer, integers (n,), told which of them our own play can lead to, bool (n,).
Columns = Callable[[Layer, np.ndarray], np.ndarray]


def walk(geometry: Geometry, full_plies: int, last_plies: tuple[int, int], columns_of: Columns) -> Iterator[Layer]:
    """The layers of book positions, ply by ply; ``columns_of`` is asked for our columns in each right after it.

    Args:
        full_plies: through this ply all positions are in the book, if neither seat ends before.
        last_plies: the last book ply of the first and of the second seat.
    """
    start = Layer(np.zeros(1, np.int64), np.zeros(1, np.int64))
    everything = start
    repertoire = {0: start, 1: after_any(start, geometry)}
    for ply in range(max(last_plies) + 1):
        if ply > last_plies[ply % 2]:
            continue
        layer = ours = repertoire.pop(ply)
        if ply <= full_plies:
            layer, everything = everything, after_any(everything, geometry)
        yield layer
        is_ours = np.isin(layer.keys, ours.keys)
        columns = columns_of(layer, is_ours)[is_ours]
        repertoire[ply + 2] = after_any(after_columns(ours, columns, geometry), geometry)


class Book:
    """The columns of a walk, by position.

    Args:
        columns: our column in every position of the walk, in its order: integers (n,).

    Raises:
        ValueError: the walk is longer or shorter than the columns, or one of them cannot be played.
    """

    def __init__(self, geometry: Geometry, full_plies: int, last_plies: tuple[int, int], columns: np.ndarray):
        self.geometry, self.full_plies, self.last_plies = geometry, full_plies, last_plies
        self.columns = columns
        keys, taken = [], 0

        def columns_of(layer: Layer, _: np.ndarray) -> np.ndarray:
            nonlocal taken
            chosen = columns[taken : taken + len(layer.masks)]
            taken += len(layer.masks)
            if (
                len(chosen) < len(layer.masks)
                or not (open_cells(layer.masks, geometry) & column_cells(chosen.astype(np.int64), geometry)).all()
            ):
                raise ValueError(f"a book of {len(columns)} columns does not fit its walk from position {taken} on")
            return chosen

        for layer in walk(geometry, full_plies, last_plies, columns_of):
            keys.append(layer.keys)
        if taken != len(columns):
            raise ValueError(f"a book of {taken} positions should not have {len(columns)} columns")
        unsorted = np.concatenate(keys)
        order = np.argsort(unsorted)
        self._keys, self._columns = unsorted[order], columns[order]

    def to_bytes(self) -> bytes:
        """The book as a weight container; the columns take as many bits each as the board needs."""
        bits = (self.geometry.columns - 1).bit_length()
        spread = np.unpackbits(self.columns.astype(np.uint8)[:, None], axis=1)[:, 8 - bits :]
        meta = {
            "kind": KIND,
            "geometry": list(self.geometry[:3]),
            "full_plies": self.full_plies,
            "last_plies": list(self.last_plies),
            "positions": len(self),
        }
        return pack({"columns": np.packbits(spread)}, meta)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Book":
        """The book that ``to_bytes`` wrote.

        Raises:
            ValueError: it is damaged, or something else.
        """
        arrays, meta = unpack(content)
        if not isinstance(meta, dict) or meta.get("kind") != KIND or set(arrays) != {"columns"}:
            raise ValueError(f"expected a book of kind {KIND!r}, got arrays {sorted(arrays)} with {meta!r:.200}")
        geometry = geometry_of(*meta["geometry"])
        bits, positions = (geometry.columns - 1).bit_length(), meta["positions"]
        spread = np.unpackbits(arrays["columns"])[: positions * bits].reshape(positions, bits)
        columns = np.packbits(np.pad(spread, ((0, 0), (8 - bits, 0))), axis=1)[:, 0]
        first, second = meta["last_plies"]
        return cls(geometry, meta["full_plies"], (first, second), columns)

    def __len__(self) -> int:
        return len(self.columns)

    def column(self, position: Position) -> int | None:
        """Our move in a position, or None if the book does not have it."""
        mirror = position.mirror()
        key = min(position.key, mirror.key)
        place = int(np.searchsorted(self._keys, key))
        if position.geometry != self.geometry or place == len(self) or self._keys[place] != key:
            return None
        column = int(self._columns[place])
        return column if key == position.key else self.geometry.columns - 1 - column
