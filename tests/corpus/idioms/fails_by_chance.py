# expect: REJECT game
# because: of 20 games failed, for example by ERROR
# games: 60
import random


def agent(obs, config):  # fails where fewer than five columns are free, as in some games
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    return random.sample(columns, 5)[1]
