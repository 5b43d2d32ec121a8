# expect: REJECT load
# because: not among the packages that Kaggle is known to have
import connect_four_helpers


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
