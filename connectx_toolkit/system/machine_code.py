"""Makes machine code of kernels (``connectx.machine_code``): for submissions, and for this computer, which keeps it.

numba compiles a kernel for a processor as usual. Of its module, before code is made of it, everything goes that the
kernel's native function does not need, and an entry is added that takes the arguments from a buffer. What LLVM makes of
that for a target is linked into one piece.
"""

import hashlib
import json
import os
import platform
import re
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from connectx import jit, machine_code
from connectx.machine_code import Wanted, packed, unpacked, words_of
from connectx_toolkit.system.files import replacing, version_of

NARROW, WIDE = "x86-64-v2", "x86-64-v4"  # processors for which numba compiles
WIDE_FEATURES = "-prefer-256-bit"
WIDE_TARGETS = {WIDE: WIDE_FEATURES, "x86-64-v3": "", NARROW: ""}  # a module of vectors of 512 bits serves them all
FIRST_MOVE = (
    {"board": [0] * 42, "mark": 1, "step": 0, "remainingOverageTime": 60.0},
    {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2, "nodeBudget": 1},
)
PC32, PLT32 = 2, 4  # relocations that need no address
PROGBITS, SYMBOLS, RELOCATIONS = 1, 2, 4  # kinds of a section
WRITABLE, LOADED = 1, 2  # flags of a section
ENTRY = """
define i32 @entry(ptr %words) {{
  %exception = alloca ptr
  {loads}
  %status = call i32 @{native}(ptr %words, ptr %exception, {arguments})
  ret i32 %status
}}
"""
NO_DESTRUCTOR = "define internal void @NRT_MemInfo_call_dtor(ptr %0) {\n  ret void\n}"


def native_module(kernel: Any, examples: tuple) -> tuple[str, str]:
    """The LLVM module of a kernel for arguments like the examples, before code is made of it; its native function."""
    from numba import typeof
    from numba.core.codegen import CPUCodeLibrary

    texts: dict[str, str] = {}
    finalize = CPUCodeLibrary._finalize_final_module

    def keep(library: Any) -> None:
        texts[library.name] = str(library._final_module)  # code generation changes it in place
        finalize(library)

    dispatcher = kernel.dispatcher
    signature = tuple(map(typeof, examples))
    CPUCodeLibrary._finalize_final_module = keep  # type: ignore[method-assign]
    try:
        dispatcher.compile(signature)
    finally:
        CPUCodeLibrary._finalize_final_module = finalize  # type: ignore[method-assign]
    compiled = dispatcher.overloads[signature]
    return texts[compiled.library.name], compiled.fndesc.llvm_func_name


def reduced(text: str, native: str, words: int) -> Any:
    """The module with ``entry`` and what it needs.

    Raises:
        ValueError: the native function does not take so many words.
    """
    import llvmlite.binding as llvm

    types = [str(argument.type) for argument in llvm.parse_assembly(text).get_function(native).arguments][2:]
    if len(types) != words:
        raise ValueError(f"{native} takes {len(types)} words, not {words}")

    def keep(match: re.Match) -> str:
        head = match[0].partition("\n")[0]
        return match[0] if f"@{native}(" in head or "@NRT_" in head else ""

    text = re.sub(r"^define .*?^}\n", keep, text, flags=re.M | re.S)
    text = re.sub(r"^declare void @NRT_MemInfo_call_dtor\(.*$", NO_DESTRUCTOR, text, flags=re.M)
    text = re.sub(
        r"^  store ptr @\.const\.picklebuf.*\n", "", text, flags=re.M
    )  # which exception it is: Call finds out
    loads = "\n  ".join(
        f"%p{n} = getelementptr i64, ptr %words, i64 {n + 1}\n  %a{n} = load {kind}, ptr %p{n}"
        for n, kind in enumerate(types)
    )
    arguments = ", ".join(f"{kind} %a{n}" for n, kind in enumerate(types))
    module = llvm.parse_assembly(text + ENTRY.format(loads=loads, native=native, arguments=arguments))
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != "entry":
            value.linkage = "internal"
    return module


def code_of(module: Any, cpu: str, features: str = "") -> bytes:
    """Machine code of a module from ``reduced``, as ``connectx.machine_code.in_memory`` takes it.

    Raises:
        ValueError: it needs something outside.
    """
    import llvmlite.binding as llvm

    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small")
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
    return linked(machine.emit_object(module))


def linked(obj: bytes) -> bytes:
    """One piece of a relocatable ELF file (x86-64), after the offset of its symbol ``entry``.

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
    return struct.pack("<I", entry) + bytes(flat)


def made(wanted: Wanted, targets: Mapping[str, str]) -> dict[str, bytes]:
    """A kernel's machine code for each of the targets, {cpu: features}; numba has to compile for the first of them.

    Raises:
        ValueError: its code needs something outside, so that numba is needed.
    """
    text, native = native_module(jit.Kernel(wanted.function), wanted.examples)
    words = sum(len(words_of(example)) for example in wanted.examples)
    return {cpu: code_of(reduced(text, native, words), cpu, features) for cpu, features in targets.items()}


def for_submission(load: Callable[[], Callable], cpu: str) -> dict[str, bytes]:
    """The machine code of the kernels that an agent prepares while it loads and makes a first move.

    It runs in plain Python meanwhile: numba, which must not be loaded yet, compiles for ``cpu``.

    Args:
        load: gives the agent, a function of (obs, config).
        cpu: NARROW, for code that runs on any processor and what the kernels' probes find; or WIDE.
    """
    wanted: list[Wanted] = []
    machine_code.code_for = wanted.append  # type: ignore[assignment]
    works, jit.load_numba = jit.load_numba, lambda: None  # type: ignore[assignment, misc]
    try:
        load()(*FIRST_MOVE)
    finally:
        jit.load_numba = works  # type: ignore[assignment]
    os.environ |= {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": WIDE_FEATURES if cpu == WIDE else ""}
    parts = dict[str, bytes]()
    for each in {one.key: one for one in wanted}.values():
        with suppress(ValueError):
            if each.is_wide == (cpu == WIDE):
                codes = made(each, WIDE_TARGETS if each.is_wide else {cpu: ""})
                parts |= {f"{each.key}.{target}": code for target, code in codes.items()}
        if cpu == NARROW:
            parts[f"{each.key}.probe"] = json.dumps(each.probe(jit.Kernel(each.function))).encode()
    return parts


def kept(wanted: Wanted) -> bytes | None:
    """A kernel's machine code for this computer, from the user's folder, where it is made if need be.

    None where numba does not work, or makes code that needs it.
    """
    loaded = hashlib.sha256(wanted.bytecode.encode()).hexdigest()[:16]
    path = user_cache_path("connectx-toolkit") / f"{wanted.key}-{loaded}-{_here()}.code"
    with suppress(OSError, ValueError, KeyError):
        return unpacked(path.read_bytes())["code"]
    if not jit.compiles():
        return None
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    try:
        (code,) = made(wanted, {llvm.get_host_cpu_name(): features}).values()
    except ValueError:
        return None
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            partial.write_bytes(packed({"code": code}))
    return code


@cache
def _here() -> str:
    """A digest of all that code depends on besides its kernel: what makes it and calls it, versions, the processor."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    digest = hashlib.sha256()
    for path in (jit.__file__, machine_code.__file__, __file__):
        digest.update(Path(path).read_bytes())
    versions = [sys.version, *map(version_of, ("numpy", "numba", "llvmlite"))]
    digest.update(
        json.dumps([versions, platform.machine(), sorted(name for name in features if features[name])]).encode()
    )
    return digest.hexdigest()[:16]
