"""Makes command-line options from a method's Config: a dataclass whose fields have their help and limits."""

import argparse
import operator
from dataclasses import MISSING, Field, field, fields
from math import isfinite
from pathlib import Path
from typing import Any

LIMITS = {  # keyword of ``option``: (comparison that a value must satisfy, its name in messages)
    "least": (operator.ge, "at least"),
    "above": (operator.gt, "above"),
    "most": (operator.le, "at most"),
    "below": (operator.lt, "below"),
}


def option(
    default: Any,
    help_text: str,
    *,
    among: tuple[str, ...] = (),
    short: str = "",
    comes_first: bool = False,
    **limits: float,
) -> Any:
    """A field of a Config, with its help and the values that it allows.

    Args:
        among: the allowed values; all by default.
        short: another name of the option, "-o".
        comes_first: it has no name on the command line, but its place, and cannot be left out.
        limits: bounds of the value: ``least``, ``above``, ``most``, ``below``.
    """
    if unknown := limits.keys() - LIMITS.keys():
        raise TypeError(f"limits of an option are {', '.join(LIMITS)}, not {', '.join(unknown)}")
    return field(
        default=default,
        metadata={"help": help_text, "among": among, "limits": limits, "short": short, "comes_first": comes_first},
    )


class Options:
    """The base of every Config. Raises ValueError if a field's value is not allowed by its option."""

    def __post_init__(self) -> None:
        for item in fields(self):  # type: ignore[arg-type] # every Config is a dataclass
            _check(item, getattr(self, item.name))


def _check(item: Field, value: Any) -> None:
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{item.name} should be a finite number, not {value}")
    for name, bound in item.metadata["limits"].items():
        holds, words = LIMITS[name]
        if not holds(value, bound):
            raise ValueError(f"{item.name} should be {words} {bound}, not {value}")
    among = item.metadata["among"]
    if among and value not in among:
        raise ValueError(f"{item.name} should be one of {', '.join(filter(None, among))}, not {value!r}")


def add_options(parser: argparse.ArgumentParser, config_class: type) -> None:
    """One option for each field: ``table_bits: int = 25`` becomes ``--table-bits N``, a bool a flag."""
    for item in fields(config_class):
        if item.metadata["comes_first"]:
            parser.add_argument(item.name, type=_type_of(item), help=item.metadata["help"])
            continue
        if item.type is bool:
            parser.add_argument("--" + item.name.replace("_", "-"), action="store_true", help=item.metadata["help"])
            continue
        parser.add_argument(
            *filter(None, [item.metadata["short"]]),
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
    """The Config with the given options. Raises ValueError if it refuses one."""
    return config_class(**{item.name: getattr(given, item.name) for item in fields(config_class)})


def command_of(method: str, config: Any, left_out: tuple[str, ...] = ()) -> str:
    """The command line that makes the same result again: all options that differ from their defaults, without paths.

    Args:
        left_out: options that do not influence the result.
    """
    own = [item for item in fields(config) if item.type is not Path and item.name not in left_out]
    given = [(item.name, getattr(config, item.name)) for item in own]
    changed = [(name, value) for name, value in given if value != getattr(type(config), name)]
    return " ".join(["python train.py", method, *(f"--{name.replace('_', '-')} {value}" for name, value in changed)])
