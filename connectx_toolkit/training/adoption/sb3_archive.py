"""What a model that stable-baselines3 has saved says of itself, read without unpickling anything.

The archive holds a file ``data`` in JSON, of which what is pickled is not run, and the parameters, which torch.load
reads with weights_only. Plain fields tell the kind, the spaces, and the options. Classes and functions have their
names there; those that are somebody's own have to be shown.
"""

import ast
import base64
import binascii
import io
import json
import pickletools
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable import policies as maskable
from sb3_contrib.qrdqn import policies as qrdqn
from stable_baselines3.common import policies
from stable_baselines3.dqn import policies as dqn
from torch import nn

POLICIES: dict[str, tuple[Any, Any]] = {  # module of the policy's class: the module, its base class
    module.__name__: (module, base)
    for module, base in (
        (policies, policies.ActorCriticPolicy),
        (maskable, maskable.MaskableActorCriticPolicy),
        (dqn, dqn.DQNPolicy),
        (qrdqn, qrdqn.QRDQNPolicy),
    )
}
ALGORITHMS = ("PPO", "A2C", "DQN", "MaskablePPO", "QRDQN")
OPTIONS = ("net_arch", "ortho_init", "share_features_extractor", "normalize_images", "n_quantiles")
SHOWN = ("activation_fn", "features_extractor_kwargs")  # options that may hold classes and functions
CLASS = re.compile(r"<class '([\w.]+)'>")
FUNCTION = re.compile(r"<function ([\w.]+) at 0x\w+>")
Find = Callable[[str], Any]  # what the user's file binds to a name; LookupError if it is not there


class Archive(NamedTuple):
    """What the plain part of an archive says."""

    path: Path
    policy: Any  # the policy's class
    observation: spaces.Box  # with an attribute ``shows`` if it is the kit's
    columns: int
    steps: int  # of training
    algorithm: str  # one of ALGORITHMS
    kwargs: dict[str, Any]  # options of the policy; those in SHOWN may be their texts
    extractor: str  # dotted name of the features extractor's class, "" for the usual one


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
        policy = _policy_class(_part(fields, "policy_class"))
        kwargs = _policy_kwargs(_part(fields, "policy_kwargs"))
        facts = Archive(path, policy, *_spaces(fields), _algorithm(policy, fields), *kwargs)
    except ValueError as fault:
        raise ValueError(f"{path} {fault}") from None
    if not facts.steps:
        raise ValueError(f"{path} is untrained: it has taken 0 steps; save the model after model.learn(...)")
    return facts, parameters


def _part(fields: dict[str, Any], name: str) -> dict[str, Any]:
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def _policy_class(found: dict[str, Any]) -> Any:
    """The class of the policy. The words of a ValueError follow the archive's name."""
    module = str(found.get("__module__"))
    if module not in POLICIES:
        raise ValueError(
            f"holds a policy of {module}, where that of {', '.join(ALGORITHMS[:-1])} or {ALGORITHMS[-1]} was expected"
        )
    place, base = POLICIES[module]
    policy = getattr(place, _pickled_name(found, module), base)
    return policy if isinstance(policy, type) and issubclass(policy, base) else base


def _pickled_name(found: dict[str, Any], module: str) -> str:
    """The name of a class of ``module`` whose pickle is no more than its name, which is read and not run, else ""."""
    try:
        steps = list(pickletools.genops(base64.b64decode(found[":serialized:"])))
    except (KeyError, TypeError, ValueError, binascii.Error):
        return ""
    texts = [str(text) for operation, text, _ in steps if "UNICODE" in operation.name]
    return texts[1] if len(texts) == 2 and texts[0] == module else ""


def _algorithm(policy: Any, fields: dict[str, Any]) -> str:
    """The algorithm whose ``load`` reads the archive. The words of a ValueError follow the archive's name."""
    for base, name in ((maskable.MaskableActorCriticPolicy, "MaskablePPO"), (qrdqn.QRDQNPolicy, "QRDQN")):
        if issubclass(policy, base):
            return name
    if issubclass(policy, dqn.DQNPolicy):
        return "DQN"
    return "PPO" if "clip_range" in fields else "A2C"


def _spaces(fields: dict[str, Any]) -> tuple[spaces.Box, int, int]:
    """The observations, the number of columns, and the steps. The words of a ValueError follow the archive's name."""
    seen, acts = _part(fields, "observation_space"), _part(fields, "action_space")
    kinds = [_class_name(space.get(":type:")).rpartition(".")[2] or "unknown" for space in (seen, acts)]
    if kinds[1] != "Discrete":
        raise ValueError(f"has actions of a space {kinds[1]}, where Discrete, one for each column, was expected")
    if kinds[0] != "Box":
        raise ValueError(f"has observations of a space {kinds[0]}, where an array (Box) was expected")
    try:
        if int(acts.get("start") or 0):
            raise ValueError(f"its actions begin with {acts['start']}, where column 0 was expected")
        return box_of(seen), int(acts["n"]), int(fields["num_timesteps"])
    except (TypeError, ValueError, KeyError) as fault:
        raise ValueError(f"does not say what its model sees and does: {fault}") from None


def box_of(seen: dict[str, Any]) -> spaces.Box:
    """The space of observations. A bound that is not one number for all cells is as wide as the type."""
    dtype: Any = np.dtype(seen["dtype"])
    widest = (-np.inf, np.inf) if dtype.kind == "f" else (0, 1) if dtype.kind == "b" else _limits(dtype)
    bounds = []
    for text, limit in zip((seen["low_repr"], seen["high_repr"]), widest, strict=True):
        try:
            bounds.append(float(text))
        except ValueError:
            bounds.append(limit)
    space = spaces.Box(bounds[0], bounds[1], tuple(map(int, seen["_shape"])), dtype.type)
    vars(space)["shows"] = str(seen.get("shows", ""))
    return space


def _limits(dtype: np.dtype) -> tuple[int, int]:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _class_name(text: Any) -> str:
    """The dotted name in the text of a class, "<class 'gymnasium.spaces.box.Box'>"; "" if it is none."""
    found = CLASS.fullmatch(str(text))
    return found.group(1) if found else ""


def _policy_kwargs(given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The options of the policy, and the class of its features extractor."""
    kwargs = {name: given[name] for name in (*OPTIONS, *SHOWN) if name in given}
    return kwargs, _class_name(given.get("features_extractor_class"))


def value_in(text: str, find: Find) -> Any:
    """The value of a text in which JSON's writer has put what JSON has not, as functools.partial(<class 'a.B'>, 0.2).

    Args:
        find: gives classes and functions of the user's by their last names.

    Raises:
        LookupError: it names what neither torch nor ``find`` knows, or holds more than numbers, names and partial.
    """
    found: list[Any] = []

    def stand_in(match: re.Match) -> str:
        module, _, name = match[1].rpartition(".")
        found.append(getattr(nn, name) if module.startswith("torch.nn.modules.") else find(name))
        return f"_{len(found) - 1}"

    plain = FUNCTION.sub(stand_in, CLASS.sub(stand_in, text))
    try:
        return _value(ast.parse(plain, mode="eval").body, lambda name: found[int(name[1:])])
    except (SyntaxError, ValueError, AttributeError):
        raise LookupError(text) from None


def _value(node: ast.expr, named: Callable[[str], Any]) -> Any:
    """The value of an expression of numbers, names, lists, dicts and functools.partial."""
    if isinstance(node, ast.Name):
        return named(node.id)
    if isinstance(node, ast.List | ast.Tuple):
        values = [_value(each, named) for each in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.Dict):
        return {
            ast.literal_eval(key): _value(value, named)
            for key, value in zip(node.keys, node.values, strict=True)
            if key
        }
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "functools.partial":
        options = {str(each.arg): _value(each.value, named) for each in node.keywords}
        function, *values = [_value(each, named) for each in node.args]
        return partial(function, *values, **options)
    return ast.literal_eval(node)


def activation_named(text: str) -> Any:
    """What makes an activation function, of its text: ReLU, nn.ReLU or nn.LeakyReLU(0.2). Raises ValueError."""
    try:
        node = ast.parse(text, mode="eval").body
        call = node if isinstance(node, ast.Call) else None
        name = ast.unparse(call.func if call else node).rpartition(".")[2]
        options = {str(each.arg): ast.literal_eval(each.value) for each in (call.keywords if call else ())}
        made = partial(getattr(nn, name), *map(ast.literal_eval, call.args if call else ()), **options)
        if isinstance(made(), nn.Module):
            return made
    except (SyntaxError, AttributeError, ValueError, TypeError):
        pass
    raise ValueError(f"activation should be a class of torch.nn, such as nn.ELU or nn.LeakyReLU(0.2), not {text!r}")
