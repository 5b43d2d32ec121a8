"""Seeds of the random generators that agents use."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def seed_everything(seed: int) -> None:
    """Seeds the global generators of random, and of numpy and torch if they are imported."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seeds the global generators within the block; after it they go on as if nothing had been drawn from them."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    of_python = random.getstate()
    of_numpy, of_torch = numpy and numpy.random.get_state(), torch and torch.get_rng_state()
    seed_everything(seed)
    try:
        yield
    finally:
        random.setstate(of_python)
        if numpy:
            numpy.random.set_state(of_numpy)
        if torch:
            torch.set_rng_state(of_torch)
