"""Exact scores of positions and of moves: a null-window alpha-beta search with a transposition table.

The kernel answers "is the score at least beta?" for a queue of jobs, one position each, and halves the interval of each
job's score until it is exact. What makes it quick, in order of gain (the first ideas are those of Pons' tutorial,
blog.gamesolver.org; claim-even is Allis' rule, "A Knowledge-based Approach of Connect-Four", 1988):

- Only moves that do not lose at once are generated, and all children of a node are made together, one a lane of short
  loops without branches, which compile to vector instructions. A child that has lost whatever it replies decides its
  parent; it is never entered. Every child's table entry is read before any child is entered.
- Moves are tried by the number of winning spots that they leave, less a penalty for a stone under an own one; those on
  rows that zugzwang favours, and a forced reply, count a little more (7% fewer nodes).
- A child is decided, too, if the side that has moved can answer every later stone in the same column and the other one
  has no line among its own stones and the cells that this leaves it (claim-even): 25 to 45% fewer nodes.
- The table holds facts on positions, as intervals, which stay true over all calls. Mirrored positions share an entry.
"""

import time
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from connectx.clock import Budget
from connectx.geometry import Geometry
from connectx.jit import compiles, int_array, jitable, njit, plain, popcount
from connectx.position import Position, has_line, key_of, mirror_bits, winning_spots

HASH_FACTOR = 0x1E3779B97F4A7C15  # odd, so that multiplication modulo a power of two loses no key
BOUND_BITS = 6  # a bound of a score: at most 63 cells fit a word, so 0 <= score + 32 < 64
BOUND_MASK = (1 << BOUND_BITS) - 1
LANE_BITS = 6  # a column's number in the order of the moves
LANE_MASK = (1 << LANE_BITS) - 1
# The table has two parts, in buckets of two entries. Most nodes are deep; if their part fits the processor's second
# cache (2 MB), the search is 3 times as fast as with one part of 32 MB. The few nodes above have the wide part.
DEEP_BITS = 17  # log2 of the deep part's buckets
DEEP_EMPTY = 19  # empty cells of the shallowest deep node
LASTING_EMPTY = 28  # empty cells of the deepest node of the lasting part, if there is one
BARE_EMPTY = 6  # nodes with fewer are cheaper to search than to look up
NO_LIMIT = 1 << 62  # nodes
NOTHING = -99  # no beta
SPAN = 32  # no score of a board that fits a word is larger
COMPILED_SLICE, PLAIN_SLICE = 1 << 16, 1 << 7  # nodes between two looks at the clock: about 10 ms

# Fields of a job, one row of JOB numbers each: a position, the interval that its score lies in, and the interval of
# interest: a job ends when low = high, low >= ceiling or high <= floor.
JOB_POSITION, JOB_MASK, JOB_LOW, JOB_HIGH, JOB_FLOOR, JOB_CEILING, JOB = range(7)

# What the kernel keeps between calls: job in work, depth below its root (-1: the root is yet to be set up), nodes
# entered since the beginning, beta, and the node to enter next.
(STATE_JOB, STATE_DEPTH, STATE_NODES, STATE_BETA, STATE_POSITION, STATE_MASK, STATE_MIRROR_POSITION,
 STATE_MIRROR_MASK, STATE_MINE, STATE_THEIRS, STATE_HASH, STATE_DEEP_START, STATE) = range(13)  # fmt: skip

# Fields of a node's frame, after three blocks of one number a lane (order, spots, hash).
(NODE_POSITION, NODE_MASK, NODE_MIRROR_POSITION, NODE_MIRROR_MASK, NODE_MINE, NODE_THEIRS, NODE_HASH, NODE_BEST,
 NODE_PENDING, NODE) = range(10)  # fmt: skip


@jitable
def halfway(low, high):
    """The beta to ask for first: it halves the interval, but far from 0 first, for short wins have small trees."""
    beta = (low + high + 1) >> 1
    if beta <= 0 and low < 2 * beta - 1:
        beta = (low >> 1) + 1
    elif beta > 0 and high > 2 * beta - 1:
        beta = (high + 1) >> 1
    return min(max(beta, low + 1), high)


@jitable
def follow_up_bound(stones, spots, playable, lower, upper, geometry):
    """What the side that has just moved scores at least if it answers every stone in the same column; -SPAN: unknown.

    So the other side gets no upper cell. A column is closed above an upper cell that completes a line of the answering
    side: when all else is full, the other side must play below one. A column that is not closed and has an odd number
    of empty cells is left with an even number by a stone on its lowest; with an even number of such columns, that stone
    is answered in another of them. The other side has no line for certain if its stones hold none together with all
    cells that any order of moves may give it.

    Args:
        stones: those of the side to move.
        spots: winning spots of the side that has just moved.
        playable: the lowest empty cell of each column.
        lower, upper: the empty cells by turns, from the lowest of each column upwards.
    """
    bottom, board, top = geometry.bottom_mask, geometry.board_mask, geometry.bottom_mask << (geometry.rows - 1)
    below = board + (spots & upper)  # the carry clears a column from its lowest such spot upwards, and sets its guard
    single = lower & top & below  # the top cells of the open columns of odd length
    single = lower & top & (below | -(popcount(single) & 1))  # if they are odd in number, try with all of odd length
    swapped = (single << 1) - (single >> (geometry.rows - 1))
    caps = (spots & upper & ~swapped) | (spots & lower & ~playable & swapped)
    below = board + caps
    reach = ((lower & ~swapped) | ((upper | playable) & swapped)) & below
    fails = has_line(stones | reach, geometry) | ((popcount(single) & 1) != 0)
    kept = popcount((board & ~below) | caps) + popcount(below & (bottom << geometry.rows))  # cells full only afterwards
    return -SPAN if fails else kept >> 1


@lru_cache(maxsize=8)
def kernel_for(geometry: Geometry, table_bits: int, lasting_bits: int = 0):
    """The search kernel of one geometry and table size; both are constants to the compiler.

    What is scalar has functions of its own. The two loops over lanes stay in ``run``: in a function, the first is no
    longer compiled to vectors (2 times as slow in all), the second to other ones (1.05 times).

    ``run(jobs, job_count, state, frames, table, node_limit) -> bool`` works through the jobs until all are done (True)
    or ``node_limit`` nodes have been entered since the solver was made (False: call again to go on).
    """
    rows, columns, stride = geometry.rows, geometry.columns, geometry.stride
    cells, bottom, board = geometry.cells, geometry.bottom_mask, geometry.board_mask
    column_bits = (1 << rows) - 1
    lanes = 8 if columns <= 8 and stride <= 9 else columns  # 8 int64 fill a vector; no shift may reach 64
    at_spots, at_hash, at_node = lanes, 2 * lanes, 3 * lanes
    frame = -(-(3 * lanes + NODE) // 8) * 8
    word = columns * stride
    deep_bits, wide_bits = min(DEEP_BITS, word), min(table_bits - 1, word)  # log2 of the buckets of each part
    lasting_bits = max(0, min(lasting_bits - 1, word))
    deep_shift, wide_shift, lasting_shift = word - deep_bits, word - wide_bits, word - lasting_bits
    deep_mask, wide_mask, tag_mask = (1 << deep_bits) - 1, (1 << wide_bits) - 1, (1 << deep_shift) - 1
    lasting_mask, lasting_start = (1 << lasting_bits) - 1, 2 << wide_bits
    last_wide, last_stored = cells - DEEP_EMPTY - 1, cells - BARE_EMPTY
    last_lasting = cells - LASTING_EMPTY - 1 if lasting_bits else -2
    span = (cells + 1) // 2  # no score is larger
    top = bottom << rows - 1
    even_rows = sum(bottom << row for row in range(1, rows, 2))

    @jitable
    def begin_job(jobs, row):
        """Narrows a job's interval by what is plain; returns (beta to ask for, spots of the mover, of the other).

        Beta is ``NOTHING`` where nothing more is to be learned.
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
        """The order of the pending lane to search next, its number in the last bits; 0 if none is left."""
        pick = 0
        for lane in range(lanes):
            pick = max(pick, frames[row + lane] if (pending >> lane) & 1 else 0)
        return pick

    @jitable
    def store(table, deep_start, product, ply, value, beta):
        """Adds to the table that a node's score is at least value, if that is beta or more, and else at most."""
        low, high = -span, span
        if value >= beta:
            low = value
        else:
            high = value
        if ply > last_wide:
            bucket = deep_start + (((product >> deep_shift) & deep_mask) << 1)
        elif ply > last_lasting + 1:
            bucket = ((product >> wide_shift) & wide_mask) << 1
        else:
            bucket = lasting_start + (((product >> lasting_shift) & lasting_mask) << 1)
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

            # Enter a node whose mover can neither win at once nor has lost at once. Is its score at least beta?
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
            base = key_of(position ^ mask, mask)  # a move's bit added gives the child's key
            mirror_base = key_of(mirror_position ^ mirror_mask, mirror_mask)
            good_rows = even_rows if ply & 1 else board ^ even_rows  # where a threat gains by zugzwang
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
                elif ply <= last_lasting:
                    shift, index_mask, start = lasting_shift, lasting_mask, lasting_start
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

            # Search the next child, or return to the parent, until a node is to be entered or the root is decided.
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
    """What is proven of a score: it lies in ``low .. high``, seen by the side that the score is for."""

    low: int
    high: int

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def result(self) -> int | None:
        """1 for a win, 0 for a draw, -1 for a loss, None if that is not yet known."""
        signs = {(bound > 0) - (bound < 0) for bound in self}
        return signs.pop() if len(signs) == 1 else None

    def settled(self, floor: int, ceiling: int) -> bool:
        """Whether nothing more is to be learned of the score between floor and ceiling."""
        return self.exact or self.low >= ceiling or self.high <= floor

    def negated(self) -> "Value":
        """The same for the other side."""
        return Value(-self.high, -self.low)


UNKNOWN = Value(-SPAN, SPAN)
RESULTS, DISTANCES = (-1, 1), (-SPAN, SPAN)  # windows: floor and ceiling of the scores that matter


class Limit(NamedTuple):
    """Where a run of the kernel stops."""

    deadline: float | None  # a time.perf_counter() value
    nodes: int  # of the solver's counter


class Solver:
    """Solves positions of one geometry; what it has learned stays in its table and speeds up later calls.

    Scores count from the side to move: a win with the mover's next stone at ply m scores ``(cells + 1 - m) // 2``, a
    loss the negative, a draw 0. ``nodes`` is the number of nodes entered since the solver was made.

    Everywhere, ``budget`` bounds a call by time, nodes or both; when it runs out, the call returns what is proven by
    then. None: until all is proven. ``weak`` asks for results (win, draw, loss) only. Positions in which somebody has a
    line, or of another geometry, raise ValueError.

    Args:
        table_bits: log2 of the number of entries in the wide part of the table, 8 bytes each.
        compiled: False to run the kernel uncompiled. By default compiled where numba works.
        lasting_bits: log2 of the number of entries of a third part of the table, for nodes with ``LASTING_EMPTY`` or
            more empty cells, which the others then do not push out. 0: no such part.
        threads: how many solvers will share the table, see ``beside``.

    Raises:
        ValueError: the geometry does not fit a 64-bit word.
    """

    def __init__(
        self,
        geometry: Geometry,
        table_bits: int = 22,
        compiled: bool | None = None,
        lasting_bits: int = 0,
        threads: int = 1,
    ):
        if not geometry.fits_word:
            raise ValueError(f"a board of {geometry[:3]} (rows, columns, inarow) does not fit a 64-bit word")
        self.geometry = geometry
        self.compiled = compiles() if compiled is None else compiled
        kernel = kernel_for(geometry, table_bits, lasting_bits)
        self._run = kernel if self.compiled else plain(kernel)
        self._shared = (1 << table_bits) + (1 << lasting_bits if lasting_bits else 0)
        self._table = int_array(self._shared + threads * (2 << DEEP_BITS), self.compiled)
        if self.compiled:
            self._table.fill(0)  # has the memory mapped now, not at first use in the middle of a search
        self._work_in(0)

    def _work_in(self, deep_part: int) -> None:
        """Gives the solver its own memory, and its own deep part of the table."""
        size = (self.geometry.cells + 1) * (3 * max(8, self.geometry.columns) + NODE + 8)
        self._frames = int_array(size + 8, self.compiled)
        if self.compiled:  # vectors of 64 bytes that lie across two cache lines cost 2 to 8% on quick sets
            skip = -self._frames.ctypes.data // 8 % 8
            self._frames = self._frames[skip : skip + size]
        self._state = int_array(STATE, self.compiled)
        self._state[STATE_DEEP_START] = self._shared + deep_part * (2 << DEEP_BITS)

    def beside(self, deep_part: int) -> "Solver":
        """A solver for another thread, over the same table: ``deep_part`` is 1 to ``threads - 1``, one for each.

        An entry is one word, tag and bounds together: what two threads write at once may be lost, but is never mixed.
        """
        other = copy(self)
        other._work_in(deep_part)
        return other

    @property
    def nodes(self) -> int:
        return int(self._state[STATE_NODES])

    def solve(self, position: Position, budget: Budget | None = None, weak: bool = False) -> Value:
        """The score of a position."""
        return self.solve_many([position], budget, weak)[0]

    def solve_many(
        self, positions: Sequence[Position], budget: Budget | None = None, weak: bool = False
    ) -> list[Value]:
        """The scores of positions, one after the other in one run of the kernel."""
        for position in positions:
            self._check(position)
        queue = self.queue([job_of(position, window=RESULTS if weak else DISTANCES) for position in positions])
        self.work(queue, self._limit(budget))
        return read_queue(queue)

    def scores(
        self, position: Position, budget: Budget | None = None, weak: bool = False, known: Value = UNKNOWN
    ) -> list[Value | None]:
        """The score of each column's move, seen by the side to move; None where the column is full.

        With a budget, the results of all moves come first, then the distances.

        Args:
            known: what is proven of the position's own score, as by the scores of the position before it. If it is
                exact, the best moves are found first, and the others' scores are below: 12% fewer nodes in all on 44
                positions of 10 to 20 stones, 29% fewer by the geometric mean.
        """
        values, limit = self._at_once(position, known), self._limit(budget)
        windows = [RESULTS] * (weak or budget is not None) + [DISTANCES] * (not weak)
        if known.exact:
            windows.insert(-1, (known.high - 1, known.high))
        for window in windows:
            unsettled = [column for column, value in values.items() if not value.settled(*window)]
            queue = self.queue([job_of(position.play(c), values[c].negated(), window) for c in unsettled])
            self.work(queue, limit)
            values.update(zip(unsettled, (reply.negated() for reply in read_queue(queue)), strict=True))
        return [values.get(column) for column in range(self.geometry.columns)]

    def best_moves(
        self, position: Position, budget: Budget | None = None, known: Value = UNKNOWN
    ) -> list[Value | None]:
        """As ``scores``, but proves only which moves are best, and by how much: their values are exact and equal.

        Of any other move it is proven that ``high`` lies below theirs. First the best result (win, draw or loss) is
        found, then the best score among the moves that may keep it; a move is left as soon as it cannot be best.
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

    def queue(self, jobs: Sequence[tuple[int, ...]]):
        """Jobs as the kernel takes them: int64 (jobs * JOB,), or a list where it runs uncompiled."""
        flat = [field for job in jobs for field in job]
        return np.array(flat, np.int64) if self.compiled else flat

    def work(self, queue, limit: Limit = Limit(None, NO_LIMIT)) -> bool:  # noqa: B008 - immutable
        """Run the kernel on a queue, in place, until all jobs are done (True) or the limit is reached."""
        self._state[STATE_JOB], self._state[STATE_DEPTH] = 0, -1
        count = len(queue) // JOB
        slice_size = COMPILED_SLICE if self.compiled else PLAIN_SLICE
        while True:
            until = limit.nodes if limit.deadline is None else min(limit.nodes, self.nodes + slice_size)
            if self._run(queue, count, self._state, self._frames, self._table, until):
                return True
            if self.nodes >= limit.nodes or (limit.deadline is not None and time.perf_counter() >= limit.deadline):
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
        """What is known of each legal move without search, from the centre outwards.

        That is whether it wins at once, and that it is worth at most what the position is.
        """
        self._check(position)
        win = (self.geometry.cells + 1 - position.ply) // 2
        legal, winning = position.legal_columns(), position.winning_columns()
        columns = [column for column in self.geometry.column_order if column in legal]
        return {c: Value(win, win) if c in winning else Value(-SPAN, min(win - 1, known.high)) for c in columns}


def job_of(position: Position, known: Value = UNKNOWN, window: tuple[int, int] = DISTANCES) -> tuple[int, ...]:
    """A job of the kernel: what is the score of a position, of which ``known`` is proven already?

    ``window`` gives floor and ceiling of the scores of interest, seen by the side that has just moved.
    """
    floor, ceiling = window
    return position.position, position.mask, known.low, known.high, -ceiling, -floor


def read_queue(queue) -> list[Value]:
    """What is proven of each job's position."""
    return [Value(int(queue[at + JOB_LOW]), int(queue[at + JOB_HIGH])) for at in range(0, len(queue), JOB)]
