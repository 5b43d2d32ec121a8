"""The policy of a model that stable-baselines3 has saved, without unpickling anything.

The archive holds a file ``data`` in JSON, of which what is pickled is not looked at, and the parameters, which
torch.load reads with weights_only. The policy is built again from plain fields: the kind, the spaces, and the
architecture; a features extractor that is a class of somebody's own has to be shown.
"""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common import torch_layers
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.dqn.policies import DQNPolicy
from torch import nn

POLICIES: dict[str, Any] = {  # module of the policy's class: the class
    "stable_baselines3.common.policies": ActorCriticPolicy,
    "sb3_contrib.common.maskable.policies": MaskableActorCriticPolicy,
    "stable_baselines3.dqn.policies": DQNPolicy,
}
OPTIONS = ("net_arch", "ortho_init", "share_features_extractor", "normalize_images", "features_extractor_kwargs")
CLASS = re.compile(r"<class '([\w.]+)'>")


class Archive(NamedTuple):
    """What the plain part of an archive says."""

    path: Path
    policy: str  # module of the policy's class
    observation: spaces.Box
    columns: int
    steps: int  # of training
    kwargs: dict[str, Any]
    extractor: str  # dotted name of the features extractor's class, "" for the usual one

    @property
    def kind(self) -> str:
        return {"sb3_contrib": "MaskablePPO"}.get(
            self.policy.split(".")[0], "DQN" if "dqn" in self.policy else "PPO or A2C"
        )


def read_archive(path: Path) -> tuple[Archive, dict[str, torch.Tensor]]:
    """The facts and the parameters of an archive.

    Raises:
        ValueError: it is damaged, of something else, of an algorithm or spaces that make no agent, or untrained.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            fields = json.loads(archive.read("data"))
            content = archive.read("policy.pth")
        parameters = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as fault:  # torch raises an error of pickle's, or whatever a damaged file leads to
        reason = " ".join(str(fault).split())
        raise ValueError(f"{path} is no model that stable-baselines3 has saved, or is damaged: {reason:.120}") from None
    if not isinstance(fields, dict) or not isinstance(parameters, dict):
        raise ValueError(f"{path} is no model that stable-baselines3 has saved")
    try:
        facts = Archive(path, *_policy_and_spaces(fields), *_policy_kwargs(_part(fields, "policy_kwargs")))
    except ValueError as fault:
        raise ValueError(f"{path} {fault}") from None
    if not facts.steps:
        raise ValueError(f"{path} is untrained: it has taken 0 steps; save the model after model.learn(...)")
    return facts, parameters


def _part(fields: dict[str, Any], name: str) -> dict[str, Any]:
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def _policy_and_spaces(fields: dict[str, Any]) -> tuple[str, spaces.Box, int, int]:
    """The fields of Archive from ``policy`` to ``steps``. The words of a ValueError follow the archive's name."""
    policy = str(_part(fields, "policy_class").get("__module__"))
    if policy not in POLICIES:
        raise ValueError(f"holds a policy of {policy}, where PPO's, A2C's, DQN's or MaskablePPO's was expected")
    seen, acts = _part(fields, "observation_space"), _part(fields, "action_space")
    kinds = [_class_name(space.get(":type:")).rpartition(".")[2] or "unknown" for space in (seen, acts)]
    if kinds[1] != "Discrete":
        raise ValueError(f"has actions of a space {kinds[1]}, where Discrete, one for each column, was expected")
    if kinds[0] != "Box":
        raise ValueError(f"has observations of a space {kinds[0]}, where an array (Box) was expected")
    try:
        dtype = np.dtype(seen["dtype"])
        high = 255 if dtype == np.uint8 and seen["high_repr"] == "255" else 1  # no other bounds make a difference
        box = spaces.Box(0, high, tuple(map(int, seen["_shape"])), dtype.type)
        return policy, box, int(acts["n"]), int(fields["num_timesteps"])
    except (TypeError, ValueError, KeyError) as fault:
        raise ValueError(f"does not say what its model sees and does: {fault}") from None


def _class_name(text: Any) -> str:
    """The dotted name in the text of a class, "<class 'gymnasium.spaces.box.Box'>"; "" if it is none."""
    found = CLASS.fullmatch(str(text))
    return found.group(1) if found else ""


def _policy_kwargs(given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The options of the policy that are plain, its activation function, and the class of its features extractor."""
    kwargs = {name: given[name] for name in OPTIONS if name in given}
    activation = _class_name(given.get("activation_fn"))
    if activation.startswith("torch.nn.modules.activation."):
        kwargs["activation_fn"] = getattr(nn, activation.rpartition(".")[2])
    return kwargs, _class_name(given.get("features_extractor_class"))


def policy_of(archive: Archive, parameters: dict[str, torch.Tensor], extractor: Any, arguments: dict[str, Any]) -> Any:
    """The policy, in evaluation mode.

    Args:
        extractor: the class of its features extractor, None for the usual one or one of stable-baselines3's.
        arguments: options of the policy that the archive does not say, or says otherwise.

    Raises:
        ValueError: the parameters are not those of such a policy, or a class has to be shown.
    """
    kwargs = archive.kwargs | arguments
    if extractor is None and archive.extractor:
        module, _, name = archive.extractor.rpartition(".")
        if module != torch_layers.__name__:
            raise ValueError(
                f"{archive.path} has a features extractor {name} of your own: --module FILE.py:{name} (or a notebook, "
                f"lesson.ipynb:{name}) says where it is written"
            )
        extractor = getattr(torch_layers, name)
    if extractor is not None:
        if not (isinstance(extractor, type) and issubclass(extractor, torch_layers.BaseFeaturesExtractor)):
            name = getattr(extractor, "__name__", repr(extractor))
            raise ValueError(
                f"--module names {name}, which is no features extractor: for {archive.path} it should be the subclass "
                "of stable_baselines3's BaseFeaturesExtractor that the model was trained with"
                + ("" if archive.extractor else "; this model has the usual one, and needs no --module")
            )
        kwargs["features_extractor_class"] = extractor
    try:
        policy = POLICIES[archive.policy](
            archive.observation, spaces.Discrete(archive.columns), lambda _: 0.0, **kwargs
        )
        policy.load_state_dict(parameters)
    except (RuntimeError, TypeError, AssertionError, KeyError, AttributeError) as fault:
        reason = " ".join(str(fault).split())
        raise ValueError(
            f"the parameters in {archive.path} are not those of the policy that it describes ({reason:.200}); options "
            "that it does not tell are given by --arguments '{\"net_arch\": [64, 64]}'"
        ) from None
    policy.set_training_mode(False)
    return policy


def network_of(policy: Any) -> tuple[nn.Module, float]:
    """The layers from the observation to a number for each column, and what observations are multiplied by before."""
    is_image = policy.normalize_images and is_image_space(policy.observation_space)
    if isinstance(policy, DQNPolicy):
        layers = [policy.q_net.features_extractor, policy.q_net.q_net]
    else:
        layers = [policy.pi_features_extractor, policy.mlp_extractor.policy_net, policy.action_net]
    return nn.Sequential(*layers), 1 / 255 if is_image else 1.0
