# expect: ACCEPT
import os

if os.path.exists('/tmp'):
    with open('/tmp/corpus_probe.txt', 'a+') as file:
        file.read()
    with open('/tmp/corpus_probe.txt') as file:
        file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
