"""Kaggle's facts are told once: what repeats them is held equal to what kaggle-environments says."""

import json
import re

import pytest
from kaggle_environments import make
from kaggle_environments.utils import structify

from connectx_toolkit.builder.embedded import guard
from connectx_toolkit.builder.preflight.questions import JUDGES, question
from connectx_toolkit.kaggle.observation import Struct
from connectx_toolkit.kaggle.rules import BANK, DEFAULTS, Limits
from connectx_toolkit.places import ROOT


def test_the_defaults_are_kaggles():
    environment = make("connectx")
    for name, value in DEFAULTS.items():
        assert environment.configuration[name] == value
    assert environment.state[0].observation.remainingOverageTime == BANK
    assert JUDGES == (Limits().act_timeout, Limits().bank) == (DEFAULTS["actTimeout"], BANK)
    assert question("first", []).config | {"actTimeout": DEFAULTS["actTimeout"]} == DEFAULTS


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
