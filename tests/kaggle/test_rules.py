"""Kaggle's facts are told once: what repeats them is held equal to what kaggle-environments says."""

import json
import random
import re

import pytest
from kaggle_environments import make
from kaggle_environments.utils import structify

from connectx_core.position import geometry_of
from connectx_toolkit.builder.embedded import guard
from connectx_toolkit.builder.preflight.trial import JUDGE_CLOCK, question_after
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE, Limits
from connectx_toolkit.system.files import ROOT
from tests.conftest import random_game


def test_the_defaults_are_kaggles():
    environment = make("connectx")
    for name, value in DEFAULTS.items():
        assert environment.configuration[name] == value
    assert environment.state[0].observation.remainingOverageTime == OVERAGE
    assert JUDGE_CLOCK == (Limits().act_timeout, Limits().overage) == (DEFAULTS["actTimeout"], OVERAGE)
    assert question_after("first", []).config | {"actTimeout": DEFAULTS["actTimeout"]} == DEFAULTS


def test_the_guard_of_a_submission_knows_the_same_clock():
    """It has to carry the number itself; so does no other place."""
    source = (ROOT / "connectx_toolkit" / "builder" / "embedded" / "guard.py").read_text()
    assert re.findall(r'"actTimeout", ([\d.]+)\)', source) == [str(DEFAULTS["actTimeout"])]


@pytest.mark.parametrize("kind", [Struct, lambda **entries: guard.Record(entries)])
def test_observations_read_like_kaggles(kind):
    entries = {"board": [0, 1], "mark": 1, "step": 3}
    ours, theirs = kind(**entries), structify(entries)
    for name, value in entries.items():
        assert ours[name] == getattr(ours, name) == theirs[name] == getattr(theirs, name) == value
    assert json.dumps(ours) == json.dumps(theirs) == json.dumps(entries)
    with pytest.raises(AttributeError):
        ours.nothing  # noqa: B018


@pytest.mark.parametrize("shape", [(6, 7, 4), (4, 5, 3), (5, 4, 2)])
def test_the_guard_sees_the_wins_that_there_are(shape):
    geometry = geometry_of(*shape)
    for position in (p for seed in range(6) for p in random_game(geometry, random.Random(seed))):
        board, mark = position.to_board(), 1 + position.ply % 2
        won = [c for c in position.legal_columns() if guard.makes_line(board, c, mark, *shape)]
        assert sorted(won) == sorted(position.winning_columns())


def test_the_guard_counts_the_arguments_that_a_function_takes():
    """Two, as Kaggle gives, of one that does not tell."""
    functions = (lambda: 0, lambda obs: 0, lambda obs, config: 0, lambda *given: 0, lambda *, config: 0, max)
    assert [guard.argument_count(function) for function in functions] == [0, 1, 2, 2, 0, 2]


def test_the_guard_names_the_line_of_a_fault():
    code = compile("\n\n1 / 0", "agents/mine.py", "exec")
    with pytest.raises(ZeroDivisionError) as caught:
        exec(code)
    assert guard.describe_fault(caught.value, "agents") == "ZeroDivisionError: division by zero (mine.py, line 3)"
