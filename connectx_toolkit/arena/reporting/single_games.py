"""Single games: where each one turned, and how good its moves were."""

from collections.abc import Sequence
from pathlib import Path

from connectx.exact import has_openings
from connectx.geometry import STANDARD, Geometry
from connectx.notation import write_columns
from connectx.position import Position
from connectx_toolkit.arena.analysis.exact_analysis import (
    GAME_SECONDS,
    JudgedMove,
    first_judged,
    judge_in_time,
    mistakes,
    solvers_for,
    with_short_proofs,
)
from connectx_toolkit.arena.games.groups import grouped_games
from connectx_toolkit.arena.replays.replay import replays_of
from connectx_toolkit.arena.reporting.tables import accuracy_table, moves_table
from connectx_toolkit.arena.results.records import Game, is_columns, parse_game
from connectx_toolkit.arena.results.schema import is_database
from connectx_toolkit.console.progress import progress
from connectx_toolkit.console.tables import console_for_tables
from connectx_toolkit.foreign import left_out_lines

LISTED = 10  # games of each group of a file of games, unless it is asked for more
TOO_LARGE = "boards of more than 64 bits cannot be solved; analyse finds short wins and losses in a single game"
STONES = ".XO"  # empty, who moves first, who moves second
LONG_BEFORE = 8  # plies: one position of fewer stones can take the solver longer than anyone waits without a word


def show_games(games: Sequence[Game], from_ply: int | None = None, seconds: float = GAME_SECONDS) -> None:
    """Prints where each game turned, and how good the moves were; of a single game every move.

    Of a single game, what a search of a few plies proves is told of the moves that are not solved.

    Args:
        from_ply: the first ply to judge; moves of an opening are never judged. None: ``first_judged``.
        seconds: time limit per game; moves left unsolved are marked.
    """
    console = console_for_tables()
    by_agent: dict[str, list[JudgedMove]] = {}
    for game in games:
        start = first_judged(game, from_ply)
        moves = judged(game, start, seconds)
        for move in moves:
            by_agent.setdefault(game.names[move.seat], []).append(move)
        if len(games) == 1 and start < len(game.moves):
            moves = _with_short_proofs(game, start, moves)
            console.print(moves_table(game, moves))
            for line in _boards(game, mistakes(moves)):
                console.print(line, highlight=False, markup=False)
        line = f"{game.names[0]} v {game.names[1]}, {write_columns(game.moves)}: "
        console.print(line + game_summary(game, moves, start), highlight=False, markup=False, soft_wrap=True)
    if by_agent:
        console.print(accuracy_table(by_agent))


def judged(game: Game, start: int, seconds: float) -> list[JudgedMove]:
    """The moves that could be solved in time; none on a board that the solver cannot hold."""
    if not game.geometry.fits_word:
        return []
    with solvers_for(game.geometry):  # compiles before there is a bar
        pass
    count = len(game.positions(start))
    may_be_long = count and start < LONG_BEFORE and not has_openings(game.geometry)
    with progress(count, "move", delay=0 if may_be_long else 2) as bar:
        return judge_in_time(game, start, seconds, bar.update)


def _with_short_proofs(game: Game, start: int, judged: Sequence[JudgedMove]) -> list[JudgedMove]:
    """All moves, with a bar."""
    with progress(len(game.positions(start)) - len(judged), "move", "short search") as bar:
        return with_short_proofs(game, start, judged, bar.update)


def _boards(game: Game, turning: Sequence[JudgedMove]) -> list[str]:
    """The positions in which the result was given away for the first and for the last time."""
    lines = []
    for move in dict.fromkeys([*turning[:1], *turning[-1:]]):
        position = Position.from_moves(game.moves[: move.ply], game.geometry)
        who = f"{game.player(move.seat)} ({STONES[1 + move.seat]})"
        lines.append(f"\nbefore ply {move.ply}, in which {who} played column {move.column}; best: {move.best}")
        lines.append(drawn(bytes(position.to_board()), game.geometry) + "\n")
    return lines


def drawn(board: bytes, geometry: Geometry) -> str:
    """The board as text, the bottom row last, below a line with the numbers of the columns."""
    lines = [" ".join(f"{column:>2}" for column in range(geometry.columns))]
    for row in range(geometry.rows):
        cells = board[row * geometry.columns : (row + 1) * geometry.columns]
        lines.append(" ".join(f" {STONES[cell]}" for cell in cells))
    return "\n".join(lines)


def game_summary(game: Game, judged: Sequence[JudgedMove], from_ply: int) -> str:
    """What the judged moves of a game show, in a line."""
    plies, given = len(game.moves), mistakes(judged)
    words = [game.ending_words] if game.fault else []
    unsolved = sorted({*game.positions(from_ply)} - {move.ply for move in judged if move.is_solved})
    after = [move for move in judged if not unsolved or move.ply > unsolved[-1]]
    if given:
        turning = given.pop()
        words.append(f"turning point of {game.player(turning.seat)}: {turning.words()}")
        others = [f"{game.player(m.seat)} on ply {m.ply} ({m.results[0]}, now {m.results[1]})" for m in given]
        words += [f"given away before: {', '.join(others)}"] if others else []
    elif after:
        words.append(_unturned(game, after[0], bool(unsolved)))
    elif not unsolved and game.opening >= plies:
        words.append("no move to judge after the opening")
    elif not unsolved:
        words.append(f"the game has {plies} plies, judged from ply {from_ply} on; --from-ply N judges earlier ones")
    if unsolved and not game.geometry.fits_word:
        words.append(f"not solved: {TOO_LARGE}")
    elif unsolved:
        words.append(f"not solved in time: ply {', '.join(map(str, unsolved))} (--time SECONDS gives them more)")
    return "; ".join(words)


def _unturned(game: Game, start: JudgedMove, unsolved: bool) -> str:
    """Of a game that nobody turned from a move on."""
    winner = start.seat if start.value.low > 0 else 1 - start.seat
    result = "drawn" if not start.value.result else f"won by {game.player(winner)}"
    words = f"no move from ply {start.ply} on changed the result: with perfect play the game was {result}"
    is_whole = unsolved or start.ply <= game.opening + 1  # of who lost, there may be no earlier move
    return words if is_whole else f"{words} (--from-ply N judges earlier ones)"


def games_of(what: str, games: int = LISTED) -> list[Game]:
    """Games by their text: the columns of a game on 7x6, or a path as ``games_in`` takes it.

    Raises:
        ValueError: it is neither.
    """
    if is_columns(what) and not Path(what).exists():
        return [parse_game(what, STANDARD)]
    left_out: list[str] = []
    found = games_in(Path(what), left_out, games)
    for line in left_out_lines(left_out):
        console_for_tables().print(line, soft_wrap=True)
    return found


def games_in(path: Path, left_out: list[str], games: int = LISTED) -> list[Game]:
    """The game of a replay, or the latest games of a file of games or of an archive of replays.

    Args:
        left_out: of what cannot be read in it, why is added here.
        games: how many of each group of a file of games.

    Raises:
        ValueError: the file is neither, or there is none.
    """
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder; expected a game's columns, a replay (.json) or a file of games (.sqlite)"
        )
    if is_database(path):
        return [game for group in grouped_games(path, left_out) for game in group[-games:]]
    if path.exists() or path.suffix == ".json":
        if found := [*replays_of(path, left_out)]:
            return found[-games:]
        raise ValueError(left_out[0] if left_out else f"{path} holds no replay")
    expected = (
        "expected columns from 0 (3342 or 3,10,3), a replay (.json), a folder of replays or a file of games (.sqlite)"
    )
    raise ValueError(f"{path}: no such file, and not a game's columns; {expected}")
