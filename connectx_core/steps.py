"""Runs an adopted torch network in numpy: the list of steps that ``train.py adopt`` makes of it.

A step is (operation, numbers of the values that it takes, settings). Value 0 is the batch of observations, value i what
step i (counted from 1) gives; the last is the network's output. The operations are the functions below by their names,
torch's modules of the same names (pytorch.org/docs/stable/nn.html), of which arrays are named "STEP.weight" and so on.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from connectx_core.threads import one_thread
from connectx_core.weights import unpack

Step = tuple[str, list[int], dict[str, Any]]


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray:
    return x @ weight.T + bias


def conv2d(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | float = 0.0, *, stride, padding) -> np.ndarray:
    """A convolution of (n, channels, rows, columns) by weights (out, channels, height, width)."""
    (down, right), (height, width) = stride, weight.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), *((size, size) for size in padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), (2, 3))[:, :, ::down, ::right]
    n, _, rows, columns = windows.shape[:4]
    inputs = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * rows * columns, -1)
    outputs = inputs @ weight.reshape(len(weight), -1).T + bias
    return outputs.reshape(n, rows, columns, -1).transpose(0, 3, 1, 2)


def batchnorm(x, weight, bias, mean, variance, *, eps) -> np.ndarray:
    """By the means and variances of training, for each channel, the second axis."""
    shape = (1, -1, *[1] * (x.ndim - 2))
    scale = weight / np.sqrt(variance + np.float32(eps))
    return (x - mean.reshape(shape)) * scale.reshape(shape) + bias.reshape(shape)


def layernorm(x, weight, bias, *, eps) -> np.ndarray:
    """Over the axes that the weight has."""
    axes = tuple(range(x.ndim - weight.ndim, x.ndim))
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + np.float32(eps)) * weight + bias


OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "linear": linear,
    "conv2d": conv2d,
    "batchnorm": batchnorm,
    "layernorm": layernorm,
    "flatten": lambda x: x.reshape(len(x), -1),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "elu": lambda x, *, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "leakyrelu": lambda x, *, slope: np.where(x > 0, x, slope * x),
    "scale": lambda x, *, factor: x * np.float32(factor),
    "shift": lambda x, *, by: x + np.float32(by),
    "add": np.add,
    "cat": lambda *xs: np.concatenate(xs, axis=1),
}
PARAMETERS = ("weight", "bias", "mean", "variance")  # the arrays of a step, in the order of its function's arguments


class Layers:
    """The forward pass of a network of steps.

    Attributes:
        meta: what else the container says of it.
    """

    def __init__(self, steps: Sequence[Step], arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any] | None = None):
        self.meta = dict(meta or {})
        self._steps = [
            (
                OPERATIONS[name],
                inputs,
                [arrays[key] for p in PARAMETERS if (key := f"{number}.{p}") in arrays],
                settings,
            )
            for number, (name, inputs, settings) in enumerate(steps, 1)
        ]

    @classmethod
    def from_bytes(cls, content: bytes) -> "Layers":
        """The network of a container of weights whose meta holds "steps". Raises ValueError if it is none."""
        arrays, meta = unpack(content)
        if not isinstance(meta, dict) or "steps" not in meta:
            raise ValueError("not a network of steps: its meta names none")
        if unknown := {name for name, *_ in meta["steps"]} - OPERATIONS.keys():
            raise ValueError(f"a network of steps that are not known here: {', '.join(sorted(unknown))}")
        return cls(meta["steps"], arrays, meta)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """The output, (n, ...) float32, for n observations of any number type."""
        values = [observations.astype(np.float32)]
        with one_thread():
            for operation, inputs, parameters, settings in self._steps:
                values.append(operation(*(values[i] for i in inputs), *parameters, **settings))
        return values[-1]
