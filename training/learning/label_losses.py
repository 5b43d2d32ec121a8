"""What exact labels, proven bounds and teachers ask of a network's outputs, as losses."""

import torch
from torch import Tensor
from torch.nn import functional

from connectx.afterstates import NEVER
from training.data.examples import CLASSES, SCORES, BoundedScores, Targets

SHARES = {"kept": 1.0, "perfect": 0.5, "value": 0.5, "score": 0.5, "results": 0.5}  # weights of the losses
MOVES = ("kept", "perfect")  # those of choosing among moves
TAUGHT_MOVES = 0.1  # weight of the squared error of moves' logits, which are some units apart


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


def inside(targets: BoundedScores) -> Tensor:
    """(n, SCORES) bool: the scores in the intervals."""
    scale = torch.arange(SCORES, device=targets.lows.device)
    return (scale >= targets.lows[:, None]) & (scale <= targets.highs[:, None])


def bounds_loss(scores: Tensor, targets: BoundedScores) -> Tensor:
    """The mean of minus the logarithm of the probability of the intervals, from the logits of n positions' scores."""
    chances = torch.log_softmax(scores, 1)
    return -torch.logsumexp(chances.masked_fill(~inside(targets), NEVER), 1).mean()


def taught_loss(outputs: dict[str, Tensor], targets: BoundedScores, taught: dict[str, Tensor]) -> Tensor:
    """The mean cross-entropy with teachers' scores, as far as proven bounds allow them, and the error of moves' logits.

    This is distillation (Hinton et al. 2015) of what is not known already.

    Args:
        outputs, taught: logits of n positions by head, of a network that judges replies and of its teachers.
    """
    chances = torch.softmax(taught["score"].masked_fill(~inside(targets), NEVER), 1)
    of_scores = functional.cross_entropy(outputs["score"], chances)
    return of_scores + TAUGHT_MOVES * functional.mse_loss(outputs["move"], taught["move"])


def total(parts: dict[str, Tensor], of_moves: float = 1.0) -> Tensor:
    """The weighted sum; the losses of ``MOVES`` weigh ``of_moves`` times as much as usual."""
    weighed = [SHARES[name] * (of_moves if name in MOVES else 1) * part for name, part in parts.items()]
    return torch.stack(weighed).sum()
