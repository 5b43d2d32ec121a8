"""Makes what agents/weights holds.

python train.py book          the opening book of the agent perfect, by our own solver; resumable
python train.py labels        a million positions with the exact score of every move, for the networks; resumable
python train.py distill       the policy and value network, from those labels; resumable
python train.py imitate       the strong policy agent: a policy net that imitates a look-ahead
python train.py policy-gradient   a policy net by REINFORCE against the strong policy agent
python train.py value         a value net from the games of policy-gradient
python train.py actor-critic  one network with policy and value heads, on tic-tac-toe or ConnectX; resumable
python train.py menace        boxes and beads on Nim or another small game, compared with exact values; resumable
python train.py ppo           a policy by proximal policy optimisation, by stable-baselines3; resumable
python train.py book --help   its options
"""

import argparse
import sys

from training import actor_critic, book, distill, imitation, labels, menace, policy_gradient, ppo, value
from training.options import add_options, config_from

METHODS = {
    "book": book,
    "labels": labels,
    "distill": distill,
    "imitate": imitation,
    "policy-gradient": policy_gradient,
    "value": value,
    "actor-critic": actor_critic,
    "menace": menace,
    "ppo": ppo,
}


class _Parser(argparse.ArgumentParser):
    """Bad input gives one line and exit code 2."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}\n")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="train.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    methods = parser.add_subparsers(dest="method", required=True, metavar="METHOD", parser_class=_Parser)
    for name, module in METHODS.items():
        summary = (module.__doc__ or "").splitlines()[0]
        add_options(methods.add_parser(name, help=summary, description=module.__doc__), module.Config)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    given = parse(arguments)
    module = METHODS[given.method]
    try:
        module.train(config_from(module.Config, given))
    except (OSError, ValueError) as fault:
        print(f"train.py: {fault}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("train.py: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
