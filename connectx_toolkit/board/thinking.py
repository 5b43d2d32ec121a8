"""Who thinks at the board: an agent in its seat, and the analyst that finds exact scores.

An agent's process is killed when the thread that started it ends (see ``die_with_parent``). So each seat keeps one
thread as long as it has an agent. The clock is Kaggle's: what a move takes beyond actTimeout comes off the overage
time, and the load counts.

One thread solves for all the boards that are open, and tells what is proven so far. The table of the openings answers
at once, the solver in slices: a board that asks for something else is heard after half a second at most, and a position
that takes minutes does not keep the others waiting.
"""

import contextlib
import secrets
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, NamedTuple

from connectx_core.books import openings
from connectx_core.clock import Budget
from connectx_core.exact import move_values
from connectx_core.position import STANDARD, Geometry, Position
from connectx_core.solver import Value
from connectx_toolkit.arena.referee import illegal_kind
from connectx_toolkit.games.analysis import solvers_for
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import AgentProcess
from connectx_toolkit.players.protocol import Opaque, Reply
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.console import in_a_line
from connectx_toolkit.system.posix import end

FIRST_SLICE, LONGEST_SLICE = 0.1, 0.5  # seconds: from ply 12 on the first mostly does
FAVOUR = 4.0  # the position on the board gets so many times the time of any other of its game
KEPT_SCORES = 20_000  # positions whose scores are kept
UNSOLVABLE = "this board is too large to solve"


class Found(NamedTuple):
    """What is proven of a position's moves, by column; None where the column is full."""

    values: tuple[Value | None, ...] = ()
    seconds: float = 0.0  # that have gone into it
    why: str = ""  # why no more will be proven

    @property
    def done(self) -> bool:
        return bool(self.why) or (bool(self.values) and all(value is None or value.exact for value in self.values))

    def narrow(self, values: Sequence[Value | None], seconds: float) -> "Found":
        """After another slice: what was proven before stays so."""
        pairs = zip(self.values or values, values, strict=True)
        known = [None if a is None or b is None else Value(max(a.low, b.low), min(a.high, b.high)) for a, b in pairs]
        return Found(tuple(known), self.seconds + seconds)


TellFound = Callable[[Position, Found], None]


@dataclass
class Wish:
    """What one board wants to know, the most wanted first."""

    positions: list[Position]
    tell: TellFound
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

    def want(self, board: object, positions: Sequence[Position], tell: TellFound) -> None:
        """Replaces what a board wants to know. What is known already is told at once, by the calling thread.

        Args:
            positions: not over; the first is told of soonest.
            tell: called by the solving thread with a position and what is proven of it, at least every half second.
        """
        waiting = []
        for position in dict.fromkeys(positions):
            found = self._proven(position)
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

    def _proven(self, position: Position) -> Found:
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
            shares = {p: self._proven(p).seconds / (FAVOUR if p == first else 1.0) for p in wish.waiting}
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
        """Another slice, twice as long as all before it."""
        before, geometry = self._proven(position), position.geometry
        seconds = min(LONGEST_SLICE, max(FIRST_SLICE, before.seconds))
        if not geometry.fits_word:
            scores = Found(why=UNSOLVABLE)
        else:
            with solvers_for(geometry) as (solver, *_):
                scores = before.narrow(move_values(position, solver, Budget.seconds(seconds)), seconds)
        self._found[position] = scores
        if len(self._found) > KEPT_SCORES:
            self._found.popitem(last=False)
        return scores


LATE_SECONDS = 1.0  # seconds beyond actTimeout that a move nobody waits for any more may go on


class MoveQuestion(NamedTuple):
    """What to move in a position."""

    number: int  # which the answer repeats
    game: int  # a new one begins where it differs from the question before
    position: Position
    rules: Rules  # its overage time is that of the game's beginning
    overage: float  # seconds that are left


Tell = Callable[[dict[str, Any]], None]


class BoardSeat:
    """Asks one agent, one question after the other; answers go to ``tell``, from the seat's own thread."""

    def __init__(self, spec: AgentSpec, tell: Tell):
        self.spec = spec
        self._tell = tell
        self._player: AgentProcess | None = None
        self._game: int | None = None
        self._latest: MoveQuestion | None = None
        self._asked: int | None = None  # the number of the question that the agent thinks about
        self._questions: SimpleQueue[MoveQuestion | None] = SimpleQueue()
        threading.Thread(target=self._work, name=spec.label, daemon=True).start()

    def ask(self, question: MoveQuestion) -> None:
        """Puts a question; of several that wait only the last is asked."""
        self._latest = question
        self._questions.put(question)

    def drop(self) -> None:
        """Nobody waits for the answer any more. An agent that goes on all the same is ended soon after its time."""
        question, self._latest = self._latest, None
        if question is not None and (player := self._player) is not None:
            seconds = question.rules.config["actTimeout"] + LATE_SECONDS
            timer = threading.Timer(seconds, self._end_if, (player, question.number))
            timer.daemon = True
            timer.start()

    def close(self) -> None:
        """Ends the agent's process and the thread, also in the middle of a move."""
        self._latest = None
        self._questions.put(None)
        self._kill()

    def _end_if(self, player: AgentProcess, number: int) -> None:
        if self._player is player and self._asked == number:
            self._kill()

    def _kill(self) -> None:
        process = self._player.process if self._player is not None else None
        if process is not None:
            end(process)  # the thread that waits for it sees its socket close

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            if question is not self._latest:
                continue
            try:
                answer = self._answer(question)
                self._asked = None
                if question is self._latest:
                    self._tell(answer)
            except Exception as problem:  # the seat lives on: its next question is a new process's
                traceback.print_exc()
                self._fail(question, problem)
        if self._player is not None:
            self._player.close()

    def _fail(self, question: MoveQuestion, problem: Exception) -> None:
        with contextlib.suppress(Exception):
            self._tell({"type": "problem", "about": "ask", "id": question.number, "text": in_a_line(problem)})
        player, self._player, self._game, self._asked = self._player, None, None, None
        if player is not None:
            with contextlib.suppress(OSError):
                player.close()

    def _answer(self, question: MoveQuestion) -> dict[str, Any]:
        config, position = question.rules.config, question.position
        try:
            player = self._begin_game(question)
        except (RuntimeError, ValueError, OSError) as problem:
            return fault_answer(question, "load", str(problem), 0.0)
        self._asked = question.number
        self._tell({"type": "thinking", "id": question.number})
        board, mark = bytes(position.to_board()), 1 + position.ply % 2
        reply = player.ask(position.ply, mark, question.overage, board, config["actTimeout"])
        answer = judge_reply(question, reply)
        if answer["type"] == "fault":
            self._game = None  # what is asked of it next, it is asked anew
        else:
            answer["thoughts"] = player.thoughts()
            if player.process is None:  # it hung over them, and is gone: the next move is a new process's
                self._game = None
        return answer

    def _begin_game(self, question: MoveQuestion) -> AgentProcess:
        """The agent's process, in which the question's game has begun."""
        if self._player is None:
            self._player = AgentProcess(self.spec)
        self._player.load_limit = question.rules.config["actTimeout"] + question.rules.overage
        if self._game != question.game:
            self._tell({"type": "loading", "id": question.number})
            self._player.begin(question.rules.config, secrets.randbits(32))
            self._game = question.game
        return self._player


def judge_reply(question: MoveQuestion, reply: Reply) -> dict[str, Any]:
    """What a reply amounts to: a move, or the fault that Kaggle would end the game for, which looks at the clock first.

    The move is that of ``connectx_toolkit.arena.referee.play_fast``.
    """
    legal = question.position.legal_columns()
    kind = reply.fault or illegal_kind(reply.action, question.position.geometry.columns, legal.__contains__)
    overtime = reply.seconds - question.rules.config["actTimeout"]
    if overtime > question.overage and kind != "hang":
        kind = "timeout"
    if kind:
        text = reply.action.text if isinstance(reply.action, Opaque) else f"returned {reply.action!r}"
        return fault_answer(question, kind, reply.detail or f"{text} after {reply.seconds:.3f} s", reply.seconds)
    return {
        "type": "move",
        "id": question.number,
        "column": reply.action or 0,  # Kaggle plays None as column 0
        "seconds": reply.seconds,
        "load": reply.load,
        "overage": question.overage - max(0.0, overtime),
    }


def fault_answer(question: MoveQuestion, kind: str, detail: str, seconds: float) -> dict[str, Any]:
    lines = [line.strip() for line in detail.splitlines() if line.strip()]
    last = lines[-1] if lines else kind
    return {"type": "fault", "id": question.number, "kind": kind, "detail": last, "seconds": seconds}
