# expect: REJECT replies
# because: TypeError escapes
def agent(obs, config):
    return 6 / 2
