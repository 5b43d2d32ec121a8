"""Charts: figures where they belong, labels that do not meet, names as they are."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from connectx_toolkit.report.charts import LONGEST, WIDTH, Axis, line_chart

SVG = "{http://www.w3.org/2000/svg}"


def drawn(curves: dict, top: float | None) -> ElementTree.Element:
    return ElementTree.fromstring(line_chart("rates & more", "ply", curves, top, "s"))


@pytest.mark.parametrize(
    ("low", "high", "least", "expected"),
    [(0, 100, 0, [0, 20, 40, 60, 80, 100]), (-3, 2, 1, [-3, -2, -1, 0, 1, 2]), (-198, 928, 0, [0, 200, 400, 600, 800]),
     (0, 0.5, 1, [0])],
)  # fmt: skip
def test_ticks(low, high, least, expected):
    assert Axis(low, high, 0, 1).ticks(least) == expected


def test_points_are_where_their_values_are():
    """On a linear axis and on a logarithmic one: powers of ten are as far from each other as their labels."""
    for top, ys in ((100, [0, 50, 100]), (None, [0.001, 0.1, 10])):
        chart = drawn({"a": list(zip((0, 4, 8), ys, strict=True))}, top)
        (path,) = chart.iter(f"{SVG}polyline")
        (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in path.get("points", "").split())
        assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2) and y0 - y1 == pytest.approx(y1 - y2, abs=0.2) and y0 > y2
        labels = {text.text: float(text.get("y", 0)) - 4 for text in chart.iter(f"{SVG}text")}
        assert labels["100s" if top else "10 s"] == y2 and labels["0s" if top else "1 ms"] == y0


def test_many_long_names():
    """They are cut in the middle, stay inside and below one another, and are whole for who asks."""
    names = ["<b>", *(f"/home/me/{'long_' * 9}{number}/submission.py" for number in range(20))]
    chart = drawn({name: [(2, 0.5), (3, 0.1)] for name in names}, None)
    legend = [text for text in chart.iter(f"{SVG}text") if text.get("text-anchor") == "start"]
    assert [text.findtext(f"{SVG}title") or text.text for text in legend] == names
    assert all(len("".join(text.itertext())) - len(text.findtext(f"{SVG}title", "")) <= LONGEST for text in legend)
    x, *ys = float(legend[0].get("x", 0)), *(float(text.get("y", 0)) for text in legend)
    assert (
        x + 7 * LONGEST < WIDTH and all(b - a > 15 for a, b in pairwise(ys)) and ys[-1] < float(chart.get("height", 0))
    )
    strokes = {(line.get("stroke"), line.get("stroke-dasharray")) for line in chart.iter(f"{SVG}polyline")}
    assert len(strokes) == len(names)


def test_who_does_not_see_it():
    chart = drawn({"a": [(2, 0.5)], "none": []}, None)
    assert chart.get("role") == "img" and chart.findtext(f"{SVG}title") == "rates & more"
    assert chart.findtext(f"{SVG}desc") == "a: 0.5 s at 2" and not [*drawn({}, None).iter(f"{SVG}polyline")]
