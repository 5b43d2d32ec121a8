"""Positions to ask an agent: hard ones that every agent must answer legally, and a sample for comparing two agents."""

import json
import random
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from zlib import crc32

from connectx.geometry import STANDARD, Geometry, geometry_of
from connectx.position import Position
from connectx_toolkit.kaggle.rules import DEFAULTS, Limits, sizes_of

# A game in which nobody can win at once, and nobody must block, after LONG_THOUGHTS plies: a search takes its time.
OPEN_GAME = [int(column) for column in "06664461210050251312045620622"]
LONG_THOUGHTS = (11, 20, 29)
NO_OVERAGE = 1e-3  # share of the overage time that is left when it is as good as gone: 0 itself may be divided by
JUDGES = (Limits().act_timeout, Limits().bank)  # actTimeout and bank of Kaggle's games
QUICK = (0.2, 38.0)  # actTimeout and bank of questions that test the answer, not the clock
NODE_BUDGET = 300  # nodes per move when two agents are compared

# The configurations of the sample, mostly Connect Four. One of another size shows what depends on the size, and one of
# more than 64 bits what runs uncompiled. Each costs an exact agent about 5 s of compilation.
SAMPLE_GEOMETRIES = (*(STANDARD,) * 14, *(geometry_of(4, 5, 3),) * 3, *(geometry_of(9, 9, 5),) * 3)

# Unusual configurations, including extreme ones, that Kaggle's environment was seen to play.
ODD_GEOMETRIES = tuple(
    geometry_of(*shape)
    for shape in ((4, 5, 3), (5, 4, 3), (2, 2, 2), (1, 7, 4), (6, 1, 4), (6, 7, 10), (8, 9, 5), (9, 8, 5), (20, 20, 4))
)


class Question(NamedTuple):
    """An observation and a configuration as Kaggle gives them, with the columns that a good player would choose."""

    name: str
    obs: dict[str, Any]
    config: dict[str, Any]
    sound: frozenset[int] | None = None
    is_optional: bool = False  # another board, which Kaggle does not ask about today: a fault is only noted

    @property
    def legal(self) -> list[int]:
        return [column for column in range(self.config["columns"]) if self.obs["board"][column] == 0]

    def as_json(self) -> dict[str, Any]:
        """The form that the runner takes. The seed depends only on the question."""
        seed = crc32(json.dumps([self.obs, self.config]).encode())
        return {"obs": self.obs, "config": self.config, "seed": seed}

    @property
    def is_standard(self) -> bool:
        return (self.config["rows"], self.config["columns"], self.config["inarow"]) == STANDARD[:3]


def question(
    name: str,
    moves: Iterable[int],
    geometry: Geometry = STANDARD,
    clock: tuple[float, float] = QUICK,
    sound: Iterable[int] | None = None,
    **options: Any,
) -> Question:
    """The question that the mover faces after ``moves``; ``clock`` is (actTimeout, bank) in seconds."""
    played = list(moves)
    obs = {
        "board": Position.from_moves(played, geometry).to_board(),
        "mark": 1 + len(played) % 2,
        "step": len(played),
        "remainingOverageTime": clock[1],
    }
    config = DEFAULTS | sizes_of(geometry) | {"actTimeout": clock[0]} | options
    return Question(name, obs, config, None if sound is None else frozenset(sound))


def random_moves(randomness: random.Random, geometry: Geometry, plies: int) -> list[int]:
    """Up to ``plies`` random legal moves from the empty board; fewer if the next one would end the game."""
    position, moves = Position.empty(geometry), list[int]()
    while len(moves) < plies:
        choices = [c for c in position.legal_columns() if c not in position.winning_columns()]
        if not choices:
            break
        moves.append(randomness.choice(choices))
        position = position.play(moves[-1])
    return moves if not position.is_over() else moves[:-1]


@lru_cache(maxsize=1)
def late_positions() -> tuple[list[int], list[int]]:
    """The moves of two games on 7x6: one with a single column left, with at least two free cells; one with one cell."""
    randomness, one_column, one_cell = random.Random(1), list[int](), list[int]()
    while not (one_column and one_cell):
        moves = random_moves(randomness, STANDARD, STANDARD.cells - 1)
        for length in range(30, len(moves) + 1):
            position = Position.from_moves(moves[:length], STANDARD)
            if len(position.legal_columns()) == 1 and length == STANDARD.cells - 1:
                one_cell = moves[:length]
            elif len(position.legal_columns()) == 1 and length < STANDARD.cells - 1:
                one_column = moves[:length]
    return one_column, one_cell


def hard_questions(act_timeout: float, bank: float, other_boards: bool = False) -> list[Question]:
    """Questions that every agent must answer legally: some at the true clock, and those where naive code fails.

    The second question says that the overage time is gone: who overdraws even then lives off it. With ``other_boards``
    those on boards of other sizes follow.
    """
    one_column, one_cell = late_positions()
    quick = (min(QUICK[0], act_timeout), min(QUICK[1], bank))
    standard = [
        question("first move, true clock", [], clock=(act_timeout, bank)),
        question("later move, no overage time left", [3, 3, 3, 2], clock=(act_timeout, NO_OVERAGE * bank)),
        question("a win in one", [3, 0, 3, 0, 3, 0], clock=quick, sound=[3]),
        question("a win in one, second seat", [6, 3, 0, 3, 0, 3, 5], clock=quick, sound=[3]),
        question("a block", [3, 0, 3, 0, 3], clock=quick, sound=[3]),
        question("a block in the bottom row", [0, 0, 1, 1, 2], clock=quick, sound=[3]),
        question("column 0 is full", [0] * 6, clock=quick),
        question("the middle is full", [3] * 6, clock=quick),
        question("one column is left", one_column, clock=quick),
        question("one cell is left", one_cell, clock=quick),
        *(question(f"ply {ply}, true clock", OPEN_GAME[:ply], clock=(act_timeout, bank / 2)) for ply in LONG_THOUGHTS),
    ]
    if not other_boards:
        return standard
    odd = [question(f"{g.rows} x {g.columns}, {g.inarow} in a row", [], g, quick) for g in ODD_GEOMETRIES]
    return standard + [asked._replace(is_optional=True) for asked in odd]


def sample(count: int, seed: int = 7, geometries: tuple[Geometry, ...] = SAMPLE_GEOMETRIES) -> list[Question]:
    """``count`` different positions of unfinished random games, with a node budget in place of the clock."""
    randomness, questions, seen = random.Random(seed), list[Question](), set()
    while len(questions) < count:
        geometry = randomness.choice(geometries)
        moves = random_moves(randomness, geometry, randomness.randrange(geometry.cells))
        asked = question(f"position {len(questions)}", moves, geometry, JUDGES, nodeBudget=NODE_BUDGET)
        key = (geometry, *asked.obs["board"])
        if key not in seen:
            seen.add(key)
            questions.append(asked)
    return questions
