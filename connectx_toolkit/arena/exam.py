"""Agents asked for their moves in positions of which every move's exact score is known.

Each position stands alone: the agent is told that a game begins, and is asked for one move with all its overage time.
An agent is loaded once, a file too, and its load is not charged.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from connectx.position import STANDARD, Position, key_of
from connectx_toolkit.arena.match import Pool, Slot
from connectx_toolkit.arena.referee import illegal_kind
from connectx_toolkit.arena.schedule import derived_seed
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.players.protocol import Reply
from connectx_toolkit.players.spec import AgentSpec

CHUNK = 10  # positions that an agent is asked at a time
FAILED = -1  # in place of a column


class Answers(NamedTuple):
    """What an agent plays in n positions."""

    columns: np.ndarray  # (n,) int8, FAILED where it gave no legal move
    seconds: np.ndarray  # (n,) float64, without the load
    faults: list[str]  # n kinds of fault, "" where there was none


class Chunk(NamedTuple):
    """Some positions for an agent. Plain values, so that another process can be sent them."""

    spec: AgentSpec
    rows: tuple[int, ...]  # their numbers
    positions: tuple[tuple[int, int], ...]  # stones of the side to move, and of both
    seed: int

    @property
    def players(self) -> tuple[AgentSpec]:
        return (self.spec,)


def ask(
    pool: Pool, spec: AgentSpec, labels: Labels, rows: Iterable[int] | None = None, seed: int = 1, size: int = CHUNK
) -> Iterator[tuple[list[int], Answers]]:
    """Asks an agent for its moves, by Kaggle's clock or that of the pool's rules. Stop iterating to stop.

    The agent's random generator is seeded for each position, by the position and the seed, so that the order of the
    positions does not matter.

    Args:
        pool: from ``connectx_toolkit.arena.match.open_pool``.
        rows: of the labels, all by default.
        seed: of the agent's random numbers.
        size: positions in a chunk.

    Yields:
        The rows of a chunk and the answers for them: in order in a pool of one, else as they are found.

    Raises:
        ProcessFailed: the agent's process does not start.
    """
    chosen = tuple(range(len(labels)) if rows is None else rows)
    states = list(zip(labels.positions.tolist(), labels.masks.tolist(), strict=True))
    parts = (chosen[first : first + size] for first in range(0, len(chosen), size))
    chunks = (Chunk(spec, some, tuple(states[row] for row in some), seed) for some in parts)
    for chunk, answers in pool.each(answers_in, chunks):
        yield list(chunk.rows), answers


def answers_in(slot: Slot, chunk: Chunk) -> Answers:
    """A slot's answers to a chunk."""
    (player,) = slot.players_for([(chunk.spec, 0)])
    player.is_reloaded = False
    rules, columns, seconds, faults = slot.setup.rules, list[int](), list[float](), list[str]()
    for stones, mask in chunk.positions:
        position = Position(stones, mask, STANDARD)
        player.begin(rules.config, derived_seed(chunk.seed, key_of(stones, mask), 0))
        board, limit = bytes(position.to_board()), rules.config["actTimeout"]
        reply = player.ask(position.ply, 1 + position.ply % 2, rules.overage, board, limit)
        took = max(0.0, reply.seconds - reply.load)
        fault = "timeout" if not reply.fault and took > limit + rules.overage else fault_of(reply, position)
        columns.append(FAILED if fault else int(reply.action or 0))
        seconds.append(took)
        faults.append(fault)
    return Answers(np.array(columns, np.int8), np.array(seconds), faults)


def fault_of(reply: Reply, position: Position) -> str:
    """The kind of fault of a reply; "" if it is a legal move."""
    legal = position.legal_columns()
    return reply.fault or illegal_kind(reply.action, position.geometry.columns, lambda column: column in legal) or ""


def points_given_away(labels: Labels, columns: np.ndarray) -> np.ndarray:
    """The exact score of each position less that of the move: (n,) int64, 0 for a best move.

    A fault counts as a move after which the other side wins at once.

    Args:
        columns: (n,) of ``Answers``.
    """
    lost_at_once = -((STANDARD.cells - labels.plies.astype(np.int64)) // 2)
    scores = labels.scores[np.arange(len(labels)), columns].astype(np.int64)
    return labels.values - np.where(columns == FAILED, lost_at_once, scores)
