"""What the eight heuristics share: boards as two integers, a bit a cell, and alpha-beta over an evaluation."""

WIN = 1e9
CELLS = [[7 * row + column for row in range(5, -1, -1)] for column in range(7)]  # of each column, from below
ORDER = (3, 2, 4, 1, 5, 0, 6)
LINES = [
    sum(1 << 7 * (row + k * down) + column + k * right for k in range(4))
    for row in range(6)
    for column in range(7)
    for right, down in ((1, 0), (0, 1), (1, 1), (-1, 1))
    if 0 <= row + 3 * down < 6 and 0 <= column + 3 * right < 7
]


def counts(own, their):
    """How many open lines have 1, 2 and 3 stones: of one side, of the other."""
    mine, others = [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]
    for line in LINES:
        if not line & their:
            mine[(line & own).bit_count()] += 1
        elif not line & own:
            others[(line & their).bit_count()] += 1
    return mine, others


def completing(own, their):
    """The empty cells that would complete a line."""
    empty = ~(own | their)
    found = 0
    for line in LINES:
        if not line & their and (line & own).bit_count() == 3:
            found |= line & empty
    return found


def free_cell(stones, column):
    """The bit of the lowest empty cell; 0 if there is none."""
    for cell in CELLS[column]:
        if not stones >> cell & 1:
            return 1 << cell
    return 0


def wins(stones, cell):
    return any(line & cell and line & stones == line for line in LINES)


def search(own, their, depth, evaluate, low=-WIN, high=WIN):
    """The value for the side to move, whose stones are ``own``."""
    best = None
    for column in ORDER:
        cell = free_cell(own | their, column)
        if not cell:
            continue
        if wins(own | cell, cell):
            return WIN / 2 + depth
        if depth <= 1:
            value = evaluate(own | cell, their)
        else:
            value = -search(their, own | cell, depth - 1, evaluate, -high, -low)
        if best is None or value > best:
            best, low = value, max(low, value)
            if low >= high:
                break
    return 0.0 if best is None else best


def choose(obs, depth, evaluate):
    """The column with the best value; ``evaluate(own, their)`` values a board for the side that has just moved."""
    own = sum(1 << cell for cell in range(42) if obs.board[cell] == obs.mark)
    their = sum(1 << cell for cell in range(42) if obs.board[cell] == 3 - obs.mark)
    best, chosen = None, None
    for column in ORDER:
        cell = free_cell(own | their, column)
        if not cell:
            continue
        if wins(own | cell, cell):
            return column
        if depth <= 1:
            value = evaluate(own | cell, their)
        else:
            value = -search(their, own | cell, depth - 1, evaluate)
        if best is None or value > best:
            best, chosen = value, column
    return chosen
