"""Trains a value net on the games of ``train.py policy-gradient``: does the side to move win, draw or lose?

The positions after the learner's moves of every game are the examples, final positions included; the class of each is
the game's result. As in the Connect Four chapter of the book that the method comes from, the agent that uses the net
plays the move after which it judges the other side to stand worst. It judges nothing but positions after its own
moves: those after the moves of its weaker opponent, which tell of another pair of players, only mislead it.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from connectx.geometry import STANDARD
from connectx.nets import PlainNetwork
from connectx.torch_nets import Network
from connectx.weights import unpack
from training import checkpoint
from training.games.connectx import ConnectX, bitboards
from training.manifest import check_output, publish
from training.networks import DRAW, logits_of, small_network, value_player
from training.options import command_of, option
from training.policy_gradient import BLOCK
from training.selfplay import alternating, play_games, replay, sampling_player
from training.supervised import Examples, Fit, Schedule, split


@dataclass
class Config:
    """What ``train.py value`` can be told."""

    steps: int = option(3000, "updates of the network")
    batch: int = option(256, "positions an update")
    learning_rate: float = option(1e-3, "of Adam, falling to 0 over the steps")
    channels: int = option(16, "of the convolution")
    hidden: int = option(128, "width of the first dense layer")
    seed: int = option(1, "of weights, batches and the match")
    match_games: int = option(100, "games against the strong policy agent at the end")
    games: Path = option(Path("runs/policy-gradient/games.bin"), "games to learn from")
    opponent: Path = option(Path("agents/weights/strong_policy.bin"), "the strong policy agent")
    folder: Path = option(Path("runs/value"), "checkpoint and curve")
    output: Path = option(Path("agents/weights/value_greedy.bin"), "the value net")

    def __post_init__(self) -> None:
        if min(self.steps, self.batch, self.channels, self.hidden, self.match_games) < 1:
            raise ValueError(f"steps, batch, channels, hidden and match games should be at least 1: {self}")
        if self.learning_rate <= 0:
            raise ValueError(f"learning rate should be above 0: {self}")


def read_games(path: Path) -> np.ndarray:
    """(n, cells) int8: the moves of recorded games, in which the learner has either seat for BLOCK games in turn.

    Raises:
        ValueError: the file is damaged or holds something else.
    """
    arrays, meta = unpack(path.read_bytes())
    moves = arrays.get("moves")
    if moves is None or moves.dtype != np.int8 or moves.shape[1:] != (STANDARD.cells,):
        raise ValueError(f"{path} holds {sorted(arrays)}, expected int8 moves of {STANDARD.cells} plies a game")
    block = meta.get("block") if isinstance(meta, dict) else None
    if block != BLOCK:
        raise ValueError(f"{path} holds games whose seats change every {block!r} games, expected every {BLOCK}")
    return moves


def examples(moves: np.ndarray, leads: np.ndarray) -> Examples:
    """The position after every move of the learner, with WIN, DRAW or LOSS for the side that is then to move.

    Args:
        moves: (n, cells) int8, NO_MOVE after the end.
        leads: (n,) bool, whether the learner moves first.
    """
    games, boards, movers, owners = ConnectX(len(moves), STANDARD), [], [], []
    for ply, moved in enumerate(replay(games, moves)):
        which = moved[leads[moved] == (ply % 2 == 0)]
        boards.append(games.boards(which))
        movers.append(games.mover[which])
        owners.append(which)
    results = games.winner[np.concatenate(owners)] * np.concatenate(movers)
    return Examples(np.concatenate(boards), DRAW + results.astype(np.int64))


def match(
    network: Network, opponent: Network, games: int, rng: np.random.Generator, rules: bool = True
) -> tuple[int, int, int]:
    """(wins, draws, losses) of the greedy value agent against a policy that draws its moves from its softmax.

    Seats change every 10 games. The agent judges by both views, as in a submission. ``rules``: see ``value_player``.
    """
    judge = PlainNetwork.from_bytes(network.to_bytes())

    def logits(boards: np.ndarray) -> np.ndarray:
        return judge.judge_many(*bitboards(boards, STANDARD))["value"]

    players = (value_player(logits, rules), sampling_player(logits_of(opponent), rng))
    outcomes = play_games(ConnectX(games, STANDARD), players, alternating(games, BLOCK)).outcomes()
    return int((outcomes > 0).sum()), int((outcomes == 0).sum()), int((outcomes < 0).sum())


class Trained(NamedTuple):
    """What ``train`` made and measured."""

    network: Network
    result: tuple[int, int, int]  # wins, draws, losses against the strong policy agent
    seconds: float  # of processor time, of the updates


def train(config: Config) -> Trained:
    """Trains the network, writes it, and plays the match; resumes where a checkpoint is."""
    check_output(config.output)
    torch.set_num_threads(1)
    opponent = Network.from_bytes(config.opponent.read_bytes())
    moves = read_games(config.games)
    leads = alternating(len(moves), BLOCK)
    training, test = (examples(moves[part], leads[part]) for part in split(len(moves)))
    network = small_network("value", 3, config.channels, config.hidden, config.seed)
    schedule = Schedule(config.steps, config.batch, config.learning_rate)
    settings = checkpoint.settings_of(config, may_change=("match_games",))
    settings["games"] = hashlib.sha256(moves.tobytes()).hexdigest()
    fit = Fit(network, training, test, schedule, lambda classes: classes, config.folder, settings)
    fit.run("share of results foreseen")
    result = match(network, opponent, config.match_games, np.random.default_rng(config.seed))
    facts = {"accuracy": round(fit.accuracies[-1][1], 3), "v_strong_policy": list(result), "seed": config.seed}
    publish(config.output, network.to_bytes(), command_of("value", config), facts)
    print(f"foresees {fit.accuracies[-1][1]:.1%} of results; v the strong policy agent {result[0]} wins, "
          f"{result[1]} draws, {result[2]} losses; {config.output}")  # fmt: skip
    return Trained(network, result, fit.seconds)
