"""The options that matches, tournaments and exams share, and the checks of all arguments.

The checks are the same on the command line and in Python.
"""

import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from math import inf
from numbers import Integral, Real
from os import PathLike
from types import UnionType
from typing import Annotated, Any, Literal, TypedDict, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from connectx_toolkit.kaggle.rules import OVERAGE
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.files import GAMES

Played = TypeVar("Played", bound=Callable)
Place = str | PathLike
KEYWORD_ONLY = Parameter.KEYWORD_ONLY
NUMBERS = {  # by kind or by name: what is expected, from which number on, and below which
    int: ("an integer of at least 1", 1, inf),
    float: ("a finite number", -inf, inf),
    "seed": ("an integer of at least -2**63 and less than 2**63", -(2**63), 2**63),  # what SQLite can hold
    "seconds": ("a number of seconds of at least 0", 0, inf),
    "overage": ("a number of seconds of at least 0", 0, inf),
}
KIND_WORDS = {bool: "True or False", str: "a text", PathLike: "a path", Callable: "a function", dict: "a dict"}


class GameOptions(TypedDict, total=False):
    """How games are played: of each option its type, its default and its help."""

    workers: Annotated[int, 1, "games at a time, each on a core of its own"]
    config: Annotated[dict | None, None, "Kaggle's configuration, such as actTimeout, rows, columns and inarow"]
    overage: Annotated[float, OVERAGE, "overage time: seconds that an agent may use beyond actTimeout in a game"]
    isolate: Annotated[bool, True, "False lets agents play in this process, which is faster. Functions that use a GPU, "
        "JAX or numba's ``parallel=True`` need it; none may hang or crash"]  # fmt: skip


class MatchOptions(GameOptions, total=False):
    """How matches are played whose games are stored."""

    openings: Annotated[Place | None, None, "file with one opening per line, as columns counted from 0, for example "
        '3342; "empty" for the empty board. 5,000 balanced openings if not given']  # fmt: skip
    seed: Annotated[int, 1, "random seed of openings and agents; another seed plays new games"]
    games: Annotated[Place, GAMES, "file that keeps the games"]
    scheduler: Annotated[str | None, None, "address of a dask cluster to play on; functions cannot play there"]


def check_arguments(function: Played) -> Played:
    """A function that raises ValueError for an argument that is not of its kind, which the signature says.

    Where it has ``**options: Unpack[...]``, the signature and the docstring name each of them, and the function is
    given all. They are in the order of the docstring; what it says of one itself comes before what is declared here.
    """
    spelt, doc = _spell_out(function)

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        bound = spelt.bind(*arguments, **options)
        for name, value in bound.arguments.items():
            one = spelt.parameters[name]
            kind = Sequence[one.annotation] if one.kind is one.VAR_POSITIONAL else one.annotation  # type: ignore[name-defined]
            try:
                bound.arguments[name] = _of_kind(kind, name, value)
            except ValueError:
                named = name if one.default is one.empty or one.kind is one.POSITIONAL_ONLY else as_option(name)
                raise ValueError(f"{named} should be {_kind_in_words(kind, name)}, not {value!r:.80}") from None
        bound.apply_defaults()
        return function(*bound.args, **bound.kwargs)

    call.__doc__, call.__dict__["__signature__"] = doc, spelt
    return cast(Played, call)


def _spell_out(function: Callable) -> tuple[Signature, str]:
    """The signature and the docstring of a function, in which options that a TypedDict declares are named."""
    whole, doc = signature(function), cleandoc(function.__doc__ or "")
    own = [one for one in whole.parameters.values() if one.kind is not one.VAR_KEYWORD]
    if len(own) == len(whole.parameters):
        return whole, doc
    (declared,) = get_args(whole.parameters["options"].annotation)
    for name, hint in get_type_hints(declared, include_extras=True).items():
        kind, default, words = get_args(hint)
        own.append(Parameter(name, KEYWORD_ONLY, default=default, annotation=kind))
        if f"\n    {name}: " not in doc:
            line = textwrap.fill(f"{name}: {words}.", 116, initial_indent="    ", subsequent_indent=" " * 8)
            doc = doc.replace("\n\nRaises:", f"\n{line}\n\nRaises:")
    own.sort(key=lambda one: (one.kind, one.kind == KEYWORD_ONLY and doc.find(f"\n    {one.name}: ")))
    return whole.replace(parameters=own), doc


def _of_kind(kind: Any, name: str, value: Any) -> Any:
    """A value as an argument of this kind and name: numpy's numbers are Python's then. Raises ValueError if it is none.

    Kinds in quotes, Any, and agents are checked by the function itself, which has more to say.
    """
    origin, inside = get_origin(kind), get_args(kind)
    if AgentSpec in inside:
        return value
    if origin in (Union, UnionType):
        for each in inside:
            with suppress(ValueError):
                return _of_kind(each, name, value)
        is_one = False
    elif origin in (Sequence, tuple):
        is_one = isinstance(value, Sequence) and not isinstance(value, str)
        value = [_of_kind(inside[0], name, each) for each in value] if is_one else value
        is_one = is_one and (origin is Sequence or len(value) == len(inside))
    elif origin is Literal:
        is_one = value in inside
    elif kind in (int, float):
        _, least, beyond = NUMBERS.get(name, NUMBERS[kind])
        is_number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
        is_one = is_number and least <= value < beyond
        value = kind(value) if is_one else value
    else:
        is_one = kind in (Any, Parameter.empty) or isinstance(kind, str) or isinstance(value, kind)
    if not is_one:
        raise ValueError
    return value


def _kind_in_words(kind: Any, name: str) -> str:
    """Values of this kind and name in words."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(filter(None, (_kind_in_words(each, name) for each in inside)))
    if origin in (Sequence, tuple):
        return f"{'a list' if origin is Sequence else 'two values'}, each {_kind_in_words(inside[0], name)}"
    if origin is Literal:
        return f"one of {', '.join(inside)}"
    return NUMBERS.get(name, NUMBERS[kind])[0] if kind in (int, float) else KIND_WORDS.get(kind, "")
