# expect: REJECT replies
# because: EOFError
def agent(obs, config):
    return int(input("column? "))
