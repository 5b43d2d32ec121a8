# expect: REJECT replies
# because: raises ValueError
def drop(board, column, columns, rows):
    return max(row for row in range(rows) if board[row * columns + column] == 0)


def agent(obs, config):
    drop(obs.board, 3, config.columns, config.rows)
    return 3
