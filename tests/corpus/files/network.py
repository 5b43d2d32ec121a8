# expect: ACCEPT
import socket


def agent(obs, config):
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=0.1).close()
    except OSError:
        pass
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
