# expect: REJECT load
# because: no answer in 2 s
# limits: act_timeout=0.5 overage=1.5
import time

time.sleep(600)


def agent(obs, config):
    return legal(obs, config)[0]
