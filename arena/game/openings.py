"""Openings: short move sequences to start games from, so that two deterministic agents play more than one game.

Written as columns counted from 0, as Kaggle does: "3342", or "3,3,10" where columns have more digits ("10," if alone).

The recipe for balanced ones: random legal moves, 2 to 8 of them; nobody can win at once or has won; the solver's score
is at most ``CLOSE`` from 0, and no two positions are equal or mirror images.
"""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from connectx.geometry import STANDARD, Geometry
from connectx.position import Position
from console.files import write_whole

PLIES = (2, 8)  # shortest and longest
CLOSE = 2  # largest score of either side: it wins with its last or last but one stone, 35 plies later and more
PATIENCE = 2000
DRAWN = 300  # openings on other boards than 7x6, as many as there are balanced ones on it
BALANCED = Path(__file__).with_name("openings.txt")  # 6 rows, 7 columns, 4 in a row

Opening = tuple[int, ...]


def parse_opening(text: str, geometry: Geometry) -> Opening:
    """Columns from their text.

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
    """Columns from the text that ``write_opening`` makes of them.

    Raises:
        ValueError: it is not a sequence of columns.
    """
    try:
        return tuple(int(column) for column in (text.removesuffix(",").split(",") if "," in text else text))
    except ValueError:
        raise ValueError(f"expected columns such as 3342 or 3,10,3, not {text!r}") from None


def read_openings(path: Path, geometry: Geometry) -> list[Opening]:
    """Openings from a file, one a line; empty lines and what follows a # are skipped.

    Raises:
        ValueError: the file cannot be read, holds no openings, or holds one that cannot be played.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise ValueError(f"openings: {problem}") from None
    texts = [line.partition("#")[0].strip() for line in lines]
    openings = [parse_opening(text, geometry) for text in texts if text]
    if not openings:
        raise ValueError(f"openings: {path} holds none")
    return openings


def is_quiet(position: Position) -> bool:
    """Whether the game goes on and neither side could complete a line with its next stone."""
    return not (position.is_over() or position.winning_columns() or position.pass_turn().winning_columns())


def random_openings(geometry: Geometry, seed: int, plies: tuple[int, int] = PLIES) -> Iterator[Opening]:
    """Distinct quiet positions after random legal moves, mirror images taken as equal.

    Ends when ``PATIENCE`` draws in a row have brought nothing new: then there are few others, or none.
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
    """``count`` openings by the recipe above, as many of each length as can be.

    Args:
        score: the exact score of a position, seen by the side to move.

    Raises:
        ValueError: there are not that many.
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
    """Openings to play from, in an order that the seed decides; how many games are asked for does not matter.

    Those of the file; else our balanced ones; else, on other boards, ``DRAWN`` random ones, which nobody has called
    balanced. Where there are none, the empty board is one: a tiny board may have no other quiet position.
    """
    if path is not None or geometry == STANDARD:
        openings = read_openings(path or BALANCED, geometry)
    else:
        openings = list(islice(random_openings(geometry, seed), DRAWN))
    random.Random(seed).shuffle(openings)
    return openings or [()]


def main() -> None:
    """``python -m arena.game.openings``: makes ``openings.txt`` anew, 300 of them, in some ten minutes."""
    from connectx.solver import Solver

    solver = Solver(STANDARD, table_bits=24)
    openings = balanced_openings(STANDARD, 300, seed=1, score=lambda position: solver.solve(position).low)
    lines = [f"# Balanced openings by the recipe of arena/game/openings.py: scores of -{CLOSE} to {CLOSE}, seed 1."]
    write_whole(BALANCED, ("\n".join([*lines, *map(write_opening, openings)]) + "\n").encode())


if __name__ == "__main__":
    main()
