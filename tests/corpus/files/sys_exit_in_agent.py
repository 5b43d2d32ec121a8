# expect: REJECT replies
# because: SystemExit escapes
import sys


def agent(obs, config):
    sys.exit("give up")
