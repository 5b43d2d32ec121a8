"""The command-line parser of all three scripts."""

import argparse
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Bad input gives one line and exit code 2; descriptions keep their line breaks."""

    def __init__(self, **settings: Any):
        # with abbreviations, --sample 4 would mean --samples 4, and replace the shipped network by one of 4 samples
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def missing_package(problem: ModuleNotFoundError) -> str:
    """The message of a script that runs outside the virtual environment."""
    activate = "source .venv/bin/activate (`make submission` sets it up)"
    return f"this Python has no {problem.name}; activate the virtual environment first: {activate}"
