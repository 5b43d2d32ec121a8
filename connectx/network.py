"""Networks as plain arrays: their architecture, their files, and the forward pass in numpy.

A network is a trunk of layers and some linear heads, each of which reads the trunk's flattened output, or, in a network
that judges moves, its channels where each column's stone would land. It judges a position in one pass, or by what each
move and forced replies lead to (``afterstates``). Training uses the
torch form, ``torch_form.Network``. The numpy form here needs no torch, starts in milliseconds, and gives the
same outputs within 1e-5.

What ``train.py adopt`` makes of a network that torch trained is a list of steps instead. A step is (operation, numbers
of the values that it takes, settings). Value 0 is the batch of observations, value i what step i (counted from 1)
gives; the last is the network's output. The operations are the functions below by their names, torch's modules of the
same names (pytorch.org/docs/stable/nn.html), of which arrays are named "STEP.weight" and so on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, Self

import numpy as np

from connectx.encoding import (
    NEVER,
    Afterstates,
    afterstates,
    chances_of_moves,
    encode_many,
    expected_results,
    planes_of,
    policy_of,
    value_of,
)
from connectx.position import Geometry, Position, geometry_of
from connectx.threads import one_thread
from connectx.weights import compressed, pack, reduce, restored, unpack

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


# Kinds of layers; all end in a ReLU. "conv": 3x3 convolution, zero-padded. "residual": two of these; the layer's input
# is added before the second ReLU. "pooled": the same, and before the first ReLU each channel gets a bias, a linear map
# of the means and largest values of all channels of the input over the board (KataGo's global pooling, Wu 2019).
# "point": 1x1 convolution. "dense": fully connected; only "dense" may follow it.
KINDS = ("conv", "residual", "pooled", "point", "dense")
BLOCKS = ("residual", "pooled")
POSITION, MOVES, REPLIES = "position", "moves", "replies"  # what a network judges
BATCH = 256  # positions that the numpy forward pass takes at once, to stay in the cache


@dataclass(frozen=True)
class Architecture:
    """Everything that determines the shapes of a network's arrays. It is stored as JSON with the weights.

    Attributes:
        layers: (kind, width) of each layer of the trunk; the width is its number of channels, or units for "dense".
        heads: (name, size) of each output.
        shape: rows, columns, inarow of the board.
        judges: POSITION, with a head "policy" of one logit for each column; MOVES, with a head "move" of one logit and
            a head "score" of one for each score of the mover (``encoding.scores_of``), both for each column; or
            REPLIES, the positions after each move and forced replies, with a head "move" of one logit, how good the
            move was of the side that is not to move there, and a head "score" for the side that is.

    Raises:
        ValueError: an unknown kind or encoding, or an impossible order or width.
    """

    encoding: str
    layers: tuple[tuple[str, int], ...]
    heads: tuple[tuple[str, int], ...] = (("policy", 7), ("value", 3))
    shape: tuple[int, int, int] = (6, 7, 4)
    judges: str = POSITION

    def __post_init__(self) -> None:
        if self.judges not in (POSITION, MOVES, REPLIES):
            raise ValueError(f"a network judges {POSITION!r}, {MOVES!r} or {REPLIES!r}, not {self.judges!r}")
        planes_of(self.encoding)
        width, flat = planes_of(self.encoding), False
        for kind, size in self.layers:
            flat = flat or kind == "dense"
            if kind not in KINDS or size < 1 or (kind in BLOCKS and size != width) or (flat and kind != "dense"):
                raise ValueError(f"layer {(kind, size)!r} cannot follow a width of {width} in {self.layers!r}")
            width = size
        if flat and self.judges == MOVES:
            raise ValueError(f"a network that judges moves reads cells, which 'dense' layers have not: {self.layers!r}")

    @property
    def geometry(self) -> Geometry:
        return geometry_of(*self.shape)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Any) -> "Architecture":
        """The architecture that ``to_json`` described. Raises ValueError if ``fields`` do not describe one."""
        try:
            pairs = {key: tuple((str(k), int(n)) for k, n in fields[key]) for key in ("layers", "heads")}
            rows, columns, inarow = fields["shape"]
            judges = fields.get("judges", POSITION)  # older files do not say
            return cls(encoding=fields["encoding"], shape=(rows, columns, inarow), judges=judges, **pairs)
        except (KeyError, TypeError, AttributeError) as fault:
            raise ValueError(f"not an architecture: {fields!r:.200} ({fault!r})") from None

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each array. A linear map's weight is (out, in), a 3x3 convolution's (out, in, 3, 3)."""
        shapes: dict[str, tuple[int, ...]] = {}
        width, cells = planes_of(self.encoding), self.shape[0] * self.shape[1]
        for index, (kind, size) in enumerate(self.layers):
            for part in ("a", "b") if kind in BLOCKS else ("a",):
                inputs = width * cells if kind == "dense" else width
                window = () if kind in ("dense", "point") else (3, 3)
                shapes[f"{index}{part}.weight"], shapes[f"{index}{part}.bias"] = (size, inputs, *window), (size,)
                width = size
            if kind == "pooled":
                shapes[f"{index}pool.weight"], shapes[f"{index}pool.bias"] = (size, 2 * size), (size,)
            cells = 1 if kind == "dense" else cells
        cells = 1 if self.judges == MOVES else cells
        for name, size in self.heads:
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (size, width * cells), (size,)
        return shapes

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(prod(shape) for shape in self.parameters().values())


def to_bytes(
    architecture: Architecture,
    arrays: dict[str, np.ndarray],
    dtype: str = "float16",
) -> bytes:
    """The network's file; dtype "float16", or "int8": whole numbers, a scale for each row of a weight, compressed."""
    if dtype == "float16":
        return pack({name: array.astype(np.float16) for name, array in arrays.items()}, architecture.to_json())
    floats = {name: array.astype(np.float32) for name, array in arrays.items()}
    smaller = reduce(pack(floats, architecture.to_json()), dtype)
    assert smaller is not None  # a network has floats
    return compressed(smaller)


def from_bytes(content: bytes) -> tuple[Architecture, dict[str, np.ndarray]]:
    """The architecture and the float32 arrays of a network's file.

    Raises:
        ValueError: the file is damaged or has an unknown encoding, or its arrays do not fit its architecture.
    """
    arrays, meta = unpack(content)
    if isinstance(meta, dict) and "dtypes" in meta:
        arrays, meta = unpack(restored(content))
    architecture = Architecture.from_json(meta)
    shapes = {name: array.shape for name, array in arrays.items()}
    if shapes != architecture.parameters():
        raise ValueError(f"arrays of shapes {shapes!r:.300} do not make a network of {architecture!r}")
    return architecture, {name: array.astype(np.float32) for name, array in arrays.items()}


def neighbours(rows: int, columns: int) -> np.ndarray:
    """The 3x3 window of each cell, row by row, as cell numbers: (cells, 9) int; rows * columns is off the board."""
    padded = np.full((rows + 2, columns + 2), rows * columns)
    padded[1:-1, 1:-1] = np.arange(rows * columns).reshape(rows, columns)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    return windows.reshape(rows * columns, 9)


class PlainNetwork:
    """A network's forward pass in numpy.

    Args:
        arrays: float32, as ``from_bytes`` gives them.
    """

    def __init__(self, architecture: Architecture, arrays: dict[str, np.ndarray]):
        self.architecture = architecture
        self._windows = neighbours(*architecture.shape[:2])
        self._maps = {name.removesuffix(".weight"): self._matrix(a) for name, a in arrays.items() if a.ndim > 1}
        self._biases = {name.removesuffix(".bias"): a for name, a in arrays.items() if name.endswith(".bias")}

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The network of a file. Raises as ``connectx.network.from_bytes``."""
        return cls(*from_bytes(content))

    @staticmethod
    def _matrix(weight: np.ndarray) -> np.ndarray:
        """A weight as a matrix (in, out); a convolution's inputs are ordered by cell of the window, then channel."""
        return np.ascontiguousarray(weight.transpose(*range(2, weight.ndim), 1, 0).reshape(-1, weight.shape[0]))

    def _linear(self, name: str, inputs: np.ndarray) -> np.ndarray:
        return inputs @ self._maps[name] + self._biases[name]

    def _window(self, name: str, cells: np.ndarray) -> np.ndarray:
        """A 3x3 convolution of (n, cells, channels)."""
        padded = np.concatenate([cells, np.zeros_like(cells[:, :1])], 1)
        return self._linear(name, padded[:, self._windows].reshape(*cells.shape[:2], 9 * cells.shape[2]))

    def _layer(self, index: int, kind: str, x: np.ndarray) -> np.ndarray:
        """One layer of the trunk. ``x`` is (n, cells, channels), or (n, units) after the first "dense"."""
        name = f"{index}a"
        if kind == "conv":
            return np.maximum(self._window(name, x), 0)
        if kind in BLOCKS:
            inner = self._window(name, x)
            if kind == "pooled":
                inner += self._linear(f"{index}pool", np.concatenate([x.mean(1), x.max(1)], 1))[:, None]
            return np.maximum(self._window(f"{index}b", np.maximum(inner, 0)) + x, 0)
        return np.maximum(self._linear(name, flatten(x) if kind == "dense" else x), 0)

    def forward(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs of each head for (n, planes, rows, columns) of any number type.

        Returns:
            (n, size) float32 for each head, (n, columns, size) of a network that judges moves.
        """
        with one_thread():
            parts = [self._forward(planes[start : start + BATCH]) for start in range(0, max(1, len(planes)), BATCH)]
        return {name: np.concatenate([part[name] for part in parts]) for name, _ in self.architecture.heads}

    def _forward(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        x = planes.reshape(*planes.shape[:2], prod(planes.shape[2:])).transpose(0, 2, 1).astype(np.float32)
        for index, (kind, _) in enumerate(self.architecture.layers):
            x = self._layer(index, kind, x)
        if self.architecture.judges == MOVES:
            rows, columns = planes.shape[2:]
            x = np.einsum("nrco,nrc->nco", x.reshape(len(x), rows, columns, x.shape[2]), landing(planes))
        else:
            x = flatten(x)
        return {name: self._linear(name, x) for name, _ in self.architecture.heads}

    def judge(self, position: Position) -> dict[str, np.ndarray]:
        """``judge_many`` for one position: (size,) float32."""
        outputs = self.judge_many(np.array([position.position], np.int64), np.array([position.mask], np.int64))
        return {name: output[0] for name, output in outputs.items()}

    def judge_many(self, positions: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
        """``judged`` by this network."""
        return judged(self.forward, self.architecture, positions, masks)


def judged(
    forward: Callable[[np.ndarray], dict[str, np.ndarray]],
    architecture: Architecture,
    positions: np.ndarray,
    masks: np.ndarray,
) -> dict[str, np.ndarray]:
    """What a network says of n positions: one that judges moves in one pass, others of each and its mirror image.

    Args:
        forward: the network in any form: its outputs by head for (n, planes, rows, columns) of any number type.
        positions, masks: two (n,) int64.

    Returns:
        (n, size) float32 for each head; for a network that judges moves or replies "policy", "value", and "results",
        what is expected of each move for the side to move, -1 to 1.
    """
    if architecture.judges == REPLIES:
        states, outputs = judged_replies(forward, architecture, positions, masks)
        moves = chances_of_moves(softmax(outputs["score"]), states)
        policy = policy_of(outputs["move"][:, 0], moves, states)
    else:
        seen = encode_many(positions, masks, architecture.geometry, architecture.encoding)
        if architecture.judges == POSITION:
            return mean_of_views(forward(both_views(seen)))
        outputs, is_move = forward(seen), landing(seen).sum(1) > 0
        chances = softmax(outputs["score"])
        least = np.arange(chances.shape[-1]) == 0  # sure where there is no move
        moves = np.where(is_move[..., None], chances, least).astype(np.float32)
        policy = np.where(is_move, outputs["move"][..., 0], np.float32(NEVER))
    return {"policy": policy, "value": value_of(policy, moves), "results": expected_results(moves)}


def judged_replies(
    forward: Callable[[np.ndarray], dict[str, np.ndarray]],
    architecture: Architecture,
    positions: np.ndarray,
    masks: np.ndarray,
) -> tuple[Afterstates, dict[str, np.ndarray]]:
    """What the moves of n positions lead to, and what a network that judges replies says of it: (m, size) a head."""
    states = afterstates(positions, masks, architecture.geometry)
    seen = encode_many(states.positions, states.masks, architecture.geometry, architecture.encoding)
    return states, mean_of_views(forward(both_views(seen)))


def landing(planes: np.ndarray) -> np.ndarray:
    """Where each column's stone would land: (n, rows, columns) float32 of 0 and 1, none of them in a full column.

    Args:
        planes: in any encoding, (n, planes, rows, columns); the first two are the stones of both sides.
    """
    taken = planes[:, 0] + planes[:, 1]
    below = np.concatenate([np.ones_like(taken[:, :1]), taken[:, :-1]], 1)
    return (below * (1 - taken)).astype(np.float32)


def both_views(planes: np.ndarray) -> np.ndarray:
    """n positions, then their mirror images: (2n, planes, rows, columns). The mean over both errs less than one."""
    return np.concatenate([planes, planes[..., ::-1]])


def mean_of_views(outputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Averages a network's outputs for ``both_views``, (n, size) each; the mirrored policy is mirrored back first."""
    means = {}
    for name, output in outputs.items():
        straight, mirrored = np.split(output, 2)
        means[name] = (straight + (mirrored[:, ::-1] if name == "policy" else mirrored)) / 2
    return means


def flatten(x: np.ndarray) -> np.ndarray:
    """Flattens (n, cells, channels) as torch does, channel by channel: (n, channels * cells)."""
    return x if x.ndim == 2 else x.transpose(0, 2, 1).reshape(len(x), prod(x.shape[1:]))


def masked_argmax(logits: Sequence[float] | np.ndarray, position: Position) -> int:
    """The legal column with the largest logit."""
    return max(position.legal_columns(), key=lambda column: logits[column])


def policy_move(network: PlainNetwork, obs: Any, config: Any, elsewhere: Callable[[Any, Any], int]) -> int:
    """The move of an agent without search: the legal column with the highest probability in the network's policy.

    Args:
        elsewhere: the agent for boards that the network was not trained on.
    """
    position = Position.from_observation(obs, config)
    if position.geometry != network.architecture.geometry:
        return elsewhere(obs, config)
    return masked_argmax(network.judge(position)["policy"], position)


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """(..., size) float: the probabilities of each row of logits; a higher temperature makes them more equal."""
    powers = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


def expected_result(value_logits: np.ndarray) -> np.ndarray:
    """(n,) float: probability of a win minus that of a loss for the side to move, from a value head's (n, 3) logits."""
    chances = softmax(value_logits)
    return chances[:, 2] - chances[:, 0]
