"""A user's trained model: loaded, asked for its moves, and given in the forms that an agent can compute.

Loading a model runs code: what cloudpickle has kept in it, and the user's file. So ``main`` is called in a process of
its own, by ``connectx_toolkit.training.adopt``. A model that lives in a notebook is asked there, by ``ask_model``.
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
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx_core.encoding import ENCODINGS, view_of
from connectx_core.weights import pack
from connectx_toolkit.builder.notebook.cells import cells_of, is_page
from connectx_toolkit.builder.notebook.page import Page
from connectx_toolkit.builder.notebook.predictors import NoPredictor, network_of
from connectx_toolkit.builder.notebook.statements import statements_of
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.system.console import as_option, missing_package

TASK, RESULT = "task.json", "result.bin"  # files of the process
FORMS = (".bin", ".pt")  # endings of an agent's data: for numpy, and TorchScript
ALGORITHMS_BY_FIELD = {  # whose load reads a policy of this module, by a field that tells them apart
    "stable_baselines3.common.policies": {"cg_max_steps": "TRPO", "clip_range": "PPO", "gae_lambda": "A2C"},
    "sb3_contrib.common.maskable.policies": {"clip_range": "MaskablePPO"},
    "stable_baselines3.dqn.policies": {"exploration_rate": "DQN"},
    "sb3_contrib.qrdqn.policies": {"exploration_rate": "QRDQN"},
}
KNOWN_ALGORITHMS = [name for names in ALGORITHMS_BY_FIELD.values() for name in names.values()]
FOR_TRAINING = {  # what predict does not need, and another Python cannot read
    **dict.fromkeys(("lr_schedule", "learning_rate", "clip_range", "exploration_schedule"), 0.0),
    **dict.fromkeys(("clip_range_vf", "_last_obs", "_last_original_obs", "_last_episode_starts", "action_noise")),
    **dict.fromkeys(("ep_info_buffer", "ep_success_buffer", "rollout_buffer_class", "replay_buffer_class")),
    "buffer_size": 1,
}
TORCH_CLASS = re.compile(r"<class 'torch\.nn\.modules\.\w+\.(\w+)'>")
MEANINGS = {"course": "1 the first player's stones, 2 the second's", "sides": "1 the mover's stones, 2 the other's"}
VIEWS = (*MEANINGS, *ENCODINGS)  # of the kit's observations
PARAMETER_KEYS = ("state_dict", "model_state_dict", "model")  # where checkpoints keep the parameters


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
        cells = [cell for cell in cells_of(path) if not cell.file and not cell.fault] if is_page(path) else None
        code = path.read_text("utf-8") if cells is None else "".join(cell.code for cell in cells)
        page = Page(statements_of(code), name, lambda module: False)
    except (UnicodeDecodeError, SyntaxError) as fault:
        raise ValueError(f"{path} is no Python source: {fault}") from None
    kept = page.select_statements()
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


def load_model(path: Path, module: str, arguments: dict[str, Any]) -> tuple[Any, bool]:
    """The model of a file, by what the file holds; and whether its policy was made anew, as ``load_archive`` says.
    Raises ValueError if it is none of stable-baselines3 or torch, or cannot be loaded.
    """
    start, names = path.read_bytes()[:8], list[str]()
    with contextlib.suppress(zipfile.BadZipFile, EOFError, ValueError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    is_keras = start == b"\x89HDF\r\n\x1a\n" or "model.weights.h5" in names
    if is_keras or "parameter_list" in names:
        kind = "a model of Keras" if is_keras else "a model of stable-baselines 2, which ran on TensorFlow"
        raise ValueError(f"{path} is {kind}: train it again with stable-baselines3 or torch, whose models adopt takes")
    if "policy.pth" in names:
        return load_archive(path, module, arguments)
    if any("/code/" in name for name in names):
        import torch

        if module:
            raise ValueError(f"{path} is TorchScript, which holds its own code: leave out {as_option('module')}")
        return torch.jit.load(path, map_location="cpu"), False
    if start.startswith(b"\x80") or any(name.endswith("/data.pkl") for name in names):
        return load_state(path, module, arguments), False
    raise ValueError(f"{path} is no model that stable-baselines3 or torch has saved, or is damaged")


def load_state(path: Path, module: str, arguments: dict[str, Any]) -> Any:
    """The class with the parameters in the file. Raises ValueError if they do not fit."""
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as fault:  # an error of pickle's, or whatever a damaged file leads to
        whole = f'holds a module saved whole: save its numbers alone, torch.save(net.state_dict(), "{path.name}")'
        why = whole if "GLOBAL" in str(fault) else f"is no file of torch.save, or is damaged: {one_line(fault):.120}"
        raise ValueError(f"{path} {why}") from None
    state = next((content[key] for key in PARAMETER_KEYS if isinstance(content, dict) and key in content), content)
    if not isinstance(state, dict) or not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path} holds {type(state).__name__}, where a state_dict was expected")
    if not module:
        needed = f"{as_option('module', 'FILE.py:CLASS')}, and {as_option('observation')}"
        raise ValueError(f"{path}: a network of torch needs its class, {needed}")
    kind = part_of(module).load()
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        raise ValueError(f"{module} is no class of torch.nn.Module, as {as_option('module')} should be")
    try:
        network = kind(**arguments)
        network.load_state_dict(state)
    except Exception as fault:  # their code may raise anything
        why = f"{type(fault).__name__}: {one_line(fault)} (its arguments are given by {as_option('arguments')})"
        raise ValueError(f"{path} does not fit {module}: {why}") from None
    return network


def load_archive(path: Path, module: str, arguments: dict[str, Any]) -> tuple[Any, bool]:
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
        policy, settings = fields["policy_class"]["__module__"], fields["policy_kwargs"]
    except Exception as fault:  # whatever a damaged file leads to
        raise ValueError(f"{path} is no whole model of stable-baselines3: {fault!r:.120}") from None
    algorithm = next((name for field, name in ALGORITHMS_BY_FIELD.get(policy, {}).items() if field in fields), "")
    if not algorithm:
        raise ValueError(f"{path} holds a policy of {policy}, where that of {', '.join(KNOWN_ALGORITHMS)} was expected")
    with contextlib.redirect_stderr(io.StringIO()):  # gym says there that it is unmaintained
        import sb3_contrib
        import stable_baselines3
    load = (getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)).load
    file, stem = module.rpartition(":")[0], Path(module.rpartition(":")[0]).stem
    if stem and stem not in sys.modules:  # an import of the file itself would train the model again
        sys.modules[stem] = PartOfModule(stem)
        sys.modules[stem].__file__ = file
    has_code = b"cloudpickle" in base64.b64decode(settings.get(":serialized:", ""))  # which only its own Python can run
    made_by = dict(re.findall(r"(Python|Stable-\S+|PyTorch): (\S+)", info))
    is_foreign = has_code and made_by.get("Python", "").split(".")[:2] != [str(part) for part in sys.version_info[:2]]
    why = "it holds code for another Python"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Could not deserialize")
        for is_anew in [False] * (not is_foreign) + [True] * bool(module or arguments):
            try:
                own = {"policy_kwargs": options_of_policy(settings, module) | arguments} if is_anew else {}
                return load(path, device="cpu", custom_objects=FOR_TRAINING | own), is_anew
            except Exception as fault:  # whatever unpickling leads to
                why = one_line(re.sub(r"Consider using `custom_objects` .*\n", "", str(fault)))
    versions = ", ".join(f"{name} {version}" for name, version in made_by.items()) or "old versions"
    named = f"by {as_option('module', 'FILE.py:CLASS')}, and its plain policy_kwargs by {as_option('arguments')}"
    cure = f"Save it again with versions as here, or name the class of its features extractor {named}"
    raise ValueError(f"{path} cannot be loaded: {why}. It was saved by {versions}. {cure}")


def options_of_policy(told: dict[str, Any], module: str) -> dict[str, Any]:
    """The keywords of a policy by what the archive tells of them in plain text; classes of torch by their names. Raises
    ValueError if one is told by nothing but a name of somebody's own.
    """
    from torch import nn

    options = {name: value for name, value in told.items() if not name.startswith(":")}  # which is of the pickle
    for name, value in options.items():
        if match := TORCH_CLASS.fullmatch(str(value)):
            options[name] = getattr(nn, match[1])
        elif name == "features_extractor_class" and module:
            options[name] = part_of(module).load()
        elif "<" in str(value):
            raise ValueError(f"{name}, {one_line(value):.100}, cannot be read here")
    return options


def name_observation(observation: str, space: Any, model: str, positions: list[tuple[Any, Any]]) -> str:
    """The name of the observation of the kit that the model sees. Raises ValueError if it is not known."""
    name = observation or getattr(space, "shows", "")
    if name in VIEWS:
        return name
    if name:
        raise ValueError(f"observation should be one of {', '.join(VIEWS)}, or FILE.py:FUNCTION, not {name!r}")
    readings, sees = list(VIEWS), ""
    if space is not None:
        readings = []
        for each in VIEWS:
            with contextlib.suppress(ValueError):
                arrangement_of(np.stack([view_of(*position, each) for position in positions]), space, each)
                readings.append(f"{each} ({MEANINGS[each]})" if each in MEANINGS else each)
        sees = f" sees arrays of shape {space.shape}, {space.dtype}, {space.low.min():g} to {space.high.max():g}"
        board = "{columns}x{rows}".format(**positions[0][1])
        sees += "" if readings else f", unlike any observation of the toolkit on a board of {board}"
    readings.append("FILE.py:NAME, a function of (obs, config)")
    raise ValueError(f"{model}{sees}: say what it sees by {as_option('observation')}: {' or '.join(readings)}")


def arrangement_of(observations: np.ndarray, space: Any, observation: str) -> str:
    """What brings an observation into the model's shape: ".reshape(42)" of a board of the kit, ".transpose(2, 0, 1)".

    Raises:
        ValueError: it is of another shape, or the kit's and has other numbers than the model was trained on.
    """
    shape, least, most = observations.shape[1:], observations.min(), observations.max()
    if ":" not in observation and not (space.low.min() <= least and most <= space.high.max()):
        trained = f"{space.low.min():g} to {space.high.max():g}: it was trained on another {as_option('observation')}"
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
    algorithm: str  # of stable-baselines3, "" of a torch module
    steps: int  # of its training
    is_anew: bool = False  # whether its policy was made with options that the user has named
    unconfined: str = ""  # why it was loaded without a sandbox; "" if it was in one, or lived here already


def normaliser_of(live: Any) -> Any:
    """The VecNormalize through which a model sees what it is given; None if there is none."""
    env = live.get_vec_normalize_env() if hasattr(live, "get_vec_normalize_env") else None
    return env if env is not None and env.norm_obs else None


def normalise_input(normaliser: Any, network: Any) -> Any:
    """A network behind a VecNormalize, which computes in float64."""
    import torch

    class Normalised(torch.nn.Module):
        mean: torch.Tensor
        spread: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            statistics, self.network, self.most = normaliser.obs_rms, network, float(normaliser.clip_obs)
            self.register_buffer("mean", torch.from_numpy(np.asarray(statistics.mean, np.float64)))
            self.register_buffer("spread", torch.from_numpy(np.sqrt(statistics.var + normaliser.epsilon)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.network(((x.double() - self.mean) / self.spread).clamp(-self.most, self.most).float())

    return Normalised().eval()


def network_in(live: Any, name: str) -> tuple[Any, float]:
    """The network of a model as it is now, and what its input is multiplied by. Raises ValueError if it sees or does
    what no agent does here.
    """
    network, scale = live, 1.0
    if hasattr(live, "observation_space"):
        kinds = type(live.observation_space).__name__, type(live.action_space).__name__
        if kinds != ("Box", "Discrete"):
            raise ValueError(f"{name} sees {kinds[0]} and acts in {kinds[1]}, where Box and Discrete were expected")
        try:
            network, scale = network_of(live.policy)
        except NoPredictor as fault:
            raise ValueError(f"{name} {fault}") from None
    with warnings.catch_warnings(action="ignore"):  # of gradients, which a copy of TorchScript has not
        network = copy.deepcopy(network).cpu().eval()
    return (normalise_input(normaliser, network) if (normaliser := normaliser_of(live)) else network), scale


def forms_of(network: Any, scale: float, observations: np.ndarray) -> dict[str, bytes]:
    """A network in those of the ``FORMS`` that it can have. Raises ValueError if it can have none."""
    from connectx_toolkit.builder.notebook.torch_model import Unknown, script_of, steps_of

    forms, why = dict[str, bytes](), ""
    with contextlib.suppress(Unknown):
        steps, arrays = steps_of(network, scale)
        forms[FORMS[0]] = pack(arrays, {"steps": steps})
    try:
        forms[FORMS[1]] = script_of(network, observations[:1], scale)
    except Exception as fault:  # their code may raise anything
        why = one_line(fault)
    if not forms:
        raise ValueError(f"the network has no form in numpy, and none as TorchScript: {why}")
    return forms


def score_columns(network: Any, scale: float | None, observation: np.ndarray) -> np.ndarray:
    """(columns,) numbers. ``scale``: what the observation is multiplied by as float32; None: it is taken as it is."""
    import torch

    from connectx_toolkit.builder.notebook.torch_model import first_output

    given = torch.from_numpy(np.ascontiguousarray(observation)[None])
    with torch.no_grad():
        return np.asarray(first_output(network(given if scale is None else given.float() * scale))[0])


def ask_model(live: Any, name: str, look: Any, task: dict[str, Any]) -> tuple[Answers, dict[str, bytes]]:
    """What a model plays in the positions of a task, and its network in those of the ``FORMS`` that it can have.

    Args:
        live: a model of stable-baselines3, or a torch module, as it lives in this process.
        name: of the model, for people.
        look: the user's function of (obs, config) that makes what it sees; None if that is one of the kit.
        task: "observation", "board", and "questions": pairs of obs and config, as Kaggle gives them.

    Raises:
        ValueError: it does not take these observations, gives no number for each column, or has learnt nothing.
    """
    space, board = getattr(live, "observation_space", None), task["board"]
    algorithm, steps = (type(live).__name__, live.num_timesteps) if space is not None else ("", 0)
    network, scale, normaliser = *network_in(live, name), normaliser_of(live)
    scored = partial(score_columns, network, scale if algorithm else None)
    positions: list[tuple[Any, Any]] = [(Struct(**obs), Struct(**config)) for obs, config in task["questions"]]
    legal = np.array([obs.board[: board[1]] for obs, _ in positions]) == 0
    observation = task["observation"] if look else name_observation(task["observation"], space, name, positions[:50])
    try:
        given = np.stack([look(*each) if look else view_of(*each, observation) for each in positions])
    except Exception as fault:  # their code may raise anything
        raise ValueError(f"{observation} fails on a position, as a function of (obs, config): {fault!r:.200}") from None
    if given.dtype.kind not in "biuf":
        kind = type(look(*positions[0])).__name__ if look else str(given.dtype)
        known = f"one array of numbers, such as {', '.join(VIEWS)}, or that of a function"
        raise ValueError(f"{observation} gives {kind} for a position: adopt takes models that see {known}")
    arrangement, dtype = "", "float32"
    if space is not None:
        arrangement = arrangement_of(given, space, observation)
        given = given.transpose(0, 3, 1, 2) if "transpose" in arrangement else given.reshape(-1, *space.shape)
    else:
        try:
            scored(given[0])
        except Exception:  # their code may raise anything; what it then raises of its parameters' type is told
            types = [p.dtype for p in network.parameters() if p.is_floating_point()]
            given = given.astype(str(types[0]).removeprefix("torch.") if types else np.float32)
        dtype = str(given.dtype)
    try:
        scores = np.stack(list(map(scored, given)))
        chosen = scores.reshape(len(scores), -1).argmax(axis=1)
        if algorithm:
            masks = [{"action_masks": each} if algorithm == "MaskablePPO" else {} for each in legal]
            pairs = zip(normaliser.normalize_obs(given) if normaliser else given, masks, strict=True)
            chosen = np.array([int(live.predict(each, deterministic=True, **mask)[0]) for each, mask in pairs])
    except Exception as fault:  # their code may raise anything
        why = f"{given.shape[1:]}: {one_line(fault)}{batch_of_one(given.shape[1:])}"
        raise ValueError(f"the model takes no observations of shape {why}") from None
    if scores.shape != legal.shape:
        raise ValueError(f"the model gives {scores.shape[1:]} for a position, where {board[1]} scores were expected")
    if not np.isfinite(scores[legal]).all():
        raise ValueError("the model's scores of legal columns are not finite: it holds NaN or infinities")
    known_scores = np.where(legal, scores, np.nan)  # a full column's may be -inf
    if (np.nanmax(known_scores, axis=0) - np.nanmin(known_scores, axis=0)).max() == 0:
        raise ValueError(f"{name} has learnt nothing: its scores are the same in all positions")
    full = ~legal[np.arange(len(chosen)), chosen]
    chosen = np.where(full, np.where(legal, scores, -np.inf).argmax(axis=1), chosen)
    facts = int(full.sum()), observation, arrangement, dtype, algorithm, steps
    return Answers(chosen.tolist(), *facts), forms_of(network, scale, given.astype(dtype))


def main(folder: str, home: str, unconfined: str) -> None:
    """Leaves in ``home`` what the model of ``folder`` answers to the task there, or why it does not."""
    os.environ["HOME"] = home
    os.chdir(folder)
    task = json.loads(Path(TASK).read_text(encoding="utf-8"))
    forms, result = dict[str, bytes](), dict[str, Any]()
    try:
        look = part_of(task["observation"]).load() if ":" in task["observation"] else None
        live, is_anew = load_model(Path(task["model"]), task["module"], task["arguments"])
        answers, forms = ask_model(live, task["model"], look, task)
        result = answers._replace(is_anew=is_anew, unconfined=unconfined)._asdict()
    except ModuleNotFoundError as fault:
        result["error"] = missing_package(fault)
    except (ValueError, OSError) as fault:
        result["error"] = str(fault)
    arrays = {suffix: np.frombuffer(content, np.uint8) for suffix, content in forms.items()}
    Path(home, RESULT).write_bytes(pack(arrays, result))
