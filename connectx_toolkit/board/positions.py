"""A position as the board's messages have it: the size of the board, and its cells as Kaggle lists them."""

from typing import Any

from connectx.geometry import Geometry
from connectx.position import Position
from connectx_toolkit.kaggle.rules import Rules

SIZES = ("rows", "columns", "inarow")


def geometry_in(entry: Any) -> Geometry:
    """The geometry of a message with rows, columns and inarow.

    Raises:
        ValueError: there are none, or no board is of that size.
    """
    try:
        return Rules({name: entry[name] for name in SIZES}).geometry
    except (TypeError, KeyError):
        raise ValueError(f"expected {', '.join(SIZES)}, got {entry!r:.200}") from None


def position_in(entry: Any) -> Position:
    """The position of a message. Its cells are a string of 0, 1 and 2, row by row from the top.

    Raises:
        ValueError: it is none that a game could go on from.
    """
    geometry = geometry_in(entry)
    cells = entry.get("cells")
    if not isinstance(cells, str) or len(cells) != geometry.cells or set(cells) - set("012"):
        raise ValueError(f"cells should be {geometry.cells} of the characters 0, 1, 2, not {cells!r:.200}")
    if cells.count("1") - cells.count("2") not in (0, 1):
        raise ValueError("the side that moves first should have as many stones as the other, or one more")
    for column in range(geometry.columns):
        if "0" in cells[column :: geometry.columns].lstrip("0"):
            raise ValueError(f"column {column} has a stone above an empty cell")
    ply = geometry.cells - cells.count("0")
    position = Position.from_observation({"board": [*map(int, cells)], "mark": 1 + ply % 2}, dict(_sizes(geometry)))
    if position.is_over() or position.pass_turn().is_lost():
        raise ValueError("the game is over in this position")
    return position


def entry_of(position: Position) -> dict[str, Any]:
    """What ``position_in`` reads."""
    return {**dict(_sizes(position.geometry)), "cells": "".join(map(str, position.to_board()))}


def _sizes(geometry: Geometry):
    return zip(SIZES, geometry[:3], strict=True)
