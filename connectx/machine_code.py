"""Machine code of kernels, which runs without numba: embedded in a submission, or kept on this computer.

A kernel's code is one piece that runs at any address and calls nothing outside. It has one entry, which takes a buffer
of 64-bit words: the result, then the arguments as numba passes them. ``connectx_toolkit.system.machine_code`` makes it.

Embedded code is tried before it is used, in a process of its own that may crash or hang; whatever is wrong with it,
numba compiles the kernel as if it were not there.
"""

import ctypes
import hashlib
import inspect
import json
import linecache
import mmap
import os
import select
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from connectx.jit import plain

EMBEDDED = "machine_code.bin"  # a submission's data beside this module
# What the code for a processor needs, the best first; as numpy names it, which asks the processor itself.
TARGETS = {"x86-64-v4": ("AVX512_SKX",), "x86-64-v3": ("AVX2", "FMA3"), "x86-64-v2": ("SSE42", "POPCNT")}
DONE, RETURNED_NONE = 0, -2  # a kernel's status; any other is an exception
PROBE_SECONDS = 2  # for the process that tries embedded code; it takes some 10 ms


class Wanted(NamedTuple):
    """Machine code that is asked for."""

    function: Callable  # the kernel's
    examples: tuple  # arguments of the types that it will be called with
    probe: Callable[[Callable], Sequence[int]]  # calls what it is given; the numbers tell whether that works
    is_wide: bool  # whether it gains from vectors of 512 bits

    @property
    def key(self) -> str:
        """What tells it from any other code: the text of all that is compiled, its constants, the arguments' types."""
        parts = [*_compiled_from(self.function, set()), *map(kind_of, self.examples)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _compiled_from(function: Callable, seen: set[int]) -> Iterator[str]:
    """The text of a function, and its globals and closure: values, and functions in the same way."""
    seen.add(id(function))
    code = function.__code__
    yield "".join(inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]))
    closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for name in sorted({*_names(code), *closure}):
        value = closure[name].cell_contents if name in closure else function.__globals__.get(name)
        value = plain(value)
        if isinstance(value, FunctionType):
            yield from _compiled_from(value, seen) if id(value) not in seen else ()
        elif isinstance(value, np.ndarray):
            yield f"{name} {kind_of(value)} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, int | float | str | tuple):
            yield f"{name} {value!r}"


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a code object and in those of functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        yield from _names(constant) if isinstance(constant, CodeType) else ()


def kind_of(value: Any) -> str:
    """The type of a kernel's argument, as far as code depends on it."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name} {value.ndim} {value.flags.c_contiguous:d} {value.flags.writeable:d}"
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(map(kind_of, value))})"
    return type(value).__name__


def words_of(value: Any) -> list[int]:
    """A kernel's argument as numba passes it to compiled code, in 64-bit words."""
    if isinstance(value, np.ndarray):
        return [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
    if isinstance(value, tuple):
        return [word for each in value for word in words_of(each)]
    return [0 if value is None else int(value)]


class Code(NamedTuple):
    """Machine code where it can run."""

    entry: int  # address
    memory: Any  # holds it


class Call:
    """A kernel as a function, by its machine code. For one thread at a time: the arguments lie in one buffer.

    Args:
        kernel: is called instead where the code has met an exception, and raises it.

    Raises:
        TypeError: by a call, an argument is not of the type of its example.
    """

    def __init__(self, kernel: Callable, code: Code, examples: Sequence):
        self._kernel, self._memory = kernel, code.memory
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.entry)
        self._kinds = [kind_of(example) for example in examples]
        sizes = [len(words_of(example)) for example in examples]
        self._places = [1 + sum(sizes[:index]) for index in range(len(sizes))]
        self._words = (ctypes.c_int64 * (1 + sum(sizes)))()
        self._pointer = ctypes.addressof(self._words)
        self._args: list[Any] = [self] * len(examples)  # those whose words are in the buffer: none yet

    def __call__(self, *args: Any) -> bool:
        for index, arg in enumerate(args):
            if arg is not self._args[index]:
                self._put(index, arg)
        if self._run(self._pointer) not in (DONE, RETURNED_NONE):
            return self._kernel(*args)
        return self._words[0] & 0xFF != 0

    def _put(self, index: int, arg: Any) -> None:
        if type(arg) is not int and (kind := kind_of(arg)) != self._kinds[index]:
            raise TypeError(f"argument {index} of a kernel should be {self._kinds[index]}, not {kind}")
        for place, word in enumerate(words_of(arg), self._places[index]):
            self._words[place] = word
        self._args[index] = arg  # so that it lives as long as its address is in the buffer


def in_memory(content: bytes) -> Code:
    """Code where it can run; in ``content`` the offset of its entry comes first.

    It becomes a file in memory, which may be mapped as executable where other memory must not become it.

    Raises:
        OSError, AttributeError: the system offers no such files, or forbids it.
    """
    handle = os.memfd_create("connectx")
    try:
        os.write(handle, content[4:])
        memory = mmap.mmap(handle, len(content) - 4, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    finally:
        os.close(handle)
    return Code(np.frombuffer(memory, np.uint8).ctypes.data + struct.unpack_from("<I", content)[0], memory)


def processor() -> str | None:
    """The best of ``TARGETS`` that can run here; None if none can, or no file in memory can be run (but on Linux)."""
    if not hasattr(os, "memfd_create"):
        return None
    from numpy._core._multiarray_umath import __cpu_features__ as features

    return next((target for target, needs in TARGETS.items() if all(map(features.get, needs))), None)


def packed(parts: Mapping[str, bytes]) -> bytes:
    """One file of several parts with names."""
    lines = (
        (f"{name} {len(part)} {hashlib.sha256(part).hexdigest()}\n".encode(), part) for name, part in parts.items()
    )
    return b"".join(line + part for line, part in lines)


def unpacked(content: bytes) -> dict[str, bytes]:
    """The parts of ``packed``. Raises ValueError if they are damaged."""
    parts = {}
    while content:
        line, _, content = content.partition(b"\n")
        name, size, digest = line.decode().split()
        part, content = content[: int(size)], content[int(size) :]
        if hashlib.sha256(part).hexdigest() != digest:
            raise ValueError(f"the part {name} is damaged")
        parts[name] = part
    return parts


_codes: dict[str, Code | None] = {}  # by key, of this process


def code_for(wanted: Wanted) -> Code | None:
    """The machine code of a kernel that can be used here, if there is any."""
    key = wanted.key
    if key not in _codes:
        try:
            _codes[key] = (_embedded(wanted, key) or _kept(wanted)) if processor() else None
        except Exception as fault:  # whatever it is, the kernel can still be compiled
            print(f"connectx: machine code is not usable, numba compiles instead: {fault!r:.200}", file=sys.stderr)
            _codes[key] = None
    return _codes[key]


@cache
def _parts() -> Mapping[str, bytes]:
    """The machine code in this submission, by key and target; empty elsewhere."""
    read = getattr(globals().get("__loader__"), "read_data", None)
    if read is None:
        return {}
    try:
        return unpacked(read(__name__, EMBEDDED))
    except FileNotFoundError:
        return {}


def _embedded(wanted: Wanted, key: str) -> Code | None:
    parts, targets = _parts(), [*TARGETS]
    best = processor() if parts else None
    names = [f"{key}.{target}" for target in targets[targets.index(best) :]] if best else []
    content = next((parts[name] for name in names if name in parts), None)
    if content is None:
        return None
    code, expected = in_memory(content), json.loads(parts[f"{key}.probe"])
    if not _probe(lambda: list(wanted.probe(Call(wanted.function, code, wanted.examples))) == expected):
        raise RuntimeError("it gives other results here")
    return code


def _probe(works: Callable[[], bool]) -> bool:
    """Whether ``works`` returns True in a forked process, which may crash or never end."""
    import resource  # only where there is fork

    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (PROBE_SECONDS, PROBE_SECONDS))
            os.write(tell, b"1" if works() else b"0")
        finally:
            os._exit(0)
    os.close(tell)
    with os.fdopen(told, "rb") as answers:
        answered = bool(select.select([answers], [], [], 4 * PROBE_SECONDS)[0])
        works_here = answered and answers.read(1) == b"1"
    os.waitpid(child, 0 if answered else os.WNOHANG)
    return works_here


def _kept(wanted: Wanted) -> Code | None:
    """The code that this computer keeps, made now if need be.

    None where the toolkit is not loaded, or beside another ``connectx`` than this one: an agent may bring its own.
    """
    toolkit = sys.modules.get("connectx_toolkit")
    if (
        __package__ != "connectx"
        or toolkit is None
        or Path(toolkit.__file__ or "").parents[1] != Path(__file__).parents[1]
    ):
        return None
    content = toolkit.machine_code_of(wanted)
    return None if content is None else in_memory(content)
