"""How much train.py tune gains on eight heuristics, beside SPSA on games with the same processor time.

python -m benchmarks.tuning                             all eight, 30 minutes of two cores for each search
python -m benchmarks.tuning --only course_1 --minutes 2 --pairs 20

The heuristics are in benchmarks/heuristics, with numbers as their authors would have guessed them. Each is tuned on the
positions for tuning; then the best candidate plays a match against the original, whether it was proven or not. SPSA
(Spall, 1992), as chess engines are tuned: both sides of a random step play a pair of games, and the numbers move to the
winner. It plays from openings that the match does not use, and has the processor time that the tuner's search took, in
all processes of both. All is kept in --folder: a stopped run goes on.
"""

import argparse
import json
import random
import resource
from collections.abc import Iterator, Mapping
from math import exp, log
from pathlib import Path
from typing import Any

from benchmarks.machine import head, record
from connectx.position import STANDARD
from connectx_toolkit.arena.match import Slot, open_pool
from connectx_toolkit.arena.start_positions import Opening, openings_for
from connectx_toolkit.games.match import Match, interval, verdict
from connectx_toolkit.players.process import Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.statistics.ratings import difference
from connectx_toolkit.system.files import ROOT, write_whole
from connectx_toolkit.tuning.candidates import place_for, spec_of
from connectx_toolkit.tuning.judgement import played
from connectx_toolkit.tuning.numbers import Number, Value, numbers_in, with_values
from connectx_toolkit.tuning.tune import Config, judge, searched

HEURISTICS = ROOT / "benchmarks" / "heuristics"
NAMES = ("course_1", "course_2", "course_3", "lines", "zones", "threats", "mixed", "whole")


# SPSA: every number as a place from 0 to 1 in its range

STEP, RATE = 0.1, 0.05  # of the places: half the distance of both sides, and what a pair won 2:0 moves them at first
ALPHA, GAMMA, STABLE = 0.602, 0.101, 50  # Spall's exponents of both, and pairs until the rate falls


def value_at(number: Number, place: float) -> Value:
    """The value at a place of a number's range."""
    place = min(max(place, 0.0), 1.0)
    if number.words:
        return number.words[min(int(place * len(number.words)), len(number.words) - 1)]
    low, high = (log(number.low), log(number.high)) if number.log else (number.low, number.high)
    value = low + place * (high - low)
    value = exp(value) if number.log else value
    return round(value) if number.is_whole else number.rounded(value)


def place_of(number: Number) -> float:
    """Where the file's own value lies."""
    if number.words:
        return (number.words.index(number.value) + 0.5) / len(number.words)
    value, low, high = (log(x) if number.log else x for x in (float(number.value), number.low, number.high))
    return (value - low) / (high - low)


def processor_seconds() -> float:
    """Of this process and of all that it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def pair_result(slot: Slot, job: tuple[int, dict[str, float], Task, Task]) -> tuple[float, float]:
    """The points of the plus side in a pair of games, less one: -1 to 1; and processor seconds."""
    before = processor_seconds()
    games = [slot.play(task) for task in job[2:]]
    for spec in job[2].players:
        slot.release(spec)
    assert games[0].points and games[1].points
    return games[0].points[0] + games[1].points[1] - 1, processor_seconds() - before


def spsa(agent: Path, folder: Path, seconds: float, concurrency: int, openings: list[Opening]) -> dict[str, Any]:
    """The state of SPSA after so many processor seconds, earlier calls included: places, pairs, seconds; it is kept."""
    text, kept = agent.read_text(encoding="utf-8"), folder / "spsa.json"
    numbers = numbers_in(text)
    state: dict[str, Any] = {"places": {n.name: place_of(n) for n in numbers}, "pairs": 0, "seconds": 0.0}
    state = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else state
    rng = random.Random(state["pairs"])

    def jobs() -> Iterator[tuple[int, dict[str, float], Task, Task]]:
        number = state["pairs"]
        while state["seconds"] < seconds:
            signs = {n.name: rng.choice((-1.0, 1.0)) for n in numbers}
            reach, sides = STEP / (number + 1) ** GAMMA, []
            for sign in (1, -1):
                moved = {n.name: value_at(n, state["places"][n.name] + sign * reach * signs[n.name]) for n in numbers}
                path = place_for(agent, folder / "spsa" / f"{number % 16}{'-+'[sign > 0]}", agent.name)
                path.write_text(with_values(text, numbers, moved), encoding="utf-8")
                sides.append(spec_of(path, f"{sign:+d}"))
            opening, seeds = openings[number % len(openings)], (number, number + 1)
            games = Task(0, (sides[0], sides[1]), opening, seeds), Task(1, (sides[1], sides[0]), opening, seeds)
            yield number, signs, *games
            number += 1

    with open_pool(Config().setup, concurrency) as pool:
        for (number, signs, *_), (result, spent) in pool.each(pair_result, jobs()):
            rate = RATE * ((1 + STABLE) / (number + 1 + STABLE)) ** ALPHA
            for name, sign in signs.items():
                state["places"][name] = min(max(state["places"][name] + rate * sign * result, 0.0), 1.0)
            state |= {"pairs": state["pairs"] + 1, "seconds": state["seconds"] + spent}
            write_whole(kept, json.dumps(state).encode())
    return state


# The benchmark


def told(match: Match) -> dict[str, Any]:
    """What a match proves, for the record."""
    evidence = match.evidence
    found = difference(evidence)[0]
    names = match.names
    ends = [round(each) if abs(each) < 1e4 else None for each in (found.elo, found.low, found.high)]
    return {"elo": ends, "pairs": evidence.results, "verdict": verdict(evidence, *names), "words": interval(found)}


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Tunes a heuristic by both methods; each best plays a match against the original."""
    agent, folder = HEURISTICS / f"{name}.py", options.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    config = Config(
        agent=agent, run=options.folder, output=str(folder / f"{name}_tuned.py"), trials=1_000_000,
        minutes=options.minutes, workers=options.concurrency, pairs=options.pairs, judged=options.judged,
        seed=options.seed,
    )  # fmt: skip
    kept = folder / "seconds"
    before = processor_seconds() - (float(kept.read_text()) if kept.exists() else 0)
    search, original, fresh = searched(config)
    seconds = processor_seconds() - before
    write_whole(kept, str(seconds).encode())
    judgement = judge(config, search, original, fresh)
    found: dict[str, Any] = {"processor seconds": round(seconds), "candidates": len(search.finished)}
    found["tuned"] = None
    if judgement is not None:
        good = judgement.good_moves
        found["tuned"] = told(judgement.match) | {
            "good moves": [round(100 * float(sheet.good.mean()), 1) for sheet in reversed(judgement.sheets)],
            "difference": [round(100 * each, 1) for each in good],
            "is_proven": judgement.is_proven,
        }
    openings = openings_for(STANDARD, None, options.seed)
    state = spsa(agent, folder, seconds, options.concurrency, openings[options.pairs :])
    text = agent.read_text(encoding="utf-8")
    numbers = numbers_in(text)
    values: Mapping[str, Value] = {n.name: value_at(n, state["places"][n.name]) for n in numbers}
    path = place_for(agent, folder / "by-spsa", f"{name}_spsa.py")
    path.write_text(with_values(text, numbers, values), encoding="utf-8")
    specs = spec_of(path, path.name), resolve(agent)
    (match,) = played([specs], config.plan._replace(openings=openings))
    return found | {"spsa": told(match) | {"played": state["pairs"], "values": dict(values)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME", help="the heuristics")
    parser.add_argument("--minutes", type=float, default=30.0, help="of each search (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=200, help="of the last matches (default %(default)s)")
    parser.add_argument("--judged", type=int, default=400, help="fresh positions (default %(default)s)")
    parser.add_argument("--concurrency", type=int, default=2, help="cores (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("runs/benchmarks/tuning"), help="where a run is kept")
    options = parser.parse_args()
    head(seed=options.seed, minutes=options.minutes, workers=options.concurrency, pairs=options.pairs)
    rows = {}
    for name in options.only:
        rows[name] = measure(name, options)
        for method in ("tuned", "spsa"):
            row = rows[name][method]
            words = f"{row['words']}; {row['verdict']}" if row else "nothing better found"
            print(f"{name:<10} {method:<6} {words}", flush=True)
    elos = [row["tuned"]["elo"][0] if row["tuned"] else 0 for row in rows.values()]
    gained = [elo for elo in elos if elo is None or elo > 0]
    known = [elo for elo in elos if elo is not None]
    record(
        "tuning", round(sum(known) / max(len(known), 1)), "Elo gained, on average", 40, gained=len(gained),
        minutes=options.minutes, concurrency=options.concurrency, seed=options.seed, heuristics=rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
