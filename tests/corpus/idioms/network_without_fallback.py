# expect: REJECT load
# because: the judge has no network
import urllib.request

BOOK = urllib.request.urlopen("http://book.invalid/book.txt", timeout=1).read()


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
