# expect: REJECT replies
# because: no answer in 2 s
# limits: act_timeout=0.5 overage=1.5
import time


def agent(obs, config):
    while True:
        time.sleep(0.01)
