"""Charts: where their values are drawn."""

import pytest

from connectx_toolkit.report.charts import Axis


@pytest.mark.parametrize(
    ("low", "high", "least", "ticks"),
    [
        (0, 100, 0, [0, 20, 40, 60, 80, 100]),
        (-35, 45, 0, [-30, -20, -10, 0, 10, 20, 30, 40]),
        (0, 70, 0, [0, 10, 20, 30, 40, 50, 60, 70]),
        (0, 8, 0, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (0, 3, 1, [0, 1, 2, 3]),
        (150, 500, 0, [150, 200, 250, 300, 350, 400, 450, 500]),
    ],
)
def test_ticks_are_round_and_at_most_nine(low, high, least, ticks):
    assert Axis(low, high, 10, 90).ticks(least) == pytest.approx(ticks)


def test_an_axis_may_run_backwards():
    assert [Axis(0, 4, 90, 10).at(value) for value in (0, 1, 4)] == [90, 70, 10]
