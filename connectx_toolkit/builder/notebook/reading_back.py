"""Reads values back from an agent's file and notes attributes that differ from the notebook's.

They can differ because a class may decide itself what a copy of it keeps (``__getstate__``)."""

import copyreg
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from connectx_core.carried import Carried
from connectx_toolkit.builder.notebook.carrying import Values, literal_of
from connectx_toolkit.kaggle.dependencies import is_installed
from connectx_toolkit.system.posix import HAS_FORK

HOOKS = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__")


def not_read_back(values: Values, content: bytes, names: Mapping[str, Any]) -> list[str]:
    """A line for each attribute that has another value when it is read.

    It is read in a fork, where the classes' own code changes nothing here. Without forks nothing is read.

    ``names``: what the file's names stand for here.
    """
    numbers = [number for number, value in values.objects() if _says_itself(type(value))]
    if not numbers or not HAS_FORK:
        return []
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(theirs, "w") as pipe:
                print(json.dumps(_describe_changes(values, content, names, {*numbers})), file=pipe)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(said) if said else []


def _says_itself(cls: type) -> bool:
    """Whether a class of the user's has methods of its own for what is kept of its objects."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    is_own = cls.__module__ == "__main__" or (file is not None and not is_installed(os.path.realpath(file)))
    return is_own and any(getattr(cls, hook, None) is not getattr(object, hook, None) for hook in HOOKS)


def _describe_changes(values: Values, content: bytes, names: Mapping[str, Any], numbers: set[int]) -> list[str]:
    carried = Carried(content, names)
    for name in values.roots:
        carried[name]
    known, lines = {id(value): number for number, value in values.objects()}, list[str]()
    for number, value in values.objects():
        if number not in numbers:
            continue
        before, after = _attributes(value), _attributes(carried.made[number])
        changed = list[str]()
        for name in sorted(before.keys() | after.keys()):
            held, again = before.get(name), after.get(name)
            is_known = id(held) in known
            is_same = carried.made.get(known[id(held)]) is again if is_known else _text_of(held) == _text_of(again)
            changed += [] if is_same else [name]
        if changed:
            what = f"{values.path_of(number)} is a {type(value).__name__}, whose own methods keep otherwise"
            lines.append(f"{what}: {', '.join(changed)}")
    return lines


def _attributes(value: Any) -> dict[str, Any]:
    """Those of its dictionary and its slots."""
    slots = copyreg._slotnames(type(value))  # type: ignore[attr-defined]
    return getattr(value, "__dict__", {}) | {name: getattr(value, name) for name in slots if hasattr(value, name)}


def _text_of(value: Any) -> str:
    """What tells a value from others; of large ones that no file holds, the type alone."""
    try:
        return literal_of(value) or f"{type(value)} {value!r:.1000}"
    except Exception:  # their code may raise anything
        return str(type(value))
