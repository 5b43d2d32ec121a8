"""Finds opponents by name, for learners that play many games in parallel.

``NAME`` is an agent of agents/ or Kaggle's ``random`` or ``negamax``; ``minimax@4`` is our alpha-beta search at a fixed
depth of 4 plies, without a clock; ``NAME~10`` plays a random legal column in 10% of its moves. Agents run in this
process, with ``SECONDS`` per move.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from connectx.clock import Budget
from connectx.geometry import Geometry
from connectx.position import Position, open_cells, winning_spots
from connectx.search import Searcher
from connectx_toolkit.catalogue import our_agents, parse_agent_name
from connectx_toolkit.kaggle.agent_file import last_callable
from connectx_toolkit.kaggle.observation import Struct
from connectx_toolkit.kaggle.rules import DEFAULTS, sizes_of
from connectx_toolkit.places import AGENTS
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.negamax import Negamax
from connectx_toolkit.training.games.players import Player, erring, random_player

SECONDS = 0.05


class AgentPlayer:
    """An agent function as a player of training.games.players; it is called for one game after the other."""

    def __init__(self, agent: Callable[[Any, Any], int], geometry: Geometry):
        self._config = Struct(**DEFAULTS | sizes_of(geometry) | {"actTimeout": SECONDS})
        self._agent = agent

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        return np.array([self._agent(self._observe(games, game), self._config) for game in which], np.int64)

    def _observe(self, games: Games, game: int) -> Struct:
        board = np.where(games.stones[game] < 0, 2, games.stones[game]).ravel().tolist()
        ply = int(games.plies[game])
        return Struct(board=board, mark=1 + ply % 2, step=ply, remainingOverageTime=0.0)


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
    agent, warning = last_callable(str(path.resolve()))
    if warning:
        raise ValueError(warning)
    return agent


def opponent_named(name: str, geometry: Geometry, rng: np.random.Generator) -> Player:
    """The player of this name. Agents use their own random generators, not ``rng``.

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

        return AgentPlayer(negamax_agent, geometry)
    if name not in our_agents():
        raise ValueError(f"opponent {name!r} is not random, negamax or one of {', '.join(our_agents())}")
    return AgentPlayer(last_callable(str(AGENTS / f"{name}.py"))[0], geometry)
