"""The walk against one made position by position, and the book's form."""

import numpy as np
import pytest

from connectx.books import Book, Layer, SparseBook, canonical, place_of, walk
from connectx.position import STANDARD, Position, geometry_of

LAST = (6, 5)
POSITIONS = [1, 4, 25, 121, 568, 2144]  # of each ply, mirror images counted once (1, 7, 49, 238, 1120, 4263 without)


def our_column(position: Position) -> int:
    """Any rule that depends on the position alone."""
    legal = position.legal_columns()
    return legal[position.canonical().key % len(legal)]


def columns_by_rule(layer: Layer, _: np.ndarray) -> np.ndarray:
    positions = [Position(int(p), int(m), STANDARD) for p, m in zip(layer.positions, layer.masks, strict=True)]
    return np.array([our_column(position) for position in positions], np.uint8)


def children(position: Position) -> list[Position]:
    return [c for c in (position.play(column) for column in position.legal_columns()) if not c.is_over()]


def make_book(full_plies: int = 2) -> Book:
    columns: list[np.ndarray] = []

    def record(layer: Layer, ours: np.ndarray) -> np.ndarray:
        columns.append(columns_by_rule(layer, ours))
        return columns[-1]

    list(walk(STANDARD, full_plies, LAST, record))
    return Book(STANDARD, full_plies, LAST, np.concatenate(columns))


@pytest.mark.parametrize("full_plies", [0, 2])
def test_walk(full_plies):
    """Either seat's positions, after our move and any reply; and all of the first plies."""
    expected: list[set[Position]] = [set() for _ in range(8)]
    everything = {Position.empty(STANDARD)}
    expected[0], expected[1] = set(everything), {c.canonical() for c in children(Position.empty(STANDARD))}
    for ply in range(6):
        for position in expected[ply]:
            after = position.play(our_column(position))
            if not after.is_over():
                expected[ply + 2] |= {child.canonical() for child in children(after)}
    layers = list(walk(STANDARD, full_plies, LAST, columns_by_rule))
    for ply, layer in enumerate(layers):
        wanted = everything if ply <= full_plies else expected[ply]
        found = [Position(int(p), int(m), STANDARD) for p, m in zip(layer.positions, layer.masks, strict=True)]
        assert set(found) == wanted and len(found) == len(wanted)
        assert [p.key for p in found] == sorted(p.key for p in found)
        everything = {child.canonical() for position in everything for child in children(position)}
    assert len(layers) == max(LAST) + 1


@pytest.mark.parametrize("last", [(0, 3), (4, 1), (2, 5)])
def test_a_seat_whose_book_ends_leaves_the_other_its_own(last):
    layers = list(walk(STANDARD, max(last), last, columns_by_rule))
    plies = [ply for ply in range(max(last) + 1) if ply <= last[ply % 2]]
    assert [set(np.bitwise_count(layer.masks).tolist()) for layer in layers] == [{ply} for ply in plies]
    assert [len(layer.masks) for layer in layers] == [POSITIONS[ply] for ply in plies]


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
    book = SparseBook.from_bytes(SparseBook.of({position: [0, last] for position in wanted}).to_bytes())
    assert all(sorted(book.columns(position)) == [0, last] for position in positions)


def test_lookup():
    """Every position of the walk and its mirror image are found; others are not."""
    book = make_book()
    for ply, layer in enumerate(walk(STANDARD, 2, LAST, columns_by_rule)):
        for p, m in zip(layer.positions, layer.masks, strict=True):
            position = Position(int(p), int(m), STANDARD)
            assert position.ply == ply
            assert book.column(position) == our_column(position)
            if position != position.mirror():
                assert book.column(position.mirror()) == 6 - our_column(position)
    assert book.column(Position.from_moves([3, 3, 3, 3, 3, 3, 0, 0], STANDARD)) is None
    assert book.column(Position.empty(geometry_of(6, 7, 5))) is None


def test_bytes():
    """What is written is read back, at three bits a position and a header."""
    book = make_book()
    content = book.to_bytes()
    again = Book.from_bytes(content)
    assert (again.columns == book.columns).all() and again.to_bytes() == content
    assert len(content) < 3 * len(book) / 8 + 400


def test_damage_is_refused():
    book = make_book()
    content = bytearray(book.to_bytes())
    content[-1] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        Book.from_bytes(bytes(content))
    with pytest.raises(ValueError, match="book"):
        Book(geometry_of(1, 7, 4), 1, (0, 1), np.zeros(5))  # column 0 is full in one of the positions of ply 1
    for columns in (book.columns[:-1], np.append(book.columns, 0), np.full(len(book), 7)):
        with pytest.raises(ValueError, match="book"):
            Book(STANDARD, 2, LAST, columns)
