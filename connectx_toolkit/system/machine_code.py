"""Makes machine code of kernels (``connectx.machine_code``): for submissions, and for this computer, which keeps it.

numba compiles a kernel for a processor as usual. Of its module, before code is made of it, everything goes that the
kernel's native function does not need, and an entry is added that takes the arguments from a buffer. What LLVM makes of
that for a target is linked into one piece.
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

from connectx import jit, machine_code
from connectx.machine_code import DATA, SHAPE, STRIDES, Wanted, leaves, packed, unpacked, word_of
from connectx_toolkit.system.files import replacing, version_of

NARROW, WIDE = "x86-64-v2", "x86-64-v4"  # processors for which numba compiles
WIDE_FEATURES = "-prefer-256-bit"
WIDE_TARGETS = {WIDE: WIDE_FEATURES, "x86-64-v3": "", NARROW: ""}  # a module of vectors of 512 bits serves them all
FIRST_MOVE = (
    {"board": [0] * 42, "mark": 1, "step": 0, "remainingOverageTime": 60.0},
    {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 2, "nodeBudget": 1},
)
# Functions of C's library that code may call: what numba and LLVM make of **, math and copies.
OUTSIDE = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|exp(2|m1)?|log(10|1p|2)?|pow|fmod|cbrt|hypot|erfc?)f?|mem(cmp|cpy|move|set)"
)
UNUSED_DAYS = 30  # that kept code stays
JUMP = b"\x48\xb8" + bytes(8) + b"\xff\xe0"  # movabs rax, address; jmp rax
PC32, PLT32 = 2, 4  # relocations that need no address
PROGBITS, SYMBOLS, RELOCATIONS = 1, 2, 4  # kinds of a section
WRITABLE, LOADED = 1, 2  # flags of a section
LETTERS = {  # of numba's types, as in ``struct``
    "bool": "?", "float32": "f", "float64": "d",
    **dict(zip(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "bhiqBHIQ", strict=True)),
}  # fmt: skip
ENTRY = """
define i32 @entry(ptr %words) {{
  %exception = alloca ptr
  {lines}
  %status = call i32 @{native}(ptr %words, ptr %exception{given})
  ret i32 %status
}}
"""
# An array that is passed has no destructor; and what numba allocates for the values of an exception it gets not, which
# is an exception, too: which one it is, Call finds out.
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


def result_of(kind: Any) -> str:
    """What a kernel returns, as ``struct`` reads it. Raises ValueError if it is no number."""
    from numba.core.types import unliteral

    if str(unliteral(kind)) not in LETTERS:
        raise ValueError(f"it returns {kind}")
    return LETTERS[str(unliteral(kind))]


def entry_of(text: str, native: str, args: Sequence, start: int) -> str:
    """The function that takes the arguments from a buffer, from word ``start`` on, and calls a function of the text.

    Raises:
        ValueError: numba passes arguments otherwise.
    """
    import llvmlite.binding as llvm

    arguments = llvm.parse_assembly(text).get_function(native).arguments
    types = [str(argument.type) for argument in arguments][2:]
    lines, given = list[str](), list[str]()

    def loaded(kind: str, base: str, offset: int) -> str:
        name = f"%v{len(lines)}"
        lines.append(f"{name}.at = getelementptr i8, ptr {base}, i64 {offset}\n  {name} = load {kind}, ptr {name}.at")
        return name

    for place, leaf in enumerate(leaves(args), start):
        word_of(leaf)
        if not isinstance(leaf, np.ndarray):
            given.append(loaded(types[len(given)], "%words", 8 * place))
            continue
        array, items = loaded("ptr", "%words", 8 * place), "1"
        data, shape, strides = (loaded("ptr", array, offset) for offset in (DATA, SHAPE, STRIDES))
        sizes = [loaded("i64", shape, 8 * axis) for axis in range(leaf.ndim)]
        for size in sizes:
            lines.append(f"%n{len(lines)} = mul i64 {items}, {size}")
            items = f"%n{len(lines) - 1}"
        given += ["null", "null", items, str(leaf.itemsize), data, *sizes]
        given += [loaded("i64", strides, 8 * axis) for axis in range(leaf.ndim)]
    if len(given) != len(types):
        raise ValueError(f"{native} takes {len(types)} arguments, not {len(given)}")
    texts = "".join(f", {kind} {value}" for kind, value in zip(types, given, strict=True))
    return ENTRY.format(lines="\n  ".join(lines), native=native, given=texts)


def reduced(text: str, entry: str, texts: Mapping[str, str]) -> Any:
    """The module of a text with ``entry`` and what that needs."""
    text = re.sub(r"(?<= )@\.const\.picklebuf\.[\w.]+|(?<=store ptr )@__excinfo_unwrap_args\w+", "null", text)
    for declared, defined in INSTEAD.items():
        text = re.sub(rf"^declare {declared}\(.*$", defined, text, flags=re.M)
    module = with_callees(text + entry, texts)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != "entry":
            value.linkage = "internal"
    return module


def with_callees(text: str, texts: Mapping[str, str]) -> Any:
    """The module of a text, with the functions whose addresses numba sets at last: those that call each other."""
    import llvmlite.binding as llvm

    names = set(re.findall(r"@\"?\.numba\.unresolved\$([\w.]+)", text))
    lacking = [name for name in names if not re.search(rf"^define .*@\"?{re.escape(name)}\"?\(", text, re.M)]
    text = re.sub(r"load ptr, ptr @\"?\.numba\.unresolved\$([\w.]+)\"?.*", r'select i1 true, ptr @"\1", ptr null', text)
    module = llvm.parse_assembly(text + "".join(f'declare void @"{name}"()\n' for name in lacking))
    for name in lacking:
        other = next(each for each in texts.values() if re.search(rf"^define .*@\"?{re.escape(name)}\"?\(", each, re.M))
        module.link_in(with_callees(other, texts))
    return module


def codes_of(
    dispatcher: Any, signature: Any, texts: Mapping[str, str], args: Sequence, targets: Mapping[str, str]
) -> dict[str, bytes]:
    """Machine code of a compiled kernel for each of the targets, as ``connectx.machine_code.in_memory`` takes it.

    Args:
        texts: of ``module_texts``, when it was compiled.
        args: of the signature's types.
        targets: {cpu: features}.

    Raises:
        ValueError: it needs something outside, or returns what a ``Call`` can't.
    """
    compiled = dispatcher.overloads[signature]
    result, text = result_of(compiled.signature.return_type), texts[compiled.library.name]
    module = reduced(text, entry_of(text, compiled.fndesc.llvm_func_name, args, 1), texts)
    codes = {}
    for cpu, features in targets.items():
        entry, outside, code = linked(object_of(module.clone(), cpu, features))
        about = {"entry": entry, "result": result, "outside": outside}
        codes[cpu] = json.dumps(about).encode() + b"\n" + code
    return codes


def object_of(module: Any, cpu: str, features: str) -> bytes:
    """A relocatable ELF file of a module. Raises ValueError if what it computes depends on the processor."""
    import llvmlite.binding as llvm

    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small")
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
    return machine.emit_object(module)


def linked(obj: bytes) -> tuple[int, dict[str, int], bytes]:
    """One piece of a relocatable ELF file (x86-64), after the offset of its symbol ``entry``, and of the places for the
    addresses of functions in ``OUTSIDE``.

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
    outside, lacking = dict[str, int](), set[str]()

    def place_of(symbol: tuple, kind: int) -> int:
        title = name(sections[table[6]], symbol[0])
        if kind not in (PC32, PLT32) or not (symbol[3] in places or OUTSIDE.fullmatch(title)):
            lacking.add(title or "an absolute address")
        if symbol[3] in places or lacking:
            return places.get(symbol[3], 0) + symbol[4]
        if title not in outside:
            flat.extend(bytes(-len(flat) % 16) + JUMP)
            outside[title] = len(flat) - len(JUMP) + 2
        return outside[title] - 2

    table = next(section for section in sections if section[1] == SYMBOLS)
    symbols = [struct.unpack_from("<IBBHQQ", obj, table[4] + at) for at in range(0, table[5], 24)]
    for _, kind, _, _, offset, length, _, section, *_ in sections:
        for at in range(offset, offset + length, 24) if kind == RELOCATIONS and section in places else ():
            where, info, addend = struct.unpack_from("<QQq", obj, at)
            where += places[section]
            struct.pack_into("<i", flat, where, place_of(symbols[info >> 32], info & 0xFFFFFFFF) + addend - where)
    if lacking:
        raise ValueError(f"it needs {' '.join(sorted(lacking))}")
    entry = next(places[s[3]] + s[4] for s in symbols if name(sections[table[6]], s[0]) == "entry")
    return entry, outside, bytes(flat)


def made(wanted: Wanted, targets: Mapping[str, str]) -> dict[str, bytes]:
    """A kernel's machine code for each of the targets, {cpu: features}; numba has to compile for the first of them.

    Raises:
        ValueError: its code needs something outside, so that numba is needed.
    """
    from numba import typeof

    dispatcher, signature = jit.Kernel(wanted.function).dispatcher, tuple(map(typeof, wanted.examples))
    with module_texts() as texts:
        dispatcher.compile(signature)
    return codes_of(dispatcher, signature, texts, wanted.examples, targets)


def compile_for(cpu: str) -> None:
    """Lets numba, which must not be loaded yet, compile for a processor: NARROW, or WIDE."""
    os.environ |= {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": WIDE_FEATURES if cpu == WIDE else ""}


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
    compile_for(cpu)
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
    path = user_cache_path("connectx-toolkit") / f"{wanted.loaded_key}-{_here()}.code"
    with suppress(OSError, ValueError, KeyError):
        code = unpacked(path.read_bytes())["code"]
        with suppress(OSError):  # a folder that can only be read
            os.utime(path)
        return code
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
