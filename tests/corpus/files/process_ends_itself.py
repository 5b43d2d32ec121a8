# expect: REJECT replies
# because: exit code 3
import os


def agent(obs, config):
    os._exit(3)
