"""Trains networks and makes the tables that the agents use.

python train.py METHOD          starts a run, or resumes one that was interrupted
python train.py METHOD --help   what it does, and its options

A run has a folder, runs/METHOD unless --run names another, and writes its result there. With other options or other
input files it is another run, which needs another folder. Files of the toolkit are replaced only where --output names
them.

python train.py distill --samples 1000000
python train.py leaf --labels my_labels --run runs/my_leaf
python train.py book --output agents/weights/book.bin
"""

import argparse
import sys
from concurrent.futures import BrokenExecutor
from importlib import import_module
from types import ModuleType

from connectx_toolkit.console.parser import Parser, in_a_line, missing_package
from connectx_toolkit.console.programs import complain
from connectx_toolkit.training.support.options import add_options, config_from

METHODS = {  # name: (module of connectx_toolkit.training.methods, summary)
    "book": ("book", "the opening book of the agent perfect, by our own solver"),
    "openings": ("openings", "the exact score of every position of the first 8 plies, by our own solver"),
    "labels": ("labels", "positions with the exact score of every move, as training data for the networks"),
    "leaf": ("leaf", "the NNUE-style evaluator of the agent minimax, from those labels"),
    "distill": ("distill", "the policy and value network, from those labels"),
    "replies": ("replies", "the model of the replies of fallible opponents, for the second seat"),
    "imitate": ("imitation", "the strong policy agent: a policy network that imitates a look-ahead"),
    "policy-gradient": ("policy_gradient", "a policy network by REINFORCE against the strong policy agent"),
    "value": ("value", "a value network from the games of policy-gradient"),
    "actor-critic": ("actor_critic", "one network with policy and value heads, on tic-tac-toe or ConnectX"),
    "menace": ("menace", "boxes and beads on Nim or another small game, compared with exact values"),
    "ppo": ("ppo", "a policy by proximal policy optimisation, with stable-baselines3"),
    "adopt": ("adopt", "an agent of your own trained model: stable-baselines3's, or any network of torch"),
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


def main(arguments: list[str] | None = None) -> int:
    try:
        given = parse(sys.argv[1:] if arguments is None else arguments)
        module = module_of(given.method)
        module.train(config_from(module.Config, given))
    except ModuleNotFoundError as problem:
        complain("train.py", missing_package(problem))
        return 2
    except (OSError, ValueError, MemoryError, BrokenExecutor) as fault:
        complain("train.py", in_a_line(fault))
        return 2
    except KeyboardInterrupt:
        complain("train.py", "interrupted; the same command resumes the run")
        return 130
    return 0
