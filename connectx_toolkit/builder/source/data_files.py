"""Finds the calls by which an agent opens files, so that ``module`` can wrap their paths.

Which files those are, ``connectx_toolkit.kaggle.dependencies`` says. A submission with some is an archive.
"""

import ast
from collections.abc import Callable, Collection, Mapping

from connectx_toolkit.kaggle.dependencies import LISTERS, LISTING_METHODS, READERS, READING_METHODS

_OTHERS = "pathlib.Path os.path.exists os.path.isfile os.path.isdir os.path.getsize os.chdir sqlite3.connect"
OTHERS = frozenset(_OTHERS.split())
PATH_METHODS = READING_METHODS | LISTING_METHODS | {"exists", "is_file", "is_dir"}
PATH_KEYWORDS = frozenset({"file", "f", "fname", "path", "filename", "pathname", "path_or_bytes", "filepath"})

Qualified = Callable[[ast.AST], str]


def path_of(call: ast.Call, qualified: Qualified, imported: Collection[str]) -> ast.expr | None:
    """The expression in a call that is, or may be, the path of a file, or a buffer; None if there is none.

    Args:
        imported: the names that imports bind, for example ``gzip`` in ``gzip.open``, which is not a path's method.
    """
    if qualified(call.func) in READERS | LISTERS | OTHERS:
        named = (keyword.value for keyword in call.keywords if keyword.arg in PATH_KEYWORDS)
        path = call.args[0] if call.args else next(named, None)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in PATH_METHODS:
        path = None if isinstance(call.func.value, ast.Name) and call.func.value.id in imported else call.func.value
    else:
        return None
    return None if isinstance(path, ast.Starred) else path


def is_writing(call: ast.Call) -> bool:
    """Whether a call clearly opens its file for writing."""
    place = 0 if isinstance(call.func, ast.Attribute) and call.func.attr == "open" and len(call.args) < 2 else 1
    modes = [*call.args[place : place + 1], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return any(set(text) <= set("rwaxbt+") and set(text) & set("wax+") for text in texts)


def list_sizes(sizes: Mapping[str, int], most: int | None = None) -> str:
    """Every file with its size, the largest first; of more than ``most``, so many."""
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(sizes) - most} more" if most is not None and len(sizes) > most else ""
    return ", ".join(f"{name} ({size:,})" for name, size in ordered[:most]) + more
