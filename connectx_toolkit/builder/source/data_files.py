"""Judges the calls by which an agent opens files, and what its data files hold.

Which files those are, ``connectx_toolkit.kaggle.dependencies`` says. A submission with some is an archive.
"""

import ast
import pickletools
import zipfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PureWindowsPath

from connectx_toolkit.kaggle.dependencies import LISTERS, LISTING_METHODS, READERS, READING_METHODS
from connectx_toolkit.kaggle.sandbox import AGENT
from connectx_toolkit.system.posix import slashed

_OTHERS = "pathlib.Path os.path.exists os.path.isfile os.path.isdir os.path.getsize os.chdir sqlite3.connect"
OTHERS = frozenset(_OTHERS.split())
METHODS = READING_METHODS | LISTING_METHODS | {"exists", "is_file", "is_dir"}
PATH_KEYWORDS = frozenset({"file", "f", "fname", "path", "filename", "pathname", "path_or_bytes", "filepath"})
BUFFERS = frozenset({"io.BytesIO", "io.StringIO", "connectx.weights.read_data"})
SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/tmp/", "/var/")  # absolute paths that any Linux has

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


def missing(call: ast.Call, path: ast.expr, qualified: Qualified, folder: Path, written: Collection[str]) -> str:
    """Why the file that a call clearly reads will be missing on the judge; "" if it will not, or that is not known.

    Args:
        folder: the agent's folder.
        written: the names of files that the agent writes itself.
    """
    name = literal_path(path, qualified)
    is_own = slashed(name).startswith(f"{slashed(str(folder))}/")  # of this machine, wherever the folder lies
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    reads = qualified(call.func) in READERS or method in READING_METHODS
    if not reads or writes(call) or not name or name in written or (name.startswith(SYSTEM) and not is_own):
        return ""
    if is_own:
        inside = Path(name).relative_to(folder)
        return f'{name} is a path of this machine: open it as Path(__file__).parent / "{inside.as_posix()}"'
    if "\\" in name and not PureWindowsPath(name).drive:
        return f'{name} has backslashes, and the judge runs Linux: write "{PureWindowsPath(name).as_posix()}"'
    inside = Path(name.removeprefix(AGENT + "/"))
    cure = f'put it beside {folder.name}/, or embed it by connectx.weights.read_data("{inside.name}")'
    if inside.is_absolute() or PureWindowsPath(name).drive:
        cure = f'copy it into {folder} and open it as Path(__file__).parent / "{PureWindowsPath(name).name}"'
        return f"{name} is a path of this machine; Kaggle has only what you submit: {cure}"
    if not (folder / inside).exists():
        return f"{name}: no such file in {folder}; Kaggle has only the files beside the agent: {cure}"
    return ""


def listed(sizes: Mapping[str, int], most: int | None = None) -> str:
    """Every file with its size, the largest first; of more than ``most``, so many."""
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(sizes) - most} more" if most is not None and len(sizes) > most else ""
    return ", ".join(f"{name} ({size:,})" for name, size in ordered[:most]) + more


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
