"""What answers are worth: rates, paired differences, themes and horizons, held to positions that one can check."""

import numpy as np
import pytest

from connectx_core.position import STANDARD, Position
from connectx_core.solver import Solver
from connectx_toolkit.games.exam_positions import standard_exam
from connectx_toolkit.games.grades import (
    NO_ANSWER,
    Sheet,
    mean_difference,
    points_given_away,
    rate,
    rate_difference,
)
from connectx_toolkit.games.labelled import Labels, score_positions
from connectx_toolkit.games.themes import (
    NO_MISTAKE,
    THEMES,
    themes_of_moves,
    weaknesses,
)
from connectx_toolkit.report.exams import horizons_table


def labels_of(*games: tuple[int, ...]) -> Labels:
    return score_positions([Position.from_moves(moves, STANDARD) for moves in games], Solver(STANDARD))


def sheet_of(labels: Labels, *columns) -> Sheet:
    found = np.array(columns)
    return Sheet("agent", labels, found, np.zeros(found.shape), [])


def test_points_given_away():
    """Of a win at once: nothing for it, all for a fault; in a lost position, how much sooner it is lost."""
    labels = labels_of((3, 0, 3, 0, 3, 0), (3, 0, 3, 0, 3))
    assert labels.values[0] == 18
    best = labels.perfect.argmax(1)
    assert points_given_away(labels, best).tolist() == [0, 0]
    failed = points_given_away(labels, np.array([NO_ANSWER, NO_ANSWER]))
    assert failed.tolist() == [18 + 18, int(labels.values[1]) + 18]
    allows = points_given_away(labels, np.array([3, 0]))  # column 0 lets the other side win at once
    assert allows.tolist() == [0, failed[1]]
    assert points_given_away(labels, np.array([[3, 0], best])).tolist() == [[0, failed[1]], [0, 0]]


def test_faults_are_no_good_moves():
    labels = labels_of((6, 3, 6, 3, 6))  # only the last column is good
    sheet = sheet_of(labels, [NO_ANSWER], [6])
    assert sheet.good.tolist() == sheet.perfect.tolist() == [[False], [True]]
    assert sheet.given.tolist() == [[int(labels.values[0]) + 18], [0]]


def test_faults_are_mistakes_of_a_theme():
    """Each of the first that the position has; there is no move to show."""
    labels = standard_exam(200)
    found = weaknesses(sheet_of(labels, np.full(200, NO_ANSWER)))
    assert sum(weakness.missed for weakness in found) == labels.critical.sum() and found[0].share > 0
    (first,) = (weakness for weakness in found if weakness.theme == THEMES[0])
    assert first.missed == first.chances > 0
    assert not any(weakness.worst for weakness in found)


def test_the_parts_of_an_exam():
    labels = standard_exam(1000)
    parts = sheet_of(labels, np.zeros(1000, int)).parts()
    stages = [len(rows) for name, rows in parts.items() if name.startswith("plies")]
    assert len(parts["all"]) == 1000 == sum(stages) == len(parts["moving first"]) + len(parts["moving second"])
    assert (labels.plies[parts["moving second"]] % 2 == 1).all() and labels.critical[parts["critical"]].all()


def test_rates_and_differences():
    rng = np.random.default_rng(1)
    one, other = rng.random((1, 400)) < 0.8, rng.random((1, 400)) < 0.6
    share, apart, same = rate(one), rate_difference(one, other), rate_difference(one, one)
    assert share.mean == pytest.approx(one.mean()) and share.low < 0.8 < share.high
    assert apart.mean == pytest.approx(one.mean() - other.mean()) and apart.is_proof and not same.is_proof
    back = rate_difference(other, one)
    assert (back.mean, back.low, back.high) == pytest.approx((-apart.mean, -apart.high, -apart.low))
    points = mean_difference(one.astype(int), other.astype(int))
    assert points.mean == pytest.approx(apart.mean) and points.is_proof


def theme_of(moves: tuple[int, ...], column: int) -> str | None:
    number = int(themes_of_moves(labels_of(moves))[0, column])
    return None if number == NO_MISTAKE else THEMES[number]


@pytest.mark.parametrize(
    ("moves", "column", "theme"),
    [
        ((3, 0, 3, 0, 3, 0), 3, None),
        ((3, 0, 3, 0, 3, 0), 1, "a win in 1 missed"),
        ((3, 3, 2, 2, 4), 0, None),  # lost whatever one does: two open ends
        ((3, 0, 3, 0, 3), 1, None),  # lost already
        ((0, 3, 0, 3, 0), 1, "a loss in 1 not stopped"),
        ((3, 3, 2, 3), 6, "a double threat missed"),
        ((3, 3, 2), 3, "a double threat allowed"),
        ((), 2, "an opening"),
    ],
)
def test_themes(moves, column, theme):
    assert theme_of(moves, column) == theme


@pytest.mark.parametrize(("column", "kept"), [(3, 1.0), (1, 0.0)])
def test_wins_by_their_distance(column, kept):
    """A win in one, and a position without a win, which does not count."""
    labels = labels_of((3, 0, 3, 0, 3, 0), (3, 0, 3, 0, 3))
    assert horizons_table([sheet_of(labels, [column, 3])]).rows == [("1 to 2", 1, kept)]
