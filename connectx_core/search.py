"""Alpha-beta search with iterative deepening over the static evaluation; stops at a deadline or a number of nodes.

The kernel ``negamax`` keeps its own stack, so that it can pause after any node and resume. It runs in slices of about
10 ms, and Python checks the clock in between. Without numba, and on boards of more than 64 bits, the same source runs
uncompiled.

Methods: principal variation search (Marsland and Campbell 1982); a transposition table with two slots per bucket; moves
that lose at once are never searched; moves are ordered by the number of threats that they leave (Pons); forced replies
do not reduce the depth.
"""

import re
import time
from collections.abc import Callable, Collection
from functools import cache, lru_cache, partial
from types import FunctionType
from typing import NamedTuple

import numpy as np

from connectx_core.clock import Budget, GameMemory
from connectx_core.evaluation import LIMIT, check_evaluation, evaluate, takes_position
from connectx_core.jit import Kernel, int_array, jitable, njit, plain, popcount
from connectx_core.leaf import GEOMETRY as LEAF_GEOMETRY
from connectx_core.leaf import LeafNet, leaf_value
from connectx_core.machine_code import prepare_kernel
from connectx_core.position import STANDARD, Geometry, Position, column_cells, key_of, open_cells, winning_spots

__all__ = ["GameSearcher", "Result", "Searcher"]

WIN = 10_000  # a proven win scores WIN + its exact score, more than any evaluation; a proven loss the negative of that
INFINITY = 1 << 20
OUR_EVALUATION = evaluate

SLICE_SECONDS = 0.01
TABLE_BUCKETS = 1_048_573  # a prime below 2^20: two slots of 16 bytes each make 32 MB
PLAIN_TABLE_BUCKETS = 65_537  # plain Python searches about 10^4 nodes a second

# How a table value relates to the true one.
EXACT, LOWER, UPPER = 0, 1, 2
NO_ENTRY = -1

# control: the current frame, nodes so far, the value that a finished frame returns to its parent, whether the current
# frame is new, and the number of nodes at which to pause.
PLY, NODES, VALUE, ENTERING, NODE_LIMIT = 0, 1, 2, 3, 4
CONTROL_SIZE = 5

# A frame of the stack. The parent sets the first five; DEPTH is the number of plies left before the evaluation.
FRAME_POSITION, MASK, DEPTH, ALPHA, BETA = 0, 1, 2, 3, 4
BEST, BEST_COLUMN, FLOOR = 5, 6, 7  # best value so far, its column, and alpha before the first move
NEXT, COUNT, SCOUTING = 8, 9, 10  # index of the current move, number of moves, whether the window is a null window
FRAME_MOVES = 11  # the first of the moves; there is room for one per column

# A move in a frame is column << RANK_BITS | rank.
RANK_BITS = 16
RANK_MASK = (1 << RANK_BITS) - 1
TABLE_RANK = RANK_MASK >> 1  # added to the rank of the move from the table

MAX_DEPTH = 1023  # the largest depth that a table entry can hold


class Result(NamedTuple):
    """Outcome of a search. |score| > WIN is proven; ``depth`` is the last completed depth in plies, or 0."""

    column: int
    score: int
    depth: int
    nodes: int


@jitable
def safe_moves(position, mask, geometry):
    """The moves, as bits, after which the opponent cannot win at once; 0 if there are none."""
    moves = open_cells(mask, geometry)
    spots = winning_spots(position ^ mask, mask, geometry)
    forced = moves & spots
    if forced:
        moves = forced if forced & (forced - 1) == 0 else 0
    return moves & ~(spots >> 1)


@jitable
def win_score(mask, plies, geometry):
    """Score of a win with the stone played ``plies`` plies from now (0: with the next stone)."""
    return WIN + (geometry.rows * geometry.columns + 1 - popcount(mask) - plies) // 2


@jitable
def pack_entry(value, column, depth, bound):
    """A table entry in one non-negative number."""
    return (value + INFINITY) << 24 | column << 12 | depth << 2 | bound


@jitable
def unpack_entry(entry):
    """(value, column, depth, bound) of a table entry."""
    return (entry >> 24) - INFINITY, (entry >> 12) & 0xFFF, (entry >> 2) & MAX_DEPTH, entry & 3


@jitable
def probe(table, key):
    """The entry of a position, or NO_ENTRY. Keys are stored plus 1, so that 0 means empty."""
    slot = key % (len(table) // 4) * 4
    if table[slot] == key + 1:
        return table[slot + 1]
    if table[slot + 2] == key + 1:
        return table[slot + 3]
    return NO_ENTRY


@jitable
def store(table, key, entry):
    """Stores an entry in the first slot of its bucket, or in the second if the first holds another's deeper entry."""
    slot = key % (len(table) // 4) * 4
    kept_depth = (table[slot + 1] >> 2) & MAX_DEPTH
    if table[slot] != key + 1 and table[slot] != 0 and kept_depth > (entry >> 2) & MAX_DEPTH:
        slot += 2
    table[slot] = key + 1
    table[slot + 1] = entry


@jitable
def order_moves(frames, base, candidates, first, order, geometry):
    """Writes a frame's candidate moves into it, best first, and returns their number.

    Column ``first``, the move from the table or -1, leads; then the moves that leave the most threats, and among equals
    those that come first in ``order``.
    """
    position, mask = frames[base + FRAME_POSITION], frames[base + MASK]
    start = end = base + FRAME_MOVES
    for index in range(len(order)):
        column = order[index]
        move = candidates & column_cells(column, geometry)
        if move:
            rank = popcount(winning_spots(position | move, mask | move, geometry))
            if column == first:
                rank += TABLE_RANK
            place = end
            while place > start and frames[place - 1] & RANK_MASK < rank:
                frames[place] = frames[place - 1]
                place -= 1
            frames[place] = column << RANK_BITS | rank
            end += 1
    return end - start


@jitable
def open_frame(frames, base, order, table, geometry, net):
    """Opens a frame: returns its value if that is known at once; else INFINITY, with the frame ready for its moves.

    Precondition, as everywhere in this search: the mover cannot win with its next stone (the parent made sure of it).
    """
    position, mask, depth = frames[base + FRAME_POSITION], frames[base + MASK], frames[base + DEPTH]
    cells_left = geometry.rows * geometry.columns - popcount(mask)
    candidates = safe_moves(position, mask, geometry)
    if candidates == 0 and cells_left > 0:
        return -win_score(mask, 1, geometry)
    if cells_left <= 2:  # neither the mover nor, after a safe move, the opponent can win with these stones
        return 0
    if depth <= 0:
        return evaluate(position, mask, geometry) if net is None else leaf_value(position, mask, net, geometry)
    alpha = max(frames[base + ALPHA], -win_score(mask, 3, geometry))
    beta = min(frames[base + BETA], win_score(mask, 2, geometry))
    first = -1
    entry = probe(table, key_of(position, mask))
    if entry != NO_ENTRY:
        value, first, entry_depth, bound = unpack_entry(entry)
        # A win or loss proven by a shallow search is valid at any depth; only its distance may not be exact.
        if bound != UPPER and (entry_depth >= depth or value > WIN):
            alpha = max(alpha, value)
        if bound != LOWER and (entry_depth >= depth or value < -WIN):
            beta = min(beta, value)
    if alpha >= beta:
        return alpha
    frames[base + ALPHA], frames[base + BETA], frames[base + FLOOR] = alpha, beta, alpha
    frames[base + BEST], frames[base + BEST_COLUMN] = -INFINITY, 0
    frames[base + NEXT], frames[base + SCOUTING] = 0, 0
    frames[base + COUNT] = order_moves(frames, base, candidates, first, order, geometry)
    return INFINITY


@jitable
def push_child(frames, base, move, geometry):
    """Prepares the next frame for the move, with a null window if this frame is scouting."""
    position, mask, child = frames[base + FRAME_POSITION], frames[base + MASK], base + FRAME_MOVES + geometry.columns
    frames[child + FRAME_POSITION] = position ^ mask
    frames[child + MASK] = mask | (open_cells(mask, geometry) & column_cells(move >> RANK_BITS, geometry))
    # A forced reply does not reduce the depth. The search still ends, since every ply fills a cell.
    frames[child + DEPTH] = frames[base + DEPTH] - (1 if frames[base + COUNT] > 1 else 0)
    alpha = frames[base + ALPHA]
    frames[child + ALPHA] = -alpha - 1 if frames[base + SCOUTING] else -frames[base + BETA]
    frames[child + BETA] = -alpha


@jitable
def absorb(frames, base, move, score):
    """Records the score of the current move and goes on: to its re-search with a full window, or to the next move."""
    if frames[base + SCOUTING] and frames[base + ALPHA] < score < frames[base + BETA]:
        frames[base + SCOUTING] = 0
        return
    if score > frames[base + BEST]:
        frames[base + BEST], frames[base + BEST_COLUMN] = score, move >> RANK_BITS
    frames[base + ALPHA] = max(frames[base + ALPHA], score)
    frames[base + NEXT] += 1
    frames[base + SCOUTING] = 1 if frames[base + BETA] - frames[base + ALPHA] > 1 else 0
    if frames[base + ALPHA] >= frames[base + BETA]:
        frames[base + NEXT] = frames[base + COUNT]


@jitable
def close_frame(frames, base, table):
    """Stores the value of a finished frame and returns it."""
    best, bound = frames[base + BEST], EXACT
    if best <= frames[base + FLOOR]:
        bound = UPPER
    elif best >= frames[base + BETA]:
        bound = LOWER
    entry = pack_entry(best, frames[base + BEST_COLUMN], frames[base + DEPTH], bound)
    store(table, key_of(frames[base + FRAME_POSITION], frames[base + MASK]), entry)
    return best


@njit
def negamax(control, frames, order, table, geometry, net):
    """Searches the position in the first frame within its window; the value is left in control[VALUE].

    Fail-soft: to the frame's DEPTH, a value <= ALPHA is an upper bound of the true value, a value >= BETA a lower
    bound, and any other is exact. A proven win or loss holds at any depth.

    Args:
        control: (CONTROL_SIZE,) int64; at the start all 0 except ENTERING = 1 and the NODE_LIMIT.
        frames: ((cells + 1) * (FRAME_MOVES + columns),) int64; the first five numbers of the first are the task. Its
            mover must not have a winning move.
        order: (columns,) int64, the columns in the order in which moves of equal rank are tried.
        table: (4 * buckets,) int64, the transposition table: two slots per bucket, each a key and its entry.
        net: a LeafNet that evaluates the leaves; None for the static evaluation.

    Returns:
        Whether the search is finished. If not, the same call with a higher NODE_LIMIT continues it.
    """
    ply = control[PLY]
    while ply >= 0:
        base = ply * (FRAME_MOVES + geometry.columns)
        value = INFINITY
        if control[ENTERING]:
            if control[NODES] >= control[NODE_LIMIT]:
                control[PLY] = ply
                return False
            control[NODES] += 1
            control[ENTERING] = 0
            value = open_frame(frames, base, order, table, geometry, net)
        else:
            absorb(frames, base, frames[base + FRAME_MOVES + frames[base + NEXT]], -control[VALUE])
        if value == INFINITY:
            if frames[base + NEXT] < frames[base + COUNT]:
                push_child(frames, base, frames[base + FRAME_MOVES + frames[base + NEXT]], geometry)
                control[ENTERING] = 1
                ply += 1
                continue
            value = close_frame(frames, base, table)
        control[VALUE] = value
        ply -= 1
    return True


@cache
def kernel_with(evaluation: Callable) -> Kernel:
    """``negamax`` with another evaluation at its leaves: the same code, in which ``evaluate`` is another function.

    numba compiles it for this evaluation alone, so that a call costs no more than one of our own.
    """
    function = plain(evaluation)
    if takes_position(function):

        def limit_value(position, mask, geometry):
            return max(-LIMIT, min(LIMIT, int(function(Position(position, mask, geometry)))))

    else:
        jitable(function)

        @jitable
        def limit_value(position, mask, geometry):
            return max(-LIMIT, min(LIMIT, int(function(position, mask, geometry))))

    def with_names(kernel: Callable, **names: Callable) -> FunctionType:
        return FunctionType(plain(kernel).__code__, globals() | names, kernel.__name__)

    return njit(with_names(negamax, open_frame=jitable(with_names(open_frame, evaluate=limit_value))))


class OutOfBudget(Exception):
    """The budget ended before the search did."""


class Searcher:
    """Chooses moves on one geometry. Its transposition table is kept from move to move.

    >>> from connectx_core.position import STANDARD
    >>> position = Position.from_moves([3, 0, 3, 0, 3], STANDARD)
    >>> Searcher(STANDARD).search(position, Budget.seconds(1.0), max_depth=4).column
    3

    Args:
        compiled: whether the kernel runs compiled; by default, if numba works and the board fits 64 bits.
        buckets: size of the table; by default TABLE_BUCKETS or PLAIN_TABLE_BUCKETS.
        net: evaluates the leaves, but only on its own board and in the compiled kernel. Elsewhere, and by default, the
            static evaluation is used (in plain Python it is faster).
        evaluate: a static evaluation of one's own: a function of (stones of the mover, all stones, geometry) as
            ``connectx_core.evaluation.evaluate`` is, which numba compiles with the search; what it calls has to be
            ``jitable``. Or a function of a Position, with which the search runs in plain Python, a hundred times
            slower. Its values are integers within +-LIMIT, large where the mover stands well.

    Raises:
        ValueError: ``evaluate`` gives other values, raises, or cannot be compiled.
    """

    def __init__(
        self,
        geometry: Geometry,
        compiled: bool | None = None,
        buckets: int | None = None,
        net: LeafNet | None = None,
        evaluate: Callable = evaluate,
    ):
        self.geometry = geometry
        self._net = net if geometry == LEAF_GEOMETRY else None
        kernel, search = None, negamax
        if evaluate is not OUR_EVALUATION:
            check_evaluation(evaluate, geometry)
            search = kernel_with(evaluate)
        if (geometry.fits_word if compiled is None else compiled) and not takes_position(evaluate):
            numbers = np.zeros(1, np.int64)
            probe = partial(trial, geometry, self._net)
            kernel = prepare_kernel(search, numbers, numbers, numbers, numbers, geometry, self._net, probe=probe)
            if kernel is not None and search is not negamax:
                try_to_compile(probe, kernel)
        self.compiled = kernel is not None
        self._kernel = kernel or plain(search)
        self._buckets = buckets or (TABLE_BUCKETS if self.compiled else PLAIN_TABLE_BUCKETS)
        self.forget()
        self._frames = int_array(frame_numbers(geometry), self.compiled)
        self._order = int_array(geometry.columns, self.compiled)
        for index, column in enumerate(geometry.column_order):
            self._order[index] = column
        self._net = self._net if self.compiled else None
        self._slice = 1  # nodes between two looks at the clock; adapts to the machine's speed
        self.nodes = 0

    def forget(self) -> None:
        """Empties the table."""
        self._table = int_array(4 * self._buckets, self.compiled)

    def search(
        self,
        position: Position,
        budget: Budget,
        max_depth: int | None = None,
        columns: Collection[int] | None = None,
    ) -> Result:
        """The best move found within the budget, by iterative deepening.

        Args:
            columns: the legal columns to choose from; all of them by default.

        Raises:
            ValueError: the game is over, or the position has another geometry.
        """
        if position.geometry != self.geometry or position.is_over():
            raise ValueError(f"cannot search {position!r}: it is over, or not on {self.geometry!r}")
        self.nodes = 0
        allowed = position.legal_columns() if columns is None else columns
        wins = [column for column in position.winning_columns() if column in allowed]
        if wins:
            return Result(wins[0], win_score(position.mask, 0, self.geometry), 1, 0)
        order = self._root_order(position, allowed)
        result = Result(order[0], 0, 0, 0)
        if len(order) == 1 and max_depth is None:
            return result
        deepest = min(self.geometry.cells - position.ply, MAX_DEPTH, max_depth or MAX_DEPTH)
        for depth in range(1, deepest + 1):
            started = time.perf_counter()
            result, completed = self._search_root(position, order, depth, budget, result)
            # The next depth takes longer than this one: it is not started if there is not enough time for it.
            if not completed or abs(result.score) > WIN or budget.seconds_left() < time.perf_counter() - started:
                break
            order.sort(key=lambda column: column != result.column)  # stable: the best leads the next iteration
        return result._replace(nodes=self.nodes)

    def thoughts(self, position: Position, result: Result) -> dict:
        """What there is to tell of a search that has just ended, in words of JSON."""
        score = (
            f"{result.score:+d}" if abs(result.score) <= WIN else "sees a win" if result.score > 0 else "sees a loss"
        )
        line = self.line(position, result.column)
        return {"depth": result.depth, "nodes": result.nodes, "score": score, "line": line}

    def line(self, position: Position, column: int, plies: int = 12) -> list[int]:
        """The columns that the search expects, ``column`` first, as far as its table still knows them."""
        line = [column]
        position = position.play(column)
        while len(line) < plies and not position.is_over():
            entry, wins = probe(self._table, position.key), position.winning_columns()
            next_column = wins[0] if wins else int(unpack_entry(entry)[1]) if entry != NO_ENTRY else -1
            if next_column not in position.legal_columns():
                break
            line.append(next_column)
            position = position.play(next_column)
        return line

    def _root_order(self, position: Position, allowed: Collection[int]) -> list[int]:
        """The moves to search, centre first: the safe ones; if there are none, those that block a win, else all."""
        safe = safe_moves(position.position, position.mask, self.geometry)
        blocks = position.pass_turn().winning_columns()
        for good in ([c for c in allowed if safe & column_cells(c, self.geometry)], blocks, allowed):
            candidates = [column for column in self.geometry.column_order if column in good and column in allowed]
            if candidates:
                return candidates
        raise ValueError(f"no column to choose from: {allowed!r}")

    def _search_root(
        self, position: Position, columns: list[int], depth: int, budget: Budget, before: Result
    ) -> tuple[Result, bool]:
        """One iteration: its result, partial if the budget ended, and whether it was completed."""
        alpha, best = -INFINITY, before
        try:
            for index, column in enumerate(columns):
                child = position.play(column)
                score = -self._value(child, -alpha - 1 if index else -INFINITY, -alpha, depth - 1, budget)
                if index and score > alpha:
                    score = -self._value(child, -INFINITY, -alpha, depth - 1, budget)
                if score > alpha:
                    alpha = score
                    best = Result(column, score, depth, 0)
        except OutOfBudget:
            return best._replace(depth=before.depth), False
        return best, True

    def _value(self, position: Position, alpha: int, beta: int, depth: int, budget: Budget) -> int:
        """The value of a position for its mover, from ``negamax``; wins with the next stone are found here."""
        if position.winning_columns():
            return int(win_score(position.mask, 0, self.geometry))
        self._frames[:5] = [position.position, position.mask, depth, alpha, beta]
        control = int_array(CONTROL_SIZE, self.compiled)
        control[ENTERING] = 1
        finished = False
        while not finished:
            limit = self._slice if budget.nodes is None else min(self._slice, budget.nodes - self.nodes)
            if budget.is_late(self.nodes):
                raise OutOfBudget
            started, nodes = time.perf_counter(), control[NODES]
            control[NODE_LIMIT] = nodes + limit
            finished = self._kernel(control, self._frames, self._order, self._table, self.geometry, self._net)
            self.nodes += int(control[NODES] - nodes)
            if not finished and limit == self._slice:  # a slice cut short by the node budget tells nothing about speed
                self._adapt_slice(time.perf_counter() - started)
        return int(control[VALUE])

    def _adapt_slice(self, seconds: float) -> None:
        """Sets the next slice to last about SLICE_SECONDS, growing no faster than tenfold."""
        self._slice = max(1, int(self._slice * min(10.0, SLICE_SECONDS / max(seconds, 1e-6))))


class GameSearcher:
    """An agent's searchers, one for each board. A table is kept for the whole of a game, and emptied for the next.

    The kernel for the standard board is made ready at once: an agent's first move has the most time to spare while its
    file loads.

    Args:
        options: of each ``Searcher``.
    """

    def __init__(self, **options):
        self._searcher_for = lru_cache(maxsize=4)(lambda geometry: Searcher(geometry, **options))
        self._game = GameMemory(self._searcher_for.cache_clear)
        self._searcher_for(STANDARD).search(Position.empty(STANDARD), Budget(nodes=1))

    def find_move(self, position: Position, budget: Budget, max_depth: int | None = None) -> Result:
        """The best move found within the budget, as ``Searcher.search`` finds it."""
        self._game.meet(position)
        searcher = self._searcher_for(position.geometry)
        result = searcher.search(position, budget, max_depth)
        self.thoughts = partial(searcher.thoughts, position, result)
        self._game.leave(position.play(result.column))
        return result


def trial(geometry: Geometry, net: LeafNet | None, run: Callable) -> list[int]:
    """The value of the empty board 5 plies deep by ``run``, the kernel, and its number of nodes: a test of it."""
    control, frames = np.zeros(CONTROL_SIZE, np.int64), np.zeros(frame_numbers(geometry), np.int64)
    control[ENTERING], control[NODE_LIMIT] = 1, INFINITY
    frames[:5] = [0, 0, 5, -INFINITY, INFINITY]
    order, table = np.array(geometry.column_order, np.int64), np.zeros(4 * 1009, np.int64)
    run(control, frames, order, table, geometry, net)
    return [int(control[VALUE]), int(control[NODES])]


def try_to_compile(probe: Callable, kernel: Callable) -> None:
    """Raises ValueError, in one line, if numba cannot compile a kernel with somebody's evaluation."""
    try:
        probe(kernel)
    except Exception as problem:
        if type(problem).__module__.partition(".")[0] != "numba":
            raise
        text = re.sub(r"\x1b\[[\d;]*m", "", str(problem)).rpartition("Failed in nopython mode pipeline")[2]
        lines = [" ".join(line.split()) for line in text.splitlines()[1:] if line.strip()]
        place = next((line for line in lines if line.startswith("File ")), "")
        reason = f"{' '.join(lines[: 1 + lines[0].endswith(':')])} {place.removesuffix(':')}".strip()
        cure = "mark what it calls as jitable, or take a Position: that is not compiled"
        raise ValueError(f"numba cannot compile evaluate: {reason}; {cure}") from problem


def frame_numbers(geometry: Geometry) -> int:
    """Numbers that the frames of the deepest search take."""
    return (min(geometry.cells, MAX_DEPTH) + 1) * (FRAME_MOVES + geometry.columns)
