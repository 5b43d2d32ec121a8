"""Static evaluation: what a position is worth where the search has to stop looking."""

from connectx.jit import jitable, popcount
from connectx.position import line_step, winning_spots

# In 20,000-node self-play these scored 60 +- 6.5% against weights of 24, 6, 2 plus 6 for lines of one gap (200 games);
# their neighbours differ by less than the noise. A line that lacks one stone counts by its threat only.
GOOD_THREAT = 16  # a cell that completes a line, in a row that zugzwang will give to its owner
OTHER_THREAT = 5
LINE_OF_TWO_GAPS = 3  # a line that is free of the opponent and lacks two stones
LIMIT = 9_000  # no evaluation is larger: it stays clear of proven wins


@jitable
def free_lines(cells, step, inarow):
    """Bits from which ``inarow`` cells upwards in steps of ``step`` all lie in ``cells``."""
    lines = cells
    for distance in range(1, inarow):
        lines &= cells >> distance * step
    return lines


@jitable
def gap_planes(empty, step, inarow):
    """Of every line, by its first cell, whether it has at least one, two, three empty cells: a unary bit counter."""
    one, two, three = 0, 0, 0
    for distance in range(inarow):
        gap = empty >> distance * step
        three |= two & gap
        two |= one & gap
        one |= gap
    return one, two, three


@jitable
def lines_lacking(gaps, stones, mask, geometry):
    """Number of lines that hold ``gaps`` (0 or 1) empty cells and for the rest ``stones``, over all directions."""
    empty = geometry.board_mask ^ mask
    count = 0
    for direction in range(4):
        step = line_step(direction, geometry)
        one, two, _ = gap_planes(empty, step, geometry.inarow)
        wanted = one & ~two if gaps else ~one
        count += popcount(free_lines(stones | empty, step, geometry.inarow) & wanted)
    return count


@jitable
def line_balance(position, opponent, step, geometry):
    """Lines of two gaps still open to the mover less those open to the opponent, along one direction.

    One count of gaps serves both sides, as a line that is open to a side holds that side's stones and gaps only.
    """
    empty = geometry.board_mask ^ (position | opponent)
    _, two, three = gap_planes(empty, step, geometry.inarow)
    two_gaps = two & ~three
    mine = free_lines(position | empty, step, geometry.inarow) & two_gaps
    theirs = free_lines(opponent | empty, step, geometry.inarow) & two_gaps
    return popcount(mine) - popcount(theirs)


@jitable
def good_rows(is_first, geometry):
    """The cells where a threat is worth most: with an even number of rows, the last safe cell of a column falls to the
    second player, so that zugzwang fills odd rows (counted from 1) for the first player and even rows for the second.
    """
    if geometry.rows % 2:
        return geometry.board_mask
    rows = 0
    for row in range(0 if is_first else 1, geometry.rows, 2):
        rows |= geometry.bottom_mask << row
    return rows


@jitable
def threat_value(stones, mask, is_first, geometry):
    """Worth of the cells that complete a line for ``stones``."""
    threats = winning_spots(stones, mask, geometry)
    good = popcount(threats & good_rows(is_first, geometry))
    return GOOD_THREAT * good + OTHER_THREAT * (popcount(threats) - good)


@jitable
def evaluate(position, mask, geometry):
    """Value for the side to move, within +-LIMIT, 0 when both sides stand alike."""
    opponent = position ^ mask
    mover_is_first = popcount(mask) % 2 == 0
    value = threat_value(position, mask, mover_is_first, geometry)
    value -= threat_value(opponent, mask, not mover_is_first, geometry)
    for direction in range(4):
        step = line_step(direction, geometry)
        value += LINE_OF_TWO_GAPS * line_balance(position, opponent, step, geometry)
    return max(-LIMIT, min(LIMIT, value))
