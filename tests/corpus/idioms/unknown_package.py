# expect: REJECT load
# because: connect_four_helpers
import connect_four_helpers


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
