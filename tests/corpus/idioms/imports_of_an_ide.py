# expect: ACCEPT
# needs: tkinter.tix
from tkinter.tix import COLUMN
from turtle import right


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
