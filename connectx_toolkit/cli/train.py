"""Trains networks, and makes the books and tables that the agents use.

examples
  python train.py distill --samples 1000000
  python train.py leaf --labels my.labels --run runs/my_leaf
  python train.py METHOD --help     what a method does, and its options

A run keeps its files in runs/METHOD, or in the folder that --run names, and writes its result there. The same command
resumes a run that was interrupted. Other options or other input files need another folder. The toolkit's own files are
replaced only if --output names them.
"""

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType

from connectx_toolkit.cli.main import run
from connectx_toolkit.console.parser import Parser
from connectx_toolkit.training.support.options import add_options, config_from

METHODS = {  # name: (module of connectx_toolkit.training.methods, summary)
    "book": ("book", "make the opening books of the agent perfect, also from your own games"),
    "openings": ("openings", "make the opening table: the exact score of every position up to ply 8"),
    "labels": ("labels", "make training data: positions with the exact score of every move"),
    "leaf": ("leaf", "train the small evaluator of the agent minimax on labels"),
    "distill": ("distill", "train the policy and value network on labels"),
    "replies": ("replies", "train the opponent model, which perfect uses when it moves second"),
    "imitate": ("imitation", "train a policy network that imitates a look-ahead: the strong policy agent"),
    "policy-gradient": ("policy_gradient", "train a policy network by REINFORCE against the strong policy agent"),
    "value": ("value", "train a value network on the games of policy-gradient"),
    "actor-critic": ("actor_critic", "train a network by actor-critic, on tic-tac-toe or ConnectX"),
    "menace": ("menace", "train Menace, boxes and beads, on Nim or another small game"),
    "ppo": ("ppo", "train a policy by PPO, with stable-baselines3"),
    "adopt": ("adopt", "make an agent of your own model, from stable-baselines3 or torch"),
}


def module_of(method: str) -> ModuleType:
    """The module of a method, imported only now: torch and stable-baselines3 take seconds."""
    return import_module(f"connectx_toolkit.training.methods.{METHODS[method][0]}")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(prog="train.py", description=__doc__)
    methods = parser.add_subparsers(dest="method", required=True, metavar="METHOD", parser_class=Parser)
    for name, (_, summary) in METHODS.items():
        method = methods.add_parser(name, help=summary)
        if name == next(iter(arguments), None):
            module = module_of(name)
            method.description = module.__doc__
            add_options(method, module.Config)
    return parser.parse_args(arguments)


def command_of(arguments: list[str]) -> tuple[str, Callable[[], None]]:
    """The command's name in messages, and what runs it. Exits with code 2 if the arguments are wrong."""
    return "train.py", partial(_train, parse(arguments))


def _train(given: argparse.Namespace) -> None:
    module = module_of(given.method)
    module.train(config_from(module.Config, given))


main = partial(run, "train")
