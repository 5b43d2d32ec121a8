"""Trains one network with a policy and a value head by actor-critic, on tic-tac-toe or ConnectX.

The board, multiplied by -1 for the second player, goes through a convolution and also, as it is, into the dense layers;
the policy head gives a logit for each action, the value head the expected credit. A won game is worth 1, a lost one -1,
discounted for each later move of the learner; an illegal action costs -1, undiscounted and not blamed on the moves
before it, and a legal one is drawn in its place. The loss is the log-probabilities weighted by the advantage (credit
less value) and the mean absolute error of the value. The learner draws its moves; it has either seat in turn.

Method: Barto, Sutton and Anderson (1983), in the form of Mnih et al. (2016) with whole games; the games of an update
are played side by side. Ours are a bonus on the policy's entropy, which fades to nothing, and practice: in a share of
the games the opponent plays its first moves at random, so that the learner sees positions that a perfect one never
allows, and what openings may gain. The running reward counts the other games only; one with an illegal try as lost.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from connectx.nets import Architecture
from connectx.position import open_cells, winning_spots
from connectx.torch_nets import Network
from console.progress import progress
from training.games.batch import Games
from training.games.connectx import ConnectX
from training.games.game_tree import Tree, shares, table_player, tree_of
from training.games.named import NAMES, games_named
from training.games.opponents import opponent_named
from training.games.players import (
    Logits,
    Player,
    alternating,
    greedy_player,
    play_games,
    random_player,
    sampling_player,
)
from training.methods.policy_gradient import ILLEGAL, Choices, Learner, returns
from training.support import checkpoint
from training.support.manifest import check_output, publish
from training.support.options import command_of, option
from training.support.plots import save_curve

ENCODING = "stones-1"
BLOCK = 10  # games, then the seats change
CHECKPOINT_SECONDS = 20.0
ALL_MOVES = 1_000
POOL = 8  # past versions that self-play draws its opponents from


@dataclass
class Config:
    """What ``train.py actor-critic`` can be told."""

    game: str = option("tictactoe", NAMES)
    opponent: str = option(
        "minimax", "minimax (exact), lookahead@PLIES, random, self; on ConnectX lookahead@2, self, or an agent"
    )
    games: int = option(500_000, "at most so many games")
    batch: int = option(200, "games side by side, between two updates")
    stop: float = option(-0.004, "running reward at which training ends")
    window: int = option(10_000, "games against the sound opponent that the running reward is the mean of")
    practice: float = option(0.75, "share of the games in which the opponent errs")
    errors: float = option(1.0, "share of its moves in those that are random")
    early: int = option(3, "its moves that may be: the first of them, from 1 to so many a game; 0: all moves")
    discount: float = option(0.95, "of a reward, for each later move of the learner")
    learning_rate: float = option(4e-3, "of Adam; falls to a tenth")
    entropy: float = option(0.15, "weight of the policy's entropy in the loss at the beginning; falls to 0")
    settle: float = option(0.2, "share of the games, the last, in which these two have fallen")
    channels: int = option(32, "of the convolution")
    hidden: int = option(128, "width of the first dense layer; the second has half")
    seed: int = option(1, "of weights and games")
    folder: Path = option(Path("runs/actor-critic"), "checkpoint and curves")
    output: Path = option(Path("runs/actor-critic/network.bin"), "the network")

    def __post_init__(self) -> None:
        if min(self.games, self.batch, self.window, self.channels, self.hidden // 2, self.early + 1) < 1:
            raise ValueError(f"games, batch, window, channels should be at least 1, hidden 2, early 0: {self}")
        if not (0 <= self.practice < 1 and 0 <= self.settle < 1 and 0 <= self.errors <= 1 and 0 < self.discount <= 1):
            raise ValueError(f"practice, settle, errors, discount should lie in 0..1, the first two below 1: {self}")
        if self.learning_rate <= 0 or self.entropy < 0:
            raise ValueError(f"learning rate should be above 0, entropy not below: {self}")


def fresh_network(games: Games, inarow: int, channels: int, hidden: int, seed: int) -> Network:
    """A network for a kind of game. Two further channels of its convolution begin as copies of the board's stones.

    By these the dense layers read the board itself beside what the convolution makes of it.
    """
    layers = (("conv", channels + 2), ("dense", hidden), ("dense", hidden // 2))
    heads = (("policy", games.actions), ("value", 1))
    torch.manual_seed(seed)
    network = Network(Architecture(ENCODING, layers, heads, (games.rows, games.columns, inarow)))
    with torch.no_grad():
        copies = network.get_parameter("0a_weight")[:2]
        copies.zero_()
        copies[[0, 1], [0, 1], 1, 1] = 1.0
    return network


def planes_of_boards(boards: np.ndarray) -> Tensor:
    """(n, 2, rows, columns) float32, the encoding "stones-1" of boards (n, rows, columns) int8 seen by the mover."""
    upwards = boards[:, ::-1]
    return torch.from_numpy(np.stack([upwards == 1, upwards == -1], 1).astype(np.float32))


def outputs_of(network: Network, boards: np.ndarray) -> dict[str, Tensor]:
    """The outputs of each head, (n, size), of which equal boards share the computation: games begin alike."""
    flat = np.ascontiguousarray(boards).reshape(len(boards), -1)
    rows = flat.view(np.dtype((np.void, flat.shape[1])))[:, 0]
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    outputs = network(planes_of_boards(boards[first]))
    return {name: output[torch.from_numpy(index)] for name, output in outputs.items()}


def policy_of(network: Network) -> Logits:
    """The policy head as a function of boards, without gradients."""

    def logits(boards: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return outputs_of(network, boards)["policy"].numpy()

    return logits


def loss_of(outputs: dict[str, Tensor], actions: Tensor, credits: Tensor, entropy: float) -> Tensor:
    """Advantage-weighted log-probabilities, mean absolute error of the value, and the bonus on entropy.

    Args:
        outputs: "policy" (m, actions) logits, "value" (m, 1).
        actions: (m,) int64.
        credits: (m,) float32, as ``training.methods.policy_gradient.returns`` gives them.
    """
    log_chances, values = outputs["policy"].log_softmax(1), outputs["value"][:, 0]
    chosen = log_chances.gather(1, actions[:, None])[:, 0]
    spread = -(log_chances.exp() * log_chances).sum(1)
    actor = -(chosen * (credits - values.detach())).mean()
    return actor + (credits - values).abs().mean() - entropy * spread.mean()


def tree_player(tree: Tree, name: str, rng: np.random.Generator) -> Player:
    """An opponent of small games, which plays any of the moves that are best to it, each as likely as the others.

    Raises:
        ValueError: the name is neither minimax, lookahead@PLIES nor random.
    """
    kind, _, plies = name.partition("@")
    if name == "random":
        return random_player(rng)
    if name == "minimax":
        return table_player(tree, shares(tree.best), rng)
    if kind != "lookahead" or not plies.isdecimal() or int(plies) < 1:
        raise ValueError(f"the opponent should be minimax, lookahead@PLIES or random, not {name!r}")
    values = tree.look_ahead(int(plies))
    return table_player(tree, shares(values == values.max(1, keepdims=True)), rng)


def two_plies(rng: np.random.Generator) -> Player:
    """The look-ahead of two plies on ConnectX: it wins at once if it can, else blocks a win, else plays any column."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        assert isinstance(games, ConnectX)
        geometry, (mine, masks) = games.geometry, games.bitboards(which)
        cells = open_cells(masks, geometry)
        choices = [winning_spots(side, masks, geometry) & cells for side in (mine, mine ^ masks)]
        bits = np.select([choice != 0 for choice in choices], choices, cells)
        columns = bits[:, None] & np.array([geometry.column_mask(column) for column in range(geometry.columns)])
        return np.argmax((columns != 0) * (1 - rng.random(columns.shape)), axis=1)

    return player


class SelfPlay:
    """Past versions of the learner, one drawn anew for each batch of games."""

    def __init__(self, network: Network, rng: np.random.Generator):
        self._network, self._rng = network, rng
        self.versions: list[dict[str, Tensor]] = []
        self._past = Network(network.architecture)
        self._player = sampling_player(policy_of(self._past), rng)
        self.add()

    def add(self) -> None:
        """Keeps the present version; of more than POOL, a random one goes."""
        self.versions.append({name: value.detach().clone() for name, value in self._network.state_dict().items()})
        if len(self.versions) > POOL:
            self.versions.pop(int(self._rng.integers(POOL)))

    def choose(self) -> None:
        self._past.load_state_dict(self.versions[int(self._rng.integers(len(self.versions)))])

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        return self._player(games, which)


def erring(player: Player, errors: float, moves: np.ndarray, rng: np.random.Generator) -> Player:
    """The player, but for random moves: ``errors`` of its first ``moves`` (n,) in each game."""
    at_random = random_player(rng)

    def erring_player(games: Games, which: np.ndarray) -> np.ndarray:
        wrong = (games.plies[which] // 2 < moves[which]) & (rng.random(len(which)) < errors)
        actions = np.zeros(len(which), np.int64)
        for part, mover in ((wrong, at_random), (~wrong, player)):
            if part.any():
                actions[part] = mover(games, which[part])
        return actions

    return erring_player


def opponent_of(config: Config, network: Network, rng: np.random.Generator) -> Player:
    """The opponent that a configuration names, when it does not err.

    Raises:
        ValueError: it names none for this game.
    """
    if config.opponent == "self":
        return SelfPlay(network, rng)
    games = games_named(config.game)
    if isinstance(games, ConnectX) and config.opponent == "lookahead@2" and games.geometry.fits_word:
        return two_plies(rng)
    if not isinstance(games, ConnectX):
        return tree_player(tree_of(games), config.opponent, rng)
    return opponent_named(config.opponent, games.geometry, rng)


class Run:
    """A training run: its network, its results so far, and its checkpoint."""

    def __init__(self, config: Config):
        self.config, self.path = config, config.folder / "checkpoint.bin"
        self.rng = np.random.default_rng(config.seed)
        kind = games_named(config.game)
        inarow = kind.geometry.inarow if isinstance(kind, ConnectX) else min(kind.rows, kind.columns)
        self.network = fresh_network(kind, inarow, config.channels, config.hidden, config.seed)
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate)
        self.opponent = opponent_of(config, self.network, self.rng)
        self.learner = Learner(policy_of(self.network), self.rng)
        self.games, self.seconds = 0, 0.0  # of processor time: one thread works
        self.results: list[np.ndarray] = []  # int8, of the games against the sound opponent; an illegal try: -1
        # A row a batch: games; mean result v the sound and the erring opponent; share of illegal tries; value's error.
        self.curve: list[list[float]] = []
        self.settings = checkpoint.settings_of(config)
        self._resume()

    @property
    def running_reward(self) -> float:
        """The mean of the last results against the sound opponent; -1 before there are enough."""
        window = self.config.window
        parts = self.results[-(window // max(1, min(map(len, self.results), default=1)) + 1) :]
        last = np.concatenate([*parts, np.empty(0)])[-window:]
        return float(last.mean()) if len(last) == window else -1.0

    @property
    def finished(self) -> bool:
        return self.games >= self.config.games or self.running_reward >= self.config.stop

    def step(self) -> None:
        """Plays a batch of games and learns from it."""
        started = time.process_time()
        config = self.config
        if isinstance(self.opponent, SelfPlay):
            self.opponent.choose()
        practice = np.arange(config.batch) < config.practice * config.batch
        early = self.rng.integers(1, config.early + 1, config.batch) if config.early else ALL_MOVES
        opponent = erring(self.opponent, config.errors, practice * early, self.rng)
        leads = alternating(config.batch, BLOCK, self.games)
        results = play_games(games_named(config.game, config.batch), (self.learner, opponent), leads).outcomes()
        choices = self.learner.choices()
        error = self.learn(choices, results)
        self.games += config.batch
        strict, illegal = strictly(results, choices), choices.turns == ILLEGAL
        self.results.append(strict[~practice])
        means = (float(part.mean()) if len(part) else 0.0 for part in (strict[~practice], strict[practice], illegal))
        self.curve.append([self.games, *means, error])
        if isinstance(self.opponent, SelfPlay) and len(self.curve) % 50 == 0:
            self.opponent.add()
        self.seconds += time.process_time() - started

    def learn(self, choices: Choices, results: np.ndarray) -> float:
        """One update; returns the critic's mean absolute error before it."""
        left = max(0.0, 1 - self.games / (self.config.games * (1 - self.config.settle)))
        credits = torch.from_numpy(returns(choices, results, self.config.discount))
        outputs = outputs_of(self.network, choices.boards)
        loss = loss_of(outputs, torch.from_numpy(choices.actions), credits, self.config.entropy * left)
        self.optimizer.param_groups[0]["lr"] = self.config.learning_rate * (0.1 + 0.9 * left)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float((credits - outputs["value"].detach()[:, 0]).abs().mean())

    def save(self) -> None:
        other = {"results": np.concatenate(self.results), "curve": np.array(self.curve)}
        if isinstance(self.opponent, SelfPlay):
            for index, version in enumerate(self.opponent.versions):
                other |= {f"{index}:{name}": value.numpy() for name, value in version.items()}
        facts = {"games": self.games, "seconds": self.seconds}
        checkpoint.save(self.path, self.settings, self.network, self.optimizer, self.rng, facts, other)

    def _resume(self) -> None:
        found = checkpoint.load(self.path, self.settings, self.network, self.optimizer, self.rng)
        if found is None:
            return
        facts, other = found
        self.games, self.seconds, self.curve = facts["games"], facts["seconds"], other["curve"].tolist()
        self.results = np.split(other["results"], len(self.curve))
        if isinstance(self.opponent, SelfPlay):
            versions: dict[int, dict[str, Tensor]] = {}
            for key, value in other.items():
                index, _, name = key.partition(":")
                if name:
                    versions.setdefault(int(index), {})[name] = torch.from_numpy(value)
            self.opponent.versions = [versions[index] for index in sorted(versions)]

    def publish(self) -> None:
        """Writes the network with its entry in the manifest beside it, and the curves."""
        config = self.config
        facts = {"games": self.games, "opponent": config.opponent, "running_reward": round(self.running_reward, 4)}
        command = f"{command_of('actor-critic', config)} --output {config.output.as_posix()}"
        publish(config.output, self.network.to_bytes(), command, facts)
        x, *lines = np.array(self.curve).T
        names = ("result v the opponent", "result v the erring opponent", "illegal tries", "error of the value")
        curves = {name: (x, y) for name, y in zip(names, lines, strict=True)}
        save_curve(config.folder / "curves.png", "games", config.game, curves)


def strictly(results: np.ndarray, choices: Choices) -> np.ndarray:
    """(n,) int8: the results of games, those with an illegal try counted as lost."""
    strict = results.copy()
    strict[choices.games[choices.turns == ILLEGAL]] = -1
    return strict


def against_sound(run: Run, games: int = 10_000) -> float:
    """The mean result of new games against the opponent without errors; the network draws its moves as in training."""
    rng = np.random.default_rng(1000 + run.config.seed)
    learner, opponent = Learner(policy_of(run.network), rng), opponent_of(run.config, run.network, rng)
    played = play_games(games_named(run.config.game, games), (learner, opponent), alternating(games, BLOCK))
    return float(strictly(played.outcomes(), learner.choices()).mean())


def against_lookahead(run: Run, games: int = 100, plies: int = 3) -> list[tuple[int, int, int]]:
    """(wins, draws, losses) moving first and second against a look-ahead, by the policy's most likely legal move.

    The look-ahead plays a win that it can force within ``plies`` plies, else prevents one, else any move.
    """
    kind, rng = games_named(run.config.game, games), np.random.default_rng(run.config.seed)
    opponent = tree_player(tree_of(kind), f"lookahead@{plies}", rng)
    counts = []
    for first in (True, False):
        players = (greedy_player(policy_of(run.network)), opponent)
        outcomes = play_games(kind.take(np.arange(games)), players, np.full(games, first)).outcomes()
        wins, draws, losses = ((outcomes == result).sum() for result in (1, 0, -1))
        counts.append((int(wins), int(draws), int(losses)))
    return counts


def train(config: Config) -> Run:
    """Trains until the running reward is reached or the games are played; resumes where a checkpoint is."""
    check_output(config.output)
    torch.set_num_threads(1)  # the batches are small: more threads wait for each other
    run = Run(config)
    saved = time.monotonic()
    with progress(config.games, "game", done=run.games, delay=0) as bar:
        while not run.finished:
            run.step()
            if time.monotonic() > saved + CHECKPOINT_SECONDS:
                run.save()
                saved = time.monotonic()
            bar.set_postfix(reward=f"{run.running_reward:.4f}", illegal=f"{run.curve[-1][3]:.1%}", refresh=False)
            bar.update(config.batch)
    run.save()
    run.publish()
    reached = "reached" if run.running_reward >= config.stop else "not reached"
    print(f"running reward {run.running_reward:.4f} after {run.games} games, {config.stop} {reached}; {config.output}")
    if config.game == "tictactoe":
        first, second = against_lookahead(run)
        print(f"v look-ahead of 3 plies, wins, draws, losses of 100: first {first}, second {second}")
    return run
