"""Makes an agent of a trained model: a Python file, with the network beside it, in numpy where that has all its layers.

    python train.py adopt model.zip -o my_ppo_agent.py --observation course
    python train.py adopt net.pt -o my_net_agent.py --module my_net.py:Net --observation my_net.py:encode

The first is a model of stable-baselines3 (PPO, A2C, DQN, or sb3-contrib's MaskablePPO, QRDQN and TRPO). The second is
any network of torch, saved by torch.save(net.state_dict(), "net.pt"), with a function of (obs, config) that makes its
observation. TorchScript needs no --module. Nothing is trained again.

Loading a model executes code pickled in it: adopt only what you would load yourself. It is loaded in a process of its
own, on Linux in a sandbox. Of the files that you name, only the code that the class or function needs is run. Before
anything is written, the agent's moves are compared with the model's own. Full columns are never played.
"""

import contextlib
import inspect
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from connectx_core.position import STANDARD
from connectx_core.weights import unpack
from connectx_toolkit.builder.notebook.predictors import is_algorithm
from connectx_toolkit.builder.preflight.trial import Question, opening_questions, question_after, random_moves
from connectx_toolkit.players.fork_server import CREDENTIAL
from connectx_toolkit.players.process import AgentProcess
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.console import as_option, command, progress
from connectx_toolkit.system.files import ROOT, check_folder, write_whole
from connectx_toolkit.system.table import Part, Shown, print_parts
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import print_score
from connectx_toolkit.training.user_model import (
    FORMS,
    KNOWN_ALGORITHMS,
    RESULT,
    TASK,
    Answers,
    FilePart,
    ask_model,
    normaliser_of,
    part_of,
)
from connectx_toolkit.training.vector_games import geometry_named

CHILD = """
import sys
from connectx_toolkit.kaggle import sandbox
folders, why = [sandbox.FOLDER, sandbox.HOME], ""
try:
    sandbox.enter_sandbox(*sys.argv[1:])  # before numpy starts threads
except sandbox.NoSandbox as problem:
    folders, why = sys.argv[2:], str(problem)
from connectx_toolkit.training.user_model import main
main(*folders, why)
"""
EXAMPLE = """'{"width": 64}'"""
__all__ = ["Adopted"]

MARK = "Written by `python train.py adopt`"  # in every adopted file, so that it may be written again
ADOPTED_AGENT = '''"""{title}

{mark}: the same moves as {reference} in {same} positions.
"""

{imports}

{source}


def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry[:3] != {board}:  # rows, columns, inarow: the network knows no other board
        legal = position.legal_columns()
        return legal[len(legal) // 2]
    return masked_argmax(network({call}[None])[0], position)
'''
IN_NUMPY = 'network = Layers.from_bytes(read_data("{data}"))'
BY_TORCH = """torch.set_num_threads(1)
script = torch.jit.load(io.BytesIO(read_data("{data}")), map_location="cpu")


def network(observations):
    with torch.inference_mode():
        return script(torch.from_numpy(np.array(observations, np.{dtype}))).numpy()"""


@dataclass
class Config(Options):
    """Options of ``train.py adopt``."""

    METHOD = "adopt"

    model: Path = option(Path(), "model.zip of stable-baselines3, TorchScript, or a state_dict", comes_first=True)
    output: Path = option(Path("adopted.py"), "the agent; its network is written beside it", short="-o")
    module: str = option("", "FILE:NAME of the class, for a state_dict or a missing features extractor")
    observation: str = option("", "course, sides, an encoding, or FILE:NAME of a function of (obs, config)")
    arguments: str = option("{}", "arguments of that class, or policy_kwargs that the model lacks, as a JSON object")
    board: str = option("6x7k4", "rows x columns k inarow")
    positions: int = option(500, "random positions that the agent is compared with the model in", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        geometry_named(self.board)
        self.keywords()
        if self.output.suffix != ".py" or not self.output.stem.isidentifier():
            raise ValueError(f"output should be the name of a Python file, such as my_agent.py, not {self.output}")

    def keywords(self) -> dict[str, Any]:
        """The arguments. Raises ValueError if they are no object of JSON."""
        with contextlib.suppress(ValueError):
            if isinstance(given := json.loads(self.arguments), dict):
                return given
        raise ValueError(f"arguments should be a JSON object, such as {EXAMPLE}, not {self.arguments!r}")


def check_paths(config: Config, is_live: bool = False) -> None:
    """Raises OSError where there is no model, or the agent would replace what is no agent of ours."""
    if not (is_live or config.model.is_file()):
        near = [config.model.with_name(config.model.name + suffix) for suffix in (".zip", ".pt", ".pth")]
        meant = "".join(f": did you mean {name}?" for name in near if name.is_file())
        raise FileNotFoundError(f"no model {config.model}{meant}")
    check_folder(config.output, is_made=True)
    is_ours = config.output.exists() and MARK in config.output.read_text(encoding="utf-8", errors="replace")
    for path in (config.output.with_suffix(suffix) for suffix in (".py", *FORMS)):
        if path.exists() and (not is_ours or (not is_live and path.samefile(config.model))):
            why = f"is there already, and no part of an adopted agent: choose another name for {as_option('output')}"
            raise FileExistsError(f"{path} {why}")


def ask_apart(config: Config, task: dict[str, Any], folder: Path) -> tuple[Answers, dict[str, bytes]]:
    """As ``ask_model``, of a model that is loaded in a process of its own.

    The process sees copies of the model, of the files that are named, and of the Python files beside these; of this
    machine the system's and Python's folders. What it leaves is read as data.
    """
    inside, home = folder / "agent", folder / "home"
    places = [folder / "root", inside, home]
    for place in places:
        place.mkdir()
    task = task | {"model": config.model.name, "module": config.module, "arguments": config.keywords()}
    shutil.copy(config.model, inside)
    for name in ("module", "observation"):
        if ":" in task[name]:
            part = part_of(task[name])
            task[name] = f"{part.path.name}:{part.name}"
            packages = (file for init in part.path.parent.glob("*/__init__.py") for file in init.parent.rglob("*.py"))
            for file in (part.path, *part.path.parent.glob("*.py"), *packages):
                copy = inside / file.relative_to(part.path.parent)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy)
    (inside / TASK).write_text(json.dumps(task), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not CREDENTIAL.search(name)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-P", "-c", CHILD, *map(str, places)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if not (home / RESULT).is_file():
        said = "".join(f": {line:.200}" for line in done.stderr.splitlines()[-1:])
        raise ValueError(f"the process that loads {config.model} ended with code {done.returncode}{said}")
    arrays, result = unpack((home / RESULT).read_bytes())
    if "error" in result:
        raise ValueError(result["error"])
    answers = Answers(**result)
    versions = " ".join(map(str, answers[1:7]))  # all that gets into the agent's text
    if not re.fullmatch(rf'\d+ [^"\n]+ (\.\w+\([\d, ]*\))? \w+ ({"|".join(KNOWN_ALGORITHMS)})? \d+', versions):
        raise ValueError(f"the process that loads {config.model} gives no answers, but {versions:.80}")
    return answers, {suffix: content.tobytes() for suffix, content in arrays.items() if suffix in FORMS}


def agent_text(title: str, reference: str, found: Answers, part: FilePart | None, config: Config, data: str) -> str:
    """The source of an agent.

    Args:
        part: the code of the user's file that makes the observation; None if the toolkit's own observation is used.
        data: the name of the file beside it, with the network.
    """
    is_script = data.endswith(FORMS[1])
    imports = ["import numpy as np"] * (is_script or bool(part)) + ["from connectx_core.encoding import view_of"] * (
        not part
    )
    imports += ["import io", "import torch"] * is_script
    imports += ["from connectx_core.network import masked_argmax", "from connectx_core.position import Position"]
    imports += ["from connectx_core.steps import Layers"] * (not is_script) + [
        "from connectx_core.weights import read_data"
    ]
    lines = list(io.StringIO(part.text)) if part else []
    futures = [line.strip() for line in lines if line.startswith("from __future__")]
    own = "".join(line for line in lines if line.strip() not in futures).strip()
    network = (BY_TORCH if is_script else IN_NUMPY).replace("{data}", data).replace("{dtype}", found.dtype)
    call = f"np.asarray({part.name}(obs, config))" if part else f'view_of(obs, config, "{found.observation}")'
    facts = {"title": title, "mark": MARK, "reference": reference, "same": len(found.chosen) - found.full}
    facts["imports"] = "\n".join([*futures, *sorted(imports, key=lambda line: (line.startswith("from"), line))])
    facts["source"] = "\n\n\n".join(filter(None, [network, own]))
    return ADOPTED_AGENT.format(**facts, board=tuple(geometry_named(config.board)[:3]), call=call + found.arrangement)


def compare_moves(file: Path, questions: list[Question], chosen: list[int]) -> str:
    """How the agent in ``file`` plays otherwise, asked as in a match; "" if it does not."""
    other = 0
    bar = progress(len(chosen), "position", "comparing with the model")
    with contextlib.closing(AgentProcess(resolve(file))) as agent, bar:
        agent.begin(questions[0].config, seed=0)
        for asked, column in zip(questions, chosen, strict=True):
            obs = asked.obs
            reply = agent.ask(obs["step"], obs["mark"], obs["remainingOverageTime"], bytes(obs["board"]), 60.0)
            if reply.fault:
                return f"the agent fails where the model does not: {reply.detail}"
            other += reply.action != column
            bar.update(1)
    return f"the agent plays otherwise in {other} of {len(chosen)} positions" if other else ""


@dataclass(repr=False)
class Adopted(Shown):
    """An agent that was made of a model, and what its moves were compared with.

    Attributes:
        agent: its file, with the file ``data`` beside it.
        title: what it is.
        reference: whose moves it plays, in all of ``positions`` positions.
        full: in how many positions more the model chose a full column; there its best legal one is played.
        observation: what the model sees.
        unconfined: why the model was loaded without a sandbox; "" if it was in one, or lived here already.
        is_untrained: whether the model has taken no steps: its weights came in another way, or it is untrained.
    """

    agent: Path
    data: Path
    title: str
    reference: str
    positions: int
    full: int
    observation: str
    unconfined: str
    is_untrained: bool

    def parts(self) -> list[Part]:
        """The lines that say what was made, what it was compared with, and what to do with it."""
        full = f"in {self.full} more the model chose a full column; the file plays its best legal one"
        how = "numpy" if self.data.suffix == FORMS[0] else "TorchScript"
        return [
            f"{self.agent} and {self.data.name}: {self.title}",
            f"the same moves as {self.reference} in {self.positions} of {self.positions} positions; computed by {how}",
            *([full] if self.full else []),
            *([f"loaded without a sandbox ({self.unconfined}): it could do what you can"] if self.unconfined else []),
            *(["it has taken 0 steps: it plays by weights that were put in, or by none"] if self.is_untrained else []),
            f"observation: {self.observation}",
            "next: " + command(f"evaluate {self.agent} random", f'get_win_percentages("{self.agent}", "random")'),
            "      " + command(f"build {self.agent}", f'build("{self.agent}")'),
        ]


def adopt(config: Config, live: Any = None, look: Any = None) -> Adopted:
    """Writes the agent and its network.

    Args:
        live: the model itself, where it is in this process; the configuration's ``model`` is its name then.
        look: the function that makes what it sees, which the configuration names, where it is in this process.

    Raises:
        ValueError: there is no such model, or the agent would play otherwise.
        OSError: the model cannot be read, or the agent not be written.
    """
    check_paths(config, live is not None)
    geometry, randomness, name = geometry_named(config.board), random.Random(0), config.model.name
    plies = [randomness.randrange(geometry.cells) for _ in range(config.positions)]
    questions = [question_after("", random_moves(randomness, geometry, count), geometry) for count in plies]
    questions += opening_questions(range(4)) if geometry == STANDARD else [question_after("", [], geometry)]
    task = {"observation": config.observation, "board": geometry[:3], "questions": [each[1:3] for each in questions]}
    part = part_of(config.observation) if ":" in config.observation else None
    with tempfile.TemporaryDirectory() as temporary:
        folder, why = Path(temporary), ""
        if live is None:
            answers, forms = ask_apart(config, task, folder)
        else:
            answers, forms = ask_model(live, name, look or (part and part.load()), task)
        title, kind = f"The network of {name}: its best legal column.", Path(config.module).name
        own = f"{kind} with {name}" if kind else f'torch.jit.load("{name}")'
        if answers.algorithm:
            title = f"The policy of {name} ({answers.algorithm}, {answers.steps:,} steps): its likeliest legal column."
            own = f'{answers.algorithm}.load("{name}")'
        reference = own if live is None else f"the live {name}"
        reference += ".predict(..., deterministic=True)" * bool(answers.algorithm)
        reference += f" with {kind} {config.arguments}" * answers.is_anew
        reference += " behind its VecNormalize" * (normaliser_of(live) is not None)
        sys.path.append(str(config.output.parent.resolve()))  # what lies beside the agent, it may import
        try:
            for suffix, content in forms.items():
                data = config.output.with_suffix(suffix)
                text = agent_text(title, reference, answers, part, config, data.name)
                (folder / data.name).write_bytes(content)
                (folder / config.output.name).write_text(text, encoding="utf-8")
                why = compare_moves(folder / config.output.name, questions, answers.chosen)
                if not why:
                    write_whole(data, content)
                    write_whole(config.output, text.encode())  # comes last: whoever finds it finds its network
                    sees = f"what {part.name} of {part.path.name} gives" if part else answers.observation
                    same = len(questions) - answers.full
                    told = reference, same, answers.full, sees, answers.unconfined
                    return Adopted(config.output, data, title, *told, bool(answers.algorithm) and not answers.steps)
        finally:
            sys.path.pop()
    raise ValueError(f"{why}, compared with {reference}")


def adopt_any(model: Any, output: Path, module: Any, observation: Any, **options: Any) -> Adopted:
    """``adopt`` for notebooks: a path, or a model that lives there; classes and functions themselves."""
    with tempfile.TemporaryDirectory() as name:
        look = None if isinstance(observation, str) else observation
        seen = observation if look is None else reference_to(look, Path(name))
        if isinstance(model, str | PathLike):
            kind = module if isinstance(module, str) else reference_to(module, Path(name))
            return adopt(Config(Path(model), output, kind, seen, **options))
        if not is_algorithm(model) and not hasattr(model, "state_dict"):
            expected = "a path, a model of stable-baselines3 or a torch.nn.Module"
            raise ValueError(f"expected {expected}, not {' '.join(repr(model).split()):.80}")
        return adopt(Config(Path(type(model).__name__), output, "", seen, **options), model, look)


def reference_to(definition: Any, folder: Path) -> str:
    """FILE:NAME of a class or a function of a file or of a notebook's cells. Raises ValueError if it is in neither."""
    name = getattr(definition, "__qualname__", "")
    if not name.isidentifier():
        raise ValueError(f"{name or repr(definition):.80} is not defined at the top of a file or a cell")
    module = sys.modules.get(definition.__module__)
    if getattr(module, "__file__", None):
        return f"{inspect.getsourcefile(definition)}:{name}"
    cells = [{"cell_type": "code", "source": cell} for cell in vars(module).get("In", [])]
    if not cells:
        raise ValueError(f"the code of {name} is in no cell and no file: write it to a file, and give FILE:NAME")
    (folder / "cells.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return f"{folder / 'cells.ipynb'}:{name}"


def train(config: Config) -> None:
    """Writes the agent and its network, and says what they are."""
    made = adopt(config)
    print_parts(made.parts())
    print_score(f"the moves of {made.reference} in {made.positions} of {made.positions} positions", made.agent)
