"""torch policy net, 1.7 million parameters: it judges the position that each move leads to.

Each move is played, and the replies that are forced, as long as there is only one that does not lose at once. The
network sees what this leads to. ``train.py network`` makes it, for the standard board; on others the course's one-step
look-ahead plays. Where torch is missing or broken, the same network runs in numpy, with the same moves, and stderr says
why.
"""

import numpy as np

from connectx_core.afterstates import afterstates, chances_of_moves, policy_of
from connectx_core.encoding import encode_many
from connectx_core.lookahead import one_step_move
from connectx_core.network import both_views, mean_of_views, softmax
from connectx_core.policy_net import TorchOrNumpy
from connectx_core.position import Position
from connectx_core.weights import read_data

# Logits that differ by less are equal, and the leftmost column is played. Torch and numpy differ by up to 1e-4, but
# have to choose the same.
TIE = 1e-3

network = TorchOrNumpy.from_bytes(read_data("weights/policy.bin"))
geometry, encoding = network.architecture.geometry, network.architecture.encoding


def logits_of(position: Position) -> np.ndarray:
    """How good each column is, (columns,) float32: far below the others where it loses by force or is full."""
    # 1. Play each move and the forced replies. Some games are then decided by the rules; m positions are left.
    states = afterstates(np.array([position.position]), np.array([position.mask]), geometry)
    # 2. Planes of these positions, for the network: (m, planes, rows, columns), and of their mirror images.
    planes = both_views(encode_many(states.positions, states.masks, geometry, encoding))
    # 3. The network gives each position a logit and the chances of every exact score: who wins, and how soon.
    outputs = mean_of_views(network.forward(planes))
    chances = chances_of_moves(softmax(outputs["score"]), states)  # (1, columns, scores), for the mover
    # 4. The logit of each move: the network's own, and more the likelier it is that no other has a better result. Moves
    # that the rules decide come first if they win, last if they lose.
    return policy_of(outputs["move"][:, 0], chances, states)[0]


def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry != geometry:
        return one_step_move(obs, config)
    logits = logits_of(position)
    return next(column for column in position.legal_columns() if logits[column] > logits.max() - TIE)
