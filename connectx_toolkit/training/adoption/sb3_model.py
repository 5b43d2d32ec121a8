"""The policy of a model that stable-baselines3 has saved, built again from what its archive says."""

import re
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.common import torch_layers
from stable_baselines3.dqn.policies import DQNPolicy

from connectx_toolkit.system.console import as_option
from connectx_toolkit.training.adoption.sb3_archive import Archive, Find, value_in


def policy_of(
    archive: Archive,
    parameters: dict[str, torch.Tensor],
    extractor: Any,
    arguments: dict[str, Any],
    activation: Any,
    find: Find,
) -> Any:
    """The policy, in evaluation mode.

    Args:
        extractor: the class of its features extractor, None for the usual one or one of stable-baselines3's.
        arguments: options of the policy that the archive does not say, or says otherwise.
        activation: what makes its activation function, None for what the archive names.
        find: gives what the user's file binds to a name, or raises LookupError.

    Raises:
        ValueError: the parameters are not those of such a policy, or a class has to be shown.
    """
    kwargs = dict(archive.kwargs)
    if activation is not None:
        kwargs["activation_fn"] = activation
    if extractor := _extractor(archive, extractor):
        kwargs["features_extractor_class"] = extractor
    kwargs = _resolved(archive, kwargs | arguments, find)
    try:
        policy = archive.policy(archive.observation, spaces.Discrete(archive.columns), lambda _: 0.0, **kwargs)
        policy.load_state_dict(parameters)
    except (RuntimeError, TypeError, AssertionError, KeyError, AttributeError) as fault:
        reason = " ".join(str(fault).split())
        raise ValueError(
            f"the parameters in {archive.path} are not those of the policy that it describes ({reason:.200}); options "
            f"that it does not tell are given by {as_option('arguments')}, such as "
            '{"net_arch": [64, 64]}'
        ) from None
    policy.set_training_mode(False)
    return policy


def _extractor(archive: Archive, extractor: Any) -> Any:
    """The class of the features extractor, None for the policy's own. Raises ValueError if it has to be shown."""
    if extractor is None and archive.extractor:
        module, _, name = archive.extractor.rpartition(".")
        if module != torch_layers.__name__:
            raise ValueError(
                f"{archive.path} has a features extractor {name} of your own: "
                f"{as_option('module', f'FILE.py:{name}')} (or a notebook, lesson.ipynb:{name}) says where it "
                "is written"
            )
        return getattr(torch_layers, name)
    is_class = isinstance(extractor, type) and issubclass(extractor, torch_layers.BaseFeaturesExtractor)
    if extractor is not None and not is_class:
        name = getattr(extractor, "__name__", repr(extractor))
        raise ValueError(
            f"{as_option('module')} names {name}, which is no features extractor: for {archive.path} it should be "
            "the subclass of stable_baselines3's BaseFeaturesExtractor that the model was trained with"
            + ("" if archive.extractor else f"; this model has the usual one, and needs no {as_option('module')}")
        )
    return extractor


def _resolved(archive: Archive, kwargs: dict[str, Any], find: Find) -> dict[str, Any]:
    """Options with classes and functions for their texts. Raises ValueError if one has to be shown."""
    module = as_option("module", "FILE.py:CLASS")
    cures = {
        "activation_fn": f"say which by {as_option('activation')}, such as 'nn.LeakyReLU(0.2)' or FILE.py:NAME",
        "features_extractor_kwargs": f"{module} has to name the file that defines what is in them",
    }
    made = dict(kwargs)
    for name, value in kwargs.items():
        if isinstance(value, str):
            try:
                made[name] = value_in(value, find)
            except LookupError:
                shown = re.sub(r" at 0x\w+", "", value)
                cure = cures.get(name, f"give them by {as_option('arguments', 'JSON')}")
                raise ValueError(f"{archive.path} has {name} of your own, {shown:.120}: {cure}") from None
    return made


def scores_of(policy: Any, observations: np.ndarray) -> np.ndarray:
    """The policy's numbers for the columns, (n, columns), as it takes the largest of them."""
    seen, _ = policy.obs_to_tensor(observations)
    with torch.no_grad():
        if isinstance(policy, DQNPolicy):
            return policy.q_net(seen).numpy()
        if isinstance(policy, QRDQNPolicy):
            return policy.quantile_net(seen).mean(dim=1).numpy()
        return policy.get_distribution(seen).distribution.logits.numpy()
