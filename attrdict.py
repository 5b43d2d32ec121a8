# ConnectX submission: agent of agent_of_notebook
# built by connectx 0.3.0 with build_submission.py: change the sources, not this file
#
# sha256 (first 16 digits) of the modules as embedded below:
#   2f3246b9668bce0d  agent_of_notebook.py
#   e2344a8d21cc46f2  connectx/__init__.py
#   6c122d3c94d19ed9  connectx/carried.py
#   b6a5f75060798cf4  connectx/weights.py
#   2d7210be07227135  the importer
#   43cfa6d0609b9f7d  the guard
# and of the data files:
#   c56158e6020b8839  values.npz
import time as _time

_STARTED = _time.perf_counter()

SOURCES = {}

SOURCES["agent_of_notebook.py"] = r'''
"""The agent agent, as it ran in a notebook: written by build(agent)."""

from __future__ import annotations

from .connectx.carried import Carried as _Carried
from .connectx.weights import read_data as _read_data

_carried = _Carried(_read_data("values.npz"), globals())


def agent(obs, config):
    legal = [c for c in range(7) if obs.board[c] == 0]
    return cfg.column if cfg.column in legal else legal[0]


class AttrDict(dict):
    __getattr__ = dict.__getitem__


cfg = _carried['cfg']
'''

SOURCES["connectx/__init__.py"] = r'''
"""Building blocks of agents: positions, search, solver, networks. A submission contains no project code but this."""

__version__ = "0.3.0"  # in the header of every submission
'''

SOURCES["connectx/carried.py"] = r'''
"""Values that an agent brings from a notebook: tables, weights, objects of its own classes. No code is loaded.

An .npz file holds their arrays and, under ``VALUES``, JSON in UTF-8 as bytes: ``roots``, a reference for each name, and
``nodes``, a list. A reference is a number, a text, a truth value or null, which stand for themselves, or a list:

    ["@", i]        node i; two references to it are one object      ["n", name]  what the agent's file binds to a name
    ["t", ...]      a tuple                                          ["z", ...]   a frozenset
    ["b", base64]   bytes                                            ["c", a, b]  a complex number
    ["s", dtype, x] a number of numpy's                              ["d", key, value, ...]  attributes

and a node is one of

    ["list", ...]  ["set", ...]  ["dict", key, value, ...]  ["bytearray", base64]
    ["array", key]  an array of the file                    ["objects", shape, ...]  an array of objects
    ["call", f, arguments, state, items, pairs]    what f, a reference, gives for the arguments; then, as Python's
                                                   copying does it, its state, list items and dict pairs
    ["new", class, arguments, state, items, pairs] the same with class.__new__
    ["module", class, base, attributes]            a module of torch: base's __init__, then its attributes

Functions and classes are never in the file: they are names of the agent's own source.
"""

import base64
import builtins
import io
import json
from collections.abc import Mapping
from types import CellType, FunctionType
from typing import Any

import numpy as np

VALUES = "values"  # the array of the JSON
PLAIN = (str, int, float, bytes, type(None))


class Carried:
    """The values of a file, each made when it is asked for by its name.

    Args:
        content: the .npz file.
        names: what the references ["n", name] stand for, looked up when a value is made: the agent's ``globals()``.

    Raises:
        ValueError: it is no such file.
    """

    def __init__(self, content: bytes, names: Mapping[str, Any]):
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            self._arrays = {name: file[name] for name in file.files}
        if VALUES not in self._arrays:
            raise ValueError(f"no carried values: the file has no array {VALUES!r}")
        read = json.loads(self._arrays.pop(VALUES).tobytes())
        self._roots, self._nodes, self._names = read["roots"], read["nodes"], names
        self._made: dict[int, Any] = {}
        # Objects that are made and still without their contents, which may lead back to them; keys are hashed last.
        self._unfilled: list[tuple[Any, list[Any]]] = []
        self._unkeyed: list[tuple[Any, list[tuple[Any, ...]]]] = []

    def __getitem__(self, name: str) -> Any:
        value = self._value(self._roots[name])
        self._fill()
        return value

    def _value(self, ref: Any) -> Any:
        if not isinstance(ref, list):
            return ref
        kind, *parts = ref
        if kind == "@":
            (number,) = parts
            if number not in self._made:
                self._make(number)
            return self._made[number]
        if kind == "n":
            (name,) = parts
            return self._names[name] if name in self._names else getattr(builtins, name)
        if kind == "d":
            return {key: self._value(value) for key, value in zip(parts[::2], parts[1::2], strict=True)}
        if kind in ("t", "z"):
            return (tuple if kind == "t" else frozenset)(map(self._value, parts))
        if kind == "s":
            return np.dtype(parts[0]).type(parts[1])
        return base64.b64decode(parts[0]) if kind == "b" else complex(*parts)

    def _make(self, number: int) -> None:
        """Makes the object of a node; what it holds is left to ``_fill``."""
        kind, *parts = self._nodes[number]
        if kind in ("list", "set", "dict"):
            made: Any = {"list": list, "set": set, "dict": dict}[kind]()
        elif kind == "bytearray":
            made = bytearray(base64.b64decode(parts[0]))
        elif kind == "array":
            made = self._arrays[parts[0]]
        elif kind == "objects":
            made = np.empty(parts[0], object)
        elif kind == "module":
            cls, base = map(self._value, parts[:2])
            made = cls.__new__(cls)
            base.__init__(made)
        else:
            function, arguments = self._value(parts[0]), [self._value(ref) for ref in parts[1]]
            self._fill()  # a function sees its arguments whole
            made = function.__new__(function, *arguments) if kind == "new" else function(*arguments)
        self._made[number] = made
        self._unfilled.append((made, self._nodes[number]))

    def _fill(self) -> None:
        while self._unfilled or self._unkeyed:
            if self._unfilled:
                self._fill_one(*self._unfilled.pop())
            else:
                made, entries = self._unkeyed.pop()
                for entry in entries:
                    _add(made, entry)

    def _fill_one(self, made: Any, node: list[Any]) -> None:
        kind, *parts = node
        if kind == "list":
            made.extend(map(self._value, parts))
        elif kind == "objects":
            for place, ref in zip(np.ndindex(made.shape), parts[1:], strict=True):
                made[place] = self._value(ref)
        elif kind == "set":
            self._enter(made, [(self._value(ref),) for ref in parts])
        elif kind == "dict":
            self._enter(made, self._pairs(parts))
        elif kind == "module":
            vars(made).update(self._value(parts[2]))
        elif kind in ("call", "new"):
            _, _, state, items, pairs = parts
            self._set_state(made, state)
            for item in items:
                made.append(self._value(item))
            self._enter(made, self._pairs(pairs))

    def _pairs(self, parts: list[Any]) -> list[tuple[Any, ...]]:
        return [(self._value(k), self._value(v)) for k, v in zip(parts[::2], parts[1::2], strict=True)]

    def _enter(self, made: Any, entries: list[tuple[Any, ...]]) -> None:
        """Adds elements, (element,), or pairs, (key, value), as soon as what is hashed is whole."""
        if all(isinstance(entry[0], PLAIN) for entry in entries):
            for entry in entries:
                _add(made, entry)
        else:
            self._unkeyed.append((made, entries))

    def _set_state(self, made: Any, ref: Any) -> None:
        if ref is None:
            return
        state = self._value(ref)
        if hasattr(type(made), "__setstate__"):
            self._fill()
            made.__setstate__(state)
            return
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        if attributes:
            vars(made).update(attributes)
        for name, value in (slots or {}).items():
            object.__setattr__(made, name, value)


def _add(made: Any, entry: tuple[Any, ...]) -> None:
    if len(entry) == 1:
        made.add(*entry)
    else:
        made[entry[0]] = entry[1]


def generator(kind: str, state: Any) -> Any:
    """A random generator in a state.

    Args:
        kind: "torch", or of numpy, such as "Generator PCG64" or "RandomState MT19937".
        state: as its ``get_state`` gives it, of a Generator as its ``bit_generator.state``.
    """
    if kind == "torch":
        import torch

        made = torch.Generator()
        made.set_state(torch.from_numpy(state))
        return made
    name, bits = kind.split()
    made = getattr(np.random, name)(getattr(np.random, bits)())
    if name == "Generator":
        made.bit_generator.state = state
    else:
        made.set_state(state)
    return made


def with_cells(function: FunctionType, *cells: CellType) -> FunctionType:
    """The function with these variables around it, in the order of its ``__code__.co_freevars``."""
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    return made
'''

SOURCES["connectx/weights.py"] = r'''
"""Data files: reading a file that lies beside the source, and a container of named arrays without pickle.

The container is ``MAGIC``, the sha256 of everything after it (32 bytes), the header's length (4 bytes, little-endian),
a JSON header, and the arrays one after another as little-endian bytes. The header holds ``meta`` (any JSON) and the
name, dtype and shape of each array; reading checks all of them. A container may be compressed: ``COMPRESSED``, then
the xz stream of one.
"""

import hashlib
import io
import json
import lzma
import math
import struct
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

__all__ = ["read_data"]

MAGIC = b"CXW2"
COMPRESSED = b"CXWX"
LARGEST = 1 << 28  # bytes of a container that was compressed
MEMORY = 1 << 26  # bytes that expanding xz may take: 9 million are usual
DIGEST = 32  # bytes
DTYPES = frozenset({"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}) | frozenset(
    {"float16", "float32", "float64"}
)
REDUCED = ("float16", "int8")


def read_data(name: str) -> bytes:
    """The bytes of a data file. ``name`` is relative to the folder of the source file that calls this.

    The name must be a literal, because the builder searches the source for it to embed the file. Inside a submission
    the same call returns the embedded bytes.

        weights = np.load(io.BytesIO(read_data("net.npz")))

    Raises:
        OSError: the file cannot be read.
        RuntimeError: the calling code is not in a file, for example in a notebook's cell.
    """
    caller = sys._getframe(1)
    embedded = getattr(caller.f_globals.get("__loader__"), "read_data", None)
    if embedded is not None:
        return embedded(caller.f_globals["__name__"], name)
    source = caller.f_code.co_filename  # not __file__, which Kaggle's loader does not set
    if source.startswith("<") or "\n" in source:
        raise RuntimeError(f"read_data({name!r}) needs a source file for the data to lie beside")
    return Path(source).parent.joinpath(name).read_bytes()


def pack(arrays: Mapping[str, np.ndarray], meta: Any = None) -> bytes:
    """The container's bytes; the same arrays and meta give the same bytes.

    Raises:
        ValueError: an array's dtype is neither a plain number nor bool.
    """
    entries, blobs = [], []
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise ValueError(f"array {name!r} has dtype {array.dtype}, expected one of {sorted(DTYPES)}")
        entry: dict[str, Any] = {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
        entries.append(entry)
        blobs.append(array.astype(array.dtype.newbyteorder("<")).tobytes())
    text = json.dumps({"meta": meta, "arrays": entries}, sort_keys=True, separators=(",", ":")).encode()
    checked = b"".join([struct.pack("<I", len(text)), text, *blobs])
    return MAGIC + hashlib.sha256(checked).digest() + checked


def compressed(content: bytes) -> bytes:
    """A container that ``unpack`` reads as it reads this one, in fewer bytes."""
    return COMPRESSED + lzma.compress(content, lzma.FORMAT_XZ, lzma.CHECK_NONE)  # the container has a checksum


def _expanded(content: bytes) -> bytes:
    """The container that was given to ``compressed``; another one as it is."""
    if content[:4] != COMPRESSED:
        return content
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)
    try:
        whole = stream.decompress(content[4:], LARGEST)
    except lzma.LZMAError as fault:
        _broken(f"its compressed bytes are damaged ({fault})")
    if not stream.eof or stream.unused_data:
        _broken(f"its compressed bytes end too soon, go on too long, or hold more than {LARGEST}")
    return whole


def _broken(reason: str) -> NoReturn:
    raise ValueError(f"not a weight container: {reason}")


def _checked_header(content: bytes) -> tuple[dict[str, Any], int]:
    """The header of a container whose checksum is right, and where the arrays begin."""
    if content[:4] != MAGIC:
        _broken(f"it begins with {content[:4]!r}, expected {MAGIC!r}")
    at = 4 + DIGEST  # of the header's length
    if len(content) < at + 4 or len(content) < at + 4 + struct.unpack_from("<I", content, at)[0]:
        _broken(f"its {len(content)} bytes end within the header")
    start = at + 4 + struct.unpack_from("<I", content, at)[0]
    if hashlib.sha256(memoryview(content)[at:]).digest() != content[4:at]:
        _broken("the checksum differs")
    try:
        return json.loads(content[at + 4 : start]), start
    except ValueError as fault:
        _broken(f"unreadable header: {fault!r}")


def unpack(content: bytes) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays of a container and its meta.

    Raises:
        ValueError: the container is damaged: its magic, header, dtypes, sizes or checksum are wrong.
    """
    content = _expanded(content)
    try:
        header, start = _checked_header(content)
        entries = [(str(e["name"]), str(e["dtype"]), [int(n) for n in e["shape"]]) for e in header["arrays"]]
        meta = header["meta"]
    except (AttributeError, KeyError, TypeError) as fault:
        _broken(f"unreadable header: {fault!r}")
    arrays, offset = {}, start
    for name, dtype, shape in entries:
        if dtype not in DTYPES or any(n < 0 for n in shape) or name in arrays:
            _broken(f"array {name!r} with dtype {dtype!r} and shape {shape!r}")
        count = math.prod(shape)
        little = np.dtype(dtype).newbyteorder("<")
        if offset + count * little.itemsize > len(content):
            _broken(f"array {name!r} ends beyond the file")
        array = np.frombuffer(content, little, count, offset).reshape(shape)
        arrays[name] = array.astype(dtype)
        offset += count * little.itemsize
    if offset != len(content):
        _broken(f"{len(content) - offset} bytes too many")
    return arrays, meta


def _read_any(content: bytes) -> tuple[str, dict[str, np.ndarray], Any]:
    """("npz" or "container", arrays, meta) for these two kinds of files; ("", {}, None) for anything else."""
    if content[:4] in (MAGIC, COMPRESSED):
        return ("container", *unpack(content))
    if content[:2] == b"PK" and zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            names = file.namelist()
        if names and all(name.endswith(".npy") for name in names):
            with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
                return "npz", {name: loaded[name] for name in loaded.files}, None
    return "", {}, None


def row_scales(array: np.ndarray) -> np.ndarray:
    """(rows,) float32: the least scale of each row with which whole numbers of 8 bits stand for all of its values."""
    largest = np.abs(array).max(axis=tuple(range(1, array.ndim)), initial=0.0)
    return np.where(largest > 0, largest / 127, 1).astype(np.float32)


def _narrow(name: str, array: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The array in lower precision, and for int8 the scales of its rows (vectors become float16, without scales)."""
    if not np.isfinite(array).all():
        raise ValueError(f"array {name!r} holds infinities or NaN, which {dtype} weights cannot stand for")
    if dtype == "int8" and array.ndim >= 2:
        scales = row_scales(array)
        multiples = np.clip(np.rint(array / _broadcast(scales, array.ndim)), -127, 127)
        return multiples.astype(np.int8), scales
    if np.abs(array).max(initial=0.0) > np.finfo(np.float16).max:
        raise ValueError(f"array {name!r} holds values beyond float16's {np.finfo(np.float16).max}")
    return array.astype(np.float16), None


def _broadcast(scales: np.ndarray, dimensions: int) -> np.ndarray:
    """Scales of rows as float64 that broadcasts to their array."""
    return scales.astype(np.float64).reshape(-1, *[1] * (dimensions - 1))


def reduce(content: bytes, dtype: str) -> bytes | None:
    """An .npz file or a container, as a container with its float32 and float64 arrays in lower precision.

    ``restored`` turns it back into the same kind of file with the original dtypes. None if ``content`` is neither kind
    or has no such array.

    Args:
        dtype: "float16", or "int8": symmetric, a scale for each index of the first axis.

    Raises:
        ValueError: the dtype is unknown, or cannot represent a value.
    """
    if dtype not in REDUCED:
        raise ValueError(f"dtype should be one of {REDUCED}, not {dtype!r}")
    form, arrays, meta = _read_any(content)
    stored: dict[str, np.ndarray] = {}
    dtypes: dict[str, str] = {}
    for name, array in arrays.items():
        if array.dtype.name not in ("float32", "float64"):
            stored["values:" + name] = array
            continue
        dtypes[name] = array.dtype.name
        stored["values:" + name], scales = _narrow(name, array, dtype)
        if scales is not None:
            stored["scales:" + name] = scales
    return pack(stored, {"form": form, "meta": meta, "dtypes": dtypes}) if dtypes else None


def restored(content: bytes) -> bytes:
    """The .npz file or container that was given to ``reduce``, with the original dtypes and rounded values.

    Raises:
        ValueError: ``content`` did not come from ``reduce`` or is damaged.
    """
    stored, notes = unpack(content)
    if not isinstance(notes, dict) or set(notes) != {"form", "meta", "dtypes"}:
        _broken("its meta is not that of reduced weights")
    arrays = {}
    for key, array in stored.items():
        kind, _, name = key.partition(":")
        if kind != "values":
            continue
        rows = stored.get("scales:" + name)
        if rows is not None:
            array = array * _broadcast(rows, array.ndim)
        arrays[name] = array.astype(notes["dtypes"].get(name, array.dtype.name))
    if notes["form"] == "container":
        return pack(arrays, notes["meta"])
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def reduction_error(content: bytes, reduced: bytes) -> tuple[float, float]:
    """Errors of ``reduce``: (largest absolute error, root mean square error divided by root mean square weight)."""
    before, after = _read_any(content)[1], _read_any(restored(reduced))[1]
    floats = [name for name in before if before[name].dtype.kind == "f" and before[name].size]
    errors = [(before[name].astype(np.float64) - after[name]).ravel() for name in floats]
    error, weight = np.concatenate(errors), np.concatenate([before[name].astype(np.float64).ravel() for name in floats])
    return float(np.abs(error).max()), float(np.sqrt((error**2).mean() / max((weight**2).mean(), 1e-300)))
'''

DATA = {}
DATA["values.npz"] = (
    "1820d9aee0314df65280acba6b8b7ebd7eb59f895ebaa08ea44a908d9bed0d6e",
    False,
    r"""
eNoL8GZm0WVgYOAAYkWGn95Kf/5DAReDCENZYk5parFeXkElI4MAwxUGCJgEpef22XIxGUq4XL8W3JK56IMoV/SJMK6k5TciPDiENkWKJin9vJh0N7gi
cXN4wazjNstmvH+4xX6e+tXVryqzF/HtSfwzefocifc1Ho47u/nXSv71u5nR1W/+1WTp+TDTs528b/77VLO8D3a57FwebsKUfcGJj+X56flKLHMqm7kc
biwR2VY+V8HTo+jmrYlMt27/0WiO8rL8wxDgzciky4zqH5BrQS7nYkCABkYQifBdgDcrG0iEEQgtgPQ5sCoAsKthSQ==
""",
)

IMPORTER = r'''
"""Imports the modules that a submission contains, and finds its data: embedded, or in files beside it.

The builder copies this file unchanged into every submission, before the guard; it uses only the standard library. Each
load has its own package name, so that two submissions, or one against itself, share no state in one process. What was
loaded is removed when the agent is dropped.
"""

import base64
import glob
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import linecache
import os
import posixpath
import sys
import zlib

JUDGE_FOLDER = "/kaggle_simulations/agent"  # where Kaggle puts a submission; it is not the working directory


def folder_of(filename):
    """The folder of the file that a code object was compiled from; the judge's folder if there is no such file."""
    return os.path.dirname(os.path.abspath(filename)) if os.path.isfile(filename) else JUDGE_FOLDER


def is_there(path):
    """Whether a path exists, or files that match it as a pattern of glob's."""
    return os.path.exists(path) or bool(glob.glob(path))


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the embedded sources, {"connectx/clock.py": "\\n" + source}, as modules of the package ``prefix``."""

    def __init__(self, sources, data, folder):
        self.prefix = "submission_" + os.urandom(8).hex()
        self.sources = {path: source[1:] for path, source in sources.items()}  # less the line feed after the quotes
        self.data = data  # {"agents/weights/perfect_book.bin": (sha256 of the bytes, whether reduced, zlib as base64)}
        self.folder = folder  # holds the files of an archive

    def _path(self, fullname):
        """The embedded path of a module; None if it is not embedded."""
        stem = fullname[len(self.prefix) + 1 :].replace(".", "/")
        paths = (stem + ".py", posixpath.join(stem, "__init__.py"))
        return next((path for path in paths if path in self.sources), None)

    def find_spec(self, fullname, path=None, target=None):
        if fullname == self.prefix:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        embedded = self._path(fullname) if fullname.startswith(self.prefix + ".") else None
        if embedded is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=embedded.endswith("__init__.py"))

    def exec_module(self, module):
        path = self._path(module.__name__)
        if path is None:
            return  # the root package
        filename, source = f"{self.prefix}/{path}", self.sources[path]
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        module.__file__ = os.path.join(self.folder, *path.split("/"))  # does not exist, but its folder has the data
        module.__beside__ = self.beside
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, fullname):
        return self.sources.get(self._path(fullname), "")

    def beside(self, path):
        """Resolves a path that the agent opens; the builder wraps these paths in calls of this function.

        If the path does not exist, but the submission has a file of that name (relative to its folder, the judge's
        folder or the working directory), that file's path is returned. Anything else is returned unchanged, also if it
        is not a path.
        """
        name = path if isinstance(path, str) else str(path) if isinstance(path, os.PathLike) else ""
        for folder in (JUDGE_FOLDER, os.getcwd()):
            if name == folder or name.startswith(os.path.join(folder, "")):
                name = os.path.relpath(name, folder)
        found = os.path.join(self.folder, name)
        if not name or is_there(os.fspath(path)) or not is_there(found):
            return path
        return type(path)(found)

    def read_data(self, module_name, name):
        """The bytes of the data file ``name``, relative to the folder of a module's source.

        Raises:
            FileNotFoundError: no such file was embedded.
            ValueError: the embedded text is not what the builder wrote.
        """
        folder = posixpath.dirname(self._path(module_name))
        key = posixpath.normpath(posixpath.join(folder, name))
        if key not in self.data:
            raise FileNotFoundError(f"{key} is not embedded in this submission")
        digest, is_reduced, text = self.data[key]
        try:
            packed = base64.b64decode(text)
        except ValueError:
            packed = b""
        if hashlib.sha256(packed).hexdigest() != digest:
            raise ValueError(f"the embedded {key} is corrupt: its checksum differs")
        content = zlib.decompress(packed)
        return importlib.import_module(self.prefix + ".connectx.weights").restored(content) if is_reduced else content

    def remove(self):
        """Removes the modules from the interpreter; called when nothing refers to the agent any more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name in [n for n in sys.modules if n == self.prefix or n.startswith(self.prefix + ".")]:
            del sys.modules[name]
        for name in [n for n in linecache.cache if n.startswith(self.prefix + "/")]:
            del linecache.cache[name]
'''

GUARD = r'''
"""The guard of a submission: whatever its agent does, it answers in time and with a legal column.

The builder copies this file unchanged into every submission, where it runs in a namespace of its own and uses only the
standard library.

The agent's code, including its load, runs in a thread of its own, while the caller waits until a deadline. This works
for Python code, and for compiled code that returns now and then or releases the interpreter's lock (GIL). It does not
work for compiled code that holds the lock for ever; only the build's checks find that.
"""

import contextlib
import ctypes
import gc
import importlib
import inspect
import io
import operator
import os
import queue
import re
import sys
import textwrap
import threading
import time
import traceback
import weakref

LOAD_WAIT = 30.0  # seconds that executing the file waits for the load; then the first move waits, by its own clock
MARGIN = 0.3  # seconds of actTimeout + overage time kept back for the referee and for waking up on a busy machine ...
MARGIN_SHARE = 0.15  # ... but at most this share of actTimeout
DESCRIBED = 240  # characters of a fault's text that are reported
COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # in messages of torch


class Overdue(BaseException):
    """Raised inside the agent's thread when its move is given up, so that it stops computing."""


class Job:
    """A call for the agent's thread. It always reaches an end, even if it is cancelled, is interrupted or fails."""

    def __init__(self, function):
        self.function = function
        self.result = None
        self.fault = None
        self.ended_at = None
        self.is_running = False
        self.is_cancelled = False
        self._ended = threading.Event()

    def run(self):
        try:
            self.is_running = True
            if not self.is_cancelled:
                replace_closed_streams()
                self.result = self.function()
        except BaseException as fault:  # SystemExit included: nothing may reach the referee
            self.fault = fault

    def end(self):
        self.ended_at = time.perf_counter()
        self._ended.set()

    def has_ended(self, deadline):
        """Waits for the end of the job until ``deadline``, a time.perf_counter() value or None; returns if it ended."""
        return self._ended.wait(None if deadline is None else max(0.0, deadline - time.perf_counter()))


def replace_closed_streams():
    """Lets what is printed to a stream that the judge has closed go nowhere: it would raise an exception."""
    for name in ("stdout", "stderr"):
        try:
            os.fstat(getattr(sys, name).fileno())
        except (AttributeError, io.UnsupportedOperation):  # none, or a stream of Python's
            pass
        except (OSError, ValueError):
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (as long as the process)


class Worker:
    """One thread that runs jobs one after another."""

    def __init__(self):
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None

    @staticmethod
    def _serve(jobs):
        while True:
            job = jobs.get()
            if job is None:
                return
            try:
                job.run()
            except Overdue:  # raised just after the overdue job had returned
                job.result = None
            job.end()

    def is_alive(self):
        return self.thread is not None and self.thread.is_alive()

    def start(self, function):
        job = Job(function)
        if not self.is_alive():
            self.thread = threading.Thread(target=self._serve, args=(self.jobs,), daemon=True)
            self.thread.start()
        self._raise_in_thread(ctypes.py_object())  # clears a pending exception that was meant for an earlier job
        self.jobs.put(job)
        return job

    def cancel(self, job):
        """Prevents a job from starting; if it runs, raises Overdue in its thread at its next Python instruction."""
        job.is_cancelled = True
        if job.is_running:  # not while the thread fetches a job, which would be lost
            self._raise_in_thread(ctypes.py_object(Overdue))

    def _raise_in_thread(self, exception):
        if self.thread is not None and self.thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident), exception)


class Record(dict):
    """A dict whose entries can also be read as attributes, like Kaggle's observations."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def read_field(record, name, default):
    """An entry of an observation or a configuration, read as an item or else as an attribute."""
    try:
        return record[name]
    except (TypeError, KeyError):
        return getattr(record, name, default)


def wins(board, column, mark, rows, columns, inarow):
    """Whether a stone of ``mark`` in ``column``, which is not full, makes a line. The board is Kaggle's, row by row."""
    row = max(r for r in range(rows) if board[column + r * columns] == 0)
    for row_step, column_step in ((1, 0), (0, 1), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            r, c = row + sign * row_step, column + sign * column_step
            while 0 <= r < rows and 0 <= c < columns and board[c + r * columns] == mark:
                length, r, c = length + 1, r + sign * row_step, c + sign * column_step
        if length >= inarow:
            return True
    return False


def fallback_column(board, mark, rows, columns, inarow):
    """The reply in place of the agent's: a win in one, else a block, else the most central legal column."""
    legal = sorted((c for c in range(columns) if board[c] == 0), key=lambda c: abs(2 * c + 1 - columns))
    for player in (mark, 3 - mark):
        for column in legal:
            if wins(board, column, player, rows, columns, inarow):
                return column
    return legal[0]


def legal_column(reply, board, columns):
    """The reply as an int. Raises ValueError unless it is an integer of some type, and a column that is not full."""
    try:
        column = None if isinstance(reply, bool) else operator.index(reply)
    except TypeError:
        column = None
    if reply is None:
        raise ValueError("the agent returned None: every way through it needs a return of a column")
    if callable(reply):
        raise ValueError(f"the agent returned {reply!r:.80}, not a column: is it the function that makes the agent?")
    if column is None:
        kind = type(reply).__name__
        raise ValueError(f"the agent returned {reply!r:.80}, a {kind}, where Kaggle wants an int: return int(column)")
    if not 0 <= column < columns or board[column] != 0:
        raise ValueError(f"the agent returned {reply!r:.80}, not a legal column (board[column] is 0 in those)")
    return column


def argument_count(function):
    """How many of (obs, config) a callable takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return 2
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def described(fault, prefix):
    """A fault on one line, with the innermost place in the agent's own modules."""
    frames = [f for f in traceback.extract_tb(fault.__traceback__) if f.filename.startswith(prefix)]
    place = f" ({frames[-1].filename[len(prefix) + 1 :]}, line {frames[-1].lineno})" if frames else ""
    text = COLOURS.sub("", f"{type(fault).__name__}: {fault}")
    return textwrap.shorten(text, DESCRIBED, placeholder=" ...") + place


def dismantle(modules, jobs):
    """Ends the agent's thread and removes its modules; called when nothing refers to the agent any more."""
    jobs.put(None)
    modules.remove()


class Submission:
    """The agent ``entry`` = (module, name of its function) of the embedded ``modules``, behind the guard.

    ``started_at`` is the time.perf_counter() of the file's first line: the load is part of the first move.
    """

    def __init__(self, modules, entry, started_at):
        self._prefix = modules.prefix
        self._started_at = started_at
        self._charged = False
        self._worker = Worker()
        self._move = None
        sys.meta_path.append(modules)
        weakref.finalize(self, dismantle, modules, self._worker.jobs).atexit = False
        prefix, has_clock = modules.prefix, "connectx/clock.py" in modules.sources
        self._load = self._worker.start(lambda: load_agent(prefix, entry, started_at, has_clock))
        if self._load.has_ended(time.perf_counter() + LOAD_WAIT) and self._load.fault is not None:
            self._report(f"the agent did not load: {described(self._load.fault, self._prefix)}")

    def answer(self, obs, config):
        """The agent's reply if it is a legal column and in time, else the fallback's. Always an int."""
        collects = gc.isenabled()
        gc.disable()  # a collection in the middle of a move would be an unexpected pause
        try:
            return self._guarded(obs, config)
        finally:
            if collects:
                gc.enable()

    def _guarded(self, obs, config):
        deadline = self._deadline(obs, config)
        board = list(read_field(obs, "board", ()))  # a copy, because the agent may change the observation
        columns = read_field(config, "columns", 7)
        try:
            return legal_column(self._reply(obs, config, deadline), board, columns)
        except Exception as fault:
            rows, inarow = read_field(config, "rows", 6), read_field(config, "inarow", 4)
            column = fallback_column(board, read_field(obs, "mark", 1), rows, columns, inarow)
            self._report(f"played column {column} instead: {described(fault, self._prefix)}")
            return column

    def _deadline(self, obs, config):
        """When the reply is due, as a time.perf_counter() value; None if a node budget replaces the clock."""
        now, used = time.perf_counter(), 0.0
        if not self._charged:
            self._charged = True
            used = (self._load.ended_at or now) - self._started_at
        if read_field(config, "nodeBudget", None) is not None:
            return None
        seconds = float(read_field(config, "actTimeout", 2))
        overage = float(read_field(obs, "remainingOverageTime", 0) or 0)
        return now - used + seconds + overage - min(MARGIN, MARGIN_SHARE * seconds)

    def _reply(self, obs, config, deadline):
        if not self._load.has_ended(deadline):
            raise TimeoutError("the agent is still loading")
        if self._load.fault is not None:
            raise RuntimeError(f"not loaded: {described(self._load.fault, self._prefix)}")
        if self._move is not None and self._worker.is_alive() and not self._move.has_ended(deadline):
            raise TimeoutError("the agent is still at an earlier move")
        function, count = self._load.result
        arguments = [Record(given) if type(given) is dict else given for given in (obs, config)][:count]
        self._move = self._worker.start(lambda: function(*arguments))
        if not self._move.has_ended(deadline):
            self._worker.cancel(self._move)
            raise TimeoutError("the agent did not answer in time")
        if isinstance(self._move.fault, Exception):
            raise self._move.fault
        if self._move.fault is not None:  # the caller must not see a SystemExit or KeyboardInterrupt
            raise RuntimeError(f"{type(self._move.fault).__name__}: {self._move.fault}")
        return self._move.result

    @staticmethod
    def _report(line):
        with contextlib.suppress(Exception):  # stderr may be closed
            print(f"submission guard: {line}", file=sys.stderr)


def load_agent(prefix, entry, started_at, has_clock):
    """Imports the entry module; returns its agent and the number of arguments that it takes."""
    module, name = entry
    function = getattr(importlib.import_module(f"{prefix}.{module}"), name)
    if not callable(function):
        raise TypeError(f"{name} of {module} is not callable")
    if has_clock:
        importlib.import_module(prefix + ".connectx.clock").charge(time.perf_counter() - started_at)
    return function, argument_count(function)
'''

_importer, _guard = type(_time)("submission_importer"), type(_time)("submission_guard")
exec(compile(IMPORTER[1:], "submission_importer.py", "exec", dont_inherit=True), _importer.__dict__)
exec(compile(GUARD[1:], "submission_guard.py", "exec", dont_inherit=True), _guard.__dict__)
_folder = _importer.folder_of(_importer.sys._getframe().f_code.co_filename)
_submission = _guard.Submission(_importer.Modules(SOURCES, DATA, _folder), ("agent_of_notebook", "agent"), _STARTED)


def agent(obs, config):
    return _submission.answer(obs, config)
