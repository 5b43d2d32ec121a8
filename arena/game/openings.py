"""Openings: short move sequences to start games from, so that two deterministic agents play more than one game.

They are written as columns counted from 0, as on Kaggle: "3342", or "3,3,10" if a column has two digits ("10," alone).

The recipe for balanced ones: 2 to 8 random legal moves, after which no side has won or can win at once, the solver's
score is within ``CLOSE`` of 0, and the position is no duplicate or mirror image of another.
"""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from connectx.geometry import STANDARD, Geometry
from connectx.position import Position
from console.files import in_words, write_whole

PLIES = (2, 8)  # shortest and longest
CLOSE = 2  # largest score of either side: a win with its last stone or the one before
PATIENCE = 2000
DRAWN = 300  # openings drawn for boards other than 7x6: as many as there are balanced ones on 7x6
BALANCED = Path(__file__).with_name("openings.txt")  # 6 rows, 7 columns, 4 in a row

Opening = tuple[int, ...]


def parse_opening(text: str, geometry: Geometry) -> Opening:
    """The columns in a text.

    Raises:
        ValueError: it is not a sequence of columns, one of them cannot be played, or the game is over after them.
    """
    text = text.strip()
    try:
        moves = parse_columns(text)
        position = Position.from_moves(moves, geometry)
    except ValueError as problem:
        raise ValueError(f"opening {text!r}: {problem}") from None
    if position.is_over():
        raise ValueError(f"opening {text!r}: the game is over after it")
    return moves


def write_opening(opening: Opening) -> str:
    """The text of an opening or a game; ``parse_columns`` reads it."""
    if all(column < 10 for column in opening):
        return "".join(map(str, opening))
    return ",".join(map(str, opening)) + ("," if len(opening) == 1 else "")  # "10" is columns 1 and 0


def parse_columns(text: str) -> Opening:
    """The columns in a text as ``write_opening`` writes it.

    Raises:
        ValueError: it is not a sequence of columns.
    """
    try:
        return tuple(int(column) for column in (text.removesuffix(",").split(",") if "," in text else text))
    except ValueError:
        raise ValueError(f"expected columns such as 3342 or 3,10,3, not {text!r}") from None


def read_openings(path: Path, geometry: Geometry) -> list[Opening]:
    """Reads openings from a file, one per line; empty lines and text after a # are skipped.

    Raises:
        ValueError: the file cannot be read, holds no openings, or holds one that cannot be played.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise ValueError(f"openings: {in_words(problem, path)}") from None
    except UnicodeDecodeError as problem:
        raise ValueError(f"openings: {path} is not text ({problem.reason} at byte {problem.start})") from None
    texts = [line.partition("#")[0].strip() for line in lines]
    openings = [parse_opening(text, geometry) for text in texts if text]
    if not openings:
        raise ValueError(f"openings: {path} holds none")
    return openings


def is_quiet(position: Position) -> bool:
    """Whether the game is not over and neither side could complete a line with its next stone."""
    return not (position.is_over() or position.winning_columns() or position.pass_turn().winning_columns())


def random_openings(geometry: Geometry, seed: int, plies: tuple[int, int] = PLIES) -> Iterator[Opening]:
    """Random legal moves that lead to distinct quiet positions; mirror images count as equal.

    Ends after ``PATIENCE`` draws in a row without a new one: then few or none are left.
    """
    rng = random.Random(seed)
    seen: set[int] = set()
    idle = 0
    while idle < PATIENCE:
        position, moves = Position.empty(geometry), []
        for _ in range(rng.randint(*plies)):
            if position.is_over():
                break
            moves.append(rng.choice(position.legal_columns()))
            position = position.play(moves[-1])
        key = position.canonical().key
        idle += 1
        if is_quiet(position) and key not in seen:
            seen.add(key)
            idle = 0
            yield tuple(moves)


def balanced_openings(
    geometry: Geometry, count: int, seed: int, score: Callable[[Position], int], plies: tuple[int, int] = PLIES
) -> list[Opening]:
    """``count`` openings by the recipe above, as evenly spread over the lengths as possible.

    Args:
        score: gives the exact score of a position, for the side to move.

    Raises:
        ValueError: there are fewer than that.
    """
    lengths = range(plies[0], plies[1] + 1)
    sources = [random_openings(geometry, seed + length, (length, length)) for length in lengths]
    found: list[Opening] = []
    while len(found) < count and sources:
        for source in list(sources):
            opening = next((o for o in source if abs(score(Position.from_moves(o, geometry))) <= CLOSE), None)
            if opening is None:
                sources.remove(source)
            elif len(found) < count:
                found.append(opening)
    if len(found) < count:
        raise ValueError(f"there are only {len(found)} balanced openings of {plies[0]} to {plies[1]} plies")
    return found


def openings_for(geometry: Geometry, path: Path | None, seed: int) -> list[Opening]:
    """Openings to play from, in an order that depends only on the seed, not on the number of games.

    They come from the file if one is given; else they are our balanced ones on 7x6, and ``DRAWN`` random ones, which
    may be unbalanced, on other boards. If a tiny board has none, the only opening is the empty board.
    """
    if path is not None or geometry == STANDARD:
        openings = read_openings(path or BALANCED, geometry)
    else:
        openings = list(islice(random_openings(geometry, seed), DRAWN))
    random.Random(seed).shuffle(openings)
    return openings or [()]


def main() -> None:
    """``python -m arena.game.openings``: makes the 300 openings of ``openings.txt`` again, in about ten minutes."""
    from connectx.solver import Solver

    solver = Solver(STANDARD, table_bits=24)
    openings = balanced_openings(STANDARD, 300, seed=1, score=lambda position: solver.solve(position).low)
    lines = [f"# Balanced openings by the recipe of arena/game/openings.py: scores of -{CLOSE} to {CLOSE}, seed 1."]
    write_whole(BALANCED, ("\n".join([*lines, *map(write_opening, openings)]) + "\n").encode())


if __name__ == "__main__":
    main()
