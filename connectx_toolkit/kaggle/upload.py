"""What Kaggle does with an uploaded file before it runs: determines its kind, unpacks it, compiles it."""

import ast
import contextlib
import gzip
import io
import json
import stat
import warnings
import zlib
from pathlib import Path

from connectx_toolkit.kaggle import archive as archives
from connectx_toolkit.system.console import bare_name

OTHER_KINDS = {
    b"PK\x03\x04": "a .zip",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"7z\xbc\xaf": "a .7z",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
}
UPLOAD_REMEDY = "submit a .py, or a .tar.gz with main.py at its root: tar czf submission.tar.gz main.py"


class Unsuitable(ValueError):
    """Kaggle cannot run the file; the text says why, and what to submit instead."""


def read_upload(path: Path, most: int) -> bytes:
    """The content of the file to be uploaded, of at most ``most`` bytes.

    Raises:
        OSError: it cannot be read, or is not a file.
        Unsuitable: it is larger than Kaggle accepts.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path} is a folder: pack it, tar czf submission.tar.gz -C {path} .")
    if not stat.S_ISREG(status.st_mode):
        kind = "a pipe" if stat.S_ISFIFO(status.st_mode) else "a device or a socket"
        raise OSError(f"{path} is {kind}, not a file")
    if status.st_size > most:
        raise Unsuitable(f"{status.st_size:,} bytes of {most:,} allowed")
    return path.read_bytes()


def unpack_upload(name: str, content: bytes, folder: Path) -> Path:
    """Unpacks a file in ``folder`` as Kaggle does and returns the Python file that is loaded, main.py.

    Raises:
        Unsuitable: Kaggle cannot run it.
    """
    for start, kind in OTHER_KINDS.items():
        if content.startswith(start):
            raise Unsuitable(f"it is {kind}; only a .tar.gz is certain to be unpacked: {UPLOAD_REMEDY}")
    if content[257:262] == b"ustar":
        raise Unsuitable(f"it is a .tar that is not compressed by gzip: {UPLOAD_REMEDY}")
    if content[:2] != b"\x1f\x8b":
        refuse_other_texts(name, content)
        (folder / "main.py").write_bytes(content)
        return folder / "main.py"
    try:
        return archives.extract_archive(io.BytesIO(content), folder)
    except archives.BadArchive as fault:
        with contextlib.suppress(EOFError, OSError, zlib.error), gzip.open(io.BytesIO(content)) as file:
            if file.read(512)[257:262] != b"ustar":
                inner = name.removesuffix(".gz")
                raise Unsuitable(f"it is one file compressed by gzip, no archive: submit {inner} itself") from None
        raise Unsuitable(f"{fault}; {UPLOAD_REMEDY}") from None
    except OSError as fault:
        raise Unsuitable(f"the archive cannot be unpacked: {fault}") from fault


def refuse_other_texts(name: str, content: bytes) -> None:
    """Raises Unsuitable for notebooks, replays and the like: they are text, and some even compile as Python."""
    if name.endswith(".gz") or name.endswith(".tgz"):
        raise Unsuitable(f"it is named like an archive, but is not compressed by gzip: {UPLOAD_REMEDY}")
    if content.lstrip()[:1] not in (b"{", b"["):
        return
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return
    keys = value.keys() if isinstance(value, dict) else ()
    if "cells" in keys:
        raise Unsuitable(f"it is a notebook: {bare_name('build')} makes a file of its agent")
    if "steps" in keys:
        raise Unsuitable(f"it is the replay of a game, not an agent: {bare_name('evaluate analyse')} reads replays")
    raise Unsuitable(f"it is JSON, not Python: {UPLOAD_REMEDY}")


def parse_main(content: bytes) -> ast.Module:
    """Parses main.py as Kaggle reads and compiles it. Raises Unsuitable if that fails."""
    mark = "begins with a byte order mark, which Kaggle's loader does not skip: save it as UTF-8 without one"
    faults = [
        (content.startswith((b"\xff\xfe", b"\xfe\xff")), "is UTF-16, and Kaggle reads UTF-8: save it as that"),
        (content.startswith(b"\xef\xbb\xbf"), mark),
        (b"\0" in content, "holds a NUL character"),
        (not content.strip(), "is empty: Kaggle calls the last function that the file defines"),
    ]
    for is_so, text in faults:
        if is_so:
            raise Unsuitable(text)
    try:
        with warnings.catch_warnings(action="ignore"):  # about invalid escapes, which Kaggle accepts
            tree = ast.parse(content.decode("utf-8"))
            compile(content.decode("utf-8"), "main.py", "exec", dont_inherit=True)  # finds more than the parser does
    except UnicodeDecodeError as fault:
        raise Unsuitable(f"is not UTF-8, as Kaggle reads it: {fault}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        text = str(fault).replace("<unknown>", "main.py") or "nested too deeply"
        raise Unsuitable(f"does not compile: {text}{notebook_remedy(content.decode())}") from None
    return tree


def refuse_notebook_as_script(tree: ast.Module) -> None:
    """Raises Unsuitable if a script is a notebook's whose agent is a text that %%writefile wrote."""
    for node in (getattr(each, "value", None) for each in tree.body):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("run_cell_magic") and len(node.args) == 3:
            magic, file, _ = (getattr(each, "value", "") for each in node.args)
            if magic in ("writefile", "file") and str(file).endswith(".py"):
                cure = f"build the notebook (.ipynb), or run it and check {file}"
                raise Unsuitable(f"line {node.lineno} holds the text of {file}, as a notebook writes it: {cure}")


def notebook_remedy(source: str) -> str:
    """What to leave out of a source that is no Python; "" if it has no command of a notebook."""
    first = next((line.lstrip()[:40] for line in source.split("\n") if line.lstrip()[:1] in ("%", "!")), "")
    return f"; {first!r} is a notebook's command, not Python: leave it out" if first else ""
