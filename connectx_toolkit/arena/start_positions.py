"""Openings: short move sequences to start games from, so that two deterministic agents play more than one game.

They are written as columns (``connectx_core.position``).

The recipe for balanced ones: 4 to 10 random legal moves, after which no side has won or can win at once, perfect play
leads to a draw, and the position is no duplicate or mirror image of another.

Why drawn ones: each opening is played twice with seats swapped. If one side nearly always wins from it, the pair ends
1-1 and says nothing about the agents. This is the share of pairs with another result, from 800 pairs each
with the lengths spread evenly (standard error 2%):

    agents                       drawn   score -2 to 2   any without a win at once
    minimax@4 v minimax@4~10      55%        53%                   47%
    minimax@3 v minimax@5~15      60%        58%                   50%
    minimax@8~10 v minimax@8~5    56%        57%                   44%
    minimax@12 v minimax@9        65%        62%                   47%

So drawn openings and those with scores of -2 to 2 tell equally much, or nearly. We take drawn ones: either side can
still err, the rule is one word, and the solver proves a result sooner than a score.
"""

import gzip
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

from connectx_core.position import STANDARD, Columns, Geometry, Position, write_columns
from connectx_toolkit.games.reader import parse_moves, text_lines
from connectx_toolkit.system.files import check_folder, file_lock, write_whole
from connectx_toolkit.system.foreign import printable

PLIES = (2, 8)  # shortest and longest random opening
BALANCED_PLIES = (4, 10)  # and balanced opening: of 2 and 3 plies there are only 35, which games soon pass again
BALANCED_COUNT = 5000
BALANCED_SEED = 1
PATIENCE = 2000
RANDOM_COUNT = 300  # random openings for boards other than 7x6
EMPTY = Path("empty")  # what users give instead of a file
BALANCED = Path(__file__).with_name("start_positions.txt.gz")  # 6 rows, 7 columns, 4 in a row
HEAD = "# Positions in which results were given away; python evaluate.py exam AGENT --positions THIS_FILE"

Opening = Columns


def read_openings(path: Path, geometry: Geometry) -> list[Opening]:
    """Reads openings from a file, one per line; empty lines and text after a # are skipped.

    Of several openings that lead to the same position or to its mirror image, only the first counts: games from the
    others would tell little new. One line on stderr says how many are left out.

    Raises ValueError: the file cannot be read, holds no openings, or holds one that cannot be played. In the last
    case the text names the line and what is wrong with it.
    """
    openings: dict[int, Opening] = {}
    repeated = []  # numbers of lines
    for number, text in text_lines(path, "openings: "):
        try:
            opening = parse_moves(text, geometry, from_one=None)
            position = Position.from_moves(opening, geometry)
            if position.is_over():
                raise ValueError("the game is over after it")
        except ValueError as problem:
            raise ValueError(f"openings: {path}, line {number}: {text!r}: {problem}") from None
        if (key := position.canonical().key) in openings:
            repeated.append(number)
        openings.setdefault(key, opening)
    if not openings:
        raise ValueError(f"openings: {path} holds none")
    if repeated:
        found = f"{len(repeated)} of {len(openings) + len(repeated)} openings left out, repeated or mirrored"
        print(f"{path}: {found} from an earlier line (first: line {repeated[0]})", file=sys.stderr)
    return list(openings.values())


def check_mistakes(path: Path | None, geometry: Geometry) -> None:
    """Raises ValueError, before any work is done, if positions of a board cannot be added to a file."""
    check_folder(path)
    if path and path.exists():
        read_openings(path, geometry)


def add_openings(path: Path, openings: Iterable[tuple[Opening, str]], geometry: Geometry) -> tuple[int, int]:
    """Adds openings, each with a comment, to a file of openings; those that it holds, mirrored or not, are left out.

    The empty board is left out, too.

    Returns:
        How many were added, and how many the file holds now.

    Raises:
        ValueError: the file holds something else, or openings of another board.
        OSError: it cannot be written.
    """
    with file_lock(path):
        known = read_openings(path, geometry) if path.exists() else []
        keys = {Position.from_moves(opening, geometry).canonical().key for opening in known}
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n") if path.exists() else [HEAD]
        before = len(lines)
        for opening, comment in openings:
            key = Position.from_moves(opening, geometry).canonical().key
            if opening and key not in keys:
                keys.add(key)
                lines.append(f"{write_columns(opening)}  # {printable(comment, None)}")
        if len(lines) > before:
            write_whole(path, ("\n".join(lines) + "\n").encode())
    return len(lines) - before, len(keys)


def read_balanced() -> list[Opening]:
    """The toolkit's own openings of 7x6, as ``main`` wrote them: not checked again, which would take 0.3 s."""
    lines = gzip.decompress(BALANCED.read_bytes()).decode().splitlines()
    return [tuple(map(int, line)) for line in lines if not line.startswith("#")]


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
    geometry: Geometry,
    count: int,
    seed: int,
    is_drawn: Callable[[Position], bool],
    plies: tuple[int, int] = BALANCED_PLIES,
) -> list[Opening]:
    """``count`` openings by the recipe above, as evenly spread over the lengths as possible.

    Args:
        is_drawn: whether a position is a draw with perfect play.

    Raises ValueError: there are fewer than that.
    """
    lengths = range(plies[0], plies[1] + 1)
    sources = [random_openings(geometry, seed + length, (length, length)) for length in lengths]
    found: list[Opening] = []
    while len(found) < count and sources:
        for source in list(sources):
            opening = next((o for o in source if is_drawn(Position.from_moves(o, geometry))), None)
            if opening is None:
                sources.remove(source)
            elif len(found) < count:
                found.append(opening)
    if len(found) < count:
        raise ValueError(f"there are only {len(found)} balanced openings of {plies[0]} to {plies[1]} plies")
    return found


def openings_for(geometry: Geometry, path: Path | None, seed: int) -> list[Opening]:
    """Openings to play from, in an order that depends only on the seed, not on the number of games.

    They come from the file if one is given; ``EMPTY`` means the empty board alone. Without a file, they are our
    balanced ones on 7x6, and ``RANDOM_COUNT`` random ones, which may be unbalanced, on other boards. If a tiny board
    has none, the only opening is the empty board.
    """
    if path == EMPTY:
        return [()]
    if path is not None:
        openings = read_openings(path, geometry)
    elif geometry == STANDARD:
        openings = read_balanced()
    else:
        openings = list(islice(random_openings(geometry, seed), RANDOM_COUNT))
    random.Random(seed).shuffle(openings)
    return openings or [()]


def source_of(openings: Sequence[Opening], path: Path | None, geometry: Geometry) -> str:
    """Where the openings of a match come from, in words. Files with the same name and other openings differ."""
    if path == EMPTY:
        return "the empty board"
    if path is None:
        return "balanced" if geometry == STANDARD else "random"
    return f"{path.name} {sha256(repr(sorted(openings)).encode()).hexdigest()[:6]}"


def main() -> None:
    """``python -m connectx_toolkit.arena.start_positions`` makes the balanced openings again, in four minutes."""
    from connectx_core.books import opening_score
    from connectx_core.solver import Solver

    solver = Solver(STANDARD, table_bits=24)

    def is_drawn(position: Position) -> bool:
        known = opening_score(position)  # up to ply 8
        return (solver.solve(position, weak=True).result if known is None else known) == 0

    openings = balanced_openings(STANDARD, BALANCED_COUNT, BALANCED_SEED, is_drawn)
    lines = [f"# {BALANCED_COUNT} drawn openings by the recipe of arena/start_positions.py, seed {BALANCED_SEED}."]
    lines += sorted(map(write_columns, openings))  # sorted, the file is a seventh smaller
    write_whole(BALANCED, gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    print(f"{BALANCED}: {len(openings)} openings")


if __name__ == "__main__":
    main()
