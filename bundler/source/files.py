"""Finds the data files that an agent opens by path. A submission with such files is an archive that contains them.

They are found in the sources. If any module opens files, every string literal in the modules that names a file or
folder beside the module or the agent adds it to the archive, in whatever way the path is put together.
"""

import ast
import pickletools
import zipfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from bundler.embedded.importer import JUDGE_FOLDER

# Calls whose first argument is a path. READERS fail if there is no such file.
_READERS = """
open io.open os.open codecs.open gzip.open bz2.open lzma.open zipfile.ZipFile tarfile.open os.listdir os.scandir
numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile numpy.memmap scipy.sparse.load_npz torch.load torch.jit.load
joblib.load pandas.read_csv pandas.read_parquet pandas.read_pickle ctypes.CDLL
"""
_OTHERS = """
pathlib.Path os.path.exists os.path.isfile os.path.isdir os.path.getsize os.walk os.chdir glob.glob sqlite3.connect
"""
READERS, OTHERS = frozenset(_READERS.split()), frozenset(_OTHERS.split())
METHODS = frozenset({"read_text", "read_bytes", "open", "exists", "is_file", "is_dir", "iterdir", "glob", "rglob"})
READING_METHODS = frozenset({"read_text", "read_bytes", "open"})
PATH_KEYWORDS = frozenset({"file", "f", "fname", "path", "filename"})
BUFFERS = frozenset({"io.BytesIO", "io.StringIO", "connectx.weights.read_data"})
SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/tmp/", "/var/")  # absolute paths that any Linux has
LONGEST = 200  # characters of a literal that may be a name
SOURCES = (".py", ".pyc")  # never data files: modules are embedded

Qualified = Callable[[ast.AST], str]


def path_of(call: ast.Call, qualified: Qualified, imported: Collection[str]) -> ast.expr | None:
    """The expression in a call that is, or may be, the path of a file; None if there is none.

    Args:
        imported: the names that imports bind, for example ``gzip`` in ``gzip.open``, which is not a path's method.
    """
    if qualified(call.func) in READERS | OTHERS:
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


def missing(call: ast.Call, path: ast.expr, qualified: Qualified, folder: Path, written: Collection[str]) -> str:
    """Why the file that a call clearly reads will be missing on the judge; "" if it will not, or that is not known.

    Args:
        folder: the agent's folder.
        written: the names of files that the agent writes itself.
    """
    reads = qualified(call.func) in READERS or (
        isinstance(call.func, ast.Attribute) and call.func.attr in READING_METHODS
    )
    name = literal_path(path, qualified)
    if not reads or not name or writes(call) or name in written or name.startswith(SYSTEM):
        return ""
    inside = name.removeprefix(JUDGE_FOLDER + "/")
    cure = f'put it beside {folder.name}/, or embed it by connectx.weights.read_data("{Path(name).name}")'
    if Path(inside).is_absolute():
        return f"{name}: the judge has none of this machine's files: {cure} and name it without its folder"
    if not (folder / inside).exists():
        return f"{name}: there is no such file in {folder}, and on the judge only what lies beside the agent: {cure}"
    return ""


def literals(nodes: list[ast.AST], qualified: Qualified) -> Iterator[tuple[str, int]]:
    """Each string of a module that may be a file name, with its line; those in ``read_data`` are left out."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    embedded = {id(a) for c in calls if qualified(c.func) == "connectx.weights.read_data" for a in c.args}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in embedded:
            name = node.value.removeprefix(JUDGE_FOLDER).lstrip("/")
            parts = Path(name).parts  # empty for "" and ".", which would add the agent's whole folder
            if parts and len(name) <= LONGEST and name.isprintable() and ".." not in parts:
                yield name, node.lineno


def files_at(path: Path, key: str) -> dict[str, Path]:
    """Path in the archive -> file on disk, for a file or for all files in a folder, except hidden and Python files."""
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
