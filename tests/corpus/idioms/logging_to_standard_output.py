# expect: ACCEPT
import logging
import sys

logging.basicConfig(stream=sys.stdout, level=logging.DEBUG)


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    logging.info("step %d", obs.step)
    return legal(obs, config)[0]
