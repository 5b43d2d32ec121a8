"""All positions of a small game with exact values, for tables of moves and for perfect opponents."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.players import Player, random_player

MOST_CELLS = 39  # of boards that are tried at all
NO_MOVE, OVER = -2, -1  # in ``Tree.children``: the action is not legal, or ends the game


@dataclass(frozen=True)
class Tree:
    """The positions of a game that are not over; number 0 is the start. Values: 1 win, 0 draw, -1 loss.

    Attributes:
        boards: (positions, rows, columns) int8, seen by the side to move. Equal boards are one position.
        children: (positions, actions) int32, the position after each action, or NO_MOVE or OVER.
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
        return self.children != NO_MOVE

    @property
    def best(self) -> np.ndarray:
        """(positions, actions) bool: the actions that keep the exact value of the position."""
        return self.values == self.values.max(1, keepdims=True)

    def numbers(self, boards: np.ndarray) -> np.ndarray:
        """(n,) int64: the number of each position in ``boards`` (n, rows, columns).

        Raises:
            ValueError: a board cannot occur in this game, or the game is over there.
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
        values = backed_up(self.children, self.rewards, np.zeros(len(self), np.int8))
        for _ in range(plies - 1):
            values = backed_up(self.children, self.rewards, values.max(1))
        return values


def backed_up(children: np.ndarray, rewards: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(positions, actions) int8: the value of each action, backed up from the value of each position for its mover."""
    inside = np.where(children >= 0, -values[np.maximum(children, 0)], rewards)
    return np.where(children == NO_MOVE, np.int8(-2), inside).astype(np.int8)


def tree_of(games: Games, limit: int = 1_000_000) -> Tree:
    """The tree of a kind of game, built breadth first. Only the kind of ``games`` matters.

    Raises:
        ValueError: there are more than ``limit`` positions, or more than ``MOST_CELLS`` cells.
    """
    if games.rows * games.columns > MOST_CELLS:
        raise ValueError(f"a table holds boards of at most {MOST_CELLS} cells, not {games.rows * games.columns}")
    layer = games.empty(1)
    numbers = {layer.boards()[0].tobytes(): 0}
    boards, rows = [layer.boards()], []
    while len(layer):
        moved, parents, actions = layer.children()
        children = np.full((len(layer), games.actions), NO_MOVE, np.int32)
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
    return valued(np.concatenate(boards), *(np.concatenate(parts) for parts in zip(*rows, strict=True)))


def valued(boards: np.ndarray, children: np.ndarray, rewards: np.ndarray) -> Tree:
    """The tree with exact values, backed up until nothing changes: at most once per ply of the longest game."""
    values = backed_up(children, rewards, np.zeros(len(boards), np.int8))
    while True:
        better = backed_up(children, rewards, values.max(1))
        if (better == values).all():
            return Tree(boards, children, rewards, values)
        values = better


def shares(weights: np.ndarray) -> np.ndarray:
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
    """An opponent for small games, which draws uniformly among the moves that it finds best.

    Raises:
        ValueError: the name is not minimax, lookahead@PLIES or random.
    """
    kind, _, plies = name.partition("@")
    if name == "random":
        return random_player(rng)
    if name == "minimax":
        return table_player(tree, shares(tree.best), rng)
    if kind != "lookahead" or not plies.isdecimal() or int(plies) < 1:
        raise ValueError(f"the opponent should be minimax, lookahead@PLIES or random, not {name!r}")
    values = tree.look_ahead(int(plies))
    return table_player(tree, shares(values == values.max(1, keepdims=True)), rng)
