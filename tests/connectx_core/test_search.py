"""The alpha-beta kernel against a plain recursion, itself resumed, and exact values."""

import random
import time

import pytest

from connectx_core.clock import Budget
from connectx_core.evaluation import evaluate
from connectx_core.position import STANDARD, Position, column_cells, geometry_of
from connectx_core.search import INFINITY, WIN, Searcher, safe_moves, win_score
from tests.conftest import REAL_CLOCK, random_game

pytestmark = pytest.mark.slow
SMALL = [(4, 4, 3), (4, 4, 4), (3, 5, 3), (5, 3, 3), (1, 7, 4), (6, 3, 3)]


def reference(position: Position, depth: int) -> int:
    """What the kernel's docstring promises, without window, table or order."""
    if position.is_full():
        return 0
    if position.winning_columns():
        return win_score(position.mask, 0, position.geometry)
    safe = safe_moves(position.position, position.mask, position.geometry)
    if not safe:
        return -win_score(position.mask, 1, position.geometry)
    if position.geometry.cells - position.ply <= 2:
        return 0
    if depth <= 0:
        return evaluate(position.position, position.mask, position.geometry)
    cost = 1 if safe.bit_count() > 1 else 0
    columns = [c for c in position.legal_columns() if safe & column_cells(c, position.geometry)]
    return max(-reference(position.play(column), depth - cost) for column in columns)


def exact(position: Position, known: dict[int, int]) -> int:
    """Minimax to the end of the game."""
    if position.is_lost():
        return -win_score(position.mask, -1, position.geometry)
    if position.is_full():
        return 0
    if position.key not in known:
        known[position.key] = max(-exact(position.play(c), known) for c in position.legal_columns())
    return known[position.key]


def value(searcher: Searcher, position: Position, depth: int) -> int:
    return searcher._value(position, -INFINITY, INFINITY, depth, Budget())


@pytest.mark.parametrize("compiled", [True, False])
def test_kernel_equals_reference(compiled):
    """To a fixed depth, without what earlier searches have left in the table."""
    rng, searcher = random.Random(1), Searcher(STANDARD, compiled)
    for position in (p for _ in range(3 if compiled else 1) for p in random_game(STANDARD, rng)):
        for depth in (0, 1, 3, 4):
            searcher.forget()
            assert value(searcher, position, depth) == reference(position, depth)


@pytest.mark.parametrize("shape", SMALL)
def test_full_depth_is_exact(shape):
    """Searched to the end, a small board gets its true value; the chosen column keeps it."""
    geometry, rng = geometry_of(*shape), random.Random(2)
    known: dict[int, int] = {}
    searcher = Searcher(geometry)
    for position in (p for _ in range(4) for p in random_game(geometry, rng)):
        truth = exact(position, known)
        assert value(searcher, position, geometry.cells) == truth
        column = searcher.search(position, Budget()).column
        kept = -exact(position.play(column), known)
        assert (kept > 0) - (kept < 0) == (truth > 0) - (truth < 0)


def test_compiled_equals_plain():
    """Same columns, scores, depths and node counts."""
    rng = random.Random(4)
    for position in random_game(STANDARD, rng):
        fast, slow = Searcher(STANDARD, True, 1009), Searcher(STANDARD, False, 1009)
        assert fast.search(position, Budget(nodes=2000)) == slow.search(position, Budget(nodes=2000))


def test_resumed_after_every_node(monkeypatch):
    """Pausing changes nothing."""
    position = Position.from_moves([3, 3, 2, 4], STANDARD)
    at_once, stepwise = Searcher(STANDARD), Searcher(STANDARD)
    monkeypatch.setattr(stepwise, "_adapt_slice", lambda seconds: None)  # it stays at one node
    assert at_once.search(position, Budget(), 6) == stepwise.search(position, Budget(), 6)


def test_a_slice_lasts_a_hundredth_of_a_second():
    """So much later than its clock a search may end. A slice has a node at least, however slow the search is."""
    searcher = Searcher(STANDARD, compiled=False)
    searcher._slice = 1000
    searcher._adapt_slice(1.0)
    assert searcher._slice == 10
    for _ in range(9):
        searcher._adapt_slice(60.0)
    assert searcher._slice == 1


@pytest.mark.parametrize(("stones", "plies", "score"), [(0, 6, 18), (6, 0, 18), (7, 0, 18), (8, 0, 17), (41, 0, 1)])
def test_a_win_scores_the_stones_that_are_left(stones, plies, score):
    """As Pons counts: 22 less the winner's stones, the winning one included, so 18 for the fourth."""
    assert win_score((1 << stones) - 1, plies, STANDARD) == WIN + score


def test_a_search_needs_no_more_nodes_than_it_did():
    """What only makes the search slow shows nowhere else. Write a lower number down."""
    searcher, nodes = Searcher(STANDARD), 0
    for position in random_game(STANDARD, random.Random(4)):
        nodes += searcher.search(position, Budget(), 9).nodes
    assert nodes <= 366_787


def test_mirror():
    rng = random.Random(8)
    for position in random_game(STANDARD, rng):
        left, right = (value(Searcher(STANDARD), p, 7) for p in (position, position.mirror()))
        assert left == right


def test_wins_blocks_and_resists():
    for moves, column in (("010101", 0), ("01010", 0), ("334422", None)):
        position = Position.from_moves(map(int, moves), STANDARD)
        result = Searcher(STANDARD).search(position, Budget(), 2)
        assert column is None or result.column == column
        assert moves != "334422" or (result.score > WIN and result.column in (1, 5))
    # Nothing helps against two threats in a row, but one of them must be blocked.
    lost = Position.from_moves([2, 2, 3, 3, 4], STANDARD)
    result = Searcher(STANDARD).search(lost, Budget(), 4)
    assert result.column in (1, 5) and result.score == -win_score(lost.mask, 1, STANDARD)


def test_node_budget_is_kept():
    position = Position.empty(STANDARD)
    for nodes in (0, 1, 17, 5000):
        result = Searcher(STANDARD).search(position, Budget(nodes=nodes))
        assert result.nodes == nodes and result.column in position.legal_columns()


@REAL_CLOCK
@pytest.mark.parametrize("shape", [(6, 7, 4), (12, 12, 5), (40, 40, 6)])
def test_deadline_is_kept(shape):
    geometry = geometry_of(*shape)
    searcher = Searcher(geometry)
    searcher.search(Position.empty(geometry), Budget(nodes=1))  # compiles
    started = time.perf_counter()
    result = searcher.search(Position.empty(geometry), Budget.seconds(0.3))
    assert time.perf_counter() - started < 0.3 + 0.3  # a busy machine may take the process off its core
    assert result.depth >= 1


def test_finished_games_are_refused():
    lost = Position.from_moves([0, 1, 0, 1, 0, 1, 0], STANDARD)
    with pytest.raises(ValueError, match="it is over"):
        Searcher(STANDARD).search(lost, Budget())
    with pytest.raises(ValueError, match="not on"):
        Searcher(STANDARD).search(Position.empty(geometry_of(5, 5, 4)), Budget())
