"""An agent at the board: its process, and the one thread that talks to it.

A process dies with the thread that started it (see ``die_with_parent``), so that a seat has a thread as long as it has
an agent. The clock is Kaggle's: what a move takes beyond actTimeout comes off the bank, and the load counts.
"""

import contextlib
import os
import secrets
import signal
import threading
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

from connectx.position import Position
from connectx_toolkit.arena.play.referee import illegal_kind
from connectx_toolkit.arena.players.process import AgentProcess
from connectx_toolkit.arena.players.protocol import Opaque, Reply
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.console.parser import in_a_line
from connectx_toolkit.kaggle.rules import Rules

PATIENCE = 1.0  # seconds beyond actTimeout that a move nobody waits for any more may go on


class Question(NamedTuple):
    """What to move in a position."""

    number: int  # which the answer repeats
    game: int  # a new one begins where it differs from the question before
    position: Position
    rules: Rules  # its bank is that of the game's beginning
    bank: float  # seconds that are left


Tell = Callable[[dict[str, Any]], None]


class Seat:
    """Asks one agent, one question after the other; answers go to ``tell``, from the seat's own thread."""

    def __init__(self, spec: AgentSpec, tell: Tell):
        self.spec = spec
        self._tell = tell
        self._player: AgentProcess | None = None
        self._game: int | None = None
        self._latest: Question | None = None
        self._asked: int | None = None  # the number of the question that the agent thinks about
        self._questions: SimpleQueue[Question | None] = SimpleQueue()
        threading.Thread(target=self._work, name=spec.label, daemon=True).start()

    def ask(self, question: Question) -> None:
        """Puts a question; of several that wait only the last is asked."""
        self._latest = question
        self._questions.put(question)

    def drop(self) -> None:
        """Nobody waits for the answer any more. An agent that goes on all the same is ended soon after its time."""
        question, self._latest = self._latest, None
        if question is not None and (player := self._player) is not None:
            timer = threading.Timer(
                question.rules.config["actTimeout"] + PATIENCE, self._end_if, (player, question.number)
            )
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
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the thread that waits for it sees its socket close

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

    def _fail(self, question: Question, problem: Exception) -> None:
        with contextlib.suppress(Exception):
            self._tell({"type": "problem", "about": "ask", "id": question.number, "text": in_a_line(problem)})
        player, self._player, self._game, self._asked = self._player, None, None, None
        if player is not None:
            with contextlib.suppress(OSError):
                player.close()

    def _answer(self, question: Question) -> dict[str, Any]:
        config, position = question.rules.config, question.position
        try:
            player = self._begun(question)
        except (RuntimeError, ValueError, OSError) as problem:
            return fault(question, "load", str(problem), 0.0)
        self._asked = question.number
        self._tell({"type": "thinking", "id": question.number})
        board, mark = bytes(position.to_board()), 1 + position.ply % 2
        reply = player.ask(position.ply, mark, question.bank, board, config["actTimeout"])
        answer = verdict(question, reply)
        if answer["type"] == "fault":
            self._game = None  # what is asked of it next, it is asked anew
        else:
            answer["thoughts"] = player.thoughts()
            if player.process is None:  # it hung over them, and is gone: the next move is a new process's
                self._game = None
        return answer

    def _begun(self, question: Question) -> AgentProcess:
        """The agent's process, in which the question's game has begun."""
        if self._player is None:
            self._player = AgentProcess(self.spec)
        self._player.load_limit = question.rules.config["actTimeout"] + question.rules.bank
        if self._game != question.game:
            self._tell({"type": "loading", "id": question.number})
            self._player.begin(question.rules.config, secrets.randbits(32))
            self._game = question.game
        return self._player


def verdict(question: Question, reply: Reply) -> dict[str, Any]:
    """What a reply amounts to: a move, or the fault that Kaggle would end the game for, which looks at the clock first.

    The move is that of ``connectx_toolkit.arena.play.referee.play_fast``.
    """
    legal = question.position.legal_columns()
    kind = reply.fault or illegal_kind(reply.action, question.position.geometry.columns, legal.__contains__)
    overtime = reply.seconds - question.rules.config["actTimeout"]
    if overtime > question.bank and kind != "hang":
        kind = "timeout"
    if kind:
        text = reply.action.text if isinstance(reply.action, Opaque) else f"returned {reply.action!r}"
        return fault(question, kind, reply.detail or f"{text} after {reply.seconds:.3f} s", reply.seconds)
    return {
        "type": "move",
        "id": question.number,
        "column": reply.action or 0,  # Kaggle plays None as column 0
        "seconds": reply.seconds,
        "load": reply.load,
        "bank": question.bank - max(0.0, overtime),
    }


def fault(question: Question, kind: str, detail: str, seconds: float) -> dict[str, Any]:
    lines = [line.strip() for line in detail.splitlines() if line.strip()]
    return {
        "type": "fault",
        "id": question.number,
        "kind": kind,
        "detail": lines[-1] if lines else kind,
        "seconds": seconds,
    }
