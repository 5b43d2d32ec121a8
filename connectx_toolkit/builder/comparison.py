"""Do two sides play alike, or is it chance that they differ? One answer, for a build and for a live function."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf, sqrt
from typing import Any, NamedTuple

from connectx_toolkit.builder.preflight.stage import Question
from connectx_toolkit.system.console import progress

ROUNDS, LEAST_ROUNDS = 12, 3  # in which both sides are asked again where they differed
SECONDS = 40.0  # for all rounds, if LEAST_ROUNDS are done
SIGMAS = 4.0  # at most one in 10,000 faithful files of an agent that draws is refused

Side = Callable[[list[Question]], list[dict[str, Any]]]  # replies, from a new process at each call


class Draws(NamedTuple):
    """What two sides played in rounds of other seeds: for each question, how often each side chose what."""

    counts: list[list[Counter[str]]]
    rounds: int

    @property
    def differ(self) -> bool:
        """Whether the sides differ more than chance explains.

        The statistic is Pearson's chi-square for each question (replies by sides), summed; of so many degrees of
        freedom it has that mean, and twice that variance. Without any question it is infinite.
        """
        total, freedom = 0.0, 0
        for sides in self.counts:
            sizes, replies = [sum(side.values()) for side in sides], set().union(*sides)
            if not all(sizes):
                return True
            for reply in replies:
                both = sum(side[reply] for side in sides)
                for side, size in zip(sides, sizes, strict=True):
                    expected = both * size / sum(sizes)
                    total += (side[reply] - expected) ** 2 / expected
            freedom += max(1, len(replies) - 1)
        return ((total - freedom) / sqrt(2 * freedom) if freedom else inf) > SIGMAS


def drawn(questions: Sequence[Question], sides: tuple[Side, Side], seconds: float = SECONDS) -> Draws:
    """Asks both sides in turn, in rounds of other seeds.

    Each round has new processes, since what a process keeps makes its answers alike.
    """
    counts, started, rounds = [[Counter[str](), Counter[str]()] for _ in questions], time.perf_counter(), 0
    with progress(ROUNDS, "round", "again") as bar:
        while rounds < ROUNDS and (rounds < LEAST_ROUNDS or time.perf_counter() - started < seconds):
            asked = [each._replace(config=each.config | {"draw": rounds}) for each in questions]
            for number, side in enumerate(sides):
                for count, reply in zip(counts, side(asked), strict=False):
                    count[number][reply["text"]] += 1
            rounds += 1
            bar.update()
    return Draws(counts, rounds)
