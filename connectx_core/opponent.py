"""Chooses among moves with the same exact result: the one after which a fallible opponent gives most away, by a model
of what such an opponent answers.

Expectimax over the opponent's replies (Michie 1966; for errors of opponents Jansen, "Problematic Positions and
Speculative Play", 1990): at its turns the model of replies gives each move a probability, at ours the best
move is taken among those that give nothing away. The tree grows level by level, the most probable positions first, for
as long as exact scores can be had; beyond it the model's estimate stands. It is the gain alone that is estimated: what
is chosen from are moves proven to keep the result.

The model is fitted to games of many players. A kind of player sees so many plies ahead, its horizon: it avoids the
moves that lose within them, takes the quickest win within them, and otherwise follows a small policy network at some
temperature. The exact score of a move says how far away the end of the game is, so that no search is needed to know
what a kind sees. A type is a mixture of kinds, and the population a mixture of types; in a game, the opponent's moves
tell which type it is (``Opponent``).

For each type, a second network estimates the gain still to come: the points (a win is 1, a draw 0.5) that a player of
this type gives away from here to the end if the other side gives nothing away and otherwise makes it as hard as it can.
``python train.py replies`` makes the model; its docstring has the sources of the methods.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from connectx_core.evaluation import evaluate
from connectx_core.network import PlainNetwork
from connectx_core.position import (
    NO_MOVE,
    Geometry,
    Position,
    Scores,
    open_cells,
    plies_to_end_table,
    sign,
    winning_spots,
)
from connectx_core.weights import pack, unpack

EVERYTHING = 99  # plies: to the end of any game
HEURISTIC_SCALE = 8.0  # points of the static evaluation for one logit, on boards without a network
BLUNDER = 0.02  # share of the moves in which a kind plays any move
FORGETTING = 0.05  # of what the opponent's moves have told, with each further move
AT_THEIR_TURN, AT_OUR_TURN = "gift", "hope"  # heads of the network that forecasts gains, as files name them
UNKNOWN_GAIN = 0.02  # of a type in each later reply, on boards without a network


class Skill(NamedTuple):
    """A kind of player: how many plies it sees, and how strictly it follows the policy beyond them."""

    horizon: int
    temperature: float


SKILLS = (
    *(Skill(1, temperature) for temperature in (0.3, 1.0, 2.5)),
    *(Skill(horizon, 1.0) for horizon in (4, 8, 12, 16)),
    *(Skill(EVERYTHING, temperature) for temperature in (0.3, 2.5)),
)


def columns_of_scores(scores: Sequence[Scores]) -> np.ndarray:
    """Exact scores as an array, (n, columns) int64, with NO_MOVE for None."""
    return np.array([[NO_MOVE if score is None else score for score in row] for row in scores])


def plies_after_moves(positions: np.ndarray, masks: np.ndarray, scores: np.ndarray, geometry: Geometry) -> np.ndarray:
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
        lengths: as ``plies_after_moves`` gives them.
        logits: of the policy, (n, columns).
    """
    legal = scores != NO_MOVE
    chances = np.empty((len(scores), len(SKILLS), scores.shape[1]))
    blunders = BLUNDER * legal / legal.sum(1, keepdims=True)
    for index, kind in enumerate(SKILLS):
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
        forecast: a network with two heads, a logit for each type: the expected gain ``AT_THEIR_TURN`` and
            ``AT_OUR_TURN``.

    Raises:
        ValueError: the arrays do not fit each other, ``SKILLS`` or the networks.
    """

    def __init__(self, prior: np.ndarray, types: np.ndarray, policy: PlainNetwork, forecast: PlainNetwork):
        self.prior, self.types, self.policy, self.forecast = prior, types, policy, forecast
        heads = dict(forecast.architecture.heads)
        if types.shape != (len(prior), len(SKILLS)) or heads != dict.fromkeys((AT_THEIR_TURN, AT_OUR_TURN), len(prior)):
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
            logits = self.policy.evaluate_many(stones, masks)["policy"].astype(float)
        else:
            logits = np.array([heuristic_logits(position) for position in positions])
        lengths = plies_after_moves(stones, masks, scores, geometry)
        return np.einsum("tk,nkc->ntc", self.types, move_probabilities(scores, lengths, logits))

    def gains_at_their_turn(self, positions: list[Position]) -> np.ndarray:
        """The points that an opponent of each type will give away, it being to move: (n, types), 0 to 1."""
        return self._estimate(positions, AT_THEIR_TURN)

    def gains_at_our_turn(self, positions: list[Position]) -> np.ndarray:
        """The same where the other side is to move."""
        return self._estimate(positions, AT_OUR_TURN)

    def _estimate(self, positions: list[Position], head: str) -> np.ndarray:
        if not self.knows(positions[0].geometry):
            left = np.array([position.geometry.cells - position.ply for position in positions])
            return np.repeat((1 - (1 - UNKNOWN_GAIN) ** (left // 2))[:, None] / 2, len(self.prior), 1)
        return 1 / (1 + np.exp(-self.forecast.evaluate_many(*arrays_of(positions))[head].astype(float)))


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


MOST_REPLIES = 8  # of the opponent that the choice looks ahead
LEAST_SHARE = 0.02  # of a reply: what follows rarer ones is estimated
BEAM = 3  # moves that are tried at our later turns: those of the largest estimates
ESTIMATES_AT_ONCE = 64  # positions whose estimates are made at once
# Losses of this score come in the last six plies, from ply 37 on with 42 cells. Earlier ones are not risked while one
# so late can be had: whoever makes no error shall at least have to play on to the end.
SLOW_LOSS = -3
EQUAL = 0.02  # points: smaller differences of what is expected count as none

Scorer = Callable[[Position], Scores | None]  # the exact scores of a position's moves; None if there is no time


class Branch(NamedTuple):
    """A reply of the opponent: its probability, the points that it gives away, and where it leads."""

    share: float
    points: float
    turn: "OurTurn | None"  # ours; None where nothing more can be gained


class OurTurn:
    """A position in which it is our turn.

    Attributes:
        gain: the estimate of the points still to come.
        tries: the positions after our moves, once it has been expanded.
    """

    __slots__ = ("gain", "position", "result", "tries")

    def __init__(self, position: Position, result: int, gain: float):
        self.position, self.result, self.gain = position, result, gain
        self.tries: list[TheirTurn] = []

    def value(self) -> float:
        """The largest value of the tries; the estimate as long as none of them has been expanded."""
        if all(reply.branches is None for reply in self.tries):
            return self.gain
        return max(reply.value() for reply in self.tries)


class TheirTurn:
    """A position in which the opponent is to move.

    Attributes:
        gain: the estimate of the points that it will give away.
        branches: its replies, once it has been expanded; also an empty list.
    """

    __slots__ = ("_value", "branches", "gain", "position")

    def __init__(self, position: Position, gain: float):
        self.position, self.gain = position, gain
        self.branches: list[Branch] | None = None
        self._value: float | None = None

    def value(self) -> float:
        """What the opponent is expected to give away from here on; kept until ``forget``."""
        if self.branches is None:
            return self.gain
        if self._value is None:
            self._value = sum(b.share * (b.points + (b.turn.value() if b.turn else 0.0)) for b in self.branches)
        return self._value

    def forget(self) -> None:
        self._value = None


class ErrorForecast:
    """The tree below our moves in one position, in which we do not win.

    Args:
        belief: the probability of each of the model's types.
        replies: asked once for each position of the tree.
        table: exact scores that cost nothing; None where there are none.
    """

    def __init__(self, model: ReplyModel, belief: np.ndarray, replies: Scorer, table: Scorer = lambda position: None):
        self.model, self.belief, self.replies, self.table = model, belief, replies, table
        self.known: dict[Position, TheirTurn] = {}

    def after(self, positions: list[Position]) -> list[TheirTurn]:
        """The nodes of positions in which the opponent is to move, with estimates."""
        new = [p for p in dict.fromkeys(positions) if p not in self.known]
        if new:
            gains = self.model.gains_at_their_turn(new) @ self.belief
            self.known.update((position, TheirTurn(position, gain)) for position, gain in zip(new, gains, strict=True))
        return [self.known[position] for position in positions]

    def grow(self, roots: Iterable[TheirTurn], most_replies: int) -> None:
        """Expands level by level until a position's scores are not known in time."""
        level = dict.fromkeys(roots, 1.0)
        for _ in range(most_replies):
            order = sorted(level, key=level.__getitem__, reverse=True)
            complete = self.expand([reply for reply in order if reply.branches is None])
            for reply in self.known.values():
                reply.forget()
            if not complete:
                return
            level = self.next_level(level)

    def expand(self, nodes: list[TheirTurn]) -> bool:
        """Gives nodes their branches; False if there was no time for all."""
        for start in range(0, len(nodes), ESTIMATES_AT_ONCE):
            batch, known = nodes[start : start + ESTIMATES_AT_ONCE], list[Scores]()
            for node in batch:
                scores = self.replies(node.position)
                if scores is None:
                    break
                known.append(scores)
            if known:
                self._branch(batch[: len(known)], columns_of_scores(known))
            if len(known) < len(batch):
                return False
        return True

    def _branch(self, nodes: list[TheirTurn], scores: np.ndarray) -> None:
        chances = self.model.chances([node.position for node in nodes], scores)
        shares, results = np.einsum("t,ntc->nc", self.belief, chances), np.sign(scores)
        turns: list[tuple[OurTurn, np.ndarray]] = []
        for node, of_types, share, result in zip(nodes, chances, shares, results, strict=True):
            wins, node.branches = node.position.winning_columns(), []
            best = int(result[node.position.legal_columns()].max())
            for column in node.position.legal_columns():
                child = node.position.play(column)
                goes_on = column not in wins and result[column] >= 0 and not child.is_full()
                turn = OurTurn(child, -int(result[column]), 0.0) if goes_on else None
                node.branches.append(Branch(float(share[column]), (best - int(result[column])) / 2, turn))
                if turn:
                    turns.append((turn, self.belief * of_types[:, column]))
        if turns:
            gains = self.model.gains_at_our_turn([turn.position for turn, _ in turns])
            for (turn, belief), gain in zip(turns, gains, strict=True):
                most = 0.5 if turn.result == 0 else 1.0  # the estimates alone may add up to more
                turn.gain = min(most, float(gain @ belief / belief.sum()))

    def next_level(self, level: dict[TheirTurn, float]) -> dict[TheirTurn, float]:
        """The nodes two plies below expanded ones, with the probability to get there."""
        turns = [
            (branch.turn, reach * branch.share)
            for reply, reach in level.items()
            for branch in reply.branches or ()
            if branch.turn and branch.share >= LEAST_SHARE
        ]
        ours = {turn: self.moves(turn) for turn, _ in turns if not turn.tries}
        self.after([child for children in ours.values() for child in children])
        later: dict[TheirTurn, float] = {}
        for turn, reach in turns:
            if not turn.tries:
                tries = self.after(ours[turn])
                turn.tries = sorted(tries, key=lambda reply: -reply.gain)[:BEAM]
            for reply in turn.tries:
                later[reply] = later.get(reply, 0.0) + reach
        return later

    def moves(self, turn: OurTurn) -> list[Position]:
        """The positions after our moves that keep the result; none where it is not known in time which do.

        Where all lose, and the table does not tell how late, any move counts.
        """
        scores = self.table(turn.position)
        if scores is None and turn.result == 0:
            scores = self.replies(turn.position)
        if scores is not None:
            columns = candidates(turn.position, scores)
        else:
            columns = [] if turn.result == 0 else lasting_columns(turn.position, turn.position.legal_columns())
        children = [turn.position.play(column) for column in columns]
        return [child for child in children if not child.is_full()]


def lasting_columns(position: Position, columns: list[int]) -> list[int]:
    """Among otherwise equal moves, those that do not lose at once; if all lose at once, those that block a win."""
    threats = position.pass_turn().winning_columns()
    lasting = [column for column in columns if not position.play(column).winning_columns()]
    return lasting or [column for column in columns if column in threats] or columns


def candidates(position: Position, scores: Scores) -> list[int]:
    """The columns that keep the result and do not lose too early; longest game first, then most central."""
    legal = {column: score for column, score in enumerate(scores) if score is not None}
    best = max(legal.values())
    kept = [
        column for column in position.geometry.column_order if column in legal and sign(legal[column]) == sign(best)
    ]
    if SLOW_LOSS <= best < 0:
        kept = [column for column in kept if legal[column] >= SLOW_LOSS]
    return sorted(lasting_columns(position, kept), key=lambda column: -legal[column])


def expected_gains(
    position: Position, columns: list[int], forecast: ErrorForecast, most_replies: int = MOST_REPLIES
) -> dict[int, float]:
    """What the opponent is expected to give away after each of our moves, which must not end the game."""
    nodes = dict(zip(columns, forecast.after([position.play(column) for column in columns]), strict=True))
    forecast.grow(nodes.values(), most_replies)
    return {column: node.value() for column, node in nodes.items()}


def best_columns(position: Position, scores: Scores, forecast: ErrorForecast | None = None) -> list[int]:
    """The columns to choose from, the best first, given the exact score of every legal move.

    A won position is won as quickly as possible. In a drawn or lost one, the candidates are the moves that keep the
    result; those are returned after which the opponent is expected to give most away, or less than ``EQUAL`` less.
    Ties, and all choices without ``forecast``, go to the longest game, then to the centre.
    """
    legal = {column: score for column, score in enumerate(scores) if score is not None}
    if max(legal.values()) > 0:
        return [max((c for c in position.geometry.column_order if c in legal), key=legal.__getitem__)]
    columns = candidates(position, scores)
    if forecast is None or len(columns) == 1 or position.play(columns[0]).is_full():
        return columns[:1]
    expected = expected_gains(position, columns, forecast)
    most = max(expected.values())
    return sorted((c for c in columns if expected[c] > most - EQUAL), key=lambda c: -round(expected[c], 6))
