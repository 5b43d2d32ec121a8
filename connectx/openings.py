"""The openings: positions of the first plies in which nobody has a line, up to mirroring, and their exact scores."""

from collections.abc import Iterator

import numpy as np

from connectx.book import Layer, after_any
from connectx.geometry import Geometry

LAST_PLY = 8


def layers(geometry: Geometry, last_ply: int) -> Iterator[Layer]:
    """All positions without a line of plies 0 to ``last_ply``, ply by ply, each layer sorted by key."""
    layer = Layer(np.zeros(1, np.int64), np.zeros(1, np.int64))
    yield layer
    for _ in range(last_ply):
        layer = after_any(layer, geometry)
        yield layer
