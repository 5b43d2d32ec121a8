# expect: REJECT load
# because: pickle does not find the classes of main.py
import pickle


class Book:
    order = (3, 2, 4, 1, 5, 0, 6)


with open("/kaggle_simulations/agent/book.pkl", "rb") as file:
    ORDER = pickle.load(file).order


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
