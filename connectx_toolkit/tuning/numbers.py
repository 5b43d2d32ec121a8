"""The numbers of an agent's file that may be tuned: which they are, in what ranges, and the file with other values.

A comment on the line that sets a number names its range; so does the command line, for a number without a comment:

    DEPTH = 3  # tune: 1 to 5
    THREE_IN_A_ROW = 100  # tune: 1 to 10000 log
    STYLE = "careful"  # tune: careful, bold
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

Value = bool | int | float | str
COMMENT = re.compile(r"#\s*tune:\s*(.*?)\s*", re.I)
RANGE = re.compile(r"(\S+)\s+to\s+(\S+?)(\s+log)?")
EXPECTED = 'expected "1 to 10", "1 to 10000 log", or words with commas between them'
DIGITS = 4  # of a fraction: more would be kept, and mean nothing


class Number(NamedTuple):
    """A number, or a word, that a file sets once."""

    name: str
    value: Value  # as the file sets it
    low: int | float = 0  # of a range, ends included
    high: int | float = 0
    log: bool = False  # whether steps are factors
    words: tuple[Value, ...] = ()  # to choose from, instead of a range
    place: tuple[int, int] = (0, 0)  # of the value in the file's bytes: its start and end

    @property
    def is_whole(self) -> bool:
        """Whether the range has whole numbers only: if the file's value and both ends are whole."""
        return all(type(each) is int for each in (self.value, self.low, self.high))

    @property
    def range(self) -> str:
        """As a comment says it."""
        if self.words:
            return ", ".join(map(str, self.words))
        return f"{self.low} to {self.high}{' log' if self.log else ''}"

    def rounded(self, value: Value) -> Value:
        """A value of the search as it is written into the file."""
        if self.words or self.is_whole:
            return value
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)


def numbers_in(text: str, given: str = "", file: str = "the file") -> list[Number]:
    """The numbers to tune, in the order of the file.

    Args:
        given: more of them, as the command line has them: "DEPTH = 1 to 5; STYLE = careful, bold". Where the file has a
            comment for one of them, this range counts.
        file: its name in messages.

    Raises:
        ValueError: there are none, or one cannot be tuned; the text says which, and why.
    """
    try:
        tree = ast.parse(text)
        comments = _comments(text)
    except (SyntaxError, ValueError, tokenize.TokenError) as problem:
        raise ValueError(f"{file} is not Python: {problem}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"{file} is too deeply nested to be read") from None
    named = {_set_on(tree, line, file): words for line, words in comments.items()} | _given(given)
    if not named:
        raise ValueError(
            f'{file} has no numbers to tune: add a comment such as "# tune: 1 to 100" to the line that sets one'
        )
    numbers = [_number(tree, text, name, words, file) for name, words in named.items()]
    return sorted(numbers, key=lambda number: number.place)


def with_values(text: str, numbers: Sequence[Number], values: Mapping[str, Value]) -> str:
    """The file's text with other values of its numbers. All else stays, comments too."""
    content = text.encode()
    for number in sorted(numbers, key=lambda number: number.place, reverse=True):
        start, end = number.place
        content = content[:start] + repr(values[number.name]).encode() + content[end:]
    return content.decode()


def _comments(text: str) -> dict[int, str]:
    """The words of the comments about tuning, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = ((token.start[0], COMMENT.fullmatch(token.string)) for token in tokens if token.type == tokenize.COMMENT)
    return {line: match[1] for line, match in found if match}


def _given(text: str) -> dict[str, str]:
    named = dict[str, str]()
    for part in filter(None, map(str.strip, text.split(";"))):
        name, equals, words = (piece.strip() for piece in part.partition("="))
        if not equals or not name.isidentifier():
            raise ValueError(f'--numbers: expected "NAME = 1 to 10", not {part!r}')
        if name in named:
            raise ValueError(f"--numbers names {name} twice")
        named[name] = words
    return named


def _settings(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a file sets to a value, each alone: ``NAME = value``, also in functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _set_on(tree: ast.Module, line: int, file: str) -> str:
    """The name that a line sets."""
    names = [name for name, value in _settings(tree) if value.end_lineno == line]
    if len(names) != 1:
        raise ValueError(f'{file}, line {line}: "# tune:" belongs to a line that sets one number, such as DEPTH = 3')
    return names[0]


def _number(tree: ast.Module, text: str, name: str, words: str, file: str) -> Number:
    lines = sorted(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    )
    nodes = [value for found, value in _settings(tree) if found == name]
    if not lines:
        raise ValueError(f"{file} does not set {name}")
    where = f"{file}, line {lines[0]}: {name}"
    if len(lines) > 1:
        raise ValueError(f"{where} is set again on line {lines[1]}: a number to tune is set once")
    value = _literal(nodes[0]) if nodes else None
    if value is None:
        raise ValueError(f"{where} is not set to a number or a word, but to something that is computed")
    if early := _used_before(tree, name, lines[0]):
        raise ValueError(f"{where} is used before, on line {early}")
    return _ranged(Number(name, value, place=_place(nodes[0], text)), words, where)


def _literal(node: ast.expr) -> Value | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, bool | int | float | str) else None


def _place(node: ast.expr, text: str) -> tuple[int, int]:
    """Where an expression's bytes begin and end in the text."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    before = [0]
    for line in text.encode().splitlines(keepends=True):
        before.append(before[-1] + len(line))
    return before[node.lineno - 1] + node.col_offset, before[node.end_lineno - 1] + node.end_col_offset


def _used_before(tree: ast.Module, name: str, line: int) -> int:
    """The line above ``line`` on which the module itself, not a function of it, uses a name; 0 if there is none."""
    pending: list[ast.AST] = [node for node in tree.body if node.lineno < line]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and node.id == name and node.lineno < line:
            return node.lineno
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        later = getattr(node, "body", []) if is_function else [node.body] if isinstance(node, ast.Lambda) else []
        pending += [part for part in ast.iter_child_nodes(node) if part not in later]
    return 0


def _ranged(number: Number, words: str, where: str) -> Number:
    """The number with its range. Raises ValueError if that is no range, or the file's value lies outside."""
    value, match = number.value, RANGE.fullmatch(words)
    if match is None:
        return _chosen(number, words, where)
    try:
        low, high = _as_number(match[1]), _as_number(match[2])
    except ValueError:
        raise ValueError(f"{where}: {EXPECTED}, not {words!r}") from None
    if isinstance(value, bool | str):
        raise ValueError(f"{where} is {value!r}, no number: {words!r} cannot be its range")
    if not low < high:
        raise ValueError(f"{where}: the range {words!r} is upside down or empty: the lower end comes first")
    if match[3] and low <= 0:
        raise ValueError(f"{where}: a range with log should begin above 0, not at {low}")
    if not low <= value <= high:
        raise ValueError(f"{where} = {value} is outside its range {words!r}")
    return number._replace(low=low, high=high, log=bool(match[3]))


def _as_number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if number - number:  # infinite, or none
            raise ValueError from None
        return number


def _chosen(number: Number, words: str, where: str) -> Number:
    pieces = [piece.strip() for piece in words.split(",")]
    choices = tuple(_word(piece, number.value) for piece in pieces)
    if len(choices) < 2 or not all(pieces):
        raise ValueError(f"{where}: {EXPECTED}, not {words!r}")
    if len({repr(choice) for choice in choices}) < len(choices):
        raise ValueError(f"{where}: a word occurs twice in {words!r}")
    if repr(number.value) not in map(repr, choices):
        raise ValueError(f"{where} = {number.value!r} is none of {words}")
    return number._replace(words=choices)


def _word(piece: str, value: Value) -> Value:
    """A choice: text if the file's value is text, else the number or truth value that it says."""
    try:
        found = ast.literal_eval(piece)
    except (ValueError, SyntaxError):
        return piece
    return found if isinstance(found, str) or not isinstance(value, str) else piece
