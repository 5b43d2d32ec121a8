"""Exact scores of positions and of moves: a null-window alpha-beta search with a transposition table.

The kernel answers "is the score at least beta?" for a queue of jobs, one position each, and halves the interval of each
job's score until it is exact. What makes it fast, in order of gain (most ideas are from Pons' tutorial,
blog.gamesolver.org; claim-even is a rule of Allis, "A Knowledge-based Approach of Connect-Four", 1988):

- Only moves that do not lose at once are generated. All children of a node are made together, each in one lane of short
  loops without branches, which compile to vector instructions. A child that loses after every reply decides its parent
  without being entered. The table entries of all children are read before any child is entered.
- Moves are ordered by the number of threats that they leave, minus a penalty for a stone below an own threat. Threats
  in rows that zugzwang favours, and moves that force a reply, count a little more (7% fewer nodes).
- Claim-even also decides a child: the side that has just moved can answer every later stone in the same column, and the
  other side cannot get a line from its stones and the cells that are left to it (25 to 45% fewer nodes).
- The table holds proven intervals of scores, which stay valid over all calls. Mirror images share an entry.
"""

import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from connectx_core.clock import Budget
from connectx_core.jit import int_array, jitable, njit, plain, popcount
from connectx_core.machine_code import prepare_kernel
from connectx_core.position import SPAN, Geometry, Position, has_line, key_of, mirror_bits, winning_spots

__all__ = ["Solver", "Value"]

HASH_FACTOR = 0x1E3779B97F4A7C15  # odd, so that multiplication modulo a power of two keeps keys distinct
BOUND_BITS = 6  # a bound of a score: at most 63 cells fit a word, so 0 <= score + 32 < 64
BOUND_MASK = (1 << BOUND_BITS) - 1
LANE_BITS = 6  # bits of a column's number in the sort key of a move
LANE_MASK = (1 << LANE_BITS) - 1
# The table has two parts, with buckets of two entries. Most nodes are deep: if their part fits the processor's L2 cache
# (2 MB), the search is 3 times as fast as with a single part of 32 MB. The few shallower nodes use the wide part.
DEEP_BITS = 17  # log2 of the deep part's buckets
DEEP_EMPTY = 19  # nodes with at most so many empty cells use the deep part
BARE_EMPTY = 6  # nodes with fewer empty cells are not stored: searching them is faster than looking them up
NO_LIMIT = 1 << 62  # nodes
NOTHING = -99  # in place of beta: the job is done
COMPILED_SLICE, PLAIN_SLICE = 1 << 16, 1 << 7  # nodes between two looks at the clock: about 10 ms

# Fields of a job, one row of JOB numbers each: a position, an interval that contains its score, and the interval of
# interest. A job ends when low = high, low >= ceiling or high <= floor.
JOB_POSITION, JOB_MASK, JOB_LOW, JOB_HIGH, JOB_FLOOR, JOB_CEILING, JOB = range(7)

# What the kernel keeps between calls: the current job, the depth below its root (-1: the root is not set up yet), the
# number of nodes entered so far, beta, and the node to enter next.
(STATE_JOB, STATE_DEPTH, STATE_NODES, STATE_BETA, STATE_POSITION, STATE_MASK, STATE_MIRROR_POSITION,
 STATE_MIRROR_MASK, STATE_MINE, STATE_THEIRS, STATE_HASH, STATE_DEEP_START, STATE) = range(13)  # fmt: skip

# Fields of a node's frame, after three blocks with one number per lane (order, spots, hash).
(NODE_POSITION, NODE_MASK, NODE_MIRROR_POSITION, NODE_MIRROR_MASK, NODE_MINE, NODE_THEIRS, NODE_HASH, NODE_BEST,
 NODE_PENDING, NODE) = range(10)  # fmt: skip


@jitable
def halfway(low, high):
    """The beta to test next: it halves the interval, large scores first, because quick wins have small trees."""
    beta = (low + high + 1) >> 1
    if beta <= 0 and low < 2 * beta - 1:
        beta = (low >> 1) + 1
    elif beta > 0 and high > 2 * beta - 1:
        beta = (high + 1) >> 1
    return min(max(beta, low + 1), high)


@jitable
def follow_up_bound(stones, spots, playable, lower, upper, geometry):
    """A lower bound of the score of the side that has just moved, by claim-even; -SPAN if the rule proves nothing.

    That side answers every stone in the same column, so that the other side never gets an upper cell. A threat of the
    answering side on an upper cell closes its column from there on: when all else is full, the other side must play
    below such a threat. An open column with an odd number of empty cells needs one stone on its lowest cell to become
    even; if the number of such columns is even, that stone is answered in another of them. The other side certainly has
    no line if its stones, together with all cells that any order of moves may give it, contain none.

    Args:
        stones: those of the side to move.
        spots: threats of the side that has just moved.
        playable: the lowest empty cell of each column.
        lower, upper: the empty cells of each column in alternation, beginning with the lowest, which is a lower one.
    """
    bottom, board, top = geometry.bottom_mask, geometry.board_mask, geometry.bottom_mask << (geometry.rows - 1)
    below = board + (spots & upper)  # the carry clears a column from its lowest such threat upwards and sets its guard
    single = lower & top & below  # the top cells of the open columns of odd length
    single = lower & top & (below | -(popcount(single) & 1))  # if their number is odd, take all columns of odd length
    swapped = (single << 1) - (single >> (geometry.rows - 1))
    caps = (spots & upper & ~swapped) | (spots & lower & ~playable & swapped)
    below = board + caps
    reach = ((lower & ~swapped) | ((upper | playable) & swapped)) & below
    fails = has_line(stones | reach, geometry) | ((popcount(single) & 1) != 0)
    kept = popcount((board & ~below) | caps) + popcount(below & (bottom << geometry.rows))  # cells full only afterwards
    return -SPAN if fails else kept >> 1


@lru_cache(maxsize=8)
def kernel_for(geometry: Geometry, table_bits: int):
    """The search kernel of one geometry and table size, which are constants for the compiler.

    Scalar parts have functions of their own. The two loops over lanes stay in ``run``: moved to functions, the first is
    no longer vectorised (the search takes 2 times as long), the second is vectorised differently (1.05 times).

    ``run(jobs, job_count, state, frames, table, node_limit) -> bool`` works on the jobs until all are done (True) or
    ``node_limit`` nodes have been entered since the solver was made (False: call again to continue).
    """
    rows, columns, stride = geometry.rows, geometry.columns, geometry.stride
    cells, bottom, board = geometry.cells, geometry.bottom_mask, geometry.board_mask
    column_bits = (1 << rows) - 1
    lanes = 8 if columns <= 8 and stride <= 9 else columns  # 8 int64 fill a vector; no shift may reach 64
    at_spots, at_hash, at_node = lanes, 2 * lanes, 3 * lanes
    frame = -(-(3 * lanes + NODE) // 8) * 8
    word = columns * stride
    deep_bits, wide_bits = min(DEEP_BITS, word), min(table_bits - 1, word)  # log2 of the buckets of each part
    deep_shift, wide_shift = word - deep_bits, word - wide_bits
    deep_mask, wide_mask, tag_mask = (1 << deep_bits) - 1, (1 << wide_bits) - 1, (1 << deep_shift) - 1
    last_wide, last_stored = cells - DEEP_EMPTY - 1, cells - BARE_EMPTY
    span = (cells + 1) // 2  # the largest score
    top = bottom << rows - 1
    even_rows = sum(bottom << row for row in range(1, rows, 2))

    @jitable
    def begin_job(jobs, row):
        """Narrows a job's interval by what needs no search; returns (beta, threats of the mover, of the other side).

        Beta is ``NOTHING`` if the job is done.
        """
        position, mask = jobs[row + JOB_POSITION], jobs[row + JOB_MASK]
        low, high, ply = jobs[row + JOB_LOW], jobs[row + JOB_HIGH], popcount(mask)
        mine, theirs = winning_spots(position, mask, geometry), winning_spots(position ^ mask, mask, geometry)
        playable = (mask + bottom) & board
        forced = theirs & playable
        moves = playable & ~(theirs >> 1)
        if forced:
            moves &= forced
        if mine & playable:
            low = high = (cells + 1 - ply) // 2
        elif ply == cells:
            low = high = 0
        elif moves == 0 or forced & (forced - 1):
            low = high = -((cells - ply) // 2)
        elif ply >= cells - 2:
            low = high = 0
        else:
            low = max(low, -((cells - 2 - ply) // 2))
            high = min(high, (cells - 1 - ply) // 2)
        jobs[row + JOB_LOW], jobs[row + JOB_HIGH] = low, high
        floor, ceiling = jobs[row + JOB_FLOOR], jobs[row + JOB_CEILING]
        if low >= high or low >= ceiling or high <= floor:
            return NOTHING, mine, theirs
        return halfway(max(low, floor), min(high, ceiling)), mine, theirs

    @jitable
    def choose(frames, row, pending):
        """The sort key of the next pending lane, whose number is in its last bits; 0 if no lane is left."""
        pick = 0
        for lane in range(lanes):
            pick = max(pick, frames[row + lane] if (pending >> lane) & 1 else 0)
        return pick

    @jitable
    def store(table, deep_start, product, ply, value, beta):
        """Stores ``value`` as a lower bound of the node's score if it is at least beta, else as an upper bound."""
        low, high = -span, span
        if value >= beta:
            low = value
        else:
            high = value
        if ply > last_wide:
            bucket = deep_start + (((product >> deep_shift) & deep_mask) << 1)
        else:
            bucket = ((product >> wide_shift) & wide_mask) << 1
        tag = product & tag_mask
        entry = table[bucket]
        if entry >> 2 * BOUND_BITS != tag:
            other = table[bucket + 1]
            if other >> 2 * BOUND_BITS == tag:
                bucket += 1
                entry = other
            else:
                table[bucket + 1] = entry
                entry = 0
        low = max(low, (entry & BOUND_MASK) - span)
        high = min(high, span - ((entry >> BOUND_BITS) & BOUND_MASK))
        table[bucket] = (((tag << BOUND_BITS) + span - high) << BOUND_BITS) + low + span

    @njit
    def run(jobs, job_count, state, frames, table, node_limit):
        job, depth, nodes, beta = state[STATE_JOB], state[STATE_DEPTH], state[STATE_NODES], state[STATE_BETA]
        position, mask = state[STATE_POSITION], state[STATE_MASK]
        mirror_position, mirror_mask = state[STATE_MIRROR_POSITION], state[STATE_MIRROR_MASK]
        mine, theirs, product = state[STATE_MINE], state[STATE_THEIRS], state[STATE_HASH]
        deep_start = state[STATE_DEEP_START]
        while job < job_count:
            if depth < 0:
                beta, mine, theirs = begin_job(jobs, job * JOB)
                if beta == NOTHING:
                    job += 1
                    continue
                position, mask = jobs[job * JOB + JOB_POSITION], jobs[job * JOB + JOB_MASK]
                mirror_position, mirror_mask = mirror_bits(position, geometry), mirror_bits(mask, geometry)
                product = HASH_FACTOR * min(key_of(position, mask), key_of(mirror_position, mirror_mask))
                depth = 0

            # Enter a node whose mover can neither win nor lose at once. Is its score at least beta?
            if nodes >= node_limit:
                state[STATE_JOB], state[STATE_DEPTH], state[STATE_NODES], state[STATE_BETA] = job, depth, nodes, beta
                state[STATE_POSITION], state[STATE_MASK] = position, mask
                state[STATE_MIRROR_POSITION], state[STATE_MIRROR_MASK] = mirror_position, mirror_mask
                state[STATE_MINE], state[STATE_THEIRS], state[STATE_HASH] = mine, theirs, product
                return False
            nodes += 1
            ply, row = popcount(mask), depth * frame
            playable = (mask + bottom) & board
            moves = playable & ~(theirs >> 1)
            if theirs & playable:
                moves &= theirs
            base = key_of(position ^ mask, mask)  # adding a move's bit gives the child's key
            mirror_base = key_of(mirror_position ^ mirror_mask, mirror_mask)
            good_rows = even_rows if ply & 1 else board ^ even_rows  # where zugzwang favours the mover's threats
            lower = playable
            for _ in range(rows // 2):
                lower |= ((lower & ~top) << 2) & board
            upper = (board ^ mask) & ~lower
            won = pending = 0
            following = -SPAN
            for lane in range(lanes):
                bits = (moves >> lane * stride) & column_bits
                move = bits << lane * stride
                mirror_move = bits << (((columns - 1 - lane) * stride) & 63)
                frames[row + at_hash + lane] = HASH_FACTOR * min(base + move, mirror_base + mirror_move)
                spots = winning_spots(position | move, mask | move, geometry)
                child_playable = (mask + move + bottom) & board
                threats = spots & child_playable
                replies = child_playable & ~(spots >> 1) & (threats if threats != 0 else -1)
                lost = (replies == 0) | ((threats & (threats - 1)) != 0)
                won |= move if lost else 0
                lane_cells = column_bits << (lane * stride & 63)
                child_lower = (lower & ~lane_cells) | (upper & lane_cells)
                child_upper = (upper & ~lane_cells) | (lower & lane_cells & ~move)
                bound = follow_up_bound(position ^ mask, spots, child_playable, child_lower, child_upper, geometry)
                following = max(following, bound if move else -SPAN)
                score = 256 + 8 * popcount(spots) + popcount(spots & good_rows)
                score += (4 if threats else 0) - (24 if (move << 1) & mine else 0)
                order = (((score << LANE_BITS) + columns - abs(2 * lane + 1 - columns)) << LANE_BITS) + lane
                frames[row + at_spots + lane] = spots
                frames[row + lane] = order
                pending |= 1 << lane if move else 0
            best, decided = -span, True
            if won:
                value = (cells - 1 - ply) // 2
            elif following >= beta:
                value = following
            elif beta > (cells - 3 - ply) // 2:
                value = (cells - 3 - ply) // 2
            elif ply >= last_stored:
                decided, value = False, -span
            else:
                value, refuted, best = -span, 0, -span
                shift, index_mask, start = wide_shift, wide_mask, 0
                if ply >= last_wide:
                    shift, index_mask, start = deep_shift, deep_mask, deep_start
                for lane in range(lanes):
                    child = frames[row + at_hash + lane]
                    bucket = start + (((child >> shift) & index_mask) << 1)
                    tag = child & tag_mask
                    first, second = table[bucket], table[bucket + 1]
                    entry = first if first >> 2 * BOUND_BITS == tag else second
                    known = (pending >> lane) & 1 if entry >> 2 * BOUND_BITS == tag else 0
                    value = max(value, ((entry >> BOUND_BITS) & BOUND_MASK) - span if known else -span)
                    upper = span - (entry & BOUND_MASK) if known else span
                    refuted |= 1 << lane if upper < beta else 0
                    best = max(best, upper if upper < beta else -span)
                decided = value >= beta
                pending ^= refuted

            # Select the next child or return to the parent, until there is a node to enter or the root is decided.
            while True:
                if not decided:
                    pick = choose(frames, row, pending)
                    if pick:
                        lane = pick & LANE_MASK
                        pending ^= 1 << lane
                        node = row + at_node
                        frames[node + NODE_POSITION], frames[node + NODE_MASK] = position, mask
                        frames[node + NODE_MIRROR_POSITION] = mirror_position
                        frames[node + NODE_MIRROR_MASK] = mirror_mask
                        frames[node + NODE_MINE], frames[node + NODE_THEIRS] = mine, theirs
                        frames[node + NODE_HASH], frames[node + NODE_BEST] = product, best
                        frames[node + NODE_PENDING] = pending
                        product = frames[row + at_hash + lane]
                        position, mirror_position = position ^ mask, mirror_position ^ mirror_mask
                        bits = ((mask + bottom) >> lane * stride) & column_bits
                        mask |= bits << lane * stride
                        mirror_mask |= bits << (columns - 1 - lane) * stride
                        mine, theirs = theirs & ~mask, frames[row + at_spots + lane]
                        beta = 1 - beta
                        depth += 1
                        break
                    value = best
                if popcount(mask) <= last_stored:
                    store(table, deep_start, product, popcount(mask), value, beta)
                if depth == 0:
                    row = job * JOB
                    if value >= beta:
                        jobs[row + JOB_LOW] = max(jobs[row + JOB_LOW], value)
                    else:
                        jobs[row + JOB_HIGH] = min(jobs[row + JOB_HIGH], value)
                    depth = -1
                    break
                depth -= 1
                row = depth * frame
                node = row + at_node
                beta, value = 1 - beta, -value
                position, mask = frames[node + NODE_POSITION], frames[node + NODE_MASK]
                mirror_position, mirror_mask = frames[node + NODE_MIRROR_POSITION], frames[node + NODE_MIRROR_MASK]
                mine, theirs = frames[node + NODE_MINE], frames[node + NODE_THEIRS]
                product, pending = frames[node + NODE_HASH], frames[node + NODE_PENDING]
                decided = value >= beta
                best = max(frames[node + NODE_BEST], value)
        state[STATE_JOB], state[STATE_DEPTH], state[STATE_NODES] = job, depth, nodes
        return True

    return run


class Value(NamedTuple):
    """A proven interval of a score: it lies in ``low .. high``, for the side that the score belongs to."""

    low: int
    high: int

    @property
    def exact(self) -> bool:
        """Whether the score is known."""
        return self.low == self.high

    @property
    def result(self) -> int | None:
        """1 for a win, 0 for a draw, -1 for a loss, None if that is not proven yet."""
        signs = {(bound > 0) - (bound < 0) for bound in self}
        return signs.pop() if len(signs) == 1 else None

    def settled(self, floor: int, ceiling: int) -> bool:
        """Whether the score is exact, or proven to lie outside ``floor`` and ``ceiling``."""
        return self.exact or self.low >= ceiling or self.high <= floor

    def negated(self) -> "Value":
        """The same for the other side."""
        return Value(-self.high, -self.low)


UNKNOWN = Value(-SPAN, SPAN)
RESULTS, DISTANCES = (-1, 1), (-SPAN, SPAN)  # windows, floor and ceiling: only the result matters, or the exact score


class Limit(NamedTuple):
    """When a run of the kernel stops."""

    deadline: float | None  # a time.perf_counter() value
    nodes: int  # value of the solver's counter


def frame_numbers(geometry: Geometry) -> int:
    """Numbers that the frames of the deepest search take."""
    return (geometry.cells + 1) * (3 * max(8, geometry.columns) + NODE + 8)


class Solver:
    """Solves positions of one geometry. Its table is kept and speeds up later calls.

    >>> from connectx_core.position import STANDARD
    >>> Solver(STANDARD).solve(Position.from_moves([3] * 6 + [2] * 6, STANDARD))
    Value(low=14, high=14)

    Scores are for the side to move: a win with its stone at ply m scores ``(cells + 1 - m) // 2``, a loss the negative,
    a draw 0. ``nodes`` is the number of nodes entered since the solver was made.

    In all methods, ``budget`` limits a call by time, nodes or both; when it runs out, the call returns what is proven
    so far. None means no limit. ``weak`` asks only for results (win, draw, loss). Positions in which a side has a line,
    or of another geometry, raise ValueError.

    Args:
        table_bits: log2 of the number of entries in the wide part of the table, 8 bytes each.
        compiled: False to run the kernel uncompiled. By default it is compiled if numba works.
        threads: how many solvers will share the table (see ``beside``).

    Raises:
        ValueError: the geometry does not fit a 64-bit word.
    """

    def __init__(self, geometry: Geometry, table_bits: int = 22, compiled: bool | None = None, threads: int = 1):
        if not geometry.fits_word:
            raise ValueError(f"a board of {geometry[:3]} (rows, columns, inarow) does not fit a 64-bit word")
        self.geometry = geometry
        self._bits = table_bits
        self._run = None if compiled is False else self._find_kernel()
        self.compiled = self._run is not None
        self._table = int_array((1 << table_bits) + threads * (2 << DEEP_BITS), self.compiled)
        if self.compiled:
            self._table.fill(0)  # maps the memory now, instead of at its first use in the middle of a search
        self._work_in(0)

    def _find_kernel(self) -> Callable | None:
        """The kernel as compiled here, for this solver alone."""
        numbers = np.zeros(1, np.int64)
        probe = partial(trial, self.geometry, self._bits)
        kernel = kernel_for(self.geometry, self._bits)
        return prepare_kernel(kernel, numbers, 0, numbers, numbers, numbers, 0, probe=probe, is_wide=True)

    def _work_in(self, deep_part: int) -> None:
        """Gives the solver its own working memory and its own deep part of the table."""
        size = frame_numbers(self.geometry)
        self._frames = int_array(size + 8, self.compiled)
        if self.compiled:  # align to cache lines: 64-byte vectors across two of them cost 2 to 8% on quick sets
            skip = -self._frames.ctypes.data // 8 % 8
            self._frames = self._frames[skip : skip + size]
        self._state = int_array(STATE, self.compiled)
        self._state[STATE_DEEP_START] = (1 << self._bits) + deep_part * (2 << DEEP_BITS)

    def clear(self) -> None:
        """Forgets all that is proven: the solver is as a new one, in the same memory, and goes on counting nodes."""
        self._table[:] = 0 if self.compiled else [0] * len(self._table)

    def beside(self, deep_part: int) -> "Solver":
        """A solver for another thread that shares the table. ``deep_part``: 1 to ``threads - 1``, another for each.

        An entry is a single word with tag and bounds: if two threads write at once, one entry is lost, none is mixed.
        """
        other = copy(self)
        other._run = self._find_kernel() if self.compiled else None
        other._work_in(deep_part)
        return other

    @property
    def nodes(self) -> int:
        return int(self._state[STATE_NODES])

    def solve(
        self, position: Position, budget: Budget | None = None, weak: bool = False, known: Value = UNKNOWN
    ) -> Value:
        """The score of a position, of which ``known`` is proven already."""
        self._check(position)
        queue = self.queue([job_of(position, known, RESULTS if weak else DISTANCES)])
        self.work(queue, self._limit(budget))
        return read_queue(queue)[0]

    def solve_many(
        self, positions: np.ndarray, masks: np.ndarray, budget: Budget | None = None, weak: bool = False
    ) -> np.ndarray:
        """The scores of several positions, solved one after the other in one run of the kernel.

        Args:
            positions, masks: (n,) int64. Nobody may have a line: only ``solve`` looks.

        Returns:
            (n, 2) int64: the lower and the upper bound of each score, equal where it is proven.
        """
        jobs = np.empty((len(positions), JOB), np.int64)
        floor, ceiling = RESULTS if weak else DISTANCES
        jobs[:, JOB_POSITION], jobs[:, JOB_MASK] = positions, masks
        jobs[:, JOB_LOW:] = *UNKNOWN, -ceiling, -floor
        queue = self.queue(jobs)
        self.work(queue, self._limit(budget))
        return np.reshape(queue, (-1, JOB))[:, JOB_LOW : JOB_HIGH + 1]

    def scores(
        self,
        position: Position,
        budget: Budget | None = None,
        weak: bool = False,
        known: Value = UNKNOWN,
        least: int | None = None,
    ) -> list[Value | None]:
        """The score of each column's move, for the side to move; None for a full column.

        >>> from connectx_core.position import STANDARD
        >>> position = Position.from_moves([3] * 6 + [2] * 6, STANDARD)
        >>> [value and value.result for value in Solver(STANDARD).scores(position, weak=True)]
        [0, 1, None, None, 1, 0, 1]

        With a budget, the results (win, draw, loss) of all moves are proven first, then the exact scores.

        Args:
            known: what is already proven of the position's own score. If it is exact, the best moves are found first,
                which bounds the scores of the others: 12% fewer nodes in all on 44 positions of 10 to 20 stones, 29%
                fewer by the geometric mean.
            least: ask only whether each score is at least this.
        """
        values, limit = self._at_once(position, known), self._limit(budget)
        windows = [RESULTS] * (weak or budget is not None) + [DISTANCES] * (not weak)
        if known.exact:
            windows.insert(-1, (known.high - 1, known.high))
        if least is not None:
            windows = [(least - 1, least)]
        for window in windows:
            unsettled = [column for column, value in values.items() if not value.settled(*window)]
            queue = self.queue([job_of(position.play(c), values[c].negated(), window) for c in unsettled])
            self.work(queue, limit)
            values.update(zip(unsettled, (reply.negated() for reply in read_queue(queue)), strict=True))
        return [values.get(column) for column in range(self.geometry.columns)]

    def best_moves(
        self, position: Position, budget: Budget | None = None, known: Value = UNKNOWN
    ) -> list[Value | None]:
        """As ``scores``, but proves only which moves are best, and their score: their values are exact and equal.

        Every other move is proven to be worse: its ``high`` is below the best score. The best result (win, draw or
        loss) is found first, then the best score among the moves that may reach it. A move is dropped as soon as it
        cannot be best.
        """
        values, limit = self._at_once(position, known), self._limit(budget)
        for floor, ceiling in (RESULTS, DISTANCES):
            for column in values:
                best = max(known.low, *(value.low for value in values.values()))
                window = (max(floor, best - 1), ceiling)
                if values[column].high < best or values[column].settled(*window):
                    continue
                queue = self.queue([job_of(position.play(column), values[column].negated(), window)])
                self.work(queue, limit)
                values[column] = read_queue(queue)[0].negated()
        return [values.get(column) for column in range(self.geometry.columns)]

    def queue(self, jobs: "Sequence[tuple[int, ...]] | np.ndarray"):
        """Jobs in the kernel's format: int64 (jobs * JOB,), or a list if the kernel runs uncompiled."""
        flat = np.array(jobs, np.int64).reshape(-1)
        return flat if self.compiled else flat.tolist()

    def work(self, queue, limit: Limit = Limit(None, NO_LIMIT)) -> bool:  # noqa: B008 - immutable
        """Runs the kernel on a queue, in place, until all jobs are done (True) or the limit is reached (False)."""
        self._state[STATE_JOB], self._state[STATE_DEPTH] = 0, -1
        count, run = len(queue) // JOB, self._run or plain(kernel_for(self.geometry, self._bits))
        slice_size = COMPILED_SLICE if self.compiled else PLAIN_SLICE
        while True:
            until = limit.nodes if limit.deadline is None else min(limit.nodes, self.nodes + slice_size)
            if run(queue, count, self._state, self._frames, self._table, until):
                return True
            if self.nodes >= limit.nodes:
                return False
            if limit.deadline is not None and time.perf_counter() >= limit.deadline:
                return False

    def _limit(self, budget: Budget | None) -> Limit:
        if budget is None:
            return Limit(None, NO_LIMIT)
        return Limit(budget.deadline, NO_LIMIT if budget.nodes is None else self.nodes + budget.nodes)

    def _check(self, position: Position) -> None:
        if position.geometry != self.geometry:
            raise ValueError(f"a position on {position.geometry} for a solver of {self.geometry}")
        if position.is_lost() or position.pass_turn().is_lost():
            raise ValueError(f"the game is over in {position!r}")

    def _at_once(self, position: Position, known: Value) -> dict[int, Value]:
        """What is known about each legal move without search, from the centre outwards.

        Wins with the next stone are exact; any other move scores less than such a win, and at most ``known.high``.
        """
        self._check(position)
        win = (self.geometry.cells + 1 - position.ply) // 2
        legal, winning = position.legal_columns(), position.winning_columns()
        columns = [column for column in self.geometry.column_order if column in legal]
        return {c: Value(win, win) if c in winning else Value(-SPAN, min(win - 1, known.high)) for c in columns}


def job_of(position: Position, known: Value = UNKNOWN, window: tuple[int, int] = DISTANCES) -> tuple[int, ...]:
    """A job of the kernel: find the score of a position, for which ``known`` is already proven.

    ``window`` is the floor and ceiling of the scores of interest, for the side that has just moved.
    """
    floor, ceiling = window
    return position.position, position.mask, known.low, known.high, -ceiling, -floor


def read_queue(queue) -> list[Value]:
    """The proven interval of each job's position."""
    return [Value(int(queue[at + JOB_LOW]), int(queue[at + JOB_HIGH])) for at in range(0, len(queue), JOB)]


def trial(geometry: Geometry, table_bits: int, run: Callable) -> list[int]:
    """What ``run``, the kernel of this size, finds of two late positions, and its number of nodes: a test of it."""
    jobs = np.array([field for seed in (3, 5) for field in job_of(late_position(geometry, seed))], np.int64)
    state, frames = np.zeros(STATE, np.int64), np.zeros(frame_numbers(geometry), np.int64)
    state[STATE_DEPTH], state[STATE_DEEP_START] = -1, 1 << table_bits
    run(jobs, len(jobs) // JOB, state, frames, np.zeros((1 << table_bits) + (2 << DEEP_BITS), np.int64), NO_LIMIT)
    return [*jobs.tolist(), int(state[STATE_NODES])]


def late_position(geometry: Geometry, seed: int) -> Position:
    """A position with some 14 empty cells in which nobody has a line."""
    position = Position.empty(geometry)
    while position.ply < geometry.cells - 14:
        open_columns = [c for c in position.legal_columns() if c not in position.winning_columns()]
        if not open_columns:
            break
        position = position.play(open_columns[seed * position.ply % len(open_columns)])
    return position
