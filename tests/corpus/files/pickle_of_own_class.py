# expect: REJECT load
# because: PicklingError
import pickle


class Table:
    pass


TABLE = pickle.loads(pickle.dumps(Table()))


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
