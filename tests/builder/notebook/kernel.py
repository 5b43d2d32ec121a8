"""What the tests' kernels run: the files of a function that lives there, and the moves that it plays itself."""

import json
from pathlib import Path
from typing import Any

from connectx.position import STANDARD
from connectx_toolkit.builder.notebook.live import from_function
from connectx_toolkit.builder.preflight.stage import sample
from connectx_toolkit.builder.source.refusals import Refused
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.system.cores import seed_everything

POSITIONS = 60


def capture(function: Any, folder: str) -> None:
    """Writes the agent's files, and what ``from_function`` says of them, or why it refuses."""
    path = Path(folder)
    path.mkdir()
    try:
        written = from_function(function, path)
        facts = written._asdict() | {"agent": str(written.agent), "root": str(written.root)}
    except (Refused, ValueError) as refusal:
        facts = {"refused": f"{refusal}"}
    (path / "facts.json").write_text(json.dumps(facts))


def ask(function: Any, folder: str, seed: int = 0) -> None:
    """Writes what the function plays, which draws the same as the built file if both draw alike."""
    moves = []
    for question in sample(POSITIONS, geometries=(STANDARD,)):
        number = question.as_json()["seed"] + seed
        seed_everything(number)
        obs, config = Struct(**question.obs), Struct(**question.config)
        moves.append(int(function(obs, config) if _takes_both(function) else function(obs)))
    Path(folder, "moves.json").write_text(json.dumps(moves))


def _takes_both(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is None or code.co_argcount != 1
