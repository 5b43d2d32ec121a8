# expect: ACCEPT
import socket


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=0.1).close()
    except OSError:
        pass
    return legal(obs, config)[0]
