"""Games against exact values: which moves kept the result, which gave it away.

Exact values come from the solver; positions with the fewest stones take it longest (seconds on 7x6 below ply 8), so a
first ply can be set before which moves are not judged.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from arena.openings import parse_columns
from connectx.choice import sign
from connectx.geometry import Geometry, geometry_of
from connectx.position import Position
from connectx.solver import Solver

RESULTS = {1: "won", 0: "drawn", -1: "lost"}
Scores = Callable[[Position], list[int | None]]


class JudgedMove(NamedTuple):
    """One move against the exact scores of all moves, seen by the side that moved."""

    ply: int
    column: int
    scores: tuple[int | None, ...]  # by column; None where it is full

    @property
    def seat(self) -> int:
        return self.ply % 2

    @property
    def value(self) -> int:
        """Score of the position: that of its best moves."""
        return max(score for score in self.scores if score is not None)

    @property
    def played(self) -> int:
        """Score of the move."""
        score = self.scores[self.column]
        assert score is not None
        return score

    @property
    def best_columns(self) -> list[int]:
        return [column for column, score in enumerate(self.scores) if score == self.value]

    @property
    def kept_result(self) -> bool:
        """Whether a won position stayed won, a drawn one drawn."""
        return sign(self.played) == sign(self.value)

    @property
    def is_perfect(self) -> bool:
        """Whether it is of the best score: the quickest win, the slowest loss."""
        return self.played == self.value

    def words(self) -> str:
        """What it did, where it kept the result no longer: "won position given away (now drawn) ..."."""
        before, after = RESULTS[sign(self.value)], RESULTS[sign(self.played)]
        best = ", ".join(map(str, self.best_columns))
        return f"{before} position given away (now {after}) on ply {self.ply} by column {self.column}; best: {best}"


@dataclass(frozen=True)
class GameRecord:
    """A game to be judged: where it was played, by whom, and its moves."""

    geometry: Geometry
    names: tuple[str, str]
    moves: tuple[int, ...]
    opening: int = 0  # plies that the agents did not choose


def solver_scores(geometry: Geometry) -> Scores:
    """Exact scores of the legal moves of a position, by column.

    Raises:
        ValueError: the solver cannot hold the board.
    """
    solver = Solver(geometry)

    def scores(position: Position) -> list[int | None]:
        return [None if value is None else value.low for value in solver.scores(position)]

    return scores


def judge(record: GameRecord, scores: Scores, first_ply: int = 0) -> list[JudgedMove]:
    """Every move that an agent chose from ``first_ply`` on, judged."""
    judged, position = [], Position.empty(record.geometry)
    for ply, column in enumerate(record.moves):
        if ply >= max(first_ply, record.opening):
            judged.append(JudgedMove(ply, column, tuple(scores(position))))
        position = position.play(column)
    return judged


def losing_move(judged: Sequence[JudgedMove]) -> JudgedMove | None:
    """The last move that changed the result: after it, nobody gave anything away."""
    return next((move for move in reversed(judged) if not move.kept_result), None)


class Accuracy(NamedTuple):
    """How many moves were judged, kept the result, and were perfect."""

    moves: int
    kept: int
    perfect: int


def accuracy(moves: Iterable[JudgedMove]) -> Accuracy:
    """Moves of positions that were lost already count neither way for ``kept``: they keep the loss."""
    listed = list(moves)
    return Accuracy(len(listed), sum(m.kept_result for m in listed), sum(m.is_perfect for m in listed))


def read_replay(path: Path) -> GameRecord:
    """A game from a replay file as Kaggle offers it for download, or as ``env.toJSON()`` gives it.

    Raises:
        ValueError: the file is not a replay of ConnectX.
    """
    if not path.exists():
        raise ValueError(f"no such file: {path}")
    try:
        replay = json.loads(path.read_text(encoding="utf-8"))
        if replay["name"] != "connectx":
            raise ValueError(f"it is of {replay['name']!r}")
        config = replay["configuration"]
        geometry = geometry_of(config["rows"], config["columns"], config["inarow"])
        moves = _replayed_moves(replay["steps"], replay["statuses"])
        names = replay.get("info", {}).get("TeamNames") or ["first", "second"]
        Position.from_moves(moves, geometry)
        return GameRecord(geometry, (str(names[0]), str(names[1])), moves)
    except (OSError, UnicodeDecodeError, KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
        raise ValueError(f"{path} is no replay of ConnectX: {problem!r}") from None


def _replayed_moves(steps: Sequence[Sequence[dict]], statuses: Sequence[str]) -> tuple[int, ...]:
    """The columns played; a last action that forfeited is left out."""
    moves = [step[ply % 2]["action"] for ply, step in enumerate(steps[1:])]
    return tuple(moves[:-1] if set(statuses) & {"ERROR", "INVALID", "TIMEOUT"} else moves)


def parse_game(text: str, geometry: Geometry) -> GameRecord:
    """A game written as its columns, counted from 0.

    Raises:
        ValueError: the columns cannot be played.
    """
    moves = parse_columns(text)
    Position.from_moves(moves, geometry)
    return GameRecord(geometry, ("first", "second"), moves)
