"""What a candidate costs, step by step, so that a bad one can be given up early. Less is better.

By positions: the points that it gives away, on average, in the positions for tuning; the same ones, with the same
random numbers, for every candidate. By games: the points that it loses to an opponent, from the same openings.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from connectx_toolkit.arena.exam import answers_in, chunks_of
from connectx_toolkit.arena.match import Slot
from connectx_toolkit.arena.schedule import pair_tasks
from connectx_toolkit.arena.start_positions import Opening
from connectx_toolkit.games.exam_positions import first_of
from connectx_toolkit.games.grades import FAILED, points_given_away
from connectx_toolkit.games.labelled import Labels, read_file
from connectx_toolkit.games.recipes import FOR_TUNING
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.spec import AgentSpec

POSITIONS_A_STEP, PAIRS_A_STEP = 20, 4
MOVES = 21  # that an agent makes in a full game


class Step(NamedTuple):
    """What a part of the work has shown."""

    cost: float  # on average
    faults: list[str]  # kinds


class Positions(NamedTuple):
    """Positions, in each of which a candidate is asked for a move."""

    labels: Labels
    seed: int

    @property
    def unit(self) -> str:
        """What costs are."""
        return "points given away a move"

    @property
    def step_count(self) -> int:
        """Number of steps to the end."""
        return -(-len(self.labels) // POSITIONS_A_STEP)

    def steps(self, slot: Slot, spec: AgentSpec) -> Iterator[Step]:
        """A move for which a game of 21 moves has no time counts as a fault: else a search would grow ever deeper."""
        limit = longest(slot.setup.rules)
        for chunk in chunks_of(spec, self.labels, range(len(self.labels)), self.seed, POSITIONS_A_STEP):
            answers = [
                answer if answer.fault or answer.seconds <= limit else answer._replace(column=FAILED, fault="too slow")
                for answer in answers_in(slot, chunk)
            ]
            columns = np.array([answer.column for answer in answers])
            given = points_given_away(self.labels.take(np.array(chunk.rows)), columns)
            yield Step(float(given.mean()), [answer.fault for answer in answers if answer.fault])


class Games(NamedTuple):
    """Pairs of games against an opponent, each from an opening of its own."""

    opponent: AgentSpec
    openings: tuple[Opening, ...]
    seed: int

    @property
    def unit(self) -> str:
        """What costs are."""
        return "share of the points lost"

    @property
    def step_count(self) -> int:
        """Number of steps to the end."""
        return -(-len(self.openings) // PAIRS_A_STEP)

    def steps(self, slot: Slot, spec: AgentSpec) -> Iterator[Step]:
        costs, faults = list[float](), list[str]()
        for task in pair_tasks(spec, self.opponent, self.openings, len(self.openings), self.seed):
            seat, game = task.number % 2, slot.play(task)
            assert game.points is not None  # games of the arena are played to their end
            costs.append(1 - game.points[seat])
            faults += [fault.kind for fault in game.faults if fault.seat == seat]
            if len(costs) == 2 * PAIRS_A_STEP or task.number == 2 * len(self.openings) - 1:
                yield Step(sum(costs) / len(costs), faults)
                costs, faults = [], []


Objective = Positions | Games


def longest(rules: Rules) -> float:
    """Seconds that each of a game's moves may take if all take as long."""
    return rules.config["actTimeout"] + rules.overage / MOVES


def for_tuning(count: int) -> Labels:
    """So many of the positions for tuning, or all: critical ones by the recipes, which the standard exam lacks.

    They come in a random order, the same each time.
    """
    return first_of(read_file(FOR_TUNING)[0], count)
