"""Where a training run stands, in one file without pickle: network, optimizer, random generator, the run's own facts.

A run that is resumed goes on as if it had never stopped: the same seed gives the same weights either way.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from connectx.weights import pack, unpack
from console.files import write_whole

NETWORK, OPTIMIZER, OTHER = "network:", "optimizer:", "other:"


def settings_of(config: Any, may_change: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options that a resumed run must share with its checkpoint: all but paths and those that may change."""
    fields = {name: value for name, value in asdict(config).items() if name not in may_change}
    return {name: value for name, value in fields.items() if not isinstance(value, Path)}


def save(
    path: Path,
    settings: dict[str, Any],
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
    facts: dict[str, Any],
    other: dict[str, np.ndarray],
) -> None:
    """Writes all of it or nothing.

    Args:
        facts: anything JSON.
        other: arrays that the run has gathered.
    """
    arrays = {NETWORK + name: value.detach().cpu().numpy() for name, value in network.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        arrays |= {f"{OPTIMIZER}{index}:{key}": value.cpu().numpy() for key, value in state.items()}
    arrays |= {OTHER + name: array for name, array in other.items()}
    meta = {"settings": settings, "rng": rng.bit_generator.state, "facts": facts}
    write_whole(path, pack(arrays, meta))


def load(
    path: Path,
    settings: dict[str, Any],
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Brings network, optimizer, generator to where the checkpoint was: its (facts, other); None if there is no file.

    Raises:
        ValueError: the file is damaged, or its run had other settings.
    """
    if not path.exists():
        return None
    arrays, meta = unpack(path.read_bytes())
    _refuse_others(path, settings, meta)
    try:
        _restore(arrays, meta, network, optimizer, rng)
    except (KeyError, TypeError, AttributeError, RuntimeError) as fault:
        raise ValueError(f"{path} is damaged: {fault!r:.200}") from None
    return meta["facts"], {name.removeprefix(OTHER): a for name, a in arrays.items() if name.startswith(OTHER)}


def _restore(
    arrays: dict[str, np.ndarray],
    meta: dict[str, Any],
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
) -> None:
    network.load_state_dict(
        {name.removeprefix(NETWORK): torch.from_numpy(a) for name, a in arrays.items() if name.startswith(NETWORK)}
    )
    states: dict[int, dict[str, torch.Tensor]] = {}
    for name, array in arrays.items():
        if name.startswith(OPTIMIZER):
            index, key = name.removeprefix(OPTIMIZER).split(":")
            states.setdefault(int(index), {})[key] = torch.from_numpy(array)
    optimizer.load_state_dict(optimizer.state_dict() | {"state": states})
    rng.bit_generator.state = meta["rng"]


def _refuse_others(path: Path, settings: dict[str, Any], meta: Any) -> None:
    if not isinstance(meta, dict) or set(meta) != {"settings", "rng", "facts"}:
        raise ValueError(f"{path} is not the checkpoint of a training run")
    before = meta["settings"]
    for name in sorted(settings.keys() | before.keys()):
        if settings.get(name) != before.get(name):
            raise ValueError(
                f"{path} is of a run with {name} {before.get(name)!r}, not {settings.get(name)!r}: "
                "give the same options, another folder, or delete it"
            )
