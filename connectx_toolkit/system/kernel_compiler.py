"""Makes machine code of our kernels (``connectx_core.machine_code``): for submissions, and to be kept on this computer.

numba compiles a kernel for a processor as usual. From its LLVM module, all goes that the kernel's native function does
not need, and an entry is added that takes the arguments from a buffer. What LLVM makes of that for a target is linked
into one piece.
"""

import hashlib
import json
import os
import re
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from connectx_core import jit, machine_code
from connectx_core.machine_code import (
    DATA,
    SHAPE,
    STRIDES,
    KernelCall,
    Wanted,
    in_memory,
    leaves,
    pack_parts,
    unpack_parts,
)
from connectx_toolkit.system.files import replacing, version_of

NARROW, WIDE = "x86-64-v2", "x86-64-v4"  # any processor, and the widest
WIDE_FEATURES = "-prefer-256-bit"
WIDE_TARGETS = {WIDE: WIDE_FEATURES, "x86-64-v3": "", NARROW: ""}  # a module of vectors of 512 bits serves them all
FIRST_MOVE = (
    {"board": [0] * 42, "mark": 1, "step": 0, "remainingOverageTime": 60.0},
    {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2, "nodeBudget": 1},
)
UNUSED_DAYS = 30  # that kept code stays
PC32, PLT32 = 2, 4  # relocations that need no address
PROGBITS, SYMBOLS, RELOCATIONS = 1, 2, 4  # kinds of a section
WRITABLE, LOADED = 1, 2  # flags of a section
ENTRY = """
define i32 @entry(ptr %words) {{
  %exception = alloca ptr
  {lines}
  %status = call i32 @{native}(ptr %words, ptr %exception{given})
  ret i32 %status
}}
"""
# An array that is passed has no destructor. Allocations for the values of an exception fail, which is one as well.
INSTEAD = {
    "void @NRT_MemInfo_call_dtor": "define internal void @NRT_MemInfo_call_dtor(ptr %0) {\n  ret void\n}",
    "void @NRT_Free": "define internal void @NRT_Free(ptr %0) {\n  ret void\n}",
    "noalias ptr @NRT_Allocate": "define internal ptr @NRT_Allocate(i64 %0) {\n  ret ptr null\n}",
    "noalias ptr @NRT_MemInfo_alloc": "define internal ptr @NRT_MemInfo_alloc(i64 %0) {\n  ret ptr null\n}",
}


@contextmanager
def module_texts() -> Iterator[dict[str, str]]:
    """LLVM modules by the names of their libraries: those that numba makes meanwhile, before it makes code of them."""
    from numba.core.codegen import CPUCodeLibrary

    texts, finalize = dict[str, str](), CPUCodeLibrary._finalize_final_module

    def keep(library: Any) -> None:
        texts[library.name] = str(library._final_module)  # code generation changes it in place
        finalize(library)

    CPUCodeLibrary._finalize_final_module = keep  # type: ignore[method-assign]
    try:
        yield texts
    finally:
        CPUCodeLibrary._finalize_final_module = finalize  # type: ignore[method-assign]


def entry_function(text: str, native: str, args: Sequence) -> str:
    """The function that takes the arguments from a buffer, after a word for the result, and calls one of the text.

    Raises:
        ValueError: numba passes arguments otherwise.
    """
    import llvmlite.binding as llvm

    arguments = llvm.parse_assembly(text).get_function(native).arguments
    types = [str(argument.type) for argument in arguments][2:]
    lines, given = list[str](), list[str]()

    def load_word(kind: str, base: str, offset: int) -> str:
        name = f"%v{len(lines)}"
        lines.append(f"{name}.at = getelementptr i8, ptr {base}, i64 {offset}\n  {name} = load {kind}, ptr {name}.at")
        return name

    for place, leaf in enumerate(leaves(args), 1):
        if not isinstance(leaf, np.ndarray):
            given.append(load_word(types[len(given)], "%words", 8 * place))
            continue
        array, items = load_word("ptr", "%words", 8 * place), "1"
        data, shape, strides = (load_word("ptr", array, offset) for offset in (DATA, SHAPE, STRIDES))
        sizes = [load_word("i64", shape, 8 * axis) for axis in range(leaf.ndim)]
        for size in sizes:
            lines.append(f"%n{len(lines)} = mul i64 {items}, {size}")
            items = f"%n{len(lines) - 1}"
        given += ["null", "null", items, str(leaf.itemsize), data, *sizes]
        given += [load_word("i64", strides, 8 * axis) for axis in range(leaf.ndim)]
    if len(given) != len(types):
        raise ValueError(f"{native} takes {len(types)} arguments, not {len(given)}")
    texts = "".join(f", {kind} {value}" for kind, value in zip(types, given, strict=True))
    return ENTRY.format(lines="\n  ".join(lines), native=native, given=texts)


def reduce_module(text: str, entry: str) -> Any:
    """The module of a text with ``entry`` and what that needs."""
    import llvmlite.binding as llvm

    text = re.sub(r"(?<= )@\.const\.picklebuf\.[\w.]+|(?<=store ptr )@__excinfo_unwrap_args\w+", "null", text)
    for declared, defined in INSTEAD.items():
        text = re.sub(rf"^declare {declared}\(.*$", defined, text, flags=re.M)
    module = llvm.parse_assembly(text + entry)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != "entry":
            value.linkage = "internal"
    return module


def compile_object(module: Any, cpu: str, features: str) -> bytes:
    """A relocatable ELF file of a module. Raises ValueError if what it computes depends on the processor."""
    import llvmlite.binding as llvm

    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small")
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
    return machine.emit_object(module)


def link_object(obj: bytes) -> tuple[int, bytes]:
    """(offset of its symbol ``entry``, one piece) of a relocatable ELF file (x86-64).

    Raises:
        ValueError: it has variables, or needs an absolute address or something outside.
    """
    (start,) = struct.unpack_from("<Q", obj, 40)
    size, count, names_at = struct.unpack_from("<HHH", obj, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", obj, start + number * size) for number in range(count)]

    def name(table: tuple, at: int) -> str:
        return obj[table[4] + at :].partition(b"\0")[0].decode()

    flat, places = bytearray(), dict[int, int]()
    for number, (title, kind, flags, _, offset, length, *_, align, _) in enumerate(sections):
        if kind == PROGBITS and flags & LOADED and not name(sections[names_at], title).startswith(".eh_frame"):
            if flags & WRITABLE:
                raise ValueError(f"it has variables: {name(sections[names_at], title)}")
            flat += bytes(-len(flat) % max(align, 64))
            places[number] = len(flat)
            flat += obj[offset : offset + length]
    table = next(section for section in sections if section[1] == SYMBOLS)
    symbols = [struct.unpack_from("<IBBHQQ", obj, table[4] + at) for at in range(0, table[5], 24)]
    for _, kind, _, _, offset, length, _, section, *_ in sections:
        for at in range(offset, offset + length, 24) if kind == RELOCATIONS and section in places else ():
            where, info, addend = struct.unpack_from("<QQq", obj, at)
            symbol = symbols[info >> 32]
            if info & 0xFFFFFFFF not in (PC32, PLT32) or symbol[3] not in places:
                raise ValueError(f"it needs {name(sections[table[6]], symbol[0]) or 'an absolute address'}")
            where += places[section]
            struct.pack_into("<i", flat, where, places[symbol[3]] + symbol[4] + addend - where)
    entry = next(places[s[3]] + s[4] for s in symbols if name(sections[table[6]], s[0]) == "entry")
    return entry, bytes(flat)


def compile_kernel(wanted: Wanted, targets: Mapping[str, str]) -> dict[str, bytes]:
    """A kernel's machine code for each target, {cpu: features}, as ``connectx_core.machine_code.in_memory`` takes it.

    numba has to compile for the first of the targets.

    Raises ValueError: its code needs something outside, so that numba is needed; or it returns no bool.
    """
    from numba import typeof
    from numba.core.types import boolean, unliteral

    dispatcher, signature = jit.Kernel(wanted.function).dispatcher, tuple(map(typeof, wanted.examples))
    with module_texts() as texts:
        dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    if unliteral(compiled.signature.return_type) != boolean:
        raise ValueError(f"it returns {compiled.signature.return_type}")
    text = texts[compiled.library.name]
    module = reduce_module(text, entry_function(text, compiled.fndesc.llvm_func_name, wanted.examples))
    codes = {cpu: link_object(compile_object(module.clone(), cpu, features)) for cpu, features in targets.items()}
    return {cpu: b"%d\n" % entry + code for cpu, (entry, code) in codes.items()}


def for_submission(load: Callable[[], Callable]) -> dict[str, bytes]:
    """The machine code of the kernels that an agent prepares while it loads and makes a first move.

    They run in plain Python meanwhile: numba must not be loaded yet. It compiles each once, for the widest processor;
    LLVM makes code for all of what it made. What a probe finds is what the code finds here. Where none runs here, numba
    compiles for any processor, and probes what it has compiled.

    Args:
        load: gives the agent, a function of (obs, config).
    """
    with jit.noting() as wanted:
        load()(*FIRST_MOVE)
    here = machine_code.processor()
    cpu, features = (WIDE, WIDE_FEATURES) if here else (NARROW, "")
    os.environ |= {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
    parts = dict[str, bytes]()
    for each in {one.key: one for one in wanted}.values():
        codes = compile_kernel(each, WIDE_TARGETS if each.is_wide else {NARROW: ""})
        parts |= {f"{each.key}.{target}": code for target, code in codes.items()}
        targets = [*machine_code.TARGETS]
        runs = [codes[target] for target in targets[targets.index(here) :] if target in codes] if here else []
        run = KernelCall(in_memory(runs[0]), each.examples) if runs else jit.Kernel(each.function)
        parts[f"{each.key}.probe"] = json.dumps(each.probe(run)).encode()
    return parts


def load_kernel(wanted: Wanted) -> bytes | None:
    """A kernel's machine code for this computer, from the user's folder, where it is made if need be.

    None where numba does not work, or makes code that needs it.
    """
    path = user_cache_path("connectx-toolkit") / f"{wanted.loaded_key}-{_here()}.code"
    with suppress(OSError, ValueError, KeyError):
        code = unpack_parts(path.read_bytes())["code"]
        with suppress(OSError):  # a folder that can only be read
            os.utime(path)
        return code
    if not jit.compiles():
        return None
    import llvmlite.binding as llvm
    from numba.core.errors import NumbaError

    features = llvm.get_host_cpu_features().flatten()
    try:
        (code,) = compile_kernel(wanted, {llvm.get_host_cpu_name(): features}).values()
    except (ValueError, NumbaError):  # somebody's evaluation: who compiles it without keeping it says why
        return None
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            partial.write_bytes(pack_parts({"code": code}))
        remove_unused(path.parent)
    return code


def remove_unused(folder: Path) -> None:
    """Removes code that was not asked for in ``UNUSED_DAYS``: of kernels, versions or processors of before.

    And what numba has cached there so long ago (``connectx_toolkit.kaggle.sources.module_of``).
    """
    for path in (*folder.glob("*.code"), *folder.glob("numba/*/*")):
        with suppress(FileNotFoundError):  # another process does the same
            if path.stat().st_mtime < time.time() - UNUSED_DAYS * 86_400:
                path.unlink()


@cache
def _here() -> str:
    """A digest of all that code depends on besides its kernel: what makes it and calls it, versions, the processor."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    texts = [Path(path).read_text() for path in (jit.__file__, machine_code.__file__, __file__)]
    versions = [sys.version, *map(version_of, ("numpy", "numba", "llvmlite"))]
    return hashlib.sha256(repr([texts, versions, sorted(filter(features.get, features))]).encode()).hexdigest()[:16]
