# expect: NOT JUDGED package
# says: not judged: catboost is not installed here
# kaggle: not asked, its image has what this machine lacks
import catboost


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
