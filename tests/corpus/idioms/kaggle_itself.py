# expect: ACCEPT
from kaggle_environments.envs.connectx.connectx import is_win
from kaggle_environments.utils import structify


def agent(obs, config):
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    wins = [c for c in columns if is_win(obs.board, c, obs.mark, structify(config), False)]
    return (wins or columns)[0]
