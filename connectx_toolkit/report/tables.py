"""The tables that commands print and pages show; each column is declared once.

Of single games they tell where each one turned, and how good its moves were.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from connectx.exact import has_openings
from connectx.position import STANDARD, Geometry, Position, plies_to_end, write_columns
from connectx_toolkit.games.analysis import (
    GAME_SECONDS,
    JudgedMove,
    accuracy,
    first_judged,
    judge_in_time,
    mistakes,
    solvers_for,
)
from connectx_toolkit.games.database import Played, is_database
from connectx_toolkit.games.game import SEATS, Game, is_columns, parse_game
from connectx_toolkit.games.replay import replays_of
from connectx_toolkit.games.review import RESULTS, Review
from connectx_toolkit.games.review import SEATS as SEAT
from connectx_toolkit.games.tournament import grouped_games
from connectx_toolkit.system.console import as_option, at_python, progress
from connectx_toolkit.system.foreign import left_out_lines
from connectx_toolkit.system.table import Column, Part, Shown, Table, percent, print_parts

__all__ = ["Analysis", "Judged"]

NAMED = 3  # players of a move that are named


# The moves of games

ACCURACY = (
    "agent",
    "part",
    "moves",
    Column("good move rate", show=percent, help="moves that keep the result, in positions that were not lost yet"),
    Column("perfect move rate", show=percent, help="moves with the best exact score"),
    Column("lost sooner", help="moves that shorten a lost game"),
)


def accuracy_table(judged: Mapping[str, Sequence[JudgedMove]]) -> Table:
    """Good and perfect move rates by agent, seat and stage of the game."""
    rows = []
    for name, moves in sorted(judged.items()):
        parts = {"all": list(moves)}
        parts |= {seat: [move for move in moves if SEATS[move.seat] == seat] for seat in SEATS}
        last = max(move.ply for move in moves)
        for start in range(0, 1 + last, 10):
            stage = f"plies {start} to {min(start + 9, last)}"
            parts[stage] = [move for move in moves if start <= move.ply < start + 10]
        for part, chosen in parts.items():
            count, holding, kept, perfect = accuracy(chosen)
            if count:
                sooner = sum(move.shortens_loss for move in chosen)
                rows.append((name, part, count, kept / holding if holding else None, perfect / count, sooner))
    return Table("moves by exact score", ACCURACY, rows)


FOLDED = 3  # moves of a decided game that are told in one line, if there are so many
GIVEN = "<- "  # what is told of a move that gave the result away begins with it
MOVES = (
    Column("ply", align="right"),
    "agent",
    Column("column", align="right"),
    "the move",
    "best",
    "best columns",
    "result",
)


def moves_table(game: Game, judged: Sequence[JudgedMove]) -> Table:
    """Moves, in order: whose it was, what it scored, what was best, and whether the result was kept.

    Of a game that was decided for good before its end, the moves from there on are one line.
    """
    decided = _decided_from(judged)
    rows = [_move_cells(game, move) for move in judged[:decided]]
    if folded := judged[decided:]:
        loser = game.player(folded[-1].seat if folded[-1].value < 0 else 1 - folded[-1].seat)
        sooner = sum(move.shortens_loss for move in folded)
        shortened = f", shortened by {sooner} {'move' if sooner == 1 else 'moves'}" if sooner else ""
        rows.append((f"{folded[0].ply} to {folded[-1].ply}", loser, *[""] * 4, f"lost already{shortened}"))
    note = "scores: the result with perfect play, and the plies until then"
    return Table("", MOVES, rows, note, lambda row: "given away" if row[-1].startswith(GIVEN) else "")


def _move_cells(game: Game, move: JudgedMove) -> tuple[str, ...]:
    words = (score_words(value, move.ply, game.geometry) for value in (move.played, move.value))
    row = (str(move.ply), game.player(move.seat), str(move.column))
    return (*row, *words, move.best, _result_words(move))


def score_words(score: int, ply: int, geometry: Geometry) -> str:
    """The score of a move at this ply in words: its result, and after how many plies, the move included."""
    if not score:
        return "draws"
    plies = plies_to_end(score, ply, geometry.cells)
    return f"{'wins' if score > 0 else 'loses'} in {plies} {'ply' if plies == 1 else 'plies'}"


def _decided_from(judged: Sequence[JudgedMove]) -> int:
    """The index of the move, not the first, from which on all kept a win; their number if those are too few."""
    index = len(judged)
    while index > 1 and (move := judged[index - 1]).value and move.kept_result:
        index -= 1
    return index if len(judged) - index >= FOLDED else len(judged)


def _result_words(move: JudgedMove) -> str:
    if move.value < 0:
        return "lost already, shortened" if move.shortens_loss else "lost already"
    before, after = move.results
    return f"{before}, kept" if move.kept_result else f"{GIVEN}{before}, given away: {after}"


# One's own games


def ending_words(review: Review) -> str:
    """How a game ended; of whom, where that was not its winner's line."""
    game = review.game
    if game.fault is None:
        return game.ending_words if game.line is None else f"{game.geometry.inarow} in a row"
    who = "own" if game.fault.seat == review.seat else "their"
    detail = f": {game.fault_detail}" if game.fault_detail else ""
    return f"{who} {game.fault.family}, ply {game.fault.ply}{detail}"


def mistake_words(mistake: JudgedMove) -> str:
    """ "ply 9: 2, best 3 4"."""
    return f"ply {mistake.ply}: {mistake.column}, best {' '.join(map(str, mistake.best_columns))}"


GAMES = (  # of reviews
    Column("game", lambda review: review.game.name, classes="tablet"),
    Column("opponent", attrgetter("opponent")),
    Column("seat", lambda review: SEAT[review.seat], classes="tablet"),
    Column("result", lambda review: RESULTS[review.score], classes="result"),
    Column("ended by", ending_words, classes="ended"),
    Column("plies", lambda review: len(review.game.moves), classes="tablet"),
    Column("overage s", lambda review: review.game.overage_used(review.seat), help="overage time that you used",
           align="right", classes="tablet desk"),
    Column("slowest", lambda review: review.game.slowest(review.seat), lambda move: f"{move[1]:.1f} s, ply {move[0]}",
           help="your slowest move (the first one includes loading the agent)", classes="tablet"),
    Column("first mistake", lambda review: next(iter(review.mistakes), None), mistake_words,
           help="a move of yours that made the result worse", classes="broad"),
    Column("last mistake", lambda review: next(reversed(review.mistakes), None), mistake_words),
)  # fmt: skip


def games_table(team: str, reviews: Sequence[Review]) -> Table:
    """A row a game, from the team's seat."""
    note = "plies and columns are counted from 0"
    return Table(f"games of {team}", GAMES, reviews, note, lambda review: RESULTS[review.score])


# The database of games

PLAYED = (
    Column("column", align="right"),
    Column("games", align="right"),
    Column(
        "points",
        show=lambda share: f"{100 * share:.0f}%",
        help="of the player who made the move, a win being 100%",
        align="right",
    ),
    Column("won"),
    Column("drawn"),
    Column("lost"),
    Column("exact", help="with perfect play of both sides"),
    "by whom",
)


def played_table(
    title: str, position: Position, played: Sequence[Played], scores: Sequence[int | None] | None
) -> Table:
    """A row for each move that was played, and for each other legal one its exact score.

    Args:
        scores: exact scores by column; None if they are not known.
    """
    total = sum(one.games for one in played)
    rows: list[tuple[object, ...]] = []
    for one in played:
        games = f"{one.games} ({100 * one.games / total:.0f}%)"
        found = (one.won, one.drawn, one.lost, exact_words(position, scores, one.column), players_words(one))
        rows.append((column_words(position, one.column), games, one.points, *found))
    for column in _not_played(position, played):
        exact = exact_words(position, scores, column)
        rows.append((column_words(position, column), "-", None, None, None, None, exact, None))
    return Table(title, PLAYED, rows)


def _not_played(position: Position, played: Sequence[Played]) -> list[int]:
    """The other legal columns; of a symmetric position without the mirror images."""
    last, known = position.geometry.columns - 1, {one.column for one in played}
    is_symmetric = position == position.mirror()
    legal = [] if position.is_over() else position.legal_columns()
    return [c for c in legal if c not in known and not (is_symmetric and c > last - c)]


def column_words(position: Position, column: int) -> str:
    """ "2", or "2 or 4" in a symmetric position, where both are the same."""
    mirrored = position.geometry.columns - 1 - column
    return f"{column} or {mirrored}" if position == position.mirror() and mirrored != column else str(column)


def exact_words(position: Position, scores: Sequence[int | None] | None, column: int) -> str:
    """ "wins in 9 plies", "draws"; "?" where it is not known. The best moves have a star."""
    if scores is None or (score := scores[column]) is None:
        return "?"
    words = score_words(score, position.ply, position.geometry)
    return f"{words} *" if score == max(one for one in scores if one is not None) else words


def players_words(played: Played) -> str:
    """ "my_team 12, them 3, and 4 more"."""
    named = ", ".join(f"{name} {games}" for name, games in played.players[:NAMED])
    more = len(played.players) - NAMED
    return f"{named}, and {more} more" if more > 0 else named


LISTED = 10  # games of each group of a file of games, unless it is asked for more
TOO_LARGE = "boards of more than 64 bits cannot be solved"
STONES = ".XO"  # empty, who moves first, who moves second
LONG_BEFORE = 8  # plies: one position of fewer stones can take the solver longer than anyone waits without a word


class Judged(NamedTuple):
    """A game with its judged moves.

    Attributes:
        moves: those that could be solved in time.
        from_ply: the first ply that was judged.
        is_alone: then every move is shown, else where the game turned.
    """

    game: Game
    moves: list[JudgedMove]
    from_ply: int
    is_alone: bool

    @property
    def mistakes(self) -> list[JudgedMove]:
        """The moves that gave a result away."""
        return mistakes(self.moves)

    def parts(self) -> list[Part]:
        game, found = self.game, list[Part]()
        if self.is_alone and self.from_ply < len(game.moves):
            found += [moves_table(game, self.moves), *_boards(game, self.mistakes)]
        words = game_summary(game, self.moves, self.from_ply)
        return [*found, f"{game.names[0]} v {game.names[1]}, {write_columns(game.moves)}: {words}"]


class Analysis(Shown):
    """Judged games: where each turned, and how good the moves were.

    Attributes:
        games: in the order in which they were given.
    """

    def __init__(self, games: list[Judged]):
        self.games = games

    def accuracy(self) -> list[Table]:
        """Good and perfect move rates by agent, if a move was judged."""
        by_agent: dict[str, list[JudgedMove]] = {}
        for game, moves, *_ in self.games:
            for move in moves:
                by_agent.setdefault(game.names[move.seat], []).append(move)
        return [accuracy_table(by_agent)] if by_agent else []

    def parts(self) -> list[Part]:
        return [*(part for one in self.games for part in one.parts()), *self.accuracy()]


def analysed(games: Sequence[Game], from_ply: int | None = None, seconds: float = GAME_SECONDS) -> Iterator[Judged]:
    """Judges the moves of games, one game after the other.

    Args:
        from_ply: the first ply to judge; moves of an opening are never judged. None: ``first_judged``.
        seconds: time limit per game.
    """
    is_alone = len(games) == 1
    for game in games:
        start = first_judged(game, from_ply)
        moves = judged(game, start, seconds)
        yield Judged(game, moves, start, is_alone)


def show_games(games: Sequence[Game], from_ply: int | None = None, seconds: float = GAME_SECONDS) -> None:
    """Prints an analysis while it is made; the arguments are those of ``analysed``."""
    found = Analysis([])
    for one in analysed(games, from_ply, seconds):
        found.games.append(one)
        print_parts(one.parts())
    print_parts(found.accuracy())


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
    unsolved = sorted({*game.positions(from_ply)} - {move.ply for move in judged})
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
        words.append(f"the game has {plies} plies, judged from ply {from_ply} on; {_earlier()}")
    if unsolved and not game.geometry.fits_word:
        words.append(f"not solved: {TOO_LARGE}")
    elif unsolved:
        limit = "seconds=SECONDS" if at_python() else "--time SECONDS"
        words.append(f"not solved in time: ply {', '.join(map(str, unsolved))} ({limit} gives them more)")
    return "; ".join(words)


def _earlier() -> str:
    return f"{as_option('from-ply', 'N')} judges earlier ones"


def _unturned(game: Game, start: JudgedMove, unsolved: bool) -> str:
    """Of a game that nobody turned from a move on."""
    winner = start.seat if start.value > 0 else 1 - start.seat
    result = "drawn" if not start.value else f"won by {game.player(winner)}"
    words = f"no move from ply {start.ply} on changed the result: with perfect play the game was {result}"
    is_whole = unsolved or start.ply <= game.opening + 1  # of who lost, there may be no earlier move
    return words if is_whole else f"{words} ({_earlier()})"


def games_of(what: str, games: int = LISTED) -> list[Game]:
    """Games by their text: the columns of a game on 7x6, or a path as ``games_in`` takes it.

    Raises:
        ValueError: it is neither.
    """
    if is_columns(what) and not Path(what).exists():
        return [parse_game(what, STANDARD)]
    left_out: list[str] = []
    found = games_in(Path(what), left_out, games)
    print_parts(left_out_lines(left_out))
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
