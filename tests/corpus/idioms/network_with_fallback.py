# expect: ACCEPT
# says: book.invalid
import urllib.request

try:
    BOOK = urllib.request.urlopen("http://book.invalid/book.txt", timeout=1).read()
except OSError:
    BOOK = b""


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
