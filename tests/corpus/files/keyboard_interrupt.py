# expect: REJECT replies
# because: KeyboardInterrupt escapes
def agent(obs, config):
    raise KeyboardInterrupt
