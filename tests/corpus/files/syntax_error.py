# expect: REJECT text
# because: does not compile
def agent(obs, config)
    return 0
