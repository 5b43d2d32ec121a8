"""The model of an opponent's replies, from games of fallible first players: what a second seat can expect of them.

The players are ``DEVELOPMENT`` of training.games.opponent_pool. Against each, two second players give no result away:
one plays any such move, the other is the agent perfect with the model that it has. The exact scores of the positions in
which the player was to move, and what it played, are kept in the run's folder, player by player; an interrupted run
resumes there.

Mixtures of kinds of players (``connectx_toolkit.training.learning.reply_types``) are fitted to the moves, with a
small policy network, which ``train.py distill`` makes. Then a network learns, on the positions of ``train.py
labels``, what each of these types will give away (``connectx_toolkit.training.learning.error_forecast``).
"""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch

from connectx.choice import unhurried
from connectx.geometry import STANDARD
from connectx.nets.network import Architecture, PlainNetwork
from connectx.opponent_model import KINDS, ReplyModel, arrays_of, columns_of_scores, lengths_of, move_probabilities
from connectx.position import Position
from connectx.score import Scores, sign
from connectx.weights import unpack
from connectx_toolkit.console.files import read_as
from connectx_toolkit.console.progress import progress
from connectx_toolkit.kaggle.agent_file import load_agent
from connectx_toolkit.kaggle.rules import DEFAULTS, sizes_of
from connectx_toolkit.places import AGENTS, WEIGHTS
from connectx_toolkit.training.data.exact import scores_kept_in, solve
from connectx_toolkit.training.data.labels import SUFFIX, TRAINING, Labels, labels_of, read_labels
from connectx_toolkit.training.data.own_games import Met, own_games_in
from connectx_toolkit.training.games.opponent_pool import DEVELOPMENT, Column, Player, column_of
from connectx_toolkit.training.learning.error_forecast import BATCH, Learner, problems_of
from connectx_toolkit.training.learning.networks import layers_of
from connectx_toolkit.training.learning.own_prior import LEAST_GAIN, evidence_of, held_out_losses, prior_of
from connectx_toolkit.training.learning.reply_types import fit
from connectx_toolkit.training.support import checkpoint
from connectx_toolkit.training.support.manifest import begin, publish
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.pool import solver_pool

CLOCK = DEFAULTS | sizes_of(STANDARD) | {"actTimeout": 0.15}
TABLE_BITS = 22  # log2 of the entries of each process's table: 32 MiB
BANK = 38.0  # seconds, of which perfect uses none on purpose
LATE, VERY_LATE = 18, 28  # stones from which on half and a quarter of the labels suffice


@dataclass
class Config(Options):
    """Options of ``train.py replies``."""

    METHOD = "replies"

    games: str = option(
        "",
        "file of your games, as evaluate.py explore --add makes it: learn from them, not from the pool",
        reads=(".sqlite",),
    )
    me: str = option("", "your name in these games, if the file does not tell whose they are")
    shipped: Path = option(WEIGHTS / "perfect_replies.bin", "opponent model that --games starts from", reads=(".bin",))
    plays: int = option(60, "games of each opponent of the pool against any moves that keep the result", least=1)
    rematches: int = option(25, "games of each opponent of the pool against the agent perfect", least=0)
    types: int = option(4, "number of types of opponents", least=1)
    samples: int = option(16_000_000, "positions that the network that forecasts errors trains on", least=BATCH)
    layers: str = option("dense:256,dense:64", "layers of the network that forecasts errors, as kind:width")
    seed: int = option(1, "random seed of the games, of the fit and of the network")
    labels: Path = option(
        Path("runs/labels/labels.labels"), "file of labels that train.py labels has made", reads=(SUFFIX,)
    )
    replies_policy: Path = option(
        WEIGHTS / "perfect_replies_policy.bin", "policy network of the opponent model", reads=(".bin",)
    )
    workers: int = option(os.cpu_count() or 1, "number of processes on this machine", least=1, is_free=True)
    scheduler: str = option("", "address of a dask cluster to use instead, such as tcp://10.0.0.1:8786", is_free=True)
    run: Path = option(Path("runs/replies"), "folder of the run")
    output: Path = option(Path(), "file to write: the opponent model", in_run="perfect_replies.bin")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.architecture()

    def architecture(self) -> Architecture:
        return Architecture(
            "lines-1", layers_of(self.layers), (("gift", self.types), ("hope", self.types)), STANDARD[:3]
        )


class Moves(NamedTuple):
    """Moves of one player, n of them."""

    positions: np.ndarray  # (n,) int64, stones of the player
    masks: np.ndarray  # (n,) int64
    scores: np.ndarray  # (n, columns) int64, exact, see connectx.score.NO_MOVE
    columns: np.ndarray  # (n,) what it played
    games: np.ndarray  # (n,) number of the game


def any_keeping(position: Position, scores: Scores, chance: Random) -> int:
    """A second player's move: any that keeps the result and does not lose at once."""
    best = max(score for score in scores if score is not None)
    kept = [column for column, score in enumerate(scores) if score is not None and sign(score) == sign(best)]
    return chance.choice(unhurried(position, kept))


@cache
def perfect() -> Callable:
    """The agent perfect, which notices by itself that a new game has begun."""
    return load_agent(str(AGENTS / "perfect.py")).agent


def by_perfect(position: Position) -> int:
    seen = {"board": position.to_board(), "mark": 2, "remainingOverageTime": BANK, "step": position.ply}
    return perfect()(seen, CLOCK)


def played(column: Column, second: Callable[[Position], int]) -> Iterator[tuple[Position, int]]:
    """Positions of a game from the empty board with the first player to move, and what it played in each."""
    position = Position.empty(STANDARD)
    while not position.is_over():
        chosen = column(position) if position.ply % 2 == 0 else second(position)
        if position.ply % 2 == 0:
            yield position, chosen
        position = position.play(chosen)


def games_of(player: Player, config: Config) -> Moves:
    """Plays and scores the player's games, in a worker.

    Draws from a generator of its own, for in a worker of dask other threads draw from that of ``random``. The agent
    perfect uses that one, and a clock: its games are not quite the same again.
    """
    chance, rows = Random(), []
    column = column_of(player, chance)

    def careless(position: Position) -> int:
        return any_keeping(position, solve(position), chance)

    for number in range(config.plays + config.rematches):
        for generator in (chance, random):
            generator.seed(f"{config.seed} {player.name} {number}")
        for position, chosen in played(column, careless if number < config.plays else by_perfect):
            if len(position.legal_columns()) > 1:
                rows.append((position, solve(position), chosen, number))
    positions, scores, columns, games = zip(*rows, strict=True)
    return Moves(*arrays_of(list(positions)), columns_of_scores(scores), np.array(columns), np.array(games))


def moves_of_all(players: Sequence[Player], config: Config) -> list[Moves]:
    """The moves of each player, from the run's folder or played now, by several processes or a cluster.

    Raises:
        ValueError: a file there is damaged, or of another number of games or another seed.
    """
    recipe = {name: config.settings[name] for name in ("plays", "rematches", "seed")}
    paths = {player: config.run / f"{player.name.replace(' ', '-')}.bin" for player in players}
    found = {player: stored for player in players if (stored := checkpoint.load(paths[player], recipe))}
    moves = {player: Moves(**stored.arrays) for player, stored in found.items()}
    missing = [player for player in players if player not in moves]
    with (
        solver_pool(config.workers, TABLE_BITS, config.scheduler) as pool,
        progress(len(players), "player", done=len(moves), delay=0) as bar,
    ):
        for player, played_now in pool.map_unordered(partial(games_of, config=config), missing):
            checkpoint.save(paths[player], recipe, {}, played_now._asdict())
            moves[player] = played_now
            bar.update()
    return [moves[player] for player in players]


def likelihoods(moves: Moves, policy: PlainNetwork) -> np.ndarray:
    """The probability that each kind gave to each move: (n, kinds)."""
    logits = policy.judge_many(moves.positions, moves.masks)["policy"].astype(float)
    lengths = lengths_of(moves.positions, moves.masks, moves.scores, STANDARD)
    return move_probabilities(moves.scores, lengths, logits)[np.arange(len(moves.masks)), :, moves.columns]


def fitted(players: list[Moves], policy: PlainNetwork, config: Config) -> tuple[np.ndarray, np.ndarray, float]:
    """Prior and shares of the types, and their log loss in nats a move on players left out one by one."""
    moves = [likelihoods(player, policy) for player in players]
    firsts = np.cumsum([0] + [int(player.games.max()) + 1 for player in players])
    games = [player.games + first for player, first in zip(players, firsts[:-1], strict=True)]
    loss = []
    for out in range(len(players)):
        kept = [index for index in range(len(players)) if index != out]
        numbers = np.unique(np.concatenate([games[index] for index in kept]), return_inverse=True)[1]
        prior, types = fit(np.concatenate([moves[index] for index in kept]), numbers, config.types, config.seed)
        loss.append(-np.log(moves[out] @ types.T @ prior))
    numbers = np.unique(np.concatenate(games), return_inverse=True)[1]
    prior, types = fit(np.concatenate(moves), numbers, config.types, config.seed)
    return prior, types, float(np.concatenate(loss).mean())


def thinned(labels: Labels, seed: int) -> Labels:
    """All early positions and a part of the late ones."""
    shares = np.select([labels.plies < LATE, labels.plies < VERY_LATE], [1.0, 0.5], 0.25)
    return labels.take(np.flatnonzero(np.random.default_rng(seed).random(len(labels)) < shares))


def learn_from(config: Config, games: list[Met]) -> dict[str, Any]:
    """Moves the shipped model's prior by one's own games, and writes the model if held-out games speak for it."""
    policy = read_as(PlainNetwork.from_bytes, config.replies_policy)
    model = read_as(partial(ReplyModel.from_bytes, policy=policy), config.shipped)
    with scores_kept_in(config.run / "scores.txt", config.workers, TABLE_BITS) as scores_of:
        evidence = evidence_of(games, Position.empty(STANDARD), model, scores_of)
    losses = held_out_losses(model, evidence)
    for one in losses:
        print(f"{one.opponent}: {one.games} held-out games, log loss {one.before:.3f} before, {one.after:.3f} after")
    moves = sum(one.moves for one in losses)
    before = sum(one.before * one.moves for one in losses) / max(1, moves)
    after = sum(one.after * one.moves for one in losses) / max(1, moves)
    if before - after < LEAST_GAIN:
        told = f"too little to learn from {len(games)} games as second player"
        print(f"{config.games}: {told}; nothing was written: leave --replies out")
        return {}
    prior = prior_of(model, list(evidence.values()))
    facts = {"games": len(games), "log_loss": round(after, 4), "before": round(before, 4), "prior": prior.tolist()}
    forecast = read_as(unpack, config.shipped)[0]["gifts"].tobytes()  # as it is
    score = f"log loss of {moves} held-out moves, in nats a move: {after:.3f}; {before:.3f} before"
    publish(config, ReplyModel.to_bytes(prior, model.types, forecast), facts, score)
    return facts


def train(config: Config) -> dict[str, Any]:
    """Plays the games that are missing, fits the model and writes it; or learns from one's own games."""
    if config.games and config.scheduler:
        raise ValueError("--games learns on this machine: leave out --scheduler")
    if config.games:
        games = own_games_in(Path(config.games), config.me)
        begin(config)
        return learn_from(config, games)
    begin(config)
    torch.set_num_threads(1)
    policy, labels = read_as(PlainNetwork.from_bytes, config.replies_policy), read_labels(config.labels)
    players = moves_of_all(DEVELOPMENT, config)
    prior, types, loss = fitted(players, policy, config)
    problems = problems_of(thinned(labels_of(labels, TRAINING), config.seed), policy, types)
    learner = Learner(problems, config.architecture(), config.samples // BATCH, config.seed)
    forecast_loss = learner.run()
    facts = {
        "moves": sum(len(player.masks) for player in players),
        "log_loss_of_players_left_out": round(loss, 4),
        "forecast_loss": round(forecast_loss, 4),
        "types": [
            dict(zip(map(str, map(tuple, KINDS)), np.round(shares, 3).tolist(), strict=True)) for shares in types
        ],
        "prior": np.round(prior, 3).tolist(),
    }
    content = ReplyModel.to_bytes(prior, types, learner.average.to_bytes())
    publish(config, content, facts, f"log loss of held-out players' moves, in nats a move: {loss:.3f}")
    return facts
