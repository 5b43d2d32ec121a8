"""Sixty models of users, each adopted, proved against the model itself, and compared with it here once more.

What is expected here is computed from the user's whole file and the model in memory: nothing of the adoption's.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from connectx.position import geometry_of
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.training import adopt as module
from connectx_toolkit.training.opponents import function_of_file
from connectx_toolkit.training.vector_games import ConnectX
from tests.training.models_of_users import ADOPTED, BLIND, REFUSED, REFUSED_BLIND

POSITIONS = 60
MODELS: dict[str, tuple[str, dict[str, str]]] = {
    name: case for name, case in (BLIND | ADOPTED).items() if name not in REFUSED_BLIND
}
Refusals = dict[str, tuple[str, dict[str, str], str]]
REFUSALS: Refusals = REFUSED | {name: (*BLIND[name], words) for name, words in REFUSED_BLIND.items()}

SCRIPTED = {  # those with a layer that connectx.network has not
    "MaskablePPO, residual extractor",
    "torch, a GRU over columns",
    "torch, attention over cells",
    "torch, duelling heads",
    "GELU, not in numpy",
    "Softsign",
    "own activation",
    "own activation beside an extractor",
    "own function",
    "a dict",
    "doubles",
    "LSTM",
    "a transformer's layer",
    "grouped and dilated convolutions",
    "small numbers that wrap",
    "a table filled by a function",
}


def jittered(model: Any) -> nn.Module:
    """The network of a model, with random parameters and means, whose moves depend on the board."""
    network = model if isinstance(model, nn.Module) else model.policy
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.1 if parameter.ndim < 2 else 2 / parameter[0].numel() ** 0.5)
        for module in network.modules():
            if isinstance(module, nn.LayerNorm | nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)
        for name, buffer in network.named_buffers():
            if buffer.is_floating_point():
                buffer.uniform_(0.3, 2) if name.endswith("var") else buffer.normal_(0, 0.1)
    return network.train(False)


def saved(model: Any, folder: Path) -> Path:
    network, path = jittered(model), folder / ("net.pt" if isinstance(model, nn.Module) else "model.zip")
    if network is model:
        torch.save(network.state_dict(), path)
    else:
        model.num_timesteps = 8
        model.save(path)
    return path


def task_of(path, file, options):
    shown = {name: value.replace("FILE", str(file)) for name, value in options.items() if name != "activation"}
    import os
    if os.environ.get("NOMODULE") and path.suffix == ".zip": shown.pop("module", None)
    return module.Config(model=path, output=path.with_name("mine.py"), positions=POSITIONS, **shown)


def made(code: str, options: dict[str, Any], folder: Path) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The model, the names of the user's file, and the task."""
    file = folder / "lesson.py"
    file.write_text(code)
    torch.manual_seed(5)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, str(file), "exec"), names)
    model = names["make"]()
    return model, names, task_of(saved(model, folder), file, options)


def games_at_random() -> list[tuple[Struct, list[int]]]:
    """Positions that the adoption has not seen, as observations, with their legal columns."""
    rng = np.random.default_rng(61)
    found: list[tuple[Struct, list[int]]] = []
    while len(found) < 40:
        games = ConnectX(1, geometry_of(6, 7, 4))
        for _ in range(rng.integers(42)):
            if not games.done[0]:
                games.play(rng.permutation(np.flatnonzero(games.legal()[0]))[:1])
        if not games.done[0]:
            board = np.where(games.stones[0] < 0, 2, games.stones[0]).ravel().tolist()
            obs = Struct(board=board, mark=1 + int(games.plies[0]) % 2, step=int(games.plies[0]))
            found.append((obs, np.flatnonzero(games.legal()[0]).tolist()))
    return found


def own_move(model: Any, seen: np.ndarray, legal: list[int]) -> int:
    """What the model itself plays. A full column of a torch module's does not count: its scores are masked."""
    if not isinstance(model, nn.Module):
        masks = {"action_masks": np.isin(np.arange(7), legal)} if type(model).__name__ == "MaskablePPO" else {}
        return int(model.predict(seen, deterministic=True, **masks)[0])
    given = torch.as_tensor(np.ascontiguousarray(seen))[None]
    with torch.no_grad():
        try:
            output: Any = model(given)
        except (RuntimeError, TypeError):
            output = model(given.to(next(model.parameters()).dtype))
    output = output.get("policy") if isinstance(output, dict) else output
    scores = (output[0] if isinstance(output, tuple) else output)[0]
    return max(legal, key=lambda column: float(scores[column]))


@pytest.fixture(scope="module")
def positions():
    return games_at_random()


@pytest.mark.parametrize("name", MODELS)
def test_the_agent_plays_as_the_model_itself(name, positions, tmp_path):
    model, names, task = made(*MODELS[name], tmp_path)
    result = module.adopt(task)
    assert not result.unconfined
    assert (result.data.suffix == ".pt") == (name in SCRIPTED)
    agent, config = function_of_file(tmp_path / "mine.py"), Struct(rows=6, columns=7, inarow=4)
    moves = [own_move(model, names["look"](obs, config), legal) for obs, legal in positions]
    same = [agent(obs, config) == move for (obs, legal), move in zip(positions, moves, strict=True) if move in legal]
    assert all(same) and len(same) >= 5 and len(set(moves)) > 1


@pytest.mark.parametrize("name", REFUSALS)
def test_a_model_that_cannot_be_told_is_refused_with_the_cure(name, tmp_path):
    code, options, words = REFUSALS[name]
    *_, task = made(code, options, tmp_path)
    with pytest.raises((ValueError, OSError), match=words) as refused:
        module.adopt(task)
    print(refused.value)
    assert "\n" not in str(refused.value)
