"""A text file of exact scores on 7x6: a line ``position mask score ...`` for each position or its mirror image."""

import os
import re
from pathlib import Path
from typing import Self

from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.score import Scores

LINE = re.compile(rb"\d+ \d+( -?\d+| -){7}")  # a line of such a file
HALF_LINE = re.compile(rb"[-\d ]*")


def read_lines(path: Path) -> tuple[list[str], int]:
    """The lines of a file of scores, and the length in bytes of an unfinished last line, as a killed run may leave it.

    Raises:
        ValueError: the file contains something else.
    """
    *lines, rest = path.read_bytes().split(b"\n")
    for number, line in enumerate([*lines, rest], 1):
        if not (LINE if number <= len(lines) else HALF_LINE).fullmatch(line):
            raise ValueError(f"{path}, line {number}: expected a position, its mask and 7 scores, not {line[:40]!r}")
    return [line.decode("ascii") for line in lines], len(rest)


def parse_line(line: str) -> tuple[Position, Scores]:
    """The position, and the score of each column, in a line of a file of scores."""
    position, mask, *scores = line.split()
    columns = [None if score == "-" else int(score) for score in scores]
    return Position(int(position), int(mask), STANDARD), columns


def read_scores(path: Path) -> dict[Position, Scores]:
    """The scores in a file, by position; of a position and its mirror image, only one is present.

    Raises:
        OSError: the file cannot be read.
        ValueError: it contains something else.
    """
    return dict(map(parse_line, read_lines(path)[0]))


class ScoreFile:
    """The scores of a file, in memory, and the file open for appending; a context manager, which closes it.

    An unfinished last line, as a killed run may leave it, is removed. A missing file is created.

    Raises:
        OSError, ValueError: as ``read_scores``.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            lines, rest = read_lines(path)
            self._known = dict(map(parse_line, lines))
            self._file.truncate(self._file.seek(0, os.SEEK_END) - rest)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, position: Position) -> Scores | None:
        """The scores by column of the given position, not of its mirror image; None if they are not known."""
        state = position.canonical()
        scores = self._known.get(state)
        return scores if scores is None or state == position else scores[::-1]

    def __getitem__(self, position: Position) -> Scores:
        scores = self.get(position)
        if scores is None:
            raise KeyError(position)
        return scores

    def add(self, position: Position, scores: Scores) -> None:
        """Stores the scores of a position, which must be its own ``canonical()``."""
        self._known[position] = scores
        columns = " ".join("-" if score is None else str(score) for score in scores)
        self._file.write(f"{position.position} {position.mask} {columns}\n".encode("ascii"))
        self._file.flush()
