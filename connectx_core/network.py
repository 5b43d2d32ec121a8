"""Networks as plain arrays: their architecture, their files, and the forward pass in numpy.

A network is a trunk of layers and some linear heads, each of which reads the trunk's flattened output, or, in a network
that judges moves (``connectx_core.afterstates``), its channels where each column's stone would land. Training uses the
torch form, ``torch_form.Network``. The numpy form here needs no torch, starts in milliseconds, and gives the same
outputs within 1e-5.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import prod
from typing import Any, Self

import numpy as np

from connectx_core.encoding import encode_many, planes_of
from connectx_core.position import Geometry, Position, geometry_of
from connectx_core.threads import one_thread
from connectx_core.weights import compress, pack, reduce, restore_precision, unpack

# Kinds of layers, by what they do before a ReLU, in operations that both forms of a network have. "conv": zero-padded
# 3x3 convolution. "dense": fully connected; only "dense" may follow.
LAYER_KINDS: dict[str, Callable[[Any, str, Any], Any]] = {
    "conv": lambda net, name, x: net.window(name, x),
    "dense": lambda net, name, x: net.dense(name, x),
}


def trunk(net: Any, layers: Sequence[tuple[str, int]], x: Any) -> Any:
    """What the layers make of the planes, by the operations of a ``PlainNetwork`` or of its torch form."""
    for index, (kind, _) in enumerate(layers):
        x = net.relu(LAYER_KINDS[kind](net, f"{index}a", x))
    return x


BATCH = 256  # positions that the numpy forward pass takes at once, to stay in the cache


@dataclass(frozen=True)
class Architecture:
    """Everything that determines the shapes of a network's arrays. It is stored as JSON with the weights.

    Attributes:
        layers: (kind, width) of each layer of the trunk; the width is its number of channels, or units for "dense".
        heads: (name, size) of each output. Most networks have "policy", one logit for each column, or "value". One that
            evaluates the positions after moves (``connectx_core.afterstates``) has two others: "move", one logit that
            says how good the last move was, and "score", one logit for each exact score of the side to move.
        shape: rows, columns, inarow of the board.

    Raises:
        ValueError: an unknown kind or encoding, or an impossible order or width.
    """

    encoding: str
    layers: tuple[tuple[str, int], ...]
    heads: tuple[tuple[str, int], ...] = (("policy", 7), ("value", 3))
    shape: tuple[int, int, int] = (6, 7, 4)

    def __post_init__(self) -> None:
        planes_of(self.encoding)
        width, flat = planes_of(self.encoding), False
        for kind, size in self.layers:
            flat = flat or kind == "dense"
            if kind not in LAYER_KINDS or size < 1 or (flat and kind != "dense"):
                raise ValueError(f"layer {(kind, size)!r} cannot follow a width of {width} in {self.layers!r}")
            width = size

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
            return cls(encoding=fields["encoding"], shape=(rows, columns, inarow), **pairs)
        except (KeyError, TypeError, AttributeError) as fault:
            raise ValueError(f"not an architecture: {fields!r:.200} ({fault!r})") from None

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each array. A linear map's weight is (out, in), a 3x3 convolution's (out, in, 3, 3)."""
        shapes: dict[str, tuple[int, ...]] = {}
        width, cells = planes_of(self.encoding), self.shape[0] * self.shape[1]
        for index, (kind, size) in enumerate(self.layers):
            inputs, window = (width * cells, ()) if kind == "dense" else (width, (3, 3))
            shapes[f"{index}a.weight"], shapes[f"{index}a.bias"] = (size, inputs, *window), (size,)
            width, cells = size, 1 if kind == "dense" else cells
        for name, size in self.heads:
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (size, width * cells), (size,)
        return shapes

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(prod(shape) for shape in self.parameters().values())


def network_bytes(
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
    return compress(smaller)


def read_network(content: bytes) -> tuple[Architecture, dict[str, np.ndarray]]:
    """The architecture and the float32 arrays of a network's file.

    Raises:
        ValueError: the file is damaged or has an unknown encoding, or its arrays do not fit its architecture.
    """
    arrays, meta = unpack(content)
    if isinstance(meta, dict) and "dtypes" in meta:
        arrays, meta = unpack(restore_precision(content))
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
    """The forward pass in numpy of a network that sees the position itself.

    Args:
        arrays: float32, as ``read_network`` gives them.

    Raises:
        ValueError: it evaluates what replies lead to, for which there is ``connectx_core.afterstates.MoveNetwork``.
    """

    FOLLOWS_REPLIES = False

    def __init__(self, architecture: Architecture, arrays: dict[str, np.ndarray]):
        if "move" in dict(architecture.heads) and not self.FOLLOWS_REPLIES:
            raise ValueError("it evaluates what replies lead to: read it as a connectx_core.afterstates.MoveNetwork")
        self.architecture = architecture
        self._windows = neighbours(*architecture.shape[:2])
        self._maps = {name.removesuffix(".weight"): self._matrix(a) for name, a in arrays.items() if a.ndim > 1}
        self._biases = {name.removesuffix(".bias"): a for name, a in arrays.items() if name.endswith(".bias")}

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The network of a file. Raises as ``read_network``."""
        return cls(*read_network(content))

    @staticmethod
    def _matrix(weight: np.ndarray) -> np.ndarray:
        """A weight as a matrix (in, out); a convolution's inputs are ordered by cell of the window, then channel."""
        return np.ascontiguousarray(weight.transpose(*range(2, weight.ndim), 1, 0).reshape(-1, weight.shape[0]))

    def _linear(self, name: str, inputs: np.ndarray) -> np.ndarray:
        return inputs @ self._maps[name] + self._biases[name]

    def window(self, name: str, cells: np.ndarray) -> np.ndarray:
        """A 3x3 convolution of (n, cells, channels)."""
        padded = np.concatenate([cells, np.zeros_like(cells[:, :1])], 1)
        return self._linear(name, padded[:, self._windows].reshape(*cells.shape[:2], 9 * cells.shape[2]))

    def dense(self, name: str, x: np.ndarray) -> np.ndarray:
        """Of (n, cells, channels), or of (n, units) after the first such layer."""
        return self._linear(name, flatten(x))

    relu = staticmethod(partial(np.maximum, 0))

    def forward(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs of each head for (n, planes, rows, columns) of any number type.

        Returns:
            (n, size) float32 for each head.
        """
        with one_thread():
            parts = [self._forward(planes[start : start + BATCH]) for start in range(0, max(1, len(planes)), BATCH)]
        return {name: np.concatenate([part[name] for part in parts]) for name, _ in self.architecture.heads}

    def _forward(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        x = planes.reshape(*planes.shape[:2], prod(planes.shape[2:])).transpose(0, 2, 1).astype(np.float32)
        x = flatten(trunk(self, self.architecture.layers, x))
        return {name: self._linear(name, x) for name, _ in self.architecture.heads}

    def evaluate(self, position: Position) -> dict[str, np.ndarray]:
        """``evaluate_many`` for one position: (size,) float32."""
        outputs = self.evaluate_many(np.array([position.position], np.int64), np.array([position.mask], np.int64))
        return {name: output[0] for name, output in outputs.items()}

    def evaluate_many(self, positions: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
        """What the network says of n positions, two (n,) int64: the means over each and its mirror image."""
        seen = encode_many(positions, masks, self.architecture.geometry, self.architecture.encoding)
        return mean_of_views(self.forward(both_views(seen)))


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


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """(..., size) float: the probabilities of each row of logits; a higher temperature makes them more equal."""
    powers = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


def expected_result(value_logits: np.ndarray) -> np.ndarray:
    """(n,) float: probability of a win minus that of a loss for the side to move, from a value head's (n, 3) logits."""
    chances = softmax(value_logits)
    return chances[:, 2] - chances[:, 0]
