"""What is asked for: what all games of a run have in common, and one game."""

from typing import NamedTuple

from connectx_toolkit.arena.players.process import GRACE
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.kaggle.rules import Rules


class Setup(NamedTuple):
    """What all games of a run have in common."""

    rules: Rules
    referee: str = "fast"  # a key of REFEREES
    grace: float = GRACE
    isolate: bool = True  # False: agents run in the slot's own process, see Inline


class Task(NamedTuple):
    """One game to play."""

    number: int
    players: tuple[AgentSpec, AgentSpec]  # the first and the second to move
    opening: tuple[int, ...]
    seeds: tuple[int, int]
