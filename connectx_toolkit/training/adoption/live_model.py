"""A model that lives in this process, as ``train.py adopt`` takes it: a file, and the code of its classes by FILE:NAME.

The code of what a notebook defines is the text of the cells that were run. It is written to a file, of which only the
definitions that the model needs are taken.
"""

import ast
import inspect
import sys
from os import PathLike, fspath
from pathlib import Path
from typing import Any

CELLS = "cells.py"  # the notebook's, as they were run
LIBRARIES = ("torch", "stable_baselines3", "sb3_contrib")  # whose classes need no code beside the model


def saved(model: Any, module: Any, observation: Any, folder: Path) -> dict[str, Any]:
    """The options ``model``, ``module``, ``observation`` and ``trusted`` of ``adopt`` for a path or a live model.

    Args:
        model: a path, a model of stable-baselines3, or a torch module.
        module: FILE:NAME, or the class of the network or of the features extractor; "": the model's own class.
        observation: a name or FILE:NAME, or a function of (obs, config).
        folder: where files of a live model are written.

    Raises:
        ValueError: the model is none of these, or the code of a class or function cannot be found.
    """
    found = {"observation": observation if isinstance(observation, str) else reference_to(observation, folder)}
    if isinstance(model, str | PathLike):
        given = module if isinstance(module, str) else reference_to(module, folder)
        return found | {"model": Path(fspath(model)), "module": given}
    torch = sys.modules.get("torch")
    if hasattr(model, "policy") and hasattr(model, "save"):
        path, kind = folder / "model.zip", type(getattr(model.policy, "features_extractor", model.policy))
        model.save(path)
    elif torch and isinstance(model, torch.jit.ScriptModule):
        path, kind = folder / "model.pt", torch.nn.Module
        model.save(path)
    elif torch and isinstance(model, torch.nn.Module):
        path, kind = folder / "model.pt", type(model)
        torch.save(model.state_dict(), path)
    else:
        expected = "a path, a model of stable-baselines3 or a torch.nn.Module"
        raise ValueError(f"expected {expected}, not {' '.join(repr(model).split()):.80}")
    kind = kind if module == "" else module
    is_library = isinstance(kind, type) and kind.__module__.split(".")[0] in LIBRARIES
    named = "" if is_library else kind if isinstance(kind, str) else reference_to(kind, folder)
    return found | {"model": path, "module": named, "trusted": True}  # its code runs in this process already


def reference_to(definition: Any, folder: Path) -> str:
    """FILE:NAME of a class or a function. Raises ValueError if its code is in no file and no cell."""
    name = getattr(definition, "__qualname__", "")
    if not name.isidentifier():
        raise ValueError(f"{name or definition!r:.80} is not defined at the top of a file or a cell")
    module = sys.modules.get(definition.__module__)
    if getattr(module, "__file__", None):
        return f"{inspect.getsourcefile(definition)}:{name}"
    cells = [cell for cell in vars(module).get("In", []) if _is_python(cell)]
    if not any(f" {name}" in cell for cell in cells):
        raise ValueError(f"the code of {name} is in no cell and no file: write it to a file, and give FILE:NAME")
    (folder / CELLS).write_text("\n\n".join(cells) + "\n", encoding="utf-8")
    return f"{folder / CELLS}:{name}"


def _is_python(cell: str) -> bool:
    try:
        ast.parse(cell)
    except (SyntaxError, ValueError):
        return False
    return True
