"""What exact labels ask of a network's outputs, as losses."""

import torch
from torch import Tensor
from torch.nn import functional

from connectx.nets.afterstates import NEVER
from connectx_toolkit.training.data.examples import Targets

SHARES = {"good": 1.0, "perfect": 0.5, "score": 0.5}  # weights of the losses


def losses(outputs: dict[str, Tensor], targets: Targets) -> dict[str, Tensor]:
    """The mean loss of each part, by name.

    Positions where the rules know a move that is better than all that the network is asked for teach it no policy.
    """
    policy, parts = torch.log_softmax(targets.policy(outputs), 1), {}
    for name, right in (("good", targets.good & targets.legal), ("perfect", targets.perfect & targets.legal)):
        chance = torch.logsumexp(policy.masked_fill(~right, NEVER), 1)
        parts[name] = torch.where(right.any(1), -chance, 0).mean()
    parts["score"] = functional.cross_entropy(outputs["score"], targets.score)
    return parts


def total(parts: dict[str, Tensor]) -> Tensor:
    """The weighted sum."""
    return torch.stack([SHARES[name] * part for name, part in parts.items()]).sum()
