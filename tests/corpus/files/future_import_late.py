# expect: REJECT text
# because: does not compile
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


from __future__ import annotations


def agent(obs, config):
    return legal(obs, config)[0]
