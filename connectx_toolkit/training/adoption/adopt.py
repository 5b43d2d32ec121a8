"""A trained model becomes an agent: a Python file and a container of weights beside it, ready for build_submission.py.

    python train.py adopt model.zip -o my_ppo_agent.py --observation course
    python train.py adopt model.zip -o my_cnn_agent.py --module lesson.py:CustomCNN
    python train.py adopt net.pt -o my_net_agent.py --module my_net.py:Net --observation my_net.py:encode

The first is a model of stable-baselines3 (PPO, A2C, DQN, or sb3-contrib's MaskablePPO and QRDQN); a features
extractor of your own is shown by --module, as a file or a notebook. The last is any network of torch, saved by
torch.save(net.state_dict(), "net.pt"), with the function of (obs, config) that makes what it sees; TorchScript needs
no --module. Nothing is trained again. The agent is made of arrays: nothing is unpickled for it, and of the files that
are named only the definitions run, in a process of their own.

Before anything is written, the agent's moves are compared with those of the model itself: load(path).predict(...,
deterministic=True), or your module, with your function as your file defines it. Loading a model runs what it has
pickled, and your file; so a sandbox does that, which sees copies of both and nothing else of yours (Linux only).
--no-proof leaves it out. An agent that plays otherwise is not written.

Where its layers are known, the agent needs numpy alone; other networks become TorchScript. Full columns are never
played.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectx_toolkit.players.process import CREDENTIAL
from connectx_toolkit.system.console import DOOR, as_option, at_python, command
from connectx_toolkit.system.files import ROOT, check_folder, write_whole
from connectx_toolkit.system.table import Part, Shown, print_parts
from connectx_toolkit.training.adoption.agent_text import MARK, RESULT, TASK
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import tell
from connectx_toolkit.training.vector_games import geometry_named

__all__ = ["Adopted"]

WORKER = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches both processes, and this one has nothing to say
from connectx_toolkit.training.adoption.worker import main
main(Path(sys.argv[1]))
"""


@dataclass
class Config(Options):
    """Options of ``train.py adopt``."""

    METHOD = "adopt"

    model: Path = option(
        Path(), "the model: model.zip of stable-baselines3, or a state_dict of torch", comes_first=True
    )
    output: Path = option(Path("adopted.py"), "the agent; its weights are written beside it", short="-o")
    module: str = option("", "FILE:NAME of the network's class, or of the features extractor's")
    observation: str = option(
        "", "course, sides, an encoding, or FILE:NAME of a function of (obs, config) or environment"
    )
    activation: str = option("", "activation function that the model does not tell: nn.LeakyReLU(0.2), or FILE:NAME")
    arguments: str = option("{}", "JSON: arguments of the network's class, or further policy_kwargs")
    board: str = option("6x7k4", "rows x columns k inarow")
    positions: int = option(500, "positions that the agent is compared with the model in", least=1)
    no_proof: bool = option(False, "do not load the model itself: compare with the network built again from its arrays")
    trusted: bool = option(False, "load the model itself even where there is no sandbox: it can do what you can")

    def __post_init__(self) -> None:
        super().__post_init__()
        geometry_named(self.board)
        self.keywords()
        if self.output.suffix != ".py" or not self.output.stem.isidentifier():
            raise ValueError(f"output should be the name of a Python file, such as my_agent.py, not {self.output}")

    def keywords(self) -> dict[str, Any]:
        """The arguments. Raises ValueError if they are no object of JSON."""
        try:
            return dict(json.loads(self.arguments))
        except (ValueError, TypeError):
            example = '{"width": 64}'
            raise ValueError(f"arguments should be JSON such as '{example}', not {self.arguments!r}") from None


def check_paths(config: Config) -> None:
    """Raises OSError or ValueError where there is no model, or the agent would replace what is no agent of ours."""
    if not config.model.is_file():
        near = [config.model.with_name(config.model.name + end) for end in (".zip", ".pt", ".pth")]
        meant = "".join(f": did you mean {name}?" for name in near if name.is_file())
        raise FileNotFoundError(f"no model {config.model}{meant}")
    check_folder(config.output, is_made=True)
    is_ours = config.output.exists() and MARK in config.output.read_text(encoding="utf-8", errors="replace")
    for path in (config.output.with_suffix(end) for end in (".py", ".bin", ".pt")):
        if path.exists() and (not is_ours or path.samefile(config.model)):
            cure = f"choose another name for {as_option('output')}"
            raise FileExistsError(f"{path} is there already, and no part of an adopted agent: {cure}")


def work(config: Config, folder: Path) -> dict[str, Any]:
    """What the worker says of the agent that it left in ``folder``. Raises ValueError if it left none, and why."""
    task: dict[str, Any] = {"model": str(config.model), "output": str(config.output), "module": config.module}
    task |= {name: getattr(config, name) for name in ("observation", "activation", "positions", "no_proof", "trusted")}
    task["arguments"] = config.keywords()
    (folder / TASK).write_text(json.dumps(task | {"board": geometry_named(config.board)[:3]}), encoding="utf-8")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-P", "-c", WORKER, str(folder)]  # -P: a json.py in the current folder is not ours
    environment = {name: value for name, value in os.environ.items() if not CREDENTIAL.search(name)}
    if at_python():  # the process knows no notebook, and its words are for the reader of this one
        environment.pop(DOOR, None)
    process = subprocess.run(command, env=environment | {"PYTHONPATH": paths}, stdout=subprocess.DEVNULL, check=False)
    if not (folder / RESULT).exists():
        raise ValueError(f"the process that reads {config.model} ended with code {process.returncode}")
    result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    if "error" in result:
        if result["readings"]:
            print(result["readings"], file=sys.stderr)
        raise ValueError(result["error"])
    return result


@dataclass(repr=False)
class Adopted(Shown):
    """An agent that was made of a model, and what its moves were compared with.

    Attributes:
        agent: its file, with the file ``data`` beside it.
        title: what it is.
        reference: whose moves it plays, in all of ``positions`` positions.
        unproved: why the reference is not the model itself; "" if it is.
        full: in how many positions more the model chose a full column; there its best legal one is played.
        observation: what the model sees.
        script: why the agent needs torch; "" if numpy will do.
        is_asked: whether the observation was given.
    """

    agent: Path
    data: Path
    title: str
    reference: str
    unproved: str
    positions: int
    full: int
    observation: str
    script: str
    is_asked: bool

    def parts(self) -> list[Part]:
        """The lines that say what was made, what it was compared with, and what to do with it."""
        how = f"TorchScript (not in numpy: {self.script})" if self.script else "numpy"
        hint = "" if self.is_asked else f": {as_option('observation')} if yours is another"
        play, make = f'get_win_percentages("{self.agent}", "random")', f'build("{self.agent}")'
        return [
            f"{self.agent} and {self.data.name}: {self.title}",
            *([f"not proved: {self.unproved}"] if self.unproved else []),
            f"the same moves as {self.reference} in {self.positions} of {self.positions} positions; computed by {how}",
            *([f"in {self.full} more it chose a full column: there its best legal one is played"] if self.full else []),
            f"it sees {self.observation}{hint}",
            f"next: {command(f'evaluate {self.agent} random --rounds 100', play)}",
            f"      {command(f'build {self.agent}', make)}",
        ]


def adopt(config: Config) -> Adopted:
    """Writes the agent and its weights. Raises ValueError or OSError if there is no model or no such agent."""
    check_paths(config)
    with tempfile.TemporaryDirectory() as name:
        result = work(config, Path(name))
        *first, last = [config.output.with_name(file) for file in reversed(result["files"])]
        for path in (*first, last):  # the agent comes last: whoever finds it finds its weights
            write_whole(path, (Path(name) / path.name).read_bytes())
    facts = {name: result[name] for name in ("title", "reference", "unproved", "full", "observation")}
    script = result["script"] if first[0].suffix == ".pt" else ""
    same = config.positions - result["full"]
    return Adopted(last, first[0], **facts, positions=same, script=script, is_asked=bool(config.observation))


def train(config: Config) -> None:
    """Writes the agent and its weights, and says what they are."""
    made = adopt(config)
    print_parts(made.parts())
    tell(f"the moves of {made.reference} in {made.positions} of {made.positions} positions", made.agent)
