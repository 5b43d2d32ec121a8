# expect: ACCEPT
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


class Player:
    def __call__(self, obs, config):
        return legal(obs, config)[0]


player = Player()
