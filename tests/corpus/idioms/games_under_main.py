# expect: ACCEPT
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


if __name__ == "__main__":
    from kaggle_environments import evaluate

    print(evaluate("connectx", [agent, "random"], num_episodes=100))
