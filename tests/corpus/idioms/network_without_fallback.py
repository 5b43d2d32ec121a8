# expect: REJECT load
# because: the judge has no network
import urllib.request

BOOK = urllib.request.urlopen("http://book.invalid/book.txt", timeout=1).read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
