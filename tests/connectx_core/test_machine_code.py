"""Machine code of kernels: the same results as numba's, and whatever is wrong with it, the kernel still runs."""

import faulthandler
import json
import linecache
import math
import os
import random
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from enum import IntEnum

import numpy as np
import pytest

from connectx_core import jit, machine_code
from connectx_core.clock import Budget
from connectx_core.jit import njit
from connectx_core.machine_code import Code, KernelCall, Wanted, code_for, pack_parts, processor, unpack_parts
from connectx_core.position import STANDARD, Position, geometry_of
from connectx_core.search import Searcher
from connectx_core.solver import Solver
from connectx_toolkit.system import kernel_compiler as kept_code
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.kernel_compiler import link_object
from tests.conftest import needs

COMPILES = needs("numba: pip install -r requirements.txt", jit.compiles() and processor() is not None)
NUMBERS = np.zeros(1, np.int64)
POSITIONS = 40


def no_probe(run: Callable) -> list[int]:
    return []


def positions(count: int) -> list[Position]:
    chance, found = random.Random(63), list[Position]()
    while len(found) < count:
        position = Position.empty(STANDARD)
        for _ in range(chance.randrange(16, 26)):
            safe = [c for c in position.legal_columns() if c not in position.winning_columns()]
            position = position.play(chance.choice(safe)) if safe else position
        found.append(position)
    return found


def solved(count: int) -> tuple[list, int]:
    solver = Solver(STANDARD, table_bits=16)
    stones, masks = np.array([position[:2] for position in positions(count)]).T
    return solver.solve_many(stones, masks).tolist(), solver.nodes


@COMPILES
def test_a_solver_finds_the_same_with_it(monkeypatch):
    ours = solved(POSITIONS)
    assert type(Solver(STANDARD, table_bits=16)._run) is KernelCall
    monkeypatch.setattr(jit, "kept", None)
    monkeypatch.setattr(machine_code, "_codes", {})
    assert type(Solver(STANDARD, table_bits=16)._run) is not KernelCall and solved(POSITIONS) == ours


@COMPILES
@pytest.mark.parametrize("geometry", [STANDARD, geometry_of(5, 4, 3)])
def test_a_search_finds_the_same_with_it(geometry, monkeypatch):
    def results() -> list:
        searcher = Searcher(geometry)
        return [searcher.search(p, Budget(nodes=3000)) for p in (Position.empty(geometry),) * 2]

    ours = results()
    assert type(Searcher(geometry)._kernel) is KernelCall
    monkeypatch.setattr(jit, "kept", None)
    monkeypatch.setattr(machine_code, "_codes", {})
    assert type(Searcher(geometry)._kernel) is not KernelCall and results() == ours


@COMPILES
def test_it_is_kept_and_numba_is_not_loaded_again(tmp_path):
    code = "import sys, connectx_toolkit\nfrom connectx_core.solver import Solver\n"
    code += "from connectx_core.position import STANDARD, Position\n"
    code += "position = Position.from_moves([3] * 6 + [2] * 6, STANDARD)\n"
    code += "print(Solver(STANDARD, 16).solve(position).low, 'numba' in sys.modules)"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}

    def said() -> tuple[str, str]:
        call = [sys.executable, "-c", code]
        run = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return run.stdout.strip(), run.stderr

    assert [said(), said()] == [("14 True", ""), ("14 False", "")]


STEP = 1


def kernel_of(**scope) -> Callable[[int], object]:
    """A function of this text with these globals."""
    lines = ["def kernel(n):\n", "    return n + SIZE + PAIR[1] + np.int64(n)\n"]
    linecache.cache["constants.py"] = (0, None, lines, "")
    exec(compile("".join(lines), "constants.py", "exec"), scope)
    return scope["kernel"]


@pytest.mark.parametrize("changed", [{"SIZE": 8}, {"PAIR": (1, (2, 4))}, {"PAIR": (1, 2, 3)}])
def test_a_key_tells_every_constant(changed):
    """Code for another value would be a wrong kernel."""

    def keys(**changes) -> tuple[str, str]:
        wanted = Wanted(kernel_of(**{"SIZE": 7, "PAIR": (1, (2, 3)), "np": np} | changes), (1,), no_probe, False)
        return wanted.key, wanted.loaded_key

    assert keys() == keys()
    assert not {*keys()} & {*keys(**changed)}


@pytest.mark.parametrize("value", [NUMBERS, 0.5, np.int64(1), (1, NUMBERS), math, IntEnum, "a"])
def test_what_a_key_cannot_tell_is_refused(value):
    """A kernel of ours that comes to use it: numba compiles it, and says why."""
    with pytest.raises(ValueError, match="kernel uses SIZE, neither a number nor a function"):
        _ = Wanted(kernel_of(SIZE=value, PAIR=(1, 2), np=np), (1,), no_probe, False).key


def test_parts_are_whole_or_refused():
    parts = {"one": b"\n\0 1", "two": b""}
    content = pack_parts(parts)
    assert unpack_parts(content) == parts
    with pytest.raises(ValueError):
        unpack_parts(content[:-70])
    with pytest.raises(ValueError, match="checksum"):
        unpack_parts(content.replace(b"\0 1", b"\0 2"))


def test_arguments_of_another_type_are_refused():
    call = KernelCall(Code(0, None), [NUMBERS])
    fixed = np.zeros(1, np.int64)
    fixed.flags.writeable = False
    for wrong in (np.zeros(1, np.int32), np.zeros((1, 1), np.int64), np.zeros(4, np.int64)[::2], fixed, (1,), None):
        with pytest.raises(TypeError, match=r"the arguments of a kernel should be .*int64"):
            call(wrong)


@COMPILES
def test_code_of_a_file_that_has_changed_since_it_was_loaded_is_another(tmp_path, monkeypatch):
    """What is kept for the text of now was made from it, and not from what an older process has loaded."""
    monkeypatch.setattr(kept_code, "user_cache_path", lambda name: tmp_path)
    monkeypatch.setattr(kept_code, "compile_kernel", lambda wanted, targets: {"here": wanted.function(0)})
    text = "def kernel(numbers):\n    return b'{}'\n"
    monkeypatch.setitem(linecache.cache, "kernel.py", (0, None, text.format("new").splitlines(keepends=True), ""))

    def wanted(version: str) -> Wanted:
        scope: dict = {}
        exec(compile(text.format(version), "kernel.py", "exec"), scope)
        return Wanted(scope["kernel"], (NUMBERS,), no_probe, False)

    assert [kept_code.load_kernel(wanted(version)) for version in ("old", "new", "old")] == [b"old", b"new", b"old"]
    whole = {file: file.read_bytes() for file in tmp_path.glob("*.code")}
    for file, content in whole.items():
        file.write_bytes(content[:-1])  # cut off: made again
    assert [kept_code.load_kernel(wanted(version)) for version in ("old", "new")] == [b"old", b"new"]
    assert {file: file.read_bytes() for file in tmp_path.glob("*.code")} == whole and len(whole) == 2


X86 = needs("an x86-64 processor", processor() is not None)
HEAD = b"0\n"  # where its entry is
ENDS = {"crash": b"\x0f\x0b", "endless": b"\xeb\xfe", "wrong": b"\x31\xc0\xc3"}  # ud2; jmp to itself; return 0


@X86
@pytest.mark.parametrize("end", ENDS)
def test_embedded_code_that_does_not_work_is_not_used(end, monkeypatch, capsys):
    """It crashes, never ends, or finds something else: it is tried in a process of its own."""
    function = njit(lambda numbers: True).py_func
    wanted = Wanted(function, (NUMBERS,), lambda run: [int(run(NUMBERS))], False)
    parts = {f"{wanted.key}.x86-64-v2": HEAD + ENDS[end], f"{wanted.key}.probe": b"[1]"}
    monkeypatch.setattr(machine_code, "embedded_parts", lambda: parts)
    monkeypatch.setattr(machine_code, "_codes", {})
    monkeypatch.setattr(machine_code, "PROBE_SECONDS", 1)
    faulthandler.disable()  # pytest's: the child's crash is meant
    assert code_for(wanted, None) is None
    faulthandler.enable(2)
    assert capsys.readouterr().err.startswith("connectx_core: machine code is not usable, numba compiles instead")


@X86
def test_a_trial_that_waits_for_ever_is_ended(monkeypatch):
    """As one does where another thread of the judge held a lock. It leaves no process, and no open file."""
    monkeypatch.setattr(machine_code, "PROBE_WAIT", 0.05)
    fork, children = os.fork, list[int]()

    def noted() -> int:
        children.append(fork())
        return children[-1]

    def waits() -> bool:
        time.sleep(60)
        return True

    monkeypatch.setattr(os, "fork", noted)
    files, started = os.listdir("/proc/self/fd"), time.perf_counter()
    assert not machine_code._probe(waits) and time.perf_counter() - started < 10
    with pytest.raises(ChildProcessError):
        os.waitpid(children[0], os.WNOHANG)
    monkeypatch.setattr(os, "fork", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        machine_code._probe(lambda: True)
    assert os.listdir("/proc/self/fd") == files


@X86
def test_embedded_code_that_works_is_used(monkeypatch):
    returns = b"\x48\xc7\x07\x01\x00\x00\x00\x31\xc0\xc3"  # mov qword [rdi], 1; xor eax, eax; ret
    wanted = Wanted(njit(lambda numbers: True).py_func, (NUMBERS,), lambda run: [int(run(NUMBERS))], False)
    parts = {f"{wanted.key}.x86-64-v2": HEAD + returns, f"{wanted.key}.probe": json.dumps([1]).encode()}
    monkeypatch.setattr(machine_code, "embedded_parts", lambda: parts)
    monkeypatch.setattr(machine_code, "_codes", {})
    code = code_for(wanted, None)
    assert code is not None and KernelCall(code, wanted.examples)(NUMBERS) is True


@X86
def test_an_exception_in_the_code_is_one_in_python():
    """The kernel does not run again on what it has half done."""
    call = KernelCall(machine_code.in_memory(HEAD + b"\xb8\x01\x00\x00\x00\xc3"), [NUMBERS])  # mov eax, 1; ret
    with pytest.raises(RuntimeError, match="ended by an exception, with status 1"):
        call(NUMBERS)


@X86
def test_where_memory_may_not_be_executed_there_is_none(monkeypatch, capsys):
    def forbidden(name: str) -> int:
        raise OSError("not permitted")

    monkeypatch.setattr(machine_code, "_codes", {})
    monkeypatch.setattr(machine_code, "embedded_parts", dict)
    monkeypatch.setattr(os, "memfd_create", forbidden)
    wanted = Wanted(njit(lambda numbers: True).py_func, (NUMBERS,), no_probe, False)
    assert code_for(wanted, lambda wanted: HEAD + b"\xc3") is None
    assert "not permitted" in capsys.readouterr().err


@X86
def test_elsewhere_than_on_linux_numba_compiles_without_a_word(monkeypatch, capsys):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(machine_code, "_codes", {})
    assert code_for(Wanted(njit(lambda numbers: True).py_func, (NUMBERS,), no_probe, False), None) is None
    assert not "".join(capsys.readouterr())


def test_an_object_that_needs_something_outside_is_refused():
    with pytest.raises((ValueError, struct.error, StopIteration)):
        link_object(b"\x7fELF" + bytes(60))
