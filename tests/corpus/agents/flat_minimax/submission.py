# In the manner of public notebooks: one flat file, the agent is its last function, numpy grids, fixed depth.
import random
import numpy as np

N_STEPS = 2


def get_heuristic(grid, mark, config):
    num_threes = count_windows(grid, 3, mark, config)
    num_fours = count_windows(grid, 4, mark, config)
    num_threes_opp = count_windows(grid, 3, mark % 2 + 1, config)
    num_fours_opp = count_windows(grid, 4, mark % 2 + 1, config)
    return num_threes - 1e2 * num_threes_opp - 1e4 * num_fours_opp + 1e6 * num_fours


def count_windows(grid, num_discs, piece, config):
    num_windows = 0
    for row in range(config.rows):
        for col in range(config.columns):
            for dr, dc in ((0, 1), (1, 0), (1, 1), (-1, 1)):
                end_r, end_c = row + dr * (config.inarow - 1), col + dc * (config.inarow - 1)
                if 0 <= end_r < config.rows and 0 <= end_c < config.columns:
                    window = [grid[row + dr * i][col + dc * i] for i in range(config.inarow)]
                    if window.count(piece) == num_discs and window.count(0) == config.inarow - num_discs:
                        num_windows += 1
    return num_windows


def drop_piece(grid, col, mark, config):
    next_grid = grid.copy()
    for row in range(config.rows - 1, -1, -1):
        if next_grid[row][col] == 0:
            break
    next_grid[row][col] = mark
    return next_grid


def minimax(node, depth, maximizing, mark, config):
    valid_moves = [c for c in range(config.columns) if node[0][c] == 0]
    if depth == 0 or not valid_moves:
        return get_heuristic(node, mark, config)
    if maximizing:
        return max(minimax(drop_piece(node, col, mark, config), depth - 1, False, mark, config) for col in valid_moves)
    return min(minimax(drop_piece(node, col, mark % 2 + 1, config), depth - 1, True, mark, config) for col in valid_moves)


def my_agent(obs, config):
    valid_moves = [c for c in range(config.columns) if obs.board[c] == 0]
    grid = np.asarray(obs.board).reshape(config.rows, config.columns)
    scores = {
        col: minimax(drop_piece(grid, col, obs.mark, config), N_STEPS - 1, False, obs.mark, config) for col in valid_moves
    }
    max_cols = [key for key in scores.keys() if scores[key] == max(scores.values())]
    return random.choice(max_cols)
