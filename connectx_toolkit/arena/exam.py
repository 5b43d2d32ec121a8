"""Agents asked for their moves in positions of which every move's exact score is known.

Each position stands alone: the agent is told that a game begins, and is asked for one move with all its overage time.
An agent is loaded once, a file too, and its load is not charged. Answers are kept, line by line, in a file for each
version of an agent and each clock.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from connectx_core.position import STANDARD, Position, key_of, stones_of
from connectx_toolkit.arena.match import Slot, open_pool
from connectx_toolkit.arena.referee import detail_of, illegal_kind
from connectx_toolkit.arena.schedule import derived_seed
from connectx_toolkit.games.exam_positions import EXAMS
from connectx_toolkit.games.grades import NO_ANSWER, Sheet
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.console import progress, tell
from connectx_toolkit.system.files import file_lock, not_written
from connectx_toolkit.system.foreign import from_json, integer, number

CHUNK = 10  # positions that an agent is asked at a time
AGAIN = 10  # positions that are asked once more, with other random numbers
LONG = 60.0  # seconds of an exam from which they are said beforehand


class Answer(NamedTuple):
    """One move."""

    column: int  # NO_ANSWER where there was no legal move
    seconds: float  # without the load
    fault: str  # its kind, "" where there was none
    detail: str = ""  # the last line of what is known of a fault


class Chunk(NamedTuple):
    """Some positions for an agent. Plain values, so that another process can be sent them."""

    spec: AgentSpec
    rows: tuple[int, ...]  # their numbers
    positions: tuple[tuple[int, int], ...]  # stones of the side to move, and of both
    seed: int

    @property
    def players(self) -> tuple[AgentSpec]:
        return (self.spec,)


def chunks_of(spec: AgentSpec, labels: Labels, rows: Sequence[int], seed: int, size: int = CHUNK) -> Iterator[Chunk]:
    """So many positions at a time, in the order of ``rows``."""
    for first in range(0, len(rows), size):
        some = tuple(rows[first : first + size])
        yield Chunk(spec, some, tuple((int(labels.positions[row]), int(labels.masks[row])) for row in some), seed)


def answers_in(slot: Slot, chunk: Chunk) -> list[Answer]:
    """An agent's moves in a chunk's positions, by Kaggle's clock or that of the slot's rules.

    Its random generator is seeded for each position, by the position and the seed, so that the order of the positions
    does not matter.

    Raises:
        ProcessFailed: the agent's process does not start.
    """
    (player,) = slot.players_for([(chunk.spec, 0)])
    player.is_reloaded = False
    rules, answers = slot.setup.rules, list[Answer]()
    for stones, mask in chunk.positions:
        position = Position(stones, mask, STANDARD)
        player.begin(rules.config, derived_seed(chunk.seed, key_of(stones, mask), 0))
        board, limit = bytes(position.to_board()), rules.config["actTimeout"]
        reply = player.ask(position.ply, 1 + position.ply % 2, rules.overage, board, limit)
        took = round(max(0.0, reply.seconds - reply.load), 6)
        illegal = illegal_kind(reply.action, STANDARD.columns, position.legal_columns().__contains__)
        fault = reply.fault or ("timeout" if took > limit + rules.overage else illegal or "")
        if fault:
            lines = detail_of(reply, fault).strip().split("\n")
            answers.append(Answer(NO_ANSWER, took, fault, *lines[-1:]))
        else:
            answers.append(Answer(int(reply.action or 0), took, ""))
    return answers


class AnswerFile:
    """The answers of one version of an agent by one clock, by seed and position; those of a callable are not kept."""

    def __init__(self, spec: AgentSpec, rules: Rules, folder: Path):
        self.known: dict[tuple[int, int], Answer] = {}
        self.path: Path | None = None
        if not spec.is_here:
            parts = [spec.kind, spec.target, spec.fingerprint(), rules.config, rules.overage]
            digest = sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]
            name = re.sub(r"[^\w.@~-]", "_", os.path.basename(spec.label)).encode()[:80].decode(errors="ignore")
            self.path = folder / f"{name}-{digest}.jsonl"
            self._read_answers()

    def _read_answers(self) -> None:
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"):
            with suppress(ValueError, TypeError):  # empty, damaged, cut as its writer was killed: it is asked again
                seed, key, column, seconds, fault, detail = from_json(line)
                stones, mask = stones_of(integer(key, "key", 0), STANDARD)
                if column in (NO_ANSWER, *Position(stones, mask, STANDARD).legal_columns()):
                    answer = Answer(integer(column, "column"), number(seconds, "seconds", 0.0), str(fault), str(detail))
                    self.known[integer(seed, "seed"), key] = answer

    def add(self, chunk: Chunk, answers: Sequence[Answer]) -> None:
        """Keeps the answers to a chunk.

        Raises:
            OSError: they cannot be written; the text says what to do.
        """
        found = {(chunk.seed, key_of(*state)): answer for state, answer in zip(chunk.positions, answers, strict=True)}
        self.known |= found
        if self.path is not None:
            lines = [json.dumps([*asked, *answer]) for asked, answer in found.items()]
            with file_lock(self.path):
                try:
                    with self.path.open("a", encoding="utf-8") as file:
                        file.write("\n".join(["", *lines, ""]))  # the line before may have been cut
                except OSError as problem:
                    raise not_written(problem, self.path) from None


class Exam:
    """Some agents in the same positions.

    Args:
        folder: where the answers are kept.
    """

    def __init__(self, specs: Sequence[AgentSpec], labels: Labels, setup: Setup, folder: Path):
        self.specs, self.labels, self.setup = specs, labels, setup
        self.files = [AnswerFile(spec, setup.rules, folder) for spec in specs]
        self.keys = key_of(labels.positions, labels.masks).tolist()
        self.is_whole = False
        self.reused = sum((1, key) in file.known for file in self.files for key in self.keys)

    def _chunks(self) -> Iterator[Chunk]:
        """What is not known yet: the agents take turns, so that an exam that is stopped compares all of them."""
        for first in range(0, len(self.labels), CHUNK):
            yield from self._missing(range(first, min(first + CHUNK, len(self.labels))), 1)
        yield from self._missing(range(min(AGAIN, len(self.labels))), 2)

    def _missing(self, rows: Iterable[int], seed: int) -> Iterator[Chunk]:
        for spec, file in zip(self.specs, self.files, strict=True):
            yield from chunks_of(spec, self.labels, [r for r in rows if (seed, self.keys[r]) not in file.known], seed)

    def sit(self, concurrency: int = 1) -> None:
        """Asks what is not known yet, and keeps it. Ctrl-C ends it.

        Raises:
            CannotLoad: some agents cannot be loaded.
            ProcessFailed: an agent's process does not start.
            OSError: the answers cannot be kept.
        """
        missing = [*self._chunks()]
        moves = Counter(chunk.spec for chunk in missing for _ in chunk.rows)
        if not missing:
            self.is_whole = True
            return
        with open_pool(self.setup, concurrency) as pool:
            pool.check(moves)
            with progress(moves.total(), "move", "asking") as bar:
                try:
                    for chunk, answers in pool.each(answers_in, missing):
                        self.files[self.specs.index(chunk.spec)].add(chunk, answers)
                        bar.update(len(chunk.rows))
                        if count := moves.pop(chunk.spec, 0):  # the agent's first answers
                            mean = float(np.mean([answer.seconds for answer in answers]))
                            minutes, name = mean * count / concurrency / 60, chunk.spec.label
                            if 60 * minutes > LONG:
                                tell(f"{name} takes {mean:.2g} s a move: about {minutes:.0f} min for its {count} moves")
                    self.is_whole = True
                except KeyboardInterrupt:
                    return

    def sheets(self) -> list[Sheet]:
        """The answers in the positions that all agents have answered; there may be none."""
        rows = [row for row, key in enumerate(self.keys) if all((1, key) in file.known for file in self.files)]
        labels, keys, found = self.labels.take(np.array(rows, np.int64)), [self.keys[row] for row in rows], []
        for spec, known in zip(self.specs, (file.known for file in self.files), strict=True):
            asked = [known[1, key] for key in keys]
            columns = np.array([[answer.column for answer in asked]], np.int64)
            seconds = np.array([[answer.seconds for answer in asked]])
            faults = [(answer.fault, answer.detail) for answer in asked if answer.fault]
            twice = [known[1, key].column != known[2, key].column for key in keys if (2, key) in known]
            found.append(Sheet(spec.label, labels, columns, seconds, faults, len(twice), sum(twice)))
        return found


def examine(
    specs: Sequence[AgentSpec], labels: Labels, setup: Setup, workers: int, folder: Path = EXAMS
) -> tuple[list[Sheet], float, int, bool]:
    """Asks the agents in these positions; what is kept in the folder is not asked again.

    Returns:
        The first fields of ``connectx_toolkit.report.exams.Examined``.

    Raises:
        KeyboardInterrupt: it was stopped before all of them had answered in any position.
        ValueError, OSError: as ``Exam.sit``.
    """
    taken = Exam(specs, labels, setup, folder)
    taken.sit(workers)
    sheets = taken.sheets()
    if not len(sheets[0].labels):
        raise KeyboardInterrupt
    return sheets, setup.rules.config["actTimeout"], taken.reused, not taken.is_whole
