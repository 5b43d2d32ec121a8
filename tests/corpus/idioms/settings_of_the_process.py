# expect: ACCEPT
import gc
import random
import sys
import warnings

gc.disable()
random.seed(0)
sys.setrecursionlimit(20_000)
warnings.filterwarnings("ignore")


def agent(obs, config):
    return random.choice([c for c in range(config.columns) if obs.board[c] == 0])
