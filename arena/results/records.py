"""Games to be looked at: from a match, or given by their columns."""

from dataclasses import dataclass

from arena.game.openings import parse_columns, write_opening
from connectx.geometry import STANDARD, Geometry
from connectx.position import Position

SEATS = ("moving first", "moving second")


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
        command = f"python evaluate.py analyse {write_opening(self.moves)}"
        if self.opening:
            command += f" --opening {self.opening}"
        if self.geometry != STANDARD:
            command += " --config rows={},columns={},inarow={}".format(*self.geometry[:3])
        return command

    def player(self, seat: int) -> str:
        """The name of the agent in a seat, with the seat if both have the same name."""
        return f"{self.names[seat]} ({SEATS[seat]})" if self.names[0] == self.names[1] else self.names[seat]


def parse_game(text: str, geometry: Geometry, opening: int = 0) -> GameRecord:
    """A game written as its columns, counted from 0.

    Raises:
        ValueError: the columns cannot be played.
    """
    moves = parse_columns(text)
    if beyond := [column for column in moves if column >= geometry.columns]:
        raise ValueError(f"there is no column {beyond[0]}: columns are counted from 0, here to {geometry.columns - 1}")
    Position.from_moves(moves, geometry)
    return GameRecord(geometry, ("first", "second"), moves, opening)
