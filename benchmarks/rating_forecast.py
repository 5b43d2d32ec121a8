"""Does the forecast's 90% interval hold? Simulated ladders of 30 agents, a forecast after 20 games, a look at game 200.

python -m benchmarks.rating_forecast [--runs 200] [--seed 1]

Agents have hidden strengths. Each plays those whose ratings are near its own, ratings follow Kaggle's kind of updates,
and the forecast sees what a user sees: points, seats and the opponents' ratings of the day. Three kinds of ladder:

- "all start": thirty submissions start together at 600
- "newcomer": one submission starts on a ladder that has settled
- "matchups": a newcomer, and each two agents have an advantage of their own that no rating knows

A run is one ladder and one forecast. The forecast's MODEL_ERROR was chosen on ladders like these, from other seeds.
"""

import argparse
from typing import NamedTuple

import numpy as np

from benchmarks.machine import head, record
from connectx_toolkit.arena.results.rating_forecast import (
    START,
    Forecast,
    RatedGame,
    drawn_points,
    expected_points,
    ladder_model,
    rate,
)

AGENTS, KNOWN, UNTIL = 30, 20, 200  # agents; games before the forecast and in all
NEAR = 8  # an opponent is one of so many with the nearest ratings
STRENGTH_SPREAD, SEAT_WORTH, DRAWS = 200.0, 60.0, 0.1  # of the hidden strengths, in rating; share of draws among equals
WARM_UP = 100  # games of each agent before a newcomer starts
WANTED = 0.85  # share of intervals that should hold


class Kind(NamedTuple):
    warm_up: int  # games of the others before the submission starts
    matchup_spread: float  # standard deviation of an advantage between two agents, in rating


KINDS = {"all start": Kind(0, 0.0), "newcomer": Kind(WARM_UP, 0.0), "matchups": Kind(WARM_UP, 100.0)}


class Ladder:
    """Agents with hidden strengths, and their ratings. Agent 0 is the submission, whose games are kept."""

    def __init__(self, kind: Kind, rng: np.random.Generator):
        self.rng, self.model = rng, ladder_model()
        self.strength = rng.normal(START, STRENGTH_SPREAD, AGENTS)
        one_way = np.triu(rng.normal(0, 1, (AGENTS, AGENTS)) * kind.matchup_spread, 1)
        self.matchup = one_way - one_way.T
        self.ratings = [self.model.rating() for _ in range(AGENTS)]
        self.played = np.zeros(AGENTS, int)
        self.games: list[RatedGame] = []
        while self.played[1:].min() < kind.warm_up:
            self.play(1 + int(self.played[1:].argmin()), first=1)
        self.played[:] = 0

    def run(self, games: int) -> None:
        """Plays until the submission has played so many games; who has played least is next."""
        while len(self.games) < games:
            self.play(int((self.played + self.rng.random(AGENTS)).argmin()))

    def play(self, one: int, first: int = 0) -> None:
        """A game of an agent against one near its rating; ``first``: the first agent that may be met."""
        other = self.opponent_of(one, first)
        seat = int(self.rng.integers(2))
        ahead = self.strength[one] - self.strength[other] + self.matchup[one, other] + (0.5 - seat) * SEAT_WORTH
        points = float(drawn_points(expected_points(np.array([ahead]), 0.0), DRAWS, self.rng)[0])
        if one == 0:
            self.games.append(RatedGame(points, seat, str(other), self.ratings[other].mu))
        elif other == 0:
            self.games.append(RatedGame(1 - points, 1 - seat, str(one), self.ratings[one].mu))
        self.ratings[one], self.ratings[other] = rate(self.model, self.ratings[one], self.ratings[other], points)
        self.played[[one, other]] += 1

    def opponent_of(self, one: int, first: int) -> int:
        away = np.abs([rating.mu - self.ratings[one].mu for rating in self.ratings])
        away[one], away[:first] = np.inf, np.inf
        return int(self.rng.choice(np.argsort(away)[:NEAR]))


def measure(kind: Kind, runs: int, seed: int) -> dict[str, float]:
    """Share of intervals that hold the rating at game 200, their median width, and the median's error."""
    held, widths, errors = [], [], []
    for run in range(runs):
        ladder = Ladder(kind, np.random.default_rng([seed, run]))
        ladder.run(KNOWN)
        forecast = Forecast(list(ladder.games), UNTIL)
        ladder.run(UNTIL)
        (low, high), rating = forecast.interval, ladder.ratings[0].mu
        held.append(low <= rating <= high)
        widths.append(high - low)
        errors.append(abs(forecast.level - rating))
    return {"coverage": float(np.mean(held)), "width": float(np.median(widths)), "error": float(np.mean(errors))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="ladders of each kind (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    options = parser.parse_args()
    head(seed=options.seed, runs=options.runs)
    print(f"{'ladder':<12}{'coverage of 90%':>16}{'median width':>14}{'mean error':>12}")
    found = {}
    for name, kind in KINDS.items():
        found[name] = measured = measure(kind, options.runs, options.seed)
        print(f"{name:<12}{100 * measured['coverage']:>15.1f}%{measured['width']:>14.0f}{measured['error']:>12.0f}")
    coverage = round(100 * found["all start"]["coverage"], 1)
    record("rating-forecast", coverage, f"% of 90% intervals hold, at least {100 * WANTED:.0f} wanted", ladders=found)


if __name__ == "__main__":
    main()
