"""How well the model of replies foresees players that it did not learn from.

python -m benchmarks.replies [--games 20] [--half held-out] [--seed 2] [--folder runs/replies-benchmark]

For each player of ``training.games.opponent_pool``: the mean log loss in nats of what it played, in games against a
second player of any moves that keep the result. "even" gives all legal moves the same probability, "model" is the
population as it is before a game, "in game" learns the opponent's type from its earlier moves. Then, of the moves in
positions where something could be given away, the share that did, and the mean probability that the model gave to that.
"""

import argparse
from pathlib import Path

import numpy as np

from agents import perfect
from benchmarks.machine import describe
from benchmarks.swindles import HALVES
from connectx.geometry import STANDARD
from connectx.opponent_model import FORGETTING, ReplyModel, kinds_chances, lengths_of
from connectx.score import NO_MOVE
from connectx_toolkit.training.methods.replies import Config, Moves, moves_of


def chances_of_types(moves: Moves, model: ReplyModel) -> np.ndarray:
    """The probability that each type plays each column: (n, types, columns)."""
    taste = model.taste.judge_many(moves.positions, moves.masks)["policy"].astype(float)
    lengths = lengths_of(moves.positions, moves.masks, moves.scores, STANDARD)
    return np.einsum("tk,nkc->ntc", model.types, kinds_chances(moves.scores, lengths, taste))


def beliefs(moves: Moves, played: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """The probability of each type before each move, (n, types), as ``connectx.opponent_model.Opponent`` learns it.

    Args:
        played: the probability that each type gave to each move, (n, types).
    """
    found, belief = np.empty_like(played), prior
    for index in range(len(played)):
        if index and moves.games[index] != moves.games[index - 1]:
            belief = prior
        found[index] = belief
        belief = belief * played[index]
        belief = (1 - FORGETTING) * belief / belief.sum() + FORGETTING * prior
    return found


def row_of(moves: Moves, model: ReplyModel) -> tuple[float, ...]:
    """Losses, even, model and in game; shares of errors, foreseen and made; and how many moves could give."""
    chances, rows = chances_of_types(moves, model), np.arange(len(moves.columns))
    legal = moves.scores != NO_MOVE
    played = chances[rows, :, moves.columns]
    best = np.sign(np.where(legal, moves.scores, -99).max(1))
    gives = legal & (np.sign(moves.scores) < best[:, None])
    can_give = gives.any(1)
    foreseen = (np.einsum("t,ntc->nc", model.prior, chances) * gives).sum(1)
    losses = (
        np.log(legal.sum(1)).mean(),
        -np.log(played @ model.prior).mean(),
        -np.log((played * beliefs(moves, played, model.prior)).sum(1)).mean(),
    )
    return *losses, foreseen[can_give].mean(), gives[rows, moves.columns][can_give].mean(), can_give.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=20, help="of each player")
    parser.add_argument("--half", choices=HALVES, default="held-out", help="of the pool")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("runs/replies-benchmark"), help="where games are kept")
    options = parser.parse_args()
    config = Config(games=options.games, rematches=0, seed=options.seed, run=options.folder / options.half)
    print(f"{describe()}; seed {options.seed}; {options.games} games of each player")
    print(f"{'player':<22}{'moves':>7}{'even':>8}{'model':>8}{'in game':>9}{'foreseen':>10}{'gave':>8}{'could':>7}")
    whole = []
    for player in HALVES[options.half]:
        moves = moves_of(player, config)
        whole.append((len(moves.columns), row := row_of(moves, perfect.opponent.model)))
        print(line(player.name, len(moves.columns), row), flush=True)
    weights = np.array([count for count, _ in whole])
    mean = np.average([row for _, row in whole], axis=0, weights=weights)
    print(line("all", int(weights.sum()), (*mean[:5], sum(row[5] for _, row in whole))))


def line(name: str, count: int, row: tuple[float, ...]) -> str:
    even, model, in_game, foreseen, gave, could = row
    return f"{name:<22}{count:>7}{even:>8.3f}{model:>8.3f}{in_game:>9.3f}{foreseen:>10.1%}{gave:>8.1%}{could:>7.0f}"


if __name__ == "__main__":
    main()
