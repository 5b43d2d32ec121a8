# expect: ACCEPT
import subprocess
import sys

subprocess.run([sys.executable, '-c', ''])


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
