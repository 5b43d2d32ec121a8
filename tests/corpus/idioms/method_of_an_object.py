# expect: ACCEPT
# says: not a plain function
class Player:
    def choose(self, obs, config):
        return [c for c in range(config.columns) if obs.board[c] == 0][0]


agent = Player().choose
