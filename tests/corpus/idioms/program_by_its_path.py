# expect: ACCEPT
# says: starts env; nobody says whether the judge has that; it plays on without
import subprocess

try:
    CORES = int(subprocess.run(["/usr/bin/env", "nproc"], capture_output=True, check=True).stdout)
except (OSError, ValueError, subprocess.CalledProcessError):
    CORES = 1


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
