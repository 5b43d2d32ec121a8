"""Where an agent comes from, as a plain value, and the registry of callables in this process. Imports little."""

import itertools
import sys
import weakref
from collections.abc import Callable
from typing import NamedTuple

SUFFIXES = (".tar.gz", ".tgz")  # of files that are archives
WRAP = "wrap it in a function agent(obs, config) that returns a column"


class UnknownAgent(ValueError):
    """No agent has this name, path or type."""


class AgentSpec(NamedTuple):
    """Where an agent comes from. Plain strings, so that it can be compared, stored and sent to another process."""

    kind: str  # "ours", "kaggle", "partner", "file" or "callable"
    target: str  # module name, Kaggle's name, partner's name, absolute path, or key into the registry of callables
    label: str  # what tables call it

    @property
    def is_archive(self) -> bool:
        return self.kind == "file" and self.target.endswith(SUFFIXES)


class _Key(str):
    """A key into the registry, which keeps its callable, and so a model that it uses, as long as a spec has the key.

    In another process it is a plain string: a callable is not sent.
    """

    agent: Callable

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


_keys: "weakref.WeakValueDictionary[str, _Key]" = weakref.WeakValueDictionary()
_numbers = itertools.count()


def register(agent: Callable) -> AgentSpec:
    """Adds a callable to this process's registry, where processes that are forked later find it by its key.

    It stays there as long as a spec of it exists.

    Raises:
        UnknownAgent: it cannot be an agent.
    """
    label = _label(agent)
    if problem := _why_not_an_agent(agent):
        raise UnknownAgent(f"{label} {problem}")
    for known in _keys.values():
        if known.agent is agent:
            return AgentSpec("callable", known, label)
    key = _Key(f"{label}#{next(_numbers)}")
    key.agent = agent
    _keys[str(key)] = key
    return AgentSpec("callable", key, label)


def _label(agent: Callable) -> str:
    """A callable's module and name, or those of its type; without the module where it is the notebook or the script."""
    module, name = getattr(agent, "__module__", None), getattr(agent, "__name__", type(agent).__name__)
    return name if module in (None, "__main__") else f"{module}.{name}"


def _why_not_an_agent(agent: Callable) -> str:
    """Why a callable cannot be an agent; "" if it may be one."""
    import inspect  # only callables need it

    if isinstance(agent, type):
        return "is a class, where an instance or a function was expected"
    if (torch := sys.modules.get("torch")) and isinstance(agent, torch.nn.Module):
        return f"is a network: {WRAP}"
    called = agent if inspect.isroutine(agent) else type(agent).__call__
    if inspect.iscoroutinefunction(called) or inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        return "is async or a generator, where a plain function was expected"
    code = getattr(agent, "__code__", None)
    count = code.co_argcount if code is not None else 2  # Kaggle passes as many as the code names
    try:
        inspect.signature(agent).bind(*("obs", "config")[:count])
    except TypeError as problem:
        return f"cannot be called with (obs, config), as Kaggle does: {problem}"
    except ValueError:  # a C function without a signature
        pass
    return ""


def callable_of(spec: AgentSpec) -> Callable:
    """The callable that a spec of kind "callable" stands for."""
    return _keys[spec.target].agent
