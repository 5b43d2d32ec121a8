"""Which numbers of a file may be tuned, and the file with other values."""

import pytest

from connectx_toolkit.tuning.numbers import numbers_in, with_values

FILE = '''"""Größe: bytes are not letters."""
DEPTH: int = 3  # tune: 1 to 5
THREE = 100.0  #Tune: 1 to 10000 log
LOW, SHARE = "ä", 0.5
LOSS = -20  # tune: -50 to 0


def style(board):
    word = 'careful'  # tune: careful, bold
    forced = True  # tune: True, False
    return word, forced, LOSS
'''


def test_the_numbers_of_a_file():
    found = {number.name: number for number in numbers_in(FILE)}
    assert list(found) == ["DEPTH", "THREE", "LOSS", "word", "forced"]
    assert (found["DEPTH"].value, found["DEPTH"].low, found["DEPTH"].high, found["DEPTH"].is_whole) == (3, 1, 5, True)
    assert found["THREE"].log and not found["THREE"].is_whole and found["LOSS"].low == -50
    assert found["word"].words == ("careful", "bold") and found["forced"].words == (True, False)


def test_only_the_values_change():
    numbers = numbers_in(FILE)
    assert with_values(FILE, numbers, {number.name: number.value for number in numbers}) == FILE
    text = with_values(FILE, numbers, {"DEPTH": 4, "THREE": 2.5, "LOSS": -1, "word": "bold", "forced": False})
    expected = FILE.replace("= 3 ", "= 4 ").replace("100.0", "2.5").replace("-20", "-1")
    assert text == expected.replace("'careful'", "'bold'").replace("forced = True", "forced = False")


def test_fractions_are_rounded_within_their_range():
    (number,) = numbers_in("A = 0.5  # tune: 0.12344 to 0.98765\n")
    assert number.to_file(0.333333) == 0.3333 and number.to_file(0.12344) == 0.12344
    assert number.to_file(0.98765) == 0.98765


REFUSED = [
    ("A = 1\n", "my.py has no numbers to tune"),
    ("A = 5  # tune: 9 to 1\n", "upside down"),
    ("A = 5  # tune: 5 to 5\n", "upside down, empty"),
    ("A = 50  # tune: 1 to 9\n", "A = 50 is outside its range"),
    ("A = 0  # tune: 0 to 9 log\n", "should begin above 0"),
    ("A = 5  # tune: one to two\n", "expected"),
    ("A = 5  # tune: 1 to inf\n", "endless"),
    ("A = 5  # tune: nan to 9\n", "upside down"),
    ("A = 5  # tune: 1-9\n", "expected"),
    ("A = 5  # tune: 5, six\n", "expected"),
    ("A = 5  # tune:\n", "expected"),
    ("A = 'x'  # tune: y, z\n", "none of y, z"),
    ("A = 'x'  # tune: 1 to 5\n", "no number"),
    ("A = [5]  # tune: 1 to 9\n", "computed"),
    ("A = 4 + 1  # tune: 1 to 9\n", "computed"),
    ("A, B = 1, 2  # tune: 1 to 9\n", "sets one number"),
    ("A = 1; B = 2  # tune: 1 to 9\n", "computed"),
    ("# tune: 1 to 9\nA = 1\n", "line 1"),
    ("A = 1  # tune: 1 to 9\nA = 2\n", "sets A 2 times"),
    ("A = 1  # tune: 1 to 9\nfor A in range(3):\n    pass\n", "sets A 2 times"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_cannot_be_tuned(text, words):
    with pytest.raises(ValueError, match=words) as problem:
        numbers_in(text, "my.py")
    assert "\n" not in str(problem.value)


def test_a_number_may_be_compared_and_passed_by_its_name():
    text = "A = 1  # tune: 1 to 9\nif (\n    A == 1\n):\n    print(A, f(A=A))\n"
    assert [number.name for number in numbers_in(text)] == ["A"]
