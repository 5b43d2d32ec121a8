"""The entries of a book that is being built: each goes into a text file as soon as it is found.

After a line with what they depend on, it has a line ``position mask columns`` for each position or its mirror image.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from connectx_core.position import STANDARD, Position
from connectx_toolkit.system.files import in_words, locked

Entry = tuple[int, ...]  # the columns in a position: equally good, nothing is lost by them
LINE = re.compile(rb"(\d+) (\d+) (\d+)")


def read_entries(path: Path, recipe: str) -> tuple[dict[Position, Entry], int]:
    """The entries of a file, and the length in bytes of an unfinished last line, as a killed run may leave it.

    Raises:
        OSError: the file cannot be read.
        ValueError: it contains something else, or what depends on another recipe.
    """
    *lines, rest = path.read_bytes().split(b"\n")
    if lines and lines[0] != recipe.encode():
        raise ValueError(f"{path} begins with {lines[0][:60]!r}, expected {recipe!r}: remove it, or name another file")
    found = dict[Position, Entry]()
    for number, line in enumerate(lines[1:], 2):
        if (parts := LINE.fullmatch(line)) is None:
            raise ValueError(f"{path}, line {number}: expected a position, its mask and columns, not {line[:40]!r}")
        found[Position(int(parts[1]), int(parts[2]), STANDARD)] = tuple(map(int, parts[3].decode()))
    if not (recipe.encode().startswith(rest) and not lines) and not re.fullmatch(rb"[\d ]*", rest):
        raise ValueError(f"{path}, line {len(lines) + 1}: expected the beginning of a position, not {rest[:40]!r}")
    return found, len(rest)


class Entries(NamedTuple):
    """What is found so far, and what keeps an entry of a position, which must be its own ``canonical()``."""

    known: dict[Position, Entry]
    add: Callable[[Position, Entry], None]


@contextmanager
def entries_in(path: Path, recipe: str) -> Iterator[Entries]:
    """Opens a file of entries for appending. A missing one is created, and an unfinished last line removed.

    One process at a time has the file open: the next one waits, and then finds what the first has added.

    Args:
        recipe: what the entries depend on, the file's first line.

    Raises: as ``read_entries``.
    """

    def write(line: str) -> None:
        try:
            file.write(f"{line}\n".encode("ascii"))
        except OSError as problem:
            raise OSError(in_words(problem, path)) from None

    def add(position: Position, entry: Entry) -> None:
        known[position] = entry
        write(f"{position.position} {position.mask} {''.join(map(str, entry))}")

    with locked(path), path.open("ab", buffering=0) as file:
        known, rest = read_entries(path, recipe)
        file.truncate(file.tell() - rest)
        if not file.tell() - rest:
            write(recipe)
        yield Entries(known, add)
