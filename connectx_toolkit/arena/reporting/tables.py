"""Results for people: tables for the terminal."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from connectx.geometry import Geometry
from connectx.score import plies_to_end
from connectx.solver import Value
from connectx_toolkit.arena.analysis.exact_analysis import JudgedMove, ProvenMove, accuracy
from connectx_toolkit.arena.results.match import Match, Side
from connectx_toolkit.arena.results.records import SEATS, Game
from connectx_toolkit.arena.results.tournament import Standing, Tournament
from connectx_toolkit.arena.results.words import kinds


def match_table(match: Match) -> Table:
    """Both agents, together and by seat: results, faults by kind, longest load, times without it, overage."""
    table = Table(title=f"{match.first.label} v {match.second.label}: {len(match.games)} games")
    table.add_column("agent")
    table.add_column("seat")
    for name in ("won", "drawn", "lost", "forfeits", "load s", "mean s", "worst s", "overage s"):
        table.add_column(name, justify="right")
    table.add_column("faults")
    for agent, spec in enumerate((match.first, match.second)):
        table.add_row(spec.label, "both", *_side_cells(match.side(agent)))
        for seat, name in enumerate(SEATS):
            table.add_row("", name, *_side_cells(match.side(agent, seat)), end_section=seat == 1)
    return table


def _side_cells(side: Side) -> list[str]:
    seconds = side.move_seconds or (0.0,)
    load = f"{max(side.load_seconds):.3f}" if side.load_seconds else "-"
    times = [sum(seconds) / len(seconds), max(seconds), side.overage_used]
    return [*map(str, side.tally), str(side.forfeits), load, *(f"{time:.3f}" for time in times), kinds(side.faults)]


PROVEN = {True: "proven", False: "too early to tell", None: ""}
LADDER_TITLES = (
    "", "agent", "Elo", "95% interval", "stronger than next", "games", "points", "as first", "as second", "forfeits",
    "worst s",
)  # fmt: skip
LADDER_NOTE = (
    "interval: 95%, of the difference to the mean of all agents; proven: stronger than the next agent, with at most 5% "
    "of ladders wrong anywhere; both hold however often you look"
)


def ladder_rows(standings: Sequence[Standing]) -> list[list[str]]:
    """The ladder's cells: agents by Elo, whether each is proven stronger than the next, its points, also by seat."""
    rows = []
    for rank, line in enumerate(standings, 1):
        elo, low, high, games, above = line.rating
        shares = [f"{share:.1%}" for share in (line.score, line.as_first, line.as_second)]
        rows.append([str(rank), line.name, f"{elo:.0f}", f"{low:.0f} to {high:.0f}", PROVEN[above], str(games)])
        rows[-1] += [*shares, str(line.forfeits), f"{line.worst_seconds:.2f}"]
    return rows


def ladder_table(standings: Sequence[Standing], anchor: str) -> Table:
    """The ladder for the terminal."""
    table = Table(title=f"Elo, {anchor} = {standings_elo(standings, anchor):g}", caption=LADDER_NOTE)
    for title in LADDER_TITLES:
        table.add_column(title, justify="left" if title == "agent" else "right")
    for row in ladder_rows(standings):
        table.add_row(*row)
    return table


def standings_elo(standings: Sequence[Standing], name: str) -> float:
    """An agent's Elo."""
    return next(line.rating.elo for line in standings if line.name == name)


def cross_table(tournament: Tournament, names: Sequence[str]) -> Table:
    """Share of the points of the agent on the left against the one above, in per cent."""
    cells = tournament.crosstable()
    table = Table(title="points of each row against each column, %")
    table.add_column("agent")
    for number in range(1, len(names) + 1):
        table.add_column(str(number), justify="right")
    for number, name in enumerate(names, 1):
        row = [f"{100 * cells[name, other][0]:.0f}" if (name, other) in cells else "" for other in names]
        table.add_row(f"{number} {name}", *row)
    return table


def accuracy_table(judged: Mapping[str, Sequence[JudgedMove]]) -> Table:
    """Good and perfect move rates by agent, seat and stage of the game."""
    table = Table(
        title="moves by exact score",
        caption="good: keeps the result, in positions that were not lost yet; perfect: has the best exact score; "
        "lost sooner: moves that shorten a lost game",
    )
    for name in ("agent", "part", "moves", "good move rate", "perfect move rate", "lost sooner"):
        table.add_column(name, justify="left" if name in ("agent", "part") else "right")
    for name, moves in sorted(judged.items()):
        parts = {"all": list(moves)}
        parts |= {seat: [move for move in moves if SEATS[move.seat] == seat] for seat in SEATS}
        last = max(move.ply for move in moves)
        for start in range(0, 1 + last, 10):
            parts[f"plies {start} to {min(start + 9, last)}"] = [
                move for move in moves if start <= move.ply < start + 10
            ]
        for part, chosen in parts.items():
            count, holding, kept, perfect = accuracy(chosen)
            if count:
                share = f"{kept / holding:.1%}" if holding else "-"
                sooner = str(sum(move.shortens_loss for move in chosen))
                table.add_row(name, part, str(count), share, f"{perfect / count:.1%}", sooner)
    return table


FOLDED = 3  # moves of a decided game that are told in one line, if there are so many


def moves_table(game: Game, judged: Sequence[JudgedMove], first_ply: int, proven: Sequence[ProvenMove] = ()) -> Table:
    """The moves from a ply on: whose it was, what it scored, what was best, and whether the result was kept.

    Of a game that was decided for good before its end, the moves from there on are one line.
    """
    table = Table(caption="scores: the result with perfect play, and the plies until then")
    for name in ("ply", "agent", "column", "the move", "best", "best columns", "result"):
        table.add_column(name, justify="right" if name in ("ply", "column") else "left")
    by_ply: dict[int, JudgedMove | ProvenMove] = {move.ply: move for move in judged}
    by_ply |= {move.ply: move for move in proven}
    plies = [*game.positions(first_ply)]
    decided = _decided_from(plies, by_ply)
    for ply in plies[:decided]:
        row = [str(ply), game.player(ply % 2), str(game.moves[ply])]
        move = by_ply.get(ply)
        if move is None:
            table.add_row(*row, "not solved in time")
            continue
        values = [value if isinstance(value, Value) else Value(value, value) for value in (move.played, move.value)]
        words = [score_words(value, ply, game.geometry) for value in values]
        style = None if move.kept_result else "bold red"
        table.add_row(*row, *words, move.best, _result_words(move), style=style)
    if decided < len(plies):
        folded = [move for ply in plies[decided:] if isinstance(move := by_ply[ply], JudgedMove)]
        loser = game.player(folded[-1].seat if folded[-1].value < 0 else 1 - folded[-1].seat)
        sooner = sum(move.shortens_loss for move in folded)
        shortened = f", shortened by {sooner} {'move' if sooner == 1 else 'moves'}" if sooner else ""
        table.add_row(f"{plies[decided]} to {plies[-1]}", loser, *[""] * 4, f"lost already{shortened}")
    return table


def score_words(value: Value, ply: int, geometry: Geometry) -> str:
    """The score of a move at this ply in words: its result, and after how many plies, the move included."""
    if value.result is None:
        return "at least a draw" if value.low == 0 else "at most a draw" if value.high == 0 else "not solved"
    words = {1: "wins", 0: "draws", -1: "loses"}[value.result]
    bound = value.low if value.result > 0 else value.high
    if bound == 0 or (abs(bound) == 1 and not value.exact):  # a bound that says no more than the result
        return words
    plies = plies_to_end(bound, ply, geometry.cells)
    return f"{words} in {'' if value.exact else 'at most '}{plies} {'ply' if plies == 1 else 'plies'}"


def _decided_from(plies: Sequence[int], judged: Mapping[int, JudgedMove | ProvenMove]) -> int:
    """The index of the ply, not the first, from which on all moves kept a win; their number if those are too few."""
    index = len(plies)
    while index > 1 and isinstance(move := judged.get(plies[index - 1]), JudgedMove):
        if move.value == 0 or not move.kept_result:
            break
        index -= 1
    return index if len(plies) - index >= FOLDED else len(plies)


def _result_words(move: JudgedMove | ProvenMove) -> str:
    if isinstance(move, ProvenMove) and move.kept_result:
        return "lost already" if move.value.high < 0 else "won, kept" if move.played.low > 0 else "not solved"
    if isinstance(move, JudgedMove) and not move.holds:
        return "lost already, shortened" if move.shortens_loss else "lost already"
    before, after = move.results
    return f"{before}, kept" if move.kept_result else f"<- {before}, given away: {after}"
