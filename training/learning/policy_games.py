"""What a policy chose in games, legal or not, what each choice was worth, and the loss that follows the gradient.

A won game is worth 1, a lost one -1, discounted for each later move of the learner. The learner chooses among all
actions: an illegal one costs it -1, undiscounted and not blamed on the moves before it, and a legal one is drawn in its
place.
"""

from typing import NamedTuple

import numpy as np
from torch import Tensor

from training.games.batch import Games
from training.games.players import Logits, sample

BLOCK = 10  # games, then the seats change
ILLEGAL = -1  # in place of the turn of an illegal choice
ILLEGAL_RETURN = -1.0


class Choices(NamedTuple):
    """What the learner chose in a batch of games; an illegal choice and the legal one after it are two rows."""

    boards: np.ndarray  # (m, rows, columns) int8, seen by the learner
    actions: np.ndarray  # (m,) int64
    games: np.ndarray  # (m,) int64, which game of the batch
    turns: np.ndarray  # (m,) int64, legal moves that the learner had made in this game before; ILLEGAL

    @property
    def plies(self) -> np.ndarray:
        """(m,) int64: how many stones lay on the board."""
        return np.count_nonzero(self.boards, axis=(1, 2))


class Learner:
    """A player that draws from all actions, legal or not, and keeps what it chose."""

    def __init__(self, logits: Logits, rng: np.random.Generator):
        self._logits, self._rng = logits, rng
        self._rows: list[Choices] = []

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        boards, legal = games.boards(which), games.legal()[which]
        logits = self._logits(boards)
        tried = sample(logits, np.ones_like(legal), self._rng)
        bad = ~legal[np.arange(len(which)), tried]
        actions = np.where(bad, sample(logits, legal, self._rng), tried)
        self._rows.append(Choices(boards[bad], tried[bad], which[bad], np.full(bad.sum(), ILLEGAL)))
        self._rows.append(Choices(boards, actions, which, games.plies[which] // 2))
        return actions

    def choices(self) -> Choices:
        """All choices since the last call."""
        rows, self._rows = self._rows, []
        return Choices(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def returns_of(choices: Choices, results: np.ndarray, discount: float) -> np.ndarray:
    """(m,) float32: the return of each choice.

    Args:
        results: (n,) of each game, seen by the learner, all of it earned by the last move.
    """
    legal = choices.turns != ILLEGAL
    moves = np.bincount(choices.games[legal], minlength=len(results))
    later = moves[choices.games] - 1 - choices.turns
    return np.where(legal, results[choices.games] * discount**later, ILLEGAL_RETURN).astype(np.float32)


def policy_loss(logits: Tensor, actions: Tensor, advantages: Tensor, entropy: float) -> Tensor:
    """REINFORCE: minus the mean of log-probability times advantage, minus ``entropy`` times the mean entropy.

    Args:
        logits: (m, actions); actions: (m,) int64; advantages: (m,) float32, returns less what was to be expected.
    """
    log_chances = logits.log_softmax(dim=1)
    chosen = log_chances.gather(1, actions[:, None])[:, 0]
    spread = -(log_chances.exp() * log_chances).sum(dim=1)
    return -(chosen * advantages).mean() - entropy * spread.mean()
