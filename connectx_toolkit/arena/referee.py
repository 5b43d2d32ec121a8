"""Plays a game between two agents in Kaggle's own environment, or in a loop of ours that gives the same results.

Both referees use the same players and return the same ``Game``, with Kaggle's clock and the kind of each fault.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any

from connectx_core.position import has_line
from connectx_toolkit.games.game import Game
from connectx_toolkit.kaggle.remedies import wrong_type
from connectx_toolkit.kaggle.rules import Fault, Rules
from connectx_toolkit.kaggle.seats import environment_of, schemas_checked_once
from connectx_toolkit.players.process import Player
from connectx_toolkit.players.protocol import Opaque, Reply

Referee = Callable[[Sequence[Player], Rules, Sequence[int], Sequence[int]], Game]


def illegal_kind(action: Any, columns: int, is_open: Callable[[int], bool]) -> str | None:
    """The kind of fault of an action; None for a legal one. ``is_open``: whether a column is not full."""
    if isinstance(action, Opaque):
        return "not an integer"
    if isinstance(action, float):
        if not action.is_integer() or action < 0:
            return "not an integer"
        return "float" if action < columns else "no such column"
    if action is None:
        return None if is_open(0) else "none"
    if not 0 <= action < columns:
        return "no such column"
    return None if is_open(action) else "full column"


def detail_of(reply: Reply, kind: str) -> str:
    """What is known of a reply that ended the game, with the cure of an object that is no column."""
    if reply.detail or not isinstance(reply.action, Opaque):
        return reply.detail or f"{reply.action!r} after {reply.seconds:.3f} s"
    cure = f": {wrong_type(reply.action.type_name)}" if kind == "not an integer" else ""
    return f"{reply.action.text} after {reply.seconds:.3f} s{cure}"


def _fatal_kind(kind: str | None, overdrawn: bool) -> str:
    """The fault that ended the game: Kaggle checks the clock before everything else."""
    if overdrawn:
        return "hang" if kind == "hang" else "timeout"
    assert kind is not None
    return kind


class _Transcript:
    """Replies and faults that either referee records during a game."""

    def __init__(self, players: Sequence[Player], rules: Rules, opening: Sequence[int]):
        self.players = players
        self.rules = rules
        self.opening = tuple(opening)
        self.replies: list[Reply] = []
        self.faults: list[Fault] = []

    def ask(self, ply: int, overage: float, board: bytes) -> tuple[Reply, str | None]:
        """Asks the agent whose turn it is; returns its reply and the kind of fault in it, not counting the clock."""
        seat, config = ply % 2, self.rules.config
        reply = self.players[seat].ask(ply, seat + 1, overage, board, config["actTimeout"])
        self.replies.append(reply)
        if reply.fault:
            return reply, reply.fault
        kind = illegal_kind(reply.action, config["columns"], lambda column: not board[column])
        if reply.action is None and kind is None:
            self.note(ply, "none", "returned None: played as column 0", fatal=False)
        return reply, kind

    def note(self, ply: int, kind: str, detail: str, fatal: bool = True) -> None:
        self.faults.append(Fault(ply % 2, ply, kind, detail, fatal))

    def note_fatal(self, ply: int, kind: str) -> None:
        reply = self.replies[-1]
        if reply.action is None and self.faults and self.faults[-1].ply == ply:
            self.faults.pop()  # the clock ended the game before this None was played as column 0
        self.note(ply, kind, detail_of(reply, kind))

    def game(self, moves: Sequence[int], overage: Sequence[float], cut: str = "") -> Game:
        """The game. ``overage``: seconds left to the mover, by ply, those of the opening included."""
        return Game(
            self.rules.geometry,
            tuple(moves),
            opening=len(self.opening),
            cut=cut,
            faults=tuple(self.faults),
            act_timeout=self.rules.config["actTimeout"],
            reserve=(self.rules.overage, self.rules.overage),
            overage=tuple(overage),
            measured=(*(None for _ in self.opening), *(reply.seconds for reply in self.replies)),
            loads=self._loads(),
        )

    def _loads(self) -> tuple[float, float]:
        """Seconds of load that each seat's agent was charged with in this game: they are part of its first call."""
        loads = {(len(self.opening) + index) % 2: reply.load for index, reply in enumerate(self.replies[:2])}
        return loads.get(0, 0.0), loads.get(1, 0.0)


def _begin_game(players: Sequence[Player], rules: Rules, seeds: Sequence[int]) -> None:
    for player, seed in zip(players, seeds, strict=True):
        player.begin(rules.config, seed)


# Kaggle's environment


@lru_cache(maxsize=8)
def _environment(config: tuple[tuple[str, Any], ...], overage: float):
    """The environment, and its state before the first ply."""
    with schemas_checked_once():
        env = environment_of(dict(config), overage)
    return env, env.state


def _start_anew(env, state) -> None:
    """Does what Kaggle's ``reset`` does, which takes as long as ten plies: it validates the same state each time."""
    from kaggle_environments.utils import structify

    env.state = structify(state)  # a copy
    env.steps, env.logs = [env.state], []


def warm_up(rules: Rules, referee: str) -> None:
    """Imports what the referee needs, so that processes forked later have it already."""
    if referee == "kaggle":
        _environment(tuple(rules.config.items()), rules.overage)


class _Forfeit(Exception):
    """Raised in place of the exception in the agent's process, so that Kaggle's environment sees one."""


def play_kaggle(players: Sequence[Player], rules: Rules, opening: Sequence[int], seeds: Sequence[int]) -> Game:
    """One game in Kaggle's own environment, with its own loop and clock.

    Only one thing is added to that clock: the load time of a persistent agent, which was loaded before the game. The
    empty board is the one that Kaggle's environment made for the first game with this configuration.

    Kaggle's environment redirects the standard streams of the whole process: call this from one thread only.

    Args:
        players: the first and the second to move.
        rules: configuration and overage time.
        opening: columns to play before the agents are asked; they must be legal and must not end the game.
        seeds: one for each agent's random generators.
    """
    env, start = _environment(tuple(rules.config.items()), rules.overage)
    transcript = _Transcript(players, rules, opening)
    _begin_game(players, rules, seeds)
    kinds: list[str | None] = []

    def player(obs, config):
        reply, kind = transcript.ask(obs.step, obs.remainingOverageTime, bytes(obs.board))
        kinds.append(kind)
        if reply.fault:
            raise _Forfeit(reply.detail)
        return reply.action

    _start_anew(env, start)
    with schemas_checked_once():
        for ply, column in enumerate(opening):
            env.step([column, 0] if ply % 2 == 0 else [0, column])
        env.step = lambda actions, logs: _charged_step(env, actions, logs, transcript.replies[-1].charged)
        env.reset = lambda agents: None  # ``run`` would call it before the first ply
        try:
            ending = _run(env, player)
        finally:
            del env.step, env.reset
    return _kaggle_game(env, transcript, kinds, ending)


def _charged_step(env, actions, logs, charged: float) -> None:
    """Kaggle's step, after ``charged`` seconds are added to the mover's time; checked as in Kaggle's ``Agent.act``."""
    from kaggle_environments.errors import DeadlineExceeded

    mover = next(index for index, log in enumerate(logs) if "duration" in log)
    logs[mover]["duration"] += charged
    overtime = logs[mover]["duration"] - env.configuration.actTimeout
    if charged and overtime > env.state[mover].observation.remainingOverageTime:
        actions[mover] = DeadlineExceeded()
    type(env).step(env, actions, logs)


def _run(env, player) -> str | None:
    """Runs the environment to its end; returns the name of the ending if Kaggle's evaluate would have raised."""
    from kaggle_environments.errors import DeadlineExceeded

    try:
        env.run([player, player])
    except DeadlineExceeded:
        return "run limit"
    except TypeError as problem:  # its interpreter indexes the board with a float
        if "indices must be integers" not in str(problem):
            raise
        return "float"
    return None


def _kaggle_game(env, transcript: _Transcript, kinds: list[str | None], ending: str | None) -> Game:
    state, movers = env.state, [step[ply % 2] for ply, step in enumerate(env.steps[1:])]
    moves, overage = [mover.action for mover in movers], [mover.observation.remainingOverageTime for mover in movers]
    mover = (len(transcript.opening) + len(transcript.replies) - 1) % 2
    cut = ending if ending == "run limit" else ""
    if ending == "float":  # raised in the step, which is not among the steps
        transcript.note_fatal(len(moves), "float")
        overage.append(state[mover].observation.remainingOverageTime)
    elif not cut and None in (seat.reward for seat in state):
        moves.pop()
        transcript.note_fatal(len(moves), _fatal_kind(kinds[-1], overdrawn=state[mover].status == "TIMEOUT"))
    elif not cut and not any(seat.reward for seat in state) and not all(state[0].observation.board):
        cut = "step limit"
    return transcript.game(moves, overage, cut)


# Our own loop


class _Board:
    """The board as Kaggle's cells, as one bitboard per seat to find lines, and as heights of the columns."""

    def __init__(self, rules: Rules, opening: Sequence[int]):
        self.geometry = rules.geometry
        self.cells = bytearray(self.geometry.cells)
        self.heights = [0] * self.geometry.columns
        self.stones = [0, 0]
        self.moves: list[int] = []
        for column in opening:
            self.play(column)

    def play(self, column: int) -> bool:
        """Drops a stone of the side to move; returns whether it makes a line."""
        geometry, seat, height = self.geometry, len(self.moves) % 2, self.heights[column]
        self.cells[(geometry.rows - 1 - height) * geometry.columns + column] = seat + 1
        self.heights[column] = height + 1
        self.stones[seat] |= 1 << column * geometry.stride + height
        self.moves.append(column)
        return has_line(self.stones[seat], geometry)


def play_fast(players: Sequence[Player], rules: Rules, opening: Sequence[int], seeds: Sequence[int]) -> Game:
    """One game in our own loop. Arguments and result are those of ``play_kaggle``."""
    config, transcript, board = rules.config, _Transcript(players, rules, opening), _Board(rules, opening)
    _begin_game(players, rules, seeds)
    left, start, overage, cut = [rules.overage, rules.overage], perf_counter(), [rules.overage] * len(opening), ""
    while not cut:
        if perf_counter() - start >= config["runTimeout"]:
            cut = "run limit"
            break
        ply = len(board.moves)
        seat = ply % 2
        reply, kind = transcript.ask(ply, left[seat], bytes(board.cells))
        overtime = reply.seconds - config["actTimeout"]
        overdrawn = overtime > left[seat]
        if overtime > 0 and (overdrawn or kind != "float"):  # on a float, Kaggle's interpreter raises before charging
            left[seat] -= overtime
        overage.append(left[seat])
        if overdrawn or kind:
            transcript.note_fatal(ply, _fatal_kind(kind, overdrawn))
            break
        if board.play(reply.action or 0) or len(board.moves) == board.geometry.cells:
            break
        if len(board.moves) >= config["episodeSteps"] - 1:
            cut = "step limit"
    return transcript.game(board.moves, overage, cut)


REFEREES: dict[str, Referee] = {"kaggle": play_kaggle, "fast": play_fast}
