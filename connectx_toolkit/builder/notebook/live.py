"""Writes an agent's files of a function that lives in this process, in a notebook or a script: ``build(my_agent)``.

Code is the source of what ran, values are those of now. The function may be a lambda, a partial, a method, an instance
with ``__call__`` or a closure; the file then ends in a plain function that calls it.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from connectx_toolkit.builder.notebook.ran import RanCell, cells_here
from connectx_toolkit.builder.notebook.reading_back import not_read_back
from connectx_toolkit.builder.notebook.statements import given_again, statements_of
from connectx_toolkit.builder.notebook.writing import CARRIED, Part, Writer, owner_in
from connectx_toolkit.builder.notebook.written import AGENT_PY, Written, compose_source
from connectx_toolkit.kaggle.dependencies import on_path
from connectx_toolkit.kaggle.replies import count_arguments, signature_of
from connectx_toolkit.kaggle.rules import Limits

MOST_VALUES = Limits().size  # bytes of the values
AGENT_HEAD = '''"""The agent {who}, as it ran in a notebook: written by build({who})."""

from __future__ import annotations
'''
LOADED_VALUES = f"""

from connectx_core.carried import Carried as _Carried
from connectx_core.weights import read_data as _read_data

{CARRIED} = _Carried(_read_data("values.npz"), globals())"""


def from_function(function: Callable, folder: Path) -> Written:
    """The agent's files in ``folder``, which is empty.

    Raises:
        Refused: with the cell of everything that no file can hold, and what to do.
        ValueError: it is no function of (obs, config).
    """
    main = namespace_of(function)
    who = name_of(function, main)
    check_function(function, who)
    cells = cells_behind(main)
    writer = Writer(main, who, cells)
    entry, last = _write_entry(writer, function, who)
    writer.write_rest()
    return _write_files(writer, entry, last, folder)


def name_of(function: Any, main: dict[str, Any]) -> str:
    """What people call a function."""
    inner = function.func if isinstance(function, functools.partial) else function
    return owner_in(main, function) or str(attribute_of(inner, "__name__") or type(inner).__name__)


def check_function(function: Any, who: str) -> None:
    """Raises ValueError if it cannot be an agent."""
    if isinstance(function, type) or not callable(function):
        raise ValueError(f"{who} is no function: an agent is a function of (obs, config) that returns a column")
    called = function if inspect.isroutine(function) else type(function).__call__
    called = function.func if isinstance(function, functools.partial) else called
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise ValueError(f"{who} is async, and Kaggle awaits nothing: write a plain def")
    if inspect.isgeneratorfunction(called):
        raise ValueError(f"{who} is a generator (it yields): return one column")
    try:
        signature_of(function).bind(*("obs", "config")[: count_arguments(function)])
    except TypeError as fault:
        raise ValueError(f"{who} cannot be called with (obs, config), as Kaggle does: {fault}") from None


def attribute_of(function: Any, name: str) -> Any:
    with contextlib.suppress(Exception):  # a __getattr__ of the user's may raise anything
        return getattr(function, name, None)
    return None


def namespace_of(function: Any) -> dict[str, Any]:
    """The names of the notebook or module that a function is of."""
    while not isinstance(function, FunctionType):
        inner = [attribute_of(function, name) for name in ("func", "__func__", "py_func", "__wrapped__")]
        inner += [type(function).__dict__.get("__call__")]
        found = next((each for each in inner if each is not None and type(each).__name__ != "method-wrapper"), None)
        is_c = type(found).__name__ in ("wrapper_descriptor", "builtin_function_or_method")
        if found is None or found is function or is_c:
            return vars(sys.modules[attribute_of(function, "__module__") or "__main__"])
        function = found
    while hasattr(function, "__wrapped__") and function.__globals__ is not vars(sys.modules["__main__"]):
        function = function.__wrapped__
    return function.__globals__


def cells_behind(main: dict[str, Any]) -> list[RanCell]:
    """The cells that ran if the names are a notebook's, else the text of their file."""
    if main.get("__name__") == "__main__" and (cells := cells_here()):
        return cells
    file = main.get("__file__")
    if not file or not Path(file).is_file():
        return []
    return [RanCell(Path(file).read_text(encoding="utf-8", errors="replace"), str(file))]


def _write_entry(writer: Writer, function: Any, who: str) -> tuple[str, list[Part]]:
    """Has the function written; the name of what the builder should call, with its part where that is another one."""
    call = writer.expression(function, who)
    is_own = isinstance(function, FunctionType) and writer.is_own(function)
    if is_own and function.__name__ != "<lambda>" and "." not in function.__qualname__:
        return call, []
    name = "agent" if "agent" not in writer.main and "agent" not in writer.bound else writer.fresh_name("agent")
    writer.bound.add(name)
    held = call if call.isidentifier() else writer.fresh_name("held")
    line = "" if held == call else f"{held} = {call}\n\n\n"
    given = ", ".join(("obs", "config")[: count_arguments(function)])
    return name, [Part(f"{line}def {name}(obs, config):\n    return {held}({given})")]


def _write_files(writer: Writer, entry: str, last: list[Part], folder: Path) -> Written:
    who, imports = writer.who, sorted(writer.imports.statements, key=lambda line: (line.startswith("from"), line))
    head = "\n".join([AGENT_HEAD.format(who=who), *imports])
    values = (LOADED_VALUES if imports else LOADED_VALUES[1:]) if writer.carried.roots else ""
    if writer.carried.roots:
        content = writer.carried.content()
        if len(content) > MOST_VALUES:
            size = f"{len(content):,} bytes of values, and Kaggle takes {MOST_VALUES:,}"
            cure = "leave out what it can do without, or hold it as float16"
            raise writer.refuse(who, f"{who} holds {size}: {cure}; largest is {writer.carried.largest()}")
        (folder / "values.npz").write_bytes(content)
        writer.facts |= dict.fromkeys(not_read_back(writer.carried, content, writer.values_by_name()), True)
    parts = [*writer.parts.values(), *writer.settings, *last]
    text, places = compose_source(head + values, parts)
    statements = statements_of(text, [places.get(line, "") for line in range(1, 1 + text.count("\n"))])
    old_names, notes = given_again(statements)
    if old_names:
        text, places = compose_source(f"{head}\n{old_names}{values}", parts)
    agent = folder / AGENT_PY
    agent.write_text(text, encoding="utf-8")
    writer.facts |= dict.fromkeys(writer.carried.left_out(), True)
    notes = [*(fact for fact, is_used in writer.facts.items() if is_used), *notes]
    folders, facts = tuple(on_path()), tuple(writer.facts)
    return Written(agent, entry, Path.cwd(), places, notes, who, folders, None, facts, writer.state)
