"""Whether tuned numbers are better: on positions that the search did not see, and in a match from fresh openings."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from connectx_toolkit.arena.exam import examine
from connectx_toolkit.arena.results import Match
from connectx_toolkit.arena.start_positions import Opening
from connectx_toolkit.arena.stored_games import Plan, play_matches
from connectx_toolkit.games.exam_positions import fresh_exam
from connectx_toolkit.games.grades import Estimate, Sheet, rate_difference
from connectx_toolkit.games.labelled import Labels, canonical_keys
from connectx_toolkit.players.process import Setup
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.report.exams import Examined
from connectx_toolkit.statistics.ratings import difference

TIMES = 3  # that an agent which answers differently each time is asked


class Judgement(NamedTuple):
    """The tuned agent, first, and the original."""

    examined: Examined
    match: Match

    @property
    def sheets(self) -> Sequence[Sheet]:
        return self.examined.sheets

    @property
    def good_moves(self) -> Estimate:
        """The tuned agent's good move rate less the original's, in the same positions."""
        tuned, original = self.sheets
        return rate_difference(tuned.good, original.good)

    @property
    def is_proven(self) -> bool:
        """Whether the tuned agent plays more good moves or wins more, and neither is shown to be worse."""
        evidence = self.match.evidence
        proofs = [self.good_moves] + ([difference(evidence)[0]] if evidence.pairs else [])
        better, worse = (any(each.is_proof and sign * each.low > 0 for each in proofs) for sign in (1, -1))
        return better and not worse


def unseen(count: int, seed: int, seen: Labels) -> Labels:
    """So many fresh positions of the exam's six kinds, less those that were seen. Solved once, then kept."""
    labels = fresh_exam(count, seed)
    known = canonical_keys(seen.positions, seen.masks)
    return labels.take(np.flatnonzero(~np.isin(canonical_keys(labels.positions, labels.masks), known)))


def answered(specs: Sequence[AgentSpec], labels: Labels, setup: Setup, folder: Path, concurrency: int) -> Examined:
    """What the agents answer: asked once, or several times if one of them answers differently each time.

    Raises:
        KeyboardInterrupt: it was stopped; the answers so far are kept.
    """
    found = examine(specs, labels, setup, 1, concurrency, folder)
    if any(sheet.changed for sheet in found.sheets) and not found.is_interrupted:
        found = examine(specs, labels, setup, TIMES, concurrency, folder)
    if found.is_interrupted:
        raise KeyboardInterrupt
    return Examined(*found)


def race(finalists: Sequence[AgentSpec], original: AgentSpec, plan: Plan, openings: Sequence[Opening]) -> int:
    """Which finalist wins most against the original: all play it, then the better half on, from twice the openings.

    Good moves in isolated positions do not guarantee wins. (Successive halving, Jamieson and Talwalkar, 2016.)

    Args:
        openings: the two of the last round have played a pair from each.

    Raises:
        KeyboardInterrupt: it was stopped; the games so far are kept.
    """
    left, ahead, begin = list(range(len(finalists))), Counter[int](), 0
    while len(left) > 1:
        end = max(2 * len(openings) // len(left), begin + 1)
        on = plan._replace(pairs=end - begin, openings=openings[begin:end])
        for each, match in zip(left, played([(finalists[each], original) for each in left], on), strict=True):
            tally = match.side(0).tally
            ahead[each] += tally.wins - tally.losses
        left, begin = sorted(left, key=lambda each: -ahead[each])[: (len(left) + 1) // 2], end
    return left[0]


def played(pairs: Sequence[tuple[AgentSpec, AgentSpec]], plan: Plan) -> list[Match]:
    """Matches, kept in the plan's file of games: what was played is not played again.

    Raises:
        KeyboardInterrupt: it was stopped.
    """
    matches = [*play_matches(pairs, plan)]
    if any(match.ending == "interrupted" for match in matches):
        raise KeyboardInterrupt
    return matches
