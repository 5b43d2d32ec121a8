# expect: ACCEPT
# says: off sys.path; without it, the agent still played
def agent(obs, config):
    try:
        from helper import pick
    except ImportError:
        return [c for c in range(config.columns) if obs.board[c] == 0][0]
    return pick(obs, config)
