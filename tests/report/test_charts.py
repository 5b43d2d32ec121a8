"""Charts: where their values are drawn."""

import pytest

from connectx_core.position import STANDARD
from connectx_toolkit.arena.results import Match
from connectx_toolkit.arena.tournament import Tournament
from connectx_toolkit.games.game import Game
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.report import pages
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


def test_the_median_time_of_a_move_at_each_ply(monkeypatch):
    """Of the agent whose move it was, whichever seat it had; without its first move, and moves without a time."""
    names, moves = ("one", "two"), (3, 3, 2, 2, 4, 4)
    games = {
        0: Game(STANDARD, moves, names, measured=(9.0, 9.0, 0.5, 0.25, None, 0.125)),
        1: Game(STANDARD, moves, names[::-1], measured=(9.0, 9.0, 0.75, 0.5, None, 0.125)),
    }
    first, second = (resolve("leftmost")._replace(label=name) for name in names)
    played = Match(first, second, games)
    drawn = []

    def draw(title: str, axis: str, values: dict, *rest: object) -> str:
        drawn.append(values)
        return ""

    monkeypatch.setattr(pages, "line_chart", draw)
    pages.time_chart(Tournament([played]))
    assert drawn == [{"one": [(2, 0.5), (3, 0.5), (5, 0.125)], "two": [(2, 0.75), (3, 0.25), (5, 0.125)]}]
