"""Learns from one's own games, for ``perfect``: a book for the second seat, and how often one meets which opponents.

The book (``train.py book --games``) is that of an expectimax over the opponents that one has met. A tree of all
positions of the games, mirror images together. Where an opponent was to move, its answers there are counted, and the
shipped opponent model stands for the games that it has not played: as many as predict the opponent's own answers best
(``shrinkage``). Beyond the games the model's forecast stands, scaled by what the opponent really gave away. Our move
cannot depend on the opponent's name, which Kaggle does not tell, but on the moves so far: at each position the
opponents weigh as often as one meets them, times how probable each was to come there (``reach``). The best moves and
the reach depend on each other and are improved in turn, as in policy iteration (Howard 1960).

Every move is one of ``connectx_core.opponent.candidates``: none gives a result away.

How frequent each type of opponent is (``train.py replies --games``) is the shipped prior, moved by one's own games. An
opponent's games tell its type, as far as they go: its posterior (Bayes). It counts for ``n / (n + HALF)`` of an
opponent after n games, and the shipped prior for ``SHIPPED`` opponents. Half of each opponent's games are held out to
see whether the new prior predicts them better than the old one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from connectx_core.opponent import ReplyModel, candidates, columns_of_scores
from connectx_core.position import STANDARD, Columns, Position, sign
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.reader import owner_of
from connectx_toolkit.system.console import as_option, shell
from connectx_toolkit.system.foreign import left_out_lines
from connectx_toolkit.training.makers.exact_scores import ScoresOf


class Met(NamedTuple):
    """A game in which we moved second."""

    opponent: str
    columns: Columns
    points: float  # ours


def read_own_games(path: Path, me: str) -> list[Met]:
    """The games of 7x6 that were played to their end, from the empty board, with "me" as second player.

    Rows that cannot be read are named.

    Args:
        me: a player's name; "" is whose games they are, as far as the file tells.

    Raises:
        ValueError: it is no file of games, does not tell whose they are, or has no such games.
    """
    if not path.exists():
        raise ValueError(f"no file of games {path}: {shell('evaluate explore --add FOLDER')} makes one of your replays")
    with GameDatabase(path, create=False) as database:
        name = owner_of(database, me or None)
        met = [
            Met(game.names[0], game.moves, game.points[1])
            for game in database.games(me=name, seat=1)
            if game.geometry == STANDARD and game.points and not (game.opening or game.fault) and game.names[0] != name
        ]
        count = len(database)
    for line in left_out_lines(database.left_out):
        print(line)
    if not met:
        what = f"none of its {count} games is a finished game of 7x6, without a fault, with {name!r} as second player"
        raise ValueError(f"{path}: {what}. Add replays with explore --add, or pass {as_option('me', 'NAME')}")
    return met


STRANGERS = 0.1  # least weight of opponents that one has not met
SHRINKAGES = (0.1, 0.3, 1.0, 3.0, 10.0)  # games that the model stands for, in a position
IMPROVEMENT_ROUNDS = 20  # of improvement, at most
TRIED = 0.05  # weight of all other moves in the reach, so that it is defined everywhere
WORTH = 0.005  # points that a move has to be expected to gain over what was played before, to enter the book
CAUTION = 2.0  # games whose results, as the model forecasts them, are added to an opponent's real ones


@dataclass
class Lines:
    """What the games hold: positions are canonical, a move is the position that it leads to."""

    opponents: list[str]
    games: np.ndarray  # (opponents,) how often each was met
    points: np.ndarray  # (opponents,) what we won from it in all
    ours: dict[Position, Counter[Position]] = field(default_factory=lambda: defaultdict(Counter))
    theirs: dict[Position, dict[int, Counter[Position]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )


def collect_lines(games: Sequence[Met], empty: Position) -> Lines:
    """The lines of games, all from the empty board."""
    opponents = sorted({game.opponent for game in games})
    lines = Lines(opponents, np.zeros(len(opponents)), np.zeros(len(opponents)))
    for game in games:
        number, position = opponents.index(game.opponent), empty
        lines.games[number] += 1
        lines.points[number] += game.points
        for column in game.columns:
            child, canonical = position.play(column), position.canonical()
            counts = lines.ours[canonical] if position.ply % 2 else lines.theirs[canonical][number]
            counts[child.canonical()] += 1
            position = child
    return lines


@dataclass
class TreeMoves:
    """A position's n different moves, mirror images together."""

    children: list[Position]  # (n,)
    values: np.ndarray  # (opponents + 1, n) our points after each move, the last row being strangers


@dataclass
class TheirMoves(TreeMoves):
    """Those of an opponent."""

    chances: np.ndarray  # (opponents + 1, n)


@dataclass
class OurMoves(TreeMoves):
    """Our candidates."""

    columns: list[int]  # (n,)
    tried: np.ndarray  # (n,) how often each was played


class OwnGames:
    """The tree, with the values of all moves against each opponent.

    Args:
        scores_of: exact scores, of canonical positions.
    """

    def __init__(self, lines: Lines, model: ReplyModel, scores_of: ScoresOf):
        self.lines, self.model = lines, model
        self.beliefs = np.tile(model.prior, (len(lines.opponents) + 1, 1))
        self.turns: dict[Position, OurMoves] = {}
        self.replies: dict[Position, TheirMoves] = {}
        self._read_turns(scores_of)
        replies = [position for position in lines.theirs if not position.is_over()]
        scores = columns_of_scores(scores_of(replies))
        chances = model.chances(replies, scores)
        self._learn_types(replies, chances)
        self.scale = self._scale()
        self._read_replies(replies, scores, chances)
        self._add_forecast(self.replies.values(), self.turns, model.gains_at_our_turn)
        self._add_forecast(self.turns.values(), self.replies, model.gains_at_their_turn)
        games = lines.games
        strangers = max(STRANGERS, float((games == 1).sum() / games.sum()))  # as often as who was met just once
        self.weights = np.append((1 - strangers) * games / games.sum(), strangers)  # how often one meets each

    def _read_turns(self, scores_of: ScoresOf) -> None:
        positions = [position for position in self.lines.ours if not position.is_over()]
        for position, scores in zip(positions, scores_of(positions), strict=True):
            best = max(score for score in scores if score is not None)
            columns = candidates(position, scores) if best <= 0 else []
            children = [position.play(column).canonical() for column in columns]
            unique = {child: column for column, child in reversed(list(zip(columns, children, strict=True)))}
            tried = np.array([self.lines.ours[position][child] for child in unique], float)
            base = 1.0 if best > 0 else (1 + sign(best)) / 2
            shape = (len(self.beliefs), max(1, len(unique)))
            self.turns[position] = OurMoves(list(unique), np.full(shape, base), list(unique.values()), tried)

    def _learn_types(self, replies: list[Position], chances: np.ndarray) -> None:
        """The probability of each of the model's types, for each opponent, from all its moves."""
        logs = np.tile(np.log(self.model.prior), (len(self.beliefs), 1))
        for position, of_types in zip(replies, chances, strict=True):
            for opponent, counts in self.lines.theirs[position].items():
                by_child = sum_by_child(position, of_types)
                for child, count in counts.items():
                    logs[opponent] += count * np.log(by_child[child])
        self.beliefs = posterior(logs)

    def _scale(self) -> np.ndarray:
        """(opponents + 1,) what each really gave away, as a multiple of the model's forecast at its first reply."""
        first = [position for position in self.lines.theirs if position.ply == 2]
        forecast, gains = np.zeros(len(self.lines.opponents)), self.model.gains_at_their_turn(first)
        for position, gain in zip(first, gains, strict=True):
            for opponent, counts in self.lines.theirs[position].items():
                forecast[opponent] += counts.total() * float(gain @ self.beliefs[opponent])
        means = forecast / self.lines.games
        ratio = np.divide(
            self.lines.points + CAUTION * means, forecast + CAUTION * means, np.ones_like(means), where=forecast > 0
        )
        everyone = self.lines.points.sum() / forecast.sum() if forecast.any() else 1.0
        return np.append(ratio, min(1.0, float(everyone)))

    def _read_replies(self, replies: list[Position], scores: np.ndarray, chances: np.ndarray) -> None:
        prior = {
            position: sum_by_child(position, of_types) for position, of_types in zip(replies, chances, strict=True)
        }
        shrinkage = self._shrinkage(prior)
        for position, row in zip(replies, scores, strict=True):
            children = list(prior[position])
            shares = np.array([prior[position][child] for child in children])  # (n, types)
            mixed = self.beliefs @ shares.T
            for opponent, counts in self.lines.theirs[position].items():
                seen = np.array([counts[child] for child in children], float)
                mixed[opponent] = (seen + shrinkage[opponent] * mixed[opponent]) / (seen.sum() + shrinkage[opponent])
            values = np.array([self._value_after(position, child, row) for child in children]).T
            self.replies[position] = TheirMoves(children, values, mixed)

    def _shrinkage(self, prior: Mapping[Position, Mapping[Position, np.ndarray]]) -> np.ndarray:
        """(opponents,) of ``SHRINKAGES``, the one under which all other answers predict each one best."""
        logs = np.zeros((len(self.lines.opponents), len(SHRINKAGES)))
        games = np.array(SHRINKAGES)
        for position, shares in prior.items():
            for opponent, counts in self.lines.theirs[position].items():
                if (total := counts.total()) < 2:
                    continue
                for child, count in counts.items():
                    chance = float(self.beliefs[opponent] @ shares[child])
                    logs[opponent] += count * np.log((count - 1 + games * chance) / (total - 1 + games))
        logs += logs.mean(0)  # an opponent of few games is taken to be like the others
        return games[logs.argmax(1)]

    def _value_after(self, position: Position, child: Position, scores: np.ndarray) -> np.ndarray:
        """(opponents + 1,) our points after an opponent's move, without what it gives away later."""
        if child.is_lost():
            return np.zeros(len(self.beliefs))
        columns = [column for column in position.legal_columns() if position.play(column).canonical() == child]
        return np.full(len(self.beliefs), (1 - sign(int(scores[columns[0]]))) / 2)

    def _add_forecast(
        self,
        nodes: Iterable[TreeMoves],
        known: Mapping[Position, TreeMoves],
        gains_at: Callable[[list[Position]], np.ndarray],
    ) -> None:
        """Adds the gains that the model expects to the values of moves that lead out of the games."""
        beyond = [
            (moves, index)
            for moves in nodes
            for index, child in enumerate(moves.children)
            if child not in known and not child.is_over() and moves.values[0, index] < 1
        ]
        if beyond:
            gains = gains_at([moves.children[index] for moves, index in beyond])
            for (moves, index), gain in zip(beyond, gains @ self.beliefs.T * self.scale, strict=True):
                moves.values[:, index] = np.minimum(1.0, moves.values[:, index] + gain)

    def improve(self) -> tuple[dict[Position, int], float]:
        """The columns of the book, and our expected points with it; no columns where none would win more."""
        ordered = sorted(self.turns, key=lambda position: -position.ply)
        strategy = {position: shares_played(turn.tried) for position, turn in self.turns.items()}
        for position in ordered:
            self._look_ahead(self.turns[position])
            self._hand_up(position, self.turns[position].values @ strategy[position])
        best = self._root(), dict[Position, int]()
        for _ in range(IMPROVEMENT_ROUNDS):
            chosen = self._choose(ordered, self._reach(strategy))
            value = self._root()
            if value <= best[0] + 1e-6:
                break
            best = value, {position: self.turns[position].columns[index] for position, index in chosen.items()}
            for position, turn in self.turns.items():
                played = shares_played(turn.tried)
                if position in chosen:
                    played = np.eye(len(turn.columns))[chosen[position]]
                strategy[position] = (1 - TRIED) * played + TRIED / max(1, len(turn.columns))
        return best[1], best[0]

    def _choose(self, ordered: list[Position], reach: Mapping[Position, np.ndarray]) -> dict[Position, int]:
        """The moves that gain most over what was played before, by position; sets all values accordingly."""
        chosen = {}
        for position in ordered:
            turn = self.turns[position]
            self._look_ahead(turn)
            value = turn.values @ shares_played(turn.tried)
            weights = reach[position]
            if turn.columns and weights.sum() > 0:
                index = int((weights @ turn.values).argmax())
                if weights @ (turn.values[:, index] - value) > WORTH * weights.sum():
                    chosen[position], value = index, turn.values[:, index]
            self._hand_up(position, value)
        return chosen

    def _look_ahead(self, turn: OurMoves) -> None:
        for index, child in enumerate(turn.children):
            if (reply := self.replies.get(child)) is not None:
                turn.values[:, index] = (reply.chances * reply.values).sum(1)

    def _hand_up(self, position: Position, value: np.ndarray) -> None:
        """Gives the value of one of our positions to the moves that lead to it."""
        for reply, index in self._parents.get(position, ()):
            reply.values[:, index] = value

    @cached_property
    def _parents(self) -> dict[Position, list[tuple[TheirMoves, int]]]:
        """The opponents' moves that lead to each of our positions."""
        parents = defaultdict(list)
        for reply in self.replies.values():
            for index, child in enumerate(reply.children):
                if child in self.turns:
                    parents[child].append((reply, index))
        return parents

    def _root(self) -> float:
        """Our expected points."""
        start = next(reply for position, reply in self.replies.items() if position.ply == 0)
        return float(self.weights @ (start.chances * start.values).sum(1))

    def _reach(self, strategy: Mapping[Position, np.ndarray]) -> dict[Position, np.ndarray]:
        """How often one meets each opponent in each of our positions: (opponents + 1,) by position."""
        reach: dict[Position, np.ndarray] = defaultdict(lambda: np.zeros(len(self.weights)))
        for position in sorted([*self.turns, *self.replies], key=lambda position: position.ply):
            if (turn := self.turns.get(position)) is not None:
                shares = list(zip(turn.children, strategy[position], strict=False))
            else:
                if position.ply == 0:
                    reach[position] = self.weights.copy()
                reply = self.replies[position]
                shares = list(zip(reply.children, reply.chances.T, strict=True))
            for child, share in shares:
                reach[child] = reach[child] + reach[position] * share
        return reach


def posterior(logs: np.ndarray) -> np.ndarray:
    """The probability of each type, by the logarithms of its prior and of the likelihood of the moves: (..., types)."""
    chances = np.exp(logs - logs.max(-1, keepdims=True))
    return chances / chances.sum(-1, keepdims=True)


def sum_by_child(position: Position, of_types: np.ndarray) -> dict[Position, np.ndarray]:
    """The chance of each move by its canonical child: (types,). ``of_types``: (types, columns)."""
    sums: dict[Position, np.ndarray] = {}
    for column in position.legal_columns():
        child = position.play(column).canonical()
        sums[child] = sums.get(child, 0.0) + of_types[:, column]
    return sums


def shares_played(tried: np.ndarray) -> np.ndarray:
    """How often each move was played; all alike if none of them was. (n,), or (1,) where there is no choice."""
    if not len(tried):
        return np.ones(1)
    return tried / tried.sum() if tried.sum() else np.full(len(tried), 1 / len(tried))


HALF = 5  # games after which an opponent counts half
SHIPPED = 6  # opponents that the shipped prior counts for
LEAST_GAIN = 0.002  # nats a move: a smaller gain on held-out games is none


class TypeLogs(NamedTuple):
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


def evidence_of(games: Sequence[Met], empty: Position, model: ReplyModel, scores_of: ScoresOf) -> dict[str, TypeLogs]:
    """The games by opponent, who moved first in all of them."""
    asked = [choices_in(game, empty) for game in games]
    unique = list(dict.fromkeys(position.canonical() for positions in asked for position, _ in positions))
    chances = dict(zip(unique, model.chances(unique, columns_of_scores(scores_of(unique))), strict=True))
    logs_by = defaultdict(list)
    for game, positions in zip(games, asked, strict=True):
        logs = np.zeros(len(model.prior))
        for position, column in positions:
            mirrored = position != position.canonical()
            logs += np.log(chances[position.canonical()][:, :: -1 if mirrored else 1][:, column])
        logs_by[game.opponent].append((logs, len(positions)))
    return {
        name: TypeLogs(np.array([logs for logs, _ in known]), np.array([moves for _, moves in known]))
        for name, known in sorted(logs_by.items())
    }


def choices_in(game: Met, empty: Position) -> list[tuple[Position, int]]:
    """The positions in which the first player had a choice, and its move there."""
    asked, position = [], empty
    for ply, column in enumerate(game.columns):
        if ply % 2 == 0 and len(position.legal_columns()) > 1:
            asked.append((position, column))
        position = position.play(column)
    return asked


def prior_of(model: ReplyModel, evidence: Sequence[TypeLogs]) -> np.ndarray:
    """The prior after the evidence: (types,)."""
    total, weight = SHIPPED * model.prior, float(SHIPPED)
    for one in evidence:
        share = len(one.moves) / (len(one.moves) + HALF)
        total, weight = total + share * posterior(one.logs.sum(0) + np.log(model.prior)), weight + share
    return total / weight


def held_out_losses(model: ReplyModel, evidence: dict[str, TypeLogs]) -> list[Held]:
    """How well every second game of each opponent is predicted by the shipped prior, and by that of the other games."""
    learned = prior_of(model, [TypeLogs(*(array[::2] for array in one)) for one in evidence.values()])
    losses = []
    for name, one in evidence.items():
        logs, moves = one.logs[1::2], int(one.moves[1::2].sum())
        if moves:
            before, after = (-float(np.logaddexp.reduce(logs + np.log(p), 1).sum()) for p in (model.prior, learned))
            losses.append(Held(name, len(logs), moves, before / moves, after / moves))
    return losses
