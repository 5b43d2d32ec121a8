"""Games to be looked at: from a match, or given by their columns."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from connectx.geometry import STANDARD, Geometry
from connectx.notation import parse_columns, write_columns
from connectx.position import Position
from connectx_toolkit.console.programs import as_typed

SEATS = ("moving first", "moving second")
UNKNOWN_NAMES = ("first", "second")  # of players that nobody named


@dataclass(frozen=True)
class GameRecord:
    """A game: its board, players and moves."""

    geometry: Geometry
    names: tuple[str, str]
    moves: tuple[int, ...]
    opening: int = 0  # plies that the agents did not choose
    forfeit: tuple[int, str] | None = None  # (the seat that lost by a fault, the fault)

    @property
    def winner(self) -> int | None:
        """The seat that made a line; None if neither did."""
        last = Position.from_moves(self.moves, self.geometry)
        return 1 - last.ply % 2 if last.is_lost() else None

    @property
    def command(self) -> str:
        """The command line that analyses the game."""
        command = as_typed(f"python evaluate.py analyse {write_columns(self.moves)}")
        if self.opening:
            command += f" --opening {self.opening}"
        if self.geometry != STANDARD:
            command += " --config rows={},columns={},inarow={}".format(*self.geometry[:3])
        if self.names != UNKNOWN_NAMES:
            command += f" --names {shlex.join(self.names)}"
        return command

    def player(self, seat: int) -> str:
        """The name of the agent in a seat, with the seat if both have the same name."""
        return f"{self.names[seat]} ({SEATS[seat]})" if self.names[0] == self.names[1] else self.names[seat]


def is_columns(text: str) -> bool:
    """Whether a text has the form of a game's columns: digits, with or without commas and spaces."""
    return "".join(text.split()).replace(",", "").isdecimal()


def parse_moves(text: str, geometry: Geometry, from_one: bool = False) -> tuple[int, ...]:
    """The columns, counted from 0, of a text that a person has typed: 3342, or 3 3 4 2.

    Raises:
        ValueError: they cannot be played; if they could be counted from 1, it says so.
    """
    parts = text.replace(",", " ").split()
    is_spaced = len(text.split()) > 1
    if is_spaced and max(map(len, parts)) > 2:  # a file of positions has a score after the columns
        raise ValueError(f"{text!r:.80}: expected columns as one word (3342), or one by one (3 3 4 2)")
    columns = parse_columns(",".join(parts) if is_spaced else text)
    moves = tuple(column - from_one for column in columns)
    try:
        check_playable(moves, geometry, from_one)
    except ValueError as problem:
        hint = "" if from_one or not _fit_from_one(columns, geometry) else "; counted from 1, they fit: --from-one"
        raise ValueError(f"{problem}{hint}") from None
    return moves


def _fit_from_one(columns: Sequence[int], geometry: Geometry) -> bool:
    try:
        check_playable([column - 1 for column in columns], geometry)
    except ValueError:
        return False
    return True


def parse_game(
    text: str,
    geometry: Geometry,
    opening: int = 0,
    names: tuple[str, str] = UNKNOWN_NAMES,
    from_one: bool = False,
) -> GameRecord:
    """A game written as its columns.

    Args:
        opening: plies that the agents did not choose.
        from_one: whether the text counts columns from 1, as Pons' files and connect4.gamesolver.org do.

    Raises:
        ValueError: the columns cannot be played, or there are fewer of them than the opening should have.
    """
    moves = parse_moves(text, geometry, from_one)
    if opening > (plies := len(moves)):
        has = f"the game has only {plies} {'ply' if plies == 1 else 'plies'}"
        raise ValueError(f"{has}: its opening cannot have {opening} (--opening)")
    return GameRecord(geometry, names, moves, opening)


def _can_be_played(moves: Sequence[Any], geometry: Geometry) -> bool:
    """The same check without words, ten times as fast: a line that stood before the last move still stands there."""
    before = position = Position.empty(geometry)
    try:
        for column in moves:
            before, position = position, position.play(column)
    except (ValueError, TypeError):
        return False
    return {*map(type, moves)} <= {int} and not before.is_lost() and not before.pass_turn().is_lost()


def check_playable(moves: Sequence[Any], geometry: Geometry, first: int = 0) -> None:
    """Raises ValueError if a move of a game cannot be played; it says which one and why.

    Args:
        first: the number of the leftmost column in that text; in ``moves`` it is 0.
    """
    if _can_be_played(moves, geometry):
        return
    position = Position.empty(geometry)
    for ply, column in enumerate(moves):
        if type(column) is not int or column not in range(geometry.columns):
            shown = column + first if type(column) is int else column
            counted = f"columns are counted from {first:d}, here to {geometry.columns - 1 + first}"
            raise ValueError(f"there is no column {shown!r:.40}: {counted} (ply {ply})")
        if position.is_over() or column not in position.legal_columns():
            why = f"the game was over after ply {ply - 1}" if position.is_over() else "the column is full"
            raise ValueError(f"column {column + first} cannot be played on ply {ply}: {why}")
        position = position.play(column)
