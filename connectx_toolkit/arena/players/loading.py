"""Turns a name, a path or a callable into a spec, and a spec into the agent's function. Imports little."""

import difflib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

from connectx_toolkit.arena.players.spec import SUFFIXES, WRAP, AgentSpec, UnknownAgent, callable_of, register
from connectx_toolkit.catalogue import AgentName, our_agents, parse_agent_name
from connectx_toolkit.kaggle.agent_file import load_agent
from connectx_toolkit.places import AGENTS

ONLY_NAMED = "only minimax has a depth, only named agents can be made to err"


def kaggle_agents() -> dict[str, Callable]:
    """Kaggle's built-in agents by name. Only their file is loaded, because importing the package takes seconds.

    Raises:
        UnknownAgent: kaggle-environments is not installed.
    """
    package = importlib.util.find_spec("kaggle_environments")
    if package is None or package.origin is None:
        raise UnknownAgent("kaggle-environments is not installed")
    source = Path(package.origin).parent / "envs" / "connectx" / "connectx.py"
    spec = importlib.util.spec_from_file_location("kaggle_connectx", source)
    if spec is None or spec.loader is None:
        raise UnknownAgent(f"{source} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.agents


def resolve(agent: str | os.PathLike | Callable | AgentSpec) -> AgentSpec:
    """Finds an agent by a name (ours, Kaggle's, or a sparring partner's) or a path, or takes a callable.

    A path leads to a Python file, or to an archive as Kaggle takes it: a .tar.gz with main.py at its root.

    Raises:
        UnknownAgent: it is none of these.
    """
    if isinstance(agent, AgentSpec):
        return agent
    if callable(agent):
        return register(agent)
    if not isinstance(agent, str | os.PathLike):
        wrap = f": {WRAP}" if hasattr(type(agent), "predict") else ""
        raise UnknownAgent(
            f"an agent should be a name, a path or a callable, not {' '.join(repr(agent).split()):.80}{wrap}"
        )
    text = os.fspath(agent)
    if os.path.isfile(text):
        return AgentSpec("file", os.path.abspath(text), text)
    if os.path.isdir(text):
        raise UnknownAgent(f"{text!r} is a folder, where a file or a name was expected")
    if (parts := _name_of(text)) and parts.is_graded:
        base = resolve(parts.base)
        if base.kind == "file" or (parts.depth and base.target != "minimax"):
            raise UnknownAgent(f"{text!r}: {ONLY_NAMED}")
        return AgentSpec("partner", text, text)
    if text in our_agents():
        return AgentSpec("ours", text, text)
    if text in kaggle_agents():
        return AgentSpec("kaggle", text, text)
    for sign in "@~":
        if os.path.isfile(text.rpartition(sign)[0]):
            raise UnknownAgent(f"{text!r}: {ONLY_NAMED}, not files")
    for suffix in (".py", *SUFFIXES):
        if os.path.isfile(text + suffix):
            raise UnknownAgent(f"no agent {text!r}: did you mean {text}{suffix}?")
    names = [*our_agents(), *kaggle_agents()]
    close = difflib.get_close_matches(text, names, 1)
    raise UnknownAgent(
        f"no agent {text!r}: {f'did you mean {close[0]}? I' if close else 'i'}t is no file, and the names are "
        f"{', '.join(names)}, minimax@DEPTH and NAME~PERCENT (of random moves)"
    )


def _name_of(text: str) -> AgentName | None:
    try:
        return parse_agent_name(text)
    except ValueError as problem:
        raise UnknownAgent(str(problem)) from None


def load(spec: AgentSpec) -> Callable:
    """The agent's function. Exceptions of its code are not caught."""
    if spec.kind == "callable":
        return callable_of(spec)
    if spec.kind == "ours":
        return load_agent(str(AGENTS / f"{spec.target}.py")).agent
    if spec.kind == "kaggle":
        return kaggle_agents()[spec.target]
    if spec.kind == "partner":
        return _graded(spec.target)
    return load_agent(spec.target).agent


def _graded(name: str) -> Callable:
    """The agent that a name such as minimax@4~10 describes."""
    from connectx_toolkit.arena.players.graded import (  # imported only here: they import the search
        at_depth,
        with_errors,
    )

    parts = parse_agent_name(name)
    assert parts is not None
    agent = at_depth(parts.depth) if parts.depth else load(resolve(parts.base))
    return with_errors(agent, parts.percent) if parts.percent else agent


def version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # takes 65 ms, and agents' processes do not need it

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
