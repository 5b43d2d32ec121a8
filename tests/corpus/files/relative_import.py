# expect: REJECT load
# because: __name__
from .helper import choose


def agent(obs, config):
    return legal(obs, config)[0]
