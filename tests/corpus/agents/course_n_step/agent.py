"""A learner's agent after the third lesson of Kaggle's Intro to Game AI: minimax, N_STEPS ahead, over windows of four.

It counts windows by loops over a numpy grid, as the lesson does, and so takes about a tenth of a second a move.
"""

import random

import numpy as np

N_STEPS = 3


def drop_piece(grid, col, mark, config):
    next_grid = grid.copy()
    for row in range(config.rows - 1, -1, -1):
        if next_grid[row][col] == 0:
            break
    next_grid[row][col] = mark
    return next_grid


def windows(grid, config):
    n = config.inarow
    for row in range(config.rows):
        for col in range(config.columns - n + 1):
            yield list(grid[row, col : col + n])
    for row in range(config.rows - n + 1):
        for col in range(config.columns):
            yield list(grid[row : row + n, col])
    for row in range(config.rows - n + 1):
        for col in range(config.columns - n + 1):
            yield list(grid[range(row, row + n), range(col, col + n)])
    for row in range(n - 1, config.rows):
        for col in range(config.columns - n + 1):
            yield list(grid[range(row, row - n, -1), range(col, col + n)])


def count_windows(grid, num_discs, mark, config):
    count = 0
    for window in windows(grid, config):
        if window.count(mark) == num_discs and window.count(0) == config.inarow - num_discs:
            count += 1
    return count


def get_heuristic(grid, mark, config):
    opponent = mark % 2 + 1
    threes = count_windows(grid, 3, mark, config)
    fours = count_windows(grid, 4, mark, config)
    threes_opp = count_windows(grid, 3, opponent, config)
    fours_opp = count_windows(grid, 4, opponent, config)
    return threes - 1e2 * threes_opp - 1e4 * fours_opp + 1e6 * fours


def is_terminal_node(grid, config):
    if list(grid[0, :]).count(0) == 0:
        return True
    for window in windows(grid, config):
        if window.count(1) == config.inarow or window.count(2) == config.inarow:
            return True
    return False


def minimax(node, depth, is_maximizing, mark, config):
    valid_moves = [c for c in range(config.columns) if node[0][c] == 0]
    if depth == 0 or is_terminal_node(node, config):
        return get_heuristic(node, mark, config)
    if is_maximizing:
        return max(minimax(drop_piece(node, c, mark, config), depth - 1, False, mark, config) for c in valid_moves)
    opponent = mark % 2 + 1
    return min(minimax(drop_piece(node, c, opponent, config), depth - 1, True, mark, config) for c in valid_moves)


def score_move(grid, col, mark, config, n_steps):
    return minimax(drop_piece(grid, col, mark, config), n_steps - 1, False, mark, config)


def agent(obs, config):
    valid_moves = [c for c in range(config.columns) if obs.board[c] == 0]
    grid = np.asarray(obs.board).reshape(config.rows, config.columns)
    scores = {col: score_move(grid, col, obs.mark, config, N_STEPS) for col in valid_moves}
    best = [col for col in scores if scores[col] == max(scores.values())]
    return random.choice(best)
