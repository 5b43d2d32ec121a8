# expect: REJECT callable
# because: write_agent_to_file
import inspect
import os

from kaggle_environments import evaluate, make


def my_agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


env = make("connectx", debug=True)
env.run([my_agent, "random"])
print(evaluate("connectx", [my_agent, "random"], {}, [], 2))


def write_agent_to_file(function, file):
    with open(file, "a" if os.path.exists(file) else "w") as f:
        f.write(inspect.getsource(function))


write_agent_to_file(my_agent, "submission.py")
