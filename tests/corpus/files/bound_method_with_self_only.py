# expect: REJECT replies
class Player:
    def choose(self, obs):
        return obs.board.index(0)


player = Player().choose
