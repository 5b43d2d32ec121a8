"""What a model sees: an observation of the kit by name, a function of the user's, or what its space and its
environment's code leave no doubt of.

A model's archive tells the shape, the type and the bounds of its observations, not what the numbers mean. Two readings
that are both possible are shown, and the user says which it is.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from connectx.position import Geometry
from connectx_toolkit.system.console import as_option
from connectx_toolkit.training.adoption.agent_text import Sees
from connectx_toolkit.training.adoption.models import loaded
from connectx_toolkit.training.adoption.source import code_of, file_and_name, part_of, source_of
from connectx_toolkit.training.environments.vector_env import NAMES, observation_named
from connectx_toolkit.training.opponents import config_of, observation_of
from connectx_toolkit.training.vector_games import ConnectX

Look = Callable[[Any, Any], np.ndarray]  # (obs, config), as Kaggle gives them


class Reading(NamedTuple):
    """A meaning that numbers of a board may have."""

    words: str
    name: str  # of the kit, "" if it has none
    code: str  # an expression of board, (rows, columns), and obs.mark
    low: int
    high: int
    axis: str  # "cells" for one number a cell, else which axis has the two planes: "first" or "last"


READINGS = (
    Reading("1 the first player's stones, 2 the second's", "course", "board", 0, 2, "cells"),
    Reading(
        "1 the mover's stones, 2 the other side's",
        "sides",
        "np.where(board > 0, 1 + (board != obs.mark), 0)",
        0,
        2,
        "cells",
    ),
    Reading(
        "1 the mover's stones, -1 the other side's",
        "",
        "np.where(board > 0, 1 - 2 * (board != obs.mark), 0)",
        -1,
        1,
        "cells",
    ),
    Reading("1 the first player's stones, -1 the second's", "", "np.where(board > 1, -1, board)", -1, 1, "cells"),
    Reading(
        "planes of the mover and the other side, bottom row first",
        "stones-1",
        "np.stack([board == obs.mark, board == 3 - obs.mark])[:, ::-1]",
        0,
        1,
        "first",
    ),
    Reading(
        "planes of the mover and the other side, top row first",
        "",
        "np.stack([board == obs.mark, board == 3 - obs.mark])",
        0,
        1,
        "first",
    ),
    Reading(
        "planes of the first and the second player, top row first",
        "",
        "np.stack([board == 1, board == 2])",
        0,
        1,
        "first",
    ),
    Reading(
        "planes of the mover and the other side, top row first",
        "",
        "np.stack([board == obs.mark, board == 3 - obs.mark], 2)",
        0,
        1,
        "last",
    ),
    Reading(
        "planes of the first and the second player, top row first",
        "",
        "np.stack([board == 1, board == 2], 2)",
        0,
        1,
        "last",
    ),
)
EXAMPLE = """import numpy as np

def look(obs, config):
    board = np.array(obs.board).reshape(config.rows, config.columns)
    return {code}.reshape{shape}.astype(np.{dtype})"""


def look_of(reading: Reading, shape: tuple[int, ...]) -> Look:
    """The function of (obs, config) that makes a reading in a shape."""
    code = compile(reading.code, "<reading>", "eval")

    def look(obs: Any, config: Any) -> np.ndarray:
        board = np.array(obs.board).reshape(config.rows, config.columns)
        return np.asarray(eval(code, {"np": np, "obs": obs, "board": board})).reshape(shape)

    return look


def readings_of(space: spaces.Box, geometry: Geometry) -> list[Reading]:
    """The readings that a space of observations has room for."""
    rows, columns = geometry[:2]
    shapes: dict[str, list[tuple[int, ...]]] = {"first": [(2, rows, columns)], "last": [(rows, columns, 2)]}
    shapes["cells"] = [(1, rows, columns), (rows, columns), (rows, columns, 1), (rows * columns,)]
    return [
        reading
        for reading in READINGS
        if space.shape in shapes[reading.axis] and space.low.min() <= reading.low and space.high.max() >= reading.high
    ]


def sees_of(space: spaces.Box | None, task: dict[str, Any], games: ConnectX) -> tuple[Sees, Look | None]:
    """What the model sees, as named, or as nothing but one observation can be, and the user's function if it is one.

    Raises:
        ValueError: no observation of the kit has the model's shape, more than one reading has, or none has that name.
    """
    named, geometry = task["observation"], games.geometry
    if ":" in named:
        return _of_file(named, space, games)
    if named and named not in NAMES:
        raise ValueError(f"observation should be one of {', '.join(NAMES)}, or FILE.py:FUNCTION, not {named!r}")
    if named:
        return Sees(named), None
    if space is None:
        raise ValueError(
            f"a network of torch needs {as_option('observation')}: one of {', '.join(NAMES)}, or FILE.py:FUNCTION"
        )
    if (name := vars(space).get("shows", "")) in NAMES and observation_named(name, geometry).space == space:
        return Sees(name), None
    if task["module"] and (name := name_in_code(file_and_name(task["module"])[0], "", space, games)):
        return Sees(name), None
    for name in NAMES[3:]:  # of one plane or two there are other readings
        if observation_named(name, geometry).space == space:
            return Sees(name), None
    raise doubt(task["model"], space, games)


def _of_file(named: str, space: spaces.Box | None, games: ConnectX) -> tuple[Sees, Look | None]:
    """What FILE:FUNCTION makes, or what the environment or wrapper FILE:CLASS does."""
    path, name = file_and_name(named)
    source = source_of(named)
    classes = [each for each in ast.parse(code_of(path)).body if isinstance(each, ast.ClassDef)]
    if name not in {each.name for each in classes}:
        return Sees("", source.name, source.text), loaded(source)
    found = name_in_code(path, name, space, games) if space else ""
    if not found:
        raise ValueError(
            f"the code of {named} does not tell what the model sees: name a function of (obs, config) that makes it, "
            f"{as_option('observation', 'FILE.py:FUNCTION')}"
        )
    return Sees(found), None


class Doubt(ValueError):
    """Several readings are possible. ``readings``: lines that show each on a board, with the option for it."""

    def __init__(self, text: str, readings: str):
        super().__init__(text)
        self.readings = readings


def doubt(model: str, space: spaces.Box, games: ConnectX) -> ValueError:
    """Why an observation is not known: none is of that shape, or these readings are."""
    low, high = (f"{bound:g}" for bound in (space.low.min(), space.high.max()))
    found = readings_of(space, games.geometry)
    if not found:
        return ValueError(
            f"the model sees arrays of shape {space.shape}, as no observation of the kit is on this board: "
            f"{as_option('board', 'ROWSxCOLUMNSkINAROW')} names another, "
            f"{as_option('observation', 'FILE.py:NAME')} a function of (obs, config) that makes them"
        )
    lines = list[str]()
    is_odd = (games.plies % 2 == 1) & (games.plies > 2)  # the second player moves
    game = int(np.where(is_odd, games.plies, 99).argmin())
    for number, reading in enumerate(found, 1):
        option = reading.name or "FILE.py:look, with the function below"
        lines.append(f"reading {number}: {reading.words}: {as_option('observation', option)}")
        lines += _shown_on(reading, games, game)
        if not reading.name:
            shape = f"({', '.join(map(str, space.shape))}{',' * (len(space.shape) == 1)})"
            lines.append(EXAMPLE.format(code=reading.code, shape=shape, dtype=space.dtype))
    return Doubt(
        f"{model} sees arrays of shape {space.shape}, {space.dtype}, {low} to {high}: {len(found)} readings are "
        f"possible, say by {as_option('observation')} which is yours",
        "\n".join(lines),
    )


def _shown_on(reading: Reading, games: ConnectX, game: int) -> list[str]:
    """The rows of a reading of a board, those of its first plane if it has two."""
    rows, columns = games.geometry[:2]
    shape = {"cells": (rows, columns), "first": (2, rows, columns), "last": (rows, columns, 2)}[reading.axis]
    seen = look_of(reading, shape)(observation_of(games, game), config_of(games.geometry)).astype(int)
    plane = {"cells": seen, "first": seen[0], "last": seen[..., 0]}[reading.axis]
    return ["    " + " ".join(f"{cell:2}" for cell in row) for row in plane]


def name_in_code(path: Path, class_name: str, space: spaces.Box, games: ConnectX) -> str:
    """The observation of the kit that the code of an environment of Kaggle's makes, "" if it does not tell.

    What its methods return or keep of obs["board"] is computed as they compute it, in many positions, and compared.

    Args:
        class_name: of the environment or wrapper; "" for all classes of the file.
    """
    text = code_of(path)
    names = set[str]()
    if "kaggle_environments" not in text:  # in whose absence obs["board"] may be anything
        return ""
    for each in ast.parse(text).body:
        if isinstance(each, ast.ClassDef) and each.name in (class_name or each.name):
            for expression in _expressions(each):
                names |= _names_of(path, text, expression, space, games)
    return names.pop() if len(names) == 1 else ""


def _expressions(found: ast.ClassDef) -> set[str]:
    """What the methods of a class return, or assign, that mentions the board; of a tuple, the first."""
    expressions = set[str]()
    for node in ast.walk(found):
        value = node.value if isinstance(node, ast.Return | ast.Assign) else None
        value = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
        if value is not None and "board" in ast.unparse(value):
            expressions.add(ast.unparse(value))
    return expressions


def _names_of(path: Path, text: str, expression: str, space: spaces.Box, games: ConnectX) -> set[str]:
    """The observations of the kit, or "" for another, that an expression makes; none if it does not compute alone."""
    rows, columns = games.geometry[:2]
    config = config_of(games.geometry)
    try:
        function = part_of(path, f"{text}\ndef _seen(self, obs):\n    return {expression}\n", "_seen").load()
        seen = []
        for game in range(len(games)):
            obs = observation_of(games, game)
            state = SimpleNamespace(obs=obs, rows=rows, columns=columns)
            seen.append(np.asarray(function(state, obs)))
        found = np.stack(seen)
    except Exception:  # it needs more than an observation, or is no part of one
        return set()
    if found.shape[1:] != space.shape:
        return set()
    named = [reading for reading in readings_of(space, games.geometry) if reading.name]
    looks = {reading.name: look_of(reading, space.shape) for reading in named}
    return {
        name
        for name, look in looks.items()
        if all(np.array_equal(found[game], look(observation_of(games, game), config)) for game in range(len(games)))
    } or {""}


def shown(games: ConnectX, sees: Sees, look: Look | None) -> np.ndarray:
    """What is seen of each game: (n, *shape). Raises ValueError if the user's function fails."""
    if look is None:
        return observation_named(sees.name, games.geometry).of(games.stones, games.mover)
    config = config_of(games.geometry)
    try:
        return np.stack([np.asarray(look(observation_of(games, game), config)) for game in range(len(games))])
    except Exception as fault:  # their code may raise anything
        raise ValueError(f"{sees.function} fails on a position: {fault!r:.200}") from None


def arranged(observations: np.ndarray, sees: Sees, space: spaces.Box | None) -> tuple[np.ndarray, Sees]:
    """Observations in the model's shape, and what is seen with the call that arranges it so.

    A board named by the kit is reshaped; of an image, the channels become the first axis, as stable-baselines3 does it.

    Raises:
        ValueError: they are of another shape, or those of the kit outside the model's bounds.
    """
    shape = observations.shape[1:]
    if space is None:
        return observations, sees
    if sees.name and (observations.max() > space.high.max() or observations.min() < space.low.min()):
        raise ValueError(
            f"{sees.name} gives numbers from {observations.min()} to {observations.max()}, the model sees "
            f"{space.low.min():g} to {space.high.max():g}: it was trained on another {as_option('observation')}"
        )
    if shape == space.shape:
        return observations, sees
    if sees.name in ("course", "sides") and np.prod(shape) == np.prod(space.shape):
        text = f".reshape({', '.join(map(str, space.shape))})"
        return observations.reshape(-1, *space.shape), sees._replace(arrangement=text)
    from stable_baselines3.common.preprocessing import is_image_space  # takes seconds to import

    is_image = len(shape) == 3 and is_image_space(space)
    if is_image and tuple(shape[axis] for axis in (2, 0, 1)) == space.shape:
        return observations.transpose(0, 3, 1, 2), sees._replace(arrangement=".transpose(2, 0, 1)")
    raise ValueError(f"the model sees arrays of shape {space.shape}, the observation gives {shape}")
