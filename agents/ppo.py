"""A policy learnt by PPO in self-play (train.py ppo): the most probable legal column, without search.

On boards other than the one it was trained on it plays as one_step does.
"""

from agents.n_step import choose
from connectx.clock import budget_for
from connectx.nets import PlainNetwork, masked_argmax
from connectx.position import Position
from connectx.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/ppo.bin"))


def agent(obs, config):
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    if position.geometry != network.architecture.geometry:
        return choose(position, 1, budget)
    return masked_argmax(network.judge(position)["policy"], position)
