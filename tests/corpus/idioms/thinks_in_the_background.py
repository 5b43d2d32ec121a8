# expect: ACCEPT
import threading
import time

SEEN = []


def ponder():
    for _ in range(50):
        time.sleep(0.01)
        SEEN.append(0)


threading.Thread(target=ponder, daemon=True).start()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
