"""Trains the strong policy agent: a policy network that imitates the search of ``minimax@4``.

The search (``connectx_core.search``, with the heuristic, to a fixed depth) plays games against itself. Random moves in
between make the games different. Every position is labelled with the move that the search chooses. The network is the
opponent in ``train.py policy-gradient``.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from connectx_core.position import STANDARD
from connectx_toolkit.system.console import progress
from connectx_toolkit.training.opponents import fixed_depth
from connectx_toolkit.training.options import option
from connectx_toolkit.training.runs import begin_run, publish
from connectx_toolkit.training.supervised import Examples, Fit, FitOptions, small_network, split_games
from connectx_toolkit.training.vector_games import ConnectX, random_player

RANDOM_SHARE = 0.25  # of moves at random in place of the chosen ones


@dataclass
class Config(FitOptions):
    """Options of ``train.py imitate``."""

    METHOD = "imitate"

    depth: int = option(4, "depth of the search in plies: the teacher is minimax at this depth", least=1)
    games: int = option(10_000, "games of the search against itself", least=1)
    run: Path = option(Path("runs/imitate"), "folder for the curve")
    output: Path = option(Path(), "file to write: the policy network", in_run="strong_policy.bin")


def play_teacher_games(config: Config) -> tuple[Examples, np.ndarray]:
    """All positions of the games, labelled with the column that the search chooses, and (n,) int64, their games."""
    games, rng = ConnectX(config.games, STANDARD), np.random.default_rng(config.seed)
    teacher, at_random = fixed_depth(config.depth, STANDARD), random_player(rng)
    boards, answers, owners = [], [], []
    with progress(config.games, "game", "games of the search") as bar:
        while not games.done.all():
            which = np.flatnonzero(~games.done)
            chosen = teacher(games, which)
            boards.append(games.boards(which))
            answers.append(chosen)
            owners.append(which)
            errs = rng.random(len(which)) < RANDOM_SHARE
            games.play(np.where(errs, at_random(games, which), chosen), which)
            bar.update(int(games.done.sum()) - bar.n)
    return Examples(np.concatenate(boards), np.concatenate(answers)), np.concatenate(owners)


def train(config: Config) -> Fit:
    """Plays the games, trains the network on them, and writes it."""
    begin_run(config)
    torch.set_num_threads(1)
    examples, owners = play_teacher_games(config)
    last = STANDARD.columns - 1
    network = small_network("policy", STANDARD.columns, config.channels, config.hidden, config.seed)
    parts = split_games(config.games, lambda games: examples.take(np.flatnonzero(np.isin(owners, games))))
    fit = Fit(config, network, parts, mirrored=lambda columns: last - columns)
    agreement = fit.run("agreement with the search")
    facts = {"agreement": agreement.facts(), "depth": config.depth, "seed": config.seed}
    score = f"the move of minimax@{config.depth} in {agreement}"
    publish(config, fit.average.to_bytes(), facts, score)
    return fit
