"""Exact scores for the boards that are open: one thread solves for all of them, and tells what is proven so far.

The table of the openings answers at once, the solver in slices: a board that asks for something else is heard after
half a second at most, and a position that takes minutes does not keep the others waiting.
"""

import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from connectx.clock import Budget
from connectx.exact import has_openings, move_values
from connectx.geometry import STANDARD, Geometry
from connectx.openings import openings
from connectx.position import Position
from connectx.solver import Value
from connectx_toolkit.arena.analysis.exact_analysis import narrowed, proven_values, solvers_for

FIRST_SLICE, LONGEST_SLICE = 0.1, 0.5  # seconds: from ply 12 on the first mostly does
FAVOUR = 4.0  # the position on the board gets so many times the time of any other of its game
KEPT = 20_000  # positions whose scores are kept
TOO_LARGE = "this board is too large to solve: only wins and losses within a few plies are shown"


class Found(NamedTuple):
    """What is proven of a position's moves, by column; None where the column is full."""

    values: tuple[Value | None, ...] = ()
    seconds: float = 0.0  # that have gone into it
    why: str = ""  # why no more will be proven

    @property
    def done(self) -> bool:
        return bool(self.why) or (bool(self.values) and all(value is None or value.exact for value in self.values))

    def refined(self, values: Sequence[Value | None], seconds: float) -> "Found":
        """After another slice: what was proven before stays so."""
        return Found(tuple(narrowed(self.values or values, values)), self.seconds + seconds)


Tell = Callable[[Position, Found], None]


@dataclass
class Wish:
    """What one board wants to know, the most wanted first."""

    positions: list[Position]
    tell: Tell
    waiting: list[Position] = field(default_factory=list)


class Analyst:
    """Solves in a thread of its own, which starts with the first wish and ends with the process."""

    def __init__(self) -> None:
        self._wishes: dict[object, Wish] = {}
        self._found: OrderedDict[Position, Found] = OrderedDict()
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._turn = 0
        self._unprepared: list[Geometry] = []

    def want(self, board: object, positions: Sequence[Position], tell: Tell) -> None:
        """Replaces what a board wants to know. What is known already is told at once, by the calling thread.

        Args:
            positions: not over; the first is told of soonest.
            tell: called by the solving thread with a position and what is proven of it, at least every half second.
        """
        waiting = []
        for position in dict.fromkeys(positions):
            found = self._known(position)
            if found.values:
                tell(position, found)
            if not found.done:
                waiting.append(position)
        with self._news:
            self._wishes[board] = Wish(list(positions), tell, waiting)
            self._start()
            self._news.notify()

    def forget(self, board: object) -> None:
        """A board is closed."""
        with self._news:
            self._wishes.pop(board, None)

    def prepare(self, geometry: Geometry = STANDARD) -> None:
        """Compiles the solver, which takes some seconds, before anybody asks."""
        with self._news:
            if geometry.fits_word:
                self._unprepared.append(geometry)
            self._start()
            self._news.notify()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="analyst", daemon=True)
            self._thread.start()

    def _known(self, position: Position) -> Found:
        scores = openings().scores(position)
        if scores is not None:
            return Found(tuple(None if score is None else Value(score, score) for score in scores))
        return self._found.get(position, Found())

    def _next(self) -> Position | Geometry:
        """What to work on now: a solver to compile, or a position. Boards take turns; of one, that position is taken
        which has had the least time."""
        with self._news:
            while not (busy := [wish for wish in self._wishes.values() if wish.waiting]):
                if self._unprepared:
                    return self._unprepared.pop()
                self._news.wait()
            self._turn += 1
            wish = busy[self._turn % len(busy)]
            first = wish.positions[0]
            shares = {p: self._known(p).seconds / (FAVOUR if p == first else 1.0) for p in wish.waiting}
            return min(wish.waiting, key=shares.__getitem__)

    def _work(self) -> None:
        while True:
            task = self._next()
            try:
                if isinstance(task, Geometry):
                    with solvers_for(task):
                        pass
                else:
                    self._tell(task, self._solve_on(task))
            except Exception as problem:  # the thread serves every board, and nothing starts it again
                traceback.print_exc()
                if isinstance(task, Position):
                    self._tell(task, Found(why=f"no scores: {problem or type(problem).__name__}"))

    def _tell(self, position: Position, found: Found) -> None:
        """Tells all boards that wait for a position. One that cannot be told does not keep others from it."""
        with self._news:
            asking = [wish for wish in self._wishes.values() if position in wish.positions]
            for wish in asking:
                if found.done and position in wish.waiting:
                    wish.waiting.remove(position)
        for wish in asking:
            try:
                wish.tell(position, found)
            except Exception:
                traceback.print_exc()

    def _solve_on(self, position: Position) -> Found:
        """Another slice, twice as long as all before it; boards that cannot be solved have a single one."""
        before, geometry = self._known(position), position.geometry
        seconds = min(LONGEST_SLICE, max(FIRST_SLICE, before.seconds))
        if not geometry.fits_word:
            proven = proven_values(position, LONGEST_SLICE)
            found = Found(tuple(proven), LONGEST_SLICE, TOO_LARGE)
        elif not before.seconds and not has_openings(geometry):  # the solver may have no time for what a child sees
            found = before.refined(proven_values(position, seconds), seconds)
        else:
            with solvers_for(geometry) as (solver, *_):
                found = before.refined(move_values(position, solver, Budget.seconds(seconds)), seconds)
        self._found[position] = found
        if len(self._found) > KEPT:
            self._found.popitem(last=False)
        return found
