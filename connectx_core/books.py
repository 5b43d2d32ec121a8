"""What is known of the opening: a book of our moves, and the exact score of every position of the first plies.

A ``Book`` has our columns in some positions. ``Openings`` has the exact score of each position of the first plies
without a line, on 7x6 up to ply 8. Its file has no keys: a walk from the empty board visits the positions of the last
ply in a fixed order, and the file lists the scores of those in which the side to move cannot win at once. The scores of
all earlier plies follow from them. In both, a position and its mirror image are one entry, under the smaller key.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from connectx_core.position import (
    NO_MOVE,
    SPAN,
    Geometry,
    Position,
    column_cells,
    geometry_of,
    key_of,
    mirror_bits,
    open_cells,
    winning_spots,
)
from connectx_core.weights import pack, read_data, unpack

__all__ = ["Openings", "opening_score", "openings"]

BOOK_KIND = "positions"


class Layer(NamedTuple):
    """Positions of one ply, sorted by key; each is canonical (see ``Position.canonical``). Two int64 (n,)."""

    positions: np.ndarray
    masks: np.ndarray

    @property
    def keys(self) -> np.ndarray:
        """(n,) uint64: on a board whose guard bits fill the word, a key needs the bit that int64 has for the sign."""
        return key_of(self.positions, self.masks).view(np.uint64)


def canonical(layer: Layer, geometry: Geometry) -> Layer:
    """The distinct positions, mirror images counted as one, sorted by key."""
    mirrored = Layer(*(mirror_bits(bits, geometry) for bits in layer))
    keep = layer.keys <= mirrored.keys
    chosen = Layer(*(np.where(keep, bits, other) for bits, other in zip(layer, mirrored, strict=True)))
    _, order = np.unique(chosen.keys, return_index=True)
    return Layer(chosen.positions[order], chosen.masks[order])


def after_any(layer: Layer, geometry: Geometry) -> Layer:
    """The positions after every move that does not end the game."""
    positions, masks = layer
    wins, replies = winning_spots(positions, masks, geometry), list[Layer]()
    for column in range(geometry.columns):
        moves = open_cells(masks, geometry) & column_cells(column, geometry)
        goes_on = (moves != 0) & (moves & wins == 0) & ((masks | moves) != geometry.board_mask)
        replies.append(Layer((positions ^ masks)[goes_on], (masks | moves)[goes_on]))
    return canonical(Layer(*(np.concatenate(bits) for bits in zip(*replies, strict=True))), geometry)


def place_of(position: Position, keys: np.ndarray) -> int | None:
    """Where the key of a position or of its mirror image is among those of canonical positions, sorted; or None."""
    key = np.uint64(position.canonical().key)
    place = int(np.searchsorted(keys, key))
    return place if place < len(keys) and keys[place] == key else None


def as_it_stands(position: Position, column: int) -> int:
    """The column of a canonical position, in the position itself: mirrored if that is its mirror image."""
    return column if position == position.canonical() else position.geometry.columns - 1 - column


class Book:
    """Our columns, equally good, in some positions of one board, by key.

    Args:
        keys: of canonical positions, sorted: uint64 (n,).
        choices: (n,) unsigned integers with a bit for each column.
    """

    def __init__(self, geometry: Geometry, keys: np.ndarray, choices: np.ndarray):
        self.geometry, self.keys, self.choices = geometry, keys, choices

    @classmethod
    def of(cls, chosen: Mapping[Position, Iterable[int]]) -> "Book":
        """The book of these columns in canonical positions, at least one, all of one board."""
        positions = sorted(chosen, key=lambda position: position.key)
        geometry = positions[0].geometry
        keys = np.array([position.key for position in positions], np.uint64)
        choices = [sum(1 << column for column in chosen[position]) for position in positions]
        return cls(geometry, keys, np.array(choices, np.min_scalar_type((1 << geometry.columns) - 1)))

    def to_bytes(self) -> bytes:
        """The book as a weight container."""
        meta = {"kind": BOOK_KIND, "geometry": list(self.geometry[:3])}
        return pack({"keys": self.keys, "choices": self.choices}, meta)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Book":
        """The book that ``to_bytes`` wrote.

        Raises:
            ValueError: the content is damaged or not such a book.
        """
        arrays, meta = unpack(content)
        if not isinstance(meta, dict) or meta.get("kind") != BOOK_KIND or set(arrays) != {"keys", "choices"}:
            raise ValueError(f"expected a book of kind {BOOK_KIND!r}, got arrays {sorted(arrays)}, {meta!r:.200}")
        return cls(geometry_of(*meta["geometry"]), arrays["keys"].astype(np.uint64), arrays["choices"])

    def changed_by(self, other: "Book") -> "Book":
        """This book, with the columns of the other one wherever that has some."""
        kept = ~np.isin(self.keys, other.keys)
        keys = np.concatenate([self.keys[kept], other.keys])
        choices = np.concatenate([self.choices[kept], other.choices])
        order = np.argsort(keys)
        return Book(self.geometry, keys[order], choices[order])

    def __len__(self) -> int:
        return len(self.keys)

    def columns(self, position: Position) -> list[int]:
        """Our columns in a position; none if it is not in the book."""
        place = place_of(position, self.keys) if position.geometry == self.geometry else None
        if place is None:
            return []
        chosen = [column for column in range(self.geometry.columns) if int(self.choices[place]) >> column & 1]
        return [as_it_stands(position, column) for column in chosen]


OPENINGS_KIND = "openings"
LAST_PLY = 8  # of the toolkit's own file


def layers(geometry: Geometry, last_ply: int) -> Iterator[Layer]:
    """All positions of plies 0 to ``last_ply`` without a line, ply by ply, each layer sorted by key."""
    layer = Layer(np.zeros(1, np.int64), np.zeros(1, np.int64))
    yield layer
    for _ in range(last_ply):
        layer = after_any(layer, geometry)
        yield layer


def wins_at_once(layer: Layer, geometry: Geometry) -> np.ndarray:
    """Whether the side to move can make a line with its next stone: bool (n,)."""
    return (winning_spots(*layer, geometry) & open_cells(layer.masks, geometry)) != 0


def scores_of_moves(layer: Layer, later: Layer, later_scores: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The score of each move of one ply's positions from the scores of the next ply's: int8 (n, columns).

    NO_MOVE where the column is full. A move that makes a line gets the score of that win.
    """
    scores = np.full((len(layer.masks), geometry.columns), NO_MOVE, np.int8)
    later_keys = later.keys if len(later.masks) else np.zeros(1, np.uint64)  # no game lasts that long
    for column in range(geometry.columns):
        moves = open_cells(layer.masks, geometry) & column_cells(column, geometry)
        after = Layer(layer.positions ^ layer.masks, layer.masks | moves)
        keys = np.minimum(after.keys, Layer(*(mirror_bits(bits, geometry) for bits in after)).keys)
        place = np.minimum(np.searchsorted(later_keys, keys), len(later_keys) - 1)
        known = (moves != 0) & (later_keys[place] == keys)
        scores[known, column] = -later_scores[place[known]]
        scores[(moves != 0) & (after.masks == geometry.board_mask), column] = 0
        wins = (moves & winning_spots(*layer, geometry)) != 0
        scores[wins, column] = (geometry.cells + 1 - np.bitwise_count(layer.masks[wins]).astype(int)) // 2
    return scores


class Openings:
    """The scores of all positions of plies 0 to ``last_ply``.

    Args:
        scores: of the positions of ``last_ply`` whose mover cannot win at once, in the order of ``layers``: int (n,).

    Raises:
        ValueError: there are more or fewer scores than such positions.
    """

    def __init__(self, geometry: Geometry, last_ply: int, scores: np.ndarray):
        self.geometry, self.last_ply, self.last_scores = geometry, last_ply, scores
        *earlier, last = layers(geometry, last_ply)
        quiet = ~wins_at_once(last, geometry)
        if quiet.sum() != len(scores):
            raise ValueError(f"{len(scores)} scores do not fit the {quiet.sum()} positions of ply {last_ply}")
        known = np.full(len(quiet), (geometry.cells + 1 - last_ply) // 2, np.int8)
        known[quiet] = scores
        self._keys, self._scores = [last.keys], [known]
        for layer in reversed(earlier):
            known = scores_of_moves(layer, last, known, geometry).max(1)
            self._keys.insert(0, layer.keys)
            self._scores.insert(0, known)
            last = layer

    def __len__(self) -> int:
        return sum(map(len, self._keys))

    def score(self, position: Position) -> int | None:
        """The exact score for the side to move; None after the last ply, on other boards, and if the game is over."""
        if position.geometry != self.geometry or position.ply > self.last_ply:
            return None
        place = place_of(position, self._keys[position.ply])
        return None if place is None else int(self._scores[position.ply][place])

    def scores(self, position: Position) -> list[int | None] | None:
        """The exact score of each column's move, for the side to move; None for a full column.

        None instead of the list if some score is unknown: on the last ply, whose moves lead out of the table, and
        wherever ``score`` is None.
        """
        if position.ply >= self.last_ply or self.score(position) is None:
            return None
        win = (self.geometry.cells + 1 - position.ply) // 2
        legal, winning = position.legal_columns(), position.winning_columns()
        after = {c: 0 if c in winning else self.score(position.play(c)) or 0 for c in legal}  # 0 too for a full board
        return [None if c not in after else win if c in winning else -after[c] for c in range(self.geometry.columns)]

    def scores_by_ply(self) -> Iterator[tuple[Layer, np.ndarray]]:
        """The positions of each ply except the last, with the scores of their moves (see ``scores_of_moves``)."""
        for (layer, later), known in zip(pairwise(layers(self.geometry, self.last_ply)), self._scores[1:], strict=True):
            yield layer, scores_of_moves(layer, later, known, self.geometry)

    def to_bytes(self) -> bytes:
        """The table as a weight container with the compressed scores of the last ply."""
        packed = zlib.compress((self.last_scores + SPAN).astype(np.uint8).tobytes(), 9)
        meta = {"kind": OPENINGS_KIND, "geometry": list(self.geometry[:3]), "last_ply": self.last_ply}
        return pack({"scores": np.frombuffer(packed, np.uint8)}, meta)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Openings":
        """The table that ``to_bytes`` wrote.

        Raises:
            ValueError: the content is damaged or not such a table.
        """
        arrays, meta = unpack(content)
        if not isinstance(meta, dict) or meta.get("kind") != OPENINGS_KIND or set(arrays) != {"scores"}:
            raise ValueError(
                f"expected a table of kind {OPENINGS_KIND!r}, got arrays {sorted(arrays)} with {meta!r:.200}"
            )
        scores = np.frombuffer(zlib.decompress(arrays["scores"].tobytes()), np.uint8).astype(np.int8) - np.int8(SPAN)
        return cls(geometry_of(*meta["geometry"]), meta["last_ply"], scores)


@cache
def openings() -> Openings:
    """The toolkit's own table, of 7x6 through ply 8. It is read at the first call.

    >>> from connectx_core.position import STANDARD
    >>> len(openings()), openings().scores(Position.empty(STANDARD))
    (129498, [-2, -1, 0, 1, 0, -1, -2])

    Raises:
        OSError: its file has not been made.
    """
    return Openings.from_bytes(read_data("data/openings.bin"))


def opening_score(position: Position) -> int | None:
    """The exact score of a position of 7x6 with at most 8 stones; None for others (see ``Openings.score``).

    >>> from connectx_core.position import STANDARD
    >>> opening_score(Position.empty(STANDARD)), opening_score(Position.from_moves([0, 3], STANDARD))
    (1, -2)
    """
    return openings().score(position)
