"""Explains a fault: its place in the agent's file, Kaggle's rule behind it, and the cure, in a sentence to append.

Also here: the third-party packages on the judge, as far as they are known. Kaggle does not publish the judge's image.
What is known: the packages of submissions that played there, those that kaggle_environments needs, and the public
notebook image (github.com/Kaggle/docker-python), which is probably similar.
"""

import errno
import os
import re
from collections.abc import Callable
from typing import NamedTuple

from connectx_toolkit.kaggle.raised import Raised
from connectx_toolkit.kaggle.sandbox import FOLDER, WORK
from connectx_toolkit.system.console import as_option, bare_name

SEEN_THERE = frozenset({"kaggle_environments", "numba", "numpy", "scipy", "torch"})  # in submissions that played
_REQUIRED_NAMES = """
absl click flask google gymnasium gymnax jax jsonschema litellm ml_collections omegaconf open_spiel pettingzoo pokerkit
pydantic pyjson5 pygame pyspiel requests shimmy tenacity termcolor tqdm transformers typing_extensions upath yaml
"""
_IMAGE = """
Cython PIL annoy bs4 catboost cloudpickle cv2 cython deap dill fastai flax gensim gym gymnasium h5py igraph jax joblib
keras learntools lightgbm matplotlib networkx nltk optuna pandas plotly polars psutil ray requests seaborn shapely
skimage sklearn spacy statsmodels sympy tensorflow torchinfo torchmetrics torchvision tqdm transformers xgboost yaml
"""
REQUIRED = frozenset(_REQUIRED_NAMES.split())  # by kaggle_environments, on which the judge runs
IN_PUBLIC_IMAGE = frozenset(_IMAGE.split()) - REQUIRED
KNOWN_PACKAGES = SEEN_THERE | REQUIRED | IN_PUBLIC_IMAGE | {"__main__"}
_NAMES = "PIL absl bs4 cv2 google learntools pyspiel skimage sklearn upath yaml"
OTHERS_ON_PYPI = frozenset(_NAMES.split())  # there another project has this name, or none
FORMER = "connectx"  # the toolkit's package until version 2.0; many have a file of their own by that name
NEW_NAME = "of this toolkit it is called connectx_core since version 2.0"


def standing_of(package: str) -> str:
    """What is known about a package on the judge, in words."""
    if package == FORMER:
        return NEW_NAME
    known = {
        "submissions that use it play on Kaggle": SEEN_THERE,
        "kaggle_environments, on which the judge runs, needs it": REQUIRED,
        "Kaggle's public image has it": IN_PUBLIC_IMAGE,
    }
    unknown = "it is not among the packages that Kaggle is known to have"
    return next((words for words, packages in known.items() if package in packages), unknown)


def not_here(package: str) -> str:
    """That this machine lacks a package which Kaggle probably has; and the cure, if PyPI has it by that name."""
    cure = "" if package in OTHERS_ON_PYPI else f": pip install {package}"
    return f"{package} is not installed here, and {standing_of(package)}{cure}"


class Situation(NamedTuple):
    """The circumstances of a fault.

    files: the files in the agent's folder, including main.py, as relative paths.
    numpy: the version on this machine.
    name: what the author calls main.py.
    folder: in which the author has it, "" if that is not known.
    """

    files: frozenset[str]
    numpy: str
    name: str = "main.py"
    folder: str = ""

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
    is_beside = os.path.exists(os.path.join(situation.folder, path))
    if situation.folder and not (inside or is_beside or os.path.isabs(path)):
        return f"there is no {path} in {situation.folder}"
    if path.startswith(f"{FOLDER}/") and inside:
        return f"the archive has it at {inside}, which is {FOLDER}/{inside}"
    if path.startswith(f"{FOLDER}/"):
        here = "a single .py goes up alone" if situation.is_alone else f"the archive has no {path[len(FOLDER) + 1 :]}"
        return f"{here}: pack {name}{situation.packing}"
    if path.startswith(f"{WORK}/"):
        where = "os.getcwd() is not the file's folder on Kaggle"
    elif not path.startswith("/"):
        where = "Kaggle's working directory is not the file's folder"
    elif path.startswith("/kaggle/"):
        where = "the judge has no notebook's folders"
    else:
        where = f"{path} is a path of this machine; Kaggle has only what you submit"
    if inside:
        return f"{where}: the archive has it, open {FOLDER}/{inside}"
    packs = f"{bare_name('build')} packs it with {as_option('data', 'FILE')}"
    return f"{where}: open {FOLDER}/{name}{situation.packing}; {packs}"


def _no_module(fault: Raised, situation: Situation) -> str:
    top = fault.name.split(".")[0]
    if not top:
        return ""
    if situation.holds(top):
        return (
            f"{top} lies beside main.py, but Kaggle takes that folder off sys.path after loading: import it "
            f'at the top of main.py, or do sys.path.append("{FOLDER}") first'
        )
    if top in KNOWN_PACKAGES:
        return not_here(top)
    if top == FORMER:
        return f"your submission does not contain it; {NEW_NAME}"
    return (
        f"Kaggle is not known to have {top}, and your submission does not contain it: pack it"
        f"{situation.packing} ({bare_name('build')} puts helper modules into one file), or catch ImportError and play "
        "without it"
    )


def build_it() -> str:
    return f"let {bare_name('build')} build it"


def _taken_name(fault: Raised, situation: Situation) -> str:
    """Of the one environment that leaves its folder on the path."""
    places = [fault.filename, *(file for file, _, _ in fault.frames)]
    for match in filter(None, (re.search(r"kaggle_environments/envs/lux_ai_s3/(\w+)", place) for place in places)):
        if situation.holds(match[1]):
            return f"Kaggle's own environments put another {match[1]} on the path, before yours: rename your {match[1]}"
    return ""


def _no_name(fault: Raised, situation: Situation) -> str:
    if fault.name == "__file__":
        return _no_file_name()
    if fault.name == "get_ipython":
        return "it is a notebook's command, not Python: leave it out"
    if not fault.name or fault.kinds[0] != "NameError":  # a local variable is not one of another cell
        return ""
    page = bare_name("build NAME.ipynb", 'build("NAME.ipynb")')
    cells = f"other cells of a notebook are not submitted, but {page} brings them along"
    file = (fault.place.partition(",")[0] or "main.py").replace("main.py", situation.name)
    return f"import or define {fault.name} in {file}: {cells}"


def _no_file_name(*_: object) -> str:
    return f'Kaggle\'s loader runs the text by exec and sets no __file__: use "{FOLDER}", or {build_it()}'


def _no_package(*_: object) -> str:
    return f"main.py belongs to no package: import x, not .x, or {build_it()}"


def _missing_file(fault: Raised, situation: Situation) -> str:
    if any(file.endswith("subprocess.py") for file, _, _ in fault.frames):
        return "nobody says which programs the judge has: go on without it"
    return _no_file(fault.filename, situation) if fault.filename else ""


def _old_numpy(fault: Raised, situation: Situation) -> str:
    name = re.match(r"module 'numpy[\w.]*' has no attribute '(\w+)'|'numpy\.\w+' object has no attribute '(\w+)'|"
                    r"`np\.(\w+)` was ", fault.message)  # fmt: skip
    if not name:
        return ""
    gone = name[name.lastindex or 0]
    return f"numpy {situation.numpy} here, and numpy 2 on the judge, have no {gone}: use what replaced it"


def _read_only(fault: Raised, situation: Situation) -> str:
    is_place = fault.errno == errno.EROFS or ("PermissionError" in fault.kinds and fault.filename)
    return "that folder is read-only: write to the working directory or tempfile" if is_place else ""


def _no_network(fault: Raised, situation: Situation) -> str:
    is_network = fault.kinds[0] != "BrokenPipeError" and (
        fault.errno == errno.ENETUNREACH or {"gaierror", "ConnectionError", "URLError", "ConnectError"} & {*fault.kinds}
    )
    return "the judge has no network: submit what it needs" if is_network else ""


def _saved_whole(fault: Raised, situation: Situation) -> str:
    """Of what torch.save(net) or pickle wrote: it names the module of its class, as that was called then."""
    own = {os.path.splitext(file)[0] for file in (situation.name, fault.place.partition(",")[0])}
    if fault.frames and not fault.frames[-1][2]:  # told by a guard: what is imported by name is in its file
        own.add("agent")
    if fault.name.split(".")[0] in KNOWN_PACKAGES or not (fault.name in own or fault.passes("/torch/serialization.py")):
        return ""
    return (
        "it was saved whole, and Kaggle does not find its class: save net.state_dict() and build the network in the "
        f"agent, or let {bare_name('train adopt')} make an agent of it"
    )


def _wrong_arguments(fault: Raised, situation: Situation) -> str:
    is_kaggles = fault.comes_from("call_as_kaggle", "callable_agent")  # else a call in the agent's own code is wrong
    return _ARGUMENTS if is_kaggles else ""


_NOTHING = (
    "it defines no function: Kaggle calls the last callable of the file, and code under "
    'if __name__ == "__main__" never runs'
)
_ARGUMENTS = (
    "Kaggle passes (obs, config), cut to as many as the function names before any *args or wrapper: "
    "def agent(obs, config)"
)
_CACHE = "numba's cache=True cannot work in a text that is run by exec: leave it out"
_VARIABLE = "the judge's environment variables are not known: os.environ.get"
_STREAM = "Kaggle replaces sys.stdout and sys.stderr by text buffers without it"
_PICKLE = (
    "pickle does not find the classes of main.py, because Kaggle runs it by exec: pickle plain lists, dicts and "
    "arrays, or define the classes in a module beside main.py"
)
_TENSORS = (
    "torch.load reads only tensors, not whole modules: save net.state_dict(), build the network in the agent, then "
    "net.load_state_dict(torch.load(...))"
)
_STEPS = "if that is Kaggle's configuration, its steps are called episodeSteps now"
_NO_GPU = 'the judge has no GPU: use device "cpu", and torch.load(..., map_location="cpu")'
_STYLE = "matplotlib has renamed its styles (seaborn-dark is seaborn-v0_8-dark), and nobody sees a plot: leave it out"
_THREADS = "Kaggle's server calls each move in a new thread"
_GRAD = (
    "torch.set_grad_enabled(False) holds in its own thread, and Kaggle's server calls each move in a new one: put "
    '"with torch.no_grad():" into the agent'
)
_CUDA = (
    "CUDA (?:error|out of memory|driver|unknown error|is not available)|No CUDA GPUs|Found no NVIDIA driver|"
    "Attempting to deserialize object on (?:a )?CUDA|Torch not compiled with CUDA|Unexpected error from cuda"
)

# (name of a type, what its message begins with, the cure or a function that gives it, "" if it does not apply): the
# first rule that fits decides. A type stands for those that are made of it, too.
RULES: tuple[tuple[str, str, str | Callable[[Raised, Situation], str]], ...] = (
    ("Exception", "", _taken_name),
    ("NameError", "", _no_name),
    ("KeyError", "'__file__'", _no_file_name),
    ("KeyError", "'steps'", _STEPS),
    ("AttributeError", "(?:'Struct' object has no attribute ')?steps'?$", _STEPS),
    ("KeyError", "\"?'__name__' not in globals", _no_package),
    ("KeyError", "", lambda fault, _: _VARIABLE if fault.comes_from("<frozen os>", "/os.py") else ""),
    ("ModuleNotFoundError", "", _saved_whole),
    ("ModuleNotFoundError", "", _no_module),
    ("ImportError", "attempted relative import", _no_package),
    ("OSError", ".* is not a valid package style", _STYLE),
    ("FileNotFoundError", "", _missing_file),
    ("OSError", "", _read_only),
    ("Exception", "", _no_network),
    ("AttributeError", "", _old_numpy),
    ("AttributeError", "Can't get", _saved_whole),
    ("AttributeError", "Can't (?:pickle|get)", _PICKLE),
    ("AttributeError", "'_io.StringIO' object has no attribute", _STREAM),
    ("AttributeError", ".*'startswith'", lambda fault, _: _CACHE if fault.passes("/numba/") else ""),
    ("UnsupportedOperation", "", _STREAM),
    ("UnpicklingError", "Weights only load failed", _TENSORS),
    ("PicklingError", "", _PICKLE),
    ("RuntimeError", _CUDA, _NO_GPU),
    ("AssertionError", _CUDA, _NO_GPU),
    ("CudaSupportError", "", _NO_GPU),
    ("RuntimeError", "cannot cache function", _CACHE),
    ("IndexError", "", lambda fault, _: _NOTHING if fault.comes_from("get_last_callable") else ""),
    ("TypeError", ".*argument", _wrong_arguments),
    ("SystemExit", "", "it ends the judge's process: return a column"),
    ("KeyboardInterrupt", "", "it ends the judge's process: return a column"),
    ("EOFError", "EOF when reading a line", "nobody types on the judge: decide from obs and config"),
    ("ValueError", ".* returned .*, of type (?:bool|float), where Kaggle wants an int", "return int(column)"),
    ("ValueError", "signal only works in main thread", f"{_THREADS}: stop the search by time.perf_counter()"),
    ("ProgrammingError", "SQLite objects created in a thread", f"{_THREADS}: connect(..., check_same_thread=False)"),
    ("AttributeError", "'_thread._local' object has", f"{_THREADS}, where threading.local is empty: use a global"),
    ("RuntimeError", "There is no current event loop in", f"{_THREADS}, which has no loop: asyncio.run(...) makes one"),
    ("RuntimeError", r"Can't call numpy\(\) on Tensor that requires grad", _GRAD),
)


def remedy_for(fault: Raised, situation: Situation) -> str:
    """The rule of Kaggle's behind a fault, and the cure; "" if none is known."""
    fitting = (cure for kind, begins, cure in RULES if kind in fault.kinds and re.match(begins, fault.message))
    cures = (cure if isinstance(cure, str) else cure(fault, situation) for cure in fitting)
    return next(filter(None, cures), "")


def explain_fault(text: str, fault: Raised, situation: Situation) -> str:
    """The fault's text with its place in the agent's code and its remedy."""
    place, cure = fault.place, remedy_for(fault, situation)
    place = f" ({place.replace('main.py', situation.name)})" if place else ""
    return f"{text}{place}{'; ' if cure else ''}{cure}"


def wrong_type(kind: str) -> str:
    """What is wrong with a reply of a type other than int, and the cure."""
    if kind in ("function", "method", "partial", "type"):
        cure = "end the file with agent = make_agent()"
        return f"of type {kind}, not a column: Kaggle calls what makes your agent; {cure}"
    cure = "one of them, such as int(columns[0])" if kind in ("list", "ndarray", "tuple") else "int(column)"
    return f"of type {kind}, where Kaggle wants an int: return {cure}"
