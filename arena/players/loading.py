"""From a name, a path or a callable to an agent, and from that to its function. Light to import."""

import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arena.players.spec import PARTNER, WRAP, AgentSpec, UnknownAgent, callable_of, our_agents, register


def kaggle_agents() -> dict[str, Callable]:
    """Kaggle's built-in agents by name, from the one file that holds them: the package takes seconds to import.

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
    """Finds an agent: a name of ours or of Kaggle's, a sparring partner's, the path of a file, or a callable.

    A file is a Python file, or an archive as Kaggle takes it: a .tar.gz with main.py at its root.

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
    return _resolve_text(os.fspath(agent))


def _resolve_text(text: str) -> AgentSpec:
    if os.path.isfile(text):
        return AgentSpec("file", os.path.abspath(text), text)
    if os.path.isdir(text):
        raise UnknownAgent(f"{text!r} is a folder, where a file or a name was expected")
    if parts := PARTNER.fullmatch(text):
        base = resolve(parts["base"])
        if float(parts["percent"] or 0) > 100:
            raise UnknownAgent(f"{text!r}: the share of random moves should be 0 to 100, not {parts['percent']}")
        if base.kind == "file" or (parts["depth"] and base.target != "agents.minimax"):
            raise UnknownAgent(f"{text!r}: only minimax has a depth, only named agents can be made to err")
        return AgentSpec("partner", text, text)
    if text in our_agents():
        return AgentSpec("ours", f"agents.{text}", text)
    if text in kaggle_agents():
        return AgentSpec("kaggle", text, text)
    raise UnknownAgent(f"no agent {text!r}: {_meant(text)}")


def _meant(text: str) -> str:
    """What a name that is none was meant to be, and what names there are."""
    for suffix in (".py", ".tar.gz"):
        if os.path.isfile(text + suffix):
            return f"did you mean {text}{suffix}?"
    names = [*our_agents(), *kaggle_agents()]
    close = difflib.get_close_matches(text, names, 1)
    return (
        f"{f'did you mean {close[0]}? I' if close else 'i'}t is no file, and the names are "
        f"{', '.join(names)}, minimax@DEPTH and NAME~PERCENT (of random moves)"
    )


def load(spec: AgentSpec) -> Callable:
    """The agent's function. Whatever its code raises passes through."""
    if spec.kind == "callable":
        return callable_of(spec)
    if spec.kind == "ours":
        return importlib.import_module(spec.target).agent
    if spec.kind == "kaggle":
        return kaggle_agents()[spec.target]
    if spec.kind == "partner":
        return partner(spec.target)
    return last_callable(spec.target)[0]


def partner(name: str) -> Callable:
    """The agent that a partner's name describes.

    Raises:
        UnknownAgent: the name describes none.
    """
    parts = PARTNER.fullmatch(name)
    if parts is None:
        raise UnknownAgent(f"{name!r} is not NAME@DEPTH~PERCENT")
    from arena.players import graded  # what it needs takes a second to import

    base, depth, percent = parts.groups()
    agent = graded.at_depth(int(depth)) if depth else load(resolve(base))
    return graded.with_errors(agent, float(percent)) if percent else agent


def last_callable(path: str) -> tuple[Callable, str]:
    """Loads a file as Kaggle does: its text is exec'd under no module name, the callable bound last is the agent.

    Returns:
        That callable, and a line that warns of it if the file has an ``agent`` and this is another; else "".

    Raises:
        ValueError: the file is not text, or binds no callable.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        problem_text = f"it is no text in UTF-8 ({problem.reason} at byte {problem.start})"
        raise ValueError(f"{problem_text}; an archive should be a .tar.gz with main.py at its root") from None
    code = compile(text, path, "exec")
    names: dict[str, Any] = {}
    sys.path.append(os.path.dirname(path))
    exec(code, names)
    sys.path.pop()
    callables = {name: value for name, value in names.items() if callable(value)}
    if not callables:
        raise ValueError("it defines no function, but should end in def agent(obs, config)")
    name, taken = callables.popitem()
    is_other = taken is not callables.get("agent", taken)
    return taken, _warning(path, name, taken) if is_other else ""


def _warning(path: str, name: str, taken: Callable) -> str:
    code = getattr(taken, "__code__", None)
    line = f" (line {code.co_firstlineno})" if code is not None and code.co_filename == path else ""
    advice = "move agent to the end of the file, or let build_submission.py build it"
    return f"{os.path.basename(path)}: Kaggle takes {name}{line}, not agent: {advice}"


def version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # 65 ms, which agents' processes can do without

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
