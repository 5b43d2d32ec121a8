"""The text of an adopted agent's file."""

from typing import NamedTuple

RESULT, TASK = "result.json", "task.json"  # files of the worker
MARK = "Written by `python train.py adopt`"  # in every adopted file, so that it may be written again
HEAD = '''"""{title}

{mark}: the same moves as the model in {count} positions.
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
KIT = {
    "connectx.nets.network": "masked_argmax",
    "connectx.position": "Position",
    "connectx.weights": "read_data",
}


class Sees(NamedTuple):
    """What an agent shows its network: an observation of the kit by name, or a function by its source."""

    name: str  # "" for a function of somebody's own
    function: str = ""
    source: str = ""

    @property
    def call(self) -> str:
        return f'seen(obs, config, "{self.name}")' if self.name else f"{self.function}(obs, config)"


def agent_text(title: str, data: str, sees: Sees, board: tuple[int, int, int], count: int, is_script: bool) -> str:
    """The source of an agent.

    Args:
        title: of its docstring.
        data: the name of the file beside it that holds the network.
        board: rows, columns, inarow.
        count: positions that it is compared in.
        is_script: whether the network is TorchScript.
    """
    standard = ["import io"] * is_script
    others = ["import numpy as np"] * (is_script or not sees.name) + ["import torch"] * is_script
    kit = (
        KIT
        | ({"connectx.nets.encoding": "seen"} if sees.name else {})
        | ({} if is_script else {"connectx.nets.layers": "Layers"})
    )
    ours = [f"from {module} import {name}" for module, name in sorted(kit.items())]
    head = HEAD.format(title=title, mark=MARK, count=count)
    imports = "\n\n".join("\n".join(lines) for lines in (standard, others, ours) if lines)
    parts = [part for part in sees.source.strip().split("\n\n") if part not in others]
    own = ["\n" + "\n\n".join(parts) + "\n"] if sees.source else []
    agent = AGENT.format(board=board, scores=_scores(sees, is_script))
    return "\n".join([head, imports, "", _network(data, is_script), *own, agent])


def _network(data: str, is_script: bool) -> str:
    if not is_script:
        return f'network = Layers.from_bytes(read_data("{data}"))\n'
    load = f'network = torch.jit.load(io.BytesIO(read_data("{data}")), map_location="cpu")\n'
    return "torch.set_num_threads(1)\n" + load


def _scores(sees: Sees, is_script: bool) -> str:
    if not is_script:
        seen = sees.call if sees.name else f"np.asarray({sees.call})"
        return f"scores = network({seen}[None])[0]"
    tensor = f"torch.from_numpy(np.asarray({sees.call}, np.float32))[None]"
    return f"with torch.inference_mode():\n        scores = network({tensor})[0].numpy()"
