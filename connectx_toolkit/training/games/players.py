"""Plays batches of games between two players.

A player is a function ``player(games, which) -> actions``: for each game whose index is in ``which``, in all of which
the player is to move, one legal action: (len(which),) integers; NO_MOVE forfeits a game.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from connectx_toolkit.training.games.batch import FIRST, SECOND, Games

Player = Callable[[Games, np.ndarray], np.ndarray]
Logits = Callable[[np.ndarray], np.ndarray]  # boards (m, rows, columns) int8 -> (m, actions) float32

NO_MOVE = -1


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


class Played(NamedTuple):
    """Records of played games."""

    moves: np.ndarray  # (n, plies) int8, NO_MOVE after the end
    winner: np.ndarray  # (n,) int8: FIRST, SECOND, NOBODY
    leads: np.ndarray  # (n,) bool: whether the first of the two players moved first

    def outcomes(self) -> np.ndarray:
        """(n,) int8: +1 where the first of the two players won, -1 where it lost, 0 for a draw."""
        return self.winner * np.where(self.leads, FIRST, SECOND).astype(np.int8)

    def counts(self) -> tuple[int, int, int]:
        """Wins, draws and losses of the first of the two players."""
        wins, draws, losses = (int((self.outcomes() == result).sum()) for result in (1, 0, -1))
        return wins, draws, losses

    def padded(self, plies: int) -> np.ndarray:
        """(n, plies) int8: the moves, filled up with NO_MOVE to ``plies`` plies."""
        return np.pad(self.moves, ((0, 0), (0, plies - self.moves.shape[1])), constant_values=NO_MOVE)


def play_actions(games: Games, actions: np.ndarray, which: np.ndarray) -> None:
    """Plays a player's actions, (k,), in the games ``which``; NO_MOVE loses the game. Raises as ``Games.play``."""
    moves = actions != NO_MOVE
    games.forfeit(which[~moves])
    games.play(actions[moves], which[moves])


def play_games(games: Games, players: tuple[Player, Player], leads: np.ndarray) -> Played:
    """Plays all games to their end. They must all be at the same ply."""
    moves: list[np.ndarray] = []
    while not games.done.all():
        turn = (games.plies % 2 == 0) == leads
        going, column = ~games.done, np.full(len(games), NO_MOVE, np.int8)
        for player, mine in zip(players, (turn, ~turn), strict=True):
            which = np.flatnonzero(going & mine)
            if len(which):
                actions = player(games, which)
                play_actions(games, actions, which)
                column[which] = actions
        moves.append(column)
    return Played(np.stack(moves, axis=1), games.winner.copy(), leads)


def replay(games: Games, moves: np.ndarray) -> Iterator[np.ndarray]:
    """Plays recorded moves on new games; after each ply, yields the indices of the games in which a move was played."""
    for column in moves.T:
        which = np.flatnonzero(column != NO_MOVE)
        games.play(column[which], which)
        yield which
