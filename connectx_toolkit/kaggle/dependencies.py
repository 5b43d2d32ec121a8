"""The files that an agent needs: the modules that it imports, and the data files that its strings name.

The builder packs them, a fingerprint hashes them, and a source that needs any has to be built. All three ask here.
"""

import ast
import contextlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.kaggle.sandbox import FOLDER
from connectx_toolkit.system.files import ROOT

REACHED = "connectx_core"  # the package of the toolkit that an agent can import
# Calls whose first argument is a path. Those of READERS and LISTERS fail if there is no such file or folder.
_READERS = """
open io.open os.open codecs.open gzip.open bz2.open lzma.open zipfile.ZipFile tarfile.open
numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile numpy.memmap scipy.sparse.load_npz torch.load torch.jit.load
joblib.load pandas.read_csv pandas.read_parquet pandas.read_pickle ctypes.CDLL
onnxruntime.InferenceSession keras.models.load_model tensorflow.keras.models.load_model PIL.Image.open cv2.imread
safetensors.torch.load_file safetensors.numpy.load_file
"""
_LISTERS = "os.listdir os.scandir os.walk glob.glob glob.iglob"
READERS, LISTERS = frozenset(_READERS.split()), frozenset(_LISTERS.split())
READING_METHODS = frozenset({"read_text", "read_bytes", "open"})
LISTING_METHODS = frozenset({"iterdir", "glob", "rglob"})
LISTING = {name.rpartition(".")[2] for name in LISTERS} | LISTING_METHODS
READING = {name.rpartition(".")[2] for name in READERS} | READING_METHODS | LISTING
WILD = frozenset("*?[")  # of glob's patterns
LONGEST_PATH = 200  # characters of a string that may be a name
SOURCE_SUFFIXES = (".py", ".pyc")  # never data files
# Never packed, since archives are shared; a database can still be named by --data.
_CREDENTIALS = """
kaggle.json credentials.json access_token *token *token.txt *token.json .env .env.* *.env .netrc .pypirc
.git-credentials id_rsa* id_ecdsa* id_ed25519* *.pem *.key *.p12 *.pfx
"""
CREDENTIAL_FILES = tuple(_CREDENTIALS.split())
DATABASES = ("*.sqlite", "*.sqlite3", "*.sqlite-*", "*.sqlite3-*", "*.db")


@cache
def _installed_folders() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed packages."""
    paths = sysconfig.get_paths()
    return tuple(os.path.join(paths[name], "") for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def is_installed(path: str) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return path.startswith(_installed_folders()) or f"{os.sep}site-packages{os.sep}" in path


def on_path() -> list[Path]:
    """The folders on ``sys.path`` with modules that are not installed, but for the toolkit's."""
    folders = [os.path.abspath(entry) for entry in sys.path if os.path.isdir(entry or ".")]
    return [Path(entry) for entry in folders if entry != str(ROOT) and not is_installed(os.path.join(entry, ""))]


def module_folders(own: Sequence[Path], name: str) -> list[Path]:
    """Where a module of an agent's is searched, in this order: its own folders, then of the toolkit ``connectx_core``
    alone.

    ``connectx_toolkit.kaggle.agent_file`` has the same rule as an import hook.

    Args:
        own: first the folder of the agent's file.
        name: of the module, dotted or its first part.
    """
    first, *others = own
    toolkits = [ROOT] if name.partition(".")[0] == REACHED else []
    return list(dict.fromkeys([first, *(folder for folder in others if folder != ROOT), *toolkits]))


def find_module(folders: Iterable[Path], dotted: str) -> Path | None:
    """The file of a module, or the folder of a package without ``__init__.py``; None if no folder has it."""
    for folder in folders:
        base = folder.joinpath(*dotted.split("."))
        files = [base / "__init__.py", *(base.with_name(base.name + suffix) for suffix in (".py", *all_suffixes()))]
        if source := next((file for file in files if file.is_file()), None):
            return source
        if base.is_dir() and any(base.rglob("*.py")):
            return base
    return None


def added_folders(nodes: Iterable[ast.AST], home: Path) -> list[Path]:
    """The folders of modules that ``sys.path.append`` and ``insert`` add, by the texts in what is added.

    ``home``: in which what is added lies.
    """
    calls = (node for node in nodes if isinstance(node, ast.Call) and node.args)
    added = [each.args[-1] for each in calls if re.fullmatch(r"(\w+\.)?path\.(append|insert)", ast.unparse(each.func))]
    folders = list[Path]()
    for each in added:
        values = [part.value for part in ast.walk(each) if isinstance(part, ast.Constant)]
        texts = [value for value in values if isinstance(value, str) and value != FOLDER]
        folders.append(home.joinpath(*(text.removeprefix(f"{FOLDER}/") for text in texts)))
    return [path for path in dict.fromkeys(folders) if path != home and path.is_dir()]


def folders_of(agent: Path) -> list[Path]:
    """The folders that an agent's file adds to ``sys.path``."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # whoever loads it says so
        return added_folders(ast.walk(ast.parse(agent.read_bytes())), agent.parent)
    return []


class Mentions(NamedTuple):
    """What sources name.

    names: string -> line, of those that may name files or folders
    reads: whether anything is read or listed by its path
    lists: whether a folder is listed
    """

    names: Mapping[str, int]
    reads: bool
    lists: bool


def mentions_in(nodes: Iterable[ast.AST], but: Iterable[ast.AST] = ()) -> Mentions:
    """What some nodes of a source name; docstrings and the strings in ``but`` name nothing."""
    nodes = list(nodes)
    left_out = {id(node) for node in but} | {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    names, used = dict[str, int](), set[str]()
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            names |= {} if len(node.value) > LONGEST_PATH or node.value in names else {node.value: node.lineno}
        elif isinstance(node, ast.Name | ast.Attribute):
            used.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.alias):
            used.add(node.name.rpartition(".")[2])
    return Mentions(names, bool(used & READING), bool(used & LISTING))


def merge_mentions(found: Iterable[Mentions]) -> Mentions:
    """What several sources name."""
    found = list(found)
    names = {name: line for each in reversed(found) for name, line in each.names.items()}
    return Mentions(names, any(each.reads for each in found), any(each.lists for each in found))


def name_in(text: str) -> str:
    """A string as a path below the agent's folder; "" if it cannot be one."""
    name = text.removeprefix(FOLDER).lstrip("/")
    is_all = not set(name) - WILD - {"."} or "**" in name  # "", "." and "*" would add the agent's whole folder
    return name if not is_all and name.isprintable() and ".." not in Path(name).parts else ""


def named_files(folder: Path, found: Mentions) -> dict[Path, str]:
    """Data file in a folder, or below it -> the string that names it, or that names its folder.

    Names may be put together: "data" and "book.txt" name data/book.txt. A folder that a string names is taken whole,
    but for hidden files and sources, if no string names a file in it, or if the agent lists folders. Patterns count
    only if it does.
    """
    files, folders, pending = dict[Path, str](), dict[Path, str](), [folder]
    names = {name: text for text in found.names if (name := name_in(text))}
    seen = {os.path.realpath(folder)}
    while pending:
        start = pending.pop()
        for name, text in names.items():
            is_pattern = found.lists and bool(set(name) & WILD)
            for path in sorted(start.glob(name)) if is_pattern else [start / name]:
                if os.path.isfile(path):
                    files.setdefault(path, text)
                elif os.path.isdir(path) and os.path.realpath(path) not in seen:
                    seen.add(os.path.realpath(path))
                    folders[path] = text
                    pending.append(path)
    files = {path: text for path, text in files.items() if path.suffix not in SOURCE_SUFFIXES}
    for each, text in folders.items() if found.reads else ():
        if found.lists or not any(path.is_relative_to(each) for path in files):
            files = dict.fromkeys(files_below(each), text) | files
    return files


def files_below(path: Path) -> list[Path]:
    """A file, or the data files in a folder, but for hidden ones."""
    if path.is_file():
        return [path] if path.suffix not in SOURCE_SUFFIXES else []
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix not in SOURCE_SUFFIXES)
    return [file for file in files if not any(part.startswith((".", "__")) for part in file.relative_to(path).parts)]


def is_private(path: Path, by_name: bool = False) -> bool:
    """Whether a file should not be in an archive, which people share; ``by_name``: its author named it by --data."""
    return any(fnmatch(path.name.lower(), sign) for sign in (*CREDENTIAL_FILES, *(() if by_name else DATABASES)))
