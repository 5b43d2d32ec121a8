"""Command-line options from a method's Config: a dataclass whose fields carry their own help."""

import argparse
from dataclasses import MISSING, Field, field, fields
from math import isfinite
from pathlib import Path
from typing import Any


def option(default: Any, help_text: str) -> Any:
    """A field of a Config with its help."""
    return field(default=default, metadata={"help": help_text})


def add_options(parser: argparse.ArgumentParser, config_class: type) -> None:
    """One option for each field: ``table_bits: int = 25`` becomes ``--table-bits N``."""
    for item in fields(config_class):
        parser.add_argument(
            "--" + item.name.replace("_", "-"),
            type=_type_of(item),
            default=item.default,
            metavar=_type_of(item).__name__.upper(),
            help=f"{item.metadata['help']} (default: {item.default})",
        )


def _type_of(item: Field) -> type:
    if item.default is MISSING or not isinstance(item.type, type):
        raise TypeError(f"field {item.name} of a Config needs a plain type and a default")
    return item.type


def config_from(config_class: type, given: argparse.Namespace) -> Any:
    """The Config that was asked for. Raises ValueError where it refuses an option, and for nan and infinity."""
    options = {item.name: getattr(given, item.name) for item in fields(config_class)}
    for name, value in options.items():
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{name} should be a finite number, not {value}")
    return config_class(**options)


def command_of(method: str, config: Any, left_out: tuple[str, ...] = ()) -> str:
    """The command line that makes the same again: the options that differ from their defaults, but not the paths.

    Args:
        left_out: options that do not change what is made.
    """
    own = [item for item in fields(config) if item.type is not Path and item.name not in left_out]
    given = [(item.name, getattr(config, item.name)) for item in own]
    changed = [(name, value) for name, value in given if value != getattr(type(config), name)]
    return " ".join(["python train.py", method, *(f"--{name.replace('_', '-')} {value}" for name, value in changed)])
