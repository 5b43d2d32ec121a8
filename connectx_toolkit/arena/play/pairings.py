"""Who plays whom in a tournament."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from connectx_toolkit.arena.players.archives import SUFFIXES
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.spec import AgentSpec, UnknownAgent


def participants(texts: Iterable[str]) -> list[AgentSpec]:
    """Agents given by name, file, or folder, which means every Python file and archive in it.

    Raises:
        ValueError: an agent is unknown or given twice, a folder has none, or there are fewer than two agents.
    """
    specs: list[AgentSpec] = []
    for text in texts:
        if Path(text).is_dir():
            files = sorted(file for suffix in (".py", *SUFFIXES) for file in Path(text).glob(f"[!_]*{suffix}"))
            if not files:
                raise UnknownAgent(f"folder {text!r} holds no Python file and no .tar.gz")
            specs += map(resolve, files)
        else:
            specs.append(resolve(text))
    twice = [spec.label for index, spec in enumerate(specs) if spec in specs[:index]]
    if twice or len(specs) < 2:
        raise ValueError(f"{twice[0]!r} is given twice" if twice else "a tournament takes at least two agents")
    return specs


def pairings(specs: Sequence[AgentSpec], gauntlet: bool = False) -> list[tuple[AgentSpec, AgentSpec]]:
    """Every pair of agents; in a gauntlet, the first agent with each other one."""
    return [(specs[0], spec) for spec in specs[1:]] if gauntlet else list(combinations(specs, 2))
