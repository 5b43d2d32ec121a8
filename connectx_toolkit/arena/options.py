"""The options that rounds, matches, tournaments and exams share: each is declared here, and nowhere else."""

import textwrap
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, cleandoc, signature
from os import PathLike
from typing import Annotated, Any, TypedDict, TypeVar, cast, get_args, get_type_hints

from connectx_toolkit.kaggle.rules import OVERAGE
from connectx_toolkit.system.files import GAMES

Played = TypeVar("Played", bound=Callable)
Place = str | PathLike
KEYWORD_ONLY = Parameter.KEYWORD_ONLY


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


def spelt_out(function: Played) -> Played:
    """A function with ``**options: Unpack[...]``: it is given all, and its signature and docstring name each.

    Options are in the order of the docstring; what it says of one itself comes before what is declared here.
    """
    shown, doc = signature(function), cleandoc(function.__doc__ or "")
    *own, options = shown.parameters.values()
    (declared,), defaults = get_args(options.annotation), {}
    for name, hint in get_type_hints(declared, include_extras=True).items():
        kind, defaults[name], words = get_args(hint)
        own.append(Parameter(name, KEYWORD_ONLY, default=defaults[name], annotation=kind))
        if f"\n    {name}: " not in doc:
            line = textwrap.fill(f"{name}: {words}.", 116, initial_indent="    ", subsequent_indent=" " * 8)
            doc = doc.replace("\n\nRaises:", f"\n{line}\n\nRaises:")
    own.sort(key=lambda one: (one.kind, one.kind == KEYWORD_ONLY and doc.find(f"\n    {one.name}: ")))
    names = {one.name for one in own}

    @wraps(function)
    def call(*arguments: Any, **given: Any) -> Any:
        if unknown := [name for name in given if name not in names]:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown[0]!r}")
        return function(*arguments, **defaults | given)

    call.__doc__, call.__dict__["__signature__"] = doc, shown.replace(parameters=own)
    return cast(Played, call)
