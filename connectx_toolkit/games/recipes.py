"""Positions drawn from games by six recipes, the same for the same seed, with the exact score of every move.

The recipes were written down before anything was measured:

- "random": uniform random play without lines, 9 to 20 stones, each number alike.
- "half-random": each move by chance random or perfect, 4 to 27 stones, without positions in which somebody could win
  with the next stone. After Clausen (2020), whose networks of 6 and 1.57 million parameters play the perfect move in
  93.5 and 92.4% of his.
- "plies 4 to 7": uniform random play.
- "plies 10 to 16": careful random play, in which nobody who can help it lets the other win at once.
- "near-perfect": three of four moves perfect, the others random, 2 to 36 stones.
- "searchers": two heuristic alpha-beta searchers of 1 to 8 plies after six random moves, 8 to 36 stones.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from connectx_core.clock import Budget
from connectx_core.exact import move_values
from connectx_core.position import STANDARD, Columns, Geometry, Position
from connectx_core.search import Searcher
from connectx_core.solver import Solver
from connectx_toolkit.games.known_scores import KnownScores
from connectx_toolkit.games.labelled import (
    LABELS_SUFFIX,
    Labels,
    canonical_keys,
    concatenate_labels,
    read_file,
    score_positions,
    write_labels,
)
from connectx_toolkit.system.console import progress

RECIPES_FOLDER = Path("runs/recipes")
ALL = "exam"  # in place of a recipe's name: positions of all of them
STANDARD_EXAM = Path(__file__).with_name("exam.labels")
STANDARD_COUNT, STANDARD_SEED = 1000, 0
FOR_TUNING = Path(__file__).with_name("tuning.labels")  # critical positions that the standard exam lacks
TUNING_COUNT, TUNING_SEED = 3000, 1_000_000_007  # a seed that nobody draws fresh positions with
SOLVER_BITS = 24  # 128 MB: with a smaller table, the hardest positions take more nodes
RANDOM_PLIES = 6  # of a game of searchers


Choice = Callable[[random.Random, Position, list[int]], int]


def play_out(rng: random.Random, geometry: Geometry, stones: int, choose: Choice) -> Columns | None:
    """``stones`` moves that make no line; ``choose`` picks among those. None if stuck."""
    position, moves = Position.empty(geometry), []
    for _ in range(stones):
        winning = position.winning_columns()
        quiet = [column for column in position.legal_columns() if column not in winning]
        if not quiet:
            return None
        moves.append(choose(rng, position, quiet))
        position = position.play(moves[-1])
    return tuple(moves)


def uniform_choice(rng: random.Random, position: Position, columns: list[int]) -> int:
    """Any of the columns."""
    return rng.choice(columns)


def careful_choice(rng: random.Random, position: Position, columns: list[int]) -> int:
    """Any of the columns that do not let the opponent win at once; if there are none, any."""
    careful = [column for column in columns if not position.play(column).winning_columns()]
    return rng.choice(careful or columns)


def erring_choice(solver: Solver, error_share: float) -> Choice:
    """A perfect move, or with some probability any."""

    def choose(rng: random.Random, position: Position, columns: list[int]) -> int:
        if rng.random() < error_share:
            return rng.choice(columns)
        values = move_values(position, solver, best=True)
        lows = {column: value.low for column in columns if (value := values[column]) is not None}
        return rng.choice([column for column in columns if lows[column] == max(lows.values())])

    return choose


def searching(depths: tuple[int, int]) -> Choice:
    """Two searchers, each as deep as it is."""
    searchers = [Searcher(STANDARD) for _ in depths]

    def choose(rng: random.Random, position: Position, columns: list[int]) -> int:
        if position.ply < RANDOM_PLIES:
            return rng.choice(columns)
        seat = position.ply % 2
        return searchers[seat].search(position, Budget(), max_depth=depths[seat], columns=set(columns)).column

    return choose


Recipe = Callable[[random.Random, Solver], Position | None]  # None where a game does not come to it


def recipe(first: int, last: int, choice: Callable[[random.Random, Solver], Choice], trivial: bool = True) -> Recipe:
    """Positions of ``first`` to ``last`` stones, each number alike, by games of a kind."""

    def draw(rng: random.Random, solver: Solver) -> Position | None:
        moves = play_out(rng, STANDARD, rng.randint(first, last), choice(rng, solver))
        if moves is None:
            return None
        position = Position.from_moves(moves, STANDARD)
        is_trivial = position.winning_columns() or position.pass_turn().winning_columns()  # the next stone makes a line
        return None if is_trivial and not trivial else position

    return draw


RECIPES: dict[str, Recipe] = {
    "random": recipe(9, 20, lambda rng, solver: uniform_choice),
    "half-random": recipe(4, 27, lambda rng, solver: erring_choice(solver, 0.5), trivial=False),
    "plies 4 to 7": recipe(4, 7, lambda rng, solver: uniform_choice),
    "plies 10 to 16": recipe(10, 16, lambda rng, solver: careful_choice),
    "near-perfect": recipe(2, 36, lambda rng, solver: erring_choice(solver, 0.25)),
    "searchers": recipe(8, 36, lambda rng, solver: searching((rng.randint(1, 8), rng.randint(1, 8)))),
}


def draw_positions(name: str, seed: int | str, solver: Solver) -> Iterator[Position]:
    """Positions of a recipe, or of all of them in turn if the name is ``ALL``; for ever."""
    if name == ALL:
        kinds = [draw_positions(kind, seed, solver) for kind in RECIPES]
        yield from chain.from_iterable(zip(*kinds, strict=True))
    rng = random.Random(f"{name} {seed}")
    while True:
        if position := RECIPES[name](rng, solver):
            yield position


def label_positions(
    name: str,
    positions: Iterable[Position],
    count: int,
    solver: Solver,
    but: Labels | None = None,
    critical: bool = False,
    store: KnownScores | None = None,
) -> Labels:
    """The first ``count`` different positions, mirror images counting as equal, with the score of every move.

    Args:
        name: what the progress bar calls them.
        but: positions that are left out.
        critical: leave out positions in which every move keeps the result.
        store: what was solved before, and keeps what is solved now.
    """
    keys = set() if but is None else set(canonical_keys(but.positions, but.masks).tolist())
    parts = list[Labels]()
    with progress(count, "position", name) as bar:
        for position in positions:
            if len(parts) == count:
                break
            if position.canonical().key not in keys:
                keys.add(position.canonical().key)
                one = score_positions([position], solver, store)
                if not critical or one.critical[0]:
                    parts.append(one)
                    bar.update()
    return concatenate_labels(parts)


def labels_by(name: str, count: int, seed: int | str, folder: Path = RECIPES_FOLDER, title: str = "") -> Labels:
    """``count`` positions of a recipe: those that the folder has, or made now and kept there.

    Args:
        title: what the progress bar calls them; by default the recipe's name.

    Raises:
        ValueError: the folder's file is damaged.
        OSError: it cannot be read or written.
    """
    path = folder / f"{name.replace(' ', '-')}-{count}-{seed}{LABELS_SUFFIX}"
    if not path.exists():
        solver, made_as = Solver(STANDARD, SOLVER_BITS), {"recipe": name, "count": count, "seed": seed}
        write_labels(path, label_positions(title or name, draw_positions(name, seed, solver), count, solver), made_as)
    return read_file(path)[0]


def main() -> None:
    """``python -m connectx_toolkit.games.recipes`` makes the standard exam and the positions for tuning, in minutes."""
    solver, command = Solver(STANDARD, SOLVER_BITS), "python -m connectx_toolkit.games.recipes"
    standard = label_positions(ALL, draw_positions(ALL, STANDARD_SEED, solver), STANDARD_COUNT, solver)
    tuning = label_positions(
        ALL, draw_positions(ALL, TUNING_SEED, solver), TUNING_COUNT, solver, but=standard, critical=True
    )
    for path, labels, seed in ((STANDARD_EXAM, standard, STANDARD_SEED), (FOR_TUNING, tuning, TUNING_SEED)):
        write_labels(path, labels, {"command": command, "recipes": list(RECIPES), "seed": seed})
        print(f"{path}: {len(labels)} positions")


if __name__ == "__main__":
    main()
