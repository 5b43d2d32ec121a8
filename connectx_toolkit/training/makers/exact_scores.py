"""Exact scores of many positions, by a pool of solvers; each is kept in a text file as soon as it is found.

A file of exact scores on 7x6 has a line ``position mask score ...`` for each position or its mirror image.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Generic, NamedTuple, Self, TypeVar

from connectx.books import openings
from connectx.clock import Budget
from connectx.exact import move_values
from connectx.position import STANDARD, Position, Scores
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import in_words, locked
from connectx_toolkit.training.runs import process_solver, solver_pool

Known = TypeVar("Known")


class Form(NamedTuple, Generic[Known]):
    """How a line says what is known, after the position and its mask."""

    words: str  # what it is, for messages
    pattern: str  # regular expression of the text
    read: Callable[[str], Known]
    show: Callable[[Known], str]


def scores_from(text: str) -> Scores:
    """The score of each column."""
    return [None if score == "-" else int(score) for score in text.split()]


def text_of(scores: Scores) -> str:
    return " ".join("-" if score is None else str(score) for score in scores)


SCORES_FORM = Form("7 scores", r"(?:-?\d+|-)(?: (?:-?\d+|-)){6}", scores_from, text_of)


def read_positions(path: Path, form: Form[Known], recipe: str = "") -> tuple[dict[Position, Known], int]:
    """What a file says, by position, and the length in bytes of an unfinished last line, as a killed run may leave it.

    Args:
        recipe: what the content depends on, the file's first line; "" where there is no such line.

    Raises:
        OSError: the file cannot be read.
        ValueError: it contains something else, or what depends on another recipe.
    """
    *lines, rest = path.read_bytes().split(b"\n")
    if recipe and lines and lines[0] != recipe.encode():
        raise ValueError(f"{path} begins with {lines[0][:60]!r}, expected {recipe!r}: remove it, or name another file")
    line_form, known = re.compile(rf"(\d+) (\d+) ({form.pattern})".encode()), dict[Position, Known]()
    for number, line in list(enumerate(lines, 1))[1 if recipe else 0 :]:
        parts = line_form.fullmatch(line)
        if parts is None:
            raise ValueError(
                f"{path}, line {number}: expected a position, its mask and {form.words}, not {line[:40]!r}"
            )
        position, mask, said = parts.groups()
        known[Position(int(position), int(mask), STANDARD)] = form.read(said.decode("ascii"))
    is_recipe = recipe.encode().startswith(rest) and not lines
    if not is_recipe and not re.fullmatch(rb"[-\d ]*", rest):
        raise ValueError(f"{path}, line {len(lines) + 1}: expected the beginning of a position, not {rest[:40]!r}")
    return known, len(rest)


class PositionFile(Generic[Known]):
    """What is known about positions, in memory and in a file open for appending; a context manager, which closes it.

    An unfinished last line, as a killed run may leave it, is removed. A missing file is created. One process at a time
    has the file open: the next one waits, and then finds what the first has added.

    Args and Raises: as ``read_positions``.
    """

    def __init__(self, path: Path, form: Form[Known], recipe: str = ""):
        with ExitStack() as opened:
            opened.enter_context(locked(path))
            self._file, self._form = opened.enter_context(path.open("ab", buffering=0)), form
            self.known, rest = read_positions(path, form, recipe)
            self._file.truncate(self._file.tell() - rest)
            if recipe and not self._file.tell() - rest:
                self._write(recipe)
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add(self, position: Position, known: Known) -> None:
        """Stores what is known about a position, which must be its own ``canonical()``."""
        self.known[position] = known
        self._write(f"{position.position} {position.mask} {self._form.show(known)}")

    def _write(self, line: str) -> None:
        try:
            self._file.write(f"{line}\n".encode("ascii"))
        except OSError as problem:
            raise OSError(in_words(problem, Path(self._file.name))) from None


class ScoreFile(PositionFile[Scores]):
    """A file of exact scores, which is asked for a position or its mirror image."""

    def __init__(self, path: Path):
        super().__init__(path, SCORES_FORM)

    def get(self, position: Position) -> Scores | None:
        """The scores by column of the given position, not of its mirror image; None if they are not known."""
        state = position.canonical()
        scores = self.known.get(state)
        return scores if scores is None or state == position else scores[::-1]

    def __getitem__(self, position: Position) -> Scores:
        scores = self.get(position)
        if scores is None:
            raise KeyError(position)
        return scores


ScoresOf = Callable[[list[Position]], list[Scores]]  # the exact scores of positions of 7x6


def solve(position: Position) -> Scores:
    """The exact score of each column; called in a worker process."""
    return exact_scores(position, None) or []


def exact_scores(position: Position, budget: Budget | None) -> Scores | None:
    """The same; None if the budget ends before."""
    values = move_values(position, process_solver(), budget)
    if all(value is None or value.exact for value in values):
        return [None if value is None else value.low for value in values]
    return None


@contextmanager
def scores_kept_in(path: Path, workers: int, table_bits: int) -> Iterator[ScoresOf]:
    """Gives a function that scores positions: from the opening table, the file, or else by ``workers`` processes."""
    with ScoreFile(path) as scores, solver_pool(workers, table_bits) as pool:

        def scores_of(positions: list[Position]) -> list[Scores]:
            solved = {p: openings().scores(p) or scores.get(p) for p in positions}
            wanted = list({position.canonical() for position, known in solved.items() if known is None})
            with progress(len(wanted), "position", "exact scores", delay=0) as bar:
                for position, known in pool.map_unordered(solve, wanted):
                    scores.add(position, known)
                    bar.update()
            return [solved[position] or scores[position] for position in positions]

        yield scores_of
