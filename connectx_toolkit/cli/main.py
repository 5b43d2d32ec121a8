"""The command ``connectx`` of an installed toolkit: the same words as the scripts of a checkout."""

import sys

USAGE = """\
usage: connectx COMMAND ...   (connectx COMMAND --help explains each)

  evaluate   let agents play, compare them, analyse games: connectx evaluate my_agent.py negamax --rounds 20
  build      make one file that Kaggle accepts, or check one: connectx build my_agent.py -o submission.py
  train      train networks, and make agents of your models: connectx train --help
  board      play, watch and analyse on a page: connectx board minimax@2
"""


def main() -> int | None:
    command, *arguments = sys.argv[1:] or [""]
    if command == "build":
        from connectx_toolkit.cli.build import main as build

        return build(arguments)
    if command == "train":
        from connectx_toolkit.cli.train import main as train

        return train(arguments)
    if command in ("evaluate", "board"):
        from connectx_toolkit.cli.evaluate import main as evaluate

        evaluate([command, *arguments] if command == "board" else arguments)
        return None
    if command in ("", "-h", "--help"):
        print(USAGE, end="")
        return None if command else 2
    print(f"connectx: no command {command!r}: it should be evaluate, build, train or board", file=sys.stderr)
    return 2
