"""The moves of the model as its maker has it: what an adopted agent is compared with.

The reference is stable-baselines3's own ``load(path).predict``, or the user's module, with the observations that the
user's file makes. Loading it runs code: what cloudpickle has kept in the archive, and the file itself. So it happens
in a forked process, in the place of connectx_toolkit.kaggle.sandbox: that sees copies of the model and of the files
that it needs, the system's and Python's folders, and nothing else of this machine; what it writes vanishes.
"""

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx_toolkit.builder.notebook.torch_model import first_output
from connectx_toolkit.kaggle import sandbox as place
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.cores import waiting
from connectx_toolkit.system.posix import HAS_FORK
from connectx_toolkit.training.adoption.models import as_input, module_of
from connectx_toolkit.training.adoption.source import source_of
from connectx_toolkit.training.opponents import config_of, observation_of
from connectx_toolkit.training.vector_games import ConnectX

SECONDS = 60  # of processor time
RESULT = "result.json"


class Unproved(Exception):
    """The original cannot be asked; the text says why."""


class Moves(NamedTuple):
    """What the original plays. ``chosen``: (n,) columns; ``scores``: (n, columns), the largest of which it takes."""

    chosen: np.ndarray
    scores: np.ndarray


def reference_of(task: dict[str, Any], algorithm: str) -> str:
    """The name of the original, for people."""
    name = Path(task["model"]).name
    if algorithm:
        return f'{algorithm}.load("{name}").predict(..., deterministic=True)'
    if not task["module"]:
        return f'torch.jit.load("{name}")'
    return f"{task['module'].rpartition(':')[2]} of {Path(task['module'].rpartition(':')[0]).name} with {name}"


def moves_of_original(task: dict[str, Any], algorithm: str, games: ConnectX, seen: np.ndarray | None) -> Moves:
    """The moves of the original in many positions, which are found in a process of its own.

    Args:
        algorithm: of stable-baselines3; "" for a torch module.
        seen: what the model sees of each game, None where the user's function makes it.

    Raises:
        Unproved: it cannot be loaded or run here, or there is no place to do so.
    """
    if not HAS_FORK:
        raise Unproved("this system has no fork, in which it could be asked")
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, part) for part in ("root", "agent", "home")]
        for folder in folders:
            folder.mkdir()
        inside = _copied(task, folders[1])
        pid = os.fork()
        if pid == 0:
            _child(folders, lambda: _answer(task | inside, algorithm, games, seen), task["trusted"])
        code, result = _await(pid), folders[2] / RESULT
        if not result.is_file():
            took = f"it takes more than {SECONDS} s of processor time"
            raise Unproved(took if code < 0 else f"its process ended with code {code}")
        found = json.loads(result.read_text(encoding="utf-8"))
    if "reason" in found:
        raise Unproved(" ".join(str(found["reason"]).split())[:300])
    return Moves(np.array(found["chosen"], np.int64), np.array(found["scores"], np.float64))


def _copied(task: dict[str, Any], folder: Path) -> dict[str, str]:
    """Copies the model, the files that are named, and what these have imported from beside them; the new references."""
    found = {"model": Path(task["model"]).name}
    shutil.copy(task["model"], folder)
    for option in ("module", "observation"):
        file, _, name = task[option].rpartition(":")
        if file:
            path = source_of(task[option]).path
            shutil.copy(path, folder)
            found[option] = f"{path.name}:{name}"
            for module in list(sys.modules.values()):
                if (own := _below(path.parent, module)) is not None:
                    (folder / own).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path.parent / own, folder / own)
    return found


def _below(folder: Path, module: types.ModuleType) -> Path | None:
    """The file of a module relative to the folder, None if it is elsewhere or of an installed package."""
    file = Path(getattr(module, "__file__", None) or "/")
    is_own = file.suffix == ".py" and file.is_relative_to(folder) and "site-packages" not in file.parts
    return file.relative_to(folder) if is_own else None


def _child(folders: list[Path], answer: Any, is_trusted: bool) -> None:
    """The forked process: moves to its place, leaves the answer there, and ends."""
    import resource  # only where there is fork

    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        home = str(folders[2])
        try:
            place.enter(*map(str, folders))
            home, files = place.HOME, place.AGENT
        except place.NoPlace as problem:
            files = str(folders[1])
            os.chdir(home)
            result = {"reason": f"there is no sandbox here ({problem}); {as_option('trusted')} does without"}
            if not is_trusted:
                Path(home, RESULT).write_text(json.dumps(result), encoding="utf-8")
                os._exit(0)
        os.environ["HOME"] = home
        sys.path.insert(0, files)
        os.chdir(files)
        try:
            result = answer()
        except BaseException as fault:  # their code may raise anything
            result = {"reason": f"{type(fault).__name__}: {fault}"}
        Path(home, RESULT).write_text(json.dumps(result), encoding="utf-8")
    finally:
        os._exit(0)


def _await(pid: int) -> int:
    """The exit code of the child, -N for signal N. It is killed, with all that it started, if it takes too long."""
    start, waits, waited = time.monotonic(), waiting(str(pid)), 0.0
    while (found := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        waited = max(waited, waits())
        if time.monotonic() - start - waited > 2 * SECONDS:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # whatever it has started
    return os.waitstatus_to_exitcode(found[1])


def _answer(task: dict[str, Any], algorithm: str, games: ConnectX, seen: np.ndarray | None) -> dict[str, Any]:
    """The moves and scores of the original, as JSON has them; in the child, in the folder with the copies."""
    if seen is None:
        look, config = _run_file(task["observation"]), config_of(games.geometry)
        each = [np.asarray(look(observation_of(games, game), config)) for game in range(len(games))]
    else:
        each = list(seen)
    chosen, scores = (_answer_of_archive if algorithm else _answer_of_module)(task, algorithm, each, games.legal())
    return {"chosen": chosen, "scores": scores}


def _run_file(reference: str) -> Any:
    """What FILE:NAME is after the file has run, which is a module from then on."""
    file, _, name = reference.rpartition(":")
    module = sys.modules.get(Path(file).stem)
    if module is None:
        module = sys.modules[Path(file).stem] = types.ModuleType(Path(file).stem)
        module.__file__ = os.path.abspath(file)
    fault = source_of(reference).run_whole(Path(file), vars(module))
    if name not in vars(module):
        raise Unproved(f"{file} does not define {name} when it is run: {fault}")
    return vars(module)[name]


def _answer_of_archive(
    task: dict[str, Any], algorithm: str, observations: list[np.ndarray], legal: np.ndarray
) -> tuple[list[int], list[list[float]]]:
    from connectx_toolkit.training.adoption.sb3_model import scores_of

    model = _load(task, algorithm)
    chosen, scores = [], []
    for observation, mask in zip(observations, legal, strict=True):
        masks = {"action_masks": mask} if algorithm == "MaskablePPO" else {}
        chosen.append(int(model.predict(observation, deterministic=True, **masks)[0]))
        scores.append(scores_of(model.policy, observation)[0].tolist())
    return chosen, scores


def _load(task: dict[str, Any], algorithm: str) -> Any:
    """What the algorithm's ``load`` gives. Classes of a module are looked for in the user's file of that name."""
    import sb3_contrib
    import stable_baselines3

    kind = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    options = {"custom_objects": {"buffer_size": 1}} if "DQN" in algorithm else {}  # predict needs no replay buffer
    stem = Path(task["module"].rpartition(":")[0]).stem
    if stem and stem not in sys.modules:
        sys.modules[stem] = None  # type: ignore[assignment] # an import of it would train the model again
    try:
        return kind.load(task["model"], device="cpu", **options)
    except Exception:  # whatever unpickling leads to
        if not stem:
            raise
        _run_file(task["module"])
        return kind.load(task["model"], device="cpu", **options)


def _answer_of_module(
    task: dict[str, Any], _: str, observations: list[np.ndarray], legal: np.ndarray
) -> tuple[list[int], list[list[float]]]:
    import torch

    module = module_of(Path(task["model"]), task, _run_file)
    scores = []
    for observation in observations:
        with torch.no_grad():
            output = first_output(module(torch.from_numpy(as_input(module, observation[None]))))
        scores.append(np.asarray(output[0]).tolist())
    return [int(np.argmax(each)) for each in scores], scores
