"""How frequent each type of opponent is among those that one meets: the shipped prior, moved by one's own games.

An opponent's games tell its type, as far as they go: its posterior (Bayes). It counts for ``n / (n + HALF)`` of an
opponent after n games, and the shipped prior for ``SHIPPED`` opponents. Half of each opponent's games are held out to
see whether the new prior predicts them better than the old one.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from connectx.opponent_model import ReplyModel, columns_of_scores
from connectx.position import Position
from connectx_toolkit.training.data.exact import ScoresOf
from connectx_toolkit.training.data.own_games import Met

HALF = 5  # games after which an opponent counts half
SHIPPED = 6  # opponents that the shipped prior counts for
LEAST_GAIN = 0.002  # nats a move: a smaller gain on held-out games is none


class Evidence(NamedTuple):
    """An opponent's games: the log likelihood of each under each type, (games, types), and their moves, (games,)."""

    logs: np.ndarray
    moves: np.ndarray


class Held(NamedTuple):
    """An opponent's held-out games: how many moves, and the log loss of these, in nats a move, before and after."""

    opponent: str
    games: int
    moves: int
    before: float
    after: float


def evidence_of(games: Sequence[Met], empty: Position, model: ReplyModel, scores_of: ScoresOf) -> dict[str, Evidence]:
    """The games by opponent, who moved first in all of them."""
    asked = [positions_of(game, empty) for game in games]
    unique = list(dict.fromkeys(position.canonical() for positions in asked for position, _ in positions))
    chances = dict(zip(unique, model.chances(unique, columns_of_scores(scores_of(unique))), strict=True))
    found = defaultdict(list)
    for game, positions in zip(games, asked, strict=True):
        logs = np.zeros(len(model.prior))
        for position, column in positions:
            mirrored = position != position.canonical()
            logs += np.log(chances[position.canonical()][:, :: -1 if mirrored else 1][:, column])
        found[game.opponent].append((logs, len(positions)))
    return {
        name: Evidence(np.array([logs for logs, _ in known]), np.array([moves for _, moves in known]))
        for name, known in sorted(found.items())
    }


def positions_of(game: Met, empty: Position) -> list[tuple[Position, int]]:
    """The positions in which the first player had a choice, and its move there."""
    found, position = [], empty
    for ply, column in enumerate(game.columns):
        if ply % 2 == 0 and len(position.legal_columns()) > 1:
            found.append((position, column))
        position = position.play(column)
    return found


def prior_of(model: ReplyModel, evidence: Sequence[Evidence]) -> np.ndarray:
    """The prior after the evidence: (types,)."""
    total, weight = SHIPPED * model.prior, float(SHIPPED)
    for one in evidence:
        logs = one.logs.sum(0) + np.log(model.prior)
        posterior = np.exp(logs - logs.max())
        share = len(one.moves) / (len(one.moves) + HALF)
        total, weight = total + share * posterior / posterior.sum(), weight + share
    return total / weight


def held_out_losses(model: ReplyModel, evidence: dict[str, Evidence]) -> list[Held]:
    """How well every second game of each opponent is predicted by the shipped prior, and by that of the other games."""
    learned = prior_of(model, [Evidence(*(array[::2] for array in one)) for one in evidence.values()])
    losses = []
    for name, one in evidence.items():
        logs, moves = one.logs[1::2], int(one.moves[1::2].sum())
        if moves:
            before, after = (-float(np.logaddexp.reduce(logs + np.log(p), 1).sum()) for p in (model.prior, learned))
            losses.append(Held(name, len(logs), moves, before / moves, after / moves))
    return losses
