"""Results for people: tables for the terminal."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from math import isinf
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from arena.analysis import JudgedMove, accuracy
from arena.match import Match, Side
from arena.records import SEATS
from arena.rules import Fault, Game
from arena.stats import Estimate, Sprt, estimate, verdict
from arena.tournament import Standing, Tournament
from connectx.geometry import Geometry

SHORT_LOAD = 0.05  # seconds of a load that are not worth a word
LINE_EVERY = 30.0  # seconds between lines of progress in a log
FEWEST_PAIRS = 10  # that an interval is given for where one side won everything
MANY_FORFEITS = 0.1  # of the games: more say little of strength


def console_for_tables() -> Console:
    """Standard output; wide enough for our tables where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 140)


class _Lines:
    """Standard error that is no terminal, as a file for tqdm: each state of the bar is a line of its own."""

    def write(self, text: str) -> None:
        if line := text.strip():
            print(line, file=sys.stderr)

    def flush(self) -> None:
        sys.stderr.flush()


def _in_notebook() -> bool:
    """Whether a kernel runs this code. That ipykernel is loaded would not tell: whoever lists kernels loads it."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def progress(total: int, unit: str, delay: float = 2.0) -> tqdm:
    """A bar on standard error, from ``delay`` seconds on, 0 at once; a line every ``LINE_EVERY`` seconds in a log."""
    bar = partial(tqdm, total=total, unit=unit, leave=False)
    if sys.stderr.isatty() or _in_notebook():
        return bar(delay=delay)
    return bar(delay=LINE_EVERY if delay else 0, mininterval=LINE_EVERY, miniters=1, file=_Lines(), ncols=80)


def check_folder(path: Path | None) -> None:
    """Raises ValueError, before any work is done, if a file cannot be written there: no folder, or it is one."""
    if path is not None and path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder")
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {path.parent}")


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name and renames it: a reader sees all of it or none."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)  # where the disk was full


def signed(elo: float) -> str:
    """An Elo difference as text: +12, -3, +inf."""
    return f"{elo:+.0f}"


def interval(result: Estimate) -> str:
    """ "Elo +55 [+28, +83] (95%)", an end that the games do not bound is infinite; or that they are too few for it."""
    if isinf(result.elo) and result.pairs < FEWEST_PAIRS:
        return "too few games for Elo"
    return f"Elo {signed(result.elo)} [{signed(result.low)}, {signed(result.high)}] (95%)"


def kinds(faults: Counter) -> str:
    """ "2 timeout, 1 crash", or nothing."""
    return ", ".join(f"{count} {kind}" for kind, count in faults.most_common())


def match_table(match: Match) -> Table:
    """Both agents, together and by seat: results, faults by kind, longest load, times of moves without it, bank."""
    table = Table(title=f"{match.first.label} v {match.second.label}: {len(match.games)} games")
    table.add_column("agent")
    table.add_column("seat")
    for name in ("won", "drawn", "lost", "forfeits", "load s", "mean s", "worst s", "bank s"):
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
    times = [sum(seconds) / len(seconds), max(seconds), side.bank_used]
    return [*map(str, side.tally), str(side.forfeits), load, *(f"{time:.3f}" for time in times), kinds(side.faults)]


def fault_words(game: Game, fault: Fault) -> str:
    """ "first on ply 6: 36.1 s load + 5.2 s": where a fault was, and its reason; of a timeout, what took the time."""
    reason = fault.detail.strip().splitlines()[-1:] or [fault.kind]
    load = game.loads[fault.seat] if game.loads else 0.0
    if fault.kind == "timeout" and load >= SHORT_LOAD:
        reason = [f"{load:.1f} s load + {game.move_seconds(fault.ply - game.opening):.1f} s"]
    return f"first on ply {fault.ply}: {reason[0]:.160}"


def match_lines(match: Match, sprt: Sprt | None = None, within: float = 20.0) -> list[str]:
    """What the pairs prove: Elo with interval, likelihood of superiority, SPRT, and plain words."""
    counts, lines = match.counts, fault_lines(match)
    if not sum(counts):
        return [*lines, "no complete pair of games: nothing can be said"]
    result = estimate(counts)
    lines += [
        f"{interval(result)}, likelihood of superiority {result.superiority:.1%}, "
        f"pairs by points 0 to 2 in halves: {counts}"
    ]
    repeated = result.pairs - len({match.games[number].moves[: match.games[number].opening] for number in match.games})
    if repeated > 0:
        lines.append(f"{repeated} of {result.pairs} pairs repeat an opening: deterministic agents repeat the game too")
    if sprt:
        lower, upper = sprt.bounds
        lines.append(
            f"SPRT of {sprt.elo1:g} against {sprt.elo0:g} Elo: LLR {sprt.llr(counts):.2f} in "
            f"({lower:.2f}, {upper:.2f}), {sprt.accepted(counts) or 'neither'} accepted"
        )
    return [*lines, verdict(counts, *match.names, within), *forfeits_line(match)]


def fault_lines(match: Match) -> list[str]:
    """ "my_agent.py, 3 timeout (first on ply 6: ...)", a line for each kind of fault of either agent."""
    lines = []
    for agent, name in enumerate(match.names):
        counts = match.side(agent).faults
        for kind, (game, fault) in match.first_faults(agent).items():
            lines.append(f"{name}, {counts[kind]} {kind} ({fault_words(game, fault)})")
    return lines


def forfeits_line(match: Match) -> list[str]:
    """A warning where many games did not end on the board."""
    forfeits, games = sum(match.side(agent).forfeits for agent in (0, 1)), len(match.games)
    if forfeits <= MANY_FORFEITS * games:
        return []
    return [f"{forfeits} of {games} games were forfeits: this measures faults more than strength"]


def lost_game_line(match: Match, geometry: Geometry) -> list[str]:
    """How to see where the first agent gave a game away that it lost on the board: of all, the longest turned late."""
    lost = [record for record in match.lost(0, geometry) if record.forfeit is None] if geometry.fits_word else []
    longest = sorted(lost, key=lambda record: -len(record.moves))[:1]
    return [f"a game that {match.names[0]} lost: {record.command}" for record in longest]


LADDER_TITLES = (
    "", "agent", "Elo", "95% interval", "above next", "games", "points", "as first", "as second", "forfeits", "worst s"
)  # fmt: skip
LADDER_NOTE = "intervals: of the difference to the pool's mean; above next: how sure it is that it is stronger"


def ladder_rows(standings: Sequence[Standing]) -> list[list[str]]:
    """The ladder's cells: agents by Elo, how surely each stands above the next, its points, also by seat."""
    rows = []
    for rank, line in enumerate(standings, 1):
        elo, low, high, games, above = line.rating
        shares = [f"{share:.1%}" for share in (line.score, line.as_first, line.as_second)]
        rows.append([str(rank), line.name, f"{elo:.0f}", f"{low:.0f} to {high:.0f}", likelihood(above), str(games)])
        rows[-1] += [*shares, str(line.forfeits), f"{line.worst_seconds:.2f}"]
    return rows


def likelihood(probability: float | None) -> str:
    """ "97.5%"; never 100%, which no games prove."""
    if probability is None:
        return ""
    return "> 99.9%" if probability > 0.999 else f"{probability:.1%}"


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
    table = Table(title="points of row against column, %")
    table.add_column("agent")
    for number in range(1, len(names) + 1):
        table.add_column(str(number), justify="right")
    for number, name in enumerate(names, 1):
        row = [f"{100 * cells[name, other][0]:.0f}" if (name, other) in cells else "" for other in names]
        table.add_row(f"{number} {name}", *row)
    return table


def accuracy_table(judged: Mapping[str, Sequence[JudgedMove]]) -> Table:
    """Moves that kept the result, and perfect ones, by agent, seat and stage of the game."""
    table = Table(title="moves by exact value", caption="kept the result: of moves in positions that were not lost yet")
    for name in ("agent", "of", "moves", "kept the result", "perfect"):
        table.add_column(name, justify="left" if name in ("agent", "of") else "right")
    for name, moves in sorted(judged.items()):
        parts = {"all": list(moves)}
        parts |= {seat: [move for move in moves if SEATS[move.seat] == seat] for seat in SEATS}
        for start in range(0, 1 + max(move.ply for move in moves), 10):
            parts[f"plies {start} to {start + 9}"] = [move for move in moves if start <= move.ply < start + 10]
        for part, chosen in parts.items():
            count, holding, kept, perfect = accuracy(chosen)
            if count:
                share = f"{kept / holding:.1%}" if holding else "-"
                table.add_row(name, part, str(count), share, f"{perfect / count:.1%}")
    return table
