"""Trains a policy network by policy gradients (REINFORCE) from random weights.

The opponent is the strong policy agent, a fixed network that imitates ``minimax@4`` (``train.py imitate``). Both sides
draw their moves from the softmax of their network; seats swap every 10 games.

Rewards, the cost of illegal moves and the loop are those of ``whole_games``, which actor-critic shares.

Baseline. It is a table: for each number of stones on the board, a running mean of the return of legal moves there. It
starts at 0, and moves 5% towards each batch after the batch was learned from. The advantage of a choice is its return
minus the baseline. The advantages of a batch are divided by the root of their mean square. The baseline is subtracted
for illegal choices, too. Otherwise, where it is positive, an illegal choice (-1) would look better than a legal move
that loses (-1 - b).

Update. A batch of games is played with a fixed policy. Each of its choices is then learned from once, in minibatches.
The loss is the clipped objective of proximal policy optimisation (Schulman et al. 2017). Its gradient is that of
REINFORCE until the policy has moved. Once the batch has changed a choice's probability by a fifth in the direction of
its advantage, the choice counts no more. A bonus for the entropy of the policy is added.

Schedule. Let left be the share of ``--games`` that was not yet played before a batch. The learning rate of Adam is
multiplied by left, the weight of the entropy bonus by 0.3 + 0.7 left. The running reward is over 1,000 games.

Source: Williams (1992), in the form of chapter 15 of M. Liu, AlphaGo Simplified (2024). From there are the reward and
its discount, the cost of illegal choices, the opponent, the seats and the stop at 0.9. From random weights the
chapter's update alone failed here: within a few updates the policy played one column only. Ours are

- the baseline, the scaling, the bound on a step, gradients clipped at a norm of 0.5, and the entropy bonus;
- the schedule: the chapter has a learning rate of 2.5e-4 throughout;
- batches of 4,000 games in parallel, not 10, and a running reward over 1,000 games, not 100: over 100, luck ends it;
- after one illegal choice an open column is drawn; the chapter's learner goes on drawing from all, and pays each time;
- a network of another shape, which sees planes of the cells that win at once.

``--start opponent`` begins as a copy of the strong policy agent, as AlphaGo's policy began as the network that it first
played (Silver et al. 2016). All games are saved: ``train.py value`` learns from them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from connectx_core.position import STANDARD
from connectx_core.torch_form import Network
from connectx_core.weights import pack
from connectx_toolkit.system.files import WEIGHTS, read_as, write_whole
from connectx_toolkit.training.learners.whole_games import (
    ILLEGAL,
    Choices,
    WholeGamesRun,
    chosen_and_entropy,
    returns_of,
)
from connectx_toolkit.training.options import Options, device_option, option
from connectx_toolkit.training.runs import begin_run, publish, save_curve
from connectx_toolkit.training.supervised import logits_of, packed_planes
from connectx_toolkit.training.vector_games import (
    BLOCK,
    ConnectX,
    PlayedGames,
    Player,
    alternating,
    greedy_player,
    play_games,
    sampling_player,
)

CHAPTER_WINDOW = 100  # games over which the chapter's running reward is the mean
MATCH_GAMES = 2000  # against the strong policy agent at the end
MINIBATCH = 2048  # choices of a step
RATIO = 0.2  # change of a choice's probability in a batch, beyond which it is left alone
LAST_ENTROPY = 0.3  # share of the entropy bonus that remains at the end
BASELINE_MEMORY = 0.95  # of the baseline: how much of the old mean remains after a batch
CLIP = 0.5  # largest norm of a gradient
OPPONENT_WEIGHTS, RANDOM_WEIGHTS = "opponent", "nothing"


@dataclass
class Config(Options):
    """Options of ``train.py policy-gradient``."""

    METHOD = "policy-gradient"

    games: int = option(600_000, "largest number of games", least=1)
    batch: int = option(4000, "games per update, played in parallel", least=1)
    stop: float = option(0.9, "running reward over 1,000 games at which training ends", above=-1)
    discount: float = option(0.95, "discount of a return for each later move of the learner", above=0, most=1)
    learning_rate: float = option(1e-3, "initial learning rate of Adam; decays to 0", above=0)
    entropy: float = option(0.1, "initial weight of the entropy bonus in the loss; decays to 0.3 of it", least=0)
    start: str = option(
        RANDOM_WEIGHTS,
        "initial weights: 'nothing': random; 'opponent': a copy of the agent that it is measured against",
        among=(RANDOM_WEIGHTS, OPPONENT_WEIGHTS),
    )
    opponent: Path = option(WEIGHTS / "strong_policy.bin", "policy network to play against", reads=True)
    seed: int = option(1, "random seed of weights and games", least=0)
    device: str = device_option("cpu")
    run: Path = option(Path("runs/policy-gradient"), "folder for games and curve")
    output: Path = option(Path(), "file to write: the policy network", in_run="policy_gradient.bin")


def updated_baseline(baseline: np.ndarray, plies: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """(cells,) the running mean of returns by ply, moved towards the means of a batch at the plies that it has.

    Args:
        baseline: (cells,) before the batch, by the number of stones on the board.
        plies: (m,) int64, of the legal moves of the batch; returns: (m,) theirs.
    """
    counts = np.bincount(plies, minlength=len(baseline))
    means = np.bincount(plies, returns, len(baseline)) / np.maximum(counts, 1)
    return baseline + (1 - BASELINE_MEMORY) * np.where(counts > 0, means - baseline, 0.0)


def scale_advantages(advantages: np.ndarray) -> np.ndarray:
    """The advantages, (m,) float32, divided by the root of their mean square."""
    return advantages / max(1e-6, float(np.sqrt((advantages**2).mean())))


def clipped_loss(logits: Tensor, actions: Tensor, advantages: Tensor, before: Tensor, entropy: float) -> Tensor:
    """Minus the mean of PPO's clipped objective (Schulman et al. 2017), minus ``entropy`` times the mean entropy.

    Args:
        logits: (m, actions); actions: (m,) int64; advantages: (m,) float32, returns minus their baseline.
        before: (m,) the actions' log-probabilities in the policy that played the batch.
    """
    chosen, spread = chosen_and_entropy(logits, actions)
    ratio = (chosen - before).exp()
    gains = torch.minimum(ratio * advantages, ratio.clamp(1 - RATIO, 1 + RATIO) * advantages)
    return -gains.mean() - entropy * spread.mean()


class ReinforceRun(WholeGamesRun):
    """A policy in training.

    Attributes:
        moves: for each batch, (batch, cells) int8: its games.
        results: (games,) int8: their results.
    """

    WINDOW = 1000

    def __init__(self, config: Config):
        strong = read_as(Network.from_bytes, config.opponent)
        torch.manual_seed(config.seed)
        network = Network(strong.architecture)
        if config.start == OPPONENT_WEIGHTS:
            network.load_state_dict(strong.state_dict())
        super().__init__(config, network)
        self.strong = strong.to(self.device)
        self.baseline = np.zeros(STANDARD.cells)
        self.moves: list[np.ndarray] = []

    @property
    def games_to_stop(self) -> int:
        """Games until the mean of 100, as in the chapter, first reached ``stop``; 0 if it never did."""
        return games_until(self.results, self.config.stop, CHAPTER_WINDOW)

    def play(self, learner: Player) -> PlayedGames:
        count, opponent = self.config.batch, sampling_player(logits_of(self.strong), self.rng)
        return play_games(ConnectX(count, STANDARD), (learner, opponent), alternating(count, BLOCK, self.games))

    def note(self, choices: Choices, played: PlayedGames) -> None:
        self.moves.append(played.pad_moves(STANDARD.cells))
        self.results = np.concatenate([self.results, played.outcomes()])

    def learn(self, choices: Choices, results: np.ndarray) -> None:
        """One pass over the choices of a batch, in minibatches.

        Mirrored boards cannot be used: their actions were not drawn from the policy.
        """
        returns = returns_of(choices, results, self.config.discount)
        plies, legal = np.count_nonzero(choices.boards, axis=(1, 2)), choices.turns != ILLEGAL
        advantages = self.on_device(scale_advantages((returns - self.baseline[plies]).astype(np.float32)))
        self.baseline = updated_baseline(self.baseline, plies[legal], returns[legal])
        planes, actions = packed_planes(self.network, choices.boards), self.on_device(choices.actions)
        with torch.no_grad():
            before, _ = chosen_and_entropy(self.network(planes.float())["policy"], actions)
        left = 1 - self.games / self.config.games  # of training: 1 at first, then down to 0
        entropy = self.config.entropy * (LAST_ENTROPY + (1 - LAST_ENTROPY) * left)
        self.optimizer.param_groups[0]["lr"] = self.config.learning_rate * left
        order = self.on_device(self.rng.permutation(len(actions)))
        for rows in order.tensor_split(max(1, len(order) // MINIBATCH)):
            logits = self.network(planes[rows].float())["policy"]
            loss = clipped_loss(logits, actions[rows], advantages[rows], before[rows], entropy)
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
            self.optimizer.step()


def games_until(results: np.ndarray, mean: float, window: int) -> int:
    """Games until the mean of the last ``window`` results first reached ``mean``; 0 if it never did."""
    if len(results) < window:
        return 0
    sums = np.convolve(results, np.ones(window, np.int64), "valid")
    reached = np.flatnonzero(sums >= mean * window - 1e-9)
    return int(reached[0]) + window if len(reached) else 0


def matches(network: Network, strong: Network, games: int, seed: int) -> dict[str, tuple[int, int, int]]:
    """(wins, draws, losses) of a policy in new games against the strong one, which draws its moves from its softmax.

    "sampled": the policy draws its moves, too, as in training; "greedy": it plays the most likely legal one.
    """
    rng, logits, leads = np.random.default_rng(seed), logits_of(network), alternating(games, BLOCK)
    opponent = sampling_player(logits_of(strong), rng)
    players = {"sampled": sampling_player(logits, rng), "greedy": greedy_player(logits)}
    return {
        name: play_games(ConnectX(games, STANDARD), (player, opponent), leads).counts()
        for name, player in players.items()
    }


def train(config: Config) -> ReinforceRun:
    """Trains until the running reward is reached or the games are played, plays the matches, and writes all of it."""
    begin_run(config)
    run = ReinforceRun(config)
    run.run()
    games = {"moves": np.concatenate(run.moves), "results": run.results}
    write_whole(config.run / "games.bin", pack(games, {"settings": config.settings, "block": BLOCK}))
    means = run.results.reshape(-1, config.batch).mean(axis=1)
    curve = np.arange(1, len(means) + 1) * config.batch, means
    save_curve(config.run / "curve.png", "games", "mean result v the strong policy agent", {"": curve})
    counts = matches(run.network, run.strong, MATCH_GAMES, config.seed)
    facts = {
        "games": run.games,
        "running_reward": round(run.running_reward, 3),
        "games_to_stop_of_100": run.games_to_stop,
        "seed": config.seed,
        "start": config.start,
        "v_strong_policy": {name: list(results) for name, results in counts.items()},
    }
    start = "random weights" if config.start == RANDOM_WEIGHTS else "a copy of the strong policy agent"
    score = (f"{run.score}, from {start}; "
             f"wins, draws, losses of {MATCH_GAMES} new games against it: "
             f"sampled {counts['sampled']}, greedy {counts['greedy']}")  # fmt: skip
    publish(config, run.network.to_bytes(), facts, score)
    return run
