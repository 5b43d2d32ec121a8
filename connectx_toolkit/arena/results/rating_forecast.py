"""Where a submission's rating on Kaggle's ladder goes: its estimate by game, and the level where it settles.

Kaggle rates a submission by a Gaussian N(mu, sigma^2) that starts at 600. A game moves mu by how far its result is
from the expected one, more so while sigma is large, and each game makes sigma smaller. Kaggle does not publish the
formulas. We use the Bradley-Terry updates of Weng and Lin, "A Bayesian approximation method for online ranking"
(JMLR 2011), as openskill computes them. ``ASSUMPTIONS`` lists what we take for granted.

The forecast sees results and opponents' ratings. From these it infers how strong the submission is, and what moving
first is worth to it. Then it plays the coming games many times over: strengths drawn from what was inferred, opponents
of the neighbourhood, the same updates.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from openskill.models import BradleyTerryFull, BradleyTerryFullRating

START, START_SIGMA = 600.0, 200.0  # of a new submission
BETA = 100.0  # a difference of sqrt(2) * BETA between settled ratings is 73% of the points
TAU = 2.0  # what is added to sigma before each game, in squares, so that ratings never freeze
SETTLED_SIGMA = 50.0  # of an opponent: Kaggle shows mu alone
NEIGHBOURHOOD = 100.0  # standard deviation of opponents' ratings around one's own
STRENGTH_SPREAD = 300.0  # standard deviation of submissions' strengths, before any game is known
SEAT_SPREAD = 100.0  # the same of what moving first is worth, in rating
MODEL_ERROR = 75.0  # standard deviation, in rating, of what the model leaves out
HORIZON, MORE_GAMES = 200, 100
PATHS = 2000  # futures that are played
INTERVAL = (5.0, 95.0)  # percentiles of the 90% interval

ASSUMPTIONS = (
    f"Kaggle's formulas are not public. Assumed: N({START:.0f}, {START_SIGMA:.0f}^2) at the start, Bradley-Terry "
    f"updates with beta {BETA:.0f} and tau {TAU:.0f}.",
    "The first game here is the submission's first. Where an opponent's score is unknown, it is taken to be yours.",
    f"Opponents have sigma {SETTLED_SIGMA:.0f}. Coming ones lie around your rating, with a standard deviation of "
    f"{NEIGHBOURHOOD:.0f}; you move first in half of the games.",
    f"What this leaves out, such as opponents that suit you or outdated scores, has a standard deviation of "
    f"{MODEL_ERROR:.0f}.",
    "The submission stays as strong as it was in these games. Only your latest submissions play on.",
)


class RatedGame(NamedTuple):
    """A game of a submission, as far as its rating depends on it."""

    points: float  # the submission's: 1, 0.5 or 0
    seat: int  # the submission's: 0 moves first
    opponent: str
    opponent_rating: float | None  # None if it is not known; then it is taken to be the submission's own
    date: str = ""  # ISO 8601


class Estimate(NamedTuple):
    """The estimated rating after a game."""

    rating: float  # mu
    sigma: float
    gained: float  # what the game was worth
    opponent_rating: float  # as known or assumed


class Forecast:
    """What the games of a submission tell about its rating in the future.

    Args:
        games: of the submission, in the order in which they were played.
        horizon: the game after which the rating is forecast; None: that of ``horizon_after``.

    Raises:
        ValueError: there are no games, or the horizon is not beyond them.
    """

    def __init__(self, games: Sequence[RatedGame], horizon: int | None = None, seed: int = 1):
        self.games = games
        self.estimates = estimates(games)
        self.horizon = horizon_after(len(games)) if horizon is None else horizon
        if not games or self.horizon <= len(games):
            raise ValueError(
                f"a forecast for game {self.horizon} needs 1 to {self.horizon - 1} games, not {len(games)}"
            )
        self.rng = np.random.default_rng(seed)

    @property
    def now(self) -> Estimate:
        return self.estimates[-1]

    @cached_property
    def levels(self) -> np.ndarray:
        """The rating after game ``horizon`` in each future that was played: float64, (PATHS,)."""
        strength, seat_worth = _inferred(self.games, self.estimates, PATHS, self.rng)
        strength += self.rng.normal(0, MODEL_ERROR, PATHS)
        draws = _draw_factor(self.games)
        mu, sigma = np.full(PATHS, self.now.rating), np.full(PATHS, self.now.sigma)
        for _ in range(len(self.games), self.horizon):
            opponent = mu + self.rng.normal(0, NEIGHBOURHOOD, PATHS)
            seats = self.rng.choice((0.5, -0.5), PATHS)
            expected = expected_points(strength + seats * seat_worth - opponent, SETTLED_SIGMA)
            points = drawn_points(expected, draws, self.rng)
            mu, sigma = updated(mu, sigma, opponent, SETTLED_SIGMA, points)
        return mu

    @property
    def level(self) -> float:
        """The median."""
        return float(np.median(self.levels))

    @property
    def interval(self) -> tuple[float, float]:
        """It holds the rating in at least 90% of futures, if the model is not further off than ``MODEL_ERROR``."""
        low, high = np.percentile(self.levels, INTERVAL)
        return float(low), float(high)

    def chance_above(self, other: "Forecast") -> float:
        """How likely this submission ends above another one, whose future is taken to be independent."""
        below = np.searchsorted(np.sort(other.levels), self.levels)
        return float(below.mean() / len(other.levels))


def horizon_after(games: int) -> int:
    """The game after which a rating is forecast: 200, but at least 100 games ahead."""
    return max(HORIZON, games + MORE_GAMES)


def estimates(games: Sequence[RatedGame]) -> list[Estimate]:
    """The rating after each game, from the start of the submission on."""
    model = ladder_model()
    own, found = model.rating(), list[Estimate]()
    for game in games:
        against = own.mu if game.opponent_rating is None else game.opponent_rating
        after, _ = rate(model, own, model.rating(against, SETTLED_SIGMA), game.points)
        found.append(Estimate(after.mu, after.sigma, after.mu - own.mu, against))
        own = after
    return found


def ladder_model(sigma: float = START_SIGMA, beta: float = BETA, tau: float = TAU) -> BradleyTerryFull:
    """The rules of updating."""
    return BradleyTerryFull(mu=START, sigma=sigma, beta=beta, tau=tau)


def rate(
    model: BradleyTerryFull, one: BradleyTerryFullRating, other: BradleyTerryFullRating, points: float
) -> tuple[BradleyTerryFullRating, BradleyTerryFullRating]:
    """Both ratings after a game in which "one" got 1, 0.5 or 0 points.

    A draw is the mean of a win and a loss, as in the paper. (openskill 6.2 gives both players of a draw the mean of
    their changes, so that drawing against a stronger opponent would gain nothing.)
    """
    if points == 0.5:
        pairs = zip(rate(model, one, other, 1.0), rate(model, one, other, 0.0), strict=True)
        first, second = (model.rating((won.mu + lost.mu) / 2, won.sigma) for won, lost in pairs)
        return first, second
    [[first], [second]] = model.rate([[one], [other]], ranks=[1 - points, points])
    return first, second


def updated(
    mu: np.ndarray, sigma: np.ndarray, opponent: np.ndarray, opponent_sigma: float, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The new mu and sigma of many submissions at once, by the formulas of ``rate``; all arrays have one shape."""
    variance = sigma**2 + TAU**2
    scale = np.sqrt(variance + opponent_sigma**2 + TAU**2 + 2 * BETA**2)
    expected = 1 / (1 + np.exp((opponent - mu) / scale))
    known = (variance / scale**2) ** 1.5 * expected * (1 - expected)
    return mu + variance / scale * (points - expected), np.sqrt(variance * (1 - known))


def expected_points(difference: np.ndarray, opponent_sigma: float) -> np.ndarray:
    """Of a player whose strength is this far above the rating of its opponent, which is as uncertain as said."""
    return 1 / (1 + np.exp(-difference / np.sqrt(2 * BETA**2 + opponent_sigma**2)))


def drawn_points(expected: np.ndarray, draws: float, rng: np.random.Generator) -> np.ndarray:
    """Results with these expected points, 1, 0.5 or 0; ``draws`` is the share of draws among equals, at most 1/2."""
    drawn = 4 * draws * expected * (1 - expected)
    number = rng.random(expected.shape)
    return np.where(number < expected - drawn / 2, 1.0, np.where(number < expected + drawn / 2, 0.5, 0.0))


def _draw_factor(games: Sequence[RatedGame]) -> float:
    """The share of draws; ten games without one are added to those that were played."""
    return min(0.5, sum(game.points == 0.5 for game in games) / (len(games) + 10))


def _inferred(
    games: Sequence[RatedGame], known: Sequence[Estimate], count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Strengths and what moving first is worth, drawn from what the games leave likely: float64, (count,) each.

    Strength is in units of rating: that of an opponent with the same one gets half of the points.
    """
    strengths = START + STRENGTH_SPREAD * np.linspace(-4, 4, 321)[:, None]
    worths = SEAT_SPREAD * np.linspace(-3, 3, 31)[None, :]
    log_weight = -0.5 * ((strengths - START) / STRENGTH_SPREAD) ** 2 - 0.5 * (worths / SEAT_SPREAD) ** 2
    for game, estimate in zip(games, known, strict=True):
        difference = strengths + (0.5 - game.seat) * worths - estimate.opponent_rating
        expected = expected_points(difference, SETTLED_SIGMA)
        log_weight += game.points * np.log(expected) + (1 - game.points) * np.log1p(-expected)
    weight = np.exp(log_weight - log_weight.max()).ravel()
    cells = rng.choice(weight.size, count, p=weight / weight.sum())
    rows, columns = np.unravel_index(cells, log_weight.shape)
    return strengths[rows, 0], worths[0, columns]
