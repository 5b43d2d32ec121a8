# expect: ACCEPT
import logging

logging.basicConfig(filename="agent.log", level=logging.DEBUG)


def agent(obs, config):
    logging.debug("ply %d", obs.step)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
