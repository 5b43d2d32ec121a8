# expect: ACCEPT
import logging
import sys

logging.basicConfig(stream=sys.stdout, level=logging.DEBUG)


def agent(obs, config):
    logging.info("step %d", obs.step)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
