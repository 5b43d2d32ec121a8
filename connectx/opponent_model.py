"""What a fallible opponent answers, and what it will give away: a model of players, fitted to games of many.

A kind of player sees so many plies ahead, its horizon: it avoids the moves that lose within them, takes the quickest
win within them, and otherwise follows a small policy network at some temperature. The exact score of a
move says how far away the end of the game is, so that no search is needed to know what a kind sees. A type is a mixture
of kinds, and the population a mixture of types; in a game, the opponent's moves tell which type it is (``Opponent``).

For each type, a second network estimates the gain still to come: the points (a win is 1, a draw 0.5) that a player of
this type gives away from here to the end if the other side gives nothing away and otherwise makes it as hard as it can.
``python train.py replies`` makes the model; its docstring has the sources of the methods.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from connectx.geometry import Geometry
from connectx.heuristic import evaluate
from connectx.nets.network import PlainNetwork
from connectx.position import Position, open_cells, winning_spots
from connectx.score import NO_MOVE, Scores, plies_to_end_table
from connectx.weights import pack, unpack

EVERYTHING = 99  # plies: to the end of any game
HEURISTIC_SCALE = 8.0  # points of the static evaluation for one logit, on boards without a network
BLUNDER = 0.02  # share of the moves in which a kind plays any move
FORGETTING = 0.05  # of what the opponent's moves have told, with each further move
UNKNOWN_GAIN = 0.02  # of a type in each later reply, on boards without a network


class Kind(NamedTuple):
    """A kind of player: how many plies it sees, and how strictly it follows the policy beyond them."""

    horizon: int
    temperature: float


KINDS = (
    *(Kind(1, temperature) for temperature in (0.3, 1.0, 2.5)),
    *(Kind(horizon, 1.0) for horizon in (4, 8, 12, 16)),
    *(Kind(EVERYTHING, temperature) for temperature in (0.3, 2.5)),
)


def columns_of_scores(scores: Sequence[Scores]) -> np.ndarray:
    """Exact scores as an array, (n, columns) int64, with NO_MOVE for None."""
    return np.array([[NO_MOVE if score is None else score for score in row] for row in scores])


def lengths_of(positions: np.ndarray, masks: np.ndarray, scores: np.ndarray, geometry: Geometry) -> np.ndarray:
    """(n, columns) int64: plies to the end of the game if each move is played, then perfectly; it counts as one."""
    cells, after = geometry.rows * geometry.columns, np.bitwise_count(masks).astype(np.int64)[:, None] + 1
    known = np.where(scores == NO_MOVE, 0, scores)
    lengths = 1 + plies_to_end_table(cells)[np.minimum(after, cells), cells - known]
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    wins = winning_spots(positions, masks, geometry) & open_cells(masks, geometry)
    return np.where((wins[:, None] & columns) != 0, 1, lengths)


def move_probabilities(scores: np.ndarray, lengths: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """The probability that each kind plays each column: float64 (n, kinds, columns).

    Args:
        scores: exact, of each move, NO_MOVE where there is none: (n, columns) int64.
        lengths: as ``lengths_of`` gives them.
        logits: of the policy, (n, columns).
    """
    legal = scores != NO_MOVE
    chances = np.empty((len(scores), len(KINDS), scores.shape[1]))
    blunders = BLUNDER * legal / legal.sum(1, keepdims=True)
    for index, kind in enumerate(KINDS):
        seen = np.where(legal, np.where(lengths <= kind.horizon, np.sign(scores), 0), -2)
        best = seen.max(1, keepdims=True)
        quickest = np.where(seen == best, lengths, EVERYTHING).min(1, keepdims=True)
        slowest = np.where(seen == best, lengths, 0).max(1, keepdims=True)
        decided = (seen == best) & (lengths == np.where(best > 0, quickest, slowest))
        powers = np.where(best == 0, seen == 0, decided) * np.exp(
            np.where(best == 0, (logits - logits.max(1, keepdims=True)) / kind.temperature, 0.0)
        )
        chances[:, index] = (1 - BLUNDER) * powers / powers.sum(1, keepdims=True) + blunders
    return chances


class ReplyModel:
    """The population of opponents.

    Args:
        prior: how frequent each type is, (types,); its sum is 1.
        types: of each type, the shares of the kinds, (types, kinds); sums of rows are 1.
        policy: a network with a policy head, for its board; on others the static evaluation serves.
        forecast: a network with heads "gift" and "hope", a logit for each type: the expected gain where the opponent is
            to move, and where the other side is.

    Raises:
        ValueError: the arrays do not fit each other, ``KINDS`` or the networks.
    """

    def __init__(self, prior: np.ndarray, types: np.ndarray, policy: PlainNetwork, forecast: PlainNetwork):
        self.prior, self.types, self.policy, self.forecast = prior, types, policy, forecast
        heads = dict(forecast.architecture.heads)
        if types.shape != (len(prior), len(KINDS)) or heads != {"gift": len(prior), "hope": len(prior)}:
            raise ValueError(f"a model of {prior.shape} types, {types.shape} shares of kinds and heads {heads}")

    @classmethod
    def from_bytes(cls, content: bytes, policy: PlainNetwork) -> "ReplyModel":
        """The model of a file that ``to_bytes`` gave. Raises ValueError if it is damaged or something else."""
        arrays, _ = unpack(content)
        if set(arrays) != {"prior", "types", "gifts"}:
            raise ValueError(f"expected a model of replies, got arrays {sorted(arrays)}")
        forecast = PlainNetwork.from_bytes(arrays["gifts"].tobytes())
        return cls(arrays["prior"].astype(float), arrays["types"].astype(float), policy, forecast)

    @staticmethod
    def to_bytes(prior: np.ndarray, types: np.ndarray, forecast: bytes) -> bytes:
        """The model's file, given the file of the network that forecasts the gains."""
        arrays = {"prior": prior.astype(np.float32), "types": types.astype(np.float32)}
        return pack(arrays | {"gifts": np.frombuffer(forecast, np.uint8)})

    def knows(self, geometry: Geometry) -> bool:
        """Whether the networks are for this board."""
        return geometry == self.policy.architecture.geometry

    def chances(self, positions: list[Position], scores: np.ndarray) -> np.ndarray:
        """The probability that each type plays each column: float64 (n, types, columns).

        Args:
            scores: exact, of each move of the positions, (n, columns) int64, NO_MOVE where there is none.
        """
        geometry, (stones, masks) = positions[0].geometry, arrays_of(positions)
        if self.knows(geometry):
            logits = self.policy.judge_many(stones, masks)["policy"].astype(float)
        else:
            logits = np.array([heuristic_logits(position) for position in positions])
        lengths = lengths_of(stones, masks, scores, geometry)
        return np.einsum("tk,nkc->ntc", self.types, move_probabilities(scores, lengths, logits))

    def gains_at_their_turn(self, positions: list[Position]) -> np.ndarray:
        """The points that an opponent of each type will give away, it being to move: (n, types), 0 to 1."""
        return self._estimate(positions, "gift")

    def gains_at_our_turn(self, positions: list[Position]) -> np.ndarray:
        """The same where the other side is to move."""
        return self._estimate(positions, "hope")

    def _estimate(self, positions: list[Position], head: str) -> np.ndarray:
        if not self.knows(positions[0].geometry):
            left = np.array([position.geometry.cells - position.ply for position in positions])
            return np.repeat((1 - (1 - UNKNOWN_GAIN) ** (left // 2))[:, None] / 2, len(self.prior), 1)
        return 1 / (1 + np.exp(-self.forecast.judge_many(*arrays_of(positions))[head].astype(float)))


def arrays_of(positions: list[Position]) -> tuple[np.ndarray, np.ndarray]:
    """Stones of the side to move and of both, two (n,) int64."""
    stones, masks = zip(*((position.position, position.mask) for position in positions), strict=True)
    return np.array(stones, np.int64), np.array(masks, np.int64)


def heuristic_logits(position: Position) -> list[float]:
    """The heuristic's logit of each column: (columns,)."""
    logits = [0.0] * position.geometry.columns
    for column in position.legal_columns():
        child = position.play(column)
        logits[column] = -evaluate(child.position, child.mask, child.geometry) / HEURISTIC_SCALE
    return logits


class Opponent:
    """Which type this game's opponent is, as far as its moves have told.

    Attributes:
        belief: the probability of each type, (types,).
    """

    def __init__(self, model: ReplyModel):
        self.model, self.belief = model, model.prior

    def forget(self) -> None:
        """Another opponent may sit down: any type again."""
        self.belief = self.model.prior

    def learn(self, before: Position, column: int, scores: Scores) -> None:
        """Learns from a move of the opponent.

        Args:
            scores: the exact scores of the moves that it had.
        """
        chances = self.model.chances([before], columns_of_scores([scores]))[0, :, column]
        belief = self.belief * chances
        self.belief = (1 - FORGETTING) * belief / belief.sum() + FORGETTING * self.model.prior
