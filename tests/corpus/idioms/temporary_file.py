# expect: ACCEPT
import tempfile

with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
    file.write("3 2 4 1 5 0 6")
with open(file.name) as again:
    ORDER = [int(text) for text in again.read().split()]


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
