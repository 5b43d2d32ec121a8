"""Finds opponents by name, for learners that play many games in parallel.

``NAME`` is an agent of agents/ or Kaggle's ``random`` or ``negamax``; ``minimax@4`` is our alpha-beta search at a fixed
depth of 4 plies, without a clock; ``NAME~10`` plays a random legal column in 10% of its moves. Agents run in this
process, with ``SECONDS`` per move.

Of a small game, a tree of all positions with exact values makes tables of moves and perfect opponents.

Kaggle's built-in agent ``negamax`` plays many games at once: it looks five plies ahead and breaks ties by coins. The
same columns with the same chances as ``negamax_agent`` of kaggle_environments (envs/connectx/connectx.py), which
takes 0.1 s a move; this takes some 0.01 ms. Its scores are doubled here, to be integers: a win is worth the number of
empty cells and one more; at the last ply a move is worth that much, too, and 2 more for each neighbour of its own on
either side and below, the bottom two rows apart.
"""

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from connectx_core.clock import Budget
from connectx_core.jit import jitable, njit, popcount
from connectx_core.position import Geometry, Position, column_cells, open_cells, winning_spots
from connectx_core.search import Searcher
from connectx_toolkit.kaggle.agent_file import Struct, load_agent
from connectx_toolkit.kaggle.rules import DEFAULTS, NODE_BUDGET, sizes_of
from connectx_toolkit.players.spec import parse_agent_name
from connectx_toolkit.system.cores import temporary_seed
from connectx_toolkit.system.files import AGENTS, our_agents
from connectx_toolkit.training.vector_games import NO_ACTION, ConnectX, Games, Player, erring, random_player

MOST_TREE_CELLS = 39  # of boards that are tried at all
NO_REPLY, OVER = -2, -1  # in ``Tree.children``: the action is not legal, or ends the game


@dataclass(frozen=True)
class Tree:
    """The positions of a game that are not over; number 0 is the start. Values: 1 win, 0 draw, -1 loss.

    Attributes:
        boards: (positions, rows, columns) int8, seen by the side to move. Equal boards are one position.
        children: (positions, actions) int32, the position after each action, or NO_REPLY or OVER.
        rewards: (positions, actions) int8, the mover's result if the action ends the game, else 0.
        values: (positions, actions) int8, the mover's result of each action with perfect play after it; -2 if illegal.
    """

    boards: np.ndarray
    children: np.ndarray
    rewards: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.boards)

    @property
    def legal(self) -> np.ndarray:
        """(positions, actions) bool."""
        return self.children != NO_REPLY

    @property
    def best(self) -> np.ndarray:
        """(positions, actions) bool: the actions that keep the exact value of the position."""
        return self.values == self.values.max(1, keepdims=True)

    def numbers(self, boards: np.ndarray) -> np.ndarray:
        """(n,) int64: the number of each position in ``boards`` (n, rows, columns). Raises ValueError if one cannot
        occur in this game, or the game is over there.
        """
        known = self._numbers
        try:
            return np.array([known[board.tobytes()] for board in boards], np.int64)
        except KeyError:
            raise ValueError("a board is not a position of this game at which a move is to be made") from None

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {board.tobytes(): number for number, board in enumerate(self.boards)}

    def look_ahead(self, plies: int) -> np.ndarray:
        """(positions, actions) int8: values of a search of ``plies`` plies with draws at its leaves; -2 if illegal."""
        values = back_up_values(self.children, self.rewards, np.zeros(len(self), np.int8))
        for _ in range(plies - 1):
            values = back_up_values(self.children, self.rewards, values.max(1))
        return values


def back_up_values(children: np.ndarray, rewards: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(positions, actions) int8: the value of each action, backed up from the value of each position for its mover."""
    inside = np.where(children >= 0, -values[np.maximum(children, 0)], rewards)
    return np.where(children == NO_REPLY, np.int8(-2), inside).astype(np.int8)


def tree_of(games: Games, limit: int = 1_000_000) -> Tree:
    """The tree of a kind of game, built breadth first. Only the kind of ``games`` matters. Raises ValueError if it has
    more than ``limit`` positions, or more than ``MOST_TREE_CELLS`` cells.
    """
    if games.rows * games.columns > MOST_TREE_CELLS:
        raise ValueError(f"a table holds boards of at most {MOST_TREE_CELLS} cells, not {games.rows * games.columns}")
    layer = games.empty(1)
    numbers = {layer.boards()[0].tobytes(): 0}
    boards, rows = [layer.boards()], []
    while len(layer):
        moved, parents, actions = layer.children()
        children = np.full((len(layer), games.actions), NO_REPLY, np.int32)
        rewards = np.zeros((len(layer), games.actions), np.int8)
        rewards[parents, actions] = moved.winner * layer.mover[parents]
        fresh = []
        for index, board in enumerate(moved.boards()):
            if moved.done[index]:
                children[parents[index], actions[index]] = OVER
                continue
            known = len(numbers)
            children[parents[index], actions[index]] = numbers.setdefault(board.tobytes(), known)
            if len(numbers) > known:
                fresh.append(index)
        rows.append((children, rewards))
        if len(numbers) > limit:
            raise ValueError(f"the game has more than {limit} positions, too many for a table")
        layer = moved.take(np.array(fresh, np.int64))
        boards.append(layer.boards())
    all_children, all_rewards = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    values = np.zeros_like(all_rewards)
    while not np.array_equal(better := back_up_values(all_children, all_rewards, values.max(1)), values):
        values = better  # until nothing changes: at most once per ply of the longest game
    return Tree(np.concatenate(boards), all_children, all_rewards, values)


def normed_rows(weights: np.ndarray) -> np.ndarray:
    """(..., positions, actions) float64: each row divided by its sum."""
    return weights / weights.sum(-1, keepdims=True)


def table_player(tree: Tree, chances: np.ndarray, rng: np.random.Generator, tables: np.ndarray | None = None) -> Player:
    """A player that draws actions with the probabilities in ``chances`` (positions, actions).

    With ``tables``, (games,) integers, ``chances`` is (n, positions, actions): game g is played by ``tables[g]``.
    """
    sums = chances.reshape(-1, *tree.legal.shape).cumsum(2)

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        reached = sums[0 if tables is None else tables[which], tree.numbers(games.boards(which))]
        return (reached <= rng.random((len(which), 1)) * reached[:, -1:]).sum(1)

    return player


def tree_player(tree: Tree, name: str, rng: np.random.Generator) -> Player:
    """An opponent for small games, which draws uniformly among the moves that it finds best. Raises ValueError if the
    name is not minimax, lookahead@PLIES or random.
    """
    kind, _, plies = name.partition("@")
    if name == "random":
        return random_player(rng)
    if name == "minimax":
        return table_player(tree, normed_rows(tree.best), rng)
    if kind != "lookahead" or not plies.isdecimal() or int(plies) < 1:
        raise ValueError(f"the opponent should be minimax, lookahead@PLIES or random, not {name!r}")
    values = tree.look_ahead(int(plies))
    return table_player(tree, normed_rows(values == values.max(1, keepdims=True)), rng)


TREE_DEPTH = 4  # moves of the tree before the one that is judged by its neighbours


@jitable
def clustering(move, position, geometry):
    """What the last ply adds for the neighbours of a stone on the cell ``move``."""
    high = geometry.board_mask & ~(geometry.bottom_mask | geometry.bottom_mask << 1)
    beside = ((move & position << geometry.stride) != 0) + ((move & position >> geometry.stride) != 0)
    return 2 * (beside + ((move & high & position << 1) != 0))


@njit
def negamax_value(position, mask, depth, alpha, beta, geometry):
    """The doubled score for the side to move, exact between ``alpha`` and ``beta``, else a bound beyond them."""
    left = geometry.rows * geometry.columns - popcount(mask)
    if left == 0:
        return 0
    moves = open_cells(mask, geometry)
    if moves & winning_spots(position, mask, geometry):
        return left + 1
    best = -2 * geometry.rows * geometry.columns
    for column in range(geometry.columns):
        move = moves & column_cells(column, geometry)
        if move == 0:
            continue
        if depth == 0:
            score = left + 1 + clustering(move, position, geometry)
        else:
            score = -negamax_value(position ^ mask, mask | move, depth - 1, -beta, -max(alpha, best), geometry)
        best = max(best, score)
        if best >= beta:
            break
    return best


@njit
def negamax_choose(positions, masks, coins, geometry, chosen):
    """Writes the column of each position to ``chosen``; ``coins``: (n, columns) bool, whether a tie is taken."""
    worst = -2 * geometry.rows * geometry.columns
    for game in range(len(positions)):
        position, mask = positions[game], masks[game]
        moves = open_cells(mask, geometry)
        wins = moves & winning_spots(position, mask, geometry)
        best = worst
        for column in range(geometry.columns):
            move = moves & column_cells(column, geometry)
            if move & wins:
                chosen[game] = column
                break
            if move:
                # One below the best: a tie has to be told from what is worse.
                score = -negamax_value(position ^ mask, mask | move, TREE_DEPTH - 1, worst, 1 - best, geometry)
                if score > best or (score == best and coins[game, column]):
                    best = score
                    chosen[game] = column


def negamax_player(rng: np.random.Generator) -> Player:
    """Kaggle's negamax; boards have to fit 64 bits."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        assert isinstance(games, ConnectX)
        coins = rng.random((len(which), games.columns)) < 0.5
        chosen = np.empty(len(which), np.int64)
        negamax_choose(*games.bitboards(which), coins, games.geometry, chosen)
        return chosen

    return player


SECONDS = 0.05
UNTIMED = {"one_step", "n_step"}  # they look so many plies ahead: without a clock their moves depend on the seed alone


Agent = Callable[[Any, Any], Any]  # agent(obs, config)


def observation_of(games: Games, game: int) -> Struct:
    """What an agent is given as ``obs`` in one of the games."""
    board = np.where(games.stones[game] < 0, 2, games.stones[game]).ravel().tolist()
    ply = int(games.plies[game])
    return Struct(board=board, mark=1 + ply % 2, step=ply, remainingOverageTime=0.0)


class AgentPlayer:
    """An agent as a player of training.vector_games; it is called for one game after the other.

    What loses a game at Kaggle is NO_ACTION here, with a warning: an exception, a column that is full or none, anything
    that is no integer. As there, None is played as column 0.

    Args:
        load: gives the agent for a new game, so that what it remembers is of one game.
        rng: seeds the global generators for each call, which agents draw from.
        options: further entries of ``config``.
    """

    def __init__(self, load: Callable[[], Agent], geometry: Geometry, rng: np.random.Generator, **options: Any):
        defaults = DEFAULTS | sizes_of(geometry) | {"actTimeout": SECONDS}
        self._load, self._config, self._rng = load, Struct(**defaults, **options), rng
        self._agents: dict[int, Agent] = {}

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        with temporary_seed(int(self._rng.integers(2**63))):
            return np.array([self._column(games, game) for game in which.tolist()], np.int64)

    def _column(self, games: Games, game: int) -> int:
        try:
            if game not in self._agents or games.plies[game] < 2:
                self._agents[game] = self._load()
            action = self._agents[game](observation_of(games, game), self._config)
            column = 0 if action is None else operator.index(action)
        except Exception as fault:  # their code may raise anything
            return _lose(f"raised {fault!r:.200}")
        if not 0 <= column < games.actions or games.stones[game, 0, column]:
            return _lose(f"chose column {column}, which is full or none")
        return column


def _lose(reason: str) -> int:
    warnings.warn(f"an opponent {reason}: it loses that game, as at Kaggle", RuntimeWarning, stacklevel=2)
    return NO_ACTION


def fixed_depth(depth: int, geometry: Geometry) -> Player:
    """minimax at a fixed depth, with an empty table for each move, so that equal positions get equal moves."""
    searcher = Searcher(geometry, buckets=1 << 12)

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        assert isinstance(games, ConnectX)
        columns = []
        for position, mask in zip(*games.bitboards(which), strict=True):
            searcher.forget()
            state = Position(int(position), int(mask), games.geometry)
            columns.append(searcher.search(state, Budget(), max_depth=depth).column)
        return np.array(columns, np.int64)

    return player


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
    loaded = load_agent(str(path.resolve()))
    if not loaded.is_meant:
        raise ValueError(loaded.warning)
    return loaded.agent


def opponent_named(name: str, geometry: Geometry, rng: np.random.Generator) -> Player:
    """The player of this name, which draws all that is random from ``rng``.

    Agents that search by the clock (minimax without a depth and others) play as well as the machine is fast.

    Raises:
        ValueError: there is no such player.
    """
    parts = parse_agent_name(name)
    if parts is None:
        raise ValueError(f"opponent should be NAME, minimax@DEPTH or either with ~PERCENT, not {name!r}")
    base, depth, percent = parts
    if depth and (base != "minimax" or not geometry.fits_word):
        raise ValueError(f"only minimax plays at a fixed depth, on boards of up to 64 bits, not {name!r}")
    player = fixed_depth(depth, geometry) if depth else _agent_named(base, geometry, rng)
    if not percent:
        return player
    return erring(player, lambda games, which: 100 * rng.random(len(which)) < percent, rng)


def _agent_named(name: str, geometry: Geometry, rng: np.random.Generator) -> Player:
    if name in ("random", "random_legal"):
        return random_player(rng)
    if name == "negamax":
        if geometry.fits_word:
            return negamax_player(rng)
        from kaggle_environments.envs.connectx.connectx import negamax_agent  # takes a second, so not at the top

        return AgentPlayer(lambda: negamax_agent, geometry, rng)
    if name not in our_agents():
        raise ValueError(f"opponent {name!r} is not random, negamax or one of {', '.join(our_agents())}")
    agent = load_agent(str(AGENTS / f"{name}.py")).agent  # loaded once: ours forget a game when the next begins
    return AgentPlayer(lambda: agent, geometry, rng, **({NODE_BUDGET: 1} if name in UNTIMED else {}))
