"""Trains one network with a policy and a value head by actor-critic, on tic-tac-toe or ConnectX.

The board, seen by the side to move, goes through a convolution and, unchanged, also into the dense layers. The policy
head gives a logit for each action, the value head the expected return. The loss is the policy-gradient loss, weighted
by the advantage (return minus value), plus the mean absolute error of the value. The learner draws its moves and plays
both seats.

Rewards, the cost of illegal actions and the loop are those of ``whole_games``, which policy-gradient shares.

Method: Barto, Sutton and Anderson (1983), in the form of Mnih et al. (2016) with whole games. The protocol is that of
the book's tic-tac-toe chapter: training against minimax, then 100 games a seat against a look-ahead of three steps. It
reports 72 wins and 28 draws moving first, 9 wins and 91 draws moving second.

Where the source is not followed:

    both heads share the dense layers; the source's have 32 units each of their own
    the value is linear, without tanh, and the policy's loss does not move it (the critic is detached)
    training ends at a running reward of -0.004 over 10,000 games; the source's at -0.005 over 100,000
    the games of an update are played in parallel, and the learning rate decays
    an entropy bonus, which decays to 0
    practice games, in which some of the opponent's early moves are random, so that the learner sees more positions.
    The running reward counts only the other games; one with an illegal choice counts as lost
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from connectx_core.network import Architecture
from connectx_core.position import Geometry, geometry_of
from connectx_core.torch_form import Network
from connectx_toolkit.training.learners.whole_games import (
    ILLEGAL,
    Choices,
    WholeGamesRun,
    chosen_and_entropy,
    returns_of,
)
from connectx_toolkit.training.opponents import opponent_named, tree_of, tree_player, two_plies
from connectx_toolkit.training.options import Options, device_option, option
from connectx_toolkit.training.runs import begin_run, publish, save_curve
from connectx_toolkit.training.supervised import device_of, logits_of, outputs_of_boards
from connectx_toolkit.training.vector_games import (
    GAME_FORMS,
    ConnectX,
    Games,
    PlayedGames,
    Player,
    alternating,
    erring,
    games_named,
    greedy_player,
    play_games,
    sampling_player,
)

BOARD_ENCODING = "stones-1"
LAST_PART = 0.2  # share of the games at the end for which learning rate and entropy no longer change
PAST_VERSIONS = 8  # past versions from which self-play draws its opponents
ADDED_EVERY = 50  # batches between two added versions


@dataclass
class Config(Options):
    """Options of ``train.py actor-critic``."""

    METHOD = "actor-critic"

    game: str = option("tictactoe", GAME_FORMS)
    opponent: str = option(
        "minimax", "minimax (exact), lookahead@PLIES, random, self; on ConnectX lookahead@2, self, or an agent"
    )
    games: int = option(500_000, "largest number of games", least=1)
    batch: int = option(200, "games per update, played in parallel", least=1)
    stop: float = option(-0.004, "running reward at which training ends", above=-1)
    practice: float = option(0.75, "share of practice games, in which the opponent errs", least=0, below=1)
    errors: float = option(
        1.0, "probability that an early move of the opponent is random in a practice game", least=0, most=1
    )
    discount: float = option(0.95, "discount of a return for each later move of the learner", above=0, most=1)
    learning_rate: float = option(4e-3, "initial learning rate of Adam; decays to a tenth", above=0)
    entropy: float = option(0.15, "initial weight of the entropy bonus in the loss; decays to 0", least=0)
    channels: int = option(32, "channels of the convolution", least=1)
    hidden: int = option(128, "width of the first dense layer; the second has half of it", least=2)
    seed: int = option(1, "random seed of weights and games", least=0)
    device: str = device_option("cpu")
    run: Path = option(Path("runs/actor-critic"), "folder for the curves")
    output: Path = option(Path(), "file to write: the network", in_run="actor_critic.bin")


def geometry_for(games: Games) -> Geometry:
    """The board of a kind of game as the network sees it. Raises ValueError if it does not fit 64 bits."""
    inarow = games.geometry.inarow if isinstance(games, ConnectX) else min(games.rows, games.columns)
    geometry = geometry_of(games.rows, games.columns, inarow)
    if not geometry.fits_word:
        raise ValueError(f"a board of {games.columns}x{games.rows} does not fit the 64 bits of the network's input")
    return geometry


def fresh_network(games: Games, channels: int, hidden: int, seed: int) -> Network:
    """A new network for a kind of game. Two extra channels of its convolution are initialised to copy the stones.

    Through these the dense layers see the board itself, besides the other outputs of the convolution.
    """
    layers = (("conv", channels + 2), ("dense", hidden), ("dense", hidden // 2))
    heads = (("policy", games.actions), ("value", 1))
    torch.manual_seed(seed)
    network = Network(Architecture(BOARD_ENCODING, layers, heads, geometry_for(games)[:3]))
    with torch.no_grad():
        copies = network.get_parameter("0a_weight")[:2]
        copies.zero_()
        copies[[0, 1], [0, 1], 1, 1] = 1.0
    return network


def strict_results(results: np.ndarray, choices: Choices) -> np.ndarray:
    """(n,) int8: the results of games, where a game with an illegal choice counts as lost."""
    strict = results.copy()
    strict[choices.games[choices.turns == ILLEGAL]] = -1
    return strict


def loss_of(outputs: dict[str, Tensor], actions: Tensor, returns: Tensor, entropy: float) -> Tensor:
    """The policy-gradient loss with the value as baseline, plus the mean absolute error of the value, minus
    ``entropy`` times the mean entropy of the policy, in nats.

    Args:
        outputs: "policy" (m, actions) logits, "value" (m, 1).
        actions: (m,) int64.
        returns: (m,) float32.
    """
    values, (chosen, spread) = outputs["value"][:, 0], chosen_and_entropy(outputs["policy"], actions)
    actor = -(chosen * (returns - values.detach())).mean() - entropy * spread.mean()
    return actor + (returns - values).abs().mean()


class SelfPlay:
    """Past versions of the learner; for each batch of games, one is drawn."""

    def __init__(self, network: Network, rng: np.random.Generator):
        self._network, self._rng = network, rng
        self.versions: list[dict[str, Tensor]] = []
        self._past = Network(network.architecture).to(device_of(network))
        self._player = sampling_player(logits_of(self._past), rng)
        self.add()

    def add(self) -> None:
        """Adds the current version; if there are more than PAST_VERSIONS, a random one is dropped."""
        self.versions.append({name: value.detach().clone() for name, value in self._network.state_dict().items()})
        if len(self.versions) > PAST_VERSIONS:
            self.versions.pop(int(self._rng.integers(PAST_VERSIONS)))

    def choose(self) -> None:
        self._past.load_state_dict(self.versions[int(self._rng.integers(len(self.versions)))])

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        return self._player(games, which)


def opponent_of(config: Config, network: Network, rng: np.random.Generator) -> Player:
    """The opponent in a configuration, without random moves. Raises ValueError if the game has none of that name."""
    if config.opponent == "self":
        return SelfPlay(network, rng)
    games = games_named(config.game)
    if not isinstance(games, ConnectX):
        return tree_player(tree_of(games), config.opponent, rng)
    return two_plies(rng) if config.opponent == "lookahead@2" else opponent_named(config.opponent, games.geometry, rng)


class ActorCriticRun(WholeGamesRun):
    """A network in training.

    Attributes:
        results: (n,) int8: results against the opponent when it does not err.
        curve: a row for each batch: games; mean result against the opponent when it does not err, and in practice
            games; share of illegal choices; error of the value.
    """

    WINDOW = 10_000

    def __init__(self, config: Config):
        super().__init__(config, fresh_network(games_named(config.game), config.channels, config.hidden, config.seed))
        self.sound = opponent_of(config, self.network, self.rng)
        self.practice = np.arange(config.batch) < config.practice * config.batch
        self.error = 0.0  # mean absolute error of the value before the last update
        self.curve: list[list[float]] = []

    def play(self, learner: Player) -> PlayedGames:
        return play_games(games_named(self.config.game, self.config.batch), (learner, self.opponent()), self.leads())

    def opponent(self) -> Player:
        """In practice games it errs in its first moves: as many as are drawn, up to a third of the cells."""
        if isinstance(self.sound, SelfPlay):
            self.sound.choose()
        most = max(1, self.network.architecture.geometry.cells // 3)
        early = self.practice * self.rng.integers(1, most + 1, self.config.batch)

        def errs(games: Games, which: np.ndarray) -> np.ndarray:
            return (games.plies[which] // 2 < early[which]) & (self.rng.random(len(which)) < self.config.errors)

        return erring(self.sound, errs, self.rng)

    def leads(self) -> np.ndarray:
        """In half of the practice games, and of the others."""
        leads = np.empty(self.config.batch, bool)
        for part in (self.practice, ~self.practice):
            leads[part] = alternating(int(part.sum()), 1, len(self.curve) * int(part.sum()))
        return leads

    def note(self, choices: Choices, played: PlayedGames) -> None:
        strict = strict_results(played.outcomes(), choices)
        means = [float(part.mean()) if len(part) else 0.0 for part in (strict[~self.practice], strict[self.practice])]
        self.curve.append([self.games, *means, self.illegal, self.error])
        self.results = np.concatenate([self.results, strict[~self.practice]])
        if isinstance(self.sound, SelfPlay) and len(self.curve) % ADDED_EVERY == 0:
            self.sound.add()

    def learn(self, choices: Choices, results: np.ndarray) -> None:
        config = self.config
        left = max(0.0, 1 - self.games / (config.games * (1 - LAST_PART)))
        returns = self.on_device(returns_of(choices, results, config.discount))
        outputs = outputs_of_boards(self.network, choices.boards)
        self.error = float((returns - outputs["value"].detach()[:, 0]).abs().mean())
        self.optimizer.param_groups[0]["lr"] = config.learning_rate * (0.1 + 0.9 * left)
        self.optimizer.zero_grad()
        loss_of(outputs, self.on_device(choices.actions), returns, config.entropy * left).backward()
        self.optimizer.step()


def against_lookahead(run: ActorCriticRun, games: int = 100, plies: int = 3) -> list[tuple[int, int, int]]:
    """(wins, draws, losses), moving first and moving second, of the most likely legal move against a look-ahead.

    The look-ahead plays a win that it can force within ``plies`` plies, else prevents one, else plays at random.
    """
    name, rng = run.config.game, np.random.default_rng(run.config.seed)
    opponent = tree_player(tree_of(games_named(name)), f"lookahead@{plies}", rng)
    players = greedy_player(logits_of(run.network)), opponent
    played = (play_games(games_named(name, games), players, np.full(games, first)) for first in (True, False))
    return [each.counts() for each in played]


def train(config: Config) -> ActorCriticRun:
    """Trains until the running reward is reached or the games are played, and writes network and curves.

    On tic-tac-toe it then plays the games against the look-ahead.
    """
    begin_run(config)
    run = ActorCriticRun(config)
    run.run()
    score = run.score
    x, *lines = np.array(run.curve).T
    names = ("result v the opponent", "result v the erring opponent", "illegal tries", "error of the value")
    curves = {name: (x, y) for name, y in zip(names, lines, strict=True)}
    save_curve(config.run / "curves.png", "games", config.game, curves)
    if config.game == "tictactoe":
        seats = ("{} wins, {} draws, {} losses".format(*seat) for seat in against_lookahead(run))
        score += f"; against a look-ahead of 3 plies {' moving first, '.join(seats)} moving second"
    facts = {"games": run.games, "opponent": config.opponent, "running_reward": round(run.running_reward, 4)}
    publish(config, run.network.to_bytes(), facts, score)
    return run
