"""What ``train.py adopt`` does in a process of its own, where the code that comes with a model may run.

``main(folder)`` reads folder/task.json, and leaves there the agent's file and its data, and result.json, which says
what they are, or why there are none.
"""

import contextlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from connectx.geometry import Geometry, geometry_of
from connectx.weights import pack
from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.adoption.source import Source, source_of
from connectx_toolkit.training.adoption.text import RESULT, TASK, Sees, agent_text
from connectx_toolkit.training.adoption.torch_model import Unknown, first_output, script_of, steps_of
from connectx_toolkit.training.environments.observations import NAMES, observation_named
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.opponents import config_of, function_of_file, observation_of
from connectx_toolkit.training.games.players import random_player


class Model(NamedTuple):
    """A trained network, and what there is to know of it.

    ``predict(observations, legal)`` gives the model's own choices, (n,), and ``scores(observations)`` its numbers for
    the columns, (n, columns); observations are (n, *shape), legal (n, columns) bool.
    """

    title: str
    module: nn.Module
    scale: float
    shape: tuple[int, ...]
    dtype: np.dtype
    predict: Callable[[np.ndarray, np.ndarray], np.ndarray]
    scores: Callable[[np.ndarray], np.ndarray]


def sb3_model(path: Path, task: dict[str, Any], extractor: Any) -> Model:
    """The model of an archive of stable-baselines3. Raises as connectx_toolkit.training.adoption.sb3_model does."""
    with contextlib.redirect_stderr(io.StringIO()):  # gym says there that it is unmaintained
        from connectx_toolkit.training.adoption import sb3_model  # takes seconds to import
    archive, parameters = sb3_model.read_archive(path)
    policy = sb3_model.policy_of(archive, parameters, extractor, task["arguments"])
    module, scale = sb3_model.network_of(policy)
    is_masked = isinstance(policy, sb3_model.MaskableActorCriticPolicy)

    def predict(observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        masks = {"action_masks": legal} if is_masked else {}
        return policy.predict(observations, deterministic=True, **masks)[0]

    def scores(observations: np.ndarray) -> np.ndarray:
        seen, _ = policy.obs_to_tensor(observations)
        with torch.no_grad():
            if isinstance(policy, sb3_model.DQNPolicy):
                return policy.q_net(seen).numpy()
            return policy.get_distribution(seen).distribution.logits.numpy()

    title = f"The policy of {path.name} ({archive.kind}, {archive.steps:,} steps): its likeliest legal column."
    space = archive.observation
    return Model(title, module, scale, space.shape, np.dtype(space.dtype), predict, scores)


def torch_model(path: Path, task: dict[str, Any], network: Any) -> Model:
    """A module with the parameters of a file of torch.save.

    Raises:
        ValueError: the file holds no state_dict, or not that of the module.
    """
    try:
        module = network(**task["arguments"])
    except Exception as fault:  # their code may raise anything
        reason = f"{fault!r:.200} (its arguments are given by --arguments JSON)"
        raise ValueError(f"{task['module']} cannot be made: {reason}") from None
    if not isinstance(module, nn.Module):
        kind = type(module).__name__
        raise ValueError(f"{task['module']} makes {kind}, where a torch.nn.Module was expected")
    try:
        module.load_state_dict(state_dict_of(path))
    except RuntimeError as fault:
        raise ValueError(f"{path} does not fit {task['module']}: {' '.join(str(fault).split()):.250}") from None
    module.eval()

    def scores(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(first_output(module(torch.from_numpy(observations.astype(np.float32)))))

    def predict(observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return scores(observations).argmax(axis=1)

    title = f"The network {network.__name__} of {path.name}: its best legal column."
    return Model(title, module, 1.0, (), np.dtype(np.float32), predict, scores)


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


def sees_of(model: Model, named: str, geometry: Geometry) -> tuple[Sees, Source | None]:
    """What the model sees: as named, or an observation of the kit by its shape and type.

    Raises:
        ValueError: no observation has them, or there is none of that name.
    """
    if ":" in named:
        source = source_of(named)
        return Sees("", source.name, source.text), source
    if named and named not in NAMES:
        raise ValueError(f"observation should be one of {', '.join(NAMES)}, or FILE.py:FUNCTION, not {named!r}")
    if not named and not model.shape:
        raise ValueError(f"a network of torch needs --observation: one of {', '.join(NAMES)}, or FILE.py:FUNCTION")
    boxes = {name: observation_named(name, geometry).space for name in (NAMES if not named else ())}
    alike = [name for name, space in boxes.items() if space.shape == model.shape]
    same = [named, *(name for name in alike if boxes[name].dtype == model.dtype), *alike]
    if not any(same):
        raise ValueError(
            f"the model sees arrays of shape {model.shape}, as no observation of the kit is on this board: --board "
            "ROWSxCOLUMNSkINAROW names another, --observation FILE.py:NAME a function of (obs, config) that makes them"
        )
    return Sees(next(filter(None, same))), None


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


def shown(games: ConnectX, sees: Sees, source: Source | None) -> np.ndarray:
    """What the model sees of each game: (n, *shape)."""
    if source is None:
        return observation_named(sees.name, games.geometry).of(games.stones, games.mover)
    function, config = loaded(source), config_of(games.geometry)
    try:
        return np.stack([np.asarray(function(observation_of(games, game), config)) for game in range(len(games))])
    except Exception as fault:  # their code may raise anything
        raise ValueError(f"{source.path.name}:{source.name} fails on a position: {fault!r:.200}") from None


def loaded(source: Source) -> Any:
    """What a source defines. Raises ValueError if its code does not run."""
    sys.path.insert(0, str(source.path.parent))
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # gym, which many import, says there that it is unmaintained
            return source.load()
    except Exception as fault:  # their code may raise anything
        raise ValueError(f"{source.path.name}:{source.name} cannot be loaded: {fault!r:.200}") from None


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


def right_moves(model: Model, observations: np.ndarray, games: Games) -> tuple[np.ndarray, np.ndarray, int]:
    """The model's moves, (n,), its scores, (n, columns), and how many of its choices are full columns.

    Where it chose one of these, its best legal column counts.

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
    full = ~legal[np.arange(len(chosen)), chosen]
    return np.where(full, np.where(legal, scores, -np.inf).argmax(axis=1), chosen), scores, int(full.sum())


def write_agent(folder: Path, task: dict[str, Any], model: Model, sees: Sees, is_script: bool) -> list[str]:
    """The agent and its data in ``folder``; the names of both files. Raises Unknown as ``steps_of`` does."""
    stem = Path(task["output"]).stem
    data = f"{stem}.pt" if is_script else f"{stem}.bin"
    if is_script:
        content = script_of(model.module, task["shape"], model.scale)
    else:
        steps, arrays = steps_of(model.module, model.scale)
        content = pack(arrays, {"steps": steps, "observation": sees.name, "board": task["board"]})
    text = agent_text(model.title, data, sees, tuple(task["board"]), task["positions"], is_script)
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
    shown_class = loaded(source_of(task["module"])) if task["module"] else None
    is_archive = path.suffix not in (".pt", ".pth")
    if not is_archive and shown_class is None:
        raise ValueError(f"{path}: a network of torch needs its class, --module FILE.py:CLASS, and --observation")
    model = (sb3_model if is_archive else torch_model)(path, task, shown_class)
    sees, source = sees_of(model, task["observation"], geometry)
    games = positions(task["positions"], geometry)
    observations = shown(games, sees, source)
    if model.shape and observations.shape[1:] != model.shape:
        raise ValueError(
            f"the model sees arrays of shape {model.shape}, the observation gives {observations.shape[1:]}"
            + without_batch(model, observations, geometry.columns)
        )
    task["shape"] = observations.shape[1:]
    expected, scores, full = right_moves(model, observations, games)
    if np.ptp(scores, axis=0).max() == 0:
        raise ValueError(f"{path} has learnt nothing: its scores are the same in all positions")
    why = ""
    for is_script in (False, True):
        try:
            files = write_agent(folder, task, model, sees, is_script)
            same = agreement(folder / files[0], games, expected)
        except Unknown as unknown:
            why = str(unknown)
            continue
        if same == len(games):
            facts = {"files": files, "full": full, "observation": sees.name or task["observation"], "script": why}
            return facts | {"title": model.title}
        why = f"in numpy {len(games) - same} of {len(games)} moves differ"
    raise ValueError(f"the agent plays otherwise than {path} in {len(games) - same} of {len(games)} positions")


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    try:
        result = adopt(folder, json.loads((folder / TASK).read_text(encoding="utf-8")))
    except (ValueError, OSError) as fault:
        result = {"error": str(fault)}
    (folder / RESULT).write_text(json.dumps(result), encoding="utf-8")
