"""Finds the data files that an agent opens by path. A submission with such files is an archive that contains them.

They are found in the sources: the string literals that flow into the path of a call that reads a file or lists a
folder, in whatever way the path is put together. What is only named is not taken, nor is what looks like a credential.
"""

import ast
import pickletools
import zipfile
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatch
from pathlib import Path, PureWindowsPath

from connectx_toolkit.builder.embedded.importer import JUDGE_FOLDER
from connectx_toolkit.system.posix import slashed

# Calls whose first argument is a path. READERS and LISTERS fail if there is no such file or folder.
_READERS = """
open io.open os.open codecs.open gzip.open bz2.open lzma.open zipfile.ZipFile tarfile.open
numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile numpy.memmap scipy.sparse.load_npz torch.load torch.jit.load
joblib.load pandas.read_csv pandas.read_parquet pandas.read_pickle ctypes.CDLL
onnxruntime.InferenceSession keras.models.load_model tensorflow.keras.models.load_model PIL.Image.open cv2.imread
safetensors.torch.load_file safetensors.numpy.load_file
"""
_LISTERS = "os.listdir os.scandir os.walk glob.glob glob.iglob"
_OTHERS = "pathlib.Path os.path.exists os.path.isfile os.path.isdir os.path.getsize os.chdir sqlite3.connect"
READERS, LISTERS, OTHERS = (frozenset(names.split()) for names in (_READERS, _LISTERS, _OTHERS))
READING_METHODS = frozenset({"read_text", "read_bytes", "open"})
LISTING_METHODS = frozenset({"iterdir", "glob", "rglob"})
METHODS = READING_METHODS | LISTING_METHODS | {"exists", "is_file", "is_dir"}
PATH_KEYWORDS = frozenset({"file", "f", "fname", "path", "filename", "pathname", "path_or_bytes", "filepath"})
# Never packed, since archives are shared; a database can still be named by --data.
CREDENTIALS = ("kaggle.json", "access_token", "credentials.json", ".env", ".env.*", "*.env", ".netrc", "*.pem", "*.key")
DATABASES = ("*.sqlite", "*.sqlite3", "*.sqlite-*")
BUFFERS = frozenset({"io.BytesIO", "io.StringIO", "connectx.weights.read_data"})
WILD = frozenset("*?[")  # of glob's patterns
SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/tmp/", "/var/")  # absolute paths that any Linux has
LONGEST = 200  # characters of a literal that may be a name
SOURCES = (".py", ".pyc")  # never data files: modules are embedded

Qualified = Callable[[ast.AST], str]


def path_of(call: ast.Call, qualified: Qualified, imported: Collection[str]) -> ast.expr | None:
    """The expression in a call that is, or may be, the path of a file; None if there is none.

    Args:
        imported: the names that imports bind, for example ``gzip`` in ``gzip.open``, which is not a path's method.
    """
    if qualified(call.func) in READERS | LISTERS | OTHERS:
        named = (keyword.value for keyword in call.keywords if keyword.arg in PATH_KEYWORDS)
        path = call.args[0] if call.args else next(named, None)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        path = None if isinstance(call.func.value, ast.Name) and call.func.value.id in imported else call.func.value
    else:
        return None
    is_buffer = isinstance(path, ast.Call) and qualified(path.func) in BUFFERS
    return None if is_buffer or isinstance(path, ast.Starred) else path


def writes(call: ast.Call) -> bool:
    """Whether a call clearly opens its file for writing."""
    place = 0 if isinstance(call.func, ast.Attribute) and call.func.attr == "open" and len(call.args) < 2 else 1
    modes = [*call.args[place : place + 1], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return any(set(text) <= set("rwaxbt+") and set(text) & set("wax+") for text in texts)


def literal_path(node: ast.expr, qualified: Qualified) -> str:
    """The path in an expression that is a string literal or a Path of one; "" for any other expression."""
    if isinstance(node, ast.Call) and qualified(node.func) == "pathlib.Path" and len(node.args) == 1:
        node = node.args[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def purpose(call: ast.Call, qualified: Qualified) -> str:
    """What a call of ``path_of`` does with its path: "read" a file, "list" a folder, or "" for anything else."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    name = qualified(call.func)
    if name in LISTERS or method in LISTING_METHODS:
        return "list"
    reads = (name in READERS or method in READING_METHODS) and not writes(call)
    return "read" if reads else ""


def missing(call: ast.Call, path: ast.expr, qualified: Qualified, folder: Path, written: Collection[str]) -> str:
    """Why the file that a call clearly reads will be missing on the judge; "" if it will not, or that is not known.

    Args:
        folder: the agent's folder.
        written: the names of files that the agent writes itself.
    """
    name = literal_path(path, qualified)
    is_own = slashed(name).startswith(f"{slashed(str(folder))}/")  # of this machine, wherever the folder lies
    if purpose(call, qualified) != "read" or not name or name in written or (name.startswith(SYSTEM) and not is_own):
        return ""
    if is_own:
        inside = Path(name).relative_to(folder)
        return f'{name} is a path of this machine: open it as Path(__file__).parent / "{inside.as_posix()}"'
    if "\\" in name and not PureWindowsPath(name).drive:
        return f'{name} has backslashes, and the judge runs Linux: write "{PureWindowsPath(name).as_posix()}"'
    inside = Path(name.removeprefix(JUDGE_FOLDER + "/"))
    cure = f'put it beside {folder.name}/, or embed it by connectx.weights.read_data("{inside.name}")'
    if inside.is_absolute() or PureWindowsPath(name).drive:
        cure = f'copy it into {folder} and open it as Path(__file__).parent / "{PureWindowsPath(name).name}"'
        return f"{name} is a path of this machine, and the judge has only what is submitted: {cure}"
    if not (folder / inside).exists():
        return f"{name}: there is no such file in {folder}, and the judge has only what lies beside the agent: {cure}"
    return ""


def name_in(text: str) -> str:
    """A literal as a path below the agent's folder; "" if it cannot be one."""
    name = text.removeprefix(JUDGE_FOLDER).lstrip("/")
    parts = Path(name).parts
    is_all = not set(name) - WILD - {"."} or "**" in name  # "", "." and "*" would add the agent's whole folder
    return name if not is_all and len(name) <= LONGEST and name.isprintable() and ".." not in parts else ""


def reached(folder: Path, names: Collection[str]) -> tuple[set[Path], set[Path]]:
    """The files, and the folders, that paths put together of some of ``names`` lead to, from ``folder``."""
    files, folders, pending = set[Path](), set[Path](), [folder]
    while pending:
        start = pending.pop()
        for name in names:
            for path in sorted(start.glob(name)) if set(name) & WILD else [start / name]:
                if path.is_file():
                    files.add(path)
                elif path.is_dir() and path not in folders:
                    folders.add(path)
                    pending.append(path)
    return files, folders


def is_private(path: Path, by_name: bool = False) -> bool:
    """Whether a file should not be in an archive, which people share; ``by_name``: its author named it by --data."""
    return any(fnmatch(path.name.lower(), sign) for sign in (*CREDENTIALS, *(() if by_name else DATABASES)))


def listed(sizes: Mapping[str, int]) -> str:
    """Every file with its size, the largest first."""
    return ", ".join(f"{name} ({size:,})" for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])))


def files_at(path: Path, key: str) -> dict[str, Path]:
    """Path in the archive -> file on disk, of a file or of a whole folder, except hidden and Python files."""
    if path.is_file():
        found = [path]
    elif path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file())
    else:
        return {}
    inside = {file: file.relative_to(path) for file in found}
    return {
        (Path(key) / name).as_posix(): file
        for file, name in inside.items()
        if file.suffix not in SOURCES and not any(part.startswith((".", "__")) for part in name.parts)
    }


def loads_numbers_only(call: ast.Call) -> bool:
    """Whether a call of torch.load reads only tensors and containers, which is its default."""
    told = [keyword.value for keyword in call.keywords if keyword.arg == "weights_only"]
    return not any(isinstance(value, ast.Constant) and value.value is False for value in told)


def pickled_classes(path: Path) -> set[str]:
    """The dotted names that a pickle, or a file of torch.save, would import. Nothing is unpickled."""
    with path.open("rb") as file:
        start = file.read(2)
    if start[:1] == b"\x80":
        return _imports_of(path.read_bytes())
    if start != b"PK" or not zipfile.is_zipfile(path):
        return set()
    with zipfile.ZipFile(path) as archive:
        pickles = [name for name in archive.namelist() if name.endswith("data.pkl")]
        return set().union(*(_imports_of(archive.read(name)) for name in pickles))


def _imports_of(pickled: bytes) -> set[str]:
    found, strings, memo = set[str](), [""], list[str]()
    try:
        for code, argument, _ in pickletools.genops(pickled):
            if code.name in ("GLOBAL", "INST"):
                found.add(str(argument).replace(" ", "."))
            elif code.name == "STACK_GLOBAL":
                found.add(".".join(strings[-2:]))
            elif "UNICODE" in code.name:
                strings.append(str(argument))
            elif code.name == "MEMOIZE":
                memo.append(strings[-1])
            elif code.name in ("BINGET", "LONG_BINGET") and isinstance(argument, int) and argument < len(memo):
                strings.append(memo[argument])
    except ValueError:
        pass  # truncated, or not a pickle
    return found
