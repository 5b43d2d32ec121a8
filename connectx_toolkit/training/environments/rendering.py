"""A board to look at: as text, as a picture, and as a game in Kaggle's player."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from connectx.geometry import Geometry

RENDER_MODES = ("ansi", "rgb_array", "html")
CELL = 48  # pixels
BLUE, WHITE = (9, 83, 164), (236, 240, 245)  # the frame, and an empty cell
DISCS = {0: WHITE, 1: (224, 164, 0), -1: (200, 40, 45)}


def text(stones: np.ndarray) -> str:
    """X for the first player's stones, O for the second's. stones: (rows, columns) int8, as training.games has them."""
    return "\n".join("".join(".XO"[stone] for stone in row) for row in stones)


def picture(stones: np.ndarray) -> np.ndarray:
    """(rows * CELL, columns * CELL, 3) uint8: discs in a frame."""
    middle = np.arange(CELL) - (CELL - 1) / 2
    disc = np.hypot(middle[:, None], middle) < 0.42 * CELL
    colours = np.array([DISCS[stone] for stone in (0, 1, -1)], np.uint8)[stones]
    cells = np.where(disc[None, :, None, :, None], colours[:, None, :, None], np.array(BLUE, np.uint8))
    return cells.reshape(stones.shape[0] * CELL, stones.shape[1] * CELL, 3)


def html(moves: Sequence[int], geometry: Geometry) -> str:
    """A page with Kaggle's player of the game that ``moves``, columns from the first ply on, make."""
    from kaggle_environments import make  # takes seconds, so not at the top

    sizes = {"rows": geometry.rows, "columns": geometry.columns, "inarow": geometry.inarow}
    environment = make("connectx", configuration=sizes)
    environment.reset()
    for ply, column in enumerate(moves):
        environment.step([column, None] if ply % 2 == 0 else [None, column])
    return environment.render(mode="html")


def rendered(mode: str | None, stones: np.ndarray, moves: Sequence[int], geometry: Geometry) -> Any:
    """The board by the name that gymnasium gives to the form."""
    if mode == "html":
        return html(moves, geometry)
    return None if mode is None else text(stones) if mode == "ansi" else picture(stones)
