"""A game seen from one's own seat: how it ended and why, and what was given away in it."""

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectx_toolkit.arena.analysis.exact_analysis import JudgedMove, mistakes
from connectx_toolkit.arena.results.records import UNKNOWN_NAMES, Game

RESULTS = {1.0: "won", 0.5: "drawn", 0.0: "lost", None: "unfinished"}
SEATS = ("first", "second")
VERSION = re.compile(
    " [0-9a-f]{6}$"
)  # that connectx_toolkit.arena.results.store adds to the name of a file of which it has several


@dataclass(frozen=True)
class Review:
    """A game from one's own seat, with the moves of both sides judged as far as they could be."""

    game: Game
    seat: int
    judged: list[JudgedMove]

    @property
    def opponent(self) -> str:
        return "itself" if self.game.is_self_play else self.game.names[1 - self.seat]

    @property
    def score(self) -> float | None:
        return None if self.game.points is None else self.game.points[self.seat]

    @property
    def fault(self) -> str:
        """ "timeout", "illegal move" or "error", of whoever lost by one; "" if nobody did."""
        return self.game.fault.family if self.game.fault else ""

    @property
    def own(self) -> list[JudgedMove]:
        return [move for move in self.judged if move.seat == self.seat]

    @property
    def mistakes(self) -> list[JudgedMove]:
        """One's own moves that gave a result away."""
        return mistakes(self.own)

    @property
    def shortened(self) -> list[JudgedMove]:
        """One's own moves that lost a lost game sooner."""
        return [move for move in self.own if move.shortens_loss]

    @property
    def cause(self) -> str:
        """Why the game was not won: one's own fault, or what was given away last; "" of a game that was won."""
        if self.score in (1.0, None):
            return ""
        if self.fault:
            return self.fault
        if given := self.mistakes:
            return f"{given[-1].results[0]} position given away"
        if not self.own:
            return "not judged"
        return f"{RESULTS[self.score]} {'by the opening' if self.game.opening else 'from the start'}"

    def row(self) -> dict[str, Any]:
        """The game for machines, and for the page; times in seconds, columns from 0."""
        game, given = self.game, self.mistakes
        slowest = game.slowest(self.seat)
        return {
            "game": game.name,
            "file": game.source,
            "opponent": self.opponent,
            "seat": SEATS[self.seat],
            "result": RESULTS[self.score],
            "status": self.fault or "played",
            "ending": game.ending_words,
            "cause": self.cause,
            "plies": len(game.moves),
            "opening": game.opening,
            "overage": None if (used := game.overage_used(self.seat)) is None else round(used, 3),
            "slowest": slowest and {"ply": slowest[0], "seconds": round(slowest[1], 3)},
            "mistakes": [_mistake(move) for move in given],
            "shortened": [{"ply": one.ply, "column": one.column, "best": one.best_columns} for one in self.shortened],
            "moves": list(game.moves),
        }


def _mistake(move: JudgedMove) -> dict[str, Any]:
    before, after = move.results
    return {"ply": move.ply, "column": move.column, "best": move.best_columns, "before": before, "after": after}


def team_of(games: Sequence[Game], wanted: str | None = None) -> str:
    """Whose games these are: the player that was asked for, or else the one name that is in all of them.

    Raises:
        ValueError: there is no such name, or more than one; in words that say how to choose.
    """
    counts = Counter(name for game in games for name in set(game.names))
    return name_in(counts, wanted) if wanted is not None else name_in_all(counts, len(games))


def name_in(counts: Mapping[str, int], wanted: str, option: str = "--me") -> str:
    """The player that was asked for. An agent's file may be called without its folder, and without folder and suffix.

    Args:
        counts: games by name.
        option: what it was asked with.

    Raises:
        ValueError: no player, or more than one, is called so; in words that say how to choose.
    """
    called = [wanted] if wanted in counts else [name for name in counts if _is_called(name, wanted)]
    if len(called) == 1:
        return called[0]
    close = called or difflib.get_close_matches(wanted, counts, 1)
    meant = f"did you mean {' or '.join(map(shlex.quote, close))}? " if close else ""
    found = f"fits {len(called)} names" if called else "is in none of the games"
    raise ValueError(f"{option} {wanted!r} {found}: {meant}Names and games: {_most(counts)}")


def name_in_all(counts: Mapping[str, int], games: int) -> str:
    """The one name that is in all of the games. Raises ValueError if there is none, or more than one."""
    everywhere = [name for name, count in counts.items() if count == games]
    if len(everywhere) == 1:
        return everywhere[0]
    if set(everywhere) == set(UNKNOWN_NAMES):
        raise ValueError("the games do not name their players: pass --me first or --me second, whichever seat is yours")
    what = "more than one name is" if everywhere else "no name is"
    which = f"all {games} games" if games > 1 else "the game"
    raise ValueError(f"{what} in {which}: pass --me NAME. Names and games: {_most(counts)}")


def _most(counts: Mapping[str, int]) -> str:
    """ "my_team (20), them (3), ...": those in most games."""
    return ", ".join(f"{name} ({count})" for name, count in Counter(counts).most_common(5))


def _is_called(name: str, wanted: str) -> bool:
    """Whether an agent's name may be meant by a file's path, name or stem; of any version of the file."""
    path = Path(VERSION.sub("", name))
    return str(Path(wanted)) in (str(path), path.name, path.stem)


def seat_of(game: Game, team: str) -> int:
    """The seat of a team. In a game against itself: that which failed, or else the first."""
    if game.is_self_play:
        return game.fault.seat if game.fault else 0
    return game.names.index(team)
