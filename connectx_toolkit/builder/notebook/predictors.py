"""Takes the network out of a live model of stable-baselines3, for ``carrying`` and `train.py adopt`.

A built agent computes it by ``connectx_core.predictor``, without stable-baselines3. That package is not imported here:
whoever has such a model has it.
"""

from typing import Any

import numpy as np

from connectx_core.weights import pack

LIBRARIES = ("stable_baselines3", "sb3_contrib")


class NoPredictor(Exception):
    """Nothing stands for this model; why not, in words that follow its name."""


def is_algorithm(value: Any) -> bool:
    """Whether a value is a model such as PPO."""
    bases = [cls.__module__.partition(".")[0] for cls in type(value).__mro__ if cls.__name__ == "BaseAlgorithm"]
    return any(library in LIBRARIES for library in bases)


def parts_of(model: Any) -> tuple[bytes, dict[str, Any]]:
    """The arguments of ``connectx_core.predictor.Predictor``. Raises NoPredictor."""
    from connectx_toolkit.builder.notebook.torch_model import Unknown, script_of, steps_of

    policy, space = model.policy, model.observation_space
    if type(space).__name__ != "Box" or type(model.action_space).__name__ != "Discrete":
        raise NoPredictor(
            f"sees {type(space).__name__} and acts in {type(model.action_space).__name__}: only an array (Box) and a "
            "number for each column (Discrete) are carried"
        )
    was_training = policy.training
    policy.set_training_mode(False)
    try:
        module, scale = network_of(policy)
        try:
            steps, arrays = steps_of(module.cpu(), scale)
            content, is_script = pack(arrays, {"steps": steps}), False
        except Unknown:
            seen = np.zeros((1, *space.shape), np.float32)
            content, is_script = script_of(module.cpu(), seen, scale), True
    except (AttributeError, TypeError, RuntimeError) as fault:
        raise NoPredictor(f"has a policy whose network is not known ({fault})") from None
    finally:
        policy.to(model.device)
        policy.set_training_mode(was_training)
    is_value = hasattr(policy, "q_net") or hasattr(policy, "quantile_net")
    settings = {"shape": list(space.shape), "is_script": is_script, "is_image": _is_image(space)}
    settings |= {"draws": not is_value, "exploration": float(getattr(model, "exploration_rate", 0.0))}
    return content, settings


def _is_image(space: Any) -> bool:
    """Whether the algorithm takes an observation with its channels first or last."""
    from stable_baselines3.common.preprocessing import is_image_space

    return is_image_space(space)


def network_of(policy: Any) -> tuple[Any, float]:
    """The layers from the observation to a number for each column, and what observations are multiplied by before.

    Raises NoPredictor if it keeps a state.
    """
    from torch import nn

    if hasattr(policy, "lstm_actor"):
        raise NoPredictor("keeps a state from move to move: only networks without one are taken")

    is_image = policy.normalize_images and _is_image(policy.observation_space)
    if hasattr(policy, "q_net"):
        layers = [policy.q_net.features_extractor, policy.q_net.q_net]
    elif hasattr(policy, "quantile_net"):
        network = policy.quantile_net
        layers = [network.features_extractor, _mean(network.quantile_net, policy.action_space.n)]
    else:
        layers = [policy.pi_features_extractor, policy.mlp_extractor.policy_net, policy.action_net]
    return nn.Sequential(*layers), 1 / 255 if is_image else 1.0


def _mean(quantiles: Any, columns: int) -> Any:
    """Layers that give the means of the quantiles: the last is linear, and so is the mean."""
    import torch
    from torch import nn

    *layers, last = quantiles
    mean = nn.Linear(last.in_features, columns)
    with torch.no_grad():
        mean.weight.copy_(last.weight.reshape(-1, columns, last.in_features).mean(0))
        mean.bias.copy_(last.bias.reshape(-1, columns).mean(0))
    return nn.Sequential(*layers, mean)
