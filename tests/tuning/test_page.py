"""What the page of a search shows."""

from connectx_toolkit.tuning.tune import course_chart


def test_the_course_goes_down_in_steps():
    drawn = course_chart([(0, 4.0), (1, 5.0), (3, 2.0), (7, 3.0)], 4.0, "points given away a move")
    assert "best so far: 4  at 0, 4  at 3, 2  at 3, 2  at 7" in drawn
    assert "original: 4  at 0, 4  at 7" in drawn and "points given away a move" in drawn
    assert "original" not in course_chart([(0, 4.0)], None, "points")
