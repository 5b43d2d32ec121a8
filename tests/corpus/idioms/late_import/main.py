# expect: REJECT replies
# because: takes that folder off sys.path
def agent(obs, config):
    import helper

    return helper.pick(obs, config)
