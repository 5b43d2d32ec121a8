"""Command-line options from a method's Config: a dataclass whose fields carry their own help."""

import argparse
from dataclasses import MISSING, Field, field, fields
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
    return config_class(**{item.name: getattr(given, item.name) for item in fields(config_class)})


def command_of(method: str, config: Any) -> str:
    """The command line that makes the same again: every option that differs from its default, but not the paths."""
    given = [(item.name, getattr(config, item.name)) for item in fields(config) if item.type is not Path]
    changed = [(name, value) for name, value in given if value != getattr(type(config), name)]
    return " ".join(["python train.py", method, *(f"--{name.replace('_', '-')} {value}" for name, value in changed)])
