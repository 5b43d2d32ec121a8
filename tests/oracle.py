"""The rules and exact minimax, slow and obvious, written without connectx_core: what its tests compare with.

A board is a list of rows from the top, each a list of cells: 0 empty, 1 and 2 the players; 1 moves first.
"""


def empty_board(rows, columns):
    return [[0] * columns for _ in range(rows)]


def to_move(board):
    stones = sum(cell != 0 for row in board for cell in row)
    return 1 + stones % 2


def legal_columns(board):
    return [column for column, cell in enumerate(board[0]) if cell == 0]


def play(board, column):
    """A new board with a stone of the player to move on the lowest empty cell of the column."""
    mark = to_move(board)
    after = [row[:] for row in board]
    for row in reversed(after):
        if row[column] == 0:
            row[column] = mark
            return after
    raise ValueError(f"column {column} is full")


def board_after(rows, columns, moves):
    board = empty_board(rows, columns)
    for column in moves:
        board = play(board, column)
    return board


def has_line(board, mark, inarow):
    rows, columns = len(board), len(board[0])
    for row in range(rows):
        for column in range(columns):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                cells = [(row + i * down, column + i * right) for i in range(inarow)]
                if all(0 <= r < rows and 0 <= c < columns and board[r][c] == mark for r, c in cells):
                    return True
    return False


def score(board, inarow, known=None):
    """Score of the side to move: (cells + 1 - m) // 2 if it wins with its stone at ply m, negative if the other does.

    Nobody has a line yet. ``known`` is a dict that keeps the scores found, for one size of board and inarow.
    """
    known = {} if known is None else known
    key = str(board)
    if key not in known:
        known[key] = max(move_scores(board, inarow, known).values(), default=0)
    return known[key]


def move_scores(board, inarow, known=None):
    """The score of each legal column's move, seen by the side to move."""
    known = {} if known is None else known
    cells, stones = len(board) * len(board[0]), sum(cell != 0 for row in board for cell in row)
    scores = {}
    for column in legal_columns(board):
        after = play(board, column)
        won = has_line(after, to_move(board), inarow)
        scores[column] = (cells + 1 - stones) // 2 if won else -score(after, inarow, known)
    return scores
