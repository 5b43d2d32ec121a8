"""Layers of positions, and the book's form."""

import numpy as np
import pytest

from connectx_core.books import Book, Layer, canonical, layers, place_of
from connectx_core.position import STANDARD, Position, geometry_of


def test_layers_are_all_positions_of_a_ply():
    """One of each pair of mirror images, sorted by key; games that are over are left out."""
    board, everything = geometry_of(4, 4, 3), {Position.empty(geometry_of(4, 4, 3))}
    for layer in layers(board, 7):
        found = [Position(int(p), int(m), board) for p, m in zip(layer.positions, layer.masks, strict=True)]
        assert set(found) == everything and [p.key for p in found] == sorted(p.key for p in found)
        children = [position.play(c) for position in everything for c in position.legal_columns()]
        everything = {child.canonical() for child in children if not child.is_over()}


@pytest.mark.parametrize("shape", [(7, 8, 4), (3, 16, 4), (2, 17, 4)])
def test_boards_that_fill_the_word(shape):
    """A key may need all 64 bits, and choices a bit for each of more than 16 columns."""
    geometry = geometry_of(*shape)
    high = [Position.from_moves([geometry.columns - 1] * stones, geometry) for stones in range(geometry.rows + 1)]
    positions = [position.mirror() for position in high] + high[1:]
    wanted = sorted({position.canonical() for position in positions}, key=lambda position: position.key)
    layer = Layer(*(np.array(part) for part in zip(*(position[:2] for position in positions), strict=True)))
    found = canonical(layer, geometry)
    assert found.keys.tolist() == [position.key for position in wanted]
    assert [place_of(position, found.keys) for position in wanted] == list(range(len(wanted)))
    last = geometry.columns - 1
    book = Book.from_bytes(Book.of({position: [0, last] for position in wanted}).to_bytes())
    assert all(sorted(book.columns(position)) == [0, last] for position in positions)


def test_damage_is_refused():
    book = Book.of({Position.empty(STANDARD): [3], Position.from_moves([3], STANDARD): [2, 3]})
    content = bytearray(book.to_bytes())
    assert Book.from_bytes(bytes(content)).columns(Position.empty(STANDARD)) == [3]
    assert book.columns(Position.from_moves([0], STANDARD)) == book.columns(Position.empty(geometry_of(6, 7, 5))) == []
    content[-1] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        Book.from_bytes(bytes(content))
