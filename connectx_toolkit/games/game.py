"""A game in one record, wherever it was played: in a match, on Kaggle, or given by its columns."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from connectx_core.position import STANDARD, Geometry, Position, has_line, write_columns
from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE, STATUS_OF, Fault, sizes_of
from connectx_toolkit.system.console import command
from connectx_toolkit.system.foreign import printable

SEATS = ("first", "second")
MOVING = ("moving first", "moving second")
UNKNOWN_NAMES = ("first", "second")  # of players that nobody named
CUTS = ("step limit", "run limit")  # endings that moves and faults cannot tell
SHORT_LOAD = 0.05  # seconds; shorter loads are not mentioned


@dataclass(frozen=True)
class Game:
    """A game, wherever it was played. By seat: the first player's entry first. By ply: from 0, opening included."""

    geometry: Geometry
    moves: tuple[int, ...]  # columns, opening included; a reply that ended the game by a fault is no move
    names: tuple[str, str] = UNKNOWN_NAMES
    opening: int = 0  # plies that the players did not choose
    cut: str = ""  # one of CUTS, where that ended the game
    faults: tuple[Fault, ...] = ()  # at most the last is fatal
    act_timeout: float = float(DEFAULTS["actTimeout"])  # seconds that a move may take before it draws on overage time
    reserve: tuple[float, float] | None = (OVERAGE, OVERAGE)  # seconds of overage time at the start; None if unknown
    overage: tuple[float, ...] = ()  # seconds of it left to the mover after each call, by ply, a fatal call included
    measured: tuple[float | None, ...] = ()  # seconds of each call, by ply, loads included; None: opening, or no log
    loads: tuple[float, float] | None = None  # the part of each player's first call that was its load, by seat
    date: str | None = None  # when it was played: ISO 8601, UTC
    episode: int | None = None  # Kaggle's number of the game
    submission: int | None = None  # one's own, by Kaggle's number
    source: str = ""  # the path of a replay, or of a file of games and "3-12": game 12 of match 3

    @property
    def fault(self) -> Fault | None:
        """The fault that ended the game, if one did."""
        return self.faults[-1] if self.faults and self.faults[-1].fatal else None

    @cached_property
    def line(self) -> int | None:
        """The seat that made a line; None if neither did."""
        geometry, heights, stones = self.geometry, [0] * self.geometry.columns, [0, 0]
        for ply, column in enumerate(self.moves):
            stones[ply % 2] |= 1 << column * geometry.stride + heights[column]
            heights[column] += 1
        last = (len(self.moves) - 1) % 2
        return last if has_line(stones[last], geometry) else None

    @property
    def ending(self) -> str:
        """ "line", "full board", "step limit", "run limit", "unfinished", or the kind of the fault."""
        if self.fault:
            return self.fault.kind
        if self.line is not None:
            return "line"
        return self.cut or ("full board" if len(self.moves) == self.geometry.cells else "unfinished")

    @property
    def points(self) -> tuple[float, float] | None:
        """Points by seat: 1, 0.5 or 0. A fault loses; a game that was cut is drawn; None of one that is unfinished."""
        if self.fault is None and self.line is None:
            return None if self.ending == "unfinished" else (0.5, 0.5)
        winner = 1 - self.fault.seat if self.fault else self.line
        return (0.0, 1.0) if winner else (1.0, 0.0)

    @property
    def statuses(self) -> tuple[str, str]:
        """Kaggle's, by seat. At its run limit Kaggle gives none: there both seats have run out of time."""
        if self.ending == "unfinished":
            return ("INACTIVE", "ACTIVE") if len(self.moves) % 2 else ("ACTIVE", "INACTIVE")
        if self.ending == "run limit":
            return "TIMEOUT", "TIMEOUT"
        status = STATUS_OF[self.fault.kind] if self.fault else "DONE"
        return ("DONE", status) if self.fault and self.fault.seat else (status, "DONE")

    @property
    def rewards(self) -> tuple[int | None, int | None]:
        """Kaggle's, by seat: 1 and -1, 0 and 0, None and 0 for a forfeit, None and None at its run limit."""
        if self.ending == "run limit":
            return None, None
        if self.fault:
            return (0, None) if self.fault.seat else (None, 0)
        return (0, 0) if self.line is None else (-1, 1) if self.line else (1, -1)

    def seconds(self, ply: int) -> float | None:
        """Seconds of a call, load included; None where it was not measured and did not draw on the overage time."""
        if ply < len(self.measured) and self.measured[ply] is not None:
            return self.measured[ply]
        if self.reserve is None or ply >= len(self.overage):
            return None
        taken = (self.overage[ply - 2] if ply >= 2 else self.reserve[ply]) - self.overage[ply]
        return self.act_timeout + taken if taken > 0 else None

    @property
    def called(self) -> int:
        """Plies of the opening and on which a player was called, a fatal call included; as far as clocks tell."""
        return max(len(self.overage), len(self.measured))

    def calls(self, seat: int) -> dict[int, float]:
        """Seconds of a seat's calls by ply, load included, as far as they are known."""
        plies = range(seat, self.called, 2)
        return {ply: seconds for ply in plies if (seconds := self.seconds(ply)) is not None}

    def move_seconds(self, seat: int) -> list[float]:
        """Seconds of a seat's calls, as far as they are known, without its load (if loads are recorded)."""
        first, load = self.opening + (self.opening + seat) % 2, self.loads[seat] if self.loads else 0.0
        return [seconds - load * (ply == first) for ply, seconds in self.calls(seat).items()]

    def slowest(self, seat: int) -> tuple[int, float] | None:
        """Ply and seconds of a seat's slowest call; None if all that is known is that none drew on the overage time."""
        return max(self.calls(seat).items(), key=lambda call: call[1], default=None)

    def overage_left(self, seat: int) -> float | None:
        """Seconds of overage time that a seat had at the end, below 0 after a timeout; None if that is not known."""
        return None if self.reserve is None else (self.reserve[seat], *self.overage[seat::2])[-1]

    def overage_used(self, seat: int) -> float | None:
        """Seconds that a seat took of its overage time in the whole game; None if that is not known."""
        left = self.overage_left(seat)
        return None if self.reserve is None or left is None else self.reserve[seat] - left

    def reason(self, fault: Fault) -> str:
        """What was noted of a fault, in a line; of a timeout after a long load, "36.1 s load + 5.2 s"."""
        load = self.loads[fault.seat] if self.loads else 0.0
        if fault.kind == "timeout" and load >= SHORT_LOAD:
            return f"{load:.1f} s load + {self.move_seconds(fault.seat)[-1]:.1f} s"
        return (fault.detail.strip().rpartition("\n")[2] or fault.kind)[:400]

    @property
    def fault_detail(self) -> str:
        """What is known of the fault that ended the game beside its family; "" if nothing."""
        if self.fault is None:
            return ""
        words = dict.fromkeys((self.fault.kind, self.reason(self.fault)))
        return ", ".join(word for word in words if word != self.fault.family)

    @property
    def ending_words(self) -> str:
        """How the game ended: "timeout of NAME on ply 12: 5 after 2.100 s", "line of NAME", "full board", ..."""
        if self.fault:
            detail = f": {self.fault_detail}" if self.fault_detail else ""
            return f"{self.fault.family} of {self.player(self.fault.seat)} on ply {self.fault.ply}{detail}"
        if self.line is not None:
            return f"line of {self.player(self.line)}"
        return "not played to its end" if self.ending == "unfinished" else self.ending

    @property
    def name(self) -> str:
        """What tables call it: the replay's file without what all have in common; "3-12" of a match."""
        name = Path(self.source).name.removesuffix(".gz").removesuffix(".json").removesuffix("-replay")
        return printable(name.removeprefix("episode-"))

    @property
    def identity(self) -> str:
        """Kaggle's number of the game, or a digest of what happened in it, down to its clocks."""
        if self.episode is not None:
            return f"episode {self.episode}"
        fault = self.fault and (self.fault.seat, self.fault.kind)
        happened: list[Any] = [self.geometry[:3], self.moves, self.opening, fault]
        if self.loads is not None:  # played here; its names may change: of an edited file, they tell the version
            happened.append(self.measured[self.opening :])
        else:  # its logs may lie beside it or not
            happened += [self.names, self.statuses, self.reserve, self.overage]
        return sha256(json.dumps(happened).encode()).hexdigest()[:32]

    @property
    def command(self) -> str:
        """The command line that analyses the game; where Python is typed, the call that does so on 7x6."""
        columns, is_named = write_columns(self.moves), self.names != UNKNOWN_NAMES
        call = f'analyse("{columns}"{f", names={self.names!r}" if is_named else ""})'
        words = f"evaluate analyse {columns}"
        if self.geometry != STANDARD:
            words += " --config rows={},columns={},inarow={}".format(*self.geometry[:3])
        if is_named:
            words += f" --names {shlex.join(self.names)}"
        return command(words, call if self.geometry == STANDARD else "")

    @property
    def entry(self) -> dict[str, Any]:
        """The game as the board and pages take it, in JSON; ``forfeit`` is the fault that ended it, or None."""
        forfeit = self.fault and {"seat": self.fault.seat, "text": self.fault.kind}
        return {**sizes_of(self.geometry), "names": [*self.names], "moves": [*self.moves], "forfeit": forfeit}

    @property
    def is_self_play(self) -> bool:
        """Whether both seats have one name, as in the game by which Kaggle validates a submission."""
        return self.names[0] == self.names[1]

    def positions(self, first_ply: int = 0) -> dict[int, Position]:
        """The positions, by ply, in which a player chose a move, from ``first_ply`` on."""
        by_ply, position = {}, Position.empty(self.geometry)
        for ply, column in enumerate(self.moves):
            if ply >= max(first_ply, self.opening):
                by_ply[ply] = position
            position = position.play(column)
        return by_ply

    def player(self, seat: int) -> str:
        """The name of the agent in a seat, with the seat if both have the same name."""
        return f"{self.names[seat]} ({MOVING[seat]})" if self.is_self_play else self.names[seat]


class Read(NamedTuple):
    """Games that were read."""

    games: list[Game]
    left_out: list[str]  # why, of what cannot be read or is not shown
    me: str = ""  # whose they are; "" where that was not asked, or is not known


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
            typed = column + first if type(column) is int else column
            counted = f"columns are counted from {first:d}, here to {geometry.columns - 1 + first}"
            raise ValueError(f"there is no column {typed!r:.40}: {counted} (ply {ply})")
        if position.is_over() or column not in position.legal_columns():
            why = f"the game was over after ply {ply - 1}" if position.is_over() else "the column is full"
            raise ValueError(f"column {column + first} cannot be played on ply {ply}: {why}")
        position = position.play(column)
