"""Machine code of kernels, which runs without numba: embedded in a submission, or kept on this computer.

A kernel's code is one piece that runs at any address, and calls nothing outside but functions of C's library. It has
one entry, which takes a buffer of 64-bit words: the result, then the arguments. It is made by
``connectx_toolkit.system.machine_code``.

Embedded code is tried before it is used, in a process of its own that may crash or hang; whatever is wrong with it,
numba compiles the kernel as if it were not there.
"""

import ctypes
import hashlib
import inspect
import json
import linecache
import mmap
import operator
import os
import re
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from connectx.weights import pack, unpack

EMBEDDED = "machine_code.bin"  # a submission's data beside this module
# What the code for a processor needs, the best first; as numpy names it, which asks the processor itself.
TARGETS = {"x86-64-v4": ("AVX512_SKX",), "x86-64-v3": ("AVX2", "FMA3"), "x86-64-v2": ("SSE42", "POPCNT")}
NOT_USABLE = "connectx: machine code is not usable, numba compiles instead: {!r:.200}"
OTHERS = {*sys.stdlib_module_names, "numba", "numpy"}  # modules of which only constants are told
CONSTANTS = int | float | complex | str | bytes | tuple | np.generic | np.dtype | Enum
ALIKE = {int: "int", np.int64: "int", float: "float", np.float64: "float", bool: "bool", np.bool_: "bool"}
FLAGS = 0x1 | 0x2 | 0x100 | 0x400  # of an array: contiguous in C's or Fortran's order, aligned, writeable
LEAST, MOST = -(1 << 63), (1 << 63) - 1
# Where an array has the addresses of its data, shape and strides (CPython and numpy, since their first versions).
DATA, SHAPE, STRIDES = 16, 32, 40
DONE = 0  # a kernel's status; any other is an exception
PROBE_SECONDS, PROBE_WAIT = 2, 8.0  # of a processor, by the clock: for trying embedded code, which takes some 10 ms


class Wanted(NamedTuple):
    """Machine code that is asked for."""

    function: Callable  # the kernel's
    examples: tuple  # arguments of the types that it will be called with
    probe: Callable[[Callable], Sequence[int]]  # calls what it is given; the numbers tell whether that works
    is_wide: bool  # whether it gains from vectors of 512 bits

    @property
    def key(self) -> str:
        """What tells it from any other code: the text of all that is compiled, its constants, the arguments' types."""
        return self._key(_text)

    @property
    def loaded_key(self) -> str:
        """The same with bytecode instead of text, which may be that of a file changed since it was loaded.

        Each version of Python has its own.
        """
        return self._key(_bytecode)

    def _key(self, form: Callable[[CodeType], str]) -> str:
        parts = [*_compiled_from(self.function, form, set()), repr([*map(kind_of, self.examples)])]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _text(code: CodeType) -> str:
    """The source of a function, without decorators."""
    text = "".join(inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]))
    if not text:
        raise ValueError(f"the text of {code.co_name} is not known")
    return text[match.start() :] if (match := re.search(r"^[ \t]*def ", text, re.M)) else text


def _bytecode(code: CodeType) -> str:
    """The bytecode of a function and of those inside it, with their names and constants."""
    codes = [(each, [value for value in each.co_consts if not isinstance(value, CodeType)]) for each in _nested(code)]
    return repr([(each.co_code, each.co_names, constants) for each, constants in codes])


def _compiled_from(function: Callable, form: Callable[[CodeType], str], seen: set[Callable]) -> Iterator[str]:
    """A function in one of two forms, its globals and its closure: values, and functions in the same way."""
    seen.add(function)
    code, values = function.__code__, function.__globals__
    yield form(code)
    names = sorted({name for each in _nested(code) for name in each.co_names})  # of globals and attributes
    closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))

    def told(name: str, value: Any, inside: tuple = ()) -> Iterator[str]:
        if isinstance(value, ModuleType):
            for each in names if value not in inside else ():
                inner = vars(value).get(each)
                if _is_own(value) or isinstance(inner, CONSTANTS):
                    yield from told(f"{name}.{each}", inner, (*inside, value))
        elif isinstance(function := getattr(value, "py_func", value), FunctionType):  # of a kernel
            yield from _compiled_from(function, form, seen) if function not in seen else ()
        elif isinstance(value, tuple):
            yield f"{name} {type(value).__name__} {len(value)}"
            for place, each in enumerate(value):
                yield from told(f"{name}[{place}]", each)
        elif isinstance(value, np.ndarray | np.generic):
            yield f"{name} {kind_of(value)} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, type):
            members = [(each.name, each.value) for each in value] if issubclass(value, Enum) else ""
            yield f"{name} {value.__name__} {getattr(value, '_fields', '')} {members}"
        elif isinstance(value, CONSTANTS) or type(value).__module__.startswith("numba.core.types."):
            yield f"{name} {value!r}"

    for name in names:
        yield from told(name, values.get(name))
    for name, cell in closure.items():
        yield from told(name, cell.cell_contents)


def _is_own(module: ModuleType) -> bool:
    """Whether an agent brings the module, rather than Python or a package that numba knows."""
    return module.__name__.partition(".")[0] not in OTHERS


def _nested(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of functions inside it."""
    yield code
    for constant in code.co_consts:
        yield from _nested(constant) if isinstance(constant, CodeType) else ()


def kind_of(value: Any) -> Any:
    """The type of a kernel's argument, as far as code depends on it: the same in each process, and quick to find.

    None for an integer that numba refuses.
    """
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & FLAGS
    if kind is int:
        return "int" if LEAST <= value <= MOST else None
    if isinstance(value, tuple):
        return (kind.__name__, getattr(kind, "_fields", ()), *map(kind_of, value))
    return ALIKE.get(kind, kind.__name__)


def leaves(values: Iterable) -> list:
    """The values in their order, tuples taken apart."""
    return [leaf for value in values for leaf in (leaves(value) if isinstance(value, tuple) else [value])]


def word_of(leaf: Any) -> tuple[str, Callable[[Any], int] | None]:
    """How a value gets into a 64-bit word: its format as in ``struct``, and what makes it a number if it is none.

    An array is passed as its address in Python: its data, shape and strides are read there.

    Raises:
        TypeError: it is neither a number, an array nor None.
    """
    if type(leaf) is np.ndarray:
        return "Q", id
    if isinstance(leaf, float | np.float32):
        return ("d" if isinstance(leaf, float) else "f4x"), None
    if leaf is None or isinstance(leaf, np.bool_):
        return "q", bool
    operator.index(leaf)
    return ("Q" if isinstance(leaf, np.uint64) else "q"), None


class Code(NamedTuple):
    """Machine code where it can run."""

    entry: int  # address
    memory: Any  # holds it
    result: str  # the type of what it returns, as in ``struct``


class Call:
    """A kernel as a function, by its machine code. For one thread at a time: the arguments lie in one buffer.

    Args:
        kernel: is called instead where the code has met an exception, and raises it.

    Raises:
        TypeError: by a call, an argument is not of the type of its example.
    """

    def __init__(self, kernel: Callable, code: Code, examples: Sequence):
        self._kernel, self._memory, self._kinds = kernel, code.memory, tuple(map(kind_of, examples))
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.entry)
        self._has_tuples = any(isinstance(each, tuple) for each in examples)
        words = [word_of(leaf) for leaf in leaves(examples)]
        self._converted = [(place, convert) for place, (_, convert) in enumerate(words) if convert is not None]
        self._pack = struct.Struct("=" + "".join(form for form, _ in words)).pack_into
        self._start = 8
        self._words = (ctypes.c_int64 * (self._start // 8 + len(words)))()
        self._pointer = ctypes.addressof(self._words)
        self._result = struct.Struct("@" + code.result).unpack_from

    def __call__(self, *args: Any) -> Any:
        kinds = tuple(map(kind_of, args))
        if kinds != self._kinds:
            raise TypeError(f"the arguments of a kernel should be {self._kinds}, not {kinds}")
        words = leaves(args) if self._has_tuples else list(args)
        for place, convert in self._converted:
            words[place] = convert(words[place])
        self._pack(self._words, self._start, *words)
        status = self._run(self._pointer)
        return self._result(self._words)[0] if status == DONE else self._kernel(*args)


def in_memory(content: bytes) -> Code:
    """Code where it can run; in ``content`` it follows a line of JSON: its entry, its result, addresses that it wants.

    It becomes a file in memory, which may be mapped as executable where other memory must not become it.

    Raises:
        OSError, AttributeError: the system offers no such files or no such functions, or forbids it.
    """
    line, _, text = content.partition(b"\n")
    about, code = json.loads(line), bytearray(text)
    for name, place in about["outside"].items():
        address = ctypes.cast(getattr(ctypes.CDLL("libm.so.6"), name), ctypes.c_void_p).value
        struct.pack_into("<Q", code, place, address)
    handle = os.memfd_create("connectx")
    try:
        os.write(handle, code)
        memory = mmap.mmap(handle, len(code), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    finally:
        os.close(handle)
    return Code(np.frombuffer(memory, np.uint8).ctypes.data + about["entry"], memory, about["result"])


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


def packed(parts: Mapping[str, bytes]) -> bytes:
    """One file of several parts with names."""
    return pack({name: np.frombuffer(part, np.uint8) for name, part in parts.items()})


def unpacked(content: bytes) -> dict[str, bytes]:
    """The parts of ``packed``. Raises ValueError if they are damaged."""
    return {name: part.tobytes() for name, part in unpack(content)[0].items()}


_codes: dict[str, Code | None] = {}  # by key, of this process


def code_for(wanted: Wanted) -> Code | None:
    """The machine code of a kernel that can be used here, if there is any."""
    key = ""
    try:
        key = wanted.key
        if key not in _codes:
            _codes[key] = (_embedded(wanted, key) or _kept(wanted)) if processor() else None
    except Exception as fault:  # whatever it is, the kernel can still be compiled
        print(NOT_USABLE.format(fault), file=sys.stderr)
        _codes[key] = None
    return _codes[key]


@cache
def embedded() -> Mapping[str, bytes]:
    """The machine code in this submission that can run here, by key and target; empty if there is none."""
    read = getattr(globals().get("__loader__"), "read_data", None)
    try:
        return unpacked(read(__name__, EMBEDDED)) if read is not None and processor() else {}
    except FileNotFoundError:
        return {}
    except ValueError as fault:
        print(NOT_USABLE.format(fault), file=sys.stderr)
        return {}


def _embedded(wanted: Wanted, key: str) -> Code | None:
    parts, targets = embedded(), [*TARGETS]
    names = [f"{key}.{target}" for target in targets[targets.index(processor() or "") :]] if parts else []
    content = next((parts[name] for name in names if name in parts), None)
    if content is None:
        return None
    code, expected = in_memory(content), json.loads(parts[f"{key}.probe"])
    if not _probe(
        lambda: list(wanted.probe(Call(wanted.function, code, wanted.examples))) == expected
    ):
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


def _kept(wanted: Wanted) -> Code | None:
    """The code that this computer keeps, made now if need be.

    None where the toolkit is not loaded, or beside another ``connectx`` than this one: an agent may bring its own.
    """
    toolkit = sys.modules.get("toolkit-of-connectx")  # its own name is not there while an agent's file loads
    if (
        __package__ != "connectx"
        or toolkit is None
        or Path(toolkit.__file__ or "").parents[1] != Path(__file__).parents[1]
    ):
        return None
    content = toolkit.machine_code_of(wanted)
    return None if content is None else in_memory(content)
