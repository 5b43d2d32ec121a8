# expect: REJECT load
# because: qualified name
import torch


@torch.jit.script
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


TWO = double(torch.ones(1))


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
