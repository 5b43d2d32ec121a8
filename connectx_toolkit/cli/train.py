"""Makes agents of your models, trains networks, and makes the books and tables that the agents use.

{methods}

examples
  python train.py tune my_agent.py
  python train.py adopt model.zip -o my_agent.py
  python train.py menace --human first
  python train.py METHOD --help     what a method does, and its options

A run keeps its files in runs/METHOD, or in the folder that --run names, and writes its result there. Other options or
other input files need another folder. If tune, book, replies, labels or network was interrupted, the same
command resumes it; the others take minutes, and begin again. The toolkit's own files are replaced only if --output
names them.
"""

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType

from connectx_toolkit.cli.functions import STORED, add_options
from connectx_toolkit.cli.main import run
from connectx_toolkit.system.console import Parser, as_help, prog
from connectx_toolkit.training.options import config_from

GROUPS = {  # of methods: {how each is called: (its module in connectx_toolkit, what it does)}
    "your own agent, your own model, and your own games": {
        "tune": ("tuning.tune", "find better numbers for your agent, and prove that they are better"),
        "adopt": ("training.adopt", "make an agent of your model from stable-baselines3 or torch"),
        "book --games": ("training.makers.book", "learn an opening book for perfect from your games"),
        "replies --games": ("training.makers.opponent_model", "learn an opponent model for perfect from your games"),
    },
    "learners of Kaggle's course and of books": {
        "menace": ("training.learners.menace", "Menace, boxes and beads, on Nim or another small game"),
        "actor-critic": ("training.learners.actor_critic", "a network by actor-critic, on tic-tac-toe or ConnectX"),
        "imitate": (
            "training.learners.imitation",
            "a policy network that imitates minimax@4: the strong policy agent",
        ),
        "policy-gradient": (
            "training.learners.policy_gradient",
            "a policy network by REINFORCE against the strong policy agent",
        ),
        "value": ("training.learners.value", "a value network on the games of policy-gradient"),
        "ppo": (
            "training.learners.ppo",
            "a policy by PPO with stable-baselines3; --protocol course: the course's last lesson",
        ),
    },
    "how the toolkit's own files are made": {
        "labels": ("training.makers.labels", "training data: hard positions with their best moves"),
        "network": ("training.makers.policy_network", "the policy and value network, on labels"),
        "leaf": ("training.makers.leaf_network", "the small evaluator of nnue, on labels"),
        "replies": ("training.makers.opponent_model", "the opponent model, which perfect uses when it moves second"),
        "book": ("training.makers.book", "the second seat's opening book of perfect"),
    },
}
METHODS = {called.split()[0]: module for group in GROUPS.values() for called, (module, _) in group.items()}
RENAMED = {"distill": "network"}  # until the next version: {what a method was called: what it is called}


def methods_text() -> str:
    """The methods in their groups, for --help."""
    return "\n\n".join(
        "\n".join([title, *(f"  {called:<23} {summary}" for called, (_, summary) in group.items())])
        for title, group in GROUPS.items()
    )


def module_of(method: str) -> ModuleType:
    """The module of a method, imported only now: torch and stable-baselines3 take seconds."""
    return import_module(f"connectx_toolkit.{METHODS[method]}")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(prog=prog("train"), description=as_help(__doc__ or "").format(methods=methods_text()))
    if arguments and arguments[0] in RENAMED:
        parser.error(f"{arguments[0]} is called {RENAMED[arguments[0]]} now")
    parser.add_version()
    methods = parser.add_subparsers(dest="method", required=True, metavar="METHOD", help="one of these")
    for name in METHODS:
        method = methods.add_parser(name)
        if name == next(iter(arguments), None):
            module = module_of(name)
            method.description = as_help(module.__doc__ or "")
            add_options(method, module.Config)
    return parser.parse_args(arguments)


def command_of(arguments: list[str]) -> tuple[str, Callable[[], None]]:
    """What follows ``connectx``, and what runs it. Exits with code 2 if the arguments are wrong."""
    return "train", partial(_train, parse_arguments(arguments))


def _train(given: argparse.Namespace) -> None:
    module = module_of(given.method)
    config = config_from(module.Config, given)
    try:
        module.train(config)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(str(stop) or (STORED if config.RESUMES else "the same command begins again")) from None


main = partial(run, "train")
