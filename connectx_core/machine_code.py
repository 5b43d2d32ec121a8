"""Machine code of the kernels of search and solver, which runs without numba: embedded in a submission, or kept here.

A kernel's code is one piece that runs at any address and calls nothing outside. It has one entry, which takes a buffer
of 64-bit words: the result, then the arguments. ``connectx_toolkit.system.kernel_compiler`` makes it.

Embedded code is tried before it is used, in a process of its own that may crash or hang. Whatever is wrong with it,
numba compiles the kernel as if it were not there.
"""

import ctypes
import hashlib
import inspect
import json
import linecache
import mmap
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from struct import Struct
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from connectx_core import jit
from connectx_core.weights import pack, unpack

EMBEDDED = "machine_code.bin"  # a submission's data beside this module
# What the code for a processor needs, the best first; as numpy names it, which asks the processor itself.
TARGETS = {"x86-64-v4": ("AVX512_SKX",), "x86-64-v3": ("AVX2", "FMA3"), "x86-64-v2": ("SSE42", "POPCNT")}
NOT_USABLE = "connectx_core: machine code is not usable, numba compiles instead: {!r:.200}"
ARRAY_FLAGS = 0x1 | 0x2 | 0x100 | 0x400  # of an array: contiguous in C's or Fortran's order, aligned, writeable
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 63) - 1
# Where an array has the addresses of its data, shape and strides (CPython and numpy, since their first versions).
DATA, SHAPE, STRIDES = 16, 32, 40
PROBE_SECONDS, PROBE_WAIT = 2, 8.0  # of a processor, by the clock: for trying embedded code, which takes some 10 ms


class Wanted(NamedTuple):
    """Machine code that is asked for."""

    function: Callable  # the kernel's
    examples: tuple  # arguments of the types that it will be called with
    probe: Callable[[Callable], Sequence[int]]  # calls what it is given; the numbers tell whether that works
    is_wide: bool  # whether it gains from vectors of 512 bits

    @property
    def key(self) -> str:
        """A hash of the text of all functions that are compiled, of their constants, and of the arguments' types.

        Raises:
            ValueError: a text is not known, or the kernel uses what is neither a number nor a function.
        """
        return _key(self.function, _text, self._kinds)

    @property
    def loaded_key(self) -> str:
        """The same with bytecode instead of text, which may be that of a file changed since it was loaded.

        Each version of Python has its own.
        """
        return _key(self.function, _bytecode, self._kinds)

    @property
    def _kinds(self) -> tuple:
        return tuple(map(kind_of, self.examples))


@cache
def _key(function: Callable, form: Callable[[CodeType], str], kinds: tuple) -> str:
    """Found once a process: a kernel is prepared for every game, and its text is read and taken apart for the key."""
    parts = [*_compiled_from(function, form, set()), repr([*kinds])]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _text(code: CodeType) -> str:
    """The source of a function, without decorators."""
    text = "".join(inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]))
    if not text:
        raise ValueError(f"the text of {code.co_name} is not known")
    return text[match.start() :] if (match := re.search(r"^[ \t]*def ", text, re.M)) else text


def _bytecode(code: CodeType) -> str:
    """The bytecode of a function and of those inside it, with their names and constants."""
    codes = [(each, [value for value in each.co_consts if not isinstance(value, CodeType)]) for each in _codes_in(code)]
    return repr([(each.co_code, each.co_names, constants) for each, constants in codes])


def _compiled_from(function: Callable, form: Callable[[CodeType], str], seen: set[Callable]) -> Iterator[str]:
    """A function in one of two forms, its globals and its closure: numbers, and functions in the same way."""
    seen.add(function)
    code = function.__code__
    yield form(code)
    names = sorted({name for each in _codes_in(code) for name in each.co_names})  # of globals, builtins and attributes
    values = {name: function.__globals__.get(name) for name in names}
    closure = zip(code.co_freevars, function.__closure__ or (), strict=True)
    for name, value in (values | {name: cell.cell_contents for name, cell in closure}).items():
        if isinstance(inner := getattr(value, "py_func", value), FunctionType):  # of a kernel
            yield from _compiled_from(inner, form, seen) if inner not in seen else ()
        elif all(isinstance(leaf, int) for leaf in leaves([value])):
            yield f"{name} {value!r}"
        elif value is not None and value is not np:
            raise ValueError(f"{code.co_name} uses {name}, neither a number nor a function, but {type(value).__name__}")


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of functions inside it."""
    yield code
    for constant in code.co_consts:
        yield from _codes_in(constant) if isinstance(constant, CodeType) else ()


def kind_of(value: Any) -> Any:
    """The type of a kernel's argument, as far as code depends on it: the same in each process, and quick to find.

    None for an integer that does not fit 64 bits.
    """
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & ARRAY_FLAGS
    if kind is int:
        return "int" if LEAST_INTEGER <= value <= MOST_INTEGER else None
    if isinstance(value, tuple):
        return (kind.__name__, getattr(kind, "_fields", ()), *map(kind_of, value))
    return kind.__name__


def leaves(values: Iterable) -> list:
    """The values in their order, tuples taken apart."""
    return [leaf for value in values for leaf in (leaves(value) if isinstance(value, tuple) else [value])]


class Code(NamedTuple):
    """Machine code where it can run."""

    entry: int  # address
    memory: Any  # holds it


class KernelCall:
    """A kernel as a function, by its machine code. For one thread at a time: the arguments lie in one buffer.

    It passes an array as its address in Python, where the code reads data, shape and strides.

    Args:
        examples: integers, arrays, None, and tuples of them.

    Raises:
        TypeError: by a call, an argument is not of the type of its example.
        RuntimeError: by a call, the code ended by an exception, which none of our kernels should.
    """

    def __init__(self, code: Code, examples: Sequence):
        self._memory, self._kinds = code.memory, tuple(map(kind_of, examples))
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.entry)
        words = leaves(examples)
        converts = ((place, {np.ndarray: id, type(None): bool}.get(type(leaf))) for place, leaf in enumerate(words))
        self._converted = [(place, convert) for place, convert in converts if convert is not None]
        self._pack = Struct(f"={len(words)}q").pack_into
        self._words = (ctypes.c_int64 * (1 + len(words)))()
        self._pointer = ctypes.addressof(self._words)

    def __call__(self, *args: Any) -> bool:
        kinds = tuple(map(kind_of, args))
        if kinds != self._kinds:
            raise TypeError(f"the arguments of a kernel should be {self._kinds}, not {kinds}")
        words = leaves(args)
        for place, convert in self._converted:
            words[place] = convert(words[place])
        self._pack(self._words, 8, *words)
        if status := self._run(self._pointer):
            raise RuntimeError(f"the machine code of a kernel ended by an exception, with status {status}")
        return self._words[0] & 1 == 1


def in_memory(content: bytes) -> Code:
    """Code where it can run; in ``content`` it follows a line with the offset of its entry.

    It becomes a file in memory, which may be mapped as executable where other memory must not become it.

    Raises:
        OSError, AttributeError: the system offers no such files, or forbids it.
    """
    line, _, code = content.partition(b"\n")
    handle = os.memfd_create("connectx")
    try:
        os.write(handle, code)
        memory = mmap.mmap(handle, len(code), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    finally:
        os.close(handle)
    return Code(np.frombuffer(memory, np.uint8).ctypes.data + int(line), memory)


def processor() -> str | None:
    """The best of ``TARGETS`` that can run here; None if none can, or no file in memory can be run (but on Linux), or
    arrays are other than we know them."""
    array = np.zeros((2, 3), np.int16)
    found = ctypes.c_uint64.from_address(id(array) + DATA).value
    shape = ctypes.POINTER(ctypes.c_int64).from_address(id(array) + SHAPE) if found == array.ctypes.data else (0, 0)
    if not hasattr(os, "memfd_create") or tuple(shape[:2]) != array.shape:
        return None
    features = (getattr(np, "_core", None) or np.core)._multiarray_umath.__cpu_features__  # numpy 2, or 1
    return next((target for target, needs in TARGETS.items() if all(map(features.get, needs))), None)


def pack_parts(parts: Mapping[str, bytes]) -> bytes:
    """One file of several parts with names."""
    return pack({name: np.frombuffer(part, np.uint8) for name, part in parts.items()})


def unpack_parts(content: bytes) -> dict[str, bytes]:
    """The parts of ``pack_parts``. Raises ValueError if they are damaged."""
    return {name: part.tobytes() for name, part in unpack(content)[0].items()}


def prepare_kernel(
    kernel: jit.Kernel, *examples: Any, probe: Callable[[Callable], Sequence[int]], is_wide: bool = False
) -> Callable | None:
    """The kernel compiled for arguments of the types of ``examples``; None where it can only run as plain Python.

    What is returned takes positional arguments, returns a bool, and belongs to one thread at a time.

    Args:
        probe: calls the kernel that it is given, and returns numbers which tell whether that works.
        is_wide: whether the kernel gains from vectors of 512 bits.
    """
    wanted = Wanted(kernel.py_func, examples, probe, is_wide)
    if jit.noted:
        jit.noted[-1].append(wanted)
        return None
    code = code_for(wanted, jit.kept)
    return kernel.dispatcher if code is None else KernelCall(code, examples)


_codes: dict[str, Code | None] = {}  # by key, of this process


def code_for(wanted: Wanted, kept: Callable[[Wanted], bytes | None] | None) -> Code | None:
    """The machine code of a kernel that can be used here, if there is any.

    Args:
        kept: gives what this computer keeps, where the toolkit is loaded.
    """
    key = ""
    try:
        key = wanted.key
        if key not in _codes:
            _codes[key] = _load_embedded(wanted, key) if processor() else None
            if _codes[key] is None and processor() and kept is not None and (content := kept(wanted)) is not None:
                _codes[key] = in_memory(content)
    except Exception as fault:  # whatever it is, the kernel can still be compiled
        print(NOT_USABLE.format(fault), file=sys.stderr)
        _codes[key] = None
    return _codes[key]


@cache
def embedded_parts() -> Mapping[str, bytes]:
    """The machine code in this submission that can run here, by key and target; empty if there is none."""
    read = getattr(globals().get("__loader__"), "read_data", None)
    try:
        return unpack_parts(read(__name__, EMBEDDED)) if read is not None and processor() else {}
    except FileNotFoundError:
        return {}
    except ValueError as fault:
        print(NOT_USABLE.format(fault), file=sys.stderr)
        return {}


def _load_embedded(wanted: Wanted, key: str) -> Code | None:
    parts, targets = embedded_parts(), [*TARGETS]
    names = [f"{key}.{target}" for target in targets[targets.index(processor() or "") :]] if parts else []
    content = next((parts[name] for name in names if name in parts), None)
    if content is None:
        return None
    code, expected = in_memory(content), json.loads(parts[f"{key}.probe"])
    if not _probe(lambda: list(wanted.probe(KernelCall(code, wanted.examples))) == expected):
        raise RuntimeError("it gives other results here")
    return code


def _probe(works: Callable[[], bool]) -> bool:
    """Whether ``works`` returns True in a forked process, which may crash or never end."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as answers:
        try:
            child = os.fork()
            if not child:
                _answer(works, writing)
        finally:
            os.close(writing)
        poll = select.poll()  # select takes no file above 1023
        poll.register(answers)
        has_answered = bool(poll.poll(1000 * PROBE_WAIT))
        works_here = has_answered and answers.read(1) == b"1"
    with suppress(OSError):  # the judge may collect ended processes itself
        if not has_answered:  # it waits for what only another thread would do
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return works_here


def _answer(works: Callable[[], bool], writing: int) -> NoReturn:
    """In the forked process: writes whether ``works`` returns True, and ends."""
    import resource  # only where there is fork

    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # of a crash, no file stays
        resource.setrlimit(resource.RLIMIT_CPU, (PROBE_SECONDS, PROBE_SECONDS))
        os.write(writing, b"1" if works() else b"0")
    finally:
        os._exit(0)
