"""Fits the opponent model: what fallible opponents are expected to reply, and what they will give away.

First, players of a pool play games (``DEVELOPMENT`` of training.makers.opponent_pool). Against each, two second players
give no result away: one plays any such move, the other is the agent perfect with the shipped model. The moves of each
player, with the exact scores, are kept in the run's folder. An interrupted run resumes there.

Then types of players are fitted to these moves by expectation maximisation (Dempster, Laird and Rubin 1977). Each game
belongs to one type. Each of its moves belongs to one kind of player, drawn by the type's shares. The kinds use the
policy network of ``train.py imitate``.

At last a network learns what each type will still give away, by fitted value iteration (Ernst et al. 2005) on the
positions of ``train.py labels``. Where the opponent moves, the model gives each reply a probability, the scores say
what it gives away, and the network estimates what follows. Where we move, the best move counts that gives nothing away.
These sums are the next targets.
"""

import copy
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
from torch import Tensor
from torch.nn import functional

from connectx_core.clock import UNSPENT
from connectx_core.encoding import encode_many
from connectx_core.network import Architecture, PlainNetwork
from connectx_core.opponent import (
    AT_OUR_TURN,
    AT_THEIR_TURN,
    SKILLS,
    ReplyModel,
    arrays_of,
    columns_of_scores,
    lasting_columns,
    move_probabilities,
    plies_after_moves,
)
from connectx_core.position import NO_MOVE, STANDARD, Position, Scores, sign, winning_spots
from connectx_core.torch_form import Network
from connectx_core.weights import unpack
from connectx_toolkit.games.labelled import Labels, moves_of
from connectx_toolkit.kaggle.agent_file import load_agent
from connectx_toolkit.kaggle.rules import DEFAULTS, sizes_of
from connectx_toolkit.players.fingerprint import files_of
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import AGENTS, WEIGHTS, read_as
from connectx_toolkit.training import runs
from connectx_toolkit.training.descent import Descent, follow_weights, mixed_precision
from connectx_toolkit.training.makers.exact_scores import pool_scores, solve
from connectx_toolkit.training.makers.examples import CPU
from connectx_toolkit.training.makers.labels import LABELS, TABLE_BITS, TRAINING, labels_of, read_labels
from connectx_toolkit.training.makers.opponent_pool import DEVELOPMENT, Column, PoolPlayer, column_of, networks_of
from connectx_toolkit.training.makers.own_games import (
    LEAST_GAIN,
    Met,
    evidence_of,
    held_out_losses,
    prior_of,
    read_own_games,
)
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import begin_run, publish, solver_pool
from connectx_toolkit.training.supervised import layers_of

BATCH_SIZE = 1024  # positions in a step: half with the opponent to move, half with us
LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.05
TARGETS_AVERAGED = 200  # steps over which the weights are averaged that make the targets
FORESEEN_AT_ONCE = 20_000  # positions whose replies are foreseen at once


class Problems(NamedTuple):
    """Labelled positions as the opponent and as we meet them. All arrays have n rows."""

    positions: np.ndarray  # (n,) int64, stones of the side to move
    masks: np.ndarray  # (n,) int64
    moves: np.ndarray  # (n, columns) int64, the stone that each column takes
    results: np.ndarray  # (n,) 1, 0, -1 for the side to move
    chances: np.ndarray  # (n, types, columns) float32: that each type of opponent plays the move
    points: np.ndarray  # (n, columns) float32: points that the move gives away
    theirs: np.ndarray  # (n, columns) bool: after the move the game goes on, and the opponent does not lose yet
    ours: np.ndarray  # (n, columns) bool: after the move the game goes on, and it keeps the result


def problems_of(labels: Labels, policy: PlainNetwork, types: np.ndarray) -> Problems:
    """The problems in labelled positions for types of opponents, (types, kinds), with this policy."""
    labels = labels.take(np.flatnonzero(labels.whole))
    positions, masks, legal = labels.positions, labels.masks, labels.legal
    scores = np.where(legal, labels.scores.astype(np.int64), NO_MOVE)
    results, of_moves = np.sign(labels.values.astype(np.int64)), np.sign(scores)
    moves = moves_of(masks, STANDARD)
    wins = (winning_spots(positions, masks, STANDARD)[:, None] & moves) != 0
    goes_on = legal & ~wins & (np.bitwise_count(masks) < STANDARD.cells - 1)[:, None]
    points = np.where(legal, (results[:, None] - of_moves) / 2, 0).astype(np.float32)
    chances = np.empty((len(labels), len(types), STANDARD.columns), np.float32)
    for start in range(0, len(labels), FORESEEN_AT_ONCE):
        part = slice(start, start + FORESEEN_AT_ONCE)
        lengths = plies_after_moves(positions[part], masks[part], scores[part], STANDARD)
        logits = policy.evaluate_many(positions[part], masks[part])["policy"].astype(float)
        chances[part] = np.einsum("tk,nkc->ntc", types, move_probabilities(scores[part], lengths, logits))
    kept = of_moves == results[:, None]
    return Problems(positions, masks, moves, results, chances, points, goes_on & (of_moves >= 0), goes_on & kept)


class Learner(Descent):
    """The network of expected gains in training; ``average`` is the result."""

    def __init__(self, problems: Problems, architecture: Architecture, steps: int, seed: int):
        torch.manual_seed(seed)
        self.problems, network = problems, Network(architecture)
        self.rng = np.random.default_rng(seed)
        self.to_move = np.flatnonzero(problems.results >= 0), np.flatnonzero(problems.results <= 0)
        adam = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
        super().__init__(network, [adam], steps)
        self.later = copy.deepcopy(network)  # makes the targets

    def run(self) -> float:
        """Trains to the end; the mean loss of the last tenth."""
        losses = []
        with progress(self.steps, "step") as bar:
            while self.step < self.steps:
                losses.append(self.learn())
                bar.update()
        return float(np.mean(losses[-max(1, self.steps // 10) :]))

    def learn(self) -> float:
        """One step; its loss."""
        theirs, ours = (self.rng.choice(rows, BATCH_SIZE // 2) for rows in self.to_move)
        targets = [torch.from_numpy(target).clamp(0, 1) for target in self.targets(theirs, ours)]
        rows = np.concatenate([theirs, ours])
        logits = self.logits(self.network, self.problems.positions[rows], self.problems.masks[rows])
        halves = logits[AT_THEIR_TURN][: len(theirs)], logits[AT_OUR_TURN][len(theirs) :]
        parts = [functional.binary_cross_entropy_with_logits(*pair) for pair in zip(halves, targets, strict=True)]
        loss = self.descend(torch.stack(parts).sum())
        follow_weights(self.later, self.network, min(TARGETS_AVERAGED, self.step))
        return float(loss)

    @staticmethod
    def logits(network: Network, positions: np.ndarray, masks: np.ndarray) -> dict[str, Tensor]:
        """Outputs of each head for positions, (n, types) float32."""
        planes = encode_many(positions, masks, STANDARD, network.architecture.encoding)
        with mixed_precision(CPU):
            outputs = network(torch.from_numpy(planes).float())
        return {name: output.float() for name, output in outputs.items()}

    def targets(self, theirs: np.ndarray, ours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is given away from rows in which the opponent, and in which we are to move: (n, types) each."""
        p = self.problems
        (their_rows, their_columns), (our_rows, our_columns) = np.nonzero(p.theirs[theirs]), np.nonzero(p.ours[ours])
        rows = np.concatenate([theirs[their_rows], ours[our_rows]])
        moves = p.moves[rows, np.concatenate([their_columns, our_columns])]
        with torch.no_grad():
            logits = self.logits(self.later, p.positions[rows] ^ p.masks[rows], p.masks[rows] | moves)
        later = np.zeros((len(theirs), *p.chances.shape[1:]), np.float32)
        later[their_rows, :, their_columns] = torch.sigmoid(logits[AT_OUR_TURN][: len(their_rows)]).numpy()
        given = (p.chances[theirs] * (p.points[theirs][:, None] + later)).sum(2)
        theirs_next = np.zeros((len(ours), *p.chances.shape[1:]), np.float32)
        theirs_next[our_rows, :, our_columns] = torch.sigmoid(logits[AT_THEIR_TURN][len(their_rows) :]).numpy()
        return given, theirs_next.max(2)


ITERATIONS = 200
ADDED_SHARE = 1e-3  # added to each share before it is normed, so that none is 0
CONCENTRATION = 2.0  # of the Dirichlet distribution from which the shares start


def log_likelihoods(moves: np.ndarray, games: np.ndarray, types: np.ndarray) -> np.ndarray:
    """Of each game under each type: (games, types).

    Args:
        moves: the probability that each kind gave to each move that was played, (n, kinds).
        games: the number of each move's game, (n,), all from 0 up.
        types: shares of the kinds, (types, kinds).
    """
    sums = np.zeros((games.max() + 1, len(types)))
    np.add.at(sums, games, np.log(moves @ types.T))
    return sums


def fit_types(moves: np.ndarray, games: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The prior of ``count`` types, (types,), and their shares of the kinds, (types, kinds). Arguments as above."""
    rng = np.random.default_rng(seed)
    types = rng.dirichlet(np.full(moves.shape[1], CONCENTRATION), count)
    prior = np.full(count, 1 / count)
    for _ in range(ITERATIONS):
        logs = log_likelihoods(moves, games, types) + np.log(prior)
        member = np.exp(logs - logs.max(1, keepdims=True))
        member /= member.sum(1, keepdims=True)
        prior = member.mean(0) + ADDED_SHARE / len(member)
        prior /= prior.sum()
        for index in range(count):
            blame = moves * types[index]
            blame *= (member[games, index] / blame.sum(1))[:, None]
            types[index] = blame.sum(0) + ADDED_SHARE
            types[index] /= types[index].sum()
    return prior, types


PLAY_CONFIG = DEFAULTS | sizes_of(STANDARD) | {"actTimeout": 0.15}
LATE, VERY_LATE = 18, 28  # stones from which on half and a quarter of the labels suffice


@dataclass
class Config(Options):
    """Options of ``train.py replies``."""

    METHOD = "replies"
    RESUMES = True

    games: str = option(
        "",
        "file of your games, as evaluate.py explore --add makes it: learn from them, not from the pool",
        reads=True,
    )
    me: str = option("", "your name in these games, if the file does not tell whose they are")
    shipped: Path = option(WEIGHTS / "perfect_replies.bin", "opponent model that --games starts from", reads=True)
    plays: int = option(60, "games of each opponent of the pool against any moves that keep the result", least=1)
    rematches: int = option(25, "games of each opponent of the pool against the agent perfect", least=0)
    types: int = option(4, "number of types of opponents", least=1)
    samples: int = option(16_000_000, "positions that the network that forecasts errors trains on", least=BATCH_SIZE)
    layers: str = option("dense:256,dense:64", "layers of the network that forecasts errors, as kind:width")
    seed: int = option(1, "random seed of the games, of the fit and of the network", least=0)
    labels: Path = option(LABELS, "file of labels that train.py labels has made", reads=True)
    replies_policy: Path = option(WEIGHTS / "strong_policy.bin", "policy network of the opponent model", reads=True)
    workers: int = option(os.cpu_count() or 1, "number of processes on this machine", least=1, is_free=True)
    scheduler: str = option("", "address of a dask cluster to use instead, such as tcp://10.0.0.1:8786", is_free=True)
    run: Path = option(Path("runs/replies"), "folder of the run")
    output: Path = option(Path(), "file to write: the opponent model", in_run="perfect_replies.bin")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.architecture()

    def files_read(self) -> dict[str, Path]:
        """Without --games also those of the pool's players and of perfect; with it neither these nor labels."""
        if self.games:
            return super().files_read() | {"labels": Path()}
        return super().files_read() | {"shipped": Path()} | {path.name: path for path in files_of_players()}

    def architecture(self) -> Architecture:
        return Architecture(
            "lines-1", layers_of(self.layers), ((AT_THEIR_TURN, self.types), (AT_OUR_TURN, self.types)), STANDARD[:3]
        )


def files_of_players() -> list[Path]:
    """What the players of the pool and the agent perfect play by, besides their code."""
    of_perfect = (path for path in files_of(AGENTS / "perfect.py") if path.suffix != ".py")
    return sorted({*networks_of(DEVELOPMENT), *of_perfect})


class Moves(NamedTuple):
    """Moves of one player, n of them."""

    positions: np.ndarray  # (n,) int64, stones of the player
    masks: np.ndarray  # (n,) int64
    scores: np.ndarray  # (n, columns) int64, exact, see connectx_core.position.NO_MOVE
    columns: np.ndarray  # (n,) what it played
    games: np.ndarray  # (n,) number of the game


def any_keeping(position: Position, scores: Scores, chance: Random) -> int:
    """A second player's move: any that keeps the result and does not lose at once."""
    best = max(score for score in scores if score is not None)
    kept = [column for column, score in enumerate(scores) if score is not None and sign(score) == sign(best)]
    return chance.choice(lasting_columns(position, kept))


@cache
def perfect() -> Callable:
    """The agent perfect, which notices by itself that a new game has begun."""
    return load_agent(str(AGENTS / "perfect.py")).agent


def by_perfect(position: Position) -> int:
    seen = {"board": position.to_board(), "mark": 2, "remainingOverageTime": UNSPENT, "step": position.ply}
    return perfect()(seen, PLAY_CONFIG)


def play_game(column: Column, second: Column) -> Iterator[tuple[Position, int]]:
    """Positions of a game from the empty board with the first player to move, and what it played in each."""
    position = Position.empty(STANDARD)
    while not position.is_over():
        chosen = column(position) if position.ply % 2 == 0 else second(position)
        if position.ply % 2 == 0:
            yield position, chosen
        position = position.play(chosen)


def play_games_of(player: PoolPlayer, config: Config) -> Moves:
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
        for position, chosen in play_game(column, careless if number < config.plays else by_perfect):
            if len(position.legal_columns()) > 1:
                rows.append((position, solve(position), chosen, number))
    positions, scores, columns, games = zip(*rows, strict=True)
    return Moves(*arrays_of(list(positions)), columns_of_scores(scores), np.array(columns), np.array(games))


def moves_of_all(players: Sequence[PoolPlayer], config: Config) -> list[Moves]:
    """The moves of each player, from the run's folder or played now, by several processes or a cluster. Raises
    ValueError if a file there is damaged, or of other settings.
    """
    names = ("plays", "rematches", "seed", *(path.name for path in files_of_players()))
    recipe = {name: config.settings[name] for name in names}
    paths = {player: config.run / f"{player.name.replace(' ', '-')}.bin" for player in players}
    stored = {player: runs.load_checkpoint(paths[player], recipe) for player in players}
    moves = {player: Moves(**one.arrays) for player, one in stored.items() if one}
    missing = [player for player in players if player not in moves]
    with (
        solver_pool(config.workers, TABLE_BITS, config.scheduler) as pool,
        progress(len(players), "player", done=len(moves), delay=0) as bar,
    ):
        for player, played_now in pool.map_unordered(partial(play_games_of, config=config), missing):
            runs.save_checkpoint(paths[player], recipe, {}, played_now._asdict())
            moves[player] = played_now
            bar.update()
    return [moves[player] for player in players]


def likelihoods(moves: Moves, policy: PlainNetwork) -> np.ndarray:
    """The probability that each kind gave to each move: (n, kinds)."""
    logits = policy.evaluate_many(moves.positions, moves.masks)["policy"].astype(float)
    lengths = plies_after_moves(moves.positions, moves.masks, moves.scores, STANDARD)
    return move_probabilities(moves.scores, lengths, logits)[np.arange(len(moves.masks)), :, moves.columns]


def fit_players(players: list[Moves], policy: PlainNetwork, config: Config) -> tuple[np.ndarray, np.ndarray, float]:
    """Prior and shares of the types, and their log loss in nats a move on players left out one by one."""
    moves = [likelihoods(player, policy) for player in players]
    firsts = np.cumsum([0] + [int(player.games.max()) + 1 for player in players])
    games = [player.games + first for player, first in zip(players, firsts[:-1], strict=True)]

    def fit_without(out: int | None) -> tuple[np.ndarray, np.ndarray]:
        chosen = [index for index in range(len(players)) if index != out]
        numbers = np.unique(np.concatenate([games[index] for index in chosen]), return_inverse=True)[1]
        return fit_types(np.concatenate([moves[index] for index in chosen]), numbers, config.types, config.seed)

    loss = []
    for out in range(len(players)):
        prior, types = fit_without(out)
        loss.append(-np.log(moves[out] @ types.T @ prior))
    return *fit_without(None), float(np.concatenate(loss).mean())


def thin_labels(labels: Labels, seed: int) -> Labels:
    """All early positions and a part of the late ones."""
    shares = np.select([labels.plies < LATE, labels.plies < VERY_LATE], [1.0, 0.5], 0.25)
    return labels.take(np.flatnonzero(np.random.default_rng(seed).random(len(labels)) < shares))


def learn_from(config: Config, games: list[Met]) -> dict[str, Any]:
    """Moves the shipped model's prior by one's own games, and writes the model if held-out games speak for it."""
    policy = read_as(PlainNetwork.from_bytes, config.replies_policy)
    model = read_as(partial(ReplyModel.from_bytes, policy=policy), config.shipped)
    with pool_scores(config.workers, TABLE_BITS) as scores_of:
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
        games = read_own_games(Path(config.games), config.me)
        begin_run(config)
        return learn_from(config, games)
    policy, labels = read_as(PlainNetwork.from_bytes, config.replies_policy), read_labels(config.labels)
    begin_run(config)
    torch.set_num_threads(1)
    players = moves_of_all(DEVELOPMENT, config)
    prior, types, loss = fit_players(players, policy, config)
    problems = problems_of(thin_labels(labels_of(labels, TRAINING), config.seed), policy, types)
    learner = Learner(problems, config.architecture(), config.samples // BATCH_SIZE, config.seed)
    forecast_loss = learner.run()
    facts = {
        "moves": sum(len(player.masks) for player in players),
        "log_loss_of_players_left_out": round(loss, 4),
        "forecast_loss": round(forecast_loss, 4),
        "types": [
            dict(zip(map(str, map(tuple, SKILLS)), np.round(shares, 3).tolist(), strict=True)) for shares in types
        ],
        "prior": np.round(prior, 3).tolist(),
    }
    content = ReplyModel.to_bytes(prior, types, learner.average.to_bytes())
    publish(config, content, facts, f"log loss of held-out players' moves, in nats a move: {loss:.3f}")
    return facts
