"""A user's trained model: loaded, asked for its moves, and given in the forms that an agent can compute.

Loading a model runs code: what cloudpickle has kept in it, and the user's file. So ``main`` is called in a process of
its own, by ``connectx_toolkit.training.adopt``. A model that lives in a notebook is asked there, by ``answers_of``.
"""

import contextlib
import copy
import json
import linecache
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
ALGORITHMS = {  # what load reads a policy of this module; the fields that tell two apart
    "stable_baselines3.common.policies": {"cg_max_steps": "TRPO", "clip_range": "PPO", "gae_lambda": "A2C"},
    "sb3_contrib.common.maskable.policies": {"clip_range": "MaskablePPO"},
    "stable_baselines3.dqn.policies": {"exploration_rate": "DQN"},
    "sb3_contrib.qrdqn.policies": {"exploration_rate": "QRDQN"},
}
NAMES = [name for names in ALGORITHMS.values() for name in names.values()]
FOR_TRAINING = {  # what predict does not need, and another Python cannot read
    **dict.fromkeys(("lr_schedule", "learning_rate", "clip_range", "exploration_schedule"), 0.0),
    **dict.fromkeys(("clip_range_vf", "_last_obs", "_last_original_obs", "_last_episode_starts", "action_noise")),
    **dict.fromkeys(("ep_info_buffer", "ep_success_buffer", "rollout_buffer_class", "replay_buffer_class")),
    "buffer_size": 1,
}
MEANINGS = {"course": "1 the first player's stones, 2 the second's", "sides": "1 the mover's stones, 2 the other's"}
A_FUNCTION = "FILE.py:NAME of a function of (obs, config) that makes what it sees"
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
        linecache.cache[shown] = (len(self.text), None, self.text.splitlines(keepends=True), shown)
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        if str(self.path.parent) not in sys.path:
            sys.path.append(str(self.path.parent))
        try:
            exec(compile(self.text, shown, "exec"), vars(module))
        except Exception as fault:  # their code may raise anything
            raise ValueError(f"{self.path.name}:{self.name} cannot be loaded: {fault!r:.200}") from None
        return vars(module)[self.name]


def file_and_name(reference: str) -> tuple[Path, str]:
    """Of FILE:NAME. Raises ValueError if it does not read so, OSError if there is no file."""
    file, _, name = reference.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"expected FILE:NAME, such as my_net.py:Net, not {reference!r}")
    path = Path(file if Path(file).suffix in (".py", ".ipynb") else file.replace(".", "/") + ".py")
    if not path.is_file():
        raise FileNotFoundError(f"{reference}: there is no file {path}")
    return path, name


def part_of(reference: str) -> FilePart:
    """For FILE:NAME, such as my_net.py:Net or lesson.ipynb:CustomCNN.

    Raises:
        ValueError: it does not read so, the file is no Python, or does not define the name at its top level.
        OSError: the file cannot be read.
    """
    path, name = file_and_name(reference)
    try:
        is_page = path.suffix == ".ipynb"
        cells = [cell.code for cell in cells_of(path) if not cell.file and not cell.fault] if is_page else []
        page = Page(statements_of("".join(cells) if is_page else path.read_text("utf-8")), name, lambda module: False)
    except (UnicodeDecodeError, SyntaxError) as fault:
        raise ValueError(f"{path} is no Python source: {fault}") from None
    kept = page.run()
    if not any(name in each.reads.binds for each in kept):
        raise ValueError(f"{path} defines no {name} at its top level")
    return FilePart(path.resolve(), name, "\n\n".join(map(page.text_of, kept)) + "\n")


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
            return np.asarray(first_output(self.network(given))[0].cpu())


def model_of(live: Any, name: str) -> Model:
    """A model of stable-baselines3, or a torch module in evaluation mode, on the CPU, as it is now.

    Raises:
        ValueError: it sees or does what no agent does here, or it is untrained.
    """
    if not hasattr(live, "observation_space"):
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


def names_in(path: Path) -> list[str]:
    """The names in a zip; none of what is no whole zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, EOFError, ValueError):
        return []


def loaded(path: Path, module: str, arguments: dict[str, Any]) -> Any:
    """The model of a file, by what the file holds. Raises ValueError or OSError if it cannot be loaded, and why."""
    names, start = names_in(path), path.read_bytes()[:8]
    is_keras = start == b"\x89HDF\r\n\x1a\n" or "model.weights.h5" in names
    if is_keras or "parameter_list" in names:
        kind = "a model of Keras" if is_keras else "a model of stable-baselines 2, which ran on TensorFlow"
        raise ValueError(
            f"{path} is {kind}; adopt takes models of stable-baselines3 and of torch: train it again there"
        )
    if "policy.pth" in names:
        return loaded_archive(path, module, arguments)
    if any("/code/" in name for name in names):
        import torch

        if module:
            raise ValueError(f"{path} is TorchScript, which holds its own code: leave out --module")
        return torch.jit.load(path, map_location="cpu")
    if not start.startswith(b"\x80") and not any(name.endswith("/data.pkl") for name in names):
        raise ValueError(f"{path} is no model that stable-baselines3 or torch has saved, or is damaged")
    return loaded_state(path, module, arguments)


def loaded_state(path: Path, module: str, arguments: dict[str, Any]) -> Any:
    """The class with the parameters in the file. Raises ValueError if they do not fit."""
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as fault:  # an error of pickle's, or whatever a damaged file leads to
        if "GLOBAL" not in str(fault):
            raise ValueError(f"{path} is no file of torch.save, or is damaged: {one_line(fault):.120}") from None
        raise ValueError(
            f"{path} holds a module saved whole, which is code as well as numbers: save those alone where you trained "
            f'it, by torch.save(net.state_dict(), "{path.name}")'
        ) from None
    state = next((found[key] for key in CHECKPOINT if isinstance(found, dict) and key in found), found)
    if not isinstance(state, dict) or not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path} holds {type(state).__name__}, where a state_dict was expected")
    if not module:
        raise ValueError(f"{path}: a network of torch needs its class, --module FILE.py:CLASS, and --observation")
    part = part_of(module)
    kind = part.load()
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        raise ValueError(f"{part.path.name}:{part.name} is no class of torch.nn.Module, as --module should be")
    try:
        network = kind(**arguments)
        network.load_state_dict(state)
    except Exception as fault:  # their code may raise anything
        why = f"{type(fault).__name__}: {one_line(fault)}"
        raise ValueError(
            f"{path} does not fit {part.name}: {why} (its arguments are given by --arguments JSON)"
        ) from None
    return network


def loaded_archive(path: Path, module: str, arguments: dict[str, Any]) -> Any:
    """What the algorithm's own ``load`` gives. Raises ValueError with its reason.

    Args:
        module: the class of the features extractor, where the archive has it by its name only, or of another Python.
        arguments: what else the policy was made with, if that cannot be read here.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            fields = json.loads(archive.read("data"))
            made_by = re.findall(r"(?:Python|Stable-Baselines3|PyTorch): \S+", archive.read("system_info.txt").decode())
            policy = fields["policy_class"]["__module__"]
    except Exception as fault:  # whatever a damaged file leads to
        raise ValueError(
            f"{path} is no model that stable-baselines3 has saved, or is damaged: {fault!r:.120}"
        ) from None
    algorithm = next((name for field, name in ALGORITHMS.get(policy, {}).items() if field in fields), "")
    if not algorithm:
        raise ValueError(f"{path} holds a policy of {policy}, where that of {', '.join(NAMES)} was expected")
    with open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing):  # gym says that it is unmaintained
        import sb3_contrib
        import stable_baselines3
    load = (getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)).load
    stem = file_and_name(module)[0].stem if module else ""
    if stem and stem not in sys.modules:  # an import of the file itself would train the model again
        sys.modules[stem] = types.ModuleType(stem)
        sys.modules[stem].__getattr__ = lambda name: _attribute(module, name)  # type: ignore[method-assign]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Could not deserialize")
        try:
            return load(path, device="cpu", custom_objects=FOR_TRAINING)
        except Exception as fault:  # whatever unpickling leads to
            why = one_line(str(fault).replace("Consider using `custom_objects` argument to replace this object.", ""))
        if module or arguments:
            shown = options_of_policy(fields["policy_kwargs"], module) | arguments
            try:
                return load(path, device="cpu", custom_objects=FOR_TRAINING | {"policy_kwargs": shown})
            except Exception as fault:  # whatever the options lead to
                why = one_line(fault)
    raise ValueError(
        f"{path} cannot be loaded: {why}. It was saved by {', '.join(made_by)}. Save it again with versions as here, "
        "or show the class of its features extractor by --module FILE.py:CLASS, and its plain options by --arguments"
    )


def _attribute(module: str, name: str) -> Any:
    """What the user's file binds to a name, for pickles that hold no more than that."""
    try:
        return part_of(f"{file_and_name(module)[0]}:{name}").load()
    except ValueError as fault:
        raise AttributeError(str(fault)) from None


def options_of_policy(told: dict[str, Any], module: str) -> dict[str, Any]:
    """The keywords of a policy by what the archive tells of them in plain text; classes of torch by their names.

    Raises:
        ValueError: one is told by nothing but a name of somebody's own.
    """
    from torch import nn

    options: dict[str, Any] = {}
    for name, value in told.items():
        if isinstance(value, str) and (found := re.fullmatch(r"<class 'torch\.nn\.modules\.\w+\.(\w+)'>", value)):
            options[name] = getattr(nn, found[1])
        elif name == "features_extractor_class" and module:
            options[name] = part_of(module).load()
        elif "<" in str(value):
            raise ValueError(
                f"{name}, {one_line(value):.100}, cannot be read here: save the model again with this Python"
            )
        elif not name.startswith(":"):
            options[name] = value
    return options


def readings_of(space: Any, board: tuple[int, int, int]) -> list[str]:
    """The observations of the kit that a model may see: of that size, and with such numbers."""
    from connectx_toolkit.training.environments.vector_env import NAMES, observation_named

    found = list[str]()
    for name in NAMES:
        with contextlib.suppress(ValueError):  # an encoding that is not for this board
            own = observation_named(name, geometry_of(*board)).space
            fits = np.prod(own.shape) == np.prod(space.shape) if name in MEANINGS else own.shape == space.shape
            if fits and space.low.min() <= own.low.min() and space.high.max() >= own.high.max():
                found.append(f"{name} ({MEANINGS[name]})" if name in MEANINGS else name)
    return found


def named(observation: str, model: Model, path: str, board: tuple[int, int, int]) -> str:
    """The name of the observation of the kit that the model sees. Raises ValueError if it is not known."""
    from connectx_toolkit.training.environments.vector_env import NAMES

    space = model.space
    name = observation or (vars(space).get("shows", "") if space is not None else "")
    if name in NAMES:
        return name
    if name:
        raise ValueError(f"observation should be one of {', '.join(NAMES)}, or FILE.py:FUNCTION, not {name!r}")
    if space is None:
        raise ValueError(f"a network of torch needs --observation: one of {', '.join(NAMES)}, or {A_FUNCTION}")
    sees = f"{path} sees arrays of shape {space.shape}, {space.dtype}, {space.low.min():g} to {space.high.max():g}"
    readings = [*readings_of(space, board), A_FUNCTION]
    if len(readings) == 1:
        raise ValueError(
            f"{sees}, as no observation of the kit is on this board: --board ROWSxCOLUMNSkINAROW names another, "
            f"--observation {A_FUNCTION}"
        )
    raise ValueError(f"{sees}: say by --observation what that is: {', '.join(readings[:-1])}, or {readings[-1]}")


def arrangement_of(observations: np.ndarray, space: Any, observation: str) -> str:
    """What brings an observation into the model's shape: ".reshape(42,)" of a board of the kit, or of an image ...

    Raises:
        ValueError: it is of another shape, or the kit's and has other numbers than the model was trained on.
    """
    shape = observations.shape[1:]
    if observation in MEANINGS and np.prod(shape) == np.prod(space.shape):
        shape, changed = space.shape, f".reshape({', '.join(map(str, space.shape))})" * (shape != space.shape)
    else:
        changed = ""
    least, most = observations.min(), observations.max()
    if ":" not in observation and not (space.low.min() <= least and most <= space.high.max()):
        raise ValueError(
            f"{observation} gives numbers from {least} to {most}, the model sees {space.low.min():g} to "
            f"{space.high.max():g}: it was trained on another --observation"
        )
    if shape == space.shape:
        return changed
    from stable_baselines3.common.preprocessing import is_image_space

    if len(shape) == 3 and is_image_space(space) and (shape[2], *shape[:2]) == space.shape:
        return ".transpose(2, 0, 1)"
    raise ValueError(f"the model sees arrays of shape {space.shape}, the observation gives {shape}" + _batch(shape))


def _batch(shape: tuple[int, ...]) -> str:
    hint = f". If its first dimension is a batch of one: return one observation, of shape {shape[1:]}, by [0]"
    return hint if len(shape) > 1 and shape[0] == 1 else ""


class Answers(NamedTuple):
    """What a model plays, and how an agent computes it.

    Attributes:
        chosen: (n,) columns; where the model chooses a full one, its best legal one.
        full: in how many positions it does.
        observation: what it sees, by name or as FILE:NAME.
        arrangement: what brings that into the model's shape, as code.
        dtype: the type that TorchScript takes.
        algorithm, steps: as of ``Model``.
    """

    chosen: list[int]
    full: int
    observation: str
    arrangement: str
    dtype: str
    algorithm: str
    steps: int


def answers_of(live: Any, name: str, look: Any, task: dict[str, Any]) -> tuple[Answers, dict[str, bytes]]:
    """What a model plays in the positions of a task, and its network in the ``FORMS`` that it can have.

    Args:
        live: the model, as it lives in this process.
        name: of the model, for people.
        look: the user's function of (obs, config) that makes what it sees; None if that is one of the kit.
        task: "observation", "board", "config" and "positions", as Kaggle's obs.

    Raises:
        ValueError: it does not take these observations, gives no number for each column, or has learnt nothing.
    """
    from connectx_toolkit.builder.notebook.torch_model import Unknown, script_of, steps_of

    model, config = model_of(live, name), Struct(**task["config"])
    observation = task["observation"] if look else named(task["observation"], model, name, task["board"])
    look = look or (lambda obs, config: seen(obs, config, observation))
    given = [Struct(**each) for each in task["positions"]]
    legal = np.array([each.board[: config.columns] for each in given]) == 0
    try:
        observations = np.stack([np.asarray(look(obs, config)) for obs in given])
    except Exception as fault:  # their code may raise anything
        raise ValueError(f"{observation} fails on a position, as a function of (obs, config): {fault!r:.200}") from None
    arrangement, dtype = "", "float32"
    if model.space is not None:
        arrangement = arrangement_of(observations, model.space, observation)
        is_image = "transpose" in arrangement
        arranged = observations.transpose(0, 3, 1, 2) if is_image else observations.reshape(-1, *model.space.shape)
        observations = observations if is_image else arranged  # predict takes an image as its environment gives it
    else:
        observations = arranged = as_input(model, observations)
        dtype = str(observations.dtype)
    try:
        chosen = np.array([model.predict(each, mask) for each, mask in zip(observations, legal, strict=True)])
        scores = np.stack([model.scores(each) for each in arranged])
    except Exception as fault:  # their code may raise anything
        shape = observations.shape[1:]
        raise ValueError(
            f"the model takes no observations of shape {shape}: {one_line(fault)}{_batch(shape)}"
        ) from None
    if scores.shape != legal.shape:
        wanted = f"where {config.columns} scores were expected{_batch(observations.shape[1:])}"
        raise ValueError(f"the model gives {scores.shape[1:]} for a position, {wanted}")
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
        forms[FORMS[1]] = script_of(model.network, arranged[:1].astype(dtype), model.scale)
    except Exception as fault:  # their code may raise anything
        why = one_line(fault)
    if not forms:
        raise ValueError(f"the network has no numpy form, and torch.jit.trace fails: {why}")
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
        live = loaded(Path(task["model"]), task["module"], task["arguments"])
        answers, forms = answers_of(live, task["model"], look, task)
        result = answers._asdict()
        for suffix, content in forms.items():
            Path(home, DATA).with_suffix(suffix).write_bytes(content)
    except ModuleNotFoundError as fault:
        result = {"error": missing_package(fault)}
    except (ValueError, OSError) as fault:
        result = {"error": str(fault)}
    Path(home, RESULT).write_text(json.dumps(result), encoding="utf-8")
