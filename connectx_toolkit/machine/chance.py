"""Seeds of the random generators that agents use."""

import random
import sys


def seed_everything(seed: int) -> None:
    """Seeds the global generators of random, and of numpy and torch if they are imported."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)
