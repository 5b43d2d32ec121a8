# expect: REJECT callable
from typing import List


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


Board = List[int]
