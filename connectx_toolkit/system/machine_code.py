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
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import connectx
from connectx import jit
from connectx.machine_code import TARGETS, Wanted, words_of
from connectx_toolkit.system.files import replacing

WIDE = "x86-64-v4"  # vectors of 512 bits; code for lesser targets is made of the same module
WIDE_FEATURES = "-prefer-256-bit"
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
    CPUCodeLibrary._finalize_final_module = keep
    try:
        dispatcher.compile(signature)
    finally:
        CPUCodeLibrary._finalize_final_module = finalize
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
    text = re.sub(r"^  store ptr @\.const\.picklebuf.*\n", "", text, flags=re.M)  # which exception it is: Call finds out
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


def words(examples: tuple) -> int:
    """How many words the arguments take in the buffer."""
    return sum(len(words_of(example)) for example in examples)
