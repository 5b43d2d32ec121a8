"""Turns a torch module into what an agent computes: steps in numpy where its layers are known, else TorchScript."""

import io
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import fx, nn
from torch.nn import functional

from connectx_core.steps import Step

Settings = dict[str, Any]
IDENTITIES = (nn.Identity, nn.Dropout, nn.Dropout2d)
MULTIPLIED = (operator.mul, operator.imul, torch.mul, "mul")  # as functions and as methods
DIVIDED = (operator.truediv, operator.itruediv, torch.div, "div")
PLUS, MINUS = (operator.add, operator.iadd, torch.add, "add"), (operator.sub, operator.isub, torch.sub, "sub")
OPERATION_NAMES: dict[Any, str] = {
    **dict.fromkeys((torch.relu, functional.relu, "relu"), "relu"),
    **dict.fromkeys((torch.tanh, functional.tanh, "tanh"), "tanh"),
    **dict.fromkeys((torch.sigmoid, "sigmoid"), "sigmoid"),
    functional.silu: "silu",
    **dict.fromkeys(PLUS, "add"),
}
CASTS = ("float", "contiguous", "to")


class Unknown(Exception):
    """A layer that connectx_core.steps does not compute."""


def conv2d_step(module: nn.Conv2d) -> tuple[str, Settings]:
    is_plain = module.groups == 1 and module.dilation == (1, 1) and module.padding_mode == "zeros"
    if not is_plain or isinstance(module.padding, str):
        raise Unknown(str(module))
    return "conv2d", {"stride": list(module.stride), "padding": list(module.padding)}


def flatten_step(module: nn.Flatten) -> tuple[str, Settings]:
    if (module.start_dim, module.end_dim) != (1, -1):
        raise Unknown(str(module))
    return "flatten", {}


def layer_norm_step(module: nn.LayerNorm) -> tuple[str, Settings]:
    if module.weight is None or module.bias is None:
        raise Unknown(str(module))
    return "layernorm", {"eps": module.eps}


def batch_norm_step(module: nn.BatchNorm1d | nn.BatchNorm2d) -> tuple[str, Settings]:
    if module.running_mean is None or not module.affine:
        raise Unknown(str(module))
    return "batchnorm", {"eps": module.eps}


LAYERS: dict[type[nn.Module], Callable[[Any], tuple[str, Settings]]] = {
    nn.Linear: lambda module: ("linear", {}),
    nn.Conv2d: conv2d_step,
    nn.Flatten: flatten_step,
    nn.LayerNorm: layer_norm_step,
    nn.BatchNorm1d: batch_norm_step,
    nn.BatchNorm2d: batch_norm_step,
    nn.ReLU: lambda module: ("relu", {}),
    nn.Tanh: lambda module: ("tanh", {}),
    nn.Sigmoid: lambda module: ("sigmoid", {}),
    nn.SiLU: lambda module: ("silu", {}),
    nn.ELU: lambda module: ("elu", {"alpha": module.alpha}),
    nn.LeakyReLU: lambda module: ("leakyrelu", {"slope": module.negative_slope}),
}


class _Leaves(fx.Tracer):
    """Follows every module but torch's own."""

    def is_leaf_module(self, module: nn.Module, module_qualified_name: str) -> bool:
        return type(module).__module__.startswith("torch.nn") and not isinstance(module, nn.Sequential)


def steps_of(module: nn.Module, scale: float = 1.0) -> tuple[list[Step], dict[str, np.ndarray]]:
    """The steps of connectx_core.steps, and their arrays, that compute a module in evaluation mode.

    Args:
        scale: what observations are multiplied by before.

    Raises:
        Unknown: it has a layer, or does something, that connectx_core.steps does not compute.
    """
    try:
        graph = _Leaves().trace(module)
    except Exception as fault:  # whatever a forward pass cannot do with a stand-in for numbers
        raise Unknown(f"its forward pass cannot be followed: {fault}") from None
    steps, arrays = list[Step](), dict[str, np.ndarray]()
    if scale != 1:
        steps.append(("scale", [0], {"factor": scale}))
    number: dict[fx.Node, int] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            if number:
                raise Unknown("it takes more than the observation")
            number[node] = len(steps)
        elif node.op == "output":
            return _steps_to_output(node, number, steps), arrays
        else:
            number[node] = _add_step(node, module, number, steps, arrays)
    raise Unknown("it gives nothing")


def _steps_to_output(node: fx.Node, number: dict[fx.Node, int], steps: list[Step]) -> list[Step]:
    """All steps up to the one that is the output."""
    output = node.args[0]
    if isinstance(output, dict) and "policy" in output:
        output = output["policy"]
    output = output[0] if isinstance(output, tuple | list) and output else output
    if not isinstance(output, fx.Node):
        raise Unknown("its output is no tensor")
    return steps[: number[output]]


def _add_step(node: fx.Node, module: nn.Module, number: dict[fx.Node, int], steps: list[Step], arrays: dict) -> int:
    """Adds the step that a node is; the number of its value."""
    given = [*node.args, *node.kwargs.values()]
    inputs = [number[each] for each in given if isinstance(each, fx.Node)]
    if node.op == "call_module":
        layer = module.get_submodule(str(node.target))
        if len(inputs) != 1 or len(given) != 1:
            raise Unknown(f"{node.target} takes more than one value")
        if isinstance(layer, IDENTITIES):
            return inputs[0]
        if type(layer) not in LAYERS:
            raise Unknown(str(layer))
        name, settings = LAYERS[type(layer)](layer)
        for key, value in _parameters_of(layer).items():
            arrays[f"{len(steps) + 1}.{key}"] = value
    elif node.op == "call_method" and node.target in CASTS:
        return inputs[0]
    elif with_number := _scale_or_shift(node):
        name, settings = with_number
    else:
        name, settings = _operation_of(node), {}
        if name == "cat":
            parts: Any = node.args[0]
            inputs = [number[each] for each in parts] if isinstance(parts, tuple | list) else [number[parts]]
    steps.append((name, inputs, settings))
    return len(steps)


def _scale_or_shift(node: fx.Node) -> tuple[str, Settings] | None:
    """The operation of x / 2, 2 * x, x - 1 and the like; None for any other."""
    if len(node.args) != 2 or node.kwargs or not any(isinstance(each, fx.Node) for each in node.args):
        return None
    numbers = [each for each in node.args if isinstance(each, int | float)]
    is_second = isinstance(node.args[0], fx.Node)
    if not numbers or not (is_second or node.target in (*MULTIPLIED, *PLUS)):
        return None
    (number,) = numbers
    if node.target in MULTIPLIED or (node.target in DIVIDED and number):
        return "scale", {"factor": number if node.target in MULTIPLIED else 1 / number}
    if node.target in PLUS or node.target in MINUS:
        return "shift", {"by": number if node.target in PLUS else -number}
    return None


def _operation_of(node: fx.Node) -> str:
    """The operation of a call that is no module's."""
    others = [*node.args[1:], *node.kwargs.values()]
    if node.target in (torch.flatten, "flatten") and others in ([1], [1, -1]):
        return "flatten"
    if node.target in (torch.cat, torch.concat) and others == [1]:
        return "cat"
    is_known = node.op in ("call_function", "call_method") and node.target in OPERATION_NAMES
    is_plain = not node.kwargs.keys() - {"inplace"} and all(isinstance(each, fx.Node) for each in node.args)
    if not is_known or not is_plain:
        raise Unknown(f"{getattr(node.target, '__name__', node.target)}")
    return OPERATION_NAMES[node.target]


def _parameters_of(layer: nn.Module) -> dict[str, np.ndarray]:
    """The parameters of a layer by the names of connectx_core.steps.PARAMETERS, float32."""
    named = {"weight": "weight", "bias": "bias", "running_mean": "mean", "running_var": "variance"}
    state = layer.state_dict()
    return {name: state[key].numpy().astype(np.float32) for key, name in named.items() if key in state}


class Scaled(nn.Module):
    """A module whose input is multiplied first, and of whose outputs the first, or "policy", is given."""

    def __init__(self, module: nn.Module, scale: float):
        super().__init__()
        self.module, self.scale = module, scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return first_output(self.module(x * self.scale if self.scale != 1 else x))


def first_output(output: Any) -> torch.Tensor:
    """What is taken for the logits: the tensor, the first of several, or the one that is called "policy"."""
    if isinstance(output, dict):
        return output["policy"]
    return output[0] if isinstance(output, tuple | list) else output


def script_of(module: nn.Module, observation: np.ndarray, scale: float = 1.0) -> bytes:
    """TorchScript of a module, as it computes an observation, (1, *shape) of its type: bytes for torch.jit.load."""
    content = io.BytesIO()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what depends on the number of observations, and that the format is old
        torch.jit.save(torch.jit.trace(Scaled(module, scale), torch.from_numpy(observation)), content)
    return content.getvalue()
