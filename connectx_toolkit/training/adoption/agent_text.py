"""The text of an adopted agent's file."""

from typing import NamedTuple

RESULT, TASK = "result.json", "task.json"  # files of the worker
MARK = "Written by `python train.py adopt`"  # in every adopted file, so that it may be written again
HEAD = '''"""{title}

{mark}: {proof}.
"""
'''
AGENT = """
def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry[:3] != {board}:  # rows, columns, inarow: the network knows no other board
        legal = position.legal_columns()
        return legal[len(legal) // 2]
    {scores}
    return masked_argmax(scores, position)
"""
KIT = [  # module and name of what every agent imports
    ("connectx.network", "masked_argmax"),
    ("connectx.position", "Position"),
    ("connectx.weights", "read_data"),
]


class Sees(NamedTuple):
    """What an agent shows its network: an observation of the kit by name, or a function by its source."""

    name: str  # "" for a function of somebody's own
    function: str = ""
    source: str = ""
    arrangement: str = ""  # what brings the array into the model's shape, as ".reshape(42)"

    @property
    def call(self) -> str:
        if self.name:
            return f'seen(obs, config, "{self.name}"){self.arrangement}'
        return f"np.asarray({self.function}(obs, config)){self.arrangement}"


def agent_text(title: str, data: str, sees: Sees, board: tuple[int, int, int], proof: str, dtype: str) -> str:
    """The source of an agent.

    Args:
        title: of its docstring.
        data: the name of the file beside it that holds the network.
        board: rows, columns, inarow.
        proof: what it was compared with.
        dtype: the type that TorchScript takes, "" if the network is computed in numpy.
    """
    is_script = bool(dtype)
    standard = ["import io"] * is_script
    others = ["import numpy as np"] * (is_script or not sees.name) + ["import torch"] * is_script
    kit = KIT + [("connectx.encoding", "seen")] * bool(sees.name)
    kit += [("connectx.network", "Layers")] * (not is_script)
    names = {module: ", ".join(sorted(name for of, name in kit if of == module)) for module, _ in sorted(kit)}
    ours = [f"from {module} import {imported}" for module, imported in names.items()]
    futures, source = _without_futures(sees.source)
    head = HEAD.format(title=title, mark=MARK, proof=proof) + futures
    imports = "\n\n".join("\n".join(lines) for lines in (standard, others, ours) if lines)
    parts = [part for part in source.strip().split("\n\n") if part not in others]
    own = ["\n" + "\n\n".join(parts) + "\n"] if sees.source else []
    agent = AGENT.format(board=board, scores=_scores(sees, dtype))
    return "\n".join([head, imports, "", _network(data, is_script), *own, agent])


def _network(data: str, is_script: bool) -> str:
    if not is_script:
        return f'network = Layers.from_bytes(read_data("{data}"))\n'
    load = f'network = torch.jit.load(io.BytesIO(read_data("{data}")), map_location="cpu")\n'
    return "torch.set_num_threads(1)\n" + load


def _without_futures(source: str) -> tuple[str, str]:
    """The imports of __future__ in a source, which have to come first, and the rest."""
    lines = source.splitlines(keepends=True)
    futures = [line for line in lines if line.startswith("from __future__")]
    return "\n" * bool(futures) + "".join(futures), "".join(line for line in lines if line not in futures)


def _scores(sees: Sees, dtype: str) -> str:
    if not dtype:
        return f"scores = network({sees.call}[None])[0]"
    tensor = f"torch.from_numpy(np.array({sees.call}[None], np.{dtype}))"
    return f"with torch.inference_mode():\n        scores = network({tensor})[0].numpy()"
