"""Where an exam's positions come from: the standard exam, fresh ones by the recipes, and files of other people's.

Positions of 7x6 with every move's exact score. What was solved once is kept.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from connectx_core.position import STANDARD, Columns, Position, write_columns
from connectx_core.solver import Solver
from connectx_toolkit.games.database import is_database
from connectx_toolkit.games.forms import (
    COLUMNS_ONE_BY_ONE,
    ROW_OF_CELLS,
    SCORED,
    is_board,
    is_columns,
    is_game,
    is_position,
    name_of,
)
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.known_scores import KnownScores
from connectx_toolkit.games.labelled import LABELS_SUFFIX, Labels, concatenate_labels, read_file, spread_keys
from connectx_toolkit.games.reader import find_own_games, parse_moves, text_lines
from connectx_toolkit.games.recipes import ALL, SOLVER_BITS, STANDARD_COUNT, STANDARD_EXAM, label_positions, labels_by
from connectx_toolkit.kaggle.rules import sizes_of
from connectx_toolkit.system.console import as_option, plural
from connectx_toolkit.system.foreign import from_json, noting

EXAMS = Path("runs/exams")
FRESH_PART = 60  # fresh positions that are drawn, solved and kept at a time: some ten seconds


def exam_positions(
    count: int | None, seed: int | None, source: Path | None, from_one: bool, me: str | None
) -> tuple[Labels, list[str]]:
    """What an exam asks, by the arguments of ``connectx_toolkit.api.exam``: ``source`` is its ``positions``.

    Returns:
        The positions with the score of every move, and what was left out, and why.

    Raises:
        ValueError: options that do not go together, or a bad file; the text says which.
    """
    if source is None:
        if me or from_one:
            raise ValueError(f"{as_option('me' if me else 'from-one')} is for {as_option('positions', 'FILE')}")
        count = count or STANDARD_COUNT
        if seed is None and count > STANDARD_COUNT:
            raise ValueError(f"the standard exam has {STANDARD_COUNT} positions: {as_option('seed', 'N')} draws more")
        return (standard_exam(count) if seed is None else fresh_exam(count, seed)), []
    if seed is not None:
        raise ValueError(
            f"{as_option('seed')} draws fresh positions, {as_option('positions')} has its own: leave one of them out"
        )
    holds_games = _holds_games(source)
    if me and not holds_games:
        raise ValueError(f"{source} holds no games: {as_option('me')} chooses among their players")
    if from_one and (holds_games or source.suffix == LABELS_SUFFIX):
        raise ValueError(f"{source} holds no typed columns: {as_option('from-one')} says how those are counted")
    if holds_games:
        games, left_out, player = find_own_games([str(source)], me)
        positions = [*positions_of_player(games, player)]
        if not positions:
            raise ValueError(f"{source} holds no positions of {player} with two or more legal moves")
        labels = solve_positions(source.name, positions)
    elif source.suffix == LABELS_SUFFIX:
        labels, left_out = read_file(source)[0], []
        labels = labels.take(np.flatnonzero(labels.whole))
    else:
        positions, left_out = read_positions(source, from_one)
        labels = solve_positions(source.name, positions)
    return first_of(labels, count or len(labels)), left_out


def _holds_games(source: Path) -> bool:
    """Whether it is a folder, or a file of games or replays; not lines of positions, whatever the file is called."""
    if source.suffix == LABELS_SUFFIX:
        return False
    if source.is_dir() or is_database(source):
        return True
    try:
        _, text = next(text_lines(source), (0, ""))
    except ValueError:  # no text: an archive
        return True
    if not text.startswith(("[", "{", "<", '"')):
        return False
    with noting([], source):
        return not is_position(text) and not _positions_in_json(source)
    return True


def _positions_in_json(path: Path) -> list[str]:
    """The positions of a JSON list of boards, or of games as columns: each as it would stand in a line."""
    with noting([], path):
        found = from_json(path.read_bytes())
        if is_board(found) or is_game(found):
            return [json.dumps(found)]
        if isinstance(found, list) and found and all(is_board(each) or is_game(each) for each in found):
            return list(map(json.dumps, found))
    return []


def standard_exam(count: int) -> Labels:
    """``count`` positions of the standard exam, or all that it has: the same for everybody."""
    return first_of(read_file(STANDARD_EXAM)[0], count)


def fresh_exam(count: int, seed: int) -> Labels:
    """``count`` positions by all recipes in turn, ``FRESH_PART`` at a time: each is made once, and kept in a file."""
    parts = list[Labels]()
    while (known := len(labels := concatenate_labels(parts))) < count:
        parts.append(labels_by(ALL, FRESH_PART, f"{seed}-{len(parts)}", EXAMS, f"{known} of {count} solved"))
    return first_of(labels, count)


def first_of(labels: Labels, count: int) -> Labels:
    """``count`` of the positions, or all: always the same ones, and those of a smaller count are among them."""
    return labels.take(np.argsort(spread_keys(labels.positions, labels.masks))[:count])


def solve_positions(name: str, positions: Iterable[Position]) -> Labels:
    """The positions with the score of every move; mirror images count once."""
    different = {position.canonical().key: position for position in positions}
    with KnownScores() as store:
        return label_positions(name, different.values(), len(different), Solver(STANDARD, SOLVER_BITS), store=store)


def moves_to(position: Position) -> Columns | None:
    """Columns that lead to a position from the empty board; None if no game does. Nobody may have a line."""
    dead = set[int]()

    def undo(own: int, mask: int) -> Columns | None:
        """``own``: the stones of the side that moved last."""
        if not mask:
            return ()
        for column in range(STANDARD.columns):
            top = 1 << (mask & STANDARD.column_mask(column)).bit_length() >> 1
            if top & own and mask ^ top not in dead:
                before = undo(mask ^ own, mask ^ top)
                if before is not None:
                    return (*before, column)
        dead.add(mask)
        return None

    return undo(position.position ^ position.mask, position.mask)


def read_positions(path: Path, from_one: bool = False) -> tuple[list[Position], list[str]]:
    """The positions of a file, one a line; empty lines and what follows a # are skipped.

    A line is columns from 0, such as 3342; columns from 1 and a score, as in Pons' files; cells and a result, as in the
    UCI's set; or JSON with Kaggle's ``board``, as in the community's set of 1,000. A file may be a JSON list of these.

    Args:
        from_one: columns without a score are counted from 1, too.

    Returns:
        The positions in which there is something to choose, and in a line how many others were left out.

    Raises ValueError: it cannot be read, has no such positions, or a line is none of 7x6 in which the game goes on.
    The text names the line.
    """
    positions = list[Position]()
    listed = _positions_in_json(path)
    for number, text in enumerate(listed, 1) if listed else text_lines(path):
        try:
            positions.append(_position_of(text, from_one))
        except ValueError as problem:
            raise ValueError(f"{path}, line {number}: {text:.60}: {problem}") from None
    asked = [position for position in positions if len(position.legal_columns()) > 1]
    if not asked:
        raise ValueError(f"{path} holds no positions with two or more legal moves")
    forced = len(positions) - len(asked)
    return asked, [f"{path}: {forced} {plural('position', forced)} with one legal move"] if forced else []


def _position_of(text: str, from_one: bool) -> Position:
    """The position that a line describes. Raises ValueError if it is none, or the game is over."""
    if text.startswith("{"):
        document = from_json(text)
        position = _position_of_board(document.get("board") if isinstance(document, dict) else None)
    elif text.startswith("["):
        found = from_json(text)
        moves = parse_moves(write_columns(found), STANDARD, from_one) if is_game(found) else None
        position = _position_of_board(found) if moves is None else Position.from_moves(moves, STANDARD)
    elif ROW_OF_CELLS.fullmatch(text):
        cells = ["bxo".index(cell) for cell in text.split(",")[: STANDARD.cells]]
        rows, columns = STANDARD.rows, STANDARD.columns
        position = _position_of_board([cells[c * rows + rows - 1 - r] for r in range(rows) for c in range(columns)])
    elif not is_columns(text) and not SCORED.fullmatch(text) and (what := name_of(text)) != "not JSON":
        raise ValueError(f"it is {what}")
    else:
        scored = None if COLUMNS_ONE_BY_ONE.fullmatch(text) else SCORED.fullmatch(text)
        if len(text.split()) == 2 and COLUMNS_ONE_BY_ONE.fullmatch(text):
            raise ValueError("columns one by one, or a column from 1 and a score? Write columns as one word (34)")
        moves = parse_moves(scored[1] if scored else text, STANDARD, from_one or scored is not None)
        position = Position.from_moves(moves, STANDARD)
    if position.is_over():
        raise ValueError("the game is over")
    return position


def _position_of_board(board: Any) -> Position:
    if not is_board(board):
        raise ValueError("expected a board of 42 cells, each 0, 1 or 2: exams are of 7x6")
    position = Position.from_observation({"board": board, "mark": 1 + sum(map(bool, board)) % 2}, sizes_of(STANDARD))
    moves = () if position.is_over() else moves_to(position)
    if moves is None or (moves and Position.from_moves(moves, STANDARD) != position):  # others have stones that float
        raise ValueError("no game leads to this board")
    return position


def positions_of_player(games: Iterable[Game], player: str) -> Iterator[Position]:
    """The positions in which a player had to move and could choose, in the games that were played on 7x6.

    Raises ValueError: a game is of another board.
    """
    for game in games:
        if game.geometry != STANDARD:
            raise ValueError(
                f"{game.source or game.name}: exams are of 7x6, not {game.geometry.columns}x{game.geometry.rows}"
            )
        for ply, position in game.positions(game.opening).items():
            if game.names[ply % 2] == player and len(position.legal_columns()) > 1:
                yield position
