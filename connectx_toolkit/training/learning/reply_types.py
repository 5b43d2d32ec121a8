"""Fits the types of ``connectx.opponent_model`` to games: mixtures of kinds, by expectation maximisation.

Each game belongs to one type, and each of its moves to one kind, drawn by the type's shares (a mixture of mixtures;
Dempster, Laird and Rubin 1977).
"""

import numpy as np

ITERATIONS = 200
LEAST = 1e-3  # added to each share before it is normed, so that none is 0
CONCENTRATION = 2.0  # of the Dirichlet distribution from which the shares start


def log_likelihoods(moves: np.ndarray, games: np.ndarray, types: np.ndarray) -> np.ndarray:
    """Of each game under each type: (games, types).

    Args:
        moves: the probability that each kind gave to each move that was played, (n, kinds).
        games: the number of each move's game, (n,), all from 0 up.
        types: shares of the kinds, (types, kinds).
    """
    sums = np.zeros((games.max() + 1, len(types)))
    np.add.at(sums, games, np.log(moves @ types.T))
    return sums


def fit(moves: np.ndarray, games: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The prior of ``count`` types, (types,), and their shares of the kinds, (types, kinds). Arguments as above."""
    rng = np.random.default_rng(seed)
    types = rng.dirichlet(np.full(moves.shape[1], CONCENTRATION), count)
    prior = np.full(count, 1 / count)
    for _ in range(ITERATIONS):
        logs = log_likelihoods(moves, games, types) + np.log(prior)
        member = np.exp(logs - logs.max(1, keepdims=True))
        member /= member.sum(1, keepdims=True)
        prior = member.mean(0) + LEAST / len(member)
        prior /= prior.sum()
        for index in range(count):
            blame = moves * types[index]
            blame *= (member[games, index] / blame.sum(1))[:, None]
            types[index] = blame.sum(0) + LEAST
            types[index] /= types[index].sum()
    return prior, types
