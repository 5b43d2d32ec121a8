"""Kaggle's own environment for ConnectX, from the package kaggle-environments."""

from collections.abc import Mapping
from typing import Any


def environment_of(config: Mapping[str, Any], bank: float) -> Any:
    """Kaggle's environment with a configuration, and with ``bank`` seconds of overage time instead of its own.

    The import takes over a second with old versions of the package; making one takes as long as a short game.
    """
    from kaggle_environments import environments, make

    parts = dict(environments["connectx"])
    observation = {**parts["specification"]["observation"], "remainingOverageTime": bank}
    parts["specification"] = {**parts["specification"], "observation": observation}
    return make(parts, configuration=dict(config))
