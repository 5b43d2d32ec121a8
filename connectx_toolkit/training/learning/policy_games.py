"""Records a policy's choices in games, legal or not, and computes their returns and the policy-gradient loss.

The return of a choice is 1 in a won game, 0 in a draw and -1 in a lost one, discounted for each later move of the
learner. The learner chooses among all actions. An illegal choice has the return -1, without discount and without effect
on earlier moves, and a legal action is drawn instead.
"""

from typing import NamedTuple

import numpy as np
from torch import Tensor

from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.players import Logits, sample

BLOCK = 10  # games, after which the seats swap
ILLEGAL = -1  # in ``Choices.turns``: the choice was illegal
ILLEGAL_RETURN = -1.0


class Choices(NamedTuple):
    """The learner's choices in a batch of games; an illegal choice and the legal one after it are two rows."""

    boards: np.ndarray  # (m, rows, columns) int8, seen by the learner
    actions: np.ndarray  # (m,) int64
    games: np.ndarray  # (m,) int64, the game's index in the batch
    turns: np.ndarray  # (m,) int64, the learner's earlier moves in this game; ILLEGAL for an illegal choice

    @property
    def plies(self) -> np.ndarray:
        """(m,) int64: the number of stones on the board."""
        return np.count_nonzero(self.boards, axis=(1, 2))


class Learner:
    """A player that draws from all actions, legal or not, and records its choices."""

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
        results: (n,) the result of each game for the learner; it is the reward of the learner's last move.
    """
    legal = choices.turns != ILLEGAL
    moves = np.bincount(choices.games[legal], minlength=len(results))
    later = moves[choices.games] - 1 - choices.turns
    return np.where(legal, results[choices.games] * discount**later, ILLEGAL_RETURN).astype(np.float32)


def policy_loss(logits: Tensor, actions: Tensor, advantages: Tensor, entropy: float) -> Tensor:
    """REINFORCE: minus the mean of log-probability times advantage, minus ``entropy`` times the mean entropy.

    Args:
        logits: (m, actions); actions: (m,) int64; advantages: (m,) float32, returns minus their baseline.
    """
    log_chances = logits.log_softmax(dim=1)
    chosen = log_chances.gather(1, actions[:, None])[:, 0]
    spread = -(log_chances.exp() * log_chances).sum(dim=1)
    return -(chosen * advantages).mean() - entropy * spread.mean()
