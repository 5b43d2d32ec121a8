"""Every argument of every function, by its signature: wrong kinds are refused in one line, in Python and at a shell."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING
from math import inf, nan
from os import PathLike
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest

from connectx_toolkit import api
from connectx_toolkit.arena.options import check_arguments
from connectx_toolkit.cli.functions import COMMANDS, METAVARS, parameters_of
from connectx_toolkit.cli.main import run
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.console import FLAGS

FUNCTIONS = {name: getattr(api, name) for name in api.__all__}
OWN = {"model", "module", "observation"}  # of any kind: adopt says itself what they may be
SOMETHING = object()
WRONG: dict[Any, list[Any]] = {  # of each kind; of a union what all of its kinds refuse
    int: ["2", "x", 1.5, True, SOMETHING, [1], nan, b"1", {}],
    float: ["2", True, SOMETHING, [1], nan, -inf, b"1", {}],
    bool: ["yes", 1, 0, SOMETHING, [1]],
    str: [3, 1.5, True, SOMETHING, [1], b"1", {}],
    PathLike: [3, "x", "2", 1.5, True, SOMETHING, [1], b"1", {}],
    dict: ["rows=5", "x", 3, SOMETHING, [1], [("rows", 5)]],
    Callable: ["x", 3, 1.5, True, SOMETHING, [1], b"1", {}],
    AgentSpec: ["x", 3, 1.5, True, SOMETHING, [1], b"1", {}],
    NoneType: ["x", "2", "rows=5", "0 50", "ab", 0, 1, 3, 1.5, True, SOMETHING, [1], nan, -inf, b"1", {}, (1,),
               (1, 2, 3)],
    Literal: ["x", 3, SOMETHING, [1], None],
    tuple: ["0 50", "ab", 3, (1,), (1, 2, 3), SOMETHING, {}],
    Sequence: ["x", 3, [1], SOMETHING, {}],
}  # fmt: skip
BELOW: dict[str, list[Any]] = {"seed": [2**63, -(2**63) - 1], "seconds": [-1, inf], "overage": [-1, inf]}  # by name


def refused_by(kind: Any) -> list[Any]:
    kinds = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    first, *others = [{repr(value): value for value in WRONG[get_origin(one) or one]} for one in kinds]
    return [value for key, value in first.items() if all(key in other for other in others)]


def cases() -> Iterator[Any]:
    for name, function in FUNCTIONS.items():
        for one in inspect.signature(function).parameters.values():
            if one.name in OWN or isinstance(one.annotation, str):
                continue
            kinds = get_args(one.annotation) or (one.annotation,)
            more = BELOW.get(one.name, [0, -3]) if {int, float} & {*kinds} else []
            for value in [*refused_by(one.annotation), *more]:
                yield pytest.param(name, one, value, id=f"{name}-{one.name}-{value!r:.20}")


@pytest.mark.parametrize(("name", "parameter", "value"), [*cases()])
def test_in_python(name, parameter, value):
    function = FUNCTIONS[name]
    places, options = list[Any](), dict[str, Any]()
    for one in inspect.signature(function).parameters.values():
        if one.kind is not one.KEYWORD_ONLY and (one.name == parameter.name or one.default is one.empty):
            places.append(value if one.name == parameter.name else "leftmost")
            places += ["middle", "one_step"] if one.kind is one.VAR_POSITIONAL else []
    if parameter.kind is parameter.KEYWORD_ONLY:
        options[parameter.name] = value
    with pytest.raises(ValueError, match=r"\A.*\Z") as problem:
        function(*places, **options)
    shown = FLAGS.get(parameter.name, parameter.name)
    words = ("an agent should be ", "--anchor") if AgentSpec in get_args(parameter.annotation) else ()
    starts = (f"{shown} should be ", f"--{shown.replace('_', '-')} should be ", *words)
    assert str(problem.value).startswith(starts)


def test_all_are_checked():
    assert {name for name, function in FUNCTIONS.items() if inspect.signature(function).parameters} == {
        case.values[0] for case in cases()
    }


def test_what_is_right_comes_as_pythons_own():
    """numpy's numbers, too: neither JSON nor SQLite takes those."""

    @check_arguments
    def function(*agents: str, pairs: int, seed: int, overage: float, sprt: tuple[float, float], kind: Literal["a"]):
        return agents, pairs, seed, overage, sprt, kind

    numbers: dict[str, Any] = {"pairs": np.int64(3), "seed": -5, "overage": np.float32(2), "sprt": (0, np.float64(50))}
    found = function("a", "b", kind="a", **numbers)
    assert found == (("a", "b"), 3, -5, 2.0, [0.0, 50.0], "a")
    assert [*map(type, found[1:4])] == [int, int, float] and type(found[4][1]) is float
    with pytest.raises(TypeError, match=r"argument: 'pairs'|argument 'pears'"):
        function(pears=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("value", [3.5, SOMETHING, None, [3.5], [[3], None], {}, b"33", ["33", 3.5]])
def test_games_that_are_none(value):
    with pytest.raises(ValueError, match=r"expected columns|no such|no games"):
        api.analyse(value)


PLACES = {  # that a command takes before its options
    "evaluate": ["leftmost", "middle"], "match": ["leftmost", "middle"], "analyse": ["33"], "explore": [], "report": [],
    "episodes": ["1"],
}  # fmt: skip
TYPED = {int: ["0", "x", "1.5"], float: ["x", "nan"], dict: ["rows", "rows=6,rows=5"], Literal: ["x"]}


def typed_cases() -> Iterator[tuple[str, str, str]]:
    named = {"": "get_win_percentages", "list": "agents"}
    functions = {f"evaluate {name}".strip(): FUNCTIONS[named.get(name, name)] for name in COMMANDS}
    for words, function in (functions | {"build": api.build}).items():
        for each in parameters_of(function):
            flag = f"--{FLAGS.get(each.name, each.name).replace('_', '-')}"
            is_option = each.default is not MISSING and not each.many
            for text in TYPED.get(get_origin(each.kind) or each.kind, []) if is_option else ():
                if (each.name, text) != ("seed", "0"):
                    yield words, flag, f"{text} 50" if each.name in METAVARS else text


@pytest.mark.parametrize(("words", "flag", "text"), [*typed_cases()])
def test_at_a_shell(words, flag, text, capsys):
    script, *command = words.split()
    places = PLACES.get(words.split()[-1], ["leftmost"])
    try:
        code = run(script, [*command, *places, flag, *text.split()])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert (code, out) == (2, "") and flag in line
