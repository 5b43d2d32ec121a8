"""What a match proves and which faults occurred, as plain lines of text."""

from collections import Counter
from collections.abc import Sequence
from math import ceil, isinf

from arena.game.rules import Fault, Game
from arena.results.match import Match
from arena.results.stats import Estimate, Sprt, estimate
from connectx.geometry import Geometry

SHORT_LOAD = 0.05  # seconds; shorter loads are not mentioned
FEWEST_PAIRS = 10  # if one side won everything, fewer pairs get no interval
MANY_FORFEITS = 0.1  # share of the games above which the result says little about strength


def signed(elo: float) -> str:
    """An Elo difference as text: +12, -3, +inf."""
    return f"{elo:+.0f}"


def interval(result: Estimate) -> str:
    """ "Elo +55 [+28, +83] (95%)", with an infinite end where the games give no bound; or "too few games for Elo"."""
    if isinf(result.elo) and result.pairs < FEWEST_PAIRS:
        return "too few games for Elo"
    return f"Elo {signed(result.elo)} [{signed(result.low)}, {signed(result.high)}] (95%)"


def kinds(faults: Counter) -> str:
    """ "2 timeout, 1 crash", or "" without faults."""
    return ", ".join(f"{count} {kind}" for kind, count in faults.most_common())


def fault_words(game: Game, fault: Fault) -> str:
    """ "first on ply 6: 36.1 s load + 5.2 s": the ply of a fault and its reason; for a timeout, what took the time."""
    reason = fault.detail.strip().splitlines()[-1:] or [fault.kind]
    load = game.loads[fault.seat] if game.loads else 0.0
    if fault.kind == "timeout" and load >= SHORT_LOAD:
        reason = [f"{load:.1f} s load + {game.move_seconds(fault.ply - game.opening):.1f} s"]
    return f"first on ply {fault.ply}: {reason[0]:.160}"


def match_lines(match: Match, sprt: Sprt | None = None, within: float = 20.0) -> list[str]:
    """What the pairs prove: Elo with interval, likelihood of superiority, SPRT, and the verdict in plain words."""
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


def verdict(counts: Sequence[int], first: str, second: str, within: float = 20.0) -> str:
    """The verdict in plain words: who is stronger, a difference below ``within`` Elo, or how many games are missing."""
    result = estimate(counts)
    if result.low > 0 or result.high < 0:
        return f"{first if result.low > 0 else second} is stronger"
    if -within < result.low and result.high < within:
        return f"no difference within {within:g} Elo"
    if isinf(result.high - result.low):
        return f"not enough games: about {2 * max(result.pairs, 10)} more"
    width = (result.high - result.low) / 2
    target = max(abs(result.elo), within - abs(result.elo))  # half width at which one of the verdicts above is reached
    more = result.pairs * ((width / target) ** 2 - 1)
    return f"not enough games: about {max(2, 2 * ceil(more))} more"


def fault_lines(match: Match) -> list[str]:
    """ "my_agent.py, 3 timeout (first on ply 6: ...)", a line for each kind of fault of either agent."""
    lines = []
    for agent, name in enumerate(match.names):
        counts = match.side(agent).faults
        for kind, (game, fault) in match.first_faults(agent).items():
            lines.append(f"{name}, {counts[kind]} {kind} ({fault_words(game, fault)})")
    return lines


def forfeits_line(match: Match) -> list[str]:
    """A warning if many games were decided by faults."""
    forfeits, games = sum(match.side(agent).forfeits for agent in (0, 1)), len(match.games)
    if forfeits <= MANY_FORFEITS * games:
        return []
    return [f"{forfeits} of {games} games were forfeits: this measures faults more than strength"]


def lost_game_line(match: Match, geometry: Geometry) -> list[str]:
    """The command that analyses the longest game that the first agent lost on the board."""
    lost = [record for record in match.lost(0, geometry) if record.forfeit is None] if geometry.fits_word else []
    longest = sorted(lost, key=lambda record: -len(record.moves))[:1]
    return [f"a game that {match.names[0]} lost: {record.command}" for record in longest]
