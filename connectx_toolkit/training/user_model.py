"""A user's trained model: loaded, asked for its moves, and given in the forms that an agent can compute.

Loading a model runs code: what cloudpickle has kept in it, and the user's file. So ``main`` is called in a process of
its own, by ``connectx_toolkit.training.adopt``. A model that lives in a notebook is asked there, by ``answers_of``.
"""

import base64
import contextlib
import copy
import io
import json
import os
import re
import sys
import types
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.encoding import seen
from connectx.position import geometry_of
from connectx.weights import pack
from connectx_toolkit.builder.notebook.cells import cells_of
from connectx_toolkit.builder.notebook.page import Page
from connectx_toolkit.builder.notebook.predictors import network_of
from connectx_toolkit.builder.notebook.statements import statements_of
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.system.console import missing_package

TASK, RESULT, DATA = "task.json", "result.json", "network"  # files of the process
FORMS = (".bin", ".pt")  # endings of an agent's data: for numpy, and TorchScript
ALGORITHMS = {  # whose load reads a policy of this module, by a field that tells them apart
    "stable_baselines3.common.policies": {"cg_max_steps": "TRPO", "clip_range": "PPO", "gae_lambda": "A2C"},
    "sb3_contrib.common.maskable.policies": {"clip_range": "MaskablePPO"},
    "stable_baselines3.dqn.policies": {"exploration_rate": "DQN"},
    "sb3_contrib.qrdqn.policies": {"exploration_rate": "QRDQN"},
}
KNOWN = [name for names in ALGORITHMS.values() for name in names.values()]
FOR_TRAINING = {  # what predict does not need, and another Python cannot read
    **dict.fromkeys(("lr_schedule", "learning_rate", "clip_range", "exploration_schedule"), 0.0),
    **dict.fromkeys(("clip_range_vf", "_last_obs", "_last_original_obs", "_last_episode_starts", "action_noise")),
    **dict.fromkeys(("ep_info_buffer", "ep_success_buffer", "rollout_buffer_class", "replay_buffer_class")),
    "buffer_size": 1,
}
TORCH_CLASS = re.compile(r"<class 'torch\.nn\.modules\.\w+\.(\w+)'>")
MEANINGS = {"course": "1 the first player's stones, 2 the second's", "sides": "1 the mover's stones, 2 the other's"}
CHECKPOINT = ("state_dict", "model_state_dict", "model")  # where checkpoints keep the parameters


def one_line(fault: object) -> str:
    return f"{' '.join(str(fault).split()):.250}"


class FilePart(NamedTuple):
    """The statements of a user's file that a name needs, and nothing else of it: a lesson's file trains its model."""

    path: Path
    name: str
    text: str

    def load(self) -> Any:
        """What the statements bind to the name. Raises ValueError if they do not run."""
        shown, module = f"<part of {self.path.name}>", types.ModuleType(f"part_of_{self.path.stem}")
        module.__file__ = str(self.path)
        if str(self.path.parent) not in sys.path:
            sys.path.append(str(self.path.parent))
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # gym says there that it is unmaintained
                exec(compile(self.text, shown, "exec"), vars(module))
        except Exception as fault:  # their code may raise anything
            raise ValueError(f"{self.path.name}:{self.name} cannot be loaded: {fault!r:.200}") from None
        return vars(module)[self.name]


def part_of(reference: str) -> FilePart:
    """For FILE:NAME, such as my_net.py:Net, my_net:Net or lesson.ipynb:CustomCNN.

    Raises:
        ValueError: it does not read so, the file is no Python, or does not define the name at its top level.
        OSError: the file cannot be read.
    """
    file, _, name = reference.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"expected FILE:NAME, such as my_net.py:Net, not {reference!r}")
    path = Path(file if Path(file).suffix in (".py", ".ipynb") else file.replace(".", "/") + ".py")
    if not path.is_file():
        raise FileNotFoundError(f"{reference}: there is no file {path}")
    try:
        cells = [cell for cell in cells_of(path) if not cell.file] if path.suffix == ".ipynb" else None
        code = path.read_text("utf-8") if cells is None else "".join(cell.code for cell in cells if not cell.fault)
        page = Page(statements_of(code), name, lambda module: False)
    except (UnicodeDecodeError, SyntaxError) as fault:
        raise ValueError(f"{path} is no Python source: {fault}") from None
    kept = page.run()
    if not any(name in each.reads.binds for each in kept):
        raise ValueError(f"{path} defines no {name} at its top level")
    return FilePart(path.resolve(), name, "\n\n".join(map(page.text_of, kept)) + "\n")


class PartOfModule(types.ModuleType):
    """A user's file as a module, of which nothing is run but what a pickle asks for by its name."""

    def __getattr__(self, name: str) -> Any:
        try:
            return part_of(f"{self.__file__}:{name}").load()
        except ValueError as fault:
            raise AttributeError(str(fault)) from None


class Model(NamedTuple):
    """A model that is loaded.

    ``predict(observation, legal)`` is its own choice, a column; ``legal``: (columns,) bool, for those that take masks.
    ``network`` gives a number for each column, of observations (n, *shape) times ``scale``. ``space`` is None where the
    model does not say what it sees. ``algorithm`` and ``steps`` of training are those of stable-baselines3.
    """

    network: Any
    scale: float
    space: Any
    predict: Callable[[np.ndarray, np.ndarray], int]
    algorithm: str = ""
    steps: int = 0

    def scores(self, observation: np.ndarray) -> np.ndarray:
        """(columns,) numbers, of one observation."""
        import torch

        from connectx_toolkit.builder.notebook.torch_model import first_output

        given = torch.from_numpy(np.ascontiguousarray(observation)[None])
        given = given.float() * self.scale if self.algorithm else given
        with torch.no_grad():
            return np.asarray(first_output(self.network(given))[0])


def model_of(live: Any, name: str) -> Model:
    """A model of stable-baselines3, or a torch module in evaluation mode, as it is now.

    Raises:
        ValueError: it sees or does what no agent does here, or it is untrained.
    """
    if not hasattr(live, "observation_space"):
        with warnings.catch_warnings(action="ignore"):  # of gradients, which a copy of TorchScript has not
            network = copy.deepcopy(live).cpu().eval()
        own = Model(network, 1.0, None, lambda observation, legal: int(own.scores(observation).argmax()))
        return own
    kinds = type(live.observation_space).__name__, type(live.action_space).__name__
    if kinds != ("Box", "Discrete"):
        raise ValueError(f"{name} sees {kinds[0]} and acts in {kinds[1]}, where Box and Discrete were expected")
    if not live.num_timesteps:
        raise ValueError(f"{name} is untrained: it has taken 0 steps; save the model after model.learn(...)")
    algorithm = type(live).__name__

    def predict(observation: np.ndarray, legal: np.ndarray) -> int:
        masks = {"action_masks": legal} if algorithm == "MaskablePPO" else {}
        return int(live.predict(observation, deterministic=True, **masks)[0])

    network, scale = network_of(live.policy)
    network = copy.deepcopy(network).cpu().eval()
    return Model(network, scale, live.observation_space, predict, algorithm, live.num_timesteps)


def loaded(path: Path, module: str, arguments: dict[str, Any]) -> tuple[Any, bool]:
    """The model of a file, by what the file holds; and whether its policy was made anew, as ``loaded_archive`` says.

    Raises:
        ValueError: it is none of stable-baselines3 or torch, or cannot be loaded, and why.
    """
    start, names = path.read_bytes()[:8], list[str]()
    with contextlib.suppress(zipfile.BadZipFile, EOFError, ValueError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    is_keras = start == b"\x89HDF\r\n\x1a\n" or "model.weights.h5" in names
    if is_keras or "parameter_list" in names:
        kind = "a model of Keras" if is_keras else "a model of stable-baselines 2, which ran on TensorFlow"
        raise ValueError(f"{path} is {kind}: train it again with stable-baselines3 or torch, whose models adopt takes")
    if "policy.pth" in names:
        return loaded_archive(path, module, arguments)
    if any("/code/" in name for name in names):
        import torch

        if module:
            raise ValueError(f"{path} is TorchScript, which holds its own code: leave out --module")
        return torch.jit.load(path, map_location="cpu"), False
    if start.startswith(b"\x80") or any(name.endswith("/data.pkl") for name in names):
        return loaded_state(path, module, arguments), False
    raise ValueError(f"{path} is no model that stable-baselines3 or torch has saved, or is damaged")


def loaded_state(path: Path, module: str, arguments: dict[str, Any]) -> Any:
    """The class with the parameters in the file. Raises ValueError if they do not fit."""
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as fault:  # an error of pickle's, or whatever a damaged file leads to
        whole = f'holds a module saved whole: save its numbers alone, torch.save(net.state_dict(), "{path.name}")'
        why = whole if "GLOBAL" in str(fault) else f"is no file of torch.save, or is damaged: {one_line(fault):.120}"
        raise ValueError(f"{path} {why}") from None
    state = next((found[key] for key in CHECKPOINT if isinstance(found, dict) and key in found), found)
    if not isinstance(state, dict) or not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path} holds {type(state).__name__}, where a state_dict was expected")
    if not module:
        raise ValueError(f"{path}: a network of torch needs its class, --module FILE.py:CLASS, and --observation")
    kind = part_of(module).load()
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        raise ValueError(f"{module} is no class of torch.nn.Module, as --module should be")
    try:
        network = kind(**arguments)
        network.load_state_dict(state)
    except Exception as fault:  # their code may raise anything
        why = f"{type(fault).__name__}: {one_line(fault)} (its arguments are given by --arguments JSON)"
        raise ValueError(f"{path} does not fit {module}: {why}") from None
    return network


def loaded_archive(path: Path, module: str, arguments: dict[str, Any]) -> tuple[Any, bool]:
    """What the algorithm's own ``load`` gives; and whether the options of its policy come from here.

    Raises:
        ValueError: with the reason of ``load``.

    Args:
        module: the class of the features extractor, where the archive has it by its name only, or for another Python.
        arguments: what else the policy was made with, if that cannot be read here.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            fields = json.loads(archive.read("data"))
            info = archive.read("system_info.txt").decode() if "system_info.txt" in archive.namelist() else ""
        policy, told = fields["policy_class"]["__module__"], fields["policy_kwargs"]
    except Exception as fault:  # whatever a damaged file leads to
        raise ValueError(f"{path} is no whole model of stable-baselines3: {fault!r:.120}") from None
    algorithm = next((name for field, name in ALGORITHMS.get(policy, {}).items() if field in fields), "")
    if not algorithm:
        raise ValueError(f"{path} holds a policy of {policy}, where that of {', '.join(KNOWN)} was expected")
    with contextlib.redirect_stderr(io.StringIO()):  # gym says there that it is unmaintained
        import sb3_contrib
        import stable_baselines3
    load = (getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)).load
    file, stem = module.rpartition(":")[0], Path(module.rpartition(":")[0]).stem
    if stem and stem not in sys.modules:  # an import of the file itself would train the model again
        sys.modules[stem] = PartOfModule(stem)
        sys.modules[stem].__file__ = file
    has_code = b"cloudpickle" in base64.b64decode(told.get(":serialized:", ""))  # which only its own Python can run
    made_by = dict(re.findall(r"(Python|Stable-\S+|PyTorch): (\S+)", info))
    is_foreign = has_code and made_by.get("Python", "").split(".")[:2] != [str(part) for part in sys.version_info[:2]]
    why = "it holds code for another Python"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Could not deserialize")
        for is_anew in [False] * (not is_foreign) + [True] * bool(module or arguments):
            try:
                own = {"policy_kwargs": options_of_policy(told, module) | arguments} if is_anew else {}
                return load(path, device="cpu", custom_objects=FOR_TRAINING | own), is_anew
            except Exception as fault:  # whatever unpickling leads to
                why = one_line(re.sub(r"Consider using `custom_objects` .*\n", "", str(fault)))
    versions = ", ".join(f"{name} {version}" for name, version in made_by.items()) or "old versions"
    raise ValueError(
        f"{path} cannot be loaded: {why}. It was saved by {versions}. Save it again with versions as here, or name the "
        "class of its features extractor by --module FILE.py:CLASS, and its plain policy_kwargs by --arguments"
    )


def options_of_policy(told: dict[str, Any], module: str) -> dict[str, Any]:
    """The keywords of a policy by what the archive tells of them in plain text; classes of torch by their names.

    Raises:
        ValueError: one is told by nothing but a name of somebody's own.
    """
    from torch import nn

    options: dict[str, Any] = {}
    for name, value in told.items():
        if name.startswith(":"):
            continue  # of the pickle
        if found := TORCH_CLASS.fullmatch(str(value)):
            options[name] = getattr(nn, found[1])
        elif name == "features_extractor_class" and module:
            options[name] = part_of(module).load()
        elif "<" in str(value):
            raise ValueError(f"{name}, {one_line(value):.100}, cannot be read here")
        else:
            options[name] = value
    return options


def named(observation: str, space: Any, model: str, board: tuple[int, int, int]) -> str:
    """The name of the observation of the kit that the model sees. Raises ValueError if it is not known."""
    from connectx_toolkit.training.environments.vector_env import NAMES, observation_named

    name = observation or getattr(space, "shows", "")
    if name in NAMES:
        return name
    readings, sees = list(NAMES), ""
    if name:
        raise ValueError(f"observation should be one of {', '.join(NAMES)}, or FILE.py:FUNCTION, not {name!r}")
    if space is not None:
        least, most = space.low.min(), space.high.max()
        sees = f" sees arrays of shape {space.shape}, {space.dtype}, {least:g} to {most:g}"
        readings = []
        for name in NAMES if geometry_of(*board).fits_word else MEANINGS:
            own = observation_named(name, geometry_of(*board)).space
            fits = np.prod(own.shape) == np.prod(space.shape) if name in MEANINGS else own.shape == space.shape
            if fits and least <= own.low.min() and most >= own.high.max():
                readings.append(f"{name} ({MEANINGS[name]})" if name in MEANINGS else name)
        sees += "" if readings else f", as no observation of the kit is on the --board {'x'.join(map(str, board[:2]))}"
    readings.append("FILE.py:NAME of a function of (obs, config) that makes it")
    raise ValueError(f"{model}{sees}: --observation has to say what it sees: {' or '.join(readings)}")


def arrangement_of(observations: np.ndarray, space: Any, observation: str) -> str:
    """What brings an observation into the model's shape: ".reshape(42)" of a board of the kit, ".transpose(2, 0, 1)".

    Raises:
        ValueError: it is of another shape, or the kit's and has other numbers than the model was trained on.
    """
    shape, least, most = observations.shape[1:], observations.min(), observations.max()
    if ":" not in observation and not (space.low.min() <= least and most <= space.high.max()):
        trained = f"{space.low.min():g} to {space.high.max():g}: it was trained on another --observation"
        raise ValueError(f"{observation} gives numbers from {least} to {most}, the model sees {trained}")
    if shape == space.shape:
        return ""
    if observation in MEANINGS and np.prod(shape) == np.prod(space.shape):
        return f".reshape({', '.join(map(str, space.shape))})"
    from stable_baselines3.common.preprocessing import is_image_space

    if len(shape) == 3 and is_image_space(space) and (shape[2], *shape[:2]) == space.shape:
        return ".transpose(2, 0, 1)"
    raise ValueError(f"the model sees arrays of shape {space.shape}, {observation} gives {shape}{batch_of_one(shape)}")


def batch_of_one(shape: tuple[int, ...]) -> str:
    hint = f". If its first dimension is a batch of one: return one observation, of shape {shape[1:]}, by [0]"
    return hint if len(shape) > 1 and shape[0] == 1 else ""


class Answers(NamedTuple):
    """What a model plays, and how an agent computes it."""

    chosen: list[int]  # (n,) columns; where the model chooses a full one, its best legal one
    full: int  # in how many positions it does
    observation: str  # what it sees, by name or as FILE:NAME
    arrangement: str  # what brings that into the model's shape, as code
    dtype: str  # the type that TorchScript takes
    algorithm: str  # as in Model
    steps: int
    is_anew: bool = False  # whether its policy was made with options that the user has named


def answers_of(live: Any, name: str, look: Any, task: dict[str, Any]) -> tuple[Answers, dict[str, bytes]]:
    """What a model plays in the positions of a task, and its network in those of the ``FORMS`` that it can have.

    Args:
        live: the model, as it lives in this process.
        name: of the model, for people.
        look: the user's function of (obs, config) that makes what it sees; None if that is one of the kit.
        task: "observation", "board", and "questions": pairs of obs and config, as Kaggle gives them.

    Raises:
        ValueError: it does not take these observations, gives no number for each column, or has learnt nothing.
    """
    from connectx_toolkit.builder.notebook.torch_model import Unknown, script_of, steps_of

    model, board = model_of(live, name), task["board"]
    observation = task["observation"] if look else named(task["observation"], model.space, name, board)
    look = look or (lambda obs, config: seen(obs, config, observation))
    legal = np.array([obs["board"][: board[1]] for obs, _ in task["questions"]]) == 0
    try:
        given = np.stack([look(Struct(**obs), Struct(**config)) for obs, config in task["questions"]])
    except Exception as fault:  # their code may raise anything
        raise ValueError(f"{observation} fails on a position, as a function of (obs, config): {fault!r:.200}") from None
    arrangement, dtype = "", "float32"
    if model.space is None:
        given = as_input(model, given)
        dtype = str(given.dtype)
    else:
        arrangement = arrangement_of(given, model.space, observation)
        given = given.transpose(0, 3, 1, 2) if "transpose" in arrangement else given.reshape(-1, *model.space.shape)
    try:
        chosen = np.array([model.predict(each, mask) for each, mask in zip(given, legal, strict=True)])
        scores = np.stack([model.scores(each) for each in given])
    except Exception as fault:  # their code may raise anything
        why = f"{given.shape[1:]}: {one_line(fault)}{batch_of_one(given.shape[1:])}"
        raise ValueError(f"the model takes no observations of shape {why}") from None
    if scores.shape != legal.shape:
        raise ValueError(f"the model gives {scores.shape[1:]} for a position, where {board[1]} scores were expected")
    if not np.isfinite(scores).all():
        raise ValueError("the model's scores are not finite: it holds NaN or infinities")
    if np.ptp(scores, axis=0).max() == 0:
        raise ValueError(f"{name} has learnt nothing: its scores are the same in all positions")
    full = ~legal[np.arange(len(chosen)), chosen]
    chosen = np.where(full, np.where(legal, scores, -np.inf).argmax(axis=1), chosen)
    forms, why = dict[str, bytes](), ""
    with contextlib.suppress(Unknown):
        steps, arrays = steps_of(model.network, model.scale)
        forms[FORMS[0]] = pack(arrays, {"steps": steps})
    try:
        forms[FORMS[1]] = script_of(model.network, given[:1].astype(dtype), model.scale)
    except Exception as fault:  # their code may raise anything
        why = one_line(fault)
    if not forms:
        raise ValueError(f"the network has no form in numpy, and none as TorchScript: {why}")
    facts = (int(full.sum()), observation, arrangement, dtype, model.algorithm, model.steps)
    return Answers(chosen.tolist(), *facts), forms


def as_input(model: Model, observations: np.ndarray) -> np.ndarray:
    """Observations in the type that a torch module takes: their own, else that of its parameters."""
    try:
        model.scores(observations[0])
    except Exception:  # their code may raise anything; what it then raises of the other type is told
        types = [p.dtype for p in model.network.parameters() if p.is_floating_point()]
        return observations.astype(str(types[0]).removeprefix("torch.") if types else np.float32)
    return observations


def main(folder: str, home: str) -> None:
    """Leaves in ``home`` what the model of ``folder`` answers to the task there, or why it does not."""
    os.environ["HOME"] = home
    os.chdir(folder)
    task = json.loads(Path(TASK).read_text(encoding="utf-8"))
    result: dict[str, Any]
    try:
        look = part_of(task["observation"]).load() if ":" in task["observation"] else None
        live, is_anew = loaded(Path(task["model"]), task["module"], task["arguments"])
        answers, forms = answers_of(live, task["model"], look, task)
        result = answers._asdict() | {"is_anew": is_anew}
        for suffix, content in forms.items():
            Path(home, DATA).with_suffix(suffix).write_bytes(content)
    except ModuleNotFoundError as fault:
        result = {"error": missing_package(fault)}
    except (ValueError, OSError) as fault:
        result = {"error": str(fault)}
    Path(home, RESULT).write_text(json.dumps(result), encoding="utf-8")
