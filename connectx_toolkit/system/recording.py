"""Finds out with which arguments an agent calls its own functions under numba's ``njit``, and makes their machine code.

The agent plays a few moves meanwhile, with the real numba.
"""

import json
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from connectx.machine_code import Call, in_memory, kind_of, leaves, word_of
from connectx.stand_in import Function, as_text, decorator, from_text, tried
from connectx_toolkit.system.machine_code import NARROW, codes_of, compile_for, module_texts

CALLS = 20  # of a function for arguments of some types that may become its example
EXAMPLE_BYTES, EXAMPLE_SECONDS = 16_000, 0.1  # that an example may have, compressed, and take
LARGEST = 1 << 20  # bytes of arrays that are looked at for an example: those of zeros become small
# What only numba has: how the symbol begins, what a function does that needs it, and what does without.
NEEDS = {
    "numba_dict": ("uses a typed dict", "Use an array instead."),
    "numba_list": ("uses a typed list", "Use an array instead."),
    "numba_parallel": ("uses prange", "Leave parallel=True out."),
    "numba_get_np_random": ("uses np.random", "Draw the numbers outside, and pass them."),
    "numba_get_py_random": ("uses random", "Draw the numbers outside, and pass them."),
    "numba_unpickle": ("uses an object of Python's", "Pass numbers, arrays and tuples."),
    "numba_gil": ("uses Python, as for print", "Leave it out."),
    "numba_attempt": ("reshapes or flattens an array", "Do that outside."),
    ".data": ("reads a large global array", "Pass it as an argument."),
    "NRT_": ("makes an array, a list or a copy", "Pass it an array to work on instead."),
    "fastmath": ("uses fastmath, whose results depend on the processor", "Leave fastmath=True out."),
    "returns": ("returns neither a number nor a tuple of numbers", "Write into an argument instead."),
    "signature": ("is called with other types than its signature's", "Leave the signature out."),
    "takes": ("takes a {}", "Pass numbers, arrays and tuples of them instead."),
    "other": ("does not work without it", "Use numbers, arrays and tuples."),
    "": ("uses what only numba has", "Use numbers, arrays and tuples."),
}


class Recorded(NamedTuple):
    """A function as the agent has called it with arguments of some types."""

    name: str
    key: str
    code: bytes
    obstacle: str  # why there is no code
    seconds: float  # of the processor that numba took to compile it
    examples: list[tuple[float, bytes]]  # seconds, and arguments as text

    @property
    def note(self) -> str:
        """Why the function needs numba, in words."""
        names = self.obstacle.removeprefix("it needs ").split()
        start = next(start for start in NEEDS if any(name.startswith(start) for name in names))
        what, cure = NEEDS[start]

        symbol = next(name for name in names if name.startswith(start))
        what = what.format(names[-1])
        why = f" ({symbol})" if "_" in symbol or not start else ""
        return (
            f"`{self.name}` {what}{why}, which needs numba: compiling takes {self.seconds:.2f} s on every load. {cure}"
        )


class Recorder:
    """Once it has begun, numba's ``njit`` and ``jit`` record the calls of functions that an agent's modules define.

    For a process that does nothing else. numba must not be loaded yet.
    """

    def __init__(self, modules: Collection[str]):
        self.found: dict[tuple, Recorded] = {}
        self._modules = frozenset(modules)

    def begin(self) -> None:
        compile_for(NARROW)
        import numba

        self._watch = module_texts()  # as long as it exists
        self._texts = self._watch.__enter__()
        for name in ("jit", "njit"):
            setattr(numba, name, decorator(name, self._watched))

    def _watched(self, function: Callable, given: Sequence, options: dict[str, Any]) -> Any:
        if os.path.realpath(function.__code__.co_filename) in self._modules:
            return Watched(function, given, options | {"cache": False}, self)  # from a cache there is no module
        from numba.core.decorators import jit

        return jit(*given, **options)(function)

    def record(self, function: Function, args: tuple) -> Recorded:
        """Lets numba compile a function for arguments of these types, and makes its machine code."""
        from numba import typeof

        started, types = time.process_time(), tuple(map(typeof, args))
        dispatcher = function.dispatcher
        if is_open := bool(dispatcher._can_compile):
            dispatcher.compile(types)
        seconds, code, obstacle = time.process_time() - started, b"", ""
        signature = types if is_open else next((s for s in dispatcher.overloads if all(map(_fits, s, types))), None)
        try:
            for leaf in leaves(args):
                word_of(leaf)
            if signature is None:
                raise ValueError("signature")
            (code,) = codes_of(dispatcher, signature, self._texts, args, {NARROW: ""}).values()
        except TypeError:
            obstacle = f"takes {type(leaf).__name__}"
        except Exception as fault:  # whatever LLVM says, numba's function works
            obstacle = str(fault)
        return Recorded(function.__qualname__, function.wanted(args).key, code, obstacle, seconds, [])

    @property
    def has_code(self) -> bool:
        return any(each.code for each in self.found.values())

    def parts(self) -> Iterator[tuple[str, bytes]]:
        """The code of the functions for a submission: with an example to try it where one is small and quick.

        Code that finds another result for it than numba's function, or cannot do without numba, becomes an obstacle.
        """
        for kinds, each in self.found.items():
            seconds, text = min(each.examples, default=(EXAMPLE_SECONDS, b""))
            is_tried = bool(each.code) and seconds < EXAMPLE_SECONDS
            expected = tried(kinds[0].original, text) if is_tried else []
            if is_tried and expected != _tried_alone(each.code, text):
                self.found[kinds] = each._replace(code=b"", obstacle="other")
            elif each.code:
                yield f"{each.key}.{NARROW}", each.code
                yield f"{each.key}.probe", json.dumps(expected if is_tried else None).encode()
                yield from [(f"{each.key}.example", text)] * is_tried

    def notes(self) -> list[str]:
        """Which functions need numba, and why."""
        return sorted({each.note for each in self.found.values() if each.obstacle})


def _tried_alone(code: bytes, example: bytes) -> list[int]:
    """What ``tried`` finds for machine code; [] where it needs numba's function."""

    def refuse(*_: object) -> None:
        raise RuntimeError("an exception in machine code")

    with suppress(RuntimeError):
        return tried(Call(refuse, in_memory(code), from_text(example)), example)
    return []


def _fits(declared: Any, given: Any) -> bool:
    """Whether compiled code takes an argument as one of its declared type without converting it."""
    from numba.core.types import Array

    if not (isinstance(declared, Array) and isinstance(given, Array) and declared.layout == "A"):
        return declared == given
    return declared == given.copy(layout="A")


class Watched(Function):
    """A function that records how it is called."""

    def __init__(self, function: Callable, given: Sequence, options: dict[str, Any], recorder: Recorder):
        super().__init__(function, given, options)
        self._recorder = recorder

    def __call__(self, *args: Any, **named: Any) -> Any:
        given = self.positional(args, named)
        kinds = (self, *map(kind_of, given or ()))
        if given is None or None in kinds:
            return self.original(*args, **named)
        found = self._recorder.found
        recorded = found[kinds] if kinds in found else found.setdefault(kinds, self._recorder.record(self, given))
        text = example(given) if recorded.code and len(recorded.examples) < CALLS else None
        started = time.process_time()
        result = self.original(*args, **named)
        if text is not None:
            recorded.examples.append((time.process_time() - started, text))
        return result


def example(args: tuple) -> bytes | None:
    """Arguments as text; None if that is too long, or if they do not come back from it as they were."""
    if sum(arg.nbytes for arg in args if isinstance(arg, np.ndarray)) > LARGEST:
        return None
    with suppress(TypeError, ValueError):
        text = as_text(args)
        if len(zlib.compress(text)) <= EXAMPLE_BYTES and kind_of(from_text(text)) == kind_of(args):
            return text
    return None
