"""Finds opponents by name, for learners that play many games in parallel.

``NAME`` is an agent of agents/ or Kaggle's ``random`` or ``negamax``; ``minimax@4`` is our alpha-beta search at a fixed
depth of 4 plies, without a clock; ``NAME~10`` plays a random legal column in 10% of its moves. Agents run in this
process, with ``SECONDS`` per move.
"""

import operator
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from connectx.clock import Budget
from connectx.geometry import Geometry
from connectx.position import Position, open_cells, winning_spots
from connectx.search import Searcher
from connectx_toolkit.catalogue import our_agents, parse_agent_name
from connectx_toolkit.kaggle.agent_file import load_agent
from connectx_toolkit.kaggle.observation import Struct
from connectx_toolkit.kaggle.rules import DEFAULTS, OURS, sizes_of
from connectx_toolkit.machine.chance import seeded
from connectx_toolkit.places import AGENTS
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.negamax import Negamax
from connectx_toolkit.training.games.players import NO_MOVE, Player, erring, random_player

SECONDS = 0.05
UNTIMED = {"one_step", "n_step"}  # they look so many plies ahead: without a clock their moves depend on the seed alone


Agent = Callable[[Any, Any], Any]  # agent(obs, config)


def config_of(geometry: Geometry) -> Struct:
    """What an agent is given as ``config``: Kaggle's defaults on this board, with ``SECONDS`` per move."""
    return Struct(**DEFAULTS | sizes_of(geometry) | {"actTimeout": SECONDS})


def observation_of(games: Games, game: int) -> Struct:
    """What an agent is given as ``obs`` in one of the games."""
    board = np.where(games.stones[game] < 0, 2, games.stones[game]).ravel().tolist()
    ply = int(games.plies[game])
    return Struct(board=board, mark=1 + ply % 2, step=ply, remainingOverageTime=0.0)


class AgentPlayer:
    """An agent as a player of training.games.players; it is called for one game after the other.

    What loses a game at Kaggle is NO_MOVE here, with a warning: an exception, a column that is full or none, anything
    that is no integer. As there, None is played as column 0.

    Args:
        load: gives the agent for a new game, so that what it remembers is of one game.
        rng: seeds the global generators for each call, which agents draw from.
        options: further entries of ``config``.
    """

    def __init__(self, load: Callable[[], Agent], geometry: Geometry, rng: np.random.Generator, **options: Any):
        self._load, self._config, self._rng = load, Struct(**config_of(geometry), **options), rng
        self._agents: dict[int, Agent] = {}

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        with seeded(int(self._rng.integers(2**63))):
            return np.array([self._column(games, game) for game in which.tolist()], np.int64)

    def _column(self, games: Games, game: int) -> int:
        try:
            if game not in self._agents or games.plies[game] < 2:
                self._agents[game] = self._load()
            action = self._agents[game](observation_of(games, game), self._config)
            column = 0 if action is None else operator.index(action)
        except Exception as fault:  # their code may raise anything
            return self._lost(f"raised {fault!r:.200}")
        if not 0 <= column < games.actions or games.stones[game, 0, column]:
            return self._lost(f"chose column {column}, which is full or none")
        return column

    @staticmethod
    def _lost(reason: str) -> int:
        warnings.warn(f"an opponent {reason}: it loses that game, as at Kaggle", RuntimeWarning, stacklevel=2)
        return NO_MOVE


class FixedDepth:
    """minimax at a fixed depth, with an empty table for each move, so that equal positions get equal moves."""

    def __init__(self, depth: int, geometry: Geometry):
        self._depth, self._searcher = depth, Searcher(geometry, buckets=1 << 12)

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        assert isinstance(games, ConnectX)
        positions = zip(*games.bitboards(which), strict=True)
        states = [Position(int(position), int(mask), games.geometry) for position, mask in positions]
        return np.array([self._column(state) for state in states], np.int64)

    def _column(self, state: Position) -> int:
        self._searcher.forget()
        return self._searcher.search(state, Budget(), max_depth=self._depth).column


def two_plies(rng: np.random.Generator) -> Player:
    """The look-ahead of two plies on ConnectX: it wins at once if it can, else blocks a win, else plays at random."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        assert isinstance(games, ConnectX)
        geometry, (mine, masks) = games.geometry, games.bitboards(which)
        cells = open_cells(masks, geometry)
        choices = [winning_spots(side, masks, geometry) & cells for side in (mine, mine ^ masks)]
        bits = np.select([choice != 0 for choice in choices], choices, cells)
        columns = bits[:, None] & np.array([geometry.column_mask(column) for column in range(geometry.columns)])
        return np.argmax((columns != 0) * (1 - rng.random(columns.shape)), axis=1)

    return player


def function_of_file(path: Path) -> Callable[[Any, Any], int]:
    """The agent of a Python file, loaded as Kaggle does: its last callable.

    Raises:
        OSError: it cannot be read.
        ValueError: it defines no function, or defines ``agent`` and then another function, which Kaggle would take.
            Whatever else its code raises passes through.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no agent {path}")
    found = load_agent(str(path.resolve()))
    if not found.is_meant:
        raise ValueError(found.warning)
    return found.agent


def opponent_named(name: str, geometry: Geometry, rng: np.random.Generator) -> Player:
    """The player of this name, which draws all that is random from ``rng``.

    Agents that search by the clock (minimax without a depth, perfect) play as well as the machine is fast.

    Raises:
        ValueError: there is no such player.
    """
    parts = parse_agent_name(name)
    if parts is None:
        raise ValueError(f"opponent should be NAME, minimax@DEPTH or either with ~PERCENT, not {name!r}")
    base, depth, percent = parts
    if depth and (base != "minimax" or not geometry.fits_word):
        raise ValueError(f"only minimax plays at a fixed depth, on boards of up to 64 bits, not {name!r}")
    player = FixedDepth(depth, geometry) if depth else _agent_named(base, geometry, rng)
    if not percent:
        return player
    return erring(player, lambda games, which: 100 * rng.random(len(which)) < percent, rng)


def _agent_named(name: str, geometry: Geometry, rng: np.random.Generator) -> Player:
    if name in ("random", "random_legal"):
        return random_player(rng)
    if name == "negamax":
        if geometry.fits_word:
            return Negamax(geometry, rng)
        from kaggle_environments.envs.connectx.connectx import negamax_agent  # takes a second, so not at the top

        return AgentPlayer(lambda: negamax_agent, geometry, rng)
    if name not in our_agents():
        raise ValueError(f"opponent {name!r} is not random, negamax or one of {', '.join(our_agents())}")
    agent = load_agent(str(AGENTS / f"{name}.py")).agent  # ours keep nothing of a game that another one could meet
    return AgentPlayer(lambda: agent, geometry, rng, **({OURS: 1} if name in UNTIMED else {}))
