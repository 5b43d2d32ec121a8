# expect: REJECT load
# because: list index out of range
if __name__ == '__main__':

    def agent(obs, config):
        return 0
