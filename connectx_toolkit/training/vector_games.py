"""Batches of games of one kind, played in parallel, and their players: the environment of the learners.

A player is a function ``player(games, which) -> actions``: for each game whose index is in ``which``, in all of which
the player is to move, one legal action: (len(which),) integers; NO_ACTION forfeits a game.

Trainers only use ``Games``. A kind of game defines three things: its sizes, the legal actions, and the effect of a
move. One object holds n games; arrays are indexed by game, and every call works on all games or on the chosen ones. One
step of vectorised play is

    boards, legal = games.boards(), games.legal()        # (n, rows, columns) and (n, actions)
    actions = ...                                        # (n,), chosen by the side to move in each game
    games.play(actions)                                  # or play(actions[which], which)
    over = np.flatnonzero(games.done)                    # read games.winner[over], then
    games.reset(over)                                    # start those again

An illegal action raises an exception. A trainer that allows illegal choices checks ``legal`` first and defines their
cost itself.

Kinds are ConnectX of any size, where an action is a column, nim and tic-tac-toe.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

import numpy as np

from connectx_core.jit import njit
from connectx_core.network import PlainNetwork
from connectx_core.position import Geometry, geometry_of

FIRST, SECOND, NOBODY = 1, -1, 0  # values of ``winner`` and of the stones


class Games(ABC):
    """n games, each at its own ply. The first player moves on even plies.

    Attributes:
        rows, columns: size of the board that ``boards`` shows.
        actions: number of actions, legal or not; an action is an int in [0, actions).
        stones: (n, rows, columns) int8, FIRST's stones +1, SECOND's -1, 0 empty.
        plies: (n,) int64, moves played so far.
        done: (n,) bool, whether the game is over.
        winner: (n,) int8, FIRST or SECOND if the game is won; NOBODY if it is drawn or not over.
    """

    def __init__(self, count: int, rows: int, columns: int, actions: int):
        self.rows, self.columns, self.actions = rows, columns, actions
        self.stones = np.zeros((count, rows, columns), np.int8)
        self.plies = np.zeros(count, np.int64)
        self.done = np.zeros(count, bool)
        self.winner = np.zeros(count, np.int8)

    def __len__(self) -> int:
        return len(self.plies)

    @property
    def mover(self) -> np.ndarray:
        """(n,) int8: FIRST or SECOND, whose turn it is."""
        return np.where(self.plies % 2, SECOND, FIRST).astype(np.int8)

    def boards(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(n, rows, columns) int8: +1 stones of the side to move, -1 of the other side, 0 empty; row 0 is the top."""
        return self.stones[which] * self.mover[which, None, None]

    @abstractmethod
    def legal(self) -> np.ndarray:
        """(n, actions) bool. No action is legal in a game that is over."""

    @abstractmethod
    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        """Plays legal actions: updates stones, plies, done, winner of the games ``which``, all distinct."""

    def play(self, actions: np.ndarray, which: np.ndarray | None = None) -> None:
        """Plays one action in each game of ``which``, distinct indices; in all games by default.

        Args:
            actions: (n,) or (len(which),) integers.

        Raises:
            ValueError: an action is not legal, or its game is over; nothing is played then.
        """
        # Always the same layout and dtype, so that a compiled move is compiled only once.
        which = np.ascontiguousarray(np.arange(len(self)) if which is None else which, np.int64)
        actions = np.ascontiguousarray(actions, np.int64)
        bad = (actions < 0) | (actions >= self.actions)
        bad |= ~self.legal()[which, np.where(bad, 0, actions)]
        if bad.any():
            index = int(np.flatnonzero(bad)[0])
            game = int(which[index])
            raise ValueError(
                f"action {int(actions[index])} is not legal in game {game} at ply {int(self.plies[game])}"
                + (", which is over" if self.done[game] else "")
            )
        self._move(actions, which)

    def forfeit(self, which: np.ndarray) -> None:
        """Ends the games ``which``, (k,) indices: the side to move loses them."""
        self.done[which], self.winner[which] = True, -self.mover[which]

    def reset(self, which: np.ndarray | slice = slice(None)) -> None:
        """Starts the chosen games again (all by default)."""
        self.stones[which] = 0
        self.plies[which] = 0
        self.done[which] = False
        self.winner[which] = NOBODY

    @abstractmethod
    def empty(self, count: int) -> Self:
        """``count`` new games of this kind and size."""

    def take(self, which: np.ndarray) -> Self:
        """Copies of the chosen games as a new batch; an index may occur more than once."""
        copy = self.empty(len(which))
        copy.stones, copy.plies = self.stones[which], self.plies[which]
        copy.done, copy.winner = self.done[which], self.winner[which]
        return copy

    def children(self) -> tuple[Self, np.ndarray, np.ndarray]:
        """(children, parents, actions): m games, one after each legal move; (m,) int64: the game and action of each."""
        parents, actions = np.nonzero(self.legal())
        children = self.take(parents)
        children.play(actions)
        return children, parents, actions


@njit
def line_through(stones, row, column, inarow):
    """Whether the stone at (row, column) is in a line of at least ``inarow``. stones: (rows, columns) int8."""
    rows, columns = stones.shape
    mark = stones[row, column]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            r, c = row + sign * down, column + sign * right
            while 0 <= r < rows and 0 <= c < columns and stones[r, c] == mark:
                length += 1
                r, c = r + sign * down, c + sign * right
        if length >= inarow:
            return True
    return False


@njit
def drop(stones, plies, done, winner, actions, which, inarow):
    """Drops a stone of the mover in column actions[i] of game which[i]; the column must not be full."""
    rows, columns = stones.shape[1:]
    for index in range(len(which)):
        game, column = which[index], actions[index]
        mark = -1 if plies[game] % 2 else 1
        row = rows - 1
        while stones[game, row, column] != 0:
            row -= 1
        stones[game, row, column] = mark
        plies[game] += 1
        if line_through(stones[game], row, column, inarow):
            done[game], winner[game] = True, mark
        elif plies[game] == rows * columns:
            done[game] = True


def bitboards(boards: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """(position, mask), (n,) int64 each, as in ``connectx_core.position``; the board must fit 64 bits.

    Args:
        boards: (n, rows, columns) int8, +1 stones of the side to move, -1 of the other side.
    """
    rows, columns = np.indices((geometry.rows, geometry.columns))
    bits = np.int64(1) << (columns * geometry.stride + geometry.rows - 1 - rows)
    return ((boards == 1) * bits).sum((1, 2)), ((boards != 0) * bits).sum((1, 2))


class ConnectX(Games):
    """n games on the board of a geometry, of any size."""

    def __init__(self, count: int, geometry: Geometry):
        super().__init__(count, geometry.rows, geometry.columns, geometry.columns)
        self.geometry = geometry

    def legal(self) -> np.ndarray:
        return (self.stones[:, 0] == 0) & ~self.done[:, None]

    def empty(self, count: int) -> Self:
        return type(self)(count, self.geometry)

    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        drop(self.stones, self.plies, self.done, self.winner, actions, which, self.geometry.inarow)

    def bitboards(self, which: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The bitboards of the chosen games, as ``bitboards`` gives them."""
        return bitboards(self.boards(which), self.geometry)


Player = Callable[[Games, np.ndarray], np.ndarray]
Logits = Callable[[np.ndarray], np.ndarray]  # boards (m, rows, columns) int8 -> (m, actions) float32

NO_ACTION = -1
BLOCK = 10  # games of a learner, after which the seats swap


def alternating(count: int, block: int, start: int = 0) -> np.ndarray:
    """(count,) bool: whether the first player leads, if seats swap every ``block`` games, counted from ``start``."""
    return (start + np.arange(count)) // block % 2 == 0


def sample(logits: np.ndarray, legal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(m,) int64: an action for each row, drawn from the softmax over the legal ones (by the Gumbel-max trick).

    Args:
        logits: (m, actions) float.
        legal: (m, actions) bool, at least one True a row.
    """
    noise = rng.gumbel(size=logits.shape)
    return np.where(legal, logits + noise, -np.inf).argmax(axis=1)


def logits_in_numpy(network: PlainNetwork, head: str) -> Logits:
    """The outputs of one head of a network for ConnectX, each the mean of a board and its mirror image."""
    geometry = network.architecture.geometry
    return lambda boards: network.evaluate_many(*bitboards(boards, geometry))[head]


def sampling_player(logits: Logits, rng: np.random.Generator) -> Player:
    """A player that draws each legal move with its probability in the policy."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        return sample(logits(games.boards(which)), games.legal()[which], rng)

    return player


def greedy_player(logits: Logits) -> Player:
    """A player that takes the policy's most likely legal move."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        return np.where(games.legal()[which], logits(games.boards(which)), -np.inf).argmax(axis=1)

    return player


def random_player(rng: np.random.Generator) -> Player:
    """A player that takes uniformly random legal moves."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        legal = games.legal()[which]
        return sample(np.zeros(legal.shape), legal, rng)

    return player


def erring(player: Player, errs: Callable[[Games, np.ndarray], np.ndarray], rng: np.random.Generator) -> Player:
    """The player, with random legal moves in the games for which ``errs(games, which)``, bool, is True."""
    at_random = random_player(rng)

    def erring_player(games: Games, which: np.ndarray) -> np.ndarray:
        wrong = errs(games, which)
        actions = np.zeros(len(which), np.int64)
        for part, mover in ((wrong, at_random), (~wrong, player)):
            if part.any():
                actions[part] = mover(games, which[part])
        return actions

    return erring_player


class PlayedGames(NamedTuple):
    """Records of played games."""

    moves: np.ndarray  # (n, plies) int8, NO_ACTION after the end
    winner: np.ndarray  # (n,) int8: FIRST, SECOND, NOBODY
    leads: np.ndarray  # (n,) bool: whether the first of the two players moved first

    def outcomes(self) -> np.ndarray:
        """(n,) int8: +1 where the first of the two players won, -1 where it lost, 0 for a draw."""
        return self.winner * np.where(self.leads, FIRST, SECOND).astype(np.int8)

    def counts(self) -> tuple[int, int, int]:
        """Wins, draws and losses of the first of the two players."""
        wins, draws, losses = (int((self.outcomes() == result).sum()) for result in (1, 0, -1))
        return wins, draws, losses

    def pad_moves(self, plies: int) -> np.ndarray:
        """(n, plies) int8: the moves, filled up with NO_ACTION to ``plies`` plies."""
        return np.pad(self.moves, ((0, 0), (0, plies - self.moves.shape[1])), constant_values=NO_ACTION)


def play_actions(games: Games, actions: np.ndarray, which: np.ndarray) -> None:
    """Plays a player's actions, (k,), in the games ``which``; NO_ACTION loses the game. Raises as ``Games.play``."""
    moves = actions != NO_ACTION
    games.forfeit(which[~moves])
    games.play(actions[moves], which[moves])


def play_games(games: Games, players: tuple[Player, Player], leads: np.ndarray) -> PlayedGames:
    """Plays all games to their end. They must all be at the same ply."""
    moves: list[np.ndarray] = []
    while not games.done.all():
        turn = (games.plies % 2 == 0) == leads
        going, column = ~games.done, np.full(len(games), NO_ACTION, np.int8)
        for player, mine in zip(players, (turn, ~turn), strict=True):
            which = np.flatnonzero(going & mine)
            if len(which):
                actions = player(games, which)
                play_actions(games, actions, which)
                column[which] = actions
        moves.append(column)
    return PlayedGames(np.stack(moves, axis=1), games.winner.copy(), leads)


def replay(games: Games, moves: np.ndarray) -> Iterator[np.ndarray]:
    """Plays recorded moves on new games; after each ply, yields the indices of the games in which a move was played."""
    for column in moves.T:
        which = np.flatnonzero(column != NO_ACTION)
        games.play(column[which], which)
        yield which


GAME_FORMS = "nim, tictactoe, or ROWSxCOLUMNSkINAROW such as 6x7k4 for ConnectX"
BOARD = re.compile(r"(\d+)x(\d+)k(\d+)")
SIDE = 3
CELLS = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
LINES = np.array([*CELLS, *CELLS.T, CELLS.diagonal(), np.fliplr(CELLS).diagonal()])  # (8, 3) cells


class Nim(Games):
    """Nim with one heap: the player who takes the last token loses. Action a takes a + 1 tokens.

    The board is a row of cells; tokens are taken from the left, and their cells are 1. Tokens have no side. A position
    with n tokens is lost for the side to move if and only if n modulo (most tokens at once + 1) is 1.

    Raises:
        ValueError: ``tokens`` or ``most`` is below 1.
    """

    def __init__(self, count: int, tokens: int = 9, most: int = 3):
        if tokens < 1 or most < 1:
            raise ValueError(f"Nim needs at least one token, and one to take: tokens {tokens}, most {most}")
        super().__init__(count, 1, tokens, most)

    def boards(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(n, 1, tokens) int8: 1 where a token has been taken, for both sides."""
        return self.stones[which].copy()

    def tokens_left(self) -> np.ndarray:
        """(n,) int64: the number of tokens left."""
        return self.columns - self.stones.sum((1, 2), dtype=np.int64)

    def legal(self) -> np.ndarray:
        return np.arange(self.actions) < self.tokens_left()[:, None]

    def empty(self, count: int) -> Self:
        return type(self)(count, self.columns, self.actions)

    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        taken = self.columns - self.tokens_left()[which] + actions + 1
        self.stones[which, 0] = np.arange(self.columns) < taken[:, None]
        over = taken == self.columns
        self.winner[which[over]] = -self.mover[which][over]
        self.done[which] = over
        self.plies[which] += 1


class TicTacToe(Games):
    """The board of 3 x 3; an action is a cell, row by row from the top left."""

    def __init__(self, count: int):
        super().__init__(count, SIDE, SIDE, SIDE * SIDE)

    def legal(self) -> np.ndarray:
        return (self.stones.reshape(-1, self.actions) == 0) & ~self.done[:, None]

    def empty(self, count: int) -> Self:
        return type(self)(count)

    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        movers = self.mover[which]
        self.stones[which, actions // SIDE, actions % SIDE] = movers
        self.plies[which] += 1
        cells = self.stones[which].reshape(-1, self.actions)
        won = (cells[:, LINES] == movers[:, None, None]).all(2).any(1)
        self.winner[which[won]] = movers[won]
        self.done[which] = won | (self.plies[which] == self.actions)


def geometry_named(name: str) -> Geometry:
    """The board of a name such as 6x7k4: rows x columns k inarow. Raises ValueError if there is none."""
    size = BOARD.fullmatch(name)
    if size is None:
        raise ValueError(f"board should read like 6x7k4, not {name!r}")
    return geometry_of(*map(int, size.groups()))


def games_named(name: str, count: int = 1) -> Games:
    """``count`` new games. Raises ValueError if there is no game of this name."""
    if name == "nim":
        return Nim(count)
    if name == "tictactoe":
        return TicTacToe(count)
    if not BOARD.fullmatch(name):
        raise ValueError(f"the game should be {GAME_FORMS}, not {name!r}")
    return ConnectX(count, geometry_named(name))
