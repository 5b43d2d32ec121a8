"""``Searcher(evaluate=...)``: whose evaluation it asks, what it refuses, and three public ones, rewritten for bits."""

import random

import pytest

from agents import minimax
from connectx_core import evaluation, jit
from connectx_core.clock import Budget
from connectx_core.evaluation import free_lines, gap_planes
from connectx_core.jit import jitable, popcount
from connectx_core.position import STANDARD, Position, geometry_of, line_step
from connectx_core.search import GameSearcher, Searcher
from tests.conftest import observe, random_game

pytestmark = pytest.mark.slow
BUDGET = Budget(nodes=20_000)


def positions(count: int = 30) -> list[Position]:
    rng, found = random.Random(3), list[Position]()
    while len(found) < count:
        found += [p for p in random_game(STANDARD, rng) if not p.is_over() and not p.winning_columns()][:6]
    return found[:count]


@jitable
def windows_with(stones, count, both, geometry):
    """Windows that hold ``count`` of the stones (2 or 3) and are empty otherwise."""
    found, empty = 0, geometry.board_mask ^ both
    for direction in range(4):
        step = line_step(direction, geometry)
        one, two, three = gap_planes(empty, step, geometry.inarow)
        gaps = one & ~two if count == 3 else two & ~three
        found += popcount(free_lines(stones | empty, step, geometry.inarow) & gaps)
    return found


def by_windows(mine, both, geometry):
    """``score_position`` of many public agents: windows of 2 and 3, those of the opponent, the column in the middle."""
    theirs = mine ^ both
    value = 5 * windows_with(mine, 3, both, geometry) + 2 * windows_with(mine, 2, both, geometry)
    middle = ((1 << geometry.stride) - 1) << geometry.columns // 2 * geometry.stride
    return value - 4 * windows_with(theirs, 3, both, geometry) + 3 * popcount(mine & middle)


def by_course(mine, both, geometry):
    """Kaggle's course: windows of 3 count 1, the opponent's -100."""
    return windows_with(mine, 3, both, geometry) - 100 * windows_with(mine ^ both, 3, both, geometry)


TABLE = ((3, 4, 5, 5, 4, 3), (4, 6, 8, 8, 6, 4), (5, 8, 11, 11, 8, 5), (7, 10, 13, 13, 10, 7))  # from the edge inwards


def by_cells(mine, both, geometry):
    """The public table of 3 to 13: in how many lines of four each cell of 7x6 lies."""
    value = 0
    for column in range(geometry.columns):
        for row in range(geometry.rows):
            cell = 1 << column * geometry.stride + row
            if both & cell:
                worth = TABLE[min(column, geometry.columns - 1 - column)][row]
                value += worth if mine & cell else -worth
    return value


def list_of_windows(position: Position) -> tuple[list[list[int]], int]:
    """All windows of four as lists of cells, 1 for the mover; the mover's stones in the middle. As the originals."""
    board, mark = position.to_board(), 1 + position.ply % 2
    rows = [[0 if cell == 0 else 1 if cell == mark else 2 for cell in board[7 * r : 7 * r + 7]] for r in range(6)]
    steps = [(0, 1), (1, 0), (1, 1), (1, -1)]
    found = [
        [rows[r + i * down][c + i * right] for i in range(4)]
        for down, right in steps
        for r in range(6)
        for c in range(7)
        if r + 3 * down < 6 and 0 <= c + 3 * right < 7
    ]
    return found, sum(row[3] == 1 for row in rows)


def test_the_rewritten_ones_give_what_the_originals_give():
    for position in positions(60):
        windows, middle = list_of_windows(position)
        threes = [sum(w.count(side) == 3 and w.count(0) == 1 for w in windows) for side in (1, 2)]
        twos = sum(w.count(1) == 2 and w.count(0) == 2 for w in windows)
        assert by_windows(*position) == 5 * threes[0] + 2 * twos - 4 * threes[1] + 3 * middle
        assert by_course(*position) == threes[0] - 100 * threes[1]
    lines = [0] * 42
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for r in range(6):
            for c in range(7):
                if r + 3 * down < 6 and 0 <= c + 3 * right < 7:
                    for i in range(4):
                        lines[7 * (r + i * down) + c + i * right] += 1
    assert [TABLE[min(c, 6 - c)][r] for r in range(6) for c in range(7)] == lines


@pytest.mark.parametrize("evaluate", [by_windows, by_course, by_cells], ids=lambda one: one.__name__)
def test_public_evaluations_play(evaluate):
    """Compiled and in plain Python they choose the same columns, with the same values at the same nodes."""
    fast, slow = (Searcher(STANDARD, compiled, 1009, None, evaluate) for compiled in (True, False))
    assert fast.compiled and not slow.compiled
    for position in positions(5):
        assert fast.search(position, Budget(nodes=2000)) == slow.search(position, Budget(nodes=2000))


def test_ours_given_this_way_is_the_search_that_it_was():
    """minimax's own evaluation is that of ``connectx_core.evaluation``, so that all of the search is the same."""
    ours, plugged = Searcher(STANDARD), Searcher(STANDARD, evaluate=minimax.evaluate)
    for position in positions():
        assert minimax.evaluate(*position) == evaluation.evaluate(*position)
        assert ours.search(position, BUDGET) == plugged.search(position, BUDGET)
        for searcher in (ours, plugged):
            searcher.forget()


def test_a_changed_number_changes_moves(monkeypatch):
    """Of ``minimax``, whose weights changed nothing while a network played for it."""
    asked = [observe(position, overage=0.0) for position in positions(40)]
    before = [minimax.agent(obs, config | {"nodeBudget": 3000}) for obs, config in asked]
    for name in ("GOOD_THREAT", "OTHER_THREAT", "LINE_OF_TWO_GAPS"):
        monkeypatch.setattr(minimax, name, -getattr(minimax, name))
    monkeypatch.setattr(minimax, "search", GameSearcher(compiled=False, evaluate=minimax.evaluate))
    after = [minimax.agent(obs, config | {"nodeBudget": 3000}) for obs, config in asked]
    assert sum(one != other for one, other in zip(before, after, strict=True)) > 5


def test_plain_python_of_a_position():
    """The same values by a function of a Position: the same search, which runs in plain Python."""
    searcher = Searcher(STANDARD, evaluate=lambda position: by_course(*position))
    assert not searcher.compiled
    plain = Searcher(STANDARD, False, evaluate=by_course)
    for position in positions(4):
        assert searcher.search(position, Budget(nodes=1500)) == plain.search(position, Budget(nodes=1500))


@pytest.mark.parametrize("shape", [(4, 4, 3), (9, 9, 4)], ids=str)
def test_other_boards(shape):
    """Also those beyond 64 bits, in plain Python."""
    board = geometry_of(*shape)
    searcher = Searcher(board, evaluate=by_course)
    assert searcher.search(Position.empty(board), Budget(nodes=500)).nodes > 100


def test_without_numba(monkeypatch):
    monkeypatch.setattr(jit, "load_numba", lambda: None)
    searcher = Searcher(STANDARD, evaluate=lambda mine, both, geometry: popcount(mine))
    assert not searcher.compiled and searcher.search(Position.empty(STANDARD), Budget(nodes=500)).depth >= 2


def helper(stones):
    return stones.bit_count()


@pytest.mark.parametrize(
    ("evaluate", "words"),
    [
        (lambda mine, both, geometry: 0.5, r"^evaluate gives 0\.5 of the empty board: expected an integer from -9000"),
        (lambda position: None, "^evaluate gives None of the empty board: expected an integer"),
        (lambda position: 10_000 * position.ply, r"^evaluate gives 10000 after the columns \d: expected an integer"),
        (lambda position: 1 // (position.ply - 3), r"^evaluate raises Zero\w+: .* after the columns( \d){3}$"),
        (lambda mine, both, geometry: helper(mine), "^numba cannot compile evaluate: Untyped global name 'helper'"),
    ],
)  # fmt: skip
def test_what_is_refused(evaluate, words):
    with pytest.raises(ValueError, match=words) as refused:
        Searcher(STANDARD, evaluate=evaluate)
    assert "\n" not in str(refused.value)


def test_values_beyond_the_limit_are_no_proof():
    """What random games do not meet is cut at the limit: it never looks like a win."""
    rare = Position.from_moves([0, 0, 0, 0, 0, 0, 6, 6], STANDARD).mask

    def evaluate(mine, both, geometry):
        return -(10**9) if both == rare else 0

    searcher = Searcher(STANDARD, False, evaluate=evaluate)
    before = Position.from_moves([0, 0, 0, 0, 0, 0, 6], STANDARD)
    assert searcher._value(before, -(1 << 20), 1 << 20, 1, Budget()) == evaluation.LIMIT
    assert abs(searcher.search(Position.empty(STANDARD), Budget(nodes=500)).score) <= evaluation.LIMIT
