# expect: NOT JUDGED package
# says: catboost is not installed here, so not judged
# kaggle: not asked, its image has what this machine lacks
import catboost


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
