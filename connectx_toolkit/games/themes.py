"""Where an agent is weak: its mistakes by theme, and how far it sees; from the exact scores alone.

A mistake is a move that does not keep the result. Each move that would be one has a theme, the first that fits:

- a win in 1 missed; a loss in 1 not stopped: the other side wins with its next stone;
- a double threat missed: a win with the second stone, whatever the other side does; one allowed to the other side;
- an opening: fewer than 8 stones on the board;
- odd and even threats: the win at stake comes with one of the last eight stones of the board, where zugzwang decides;
- a longer forced win missed, or one allowed to the other side.
"""

from typing import NamedTuple

import numpy as np

from connectx_core.position import NO_MOVE, STANDARD, plies_to_end_table
from connectx_toolkit.games.grades import NO_ANSWER, Sheet
from connectx_toolkit.games.labelled import Labels

THEMES = (
    "a win in 1 missed",
    "a loss in 1 not stopped",
    "a double threat missed",
    "a double threat allowed",
    "an opening",
    "odd and even threats",
    "a longer win missed",
    "a longer loss allowed",
)
NO_MISTAKE = -1
OPENING = 8  # stones
LAST_STONES = 8  # stones of a full board
WORST = 3  # examples
AHEAD = ((1, 2), (3, 4), (5, 8), (9, 12), (13, 20), (21, STANDARD.cells))  # plies


def themes_of_moves(labels: Labels) -> np.ndarray:
    """The number in ``THEMES`` of each move that is a mistake, NO_MISTAKE for any other: (n, columns) int64."""
    ends, plies = plies_to_end_table(STANDARD.cells), labels.plies.astype(np.int64)[:, None]
    values, scores = labels.values.astype(np.int64)[:, None], labels.scores.astype(np.int64)
    scores = np.where(labels.scores == NO_MOVE, 0, scores)
    win = np.where(values > 0, ends[plies, values + STANDARD.cells], 0)  # plies to one's own win, 0 without one
    loss = np.where(scores < 0, ends[plies, scores + STANDARD.cells], 0)  # to the other side's after the move
    is_late = plies + np.where(loss > 0, loss, win) > STANDARD.cells - LAST_STONES
    conditions = [win == 1, loss == 2, win == 3, loss == 4, plies < OPENING, is_late, loss == 0]
    conditions = [np.broadcast_to(condition, scores.shape) for condition in conditions]
    themes = np.select(conditions, range(len(conditions)), len(conditions))
    return np.where(labels.legal & ~labels.good, themes, NO_MISTAKE)


class Weakness(NamedTuple):
    """The mistakes of one theme."""

    theme: str
    chances: int  # positions in which some move would be such a mistake
    missed: float  # of them, those in which the agent made it; a mean where it was asked several times
    share: float  # of all its mistakes
    worst: list[int]  # numbers of positions in which it gave the most points away, at its first answer


def weaknesses(sheet: Sheet) -> list[Weakness]:
    """The mistakes by theme, the commonest first. A fault counts as the first theme that some move would have."""
    themes, rows = themes_of_moves(sheet.labels), np.arange(len(sheet.labels))
    first = np.where(themes == NO_MISTAKE, len(THEMES), themes).min(1)
    of_faults = np.where(first < len(THEMES), first, NO_MISTAKE)
    made = np.where(sheet.columns == NO_ANSWER, of_faults, themes[rows, sheet.columns])  # (t, n)
    total, weak = float((made != NO_MISTAKE).mean(0).sum()), list[Weakness]()
    for number, theme in enumerate(THEMES):
        chances, missed = int((themes == number).any(1).sum()), float((made == number).mean(0).sum())
        own = np.flatnonzero((made[0] == number) & (sheet.columns[0] != NO_ANSWER))  # a fault has no move to show
        worst = own[np.argsort(-sheet.given[0][own], kind="stable")][:WORST].tolist()
        if chances:
            weak.append(Weakness(theme, chances, missed, missed / total if total else 0.0, worst))
    return sorted(weak, key=lambda weakness: -weakness.missed)
