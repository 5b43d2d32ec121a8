"""A trained network by the code of its class, and what it computes: what an adopted agent is made of."""

import contextlib
import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from connectx_toolkit.builder.notebook.predictors import network_of
from connectx_toolkit.builder.notebook.torch_model import first_output
from connectx_toolkit.system.console import as_option
from connectx_toolkit.training.adoption.source import Source, file_and_name, source_of

ARGUMENTS = f"(its arguments are given by {as_option('arguments', 'JSON')})"


class Model(NamedTuple):
    """A trained network, and what there is to know of it.

    ``predict(observations, legal)`` gives the model's own choices, (n,), and ``scores(observations)`` its numbers for
    the columns, (n, columns); observations are (n, *shape), legal (n, columns) bool. ``space`` is None where the model
    does not say what it sees. ``algorithm`` is that of an archive, "" for a torch module.
    """

    title: str
    module: nn.Module
    scale: float
    space: spaces.Box | None
    algorithm: str
    predict: Callable[[np.ndarray, np.ndarray], np.ndarray]
    scores: Callable[[np.ndarray], np.ndarray]


def sb3_model(path: Path, task: dict[str, Any]) -> Model:
    """The model of an archive of stable-baselines3. Raises as connectx_toolkit.training.adoption.sb3_model does."""
    with contextlib.redirect_stderr(io.StringIO()):  # gym says there that it is unmaintained
        from connectx_toolkit.training.adoption import (
            sb3_archive,  # takes seconds to import
            sb3_model,
        )
    facts, parameters = sb3_archive.read_archive(path)
    shown = loaded(source_of(task["module"])) if task["module"] else None
    activation = activation_of(task["activation"]) if task["activation"] else None
    find = finder(task["module"])
    policy = sb3_model.policy_of(facts, parameters, shown, task["arguments"], activation, find)
    module, scale = network_of(policy)

    def predict(observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        masks = {"action_masks": legal} if facts.algorithm == "MaskablePPO" else {}
        return policy.predict(observations, deterministic=True, **masks)[0]

    title = f"The policy of {path.name} ({facts.algorithm}, {facts.steps:,} steps): its likeliest legal column."
    scores = lambda observations: sb3_model.scores_of(policy, observations)  # noqa: E731 - of two functions the shorter
    return Model(title, module, scale, facts.observation, facts.algorithm, predict, scores)


def activation_of(text: str) -> Any:
    """What makes an activation function, of nn.LeakyReLU(0.2) or FILE.py:NAME. Raises ValueError or OSError."""
    from connectx_toolkit.training.adoption.sb3_archive import activation_named  # takes seconds to import

    return loaded(source_of(text)) if ":" in text else activation_named(text)


def finder(module: str) -> Callable[[str], Any]:
    """What gives a class or function by its name in the file of FILE:NAME, or raises LookupError."""

    def find(name: str) -> Any:
        try:
            return loaded(source_of(f"{file_and_name(module)[0]}:{name}"))
        except (ValueError, OSError):
            raise LookupError(name) from None

    return find


def other_kind(path: Path) -> str:
    """What a file is that looks like a model but is neither stable-baselines3's nor torch's; else ""."""
    with path.open("rb") as file:
        start = file.read(8)
    if start == b"\x89HDF\r\n\x1a\n":
        return "a model of Keras (HDF5)"
    names = _members(path)
    if "model.weights.h5" in names:
        return "a model of Keras"
    if "parameter_list" in names:
        return "a model of stable-baselines 2, which ran on TensorFlow: train it again with stable-baselines3"
    return ""


def is_torchscript(path: Path) -> bool:
    """Whether a file is TorchScript: it holds code, and needs no class."""
    return any("/code/" in name for name in _members(path))


def _members(path: Path) -> list[str]:
    """The names in a zip; none of what is no whole zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, EOFError, ValueError):
        return []


def module_of(path: Path, task: dict[str, Any], find: Callable[[str], Any]) -> nn.Module:
    """The network of a file of TorchScript, or a module with the parameters of a file of torch.save.

    Args:
        find: gives the class of FILE:NAME.

    Raises:
        ValueError: the file holds no state_dict, or not that of the module; or TorchScript, and a class is named.
    """
    if not is_torchscript(path):
        return module_with(find(task["module"]), path, task)
    if task["module"]:
        raise ValueError(f"{path} is TorchScript, which holds its own code: leave out {as_option('module')}")
    return torch.jit.load(path, map_location="cpu").eval()


def torch_model(path: Path, task: dict[str, Any]) -> Model:
    """The model of a file of torch. Raises ValueError as ``module_of``."""
    module = module_of(path, task, lambda named: loaded(source_of(named)))

    def scores(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(first_output(module(torch.from_numpy(observations))))

    def predict(observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return scores(observations).argmax(axis=1)

    name = task["module"].rpartition(":")[2]
    title = f"The network {name} of {path.name}: its best legal column.".replace("  ", " ")
    return Model(title, module, 1.0, None, "", predict, scores)


def module_with(network: Any, path: Path, task: dict[str, Any]) -> nn.Module:
    """The module that a class makes with the task's arguments, with the parameters in a file. Raises ValueError."""
    try:
        module = network(**task["arguments"])
    except Exception as fault:  # their code may raise anything
        reason = f"{fault!r:.200} {ARGUMENTS}"
        raise ValueError(f"{task['module']} cannot be made: {reason}") from None
    if not isinstance(module, nn.Module):
        kind = type(module).__name__
        raise ValueError(f"{task['module']} makes {kind}, where a torch.nn.Module was expected")
    try:
        module.load_state_dict(state_dict_of(path))
    except RuntimeError as fault:
        raise ValueError(
            f"{path} does not fit {task['module']}: {' '.join(str(fault).split()):.250} {ARGUMENTS}"
        ) from None
    return module.eval()


def state_dict_of(path: Path) -> dict[str, torch.Tensor]:
    """The parameters in a file of torch.save: a state_dict, or one within a checkpoint.

    Raises:
        ValueError: it holds something else.
    """
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as fault:  # torch raises an error of pickle's, or whatever a damaged file leads to
        if "GLOBAL" in str(fault):
            raise ValueError(
                f"{path} holds a module saved whole, which is code as well as numbers: save those alone where you "
                f'trained it: net = torch.load("{path.name}", weights_only=False); '
                f'torch.save(net.state_dict(), "{path.name}")'
            ) from None
        reason = " ".join(str(fault).split())
        raise ValueError(f"{path} is no file of torch.save, or is damaged: {reason:.120}") from None
    within = ("state_dict", "model_state_dict", "model")
    state = next((found[key] for key in within if isinstance(found, dict) and key in found), found)
    if not isinstance(state, dict) or not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path} holds {type(state).__name__}, where a state_dict was expected")
    return state


def as_input(module: nn.Module, observations: np.ndarray) -> np.ndarray:
    """Observations in the type that a torch module takes: their own, else that of its parameters."""
    observations = np.ascontiguousarray(observations)
    try:
        with torch.no_grad():
            module(torch.from_numpy(observations[:1]))
    except Exception:  # their code may raise anything; what it then raises of the other type is told
        types = [p.dtype for p in module.parameters() if p.is_floating_point()] or [torch.float32]
        return observations.astype(str(types[0]).removeprefix("torch."))
    return observations


def loaded(source: Source) -> Any:
    """What a source defines. Raises ValueError if its code does not run."""
    if str(source.path.parent) not in sys.path:
        sys.path.insert(0, str(source.path.parent))
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # gym, which many import, says there that it is unmaintained
            return source.load()
    except Exception as fault:  # their code may raise anything
        raise ValueError(f"{source.path.name}:{source.name} cannot be loaded: {fault!r:.200}") from None
