"""The solver against bitbully, against the plain oracle, and against itself under what must not change its answers."""

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bitbully.bitbully_core import BitBullyCore, BoardCore

from benchmarks.positions import random_samples
from connectx_core import jit
from connectx_core.clock import Budget
from connectx_core.position import SPAN, STANDARD, Geometry, Position, geometry_of, open_cells, plies_to_end
from connectx_core.solver import Solver, Value, follow_up_bound
from tests import oracle
from tests.conftest import REAL_CLOCK, needs

COMPILES = needs("numba: pip install -r requirements.txt", jit.compiles())


@pytest.fixture(scope="module")
def solver():
    return Solver(STANDARD)


def bitbully_scores(sample):
    """bitbully's score of every column's move, None where it is full."""
    board = BoardCore()
    assert board.play("".join(map(str, sample.moves)))
    scores = BitBullyCore().scoreMoves(board)
    return [None if score < -100 else score for score in scores]


@pytest.mark.parametrize("stones", range(12, 42))
def test_every_move_score_equals_bitbully(solver, stones):
    for sample in itertools.islice(random_samples(stones, [stones]), 2 if stones < 16 else 6):
        values = solver.scores(sample.position)
        assert all(value is None or value.exact for value in values)
        assert [value and value.low for value in values] == bitbully_scores(sample), sample.moves


SMALL_BOARDS = [
    # rows, columns, inarow, stones on the board from which the oracle is quick
    (4, 5, 3, 9),
    (5, 4, 3, 9),
    (4, 4, 4, 6),
    (3, 3, 3, 0),
    (3, 3, 2, 0),
    (2, 2, 2, 0),
    (2, 3, 1, 0),
    (1, 7, 4, 0),
    (7, 1, 4, 0),
    (5, 5, 4, 17),
    (3, 12, 4, 29),
    (7, 8, 4, 48),
    (8, 7, 4, 48),
    (6, 9, 5, 47),
]


@pytest.mark.parametrize(
    "board, compiled",
    [(board, False) for board in SMALL_BOARDS]
    + [pytest.param(board, True, marks=COMPILES) for board in SMALL_BOARDS if board[:2] in ((5, 4), (7, 8))],
)  # compiling takes seconds; two shapes suffice
def test_scores_equal_the_plain_oracle(board, compiled):
    rows, columns, inarow, stones = board
    geometry = geometry_of(rows, columns, inarow)
    solver, known, checked = Solver(geometry, 16, compiled), dict[str, int](), 0
    for sample in itertools.islice(random_samples(1, range(stones, rows * columns), geometry), 15):
        expected = oracle.move_scores(oracle.board_after(rows, columns, sample.moves), inarow, known)
        values = solver.scores(sample.position)
        found = {column: value.low for column, value in enumerate(values) if value is not None and value.exact}
        assert found == expected, sample.moves
        assert solver.solve(sample.position) == Value(max(expected.values()), max(expected.values()))
        checked += 1
    assert checked


def samples_of(seed, stones, count):
    return list(itertools.islice(random_samples(seed, stones), count))


def arrays_of(samples) -> np.ndarray:
    """Their positions and masks: (2, n) int64."""
    return np.array([sample.position[:2] for sample in samples], np.int64).T


def test_best_moves_are_those_of_all_scores(solver):
    for sample in samples_of(2, range(16, 42), 30):
        every, best = Solver(STANDARD, 18).scores(sample.position), solver.best_moves(sample.position)
        highest = max(value.low for value in every if value)
        assert [c for c, value in enumerate(best) if value == Value(highest, highest)] == [
            c for c, value in enumerate(every) if value and value.low == highest
        ]
        assert all(value.low <= exact.low <= value.high for value, exact in zip(best, every, strict=True) if exact)


@COMPILES
def test_threads_over_one_table_find_the_same():
    positions, masks = arrays_of(samples_of(10, range(11, 18), 24))
    expected = Solver(STANDARD).solve_many(positions, masks).tolist()
    first = Solver(STANDARD, 14, threads=2)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first.solve_many, positions, masks)
        other = pool.submit(first.beside(1).solve_many, positions[::-1], masks[::-1])
        assert one.result().tolist() == other.result()[::-1].tolist() == expected


def test_a_known_score_saves_nodes_and_changes_no_score():
    free, helped = Solver(STANDARD, 18), Solver(STANDARD, 18)
    for sample in samples_of(8, range(14, 42), 40):
        expected = free.scores(sample.position)
        highest = max(value.low for value in expected if value)
        known = Value(highest, highest)
        assert helped.scores(sample.position, known=known) == expected
        best = Solver(STANDARD, 18).best_moves(sample.position, known=known)
        assert [value == known for value in best] == [value == known for value in expected]
    assert helped.nodes < free.nodes


def follow_up(position: Position) -> int:
    """What the side that has just moved scores against the best play if it answers each stone just above it.

    None of the solver's rules: every line of play is tried. Only for columns with an even number of empty cells.
    """
    worst = SPAN
    for column in position.legal_columns():
        after = position.play(column)
        if column in position.winning_columns():
            return -((position.geometry.cells + 1 - position.ply) // 2)
        if column in after.winning_columns():
            worst = min(worst, (position.geometry.cells + 1 - after.ply) // 2)
        else:
            worst = min(worst, follow_up(after.play(column)))
    return 0 if worst == SPAN else worst


def even_position(rng: random.Random, geometry: Geometry) -> Position:
    """Stones of both sides at random, in columns with an even number of empty cells, at most ten in all."""
    heights, empty = [geometry.rows] * geometry.columns, rng.choice([4, 6, 8, 10])
    while empty:
        column = rng.randrange(geometry.columns)
        if heights[column] >= 2:
            heights[column], empty = heights[column] - 2, empty - 2
    cells = [1 << c * geometry.stride + row for c, height in enumerate(heights) for row in range(height)]
    return Position(sum(rng.sample(cells, len(cells) // 2)), sum(cells), geometry)


@pytest.mark.parametrize("rows, columns, inarow", [(6, 4, 4), (4, 5, 3), (4, 5, 4), (6, 7, 4)])
def test_follow_up_bound_is_below_what_following_up_reaches(rows, columns, inarow):
    geometry, rng = geometry_of(rows, columns, inarow), random.Random(3)
    proven = above = 0
    for position in (even_position(rng, geometry) for _ in range(1500)):
        if position.is_over() or position.pass_turn().is_over():
            continue
        playable = open_cells(position.mask, geometry)
        empty = geometry.board_mask ^ position.mask
        lower = empty & sum(geometry.bottom_mask << row for row in range(0, rows, 2))
        spots = position.pass_turn().winning_spots()
        bound = follow_up_bound(position.position, spots, playable, lower, empty ^ lower, geometry)
        assert bound <= follow_up(position)
        proven += bound >= 0
        above += bound > 0
    assert proven > 5 and above > 2


def test_weak_scores_have_the_sign_of_exact_ones():
    solver = Solver(STANDARD)
    for sample in samples_of(3, range(16, 42), 30):
        weak = Solver(STANDARD, 18).scores(sample.position, weak=True)
        for value, exact in zip(weak, solver.scores(sample.position), strict=True):
            assert (value is None) == (exact is None)
            if value and exact:
                assert value.result == (exact.low > 0) - (exact.low < 0)


def test_mirrored_positions_have_mirrored_scores(solver):
    for sample in samples_of(4, range(16, 42), 30):
        assert solver.scores(sample.position.mirror()) == solver.scores(sample.position)[::-1]


def test_what_the_table_holds_does_not_change_a_score(solver):
    samples = samples_of(5, range(16, 42), 60)
    positions, masks = arrays_of(samples)
    in_one_run = solver.solve_many(positions, masks).tolist()
    assert in_one_run == solver.solve_many(positions[::-1], masks[::-1])[::-1].tolist()
    tiny = Solver(STANDARD, 1)
    for sample, value in zip(samples, in_one_run, strict=True):
        tiny._table.fill(0) if tiny.compiled else None
        assert [*tiny.solve(sample.position)] == value


@COMPILES
def test_compiled_and_plain_kernel_search_the_same_nodes():
    compiled, plain = Solver(STANDARD), Solver(STANDARD, 16, compiled=False)
    compiled_too = Solver(STANDARD, 16)
    for sample in samples_of(6, range(24, 42), 40):
        assert plain.scores(sample.position) == compiled_too.scores(sample.position) == compiled.scores(sample.position)
        assert plain.nodes == compiled_too.nodes
    assert plain.nodes > 1000


@COMPILES
def test_a_search_needs_no_more_nodes_than_it_did():
    """What only makes the solver slow shows nowhere else. Write a lower number down."""
    fresh = Solver(STANDARD)
    fresh.solve_many(*arrays_of(samples_of(9, range(14, 24), 60)))
    assert fresh.nodes <= 317_741


@pytest.mark.parametrize("nodes", [0, 1, 7, 100, 3000])
@pytest.mark.parametrize("method", ["scores", "best_moves"])
def test_a_stopped_solver_proves_only_what_is_true(solver, nodes, method):
    unproven = 0
    for sample in samples_of(7, range(14, 20), 5):
        fresh = Solver(STANDARD, 18)
        partial = getattr(fresh, method)(sample.position, Budget(nodes=nodes))
        assert fresh.nodes <= nodes
        for value, exact in zip(partial, solver.scores(sample.position), strict=True):
            assert (value is None) == (exact is None)
            if value and exact:
                assert value.low <= exact.low <= value.high
                unproven += not value.exact
        resumed = fresh.scores(sample.position)
        assert resumed == solver.scores(sample.position)
    assert unproven or nodes == 3000


@REAL_CLOCK
def test_the_deadline_is_kept(solver):
    position = Position.empty(STANDARD)
    solver.solve(position, Budget(nodes=1))
    for seconds in (0.0, 0.2):
        start = time.perf_counter()
        values = solver.scores(position, Budget.seconds(seconds))
        assert time.perf_counter() - start < seconds + 0.3
        assert all(value.low <= exact <= value.high for value, exact in zip(values, EMPTY_BOARD, strict=True))


EMPTY_BOARD = (-2, -1, 0, 1, 0, -1, -2)  # Allis 1988, and every solver since


def test_positions_that_cannot_be_solved_are_refused(solver):
    won = Position.from_moves([0, 1, 0, 1, 0, 1, 0], STANDARD)
    with pytest.raises(ValueError, match="over"):
        solver.solve(won)
    with pytest.raises(ValueError, match="Geometry"):
        solver.scores(Position.empty(geometry_of(5, 5, 4)))
    with pytest.raises(ValueError, match="64-bit"):
        Solver(geometry_of(9, 9, 4))


@pytest.mark.parametrize("stones", range(20, 42))
def test_plies_to_end_is_the_length_of_perfect_play(solver, stones):
    for sample in samples_of(stones, [stones], 3):
        position, length = sample.position, 0
        expected = plies_to_end(solver.solve(position).low, stones, 42)
        while not position.is_over():
            values = solver.scores(position)
            position = position.play(max(position.legal_columns(), key=lambda column: values[column].low))
            length += 1
        assert length == expected
