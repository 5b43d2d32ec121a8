"""Trains a value network (win, draw or loss of the side to move) on games of the policy of train.py policy-gradient.

There are two kinds of games: those that the policy learned from, and further ones with one random move. The examples
are the positions after the policy's moves; in a further game, only those from the random move on. The label of a
position is the game's result. The agent plays the move whose position is worth least to the other side. Source: chapter
15 of M. Liu, AlphaGo Simplified (2024).

Two things are ours. The agent evaluates only positions after its own moves, so the network learns only from positions
after the policy's moves. The agent also evaluates moves that the policy no longer tries: hence the random moves, as for
AlphaGo's value network (Silver et al. 2016).
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from connectx_core.network import PlainNetwork, expected_result
from connectx_core.position import STANDARD
from connectx_core.torch_form import Network
from connectx_core.weights import unpack
from connectx_toolkit.system.files import WEIGHTS, read_as
from connectx_toolkit.training.descent import device_named
from connectx_toolkit.training.options import device_option, option
from connectx_toolkit.training.runs import begin_run, publish
from connectx_toolkit.training.supervised import Examples, Fit, FitOptions, logits_of, small_network, split_games
from connectx_toolkit.training.vector_games import (
    BLOCK,
    NO_ACTION,
    NOBODY,
    ConnectX,
    Games,
    Logits,
    Player,
    alternating,
    erring,
    logits_in_numpy,
    play_games,
    replay,
    sampling_player,
)

TACTICS = "tactics-1"  # has a plane of the cells that win at once, which occur too rarely to learn them
LAST_RANDOM_PLY = 35
LOSS_OUTPUT, DRAW_OUTPUT, WIN_OUTPUT = range(3)  # outputs of the network, for the side to move
FINAL_GAMES = 100  # against the strong policy agent at the end


@dataclass
class Config(FitOptions):
    """Options of ``train.py value``."""

    METHOD = "value"

    device: str = device_option("auto")
    further: int = option(
        40_000, "games of the trained policy against the strong one, with a random move in each", least=0
    )
    games: Path = option(
        Path("runs/policy-gradient/games.bin"), "file of the games that the policy learned from", reads=True
    )
    policy: Path = option(
        Path("runs/policy-gradient/policy_gradient.bin"), "the policy that learned from them", reads=True
    )
    opponent: Path = option(WEIGHTS / "strong_policy.bin", "the strong policy agent", reads=True)
    run: Path = option(Path("runs/value"), "folder for the curve")
    output: Path = option(Path(), "file to write: the value network", in_run="value_greedy.bin")


def read_games(path: Path) -> np.ndarray:
    """(n, cells) int8: the moves of recorded games, in which the learner changes its seat every BLOCK games. Raises
    ValueError if the file is damaged or holds something else.
    """
    arrays, meta = read_as(unpack, path)
    moves = arrays.get("moves")
    if moves is None or moves.dtype != np.int8 or moves.shape[1:] != (STANDARD.cells,):
        raise ValueError(f"{path} holds {sorted(arrays)}, expected int8 moves of {STANDARD.cells} plies a game")
    block = meta.get("block") if isinstance(meta, dict) else None
    if block != BLOCK:
        raise ValueError(f"{path} holds games whose seats change every {block!r} games, expected every {BLOCK}")
    return moves


class Recorded(NamedTuple):
    """Recorded games of the learner."""

    moves: np.ndarray  # (n, cells) int8, NO_ACTION after the end
    leads: np.ndarray  # (n,) bool, whether the learner moves first
    starts: np.ndarray  # (n,) int64, examples are the positions after moves from this ply on

    def take(self, which: np.ndarray) -> "Recorded":
        return Recorded(*(part[which] for part in self))


def exploring(player: Player, plies: np.ndarray, rng: np.random.Generator) -> Player:
    """The player, with a random move in each game where it is to move at that game's ply in ``plies``, (n,)."""
    return erring(player, lambda games, which: games.plies[which] == plies[which], rng)


def further_games(count: int, policy: Network, opponent: Network, rng: np.random.Generator) -> Recorded:
    """Games of the policy against the opponent, both sampling, with one random move if they last until its ply."""
    plies = rng.integers(LAST_RANDOM_PLY + 1, size=count)
    first, second = (exploring(sampling_player(logits_of(network), rng), plies, rng) for network in (policy, opponent))
    leads = alternating(count, BLOCK)
    played = play_games(ConnectX(count, STANDARD), (first, second), leads)
    moves = played.pad_moves(STANDARD.cells)
    reached = moves[np.arange(count), plies] != NO_ACTION
    return Recorded(moves, leads, np.where(reached, plies, 0))


def examples(recorded: Recorded) -> Examples:
    """The position after every move of the learner, with WIN_, DRAW_ or LOSS_OUTPUT for the side to move in it."""
    moves, leads, starts = recorded
    games, boards, movers, owners = ConnectX(len(moves), STANDARD), [], [], []
    for ply, moved in enumerate(replay(games, moves)):
        which = moved[(leads[moved] == (ply % 2 == 0)) & (starts[moved] <= ply)]
        boards.append(games.boards(which))
        movers.append(games.mover[which])
        owners.append(which)
    results = games.winner[np.concatenate(owners)] * np.concatenate(movers)
    return Examples(np.concatenate(boards), DRAW_OUTPUT + results.astype(np.int64))


def gather_games(config: Config, opponent: Network) -> Recorded:
    """The games that the policy learned from, and the further ones, which depend on the seed."""
    moves = read_games(config.games)
    parts = [Recorded(moves, alternating(len(moves), BLOCK), np.zeros(len(moves), np.int64))]
    if config.further:
        policy = read_as(Network.from_bytes, config.policy)
        parts.append(further_games(config.further, policy, opponent, np.random.default_rng(config.seed)))
    return Recorded(*map(np.concatenate, zip(*parts, strict=True)))


def value_player(logits: Logits, rules: bool = True) -> Player:
    """A greedy one-ply player: the move after which the value network's evaluation is lowest for the other side.

    Args:
        logits: of the value head.
        rules: whether finished games count by their result; otherwise the network evaluates them like any other.
    """

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        children, parents, actions = games.take(which).children()
        worth = -expected_result(logits(children.boards()))
        if rules:
            worth = np.where(children.done, np.where(children.winner != NOBODY, 2.0, 0.0), worth)
        table = np.full((len(which), games.actions), -np.inf)
        table[parents, actions] = worth
        return table.argmax(axis=1)

    return player


def play_match(
    network: Network, opponent: Network, games: int, rng: np.random.Generator, rules: bool = True
) -> tuple[int, int, int]:
    """(wins, draws, losses) of the greedy value agent against a policy that draws its moves from its softmax.

    Seats change every 10 games. The net evaluates each position and its mirror image, as in a submission.
    ``rules``: see ``value_player``.
    """
    logits = logits_in_numpy(PlainNetwork.from_bytes(network.to_bytes()), "value")
    players = value_player(logits, rules), sampling_player(logits_of(opponent), rng)
    return play_games(ConnectX(games, STANDARD), players, alternating(games, BLOCK)).counts()


class Trained(NamedTuple):
    """What ``train`` made and measured."""

    network: Network
    result: tuple[int, int, int]  # wins, draws, losses against the strong policy agent
    seconds: float  # of processor time: of the further games and the updates


def train(config: Config) -> Trained:
    """Trains the network, plays the match, and writes the network."""
    begin_run(config)
    torch.set_num_threads(1)
    device, opponent = device_named(config.device), read_as(Network.from_bytes, config.opponent)
    started = time.process_time()
    recorded = gather_games(config, opponent)
    seconds = time.process_time() - started
    network = small_network("value", 3, config.channels, config.hidden, config.seed, TACTICS).to(device)
    parts = split_games(len(recorded.moves), lambda games: examples(recorded.take(games)))
    fit = Fit(config, network, parts, mirrored=lambda classes: classes)
    foreseen = fit.run("share of results foreseen")
    result = play_match(fit.average, opponent, FINAL_GAMES, np.random.default_rng(config.seed))
    facts = {"accuracy": foreseen.facts(), "v_strong_policy": list(result), "seed": config.seed}
    played = "{} wins, {} draws, {} losses against the strong policy agent".format(*result)
    publish(config, fit.average.to_bytes(), facts, f"{played}; foresees the results of {foreseen}")
    return Trained(fit.average, result, seconds + fit.seconds)
