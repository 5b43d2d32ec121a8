"""Measures how often the verdicts of evaluate.py are wrong, by thousands of simulated users who look at their games.

python -m benchmarks.verdicts                  all tables, some minutes
python -m benchmarks.verdicts --users 500      quicker, with larger standard errors
python -m benchmarks.verdicts --looks          only users who look after every pair, at our interval and at a plain one
python -m benchmarks.verdicts --variants       only users who play variants from openings that decide the result

Results of pairs are drawn from pentanomial distributions, so that the truth is known, and judged by the code that
evaluate.py calls. Three tables: how often a workflow calls one of two equal agents stronger, and how often an interval
that it shows misses the truth; how many pairs a right verdict takes; and the same workflows for tournaments.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import log, sqrt
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.machine import head, record
from connectx_toolkit.arena.results import verdict
from connectx_toolkit.statistics.evidence import Evidence, PairOfGames
from connectx_toolkit.statistics.intervals import ERROR_RATE, PAIR_SCORES, Sprt, anytime, elo_of, log_wealth, score_of
from connectx_toolkit.statistics.ratings import difference, ratings
from connectx_toolkit.system.console import progress

# Shares of the pair results 0, 1/2, 1, 1 1/2, 2 between equals: many draws; few draws; sharp openings that decide.
DRAWISH, SHARP, DECISIVE = (
    (0.06, 0.14, 0.60, 0.14, 0.06),
    (0.20, 0.15, 0.30, 0.15, 0.20),
    (0.22, 0.02, 0.52, 0.02, 0.22),
)
EQUALS = {"drawish": DRAWISH, "sharp": SHARP, "decisive": DECISIVE}
MOST_PAIRS = 1000  # at which a simulated user gives up
ELOS = (20, 50, 100)
UNIT = '% false "stronger" at most'


def shift_shares(shares: tuple[float, ...], elo: float) -> np.ndarray:
    """The distribution with the mean score of an Elo difference that is nearest to these shares."""
    low, high, scores = -60.0, 60.0, np.array(PAIR_SCORES)
    for _ in range(100):
        tilt = (low + high) / 2
        tilted = np.array(shares) * np.exp(tilt * scores)
        tilted /= tilted.sum()
        low, high = (tilt, high) if tilted @ scores < score_of(elo) else (low, tilt)
    return tilted


class Seen(NamedTuple):
    """What a user saw in the end."""

    stronger: bool  # that one of the agents is stronger was said at some look
    missed: bool  # an interval was shown that does not hold the truth


def draws(shares: np.ndarray, pairs: int, rng: np.random.Generator) -> np.ndarray:
    """Counts after each of so many pairs: int (pairs, 5)."""
    return np.eye(5, dtype=int)[rng.choice(5, size=pairs, p=shares)].cumsum(0)


def evidence_of(counts: np.ndarray) -> Evidence:
    """Different games with these counts, each from an opening of its own."""
    results = np.repeat(np.arange(5), counts)
    return Evidence(PairOfGames(n, ((n,), (n,)), result / 2) for n, result in enumerate(results.tolist()))


def says_stronger(evidence: Evidence, sprt: Sprt | None = None) -> bool:
    return "is stronger" in verdict(evidence, "A", "B", sprt)


def one_look(shares: np.ndarray, rng: np.random.Generator) -> Seen:
    """50 pairs, and a look."""
    counts = draws(shares, 50, rng)[-1]
    estimate = anytime(counts)
    return Seen(says_stronger(evidence_of(counts)), not estimate.low <= truth(shares) <= estimate.high)


def every_pair(pairs: int) -> Callable[[np.ndarray, np.random.Generator], Seen]:
    """A look after every pair: as ``verdict`` and ``anytime`` do it, for all looks at once."""

    def play(shares: np.ndarray, rng: np.random.Generator) -> Seen:
        counts, limit = draws(shares, pairs, rng), log(2 / ERROR_RATE)
        means = (0.5, float(shares @ PAIR_SCORES))
        richest = [np.maximum(log_wealth(counts, m), log_wealth(counts[:, ::-1], 1 - m)).max() for m in means]
        return Seen(bool(richest[0] >= limit), bool(richest[1] >= limit))

    return play


def plain_every_pair(shares: np.ndarray, rng: np.random.Generator) -> Seen:
    """Looks at a plain interval from 20 pairs on: the mean of the pairs and 1.96 standard errors to each side."""
    counts = draws(shares, MOST_PAIRS, rng)[19:]
    pairs, scores = counts.sum(1), np.array(PAIR_SCORES)
    means = counts @ scores / pairs
    errors = np.sqrt((counts @ scores**2 / pairs - means**2) / (pairs - 1))
    missed = [bool((np.abs(means - mean) > 1.96 * errors).any()) for mean in (0.5, float(shares @ scores))]
    return Seen(*missed)


def follow_advice(shares: np.ndarray, rng: np.random.Generator) -> Seen:
    """50 pairs, then as many in all as the verdict says a difference would need, until there is another verdict."""
    counts, played, missed = draws(shares, MOST_PAIRS, rng), 50, False
    while True:
        seen = counts[played - 1]
        estimate, words = anytime(seen), verdict(evidence_of(seen), "A", "B")
        missed |= not estimate.low <= truth(shares) <= estimate.high
        if not words.startswith("too early") or played == MOST_PAIRS:
            return Seen("is stronger" in words, missed)
        needed = int(words.split()[-2]) if words.endswith("pairs") else 2 * played
        played = min(MOST_PAIRS, max(played + 1, needed))


def sequential(elo0: float, elo1: float) -> Callable[[np.ndarray, np.random.Generator], Seen]:
    """An SPRT until it stops, and a look at the verdict and its interval."""

    def play(shares: np.ndarray, rng: np.random.Generator) -> Seen:
        sprt, counts = Sprt(elo0, elo1), draws(shares, MOST_PAIRS, rng)
        stop = next((n for n in range(MOST_PAIRS) if sprt.decision(counts[n])), MOST_PAIRS - 1)
        found = anytime(counts[stop])
        stronger = says_stronger(evidence_of(counts[stop]), sprt)
        return Seen(stronger, not found.low <= truth(shares) <= found.high)

    return play


def repeat_openings(openings: int, chance: float) -> Callable[[np.ndarray, np.random.Generator], Seen]:
    """200 pairs from a few openings, a look after every 20. ``chance``: how often a pair is not a copy.

    Openings favour an agent, but all of them together neither: the agents are equal from these openings, and whoever
    is said to score more from them is counted as called stronger.
    """

    def play(shares: np.ndarray, rng: np.random.Generator) -> Seen:
        half = rng.choice(5, size=openings // 2, p=shares)
        usual = np.concatenate([half, 4 - half, np.full(openings % 2, 2)])
        evidence, stronger = Evidence(), False
        for pair in range(200):
            opening = pair % openings
            is_new = rng.random() < chance
            result = rng.choice(5, p=shares) if is_new else usual[opening]
            evidence.add(PairOfGames(opening, ((pair if is_new else -1,), ()), result / 2))
            stronger |= pair % 20 == 19 and "scores more from these" in verdict(evidence, "A", "B")
        found = anytime(evidence.counts)
        return Seen(stronger, not found.low <= 0 <= found.high)

    return play


def variants(openings: int) -> Callable[[np.ndarray, np.random.Generator], Seen]:
    """20 pairs from each of some openings, which decide the result; agents vary their play; a look after each round.

    Only over all openings are the agents equal. An interval is to hold the truth of what it says that it is about.
    """

    def play(shares: np.ndarray, rng: np.random.Generator) -> Seen:
        results, evidence = rng.choice(5, size=openings, p=shares), Evidence()
        here, stronger, missed = elo_of(results.mean() / 4), False, False
        for variant in rng.integers(4, size=20).tolist():
            for opening, result in enumerate(results, 1):
                evidence.add(PairOfGames(opening, ((variant,), ()), result / 2))
            found, general = difference(evidence)
            stronger |= says_stronger(evidence)
            missed |= not found.low <= (truth(shares) if general else here) <= found.high
        return Seen(stronger, missed)

    return play


def two_seeds(shares: np.ndarray, rng: np.random.Generator) -> Seen:
    """A report over two runs of deterministic agents, 150 pairs each of the same 300 openings, as they were once."""
    results, evidence, stronger = rng.choice(5, size=300, p=shares), Evidence(), False
    for _ in range(2):
        for opening in rng.permutation(300)[:150].tolist():
            evidence.add(PairOfGames(opening, ((), ()), results[opening] / 2))
        stronger |= says_stronger(evidence)
    estimate = anytime(evidence.counts)
    return Seen(stronger, not estimate.low <= truth(shares) <= estimate.high)


def truth(shares: np.ndarray) -> float:
    return elo_of(float(shares @ PAIR_SCORES))


Workflow = Callable[[np.ndarray, np.random.Generator], Seen]
WORKFLOWS: dict[str, Workflow] = {
    "match, one look at 50 pairs": one_look,
    "match, a look after every pair up to 20": every_pair(20),
    "match, a look after every pair up to 1,000": every_pair(MOST_PAIRS),
    "match, as many pairs as the verdict asks for": follow_advice,
    "match --sprt 0 50, a look at the stop": sequential(0, 50),
    "match --sprt -20 20, a look at the stop": sequential(-20, 20),
    "5 openings repeated, deterministic": repeat_openings(5, 0),
    "5 openings repeated, half of the pairs new": repeat_openings(5, 0.5),
    "report over two seeds with the same openings": two_seeds,
}


def skew_openings(openings: int, lost: float) -> Callable[[np.ndarray, np.random.Generator], Seen]:
    """20 pairs from each of some openings, in a few of which one agent always loses; a look after each round.

    What it gains in the others makes up for that over all openings: there the agents are equal.
    """

    def play(shares: np.ndarray, rng: np.random.Generator) -> Seen:
        gain, bad = lost * 0.5 / ((1 - lost) * 0.25), rng.random(openings) < lost
        evidence, stronger, missed = Evidence(), False, False
        for number in range(20):
            for opening in range(openings):
                points = 0.0 if bad[opening] else 1.5 if rng.random() < gain else 1.0
                evidence.add(PairOfGames(opening + 1, ((number,), ()), points))
            found, general = difference(evidence)
            stronger |= number > 0 and says_stronger(evidence)
            missed |= general and not found.low <= 0 <= found.high
        return Seen(stronger, missed)

    return play


VARIANTS = {
    "12 decisive openings, variants of play": variants(12),
    "20 openings, one of ten lost": skew_openings(20, 0.1),
    "40 openings, three of a hundred lost": skew_openings(40, 0.03),
}
LOOKS = {
    "match, a look after every pair up to 1,000": every_pair(MOST_PAIRS),
    "a plain 95% interval, a look after every pair up to 1,000": plain_every_pair,
}


def tournament(pairs: int, looks: int, rng: np.random.Generator) -> Seen:
    """Eight equals, each two playing the same openings, looked at several times; openings favour agents by chance."""
    names = [f"agent {n}" for n in range(8)]
    pairings = {two: Evidence() for two in combinations(names, 2)}
    stronger = missed = False
    for opening in range(pairs):
        for evidence in pairings.values():
            result = rng.choice(5, p=DRAWISH)
            evidence.add(PairOfGames(opening, ((), ()), result / 2))
        if (opening + 1) % (pairs // looks) == 0:
            table = ratings(pairings, names[0])
            middle = sum(rating.elo for rating in table.values()) / len(table)  # the pool's mean: all are equal
            stronger |= any(rating.above_next for rating in table.values())
            missed |= not table[names[1]].low <= middle <= table[names[1]].high
    return Seen(stronger, missed)


def share(hits: int, users: int) -> str:
    """ "3.2% (0.3)": a share and its standard error."""
    part = hits / users
    return f"{part:.1%} ({100 * sqrt(max(part * (1 - part), 1 / users) / users):.1f})"


def rows_of(workflows: Mapping[str, Workflow], users: int, rng: np.random.Generator) -> Iterator[list[str]]:
    for name, play in workflows.items():
        cells = [share_cells([play(np.array(shares), rng) for _ in range(users)]) for shares in EQUALS.values()]
        yield [name, *(cell for kind in cells for cell in kind)]


def truth_table(users: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """A row for each workflow between equals."""
    few = max(50, users // 8)
    yield from rows_of(WORKFLOWS, users, rng)
    for pairs, looks in ((20, 1), (50, 5)):
        cells = share_cells([tournament(pairs, looks, rng) for _ in range(few)])
        yield [f"tournament of eight equals, {pairs} pairs each, {looks} look{'s' * (looks > 1)}", *cells, *[""] * 4]


def share_cells(seen: list[Seen]) -> list[str]:
    """The cells of some users: how many were told a false "stronger", and how many saw the truth."""
    return [share(sum(flags), len(seen)) for flags in zip(*((s.stronger, not s.missed) for s in seen), strict=True)]


def anytime_pairs(shares: np.ndarray, rng: np.random.Generator) -> int:
    """The first pair after which the verdict calls the stronger agent stronger."""
    counts = draws(shares, 4 * MOST_PAIRS, rng)
    above = log_wealth(counts, 0.5) >= log(2 / ERROR_RATE)
    return int(above.argmax()) + 1 if above.any() else len(counts)


def sprt_pairs(shares: np.ndarray, elo1: float, rng: np.random.Generator) -> int:
    """The pair after which fastchess's test of 0 against ``elo1`` accepts ``elo1``; a large number if it errs."""
    counts, low, high = draws(shares, 4 * MOST_PAIRS, rng), *Sprt(0, elo1).bounds
    for number, seen in enumerate(counts, 1):
        llr = Sprt(0, elo1).llr(seen)
        if not low < llr < high:
            return number if llr > 0 else 10**9
    return 10**9


def speed_table(users: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """A row for each kind of pairs and each difference: the median number of pairs until a right verdict."""
    for kind, equals in EQUALS.items():
        for elo in ELOS:
            shares = shift_shares(equals, elo)
            ours = median(anytime_pairs(shares, rng) for _ in range(users))
            theirs = median(sprt_pairs(shares, elo, rng) for _ in range(max(50, users // 10)))
            yield [kind, f"+{elo}", f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"]


def show(title: str, heads: list[str], rows: Iterator[list[str]], count: int) -> list[list[str]]:
    """Prints a table in Markdown, row by row; returns its rows."""
    shown = []
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    with progress(count, "row", title) as bar:
        for row in rows:
            print(f"| {' | '.join(row)} |", flush=True)
            shown.append(row)
            bar.update()
    return shown


def most_stronger(row: list[str]) -> float:
    """The largest share of false "stronger" in a row, in percent."""
    return max(float(cell.partition("%")[0]) for cell in row[1::2] if cell)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--users", type=int, default=4000, metavar="N", help="simulated users a workflow (default 4000)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed (default 1)")
    parser.add_argument("--looks", action="store_true", help="only the users who look after every pair")
    parser.add_argument("--variants", action="store_true", help="only the users who play variants from a few openings")
    options = parser.parse_args(arguments)
    head(users=options.users, seed=options.seed)
    print("standard errors in brackets, in points of 100")
    rng = np.random.default_rng(options.seed)
    heads = ["workflow, equal agents"]
    for kind in EQUALS:
        heads += [f'{kind}: false "stronger"', f"{kind}: coverage"]
    if options.looks:
        wrong = show("How often a verdict is wrong", heads, rows_of(LOOKS, options.users, rng), len(LOOKS))
        ours, plain = map(most_stronger, wrong)
        record("verdicts-looks", ours, UNIT, {"plain": plain}, users=options.users, wrong=wrong)
        return 0
    wrong = show("From openings that decide", heads, rows_of(VARIANTS, options.users, rng), len(VARIANTS))
    most = max(map(most_stronger, wrong))
    record("verdicts-variants", most, UNIT, 100 * ERROR_RATE, users=options.users, wrong=wrong)
    if options.variants:
        return 0
    wrong = show("How often a verdict is wrong", heads, truth_table(options.users, rng), len(WORKFLOWS) + 2)
    heads = ["pairs", "true Elo", "ours, any look", "SPRT of the true Elo, as fishtest's", "ours / SPRT"]
    pairs = show(
        "Median pairs to a right verdict", heads, speed_table(options.users // 2, rng), len(EQUALS) * len(ELOS)
    )
    most = max(map(most_stronger, wrong))
    record("verdicts", most, UNIT, 100 * ERROR_RATE, users=options.users, wrong=wrong, pairs=pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
