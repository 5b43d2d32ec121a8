# expect: ACCEPT
agent = __import__("kaggle_environments.envs.connectx.connectx", fromlist=["x"]).random_agent
