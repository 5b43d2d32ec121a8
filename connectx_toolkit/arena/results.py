"""The games of a match between two agents: what each agent did in them, and what they prove, in words."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log10
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np

from connectx_toolkit.games.game import MOVING, SEATS, Game
from connectx_toolkit.kaggle.rules import Fault
from connectx_toolkit.players.spec import AgentSpec, resolve
from connectx_toolkit.statistics.evidence import Evidence, PairOfGames, pair_of
from connectx_toolkit.statistics.intervals import FEWEST_PAIRS, Estimate, Sprt, mean_and_variance, pairs_needed
from connectx_toolkit.statistics.ratings import TOO_WIDE, difference
from connectx_toolkit.system.console import command, plural
from connectx_toolkit.system.table import Column, Part, Shown, Table, Typed, three_digits

__all__ = ["Match"]

COPIES = 10  # pairs in a row that repeat earlier ones, after which a match ends: its agents have no new games to show


class Tally(NamedTuple):
    """Games of one agent, by result."""

    wins: int
    draws: int
    losses: int


class Side(NamedTuple):
    """What one agent did in a match, in one seat."""

    tally: Tally
    faults: Counter  # by kind, including those that did not end the game
    forfeits: int  # games lost by a fault
    move_seconds: tuple[float, ...]  # of every call, without loads
    load_seconds: tuple[float, ...]  # of the load, in every game where it is recorded
    overage_used: float  # seconds, in the game that used the most


@dataclass(repr=False)
class Match(Shown):
    """The games of two agents.

    Games 2k and 2k + 1 are a pair with the same opening: the first agent moves first in 2k, the second in 2k + 1. In
    pairs of numbers, index 0 is the first agent.
    """

    first: AgentSpec
    second: AgentSpec
    games: dict[int, Game]  # by number, with the agents' labels as names
    ending: str = ""  # why there are fewer games than asked for: "sprt", "copies" or "interrupted"
    seed: int | None = None  # pass it to play the same games again
    fixed: int | None = None  # number of games asked for, if all are played whatever their results
    sprt: Sprt | None = None  # that ends it

    @property
    def names(self) -> tuple[str, str]:
        """Names of the agents for texts: their labels, made different if they are equal."""
        first, second = self.first.label, self.second.label
        return (f"{first} (first named)", f"{second} (second named)") if first == second else (first, second)

    @property
    def percentages(self) -> tuple[float, float]:
        """Share of the games, from 0 to 1, that each agent won by the count of Kaggle's course: not by a forfeit."""
        won = self.wins[0] - self.forfeits[1], self.wins[1] - self.forfeits[0]
        return won[0] / len(self.games), won[1] / len(self.games)

    @property
    def wins(self) -> tuple[int, int]:
        """How many games each agent won, those included that the other one forfeited."""
        return self.side(0).tally.wins, self.side(1).tally.wins

    @property
    def draws(self) -> int:
        return self.side(0).tally.draws

    @property
    def forfeits(self) -> tuple[int, int]:
        """How many games each agent lost by a fault: what the course calls its invalid plays."""
        return self.side(0).forfeits, self.side(1).forfeits

    @property
    def is_interrupted(self) -> bool:
        return self.ending == "interrupted"

    def pairs(self) -> list[PairOfGames]:
        """The complete pairs, in order."""
        return [self.pair(number // 2) for number in sorted(self.games) if not number % 2 and number + 1 in self.games]

    def pair(self, index: int) -> PairOfGames:
        """A complete pair, from the side of the first agent."""
        first, second = self.games[2 * index], self.games[2 * index + 1]
        points = _points(first, 0) + _points(second, 1)
        return pair_of((first.moves, second.moves), first.opening, points, first.geometry)

    @property
    def evidence(self) -> Evidence:
        """What the complete pairs prove together."""
        return Evidence(self.pairs())

    def side(self, agent: int, seat: int | None = None) -> Side:
        """The results of agent 0 or 1, in seat 0 (moves first), in seat 1, or in both."""
        points, faults, seconds, loads, forfeits, overage = [], Counter[str](), [], [], 0, 0.0
        for number, game in sorted(self.games.items()):
            taken = agent ^ (number % 2)
            if seat is not None and taken != seat:
                continue
            points.append(_points(game, taken))
            own = [fault for fault in game.faults if fault.seat == taken]
            faults.update(fault.kind for fault in own)
            forfeits += sum(fault.fatal for fault in own)
            seconds += game.move_seconds(taken)
            loads += [game.loads[taken]] if game.loads else []
            overage = max(overage, game.overage_used(taken) or 0.0)
        tally = Tally(points.count(1), points.count(0.5), points.count(0))
        return Side(tally, faults, forfeits, tuple(seconds), tuple(loads), overage)

    def lost(self, agent: str | PathLike | Callable | int) -> list[Game]:
        """The games that an agent lost, in order, including losses by a fault.

        ``analyse``, or the command in a game's ``command``, shows the move that lost it.

        Args:
            agent: its name, with or without folder, ending or module; or the callable, or 1 or 2.

        Raises:
            ValueError: it is neither of the two agents, or both have this name.
        """
        name = resolve(agent).target if callable(agent) else agent if isinstance(agent, int) else fspath(agent)
        specs = (self.first, self.second)
        found = [n for n, spec in enumerate(specs) if name in (n + 1, spec, spec.target, spec.label, spec.short_name)]
        if len(found) != 1:
            labels = f"1 for {specs[0].label!r}, 2 for {specs[1].label!r}"
            raise ValueError(f"expected one agent by its name, or {labels}, not {agent!r}")
        return self.lost_by(found[0])

    def lost_by(self, agent: int) -> list[Game]:
        """The same of agent 0 or 1. In the games, the agents have the ``names``, which differ."""
        lost = [(number, game) for number, game in sorted(self.games.items()) if not _points(game, agent ^ number % 2)]
        return [replace(game, names=self.names[::-1] if number % 2 else self.names) for number, game in lost]

    def parts(self) -> list[Part]:
        """The tables; of a match without a fixed number of games, what they prove as well."""
        tables = [match_table(self), seconds_table(self)]
        return [*tables, *([] if self.fixed else [*match_lines(self), *lost_game_lines(self)])]

    def document(self) -> dict[str, Any]:
        """The same for machines, as JSON has it."""
        evidence, test = self.evidence, self.sprt
        elo = difference(evidence)[0]._asdict() if evidence.pairs else {}
        return {
            "agents": self.names, "games": len(self.games), "won": self.wins, "drawn": self.draws,
            "forfeits": self.forfeits, "pair_results": evidence.results, "distinct_pairs": evidence.distinct,
            **{name: elo.get(name) for name in ("elo", "low", "high")},
            "sprt": test and {"llr": test.llr(evidence.counts), "accepted": test.decision(evidence.counts)},
            "verdict": verdict(evidence, *self.names, test) if elo else None,
            "seed": self.seed, "is_interrupted": self.is_interrupted,
        }  # fmt: skip


MATCH = (  # of rows (agent, seat, side)
    Column("name"),
    Column("seat"),
    Column("won", lambda row: row[2].tally.wins),
    Column("drawn", lambda row: row[2].tally.draws),
    Column("lost", lambda row: row[2].tally.losses),
    Column("forfeits", lambda row: row[2].forfeits, is_rare=True),
    Column("faults", lambda row: kinds(row[2].faults)),
)
SIDE_SECONDS = (  # of the same rows
    *MATCH[:2],
    Column("load s", lambda row: max(row[2].load_seconds, default=None), three_digits),
    Column("mean s", lambda row: _mean(row[2].move_seconds), three_digits),
    Column("worst s", lambda row: max(row[2].move_seconds, default=0.0), three_digits),
    Column("overage s", lambda row: row[2].overage_used, three_digits, is_rare=True),
)


def _mean(seconds: Sequence[float]) -> float:
    return sum(seconds) / max(len(seconds), 1)


def match_table(match: Match) -> Table:
    """Both agents, together and by seat: results, and faults by kind."""
    return Table(f"{' v '.join(match.names)}: {len(match.games)} games", MATCH, _sides(match), names=2)


def seconds_table(match: Match) -> Table:
    """The same rows: longest load, times of moves without it, and overage time of the game that used the most."""
    return Table("seconds of a move", SIDE_SECONDS, _sides(match), names=2)


def _sides(match: Match) -> Iterator[tuple[str, str, Side]]:
    for agent, name in enumerate(match.names):
        yield name, "both", match.side(agent)
        yield from (("", seat_name, match.side(agent, seat)) for seat, seat_name in enumerate(SEATS))


def _points(game: Game, seat: int) -> float:
    """A seat's points of a game of a match, which all are played to their end."""
    assert game.points is not None
    return game.points[seat]


WITHIN = 20.0  # Elo: a difference below it is called none
MANY_FORFEITS = 0.1  # share of the games above which the result says little about strength
DIFFERENCES = (25, 50, 100, 200)  # Elo, of which a verdict that is missing says how many pairs would show one
ANY_TIME = "95% sure, however often you look"


def elo_text(elo: float) -> str:
    """A finite Elo difference as text: +12, -3."""
    return f"{elo:+.0f}"


def _bound(elo: float) -> str:
    """An Elo difference as it was typed: +50, -1.75."""
    return f"{elo:+g}"


def interval(result: Estimate, kind: str = ANY_TIME) -> str:
    """ "Elo +55, between +28 and +83 (95% sure, however often you look)"; one bound where there is no other."""
    ends = isfinite(result.low), isfinite(result.high)
    if result.low < -TOO_WIDE and result.high > TOO_WIDE:
        return "too few games for a bound on Elo"
    if all(ends):
        about = f"{elo_text(result.elo)}, " if isfinite(result.elo) else ""
        return f"Elo {about}between {elo_text(result.low)} and {elo_text(result.high)} ({kind})"
    return f"Elo above {elo_text(result.low)} ({kind})" if ends[0] else f"Elo below {elo_text(result.high)} ({kind})"


def kinds(faults: Counter) -> str:
    """ "2 timeout, 1 crash", or "" without faults."""
    return ", ".join(f"{count} {kind}" for kind, count in faults.most_common())


def match_lines(match: Match) -> list[str]:
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
    if match.sprt:
        lines.append(sprt_words(match.sprt, evidence))
    return [*lines, verdict(evidence, *match.names, match.sprt), *forfeits_line(match)]


def course_lines(match: Match) -> list[str]:
    """The four lines of Kaggle's *Intro to Game AI* course; below an empty one, what else the games tell."""
    lines = [f"Agent {agent} Win Percentage: {np.round(share, 2)}" for agent, share in enumerate(match.percentages, 1)]
    lines += [f"Number of Invalid Plays by Agent {agent}: {count}" for agent, count in enumerate(match.forfeits, 1)]
    return [*lines, "", totals(match), *match_lines(match), *lost_game_lines(match)]


def totals(match: Match) -> str:
    """The results in total and by seat, in a line."""
    counts, played = "{} won, {} drawn, {} lost".format, len(match.games)
    stopped = f"stopped after {played} of {match.fixed} games. " if match.fixed and played < match.fixed else ""
    counted = ", forfeits counted as losses" if any(match.forfeits) else ""
    seats = "; ".join(f"{name} {counts(*match.side(0, seat).tally)}" for seat, name in enumerate(MOVING))
    return f"{stopped}{' v '.join(match.names)}{counted}: {counts(*match.side(0).tally)} ({seats})"


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
    llr, accepted = sprt.llr(counts), sprt.decision(counts)
    title = f"SPRT of {_bound(sprt.elo0)} against {_bound(sprt.elo1)} Elo"
    if accepted == "H1":
        return f"{title} accepts {_bound(sprt.elo1)}: LLR {llr:.2f} is above the upper bound {upper:.2f}"
    if accepted == "H0":
        return f"{title} accepts {_bound(sprt.elo0)}: LLR {llr:.2f} is below the lower bound {lower:.2f}"
    return f"{title} is undecided: LLR {llr:.2f} is between its bounds {lower:.2f} and {upper:.2f}"


def sprt_progress(sprt: Sprt, evidence: Evidence) -> str:
    """ "12 pairs, LLR 1.20 (-2.94 to 2.94), about 60 pairs left": where the test stands, and what it needs so."""
    llr, (lower, upper) = sprt.llr(evidence.counts), sprt.bounds
    line = f"{evidence.pairs} {plural('pair', evidence.pairs)}, LLR {llr:.2f} ({lower:.2f} to {upper:.2f})"
    if not llr:
        return line
    left = evidence.pairs * ((upper if llr > 0 else lower) / llr - 1)
    shown = int(max(1, round(left, -int(log10(max(left, 1))))))
    return f"{line}, about {shown} {plural('pair', shown)} left"


BY_TEST = "the test decides, though the interval still holds 0"


def verdict(evidence: Evidence, first: str, second: str, sprt: Sprt | None = None) -> str:
    """The verdict in plain words: who is stronger, a difference below ``WITHIN`` Elo, or what is missing.

    If openings repeat, each opening counts as one observation; without enough of them nobody is called stronger.
    """
    result, general = difference(evidence)
    scope = "" if general else _scope(evidence)
    accepted = sprt.decision(evidence.counts) if sprt else None
    better = f"scores more{scope}" if scope else "is stronger"
    if result.is_proof:
        return f"{first if result.low > 0 else second} {better}"
    if sprt and accepted == "H1":
        return f"{first} {better}: {BY_TEST}" if sprt.elo0 >= 0 else f"{first} is above {_bound(sprt.elo0)} Elo{scope}"
    if sprt and accepted == "H0":
        return f"{second} {better}: {BY_TEST}" if sprt.elo1 <= 0 else f"{first} is below {_bound(sprt.elo1)} Elo{scope}"
    if result.low > -WITHIN and result.high < WITHIN:
        return f"no difference of {WITHIN:g} Elo or more{scope}"
    if evidence.distinct < FEWEST_PAIRS:
        found = f"{evidence.distinct} distinct {plural('pair', evidence.distinct)} of games"
        more = f"; {command('evaluate match')} begins from many openings" if evidence.distinct < evidence.pairs else ""
        share = mean_and_variance(evidence.results)[0]
        made = f"the first agent made {share:.0%} of the points"
        return f"no verdict: {found}, at least {FEWEST_PAIRS} are needed; {made}{more}"
    return f"too early to tell{_pairs_missing(evidence)}"


def _scope(evidence: Evidence) -> str:
    """ " from these 12 openings": what is said of the openings that were played, not of all."""
    return f" from these {evidence.openings} openings" if evidence.openings > 1 else " from this opening"


def _pairs_missing(evidence: Evidence) -> str:
    """ ": a difference of 100 Elo needs about 60 pairs", for the largest one that needs more than were played."""
    needed = ((elo, pairs_needed(evidence.counts, elo)) for elo in reversed(DIFFERENCES))
    elo, pairs = next(((elo, pairs) for elo, pairs in needed if pairs > evidence.distinct), (0, 0))
    return f": a difference of {elo} Elo needs about {pairs} pairs" if elo else ""


def fault_lines(match: Match) -> list[str]:
    """ "my_agent.py, 3 timeout (first on ply 6: ...)", a line for each kind of fault of either agent."""
    first: dict[tuple[int, str], tuple[Game, Fault]] = {}
    for number, game in sorted(match.games.items()):
        for fault in game.faults:
            first.setdefault((fault.seat ^ number % 2, fault.kind), (game, fault))
    lines = []
    for (agent, kind), (game, fault) in sorted(first.items(), key=lambda one: one[0][0]):
        count = match.side(agent).faults[kind]
        lines.append(f"{match.names[agent]}, {count} {kind} (first on ply {fault.ply}: {game.reason(fault)})")
    return lines


def forfeits_line(match: Match) -> list[str]:
    """A warning if many games were decided by faults."""
    forfeits, games = sum(match.side(agent).forfeits for agent in (0, 1)), len(match.games)
    if forfeits <= MANY_FORFEITS * games:
        return []
    return [f"{forfeits} of {games} games were forfeits: this measures faults more than strength"]


def lost_game_lines(match: Match) -> list[str]:
    """The command that analyses the longest game that the first agent lost on the board, on a line of its own."""
    lost = [game for game in match.lost_by(0) if game.fault is None and game.geometry.fits_word]
    longest = sorted(lost, key=lambda game: -len(game.moves))[:1]
    return [line for game in longest for line in (f"a game that {match.names[0]} lost:", Typed(game.command))]
