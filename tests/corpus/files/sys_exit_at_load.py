# expect: REJECT load
# because: SystemExit escapes
import sys

sys.exit(1)


def agent(obs, config):
    return legal(obs, config)[0]
