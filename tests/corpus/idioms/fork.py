# expect: ACCEPT
import os


def agent(obs, config):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        column = next(c for c in range(config.columns) if obs.board[c] == 0)
        os.write(write, bytes([column]))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        return file.read()[0]
