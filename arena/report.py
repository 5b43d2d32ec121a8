"""Results for people: tables for the terminal."""

from collections import Counter

from rich.table import Table

from arena.match import Match, Side
from arena.stats import Estimate, Sprt, estimate, verdict

SEATS = ("moving first", "moving second")


def signed(elo: float) -> str:
    """An Elo difference as text: +12, -3, +inf."""
    return f"{elo:+.0f}"


def interval(result: Estimate) -> str:
    """ "+55 [+28, +83]"; an end that the games do not bound is infinite."""
    return f"{signed(result.elo)} [{signed(result.low)}, {signed(result.high)}]"


def kinds(faults: Counter) -> str:
    """ "2 timeout, 1 crash", or nothing."""
    return ", ".join(f"{count} {kind}" for kind, count in faults.most_common())


def match_table(match: Match) -> Table:
    """Both agents, together and by seat: results, faults by kind, times and bank."""
    table = Table(title=f"{match.first.label} v {match.second.label}: {len(match.games)} games")
    table.add_column("agent")
    table.add_column("seat")
    for name in ("won", "drawn", "lost", "forfeits", "mean s", "worst s", "bank s"):
        table.add_column(name, justify="right")
    table.add_column("faults")
    for agent, spec in enumerate((match.first, match.second)):
        table.add_row(spec.label, "both", *_side_cells(match.side(agent)))
        for seat, name in enumerate(SEATS):
            table.add_row("", name, *_side_cells(match.side(agent, seat)), end_section=seat == 1)
    return table


def _side_cells(side: Side) -> list[str]:
    seconds = side.move_seconds or (0.0,)
    times = [sum(seconds) / len(seconds), max(seconds), side.bank_used]
    return [*map(str, side.tally), str(side.forfeits), *(f"{time:.3f}" for time in times), kinds(side.faults)]


def match_lines(match: Match, sprt: Sprt | None = None, within: float = 20.0) -> list[str]:
    """What the pairs prove: Elo with interval, likelihood of superiority, SPRT, and plain words."""
    counts = match.counts
    if not sum(counts):
        return ["no complete pair of games: nothing can be said"]
    result = estimate(counts)
    lines = [
        f"Elo {interval(result)} (95%), likelihood of superiority {result.superiority:.1%}, "
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
    names = [match.first.label, match.second.label]
    if names[0] == names[1]:
        names = [f"{names[0]} (first named)", f"{names[1]} (second named)"]
    return [*lines, verdict(counts, names[0], names[1], within)]
