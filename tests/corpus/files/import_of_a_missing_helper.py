# expect: REJECT replies
# because: No module named
def agent(obs, config):
    import helper

    return helper.choose(obs, config)
