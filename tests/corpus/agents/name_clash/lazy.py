import os, right.inner  # noqa: E401 (one statement for both, as people write)

CALLS = 0


def choose(obs, config, offset):
    global CALLS
    CALLS += 1
    assert right.inner.STEP == 10 and os.sep
    legal = [c for c in range(config.columns) if obs.board[c] == 0]
    return legal[(offset + right.inner.STEP + sum(obs.board)) % len(legal)]
