"""The numbers of an agent's file that may be tuned. Comments on the lines that set them name their ranges:

DEPTH = 3  # tune: 1 to 5
THREE_IN_A_ROW = 100  # tune: 1 to 10000 log
STYLE = "careful"  # tune: careful, bold
"""

import ast
import io
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Value = bool | int | float | str
COMMENT = re.compile(r"#\s*tune:(.*)", re.I)
ASSIGNMENT = re.compile(r"\s*(\w+)\s*(?::[^=]*)?=(.*)")
RANGE = re.compile(r"(\S+)\s+to\s+(\S+?)(\s+log)?")
EXPECTED_RANGE = 'expected "1 to 10", "1 to 10000 log", or words with commas between them'
DIGITS = 4  # of a fraction: more would be kept, and mean nothing


class Number(NamedTuple):
    """A number, or a word, that a file sets once."""

    name: str
    value: Value  # as the file sets it
    range: str  # as the comment says it
    place: tuple[int, int]  # of the value in the file's text: its start and end
    low: int | float = 0  # of a range, ends included
    high: int | float = 0
    log: bool = False  # whether steps are factors
    words: tuple[Value, ...] = ()  # to choose from, instead of a range

    @property
    def is_whole(self) -> bool:
        """Whether the range has whole numbers only: if the file's value and both ends are whole."""
        return all(type(each) is int for each in (self.value, self.low, self.high))

    def to_file(self, value: Value) -> Value:
        """A value of the search as it is written into the file."""
        if self.words or self.is_whole:
            return value
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)


def numbers_in(text: str, file: str = "the file") -> list[Number]:
    """The numbers to tune, in the order of the file.

    Raises ValueError: there are none, or one cannot be tuned; the text names the file and the line, and says why.
    """
    numbers, end = list[Number](), 0
    for count, line in enumerate(io.StringIO(text), 1):  # which ends lines as Python does, at line feeds
        start, end = end, end + len(line)
        if comment := COMMENT.search(line):
            numbers.append(_number(line[: comment.start()], comment[1].strip(), start, f"{file}, line {count}: "))
    if not numbers:
        raise ValueError(
            f'{file} has no numbers to tune: add a comment such as "# tune: 1 to 100" to the line that sets one'
        )
    for number in numbers:
        if len(lines := re.findall(rf"^\s*(?:for\s+)?{number.name}\s*(?::[^=\n]*)?(?:=(?!=)|in\b)", text, re.M)) > 1:
            raise ValueError(f"{file} sets {number.name} {len(lines)} times: a number to tune is set once")
    return numbers


def with_values(text: str, numbers: Sequence[Number], values: Mapping[str, Value]) -> str:
    """The file's text with other values of its numbers. All else stays, comments too."""
    for number in reversed(numbers):
        start, end = number.place
        text = text[:start] + repr(values[number.name]) + text[end:]
    return text


def _number(code: str, words: str, start: int, where: str) -> Number:
    """The number of a line: ``code`` before its comment, whose ``words`` say the range; ``start`` is the line's."""
    match = ASSIGNMENT.fullmatch(code)
    if match is None:
        raise ValueError(f'{where}"# tune:" belongs to a line that sets one number, such as DEPTH = 3')
    name, written = match[1], match[2].strip()
    if (value := _literal(written)) is None:
        raise ValueError(f"{where}{name} is not set to a number or a word, but to something that is computed")
    first = start + code.index(written, match.start(2))
    return _with_range(Number(name, value, words, (first, first + len(written))), where + name)


def _with_range(number: Number, where: str) -> Number:
    """The number with its range. Raises ValueError if that is no range, or the file's value lies outside."""
    value, words, match = number.value, number.range, RANGE.fullmatch(number.range)
    if match is None:
        return _with_words(number, where)
    try:
        low, high = (float(end) if set(end) & set(".eEinf") else int(end) for end in match.group(1, 2))
    except ValueError:
        raise ValueError(f"{where}: {EXPECTED_RANGE}, not {words!r}") from None
    if isinstance(value, bool | str):
        raise ValueError(f"{where} is {value!r}, no number: {words!r} cannot be its range")
    if not float("-inf") < low < high < float("inf"):
        raise ValueError(f"{where}: the range {words!r} is upside down, empty or endless: the lower end comes first")
    if match[3] and low <= 0:
        raise ValueError(f"{where}: a range with log should begin above 0, not at {low}")
    if not low <= value <= high:
        raise ValueError(f"{where} = {value} is outside its range {words!r}")
    return number._replace(low=low, high=high, log=bool(match[3]))


def _with_words(number: Number, where: str) -> Number:
    """The number with the words that it is chosen from."""
    pieces = [piece.strip() for piece in number.range.split(",")]
    values = (piece if isinstance(number.value, str) else _literal(piece) for piece in pieces)
    choices = tuple(choice for choice in values if choice is not None)
    if not 2 <= len(choices) == len(pieces) or not all(pieces):
        raise ValueError(f"{where}: {EXPECTED_RANGE}, not {number.range!r}")
    if repr(number.value) not in map(repr, choices):
        raise ValueError(f"{where} = {number.value!r} is none of {number.range}")
    return number._replace(words=choices)


def _literal(written: str) -> Value | None:
    """The number, word or truth value that is written; None if it is anything else."""
    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, bool | int | float | str) else None
