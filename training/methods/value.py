"""Trains a value net on games of the policy of ``train.py policy-gradient``: does the side to move win, draw or lose?

There are two kinds of games: those that the policy learnt by, and further ones, in which the side to move plays one
random move, at a ply drawn for each game. The examples are the positions after the policy's moves, the final one
included; of a further game, those from its random move on. The class of a position is the game's result. The agent that
uses the net plays the move after which it evaluates the position lowest for the other side, as in the Connect Four
chapter of the book that the method comes from.

Two things are ours. The agent asks the net only about positions after its own moves, so the net learns only from
positions after the policy's moves, not from those after the moves of its weaker opponent. And the agent asks about
moves that the policy no longer tries: hence the random ones, as for AlphaGo's value network (Silver et al. 2016).
"""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from connectx.geometry import STANDARD
from connectx.nets import PlainNetwork
from connectx.torch_nets import Network
from connectx.weights import unpack
from training.games.connectx import ConnectX, bitboards
from training.games.players import NO_MOVE, Player, alternating, erring, play_games, replay, sampling_player
from training.learning.networks import DRAW, logits_of, small_network, value_player
from training.learning.policy_games import BLOCK
from training.learning.supervised import Examples, Fit, Schedule, split
from training.support import checkpoint
from training.support.manifest import check_output, publish
from training.support.options import Options, command_of, option

ENCODING = "tactics-1"  # the cells that win at once are a plane: the policy leaves few of them to learn from
LAST_RANDOM_PLY = 35


@dataclass
class Config(Options):
    """Options of ``train.py value``."""

    steps: int = option(3000, "updates of the network", least=1)
    batch: int = option(256, "positions an update", least=1)
    learning_rate: float = option(1e-3, "of Adam, falling to 0 over the steps", above=0)
    channels: int = option(16, "of the convolution", least=1)
    hidden: int = option(128, "width of the first dense layer", least=1)
    seed: int = option(1, "of weights, batches and the match")
    match_games: int = option(100, "games against the strong policy agent at the end", least=1)
    further: int = option(
        40_000, "games of the trained policy against the strong one, with a random move in each", least=0
    )
    games: Path = option(Path("runs/policy-gradient/games.bin"), "games that the policy learnt by")
    policy: Path = option(Path("agents/weights/policy_gradient.bin"), "the policy that learnt by them")
    opponent: Path = option(Path("agents/weights/strong_policy.bin"), "the strong policy agent")
    folder: Path = option(Path("runs/value"), "checkpoint and curve")
    output: Path = option(Path("agents/weights/value_greedy.bin"), "the value net")


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


class Recorded(NamedTuple):
    """Games of the learner to learn from."""

    moves: np.ndarray  # (n, cells) int8, NO_MOVE after the end
    leads: np.ndarray  # (n,) bool, whether the learner moves first
    starts: np.ndarray  # (n,) int64, the first ply from which on both players chose every move

    def take(self, which: np.ndarray) -> "Recorded":
        return Recorded(*(part[which] for part in self))


def exploring(player: Player, plies: np.ndarray, rng: np.random.Generator) -> Player:
    """The player, but for a random move in each game where it is to move at the ply of ``plies``, (n,)."""
    return erring(player, lambda games, which: games.plies[which] == plies[which], rng)


def further_games(count: int, policy: Network, opponent: Network, rng: np.random.Generator) -> Recorded:
    """Games of the policy against the opponent, both sampling, with one random move each, if they get so far."""
    plies = rng.integers(LAST_RANDOM_PLY + 1, size=count)
    first, second = (exploring(sampling_player(logits_of(network), rng), plies, rng) for network in (policy, opponent))
    leads = alternating(count, BLOCK)
    played = play_games(ConnectX(count, STANDARD), (first, second), leads)
    moves = played.padded(STANDARD.cells)
    reached = moves[np.arange(count), plies] != NO_MOVE
    return Recorded(moves, leads, np.where(reached, plies, 0))


def examples(recorded: Recorded) -> Examples:
    """The position after every move of the learner, with WIN, DRAW or LOSS for the side to move in it."""
    moves, leads, starts = recorded
    games, boards, movers, owners = ConnectX(len(moves), STANDARD), [], [], []
    for ply, moved in enumerate(replay(games, moves)):
        which = moved[(leads[moved] == (ply % 2 == 0)) & (starts[moved] <= ply)]
        boards.append(games.boards(which))
        movers.append(games.mover[which])
        owners.append(which)
    results = games.winner[np.concatenate(owners)] * np.concatenate(movers)
    return Examples(np.concatenate(boards), DRAW + results.astype(np.int64))


def games_of(config: Config, opponent: Network) -> Recorded:
    """The games that the policy learnt by and the further ones, which follow from the seed."""
    moves = read_games(config.games)
    parts = [Recorded(moves, alternating(len(moves), BLOCK), np.zeros(len(moves), np.int64))]
    if config.further:
        policy = Network.from_bytes(config.policy.read_bytes())
        parts.append(further_games(config.further, policy, opponent, np.random.default_rng(config.seed)))
    return Recorded(*map(np.concatenate, zip(*parts, strict=True)))


def match(
    network: Network, opponent: Network, games: int, rng: np.random.Generator, rules: bool = True
) -> tuple[int, int, int]:
    """(wins, draws, losses) of the greedy value agent against a policy that draws its moves from its softmax.

    Seats change every 10 games. The net evaluates each position and its mirror image, as in a submission.
    ``rules``: see ``value_player``.
    """
    plain = PlainNetwork.from_bytes(network.to_bytes())

    def logits(boards: np.ndarray) -> np.ndarray:
        return plain.judge_many(*bitboards(boards, STANDARD))["value"]

    players = (value_player(logits, rules), sampling_player(logits_of(opponent), rng))
    outcomes = play_games(ConnectX(games, STANDARD), players, alternating(games, BLOCK)).outcomes()
    return int((outcomes > 0).sum()), int((outcomes == 0).sum()), int((outcomes < 0).sum())


class Trained(NamedTuple):
    """What ``train`` made and measured."""

    network: Network
    result: tuple[int, int, int]  # wins, draws, losses against the strong policy agent
    seconds: float  # of processor time: of the further games and the updates


def train(config: Config) -> Trained:
    """Trains the network, writes it, and plays the match; resumes where a checkpoint is."""
    check_output(config.output)
    torch.set_num_threads(1)
    opponent = Network.from_bytes(config.opponent.read_bytes())
    started = time.process_time()
    recorded = games_of(config, opponent)
    seconds = time.process_time() - started
    training, test = (examples(recorded.take(part)) for part in split(len(recorded.moves)))
    network = small_network("value", 3, config.channels, config.hidden, config.seed, ENCODING)
    schedule = Schedule(config.steps, config.batch, config.learning_rate)
    settings = checkpoint.settings_of(config, may_change=("match_games",))
    settings["games"] = hashlib.sha256(recorded.moves.tobytes()).hexdigest()
    fit = Fit(network, training, test, schedule, lambda classes: classes, config.folder, settings)
    fit.run("share of results foreseen")
    result = match(network, opponent, config.match_games, np.random.default_rng(config.seed))
    facts = {"accuracy": round(fit.accuracies[-1][1], 3), "v_strong_policy": list(result), "seed": config.seed}
    publish(config.output, network.to_bytes(), command_of("value", config), facts)
    print(f"foresees {fit.accuracies[-1][1]:.1%} of results; v the strong policy agent {result[0]} wins, "
          f"{result[1]} draws, {result[2]} losses; {config.output}")  # fmt: skip
    return Trained(network, result, seconds + fit.seconds)
