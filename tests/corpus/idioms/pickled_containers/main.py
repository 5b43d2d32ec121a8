# expect: ACCEPT
import pickle

with open("/kaggle_simulations/agent/book.pkl", "rb") as file:
    ORDER = pickle.load(file)["order"]


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
