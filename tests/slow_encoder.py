"""What every observation of training.environments shows, cell by cell by the rules: slow, and without connectx_core.

A board is a list of rows from the top, as tests.oracle has it: 0 empty, 1 and 2 the players.
"""

from tests.oracle import has_line


def landing_row(board, column):
    """The row, from the top, that a stone dropped in the column comes to lie on; None if it is full."""
    empty = [row for row in range(len(board)) if board[row][column] == 0]
    return max(empty, default=None)


def with_stone(board, row, column, mark):
    after = [line[:] for line in board]
    after[row][column] = mark
    return after


def completes(board, row, column, mark, inarow):
    """Whether a stone of ``mark`` on an empty cell makes a line."""
    return board[row][column] == 0 and has_line(with_stone(board, row, column, mark), mark, inarow)


def spots(board, mark, inarow):
    """The empty cells that complete a line of ``mark``."""
    cells = [(row, column) for row in range(len(board)) for column in range(len(board[0]))]
    return {cell for cell in cells if completes(board, *cell, mark, inarow)}


def facing_pairs(board, mark, inarow):
    """The empty cells of lines of ``inarow`` that hold no stone of the other side and lack exactly two."""
    rows, columns, found = len(board), len(board[0]), set()
    for row in range(rows):
        for column in range(columns):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + down * i, column + right * i) for i in range(inarow)]
                if all(0 <= r < rows and 0 <= c < columns for r, c in line):
                    empty = [(r, c) for r, c in line if board[r][c] == 0]
                    own = [(r, c) for r, c in line if board[r][c] == mark]
                    if len(empty) == 2 and len(own) == inarow - 2:
                        found.update(empty)
    return found


def safe_moves(board, me, inarow):
    """The cells that may be played now without letting the other side win with its next stone."""
    other, found = 3 - me, set()
    for column in range(len(board[0])):
        row = landing_row(board, column)
        if row is not None:
            after = with_stone(board, row, column, me)
            replies = [(landing_row(after, c), c) for c in range(len(board[0]))]
            if not any(r is not None and completes(after, r, c, other, inarow) for r, c in replies):
                found.add((row, column))
    return found


def lines_of_four():
    """Each line of 7x6: its cells, the plane (0 or 1) that shows it, and the cell that it has there."""
    for up in range(6):
        for start in range(4):
            yield [(5 - up, start + i) for i in range(4)], 0, (5 - up, 2 * start)
    for number in range(12):
        up, start = divmod(number, 4)
        rising, place = [(5 - up - i, start + i) for i in range(4)], (5 - number // 3, number % 3)
        yield rising, 1, place
        yield [(row, 6 - column) for row, column in rising], 1, (place[0], 6 - place[1])
    for column in range(7):
        for up in (0, 1):
            yield [(5 - up - i, column) for i in range(4)], 1, (1 - up, column)
        beside = {3: 3}.get(column, 1 if column < 3 else 5)
        yield [(3 - i, column) for i in range(4)], 0, (5 - min(column, 6 - column), beside)


def fours(board, me):
    """For each side, and 1, 2, 3 of its stones: two planes with the lines in which it alone has so many."""
    for mark in (me, 3 - me):
        for count in (1, 2, 3):
            planes: list[set] = [set(), set()]
            for cells, plane, place in lines_of_four():
                if sorted(board[r][c] for r, c in cells) == sorted([mark] * count + [0] * (4 - count)):
                    planes[plane].add(place)
            yield from planes


def observation(board, me, inarow, name):
    """What the player ``me`` sees: nested lists, (planes, rows, columns)."""
    if name == "course":
        return [board]
    if name == "sides":
        return [[[{0: 0, me: 1}.get(cell, 2) for cell in row] for row in board]]
    rows, columns, other = len(board), len(board[0]), 3 - me
    cells = {(row, column) for row in range(rows) for column in range(columns)}
    stones = [{cell for cell in cells if board[cell[0]][cell[1]] == mark} for mark in (me, other)]
    wins = [spots(board, mark, inarow) for mark in (me, other)]
    landing = {(row, column) for column in range(columns) if (row := landing_row(board, column)) is not None}
    ahead = [{(r, c) for r, c in landing if (r - 1, c) in side} for side in wins]  # one above the stone dropped now
    count = len(stones[0]) + len(stones[1])
    facts = [*stones, *wins, landing, cells if count % 2 == 0 else set()]
    pairs = [facing_pairs(board, mark, inarow) for mark in (me, other)]
    sets = {
        "stones-1": stones,
        "facts-1": facts,
        "tactics-1": [*stones, *wins, landing & wins[0], landing & wins[1], *ahead],
        "lines-1": [*facts, safe_moves(board, me, inarow), *pairs],
    }
    sets["fours-1"] = [*sets["lines-1"], *(fours(board, me) if (rows, columns) == (6, 7) else [])]
    return [
        [[int((row, column) in plane) for column in range(columns)] for row in reversed(range(rows))]
        for plane in sets[name]
    ]
