"""What ``train.py adopt`` does in a process of its own, where the code that comes with a model may run.

``main(folder)`` reads folder/task.json, and leaves there the agent's file and its data, and result.json, which says
what they are, or why there are none.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from connectx.position import Geometry, geometry_of
from connectx.weights import pack
from connectx_toolkit.builder.notebook.torch_model import Unknown, script_of, steps_of
from connectx_toolkit.system.console import as_option, progress
from connectx_toolkit.training.adoption.agent_text import RESULT, TASK, Sees, agent_text
from connectx_toolkit.training.adoption.models import (
    Model,
    as_input,
    is_torchscript,
    other_kind,
    sb3_model,
    torch_model,
)
from connectx_toolkit.training.adoption.observations import arranged, sees_of, shown
from connectx_toolkit.training.adoption.original import Unproved, moves_of_original, reference_of
from connectx_toolkit.training.opponents import config_of, function_of_file, observation_of
from connectx_toolkit.training.vector_games import ConnectX, Games, random_player


class Expected(NamedTuple):
    """What the agent should play.

    Attributes:
        moves: (n,) columns; where the model chooses a full one, its best legal one.
        full: in how many positions it does.
        reference: whose moves they are, for people.
        unproved: why they are not the original's, "" if they are.
    """

    moves: np.ndarray
    full: int
    reference: str
    unproved: str


def positions(count: int, geometry: Geometry) -> ConnectX:
    """So many positions of random games, of all lengths that such games have, none of them over."""
    rng, found = np.random.default_rng(0), list[ConnectX]()
    player = random_player(rng)
    while sum(map(len, found)) < count:
        games = ConnectX(50, geometry)
        for ply in range(geometry.cells):
            going = np.flatnonzero(~games.done)
            found.append(games.take(rng.permutation(going)[: 1 + ply % 3]))
            games.play(player(games, going), going)
    every = ConnectX(0, geometry)
    for name in ("stones", "plies", "done", "winner"):
        setattr(every, name, np.concatenate([getattr(games, name) for games in found]))
    return every.take(rng.permutation(len(every))[:count])


def without_batch(model: Model, observations: np.ndarray, columns: int) -> str:
    """What to do about observations that are batches of one, if the model takes what is in them; else ""."""
    if observations.shape[1:2] != (1,):
        return ""
    try:
        fits = model.scores(observations[:, 0]).shape == (len(observations), columns)
    except Exception:  # their code may raise anything
        return ""
    shape = observations.shape[2:]
    return f". Its first dimension is a batch of one: return one observation, of shape {shape}, by [0]" if fits else ""


def moves_of(model: Model, observations: np.ndarray, games: Games) -> tuple[np.ndarray, np.ndarray]:
    """The choices of the network that was built again, (n,), and its scores, (n, columns).

    Raises:
        ValueError: it does not take these observations, or gives anything but a number for each column.
    """
    legal = games.legal()
    try:
        scores = model.scores(observations)
        chosen = np.asarray(model.predict(observations, legal))
    except Exception as fault:  # their code may raise anything
        reason = " ".join(str(fault).split())
        text = f"the model takes no observations of shape {observations.shape[1:]}: {reason:.200}"
        raise ValueError(text + without_batch(model, observations, games.columns)) from None
    if scores.shape != legal.shape:
        raise ValueError(
            f"the model gives {scores.shape[1:]} for a position, where {games.columns} scores were expected"
            + without_batch(model, observations, games.columns)
        )
    if not np.isfinite(scores).all():
        raise ValueError("the model's scores are not finite: it holds NaN or infinities")
    return chosen, scores


def expected_of(
    task: dict[str, Any], model: Model, games: ConnectX, observations: np.ndarray, is_own: bool
) -> Expected:
    """The moves that the agent should play: the original's, where it can be asked.

    Args:
        is_own: whether the user's function makes the observations, as it then does for the original.

    Raises:
        ValueError: as ``moves_of``, or the network's scores are the same in all positions.
    """
    chosen, scores = moves_of(model, observations, games)
    if np.ptp(scores, axis=0).max() == 0:
        raise ValueError(f"{task['model']} has learnt nothing: its scores are the same in all positions")
    reference = f"the network built again from {Path(task['model']).name}"
    unproved = f"left out by {as_option('no-proof')}"
    if not task["no_proof"]:
        try:
            chosen, scores = moves_of_original(task, model.algorithm, games, None if is_own else observations)
            reference, unproved = reference_of(task, model.algorithm), ""
        except Unproved as reason:
            unproved = str(reason)
    legal = games.legal()
    full = ~legal[np.arange(len(chosen)), chosen]
    best = np.where(legal, scores, -np.inf).argmax(axis=1)
    return Expected(np.where(full, best, chosen), int(full.sum()), reference, unproved)


def write_agent(
    folder: Path, task: dict[str, Any], model: Model, sees: Sees, seen: np.ndarray, expected: Expected, is_script: bool
) -> list[str]:
    """The agent and its data in ``folder``; the names of both files. Raises Unknown as ``steps_of`` does.

    Args:
        seen: what the model sees of a game, (1, *shape).
    """
    stem = Path(task["output"]).stem
    data = f"{stem}.pt" if is_script else f"{stem}.bin"
    if is_script:
        seen = seen.astype(np.float32) if model.algorithm else seen
        content = script_of(model.module, seen, model.scale)
    else:
        steps, arrays = steps_of(model.module, model.scale)
        content = pack(arrays, {"steps": steps, "observation": sees.name, "board": task["board"]})
    proof = f"the same moves as {expected.reference} in {task['positions'] - expected.full} positions"
    dtype = str(seen.dtype) if is_script else ""
    text = agent_text(model.title, data, sees, tuple(task["board"]), proof, dtype)
    (folder / data).write_bytes(content)
    (folder / f"{stem}.py").write_text(text, encoding="utf-8")
    return [f"{stem}.py", data]


def agreement(file: Path, games: ConnectX, expected: np.ndarray) -> int:
    """In how many games the agent in ``file`` plays the expected column. Raises ValueError if it fails in one."""
    same = 0
    try:
        agent, config = function_of_file(file), config_of(games.geometry)
        with progress(len(games), "position", "comparing with the model") as bar:
            for game in range(len(games)):
                same += int(agent(observation_of(games, game), config) == expected[game])
                bar.update(1)
    except Exception as fault:  # an observation's code may raise anything
        raise ValueError(f"the agent fails where the model does not: {fault!r:.200}") from None
    return same


def adopt(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """The result. Raises ValueError or OSError with the reason why there is none."""
    path, geometry = Path(task["model"]), geometry_of(*task["board"])
    if kind := other_kind(path):
        raise ValueError(f"{path} is {kind}; adopt takes models of stable-baselines3 (.zip) and of torch (.pt)")
    is_archive = path.suffix not in (".pt", ".pth")
    if not is_archive and not task["module"] and not is_torchscript(path):
        needed = f"{as_option('module', 'FILE.py:CLASS')}, and {as_option('observation')}"
        raise ValueError(f"{path}: a network of torch needs its class, {needed}")
    model = (sb3_model if is_archive else torch_model)(path, task)
    games = positions(task["positions"], geometry)
    sees, look = sees_of(model.space, task, games)
    seen = shown(games, sees, look)
    try:
        observations, sees = arranged(seen, sees, model.space)
    except ValueError as fault:
        raise ValueError(f"{fault}{without_batch(model, seen, games.columns)}") from None
    if not is_archive:
        observations = as_input(model.module, observations)
    expected = expected_of(task, model, games, observations, look is not None)
    files, why = _agent_that_agrees(folder, task, model, sees, observations[:1], expected, games)
    facts = {"files": files, "script": why, "observation": sees.name or task["observation"], "title": model.title}
    return facts | {"full": expected.full, "reference": expected.reference, "unproved": expected.unproved}


def _agent_that_agrees(
    folder: Path,
    task: dict[str, Any],
    model: Model,
    sees: Sees,
    seen: np.ndarray,
    expected: Expected,
    games: ConnectX,
) -> tuple[list[str], str]:
    """The files of an agent that plays as expected, and why it is not in numpy. Raises ValueError if there is none."""
    why, same = "", 0
    for is_script in (False, True):
        try:
            files = write_agent(folder, task, model, sees, seen, expected, is_script)
            same = agreement(folder / files[0], games, expected.moves)
        except Unknown as unknown:
            why = str(unknown)
            continue
        except ValueError as fault:
            if is_script:
                raise
            why = str(fault)
            continue
        if same == len(games):
            return files, why
        why = f"in numpy {len(games) - same} of {len(games)} moves differ"
    values = ", ".join(map(as_option, ("activation", "arguments", "observation")))
    cure = "" if expected.unproved else f"; a value of yours is missing: see {values}"
    raise ValueError(
        f"the agent plays otherwise than {expected.reference} in {len(games) - same} of {len(games)} positions{cure}"
    )


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    try:
        result = adopt(folder, json.loads((folder / TASK).read_text(encoding="utf-8")))
    except (ValueError, OSError) as fault:
        result = {"error": str(fault), "readings": getattr(fault, "readings", "")}
    (folder / RESULT).write_text(json.dumps(result), encoding="utf-8")
