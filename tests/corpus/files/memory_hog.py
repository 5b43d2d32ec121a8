# expect: REJECT memory
# because: more than 512 MiB
# limits: memory=536870912
# kaggle: not asked, its limit is its container's
def agent(obs, config):
    hoard = [bytes(range(256)) * 40_000 for _ in range(100)]
    return [c for c in range(config.columns) if obs.board[c] == 0][len(hoard) * 0]
