# expect: ACCEPT
# runs: 1
import torch

torch.set_num_interop_threads(1)
torch.set_num_threads(1)


def agent(obs, config):
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    return columns[int(torch.zeros(len(columns)).argmax())]
