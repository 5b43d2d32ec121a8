"""Trains one network with a policy and a value head by actor-critic, on tic-tac-toe or ConnectX.

The board, seen by the side to move, goes through a convolution and, unchanged, also into the dense layers. The policy
head gives a logit for each action, the value head the expected return (see ``training.learning.policy_games`` for
returns and illegal choices). The loss is the sum of the policy-gradient loss, with the advantage (return minus value)
as weight, and the mean absolute error of the value. The learner draws its moves and plays both seats.

Method: Barto, Sutton and Anderson (1983), in the form of Mnih et al. (2016) with whole games; the games of an update
are played in parallel. Our additions are an entropy bonus, which decays to 0, and practice games, in which the opponent
plays some moves at random: so the learner sees positions that a perfect opponent never allows, and learns which
openings give chances to win. The running reward counts only the other games; one with an illegal choice counts as lost.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from connectx.nets.network import Architecture
from connectx.nets.torch_form import Network
from connectx.position import open_cells, winning_spots
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.game_tree import Tree, shares, table_player, tree_of
from connectx_toolkit.training.games.named import NAMES, games_named
from connectx_toolkit.training.games.opponents import opponent_named
from connectx_toolkit.training.games.players import (
    Logits,
    Player,
    alternating,
    erring,
    greedy_player,
    play_games,
    random_player,
    sampling_player,
)
from connectx_toolkit.training.learning.networks import device_of
from connectx_toolkit.training.learning.policy_games import BLOCK, ILLEGAL, Choices, Learner, policy_loss, returns_of
from connectx_toolkit.training.learning.policy_run import PolicyRun, train_to_end
from connectx_toolkit.training.learning.torch_state import tensors
from connectx_toolkit.training.support import checkpoint
from connectx_toolkit.training.support.device import NAMES as DEVICES
from connectx_toolkit.training.support.manifest import begin, publish
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.plots import save_curve

ENCODING = "stones-1"
ALL_MOVES = 1_000
POOL = 8  # past versions from which self-play draws its opponents
ADDED_EVERY = 50  # batches between two added versions


@dataclass
class Config(Options):
    """Options of ``train.py actor-critic``."""

    METHOD = "actor-critic"

    game: str = option("tictactoe", NAMES)
    opponent: str = option(
        "minimax", "minimax (exact), lookahead@PLIES, random, self; on ConnectX lookahead@2, self, or an agent"
    )
    games: int = option(500_000, "largest number of games", least=1)
    batch: int = option(200, "games per update, played in parallel", least=1)
    stop: float = option(-0.004, "running reward at which training ends")
    window: int = option(10_000, "games against the error-free opponent that the running reward averages", least=1)
    practice: float = option(0.75, "share of practice games, in which the opponent errs", least=0, below=1)
    errors: float = option(1.0, "probability that the opponent's move is random in practice games", least=0, most=1)
    early: int = option(
        3, "how many of its first moves may be random, drawn from 1 to this for each game; 0: all", least=0
    )
    discount: float = option(0.95, "discount of a return for each later move of the learner", above=0, most=1)
    learning_rate: float = option(4e-3, "initial learning rate of Adam; decays to a tenth", above=0)
    entropy: float = option(0.15, "initial weight of the entropy bonus in the loss; decays to 0", least=0)
    settle: float = option(
        0.2, "share of the games at the end for which learning rate and entropy no longer change", least=0, below=1
    )
    channels: int = option(32, "channels of the convolution", least=1)
    hidden: int = option(128, "width of the first dense layer; the second has half of it", least=2)
    seed: int = option(1, "of weights and games")
    device: str = option(
        "cpu", "of torch; the games themselves are always played on the processor", among=DEVICES, is_free=True
    )
    run: Path = option(Path("runs/actor-critic"), "folder for checkpoint and curves")
    output: Path = option(Path(), "the network", in_run="actor_critic.bin")


def fresh_network(games: Games, inarow: int, channels: int, hidden: int, seed: int) -> Network:
    """A new network for a kind of game. Two extra channels of its convolution are initialised to copy the stones.

    Through these the dense layers see the board itself, besides the other outputs of the convolution.
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
    """(n, 2, rows, columns) float32: encoding "stones-1" of boards (n, rows, columns) int8 seen by the side to move."""
    upwards = boards[:, ::-1]
    return torch.from_numpy(np.stack([upwards == 1, upwards == -1], 1).astype(np.float32))


def outputs_of(network: Network, boards: np.ndarray) -> dict[str, Tensor]:
    """The outputs of each head, (n, size). Equal boards, frequent at the beginning of games, are computed only once."""
    flat = np.ascontiguousarray(boards).reshape(len(boards), -1)
    rows = flat.view(np.dtype((np.void, flat.shape[1])))[:, 0]
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    device = device_of(network)
    outputs, places = network(planes_of_boards(boards[first]).to(device)), torch.from_numpy(index).to(device)
    return {name: output[places] for name, output in outputs.items()}


def policy_of(network: Network) -> Logits:
    """The policy head as a function of boards, without gradients."""

    def logits(boards: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return outputs_of(network, boards)["policy"].cpu().numpy()

    return logits


def loss_of(outputs: dict[str, Tensor], actions: Tensor, returns: Tensor, entropy: float) -> Tensor:
    """The policy-gradient loss with the value as baseline, plus the mean absolute error of the value.

    Args:
        outputs: "policy" (m, actions) logits, "value" (m, 1).
        actions: (m,) int64.
        returns: (m,) float32.
    """
    values = outputs["value"][:, 0]
    actor = policy_loss(outputs["policy"], actions, returns - values.detach(), entropy)
    return actor + (returns - values).abs().mean()


def tree_player(tree: Tree, name: str, rng: np.random.Generator) -> Player:
    """An opponent for small games, which draws uniformly among the moves that it finds best.

    Raises:
        ValueError: the name is not minimax, lookahead@PLIES or random.
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
    """The look-ahead of two plies on ConnectX: it wins at once if it can, else blocks a win, else plays at random."""

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
    """Past versions of the learner; for each batch of games, one is drawn."""

    def __init__(self, network: Network, rng: np.random.Generator):
        self._network, self._rng = network, rng
        self.versions: list[dict[str, Tensor]] = []
        self._past = Network(network.architecture).to(device_of(network))
        self._player = sampling_player(policy_of(self._past), rng)
        self.add()

    def add(self) -> None:
        """Adds the current version; if there are more than POOL, a random one is dropped."""
        self.versions.append({name: value.detach().clone() for name, value in self._network.state_dict().items()})
        if len(self.versions) > POOL:
            self.versions.pop(int(self._rng.integers(POOL)))

    def choose(self) -> None:
        self._past.load_state_dict(self.versions[int(self._rng.integers(len(self.versions)))])

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        return self._player(games, which)


def erring_at_first(player: Player, errors: float, moves: np.ndarray, rng: np.random.Generator) -> Player:
    """The player, except that a share ``errors`` of its first ``moves``, (n,), in each game is random."""

    def errs(games: Games, which: np.ndarray) -> np.ndarray:
        return (games.plies[which] // 2 < moves[which]) & (rng.random(len(which)) < errors)

    return erring(player, errs, rng)


def opponent_of(config: Config, network: Network, rng: np.random.Generator) -> Player:
    """The opponent in a configuration, without random moves.

    Raises:
        ValueError: this game has no such opponent.
    """
    if config.opponent == "self":
        return SelfPlay(network, rng)
    games = games_named(config.game)
    if isinstance(games, ConnectX) and config.opponent == "lookahead@2" and games.geometry.fits_word:
        return two_plies(rng)
    if not isinstance(games, ConnectX):
        return tree_player(tree_of(games), config.opponent, rng)
    return opponent_named(config.opponent, games.geometry, rng)


class Run(PolicyRun):
    """A training run against the configured opponent, with its learning curve."""

    def __init__(self, config: Config):
        kind = games_named(config.game)
        inarow = kind.geometry.inarow if isinstance(kind, ConnectX) else min(kind.rows, kind.columns)
        network = fresh_network(kind, inarow, config.channels, config.hidden, config.seed)
        super().__init__(config, network, config.window)
        self.opponent = opponent_of(config, network, self.rng)
        self.learner = Learner(policy_of(network), self.rng)
        # A row per batch: games; mean result v the error-free and the erring opponent; illegal share; value's error.
        self.curve: list[list[float]] = []
        self.resume()

    def play_and_learn(self) -> np.ndarray:
        config = self.config
        if isinstance(self.opponent, SelfPlay):
            self.opponent.choose()
        practice = np.arange(config.batch) < config.practice * config.batch
        early = self.rng.integers(1, config.early + 1, config.batch) if config.early else ALL_MOVES
        opponent = erring_at_first(self.opponent, config.errors, practice * early, self.rng)
        leads = alternating(config.batch, BLOCK, self.games)
        results = play_games(games_named(config.game, config.batch), (self.learner, opponent), leads).outcomes()
        choices = self.learner.choices()
        error = self.learn(choices, results)
        strict = strictly(results, choices)
        self.illegal = float((choices.turns == ILLEGAL).mean())
        means = (float(part.mean()) if len(part) else 0.0 for part in (strict[~practice], strict[practice]))
        self.curve.append([self.games + config.batch, *means, self.illegal, error])
        if isinstance(self.opponent, SelfPlay) and len(self.curve) % ADDED_EVERY == 0:
            self.opponent.add()
        return strict[~practice]

    def learn(self, choices: Choices, results: np.ndarray) -> float:
        """One update; returns the critic's mean absolute error before it."""
        left = max(0.0, 1 - self.games / (self.config.games * (1 - self.config.settle)))
        returns = torch.from_numpy(returns_of(choices, results, self.config.discount)).to(self.device)
        actions = torch.from_numpy(choices.actions).to(self.device)
        outputs = outputs_of(self.network, choices.boards)
        loss = loss_of(outputs, actions, returns, self.config.entropy * left)
        self.optimizer.param_groups[0]["lr"] = self.config.learning_rate * (0.1 + 0.9 * left)
        self.update(loss)
        return float((returns - outputs["value"].detach()[:, 0]).abs().mean())

    def own_arrays(self) -> dict[str, np.ndarray]:
        versions = self.opponent.versions if isinstance(self.opponent, SelfPlay) else []
        past = {f"past:{i}:{name}": value.cpu().numpy() for i, v in enumerate(versions) for name, value in v.items()}
        return {"curve": np.array(self.curve), **past}

    def take_back(self, arrays: dict[str, np.ndarray]) -> None:
        self.curve = arrays["curve"].tolist()
        if isinstance(self.opponent, SelfPlay):
            self.opponent.versions = [tensors(version) for version in checkpoint.numbered(arrays, "past").values()]

    def publish(self) -> None:
        """Writes the network with its entry in the manifest beside it, and the curves."""
        config = self.config
        facts = {"games": self.games, "opponent": config.opponent, "running_reward": round(self.running_reward, 4)}
        publish(config, self.network.to_bytes(), facts)
        x, *lines = np.array(self.curve).T
        names = ("result v the opponent", "result v the erring opponent", "illegal tries", "error of the value")
        curves = {name: (x, y) for name, y in zip(names, lines, strict=True)}
        save_curve(config.run / "curves.png", "games", config.game, curves)


def strictly(results: np.ndarray, choices: Choices) -> np.ndarray:
    """(n,) int8: the results of games, where a game with an illegal choice counts as lost."""
    strict = results.copy()
    strict[choices.games[choices.turns == ILLEGAL]] = -1
    return strict


def against_sound(run: Run, games: int = 10_000) -> float:
    """The mean result of new games against the error-free opponent; the network draws its moves as in training."""
    rng = np.random.default_rng(1000 + run.config.seed)
    learner, opponent = Learner(policy_of(run.network), rng), opponent_of(run.config, run.network, rng)
    played = play_games(games_named(run.config.game, games), (learner, opponent), alternating(games, BLOCK))
    return float(strictly(played.outcomes(), learner.choices()).mean())


def against_lookahead(run: Run, games: int = 100, plies: int = 3) -> list[tuple[int, int, int]]:
    """(wins, draws, losses), moving first and moving second, of the most likely legal move against a look-ahead.

    The look-ahead plays a win that it can force within ``plies`` plies, else prevents one, else plays at random.
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
    """Trains until the running reward is reached or the games are played; resumes from a checkpoint."""
    begin(config)
    torch.set_num_threads(1)  # the batches are small: several threads would wait for each other
    run = Run(config)
    train_to_end(run)
    if config.game == "tictactoe":
        first, second = against_lookahead(run)
        print(f"v look-ahead of 3 plies, wins, draws, losses of 100: first {first}, second {second}")
    return run
