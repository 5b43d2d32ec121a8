"""Models of users, each adopted, and compared with the model itself here once more.

What is expected here is computed from the user's whole file and the model in memory: nothing of the adoption's.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from connectx_core.position import geometry_of
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.training import adopt
from connectx_toolkit.training.opponents import function_of_file
from connectx_toolkit.training.vector_games import ConnectX
from tests.training.models_of_users import ADOPTED

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked")]
POSITIONS = 60
SCRIPTED = {  # those with a layer that connectx_core.network has not
    "MaskablePPO, residual extractor",
    "torch, attention over cells",
    "small numbers that wrap",
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


def made(code: str, options: dict[str, Any], folder: Path) -> tuple[Any, dict[str, Any], adopt.Config]:
    """The model, the names of the user's file, and what the command is told."""
    file = folder / "lesson.py"
    file.write_text(code)
    torch.manual_seed(5)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, str(file), "exec"), names)
    model = names["make"]()
    shown = {name: value.replace("FILE", str(file)) for name, value in options.items()}
    return model, names, adopt.Config(saved(model, folder), folder / "mine.py", positions=POSITIONS, **shown)


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


@pytest.mark.parametrize("name", ADOPTED)
def test_the_agent_plays_as_the_model_itself(name, positions, tmp_path):
    model, names, config = made(*ADOPTED[name], tmp_path)
    result = adopt.adopt(config)
    assert result.data.suffix == (".pt" if name in SCRIPTED else ".bin")
    agent, board = function_of_file(tmp_path / "mine.py"), Struct(rows=6, columns=7, inarow=4)
    moves = [own_move(model, names["look"](obs, board), legal) for obs, legal in positions]
    same = [agent(obs, board) == move for (obs, legal), move in zip(positions, moves, strict=True) if move in legal]
    assert all(same) and len(same) >= 5 and len(set(moves)) > 1
