"""The tables that commands print and pages show; each column is declared once.

Of single games they tell where each one turned, and how good its moves were.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from connectx_core.position import Geometry, Position, plies_to_end, write_columns
from connectx_toolkit.games.analysis import JudgedMove, accuracy, mistakes
from connectx_toolkit.games.database import Played
from connectx_toolkit.games.exploring import Explored
from connectx_toolkit.games.game import MOVING, SEATS, Game
from connectx_toolkit.games.review import POINTS_WORDS, Review, moves_by_agent
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.foreign import left_out_lines, printable
from connectx_toolkit.system.table import Column, Part, Shown, Table, Told, percent

__all__ = ["Analysis"]

NAMED = 3  # players of a move that are named


# The moves of games

ACCURACY = (
    *("agent", "part", "moves"),
    Column("good move rate", show=percent, help="moves that keep the result, in positions that were not lost yet"),
    Column("perfect move rate", show=percent, help="moves with the best exact score"),
    Column("lost sooner", help="moves that shorten a lost game"),
)


def accuracy_table(judged: Mapping[str, Sequence[JudgedMove]]) -> Table:
    """Good and perfect move rates by agent, seat and stage of the game."""
    rows = []
    for name, moves in sorted(judged.items()):
        parts = {"all": list(moves)}
        parts |= {seat: [move for move in moves if MOVING[move.seat] == seat] for seat in MOVING}
        last = max(move.ply for move in moves)
        for start in range(0, 1 + last, 10):
            stage = f"plies {start} to {min(start + 9, last)}"
            parts[stage] = [move for move in moves if start <= move.ply < start + 10]
        for part, chosen in parts.items():
            count, holding, kept, perfect = accuracy(chosen)
            if count:
                sooner = sum(move.shortens_loss for move in chosen)
                rows.append((name, part, count, kept / holding if holding else None, perfect / count, sooner))
    return Table("moves by exact score", ACCURACY, rows, names=2)


FOLDED = 3  # moves of a decided game that are told in one line, if there are so many
GIVEN = "<- "  # what is told of a move that gave the result away begins with it
MOVE_COLUMNS = (
    *(Column("ply", align="right"), "agent", Column("move", align="right")),
    *("score", "best score", "best moves", "result"),
)


def moves_table(game: Game, judged: Sequence[JudgedMove], first: int) -> Table:
    """Moves, in order: whose it was, what it scored, what was best, and whether the result was kept.

    Positions that were not solved are a line. Of a game that was decided for good before its end, the moves from there
    on are one line. ``first``: the number of the leftmost column.
    """
    decided = _decided_from(judged)
    rows, ply = list[tuple[str, ...]](), game.opening
    for move in judged[:decided]:
        if move.ply > ply:
            rows.append(_unsolved_row(ply, move.ply))
        ply = move.ply + 1
        words = [score_words(value, move.ply, game.geometry) for value in (move.played, move.value)]
        who = (str(move.ply), game.player(move.seat), str(move.column + first))
        rows.append((*who, *words, move.best(first).replace(",", ""), _result_words(move)))
    if judged and ply < (end := judged[decided].ply if judged[decided:] else len(game.moves)):
        rows.append(_unsolved_row(ply, end))
    if folded := judged[decided:]:
        loser = game.player(folded[-1].seat if folded[-1].value < 0 else 1 - folded[-1].seat)
        sooner = sum(move.shortens_loss for move in folded)
        shortened = f", shortened by {sooner} {'move' if sooner == 1 else 'moves'}" if sooner else ""
        rows.append((f"{folded[0].ply}-{folded[-1].ply}", loser, *[""] * 4, f"lost already{shortened}"))
    note = "scores: the result with perfect play, and in how many plies" + "; columns are counted from 1" * first
    return Table("", MOVE_COLUMNS, rows, note, lambda row: "given away" if row[-1].startswith(GIVEN) else "")


def _unsolved_row(first: int, end: int) -> tuple[str, ...]:
    """The row of the plies from ``first`` on, before ``end``."""
    return (str(first) if end == first + 1 else f"{first}-{end - 1}", *[""] * 5, "not solved in time")


def score_words(score: int, ply: int, geometry: Geometry) -> str:
    """The score of a move at this ply in words: its result, and after how many plies, the move included."""
    if not score:
        return "draws"
    return f"{'wins' if score > 0 else 'loses'} in {plies_to_end(score, ply, geometry.cells)}"


def _decided_from(judged: Sequence[JudgedMove]) -> int:
    """The index of the move, not the first, from which on all kept a win; their number if those are too few."""
    index = len(judged)
    while index > 1 and (move := judged[index - 1]).value and move.kept_result:
        index -= 1
    return index if len(judged) - index >= FOLDED else len(judged)


def _result_words(move: JudgedMove) -> str:
    if move.value < 0:
        return "lost sooner" if move.shortens_loss else "lost already"
    before, after = move.results
    return f"{before}, kept" if move.kept_result else f"{GIVEN}{before} to {after}"


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
    return f"ply {mistake.ply}: {mistake.choice}"


GAME_COLUMNS = (  # of reviews
    Column("game", lambda review: review.game.name, classes="tablet"),
    Column("opponent", attrgetter("opponent")),
    Column("seat", lambda review: SEATS[review.own_seat], classes="tablet"),
    Column("result", lambda review: POINTS_WORDS[review.score], classes="result"),
    Column("ended by", ending_words, classes="ended"),
    Column("plies", lambda review: len(review.game.moves), classes="tablet"),
    Column("overage s", lambda review: review.game.overage_used(review.own_seat), help="overage time that you used",
           align="right", classes="tablet desk"),
    Column("slowest", lambda review: review.game.slowest(review.own_seat),
           lambda move: f"{move[1]:.1f} s, ply {move[0]}", classes="tablet",
           help="your slowest move (the first one includes loading the agent)"),
    Column("first mistake", lambda review: next(iter(review.mistakes), None), mistake_words,
           help="a move of yours that made the result worse", classes="broad"),
    Column("last mistake", lambda review: next(reversed(review.mistakes), None), mistake_words),
)  # fmt: skip


def games_table(team: str, reviews: Sequence[Review]) -> Table:
    """A row a game, from the team's seat."""
    note = "plies and columns are counted from 0"
    return Table(f"games of {team}", GAME_COLUMNS, reviews, note, lambda review: POINTS_WORDS[review.score], names=2)


# One's submissions

SUBMISSION_COLUMNS = (  # of the SDK's ApiSubmission
    Column("number", lambda one: one.ref),
    Column("date", lambda one: one.date or None, "{:%Y-%m-%d %H:%M}".format),
    Column("status", lambda one: one.status.name.lower()),
    Column("score", lambda one: one.public_score, printable, align="right"),
    Column("file", lambda one: one.file_name, printable),
    Column("message", lambda one: one.description, printable),
)


def submissions_table(submissions: Sequence[Any]) -> Table:
    """A row for each submission on Kaggle."""
    return Table("your submissions", SUBMISSION_COLUMNS, submissions)


# The database of games

PLAYED = (
    Column("column", align="right"),
    Column("games", align="right"),
    Column("points", show="{:.0%}".format, help="of who made the move; a win is 100%", align="right"),
    Column("won"),
    Column("drawn"),
    Column("lost"),
    Column("exact", help="the result with perfect play, and in how many plies; * is best"),
    "by whom",
)


def explored_parts(found: Explored) -> Told:
    """A row for each move that was played in a position, and for each other legal one its exact score."""
    position, played, scores = found.position, found.played, found.scores
    after = write_columns(found.columns) or "the empty board"
    total = sum(one.games for one in played)
    rows: list[tuple[object, ...]] = []
    for one in played:
        games = f"{one.games} ({100 * one.games / total:.0f}%)"
        words = (one.won, one.drawn, one.lost, exact_words(position, scores, one.column), players_words(one))
        rows.append((column_words(position, one.column), games, one.points, *words))
    for column in _not_played(position, played):
        exact = exact_words(position, scores, column)
        rows.append((column_words(position, column), "-", None, None, None, None, exact, None))
    to_move = f"the {'second' if position.ply % 2 else 'first'} player is to move"
    title = f"after {after}: {'the game is over' if position.is_over() else to_move}"
    none = [] if played else [f"no game that fits went on from here: {after}"]
    return Told([*found.notes, *none, Table(title, PLAYED, rows), *left_out_lines(found.left_out)])


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
    """ "wins in 9", "draws"; "?" where it is not known. The best moves have a star."""
    if scores is None or (score := scores[column]) is None:
        return "?"
    words = score_words(score, position.ply, position.geometry)
    return f"{words} *" if score == max(one for one in scores if one is not None) else words


def players_words(played: Played) -> str:
    """ "my_team 12, them 3, and 4 more"."""
    named = ", ".join(f"{name} {games}" for name, games in played.players[:NAMED])
    more = len(played.players) - NAMED
    return f"{named}, and {more} more" if more > 0 else named


TOO_LARGE = "boards of more than 64 bits cannot be solved"
STONES = ".XO"  # empty, who moves first, who moves second


class Analysis(Shown):
    """Review games: where each turned, and how good the moves were; of a single one, every move.

    Attributes:
        games: in the order in which they were given.
        left_out: what was no such game, and why.
        first: the number of the leftmost column in what is shown, 0 or 1.
    """

    def __init__(self, games: Sequence[Review], left_out: Sequence[str] = (), first: int = 0):
        self.games, self.left_out, self.first = games, left_out, first

    def accuracy(self) -> list[Table]:
        """Good and perfect move rates by agent, if a move was judged."""
        by_agent = moves_by_agent(self.games)
        return [accuracy_table(by_agent)] if by_agent else []

    def parts(self) -> list[Part]:
        pieces = [part for one in self.games for part in game_parts(one, len(self.games) == 1, self.first)]
        return [*pieces, *self.accuracy(), *left_out_lines(self.left_out)]

    def document(self) -> dict[str, Any]:
        """The same for machines, as JSON has it; columns from 0."""
        judged = [[{**move._asdict(), "best": move.best_columns} for move in one.moves] for one in self.games]
        more = [{"players": one.game.names, "judged": of_one} for one, of_one in zip(self.games, judged, strict=True)]
        games = [one.row() | of_one for one, of_one in zip(self.games, more, strict=True)]
        return {"games": games, "left_out": [*self.left_out]}


def game_parts(one: Review, is_alone: bool, first: int) -> list[Part]:
    """What a game shows: where it turned; if it is alone, every move, too, and what the clocks tell."""
    game, pieces = one.game, list[Part]()
    if is_alone and game.opening < len(game.moves):
        pieces += [moves_table(game, one.moves, first), *_boards(game, one.mistakes, first)]
    words, moves = game_summary(game, one.moves, first), write_columns([column + first for column in game.moves])
    pieces.append(f"{game.names[0]} v {game.names[1]}, {moves or 'no moves'}: {words}")
    return [*pieces, *(words for seat in (0, 1) if is_alone and (words := _clock_words(game, seat)))]


def _clock_words(game: Game, seat: int) -> str:
    """ "my_team: 3.1 s of 60 s overage time used, slowest move 4.2 s on ply 8"; "" if nothing is known."""
    slowest, used, words = game.slowest(seat), game.overage_used(seat), list[str]()
    if used is not None and game.reserve is not None and game.overage:
        words.append(f"{used:.1f} s of {game.reserve[seat]:g} s overage time used")
    if slowest:
        words.append(f"slowest move {slowest[1]:.1f} s on ply {slowest[0]}")
    return f"{game.player(seat)}: {', '.join(words)}" if words else ""


def _boards(game: Game, turning: Sequence[JudgedMove], first: int) -> list[str]:
    """The positions in which the result was given away for the first and for the last time."""
    lines = []
    for move in dict.fromkeys([*turning[:1], *turning[-1:]]):
        position = Position.from_moves(game.moves[: move.ply], game.geometry)
        who = f"{game.player(move.seat)} ({STONES[1 + move.seat]})"
        played = f"column {move.column + first}; best: {move.best(first)}"
        lines.append(f"\nbefore ply {move.ply}, in which {who} played {played}")
        lines.append(board_text(bytes(position.to_board()), game.geometry, first) + "\n")
    return lines


def board_text(board: bytes, geometry: Geometry, first: int) -> str:
    """The board as text, the bottom row last, below a line with the numbers of the columns."""
    lines = [" ".join(f"{column:>2}" for column in range(first, first + geometry.columns))]
    for row in range(geometry.rows):
        cells = board[row * geometry.columns : (row + 1) * geometry.columns]
        lines.append(" ".join(f" {STONES[cell]}" for cell in cells))
    return "\n".join(lines)


def game_summary(game: Game, judged: Sequence[JudgedMove], first: int) -> str:
    """What the judged moves of a game show, in a line."""
    given = mistakes(judged)
    words = [game.ending_words] if game.fault else []
    unsolved = sorted({*game.positions(game.opening)} - {move.ply for move in judged})
    after = [move for move in judged if not unsolved or move.ply > unsolved[-1]]
    if given:
        turning = given.pop()
        words.append(f"turning point of {game.player(turning.seat)}: {turning.words(first)}")
        words += [f"earlier mistakes on plies {', '.join(str(move.ply) for move in given)}"] if given else []
    elif after:
        start = after[0]
        winner = game.player(start.seat if start.value > 0 else 1 - start.seat)
        result = f"won by {winner}" if start.value else "drawn"
        words.append(f"no move from ply {start.ply} on changed the result: with perfect play the game was {result}")
    elif not unsolved:
        words.append("no move to judge")
    if unsolved and not game.geometry.fits_word:
        words.append(f"not solved: {TOO_LARGE}")
    elif unsolved:
        limit = as_option("seconds", "SECONDS")
        words.append(f"not solved in time: ply {', '.join(map(str, unsolved))} ({limit} gives them more)")
    return "; ".join(words)
