"""What an agent is, before it is loaded: a kind, where it is found, and what tables call it. Light to import."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PARTNER = re.compile(r"(?P<base>\w+)(?=[@~])(?:@(?P<depth>[1-9]\d*))?(?:~(?P<percent>\d+(?:\.\d+)?))?")
WRAP = "wrap it in a function agent(obs, config) that returns a column"


class UnknownAgent(ValueError):
    """Nothing by that name, path or type is an agent."""


class AgentSpec(NamedTuple):
    """Where an agent comes from. Plain strings, so that it can be compared, stored and sent to another process."""

    kind: str  # "ours", "kaggle", "partner", "file" or "callable"
    target: str  # module name, Kaggle's name, partner's name, absolute path, or key into the registry of callables
    label: str  # what tables call it


_callables: dict[str, Callable] = {}


def our_agents() -> list[str]:
    """The names in agents/, sorted."""
    return sorted(path.stem for path in (ROOT / "agents").glob("*.py") if not path.stem.startswith("_"))


def misfit(agent: Callable) -> str:
    """Why a callable can be no agent, whatever it computes; "" if it may be one."""
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
    except ValueError:  # a C function that does not say what it takes
        pass
    return ""


def register(agent: Callable) -> AgentSpec:
    """Callables stay in this process's registry; processes forked from it later find them there by key.

    Raises:
        UnknownAgent: no call of it could be a move.
    """
    label = getattr(agent, "__name__", type(agent).__name__)
    if problem := misfit(agent):
        raise UnknownAgent(f"{label} {problem}")
    for key, known in _callables.items():
        if known is agent:
            return AgentSpec("callable", key, label)
    key = f"{label}#{len(_callables)}"
    _callables[key] = agent
    return AgentSpec("callable", key, label)


def callable_of(spec: AgentSpec) -> Callable:
    """The callable that a spec of kind "callable" stands for."""
    return _callables[spec.target]
