"""Which games a match and a tournament have: their agents, openings and seeds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from os import PathLike, fspath
from pathlib import Path

from connectx_toolkit.arena.start_positions import Opening
from connectx_toolkit.players.process import Task
from connectx_toolkit.players.spec import SUFFIXES, AgentSpec, UnknownAgent, resolve, told_apart


def derived_seed(*parts: object) -> int:
    """A seed of 63 bits that depends on all parts and on nothing else."""
    text = "/".join(map(str, parts))
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


def pair_tasks(
    first: AgentSpec, second: AgentSpec, openings: Sequence[Opening], pairs: int, seed: int
) -> Iterator[Task]:
    """The games of a match in order: in each pair, first the game in which ``first`` moves first, then the other.

    Openings are used in order, and repeated if there are fewer openings than pairs.
    """
    for pair in range(pairs):
        opening = openings[pair % len(openings)]
        for swapped in (0, 1):
            number = 2 * pair + swapped
            seeds = [derived_seed(seed, number, agent) for agent in (1, 2)]
            players, order = ((second, first), seeds[::-1]) if swapped else ((first, second), seeds)
            yield Task(number, players, opening, (order[0], order[1]))


def participants(agents: Iterable[str | PathLike | Callable | AgentSpec], least: int = 2) -> list[AgentSpec]:
    """Agents given by name, file, function, or folder, which means every Python file and archive in it.

    Raises ValueError: an agent is unknown or given twice, a folder has none, or there are fewer agents than
    ``least``.
    """
    specs: list[AgentSpec] = []
    for agent in agents:
        if isinstance(agent, str | PathLike) and Path(agent).is_dir():
            files = sorted(file for suffix in (".py", *SUFFIXES) for file in Path(agent).glob(f"[!_]*{suffix}"))
            if not files:
                raise UnknownAgent(f"folder {fspath(agent)!r} holds no Python file and no .tar.gz")
            specs += map(resolve, files)
        else:
            specs.append(resolve(agent))
    specs = told_apart(specs)
    targets = [(spec.kind, spec.target) for spec in specs]
    twice = [spec.label for index, spec in enumerate(specs) if targets[index] in targets[:index]]
    if twice or len(specs) < least:
        few = "a tournament takes at least two agents" if least > 1 else "expected an agent"
        raise ValueError(f"{twice[0]!r} is given twice" if twice else few)
    return specs


def pairings(specs: Sequence[AgentSpec], gauntlet: bool = False) -> list[tuple[AgentSpec, AgentSpec]]:
    """Every pair of agents; in a gauntlet, the first agent with each other one."""
    return [(specs[0], spec) for spec in specs[1:]] if gauntlet else list(combinations(specs, 2))
