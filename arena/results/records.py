"""Games to analyse: from a match, from a list of columns, or from a Kaggle replay."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.game.openings import parse_columns, write_opening
from connectx.geometry import STANDARD, Geometry, geometry_of
from connectx.position import Position

SEATS = ("moving first", "moving second")
FORFEITS = {"ERROR": "an error", "INVALID": "an invalid action", "TIMEOUT": "timeout"}  # Kaggle's statuses


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


def read_replay(path: Path) -> GameRecord:
    """A game from a replay file that was downloaded from Kaggle or written from ``env.toJSON()``.

    Raises:
        ValueError: the file is not a replay of ConnectX.
    """
    if not path.exists():
        raise ValueError(f"no such file: {path}")
    try:
        return _record_of(json.loads(path.read_text(encoding="utf-8")))
    except (UnicodeDecodeError, json.JSONDecodeError):
        reason = "it is not JSON"
    except KeyError as missing:
        reason = f"it has no {missing}"
    except (TypeError, AttributeError, IndexError):
        reason = "it is built otherwise"
    except (OSError, ValueError) as problem:
        reason = str(problem)
    raise ValueError(f"{path} is no replay of ConnectX: {reason}")


def _record_of(replay: Any) -> GameRecord:
    if replay["name"] != "connectx":
        raise ValueError(f"it is of {replay['name']!r}")
    config, statuses = replay["configuration"], replay["statuses"]
    geometry = geometry_of(config["rows"], config["columns"], config["inarow"])
    moves = tuple(step[ply % 2]["action"] for ply, step in enumerate(replay["steps"][1:]))
    failed = [seat for seat, status in enumerate(statuses) if status in FORFEITS]
    if failed:
        moves = moves[:-1]  # the last action forfeited
    Position.from_moves(moves, geometry)
    names = replay.get("info", {}).get("TeamNames") or ["first", "second"]
    forfeit = (failed[0], FORFEITS[statuses[failed[0]]]) if len(failed) == 1 else None
    return GameRecord(geometry, (str(names[0]), str(names[1])), moves, forfeit=forfeit)
