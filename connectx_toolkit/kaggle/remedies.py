"""Explains a fault: its place in the agent's file, Kaggle's rule behind it, and the cure, in a sentence to append.

Also here: the third-party packages on the judge, as far as they are known. Kaggle does not publish the judge's image.
What is known: the packages of submissions that played there, those that kaggle_environments needs, and the public
notebook image (github.com/Kaggle/docker-python), which is probably similar.
"""

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from connectx_toolkit.kaggle.sandbox import AGENT
from connectx_toolkit.system.console import cell_of
from connectx_toolkit.system.files import ROOT

SEEN_THERE = frozenset({"kaggle_environments", "numba", "numpy", "scipy", "torch"})  # in submissions that played
_REQUIRED = """
click flask google gymnasium gymnax jax jsonschema litellm omegaconf pettingzoo pokerkit pydantic pyjson5 pygame pyspiel
requests shimmy tenacity termcolor tqdm transformers typing_extensions upath yaml
"""
_IMAGE = """
Cython PIL annoy bs4 catboost cloudpickle cv2 cython deap dill fastai flax gensim gym gymnasium h5py igraph jax joblib
keras learntools lightgbm matplotlib networkx nltk optuna pandas plotly polars psutil ray requests seaborn shapely
skimage sklearn spacy statsmodels sympy tensorflow torchinfo torchmetrics torchvision tqdm transformers xgboost yaml
"""
REQUIRED = frozenset(_REQUIRED.split())  # by kaggle_environments, on which the judge runs
IN_PUBLIC_IMAGE = frozenset(_IMAGE.split()) - REQUIRED
KNOWN = SEEN_THERE | REQUIRED | IN_PUBLIC_IMAGE


def standing(package: str) -> str:
    """What is known about a package on the judge, in words."""
    if package in SEEN_THERE:
        return "submissions that use it play on Kaggle"
    if package in REQUIRED:
        return "kaggle_environments, on which the judge runs, needs it"
    if package in IN_PUBLIC_IMAGE:
        return "Kaggle's public image has it"
    return "it is not among the packages that Kaggle is known to have"


BUILD = "let build_submission.py build it"
FRAME = re.compile(r'^ *File "(.+)", line (\d+), in ', re.MULTILINE)  # of a traceback
NOT_THE_AGENTS = (
    *(os.path.join(ROOT, folder, "") for folder in ("connectx", "connectx_toolkit")),
    os.path.join(os.path.dirname(os.__file__), ""),  # installed packages lie below it
    "<frozen",
)


class Situation(NamedTuple):
    """The circumstances of a fault.

    files: the files in the agent's folder, including main.py, as relative paths.
    numpy: the version on this machine.
    name: what the author calls main.py.
    """

    files: frozenset[str]
    numpy: str
    name: str = "main.py"

    @property
    def is_alone(self) -> bool:
        return self.files == {"main.py"}

    @property
    def packing(self) -> str:
        return ", in a .tar.gz beside main.py" if self.is_alone else ""

    def holds(self, module: str) -> bool:
        """Whether a module or package of that name lies beside main.py."""
        return any(file == f"{module}.py" or file.startswith(f"{module}/") for file in self.files)


def _no_file(path: str, situation: Situation) -> str:
    if path.endswith(".zip.zip"):  # stable-baselines3 adds one to a path that is not there
        path = path.removesuffix(".zip")
    name = os.path.basename(path)
    inside = next((file for file in sorted(situation.files) if os.path.basename(file) == name), None)
    if path.startswith(f"{AGENT}/") and inside:
        return f"the archive has it at {inside}, which is {AGENT}/{inside}"
    if path.startswith(f"{AGENT}/"):
        here = "a single .py goes up alone" if situation.is_alone else f"the archive has no {path[len(AGENT) + 1 :]}"
        return f"{here}: pack {name}{situation.packing}"
    if not path.startswith("/"):
        where = "Kaggle's working directory is not the file's folder"
    elif path.startswith("/kaggle/"):
        where = "the judge has no notebook's folders"
    else:
        where = f"{path} is a path of this machine, and the judge has only what is submitted"
    if inside:
        return f"{where}: the archive has it, open {AGENT}/{inside}"
    return f"{where}: open {AGENT}/{name}{situation.packing}; build_submission.py packs it with --data FILE"


def _no_module(name: str, situation: Situation) -> str:
    top = name.split(".")[0]
    if situation.holds(top):
        return (
            f"{top} lies beside main.py, but Kaggle's loader takes that folder off sys.path after the load: import it "
            f'at the top of main.py, or do sys.path.append("{AGENT}") first'
        )
    if top in KNOWN:
        return f"it is not installed here, and {standing(top)}: pip install it"
    return (
        f"{top} is not among the packages that Kaggle is known to have, nor in what is submitted: pack it"
        f"{situation.packing} (build_submission.py puts helper modules into one file), or catch ImportError and play "
        "without it"
    )


def _taken_name(name: str, situation: Situation) -> str:
    if not situation.holds(name):
        return ""
    return f"Kaggle's own environments put another {name} on the path, before yours: rename your {name}"


def _no_name(name: str, situation: Situation) -> str:
    cells = "other cells of a notebook are not submitted, but build_submission.py NAME.ipynb brings them along"
    return f"import or define {name} in {situation.name}: {cells}"


def _old_numpy(name: str, situation: Situation) -> str:
    return f"numpy {situation.numpy} here, and numpy 2 on the judge, have no {name}: use what replaced it"


_NETWORK = "the judge has no network: submit what it needs"
_STREAM = "Kaggle replaces sys.stdout and sys.stderr by text buffers without it"
_PICKLE = (
    "what main.py defines belongs to no module that pickle could find (Kaggle runs it by exec): pickle plain lists, "
    "dicts and arrays, or define the classes in a module beside main.py"
)
_CELL = "it is a notebook's command, not Python: leave it out"
_SELF = f'Kaggle\'s loader runs the text by exec and sets no __file__: use "{AGENT}", or {BUILD}'
_PACKAGE = f"main.py belongs to no package: import x, not .x, or {BUILD}"

_TENSORS = (
    "torch.load reads only tensors, not whole modules: save net.state_dict(), build the network in the agent, then "
    "net.load_state_dict(torch.load(...))"
)
_NO_GPU = 'the judge has no GPU: use device "cpu", and torch.load(..., map_location="cpu")'
_STYLE = "matplotlib has renamed its styles (seaborn-dark is seaborn-v0_8-dark), and nobody sees a plot: leave it out"
_CACHE = "numba's cache=True cannot work in a text that is run by exec: leave it out"
_NOTHING = (
    "it defines no function: Kaggle calls the last callable that the file binds, and what stands under "
    'if __name__ == "__main__" never runs'
)
_ARGUMENTS = (
    "Kaggle passes (obs, config), cut to as many as the function names before any *args or wrapper: "
    "def agent(obs, config)"
)

# The first pattern that is found in the fault's text or traceback decides; a function gets the pattern's first group,
# and returns "" if the rule does not apply.
RULES: tuple[tuple[str, str | Callable[[str, Situation], str]], ...] = (
    (
        r"kaggle_environments/envs/lux_ai_s3/(\w+)",
        _taken_name,
    ),  # the one environment that leaves its folder on the path
    (r"name '__file__' is not defined|KeyError\('__file__'", _SELF),
    (r"name 'get_ipython' is not defined", _CELL),
    (r"NameError\W.*name '(\w+)' is not defined", _no_name),
    (r"No module named '([\w.]+)'", _no_module),
    (r"'__name__' not in globals|attempted relative import", _PACKAGE),
    (r"(?s)subprocess\.py.*No such file or directory", "nobody says which programs the judge has: go on without it"),
    (r"is not a valid package style", _STYLE),
    (r"No such file or directory: \\?['\"]([^'\"\\]+)", _no_file),
    (r"Read-only file system|PermissionError", "that folder is read-only: write to the working directory or tempfile"),
    (r"gaierror|Network is unreachable|name resolution|ConnectionError|URLError", _NETWORK),
    (r"(?:numpy|np\.).* has no attribute '(\w+)'", _old_numpy),
    (r"`np\.(\w+)` was (?:removed|a deprecated)", _old_numpy),
    (r"os\.environ|<frozen os>.*in __getitem__", "the judge's environment variables are not known: os.environ.get"),
    (r"Weights only load failed", _TENSORS),
    (r"CUDA|NVIDIA", _NO_GPU),
    (r"PicklingError|Can't (?:pickle|get attribute)", _PICKLE),
    (r"NoneType' object has no attribute 'startswith'|cannot cache function", _CACHE),
    (r"if callable\(v\)\]\[-1\]", _NOTHING),
    (r"in call\n(?:    .*\n)*TypeError: .*(?:positional|keyword-only) argument", _ARGUMENTS),
    (r"StringIO' object has no attribute|UnsupportedOperation", _STREAM),
    (r"SystemExit|KeyboardInterrupt", "it ends the judge's process: return a column"),
    (r"only works in main thread", "Kaggle may call the agent in another thread"),
)


def remedy(text: str, trace: str, situation: Situation) -> str:
    """The rule and the cure for a fault; "" if none is known."""
    for pattern, answer in RULES:
        for words in (text, trace):
            found = re.search(pattern, words)
            cure = "" if found is None else answer if isinstance(answer, str) else answer(found[1], situation)
            if cure:
                return cure
    return ""


def explained(text: str, trace: str, situation: Situation) -> str:
    """The fault's text with its place in the agent's code and its remedy."""
    place, cure = place_in(trace), remedy(text, trace, situation)
    place = f" ({place.replace('main.py', situation.name)})" if place else ""
    return f"{text}{place}{'; ' if cure else ''}{cure}"


def place_in(trace: str) -> str:
    """ "mine.py, line 7", "In[3], line 7": a traceback's last frame that is neither ours nor a package's; or ""."""
    frames = [(file, line) for file, line in FRAME.findall(trace) if _is_agents_own(file)]
    if not frames:
        return ""
    file, line = frames[-1]
    return f"{cell_of(file) or os.path.basename(file)}, line {line}"


def _is_agents_own(file: str) -> bool:
    return not file.startswith(NOT_THE_AGENTS) and not re.search(r"(site|dist)-packages", file)


def exception_line(trace: str) -> str:
    """The first line of the last exception in a traceback, whose message may go on for many lines; "" if none."""
    found = re.findall(r"^  File .*\n(?:  .*\n)*(\S.*)$", trace, re.MULTILINE)
    return found[-1] if found else ""


def wrong_type(kind: str) -> str:
    """What is wrong with a reply of a type other than int, and the cure."""
    if kind in ("function", "method", "partial", "type"):
        return f"a {kind}, not a column: Kaggle calls what makes your agent; end the file with agent = make_agent()"
    return f"a {kind}, where Kaggle wants an int: return int(column)"
