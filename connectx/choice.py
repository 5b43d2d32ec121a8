"""Chooses among moves with the same exact result: the one after which a fallible opponent gives most away.

Expectimax over the opponent's replies (Michie 1966; for errors of opponents Jansen, "Problematic Positions and
Speculative Play", 1990): at its turns the model of ``opponent_model`` gives each move a probability, at ours the best
move is taken among those that give nothing away. The tree grows level by level, the most probable positions first, for
as long as exact scores can be had; beyond it the model's estimate stands. It is the gain alone that is estimated: what
is chosen from are moves proven to keep the result.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from connectx.opponent_model import ReplyModel, columns_of_scores
from connectx.position import Position
from connectx.score import Scores, sign

MOST_REPLIES = 8  # of the opponent that the choice looks ahead
LEAST_SHARE = 0.02  # of a reply: what follows rarer ones is estimated
BEAM = 3  # moves that are tried at our later turns: those of the largest estimates
BATCH = 64  # positions whose estimates are made at once
# Losses of this score come in the last six plies, from ply 37 on with 42 cells. Earlier ones are not risked while one
# so late can be had: whoever makes no error shall at least have to play on to the end.
SLOW_LOSS = -3
EQUAL = 0.02  # points: smaller differences of what is expected count as none

Replies = Callable[[Position], Scores | None]  # the exact scores of a position's moves; None if there is no time


class Branch(NamedTuple):
    """A reply of the opponent: its probability, the points that it gives away, and where it leads."""

    share: float
    points: float
    turn: "Turn | None"  # ours; None where nothing more can be gained


class Turn:
    """A position in which it is our turn.

    Attributes:
        gain: the estimate of the points still to come.
        tries: the positions after our moves, once it has been expanded.
    """

    __slots__ = ("gain", "position", "result", "tries")

    def __init__(self, position: Position, result: int, gain: float):
        self.position, self.result, self.gain = position, result, gain
        self.tries: list[Reply] = []

    def value(self) -> float:
        """The largest value of the tries; the estimate as long as none of them has been expanded."""
        if all(reply.branches is None for reply in self.tries):
            return self.gain
        return max(reply.value() for reply in self.tries)


class Reply:
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

    def __init__(self, model: ReplyModel, belief: np.ndarray, replies: Replies, table: Replies = lambda position: None):
        self.model, self.belief, self.replies, self.table = model, belief, replies, table
        self.known: dict[Position, Reply] = {}

    def after(self, positions: list[Position]) -> list[Reply]:
        """The nodes of positions in which the opponent is to move, with estimates."""
        new = [p for p in dict.fromkeys(positions) if p not in self.known]
        if new:
            gains = self.model.gains_at_their_turn(new) @ self.belief
            self.known.update((position, Reply(position, gain)) for position, gain in zip(new, gains, strict=True))
        return [self.known[position] for position in positions]

    def grow(self, roots: Iterable[Reply], most_replies: int) -> None:
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

    def expand(self, nodes: list[Reply]) -> bool:
        """Gives nodes their branches; False if there was no time for all."""
        for start in range(0, len(nodes), BATCH):
            batch, known = nodes[start : start + BATCH], list[Scores]()
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

    def _branch(self, nodes: list[Reply], scores: np.ndarray) -> None:
        chances = self.model.chances([node.position for node in nodes], scores)
        shares, results = np.einsum("t,ntc->nc", self.belief, chances), np.sign(scores)
        turns: list[tuple[Turn, np.ndarray]] = []
        for node, of_types, share, result in zip(nodes, chances, shares, results, strict=True):
            wins, node.branches = node.position.winning_columns(), []
            best = int(result[node.position.legal_columns()].max())
            for column in node.position.legal_columns():
                child = node.position.play(column)
                goes_on = column not in wins and result[column] >= 0 and not child.is_full()
                turn = Turn(child, -int(result[column]), 0.0) if goes_on else None
                node.branches.append(Branch(float(share[column]), (best - int(result[column])) / 2, turn))
                if turn:
                    turns.append((turn, self.belief * of_types[:, column]))
        if turns:
            gains = self.model.gains_at_our_turn([turn.position for turn, _ in turns])
            for (turn, belief), gain in zip(turns, gains, strict=True):
                most = 0.5 if turn.result == 0 else 1.0  # the estimates alone may add up to more
                turn.gain = min(most, float(gain @ belief / belief.sum()))

    def next_level(self, level: dict[Reply, float]) -> dict[Reply, float]:
        """The nodes two plies below expanded ones, with the probability to get there."""
        turns = [
            (branch.turn, reach * branch.share)
            for reply, reach in level.items()
            for branch in reply.branches or ()
            if branch.turn and branch.share >= LEAST_SHARE
        ]
        ours = {turn: self.moves(turn) for turn, _ in turns if not turn.tries}
        self.after([child for children in ours.values() for child in children])
        later: dict[Reply, float] = {}
        for turn, reach in turns:
            if not turn.tries:
                tries = self.after(ours[turn])
                turn.tries = sorted(tries, key=lambda reply: -reply.gain)[:BEAM]
            for reply in turn.tries:
                later[reply] = later.get(reply, 0.0) + reach
        return later

    def moves(self, turn: Turn) -> list[Position]:
        """The positions after our moves that keep the result; none where it is not known in time which do.

        Where all lose, and the table does not tell how late, any move counts.
        """
        scores = self.table(turn.position)
        if scores is None and turn.result == 0:
            scores = self.replies(turn.position)
        if scores is not None:
            columns = candidates(turn.position, scores)
        else:
            columns = [] if turn.result == 0 else unhurried(turn.position, turn.position.legal_columns())
        children = [turn.position.play(column) for column in columns]
        return [child for child in children if not child.is_full()]


def unhurried(position: Position, columns: list[int]) -> list[int]:
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
    return sorted(unhurried(position, kept), key=lambda column: -legal[column])


def expected_gains(
    position: Position, columns: list[int], forecast: ErrorForecast, most_replies: int = MOST_REPLIES
) -> dict[int, float]:
    """What the opponent is expected to give away after each of our moves, which must not end the game."""
    nodes = dict(zip(columns, forecast.after([position.play(column) for column in columns]), strict=True))
    forecast.grow(nodes.values(), most_replies)
    return {column: node.value() for column, node in nodes.items()}


def choices(position: Position, scores: Scores, forecast: ErrorForecast | None = None) -> list[int]:
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


def choose(position: Position, scores: Scores, forecast: ErrorForecast | None = None) -> int:
    """The best of ``choices``."""
    return choices(position, scores, forecast)[0]
