"""What exact labels and proven bounds ask of a network's outputs, as losses."""

import torch
from torch import Tensor
from torch.nn import functional

from connectx.nets.afterstates import NEVER
from connectx_toolkit.training.data.examples import CLASSES, SCORES, BoundedScores, Targets

SHARES = {"kept": 1.0, "perfect": 0.5, "value": 0.5, "score": 0.5, "results": 0.5}  # weights of the losses
MOVES = ("kept", "perfect")  # those of choosing among moves


def losses(outputs: dict[str, Tensor], targets: Targets) -> dict[str, Tensor]:
    """The mean loss of each part, by name.

    Positions where the rules know a move that is better than all that the network is asked for teach it no policy.
    """
    policy, parts = torch.log_softmax(targets.policy(outputs), 1), {}
    for name, right in (("kept", targets.kept & targets.legal), ("perfect", targets.perfect & targets.legal)):
        chance = torch.logsumexp(policy.masked_fill(~right, NEVER), 1)
        parts[name] = torch.where(right.any(1), -chance, 0).mean()
    parts["value"] = functional.cross_entropy(outputs["value"], targets.value)
    parts["score"] = functional.cross_entropy(outputs["score"], targets.score)
    if "results" in outputs:
        results = outputs["results"].unflatten(1, (-1, CLASSES))[targets.legal]
        parts["results"] = functional.cross_entropy(results, targets.results[targets.legal])
    return parts


def bounds_loss(scores: Tensor, targets: BoundedScores) -> Tensor:
    """The mean of minus the logarithm of the probability of the intervals, from the logits of n positions' scores."""
    scale = torch.arange(SCORES, device=scores.device)
    inside = (scale >= targets.lows[:, None]) & (scale <= targets.highs[:, None])
    chances = torch.log_softmax(scores, 1)
    return -torch.logsumexp(chances.masked_fill(~inside, NEVER), 1).mean()


def total(parts: dict[str, Tensor], of_moves: float = 1.0) -> Tensor:
    """The weighted sum; the losses of ``MOVES`` weigh ``of_moves`` times as much as usual."""
    weighed = [SHARES[name] * (of_moves if name in MOVES else 1) * part for name, part in parts.items()]
    return torch.stack(weighed).sum()
