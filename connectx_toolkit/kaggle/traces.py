"""Traces an agent's own code while it is asked for moves: which lines run, and which errors a catch-all handler hides.

Lines are traced by ``sys.settrace``, which is slow in code that never runs through. So a move is traced from its
beginning to its end, or not at all, where tracing has taken its share of the time.
"""

import ast
import contextlib
import linecache
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FrameType
from typing import Any

from connectx_toolkit.kaggle.raised import to_raised

TRACING_SHARE = 0.08  # of the processor's time
ALLOWED = 0.01  # seconds beyond that
EVENT = 1e-6  # seconds that an event takes at most; most take a third
COMPILERS = re.compile(r"jit(able)?\b|Searcher\b|jit_module|vectorize|cfunc|stencil|torch\.compile")
ANY = {"Exception", "BaseException"}
OPTIMIZED = 1  # the flag of functions' code, as in inspect, which is not imported where agents run


class Trace:
    """Traces calls of functions.

    Args:
        files: those of the agent's code, as its code objects name them.
    """

    def __init__(self, files: Collection[str]):
        self.files = frozenset(files)
        self.count = 0  # of calls that were traced
        self._ran, self._caught = set[tuple[str, int]](), Counter[tuple[str, str, int]]()
        self._open: dict[CodeType, set[int]] = {}  # lines that have not run
        self._now = set[tuple[str, str, int]]()
        self._tries: dict[str, list[ast.Try]] = {}
        self._events, self._started = 0, time.process_time()
        take_exceptions_of_threads()

    def call(self, function: Callable, *arguments: Any) -> Any:
        """What a function returns."""
        if self._events * EVENT > ALLOWED + TRACING_SHARE * (time.process_time() - self._started):
            return function(*arguments)
        self.count += 1
        sys.settrace(self._enter)
        try:
            return function(*arguments)
        finally:
            sys.settrace(None)
            self._caught.update(self._now)
            self._now.clear()

    def _enter(self, frame: FrameType, event: str, given: Any) -> Any:
        code = frame.f_code
        self._events += 1
        if code not in self._open:
            self._open[code] = code_lines(code) if code.co_filename in self.files else set()
        if self._open[code]:
            return self._step
        if code.co_exceptiontable and code.co_filename in self.files:
            frame.f_trace_lines = False
            return self._step
        return None

    def _step(self, frame: FrameType, event: str, given: Any) -> Any:
        self._events += 1
        if event == "line":
            self._open[frame.f_code].discard(frame.f_lineno)
            self._ran.add((frame.f_code.co_filename, frame.f_lineno))
        elif event == "exception":
            self._raise(frame, *given)
        return self._step

    def _raise(self, frame: FrameType, kind: type, value: Any, trace: Any) -> None:
        """Takes note of an exception if the handler that catches it in this frame is one for any."""
        file, names = frame.f_code.co_filename, {each.__name__ for each in kind.__mro__}
        if file not in self._tries:
            nodes = ast.walk(ast.parse("".join(linecache.getlines(file))))
            self._tries[file] = [node for node in nodes if isinstance(node, ast.Try)]
        for node in reversed(self._tries[file]):  # the inner ones first
            first, last = node.body[0].lineno, node.body[-1].end_lineno or 0
            if not frame.f_code.co_firstlineno <= node.lineno or not first <= frame.f_lineno <= last:
                continue
            caught = next((each for each in node.handlers if names & _kinds_caught(each)), None)
            raises = [each for each in ast.walk(caught) if isinstance(each, ast.Raise)] if caught else []
            if caught is None or any(each.exc is None for each in raises):
                continue
            if _kinds_caught(caught) & ANY and not raises:
                while trace.tb_next and trace.tb_next.tb_frame.f_code.co_filename in self.files:
                    trace = trace.tb_next
                text = to_raised(value).line if isinstance(value, BaseException) else f"{kind.__name__}: {value}"
                self._now.add((text[:100], trace.tb_frame.f_code.co_filename, trace.tb_lineno))
            return

    def result(self) -> dict[str, Any]:
        """In values that JSON can hold.

        count: of traced calls.
        never: file -> the first and last line of each piece of functions that never ran.
        caught: [exception, file, line, number of calls], the most frequent first.
        """
        never = {file: list(self._pieces(file)) for file in sorted(self.files)}
        caught = [[*key, number] for key, number in self._caught.most_common(3)]
        return {"count": self.count, "never": {file: each for file, each in never.items() if each}, "caught": caught}

    def _pieces(self, file: str) -> Iterator[tuple[int, int]]:
        text = "".join(linecache.getlines(file))
        try:
            tree, whole = ast.parse(text), compile(text, file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return
        piece: list[int] = []
        for line in sorted(_all_lines(whole) - _lines_compiled(tree)):
            if (file, line) in self._ran:
                if piece:
                    yield piece[0], piece[-1]
                piece = []
            else:
                piece.append(line)
        if piece:
            yield piece[0], piece[-1]


class _NoFault(Exception):
    """Raised in this thread, and caught."""


def take_exceptions_of_threads() -> None:
    """Has Python forget that an exception waits for another thread, as the guard of a submission may have raised one.

    While it remembers, CPython 3.11 does not get past the first step of a function that is traced.
    """
    import ctypes

    with contextlib.suppress(_NoFault):
        me = ctypes.c_ulong(threading.get_ident())
        ctypes.pythonapi.PyThreadState_SetAsyncExc(me, ctypes.py_object(_NoFault))
        while True:  # until it is raised
            pass


def code_lines(code: CodeType) -> set[int]:
    """The lines of a function that a trace tells of."""
    return {line for _, _, line in code.co_lines() if line} - {code.co_firstlineno}


def _all_lines(code: CodeType) -> set[int]:
    """Those of all functions in a code."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    own = code_lines(code) if code.co_flags & OPTIMIZED else set[int]()
    return own.union(*map(_all_lines, inner))


def _lines_compiled(tree: ast.Module) -> set[int]:
    """The lines of functions that numba or torch compiles, of which no trace tells."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and COMPILERS.search(ast.unparse(node.func)))
    given = {ast.unparse(each) for call in calls for each in (*call.args, *(named.value for named in call.keywords))}
    lines = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if node.name in given or COMPILERS.search(decorators):
                lines |= {*range(node.lineno, (node.end_lineno or 0) + 1)}
    return lines


def _kinds_caught(handler: ast.ExceptHandler) -> set[str]:
    """What a handler catches."""
    if handler.type is None:
        return {"BaseException"}
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(each).rpartition(".")[2] for each in nodes}
