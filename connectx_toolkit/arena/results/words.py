"""What a match proves and which faults occurred, as plain lines of text."""

from collections import Counter
from math import isfinite, log10

import numpy as np

from connectx_toolkit.arena.results.evidence import Evidence
from connectx_toolkit.arena.results.match import COPIES, Match
from connectx_toolkit.arena.results.ratings import difference
from connectx_toolkit.arena.results.stats import (
    FEWEST_PAIRS,
    Estimate,
    Sprt,
    anytime,
    estimate,
    mean_and_variance,
    pairs_needed,
)
from connectx_toolkit.console.programs import as_typed, plural

WITHIN = 20.0  # Elo: a difference below it is called none
TOO_WIDE = 400.0  # Elo; an interval that reaches further to both sides says nothing
MANY_FORFEITS = 0.1  # share of the games above which the result says little about strength
DIFFERENCES = (25, 50, 100, 200)  # Elo, of which a verdict that is missing says how many pairs would show one
ANY_TIME, AS_AGREED = "95%, valid at every look", "95%, for a number of games fixed beforehand"


def signed(elo: float) -> str:
    """A finite Elo difference as text: +12, -3."""
    return f"{elo:+.0f}"


def interval(result: Estimate, kind: str = ANY_TIME) -> str:
    """ "Elo +55, between +28 and +83 (95%, valid at every look)"; where the games give one bound only, that one."""
    ends = isfinite(result.low), isfinite(result.high)
    if result.low < -TOO_WIDE and result.high > TOO_WIDE:
        return "too few games for a bound on Elo"
    if all(ends):
        about = f"{signed(result.elo)}, " if isfinite(result.elo) else ""
        return f"Elo {about}between {signed(result.low)} and {signed(result.high)} ({kind})"
    return f"Elo above {signed(result.low)} ({kind})" if ends[0] else f"Elo below {signed(result.high)} ({kind})"


def kinds(faults: Counter) -> str:
    """ "2 timeout, 1 crash", or "" without faults."""
    return ", ".join(f"{count} {kind}" for kind, count in faults.most_common())


def match_lines(match: Match, sprt: Sprt | None = None) -> list[str]:
    """What the pairs prove: Elo with its interval, the pairs' results, the SPRT, and the verdict in plain words."""
    evidence, lines = match.evidence, fault_lines(match)
    if not evidence.pairs:
        return [*lines, "no complete pair of games yet: no result"]
    found, general = difference(evidence)
    lines += [interval(found, ANY_TIME if general else f"{ANY_TIME},{_scope(evidence)}"), pair_words(evidence)]
    if match.ending == "copies":
        lines.append(
            f"stopped: the last {COPIES} pairs repeat earlier ones, so both agents play without chance and the "
            "openings are used up; add openings for more evidence"
        )
    if sprt:
        lines.append(sprt_words(sprt, evidence))
    return [*lines, verdict(evidence, *match.names, sprt), *forfeits_line(match)]


def course_lines(match: Match) -> list[str]:
    """The four lines of Kaggle's *Intro to Game AI* course; below an empty one, what else the games tell."""
    lines = [f"Agent {agent} Win Percentage: {np.round(share, 2)}" for agent, share in enumerate(match.percentages, 1)]
    lines += [f"Number of Invalid Plays by Agent {agent}: {count}" for agent, count in enumerate(match.forfeits, 1)]
    return [*lines, "", summary(match), *fault_lines(match), *forfeits_line(match), *lost_game_line(match)]


def summary(match: Match) -> str:
    """One line: the results in total and by seat, the interval, and which agent is stronger. A forfeit is a loss."""
    evidence, is_whole = match.evidence, len(match.games) == match.fixed
    if not evidence.pairs:
        return f"{match}. There is not a game in either seat yet: no result"
    result = estimate(evidence.counts) if is_whole else anytime(evidence.counts)
    if evidence.distinct < FEWEST_PAIRS and not result.is_proof:
        return f"{match}. {_few_words(evidence, len(match.games))}"
    shown = interval(result, AS_AGREED if is_whole else ANY_TIME)
    return f"{match}. {shown}; {verdict(evidence, *match.names, result=result)}"


def _few_words(evidence: Evidence, games: int) -> str:
    """Why there is no verdict: too few games, or too few different ones."""
    if evidence.distinct == evidence.pairs:
        return f"Too early to tell: {games} games are few, unless one agent wins nearly all"
    different = f"{evidence.distinct} different {plural('pair', evidence.distinct)} of games among {evidence.pairs}"
    hint = as_typed("python evaluate.py match begins from many openings")
    return f"No verdict: {different}; the others are copies. {hint}"


def pair_words(evidence: Evidence) -> str:
    """The results of the pairs, and how many of them are evidence."""
    line = f"pair results 0, 1/2, 1, 1 1/2, 2: {' '.join(map(str, evidence.results))}"
    if evidence.distinct < evidence.pairs:
        line += f"; {evidence.distinct} distinct {plural('pair', evidence.distinct)} among {evidence.pairs}"
        line += f" from {evidence.openings} {plural('opening', evidence.openings)}, the others are copies"
    return line


def sprt_words(sprt: Sprt, evidence: Evidence) -> str:
    """ "SPRT of +0 against +50 Elo accepts +50: LLR 3.07 is above the upper bound 2.94"."""
    counts, (lower, upper) = evidence.counts, sprt.bounds
    llr, accepted = sprt.llr(counts), sprt.accepted(counts)
    title = f"SPRT of {signed(sprt.elo0)} against {signed(sprt.elo1)} Elo"
    if accepted == "H1":
        return f"{title} accepts {signed(sprt.elo1)}: LLR {llr:.2f} is above the upper bound {upper:.2f}"
    if accepted == "H0":
        return f"{title} accepts {signed(sprt.elo0)}: LLR {llr:.2f} is below the lower bound {lower:.2f}"
    return f"{title} is undecided: LLR {llr:.2f} is between its bounds {lower:.2f} and {upper:.2f}"


def sprt_progress(sprt: Sprt, evidence: Evidence) -> str:
    """ "LLR 1.20 of -2.94 to 2.94, about 60 pairs left": where the test stands, and what it needs at this pace."""
    llr, (lower, upper) = sprt.llr(evidence.counts), sprt.bounds
    line = f"LLR {llr:.2f} of {lower:.2f} to {upper:.2f}"
    if not llr:
        return line
    left = evidence.pairs * ((upper if llr > 0 else lower) / llr - 1)
    return f"{line}, about {max(1, round(left, -int(log10(max(left, 1))))):.0f} pairs left"


def verdict(
    evidence: Evidence, first: str, second: str, sprt: Sprt | None = None, result: Estimate | None = None
) -> str:
    """The verdict in plain words: who is stronger, a difference below ``WITHIN`` Elo, or what is missing.

    Where openings were played more than once, "stronger" is proven with openings as the unit, or not said.

    Args:
        result: the interval to judge by; that which is valid at every look if it is None.
    """
    found, general = difference(evidence)
    result, scope = result or found, "" if general else _scope(evidence)
    accepted = sprt.accepted(evidence.counts) if sprt else None
    better = f"scores more{scope}" if scope else "is stronger"
    if result.is_proof:
        return f"{first if result.low > 0 else second} {better}"
    if sprt and accepted == "H1":
        return f"{first} {better}" if sprt.elo0 >= 0 else f"{first} is above {signed(sprt.elo0)} Elo{scope}"
    if sprt and accepted == "H0":
        return f"{second} {better}" if sprt.elo1 <= 0 else f"{first} is below {signed(sprt.elo1)} Elo{scope}"
    if result.low > -WITHIN and result.high < WITHIN:
        return f"no difference of {WITHIN:g} Elo or more{scope}"
    if evidence.distinct < FEWEST_PAIRS:
        return _too_few(evidence)
    return f"too early to tell{_missing(evidence)}"


def _scope(evidence: Evidence) -> str:
    """ " from these 12 openings": what is said of the openings that were played, not of all."""
    return f" from these {evidence.openings} openings" if evidence.openings > 1 else " from this opening"


def _too_few(evidence: Evidence) -> str:
    mean = mean_and_variance(evidence.results)[0]
    return (
        f"no verdict: {evidence.distinct} distinct {plural('pair', evidence.distinct)} of games, "
        f"at least {FEWEST_PAIRS} are needed; the first agent made {mean:.0%} of the points"
    )


def _missing(evidence: Evidence) -> str:
    """ ": a difference of 100 Elo needs about 60 pairs", for the largest one that needs more than were played."""
    needed = ((elo, pairs_needed(evidence.counts, elo)) for elo in reversed(DIFFERENCES))
    elo, pairs = next(((elo, pairs) for elo, pairs in needed if pairs > evidence.distinct), (0, 0))
    return f": a difference of {elo} Elo needs about {pairs} pairs" if elo else ""


def fault_lines(match: Match) -> list[str]:
    """ "my_agent.py, 3 timeout (first on ply 6: ...)", a line for each kind of fault of either agent."""
    lines = []
    for agent, name in enumerate(match.names):
        counts = match.side(agent).faults
        for kind, (game, fault) in match.first_faults(agent).items():
            lines.append(f"{name}, {counts[kind]} {kind} (first on ply {fault.ply}: {game.reason(fault)})")
    return lines


def forfeits_line(match: Match) -> list[str]:
    """A warning if many games were decided by faults."""
    forfeits, games = sum(match.side(agent).forfeits for agent in (0, 1)), len(match.games)
    if forfeits <= MANY_FORFEITS * games:
        return []
    return [f"{forfeits} of {games} games were forfeits: this measures faults more than strength"]


def lost_game_line(match: Match) -> list[str]:
    """The command that analyses the longest game that the first agent lost on the board."""
    lost = [game for game in match.lost(1) if game.fault is None and game.geometry.fits_word]
    longest = sorted(lost, key=lambda game: -len(game.moves))[:1]
    return [f"a game that {match.names[0]} lost: {game.command}" for game in longest]
