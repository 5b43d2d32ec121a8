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
XZ_MEMORY = 1 << 26  # bytes that expanding xz may take: 9 million are usual
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


def compress(content: bytes) -> bytes:
    """A container that ``unpack`` reads as it reads this one, in fewer bytes."""
    return COMPRESSED + lzma.compress(content, lzma.FORMAT_XZ, lzma.CHECK_NONE)  # the container has a checksum


def _expand(content: bytes) -> bytes:
    """The container that was given to ``compress``; another one as it is."""
    if content[:4] != COMPRESSED:
        return content
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)
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
    content = _expand(content)
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

    ``restore_precision`` turns it back into the same kind of file with the original dtypes. None if ``content`` is
    neither kind or has no such array.

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


def restore_precision(content: bytes) -> bytes:
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
    before, after = _read_any(content)[1], _read_any(restore_precision(reduced))[1]
    floats = [name for name in before if before[name].dtype.kind == "f" and before[name].size]
    errors = [(before[name].astype(np.float64) - after[name]).ravel() for name in floats]
    error, weight = np.concatenate(errors), np.concatenate([before[name].astype(np.float64).ravel() for name in floats])
    return float(np.abs(error).max()), float(np.sqrt((error**2).mean() / max((weight**2).mean(), 1e-300)))
