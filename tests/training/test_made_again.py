"""Each kind of file that ships, in its smallest, made twice by its command: not a byte differs.

Networks on labels and PPO's are made twice in test_policy_network, test_leaf and test_ppo.
"""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from connectx_toolkit.cli import train
from connectx_toolkit.games.labelled import read_file, write_labels
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.training.makers import labels, opponent_model
from connectx_toolkit.training.makers.labels import opening_labels
from connectx_toolkit.training.makers.opponent_pool import PoolPlayer
from connectx_toolkit.training.runs import MANIFEST

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
COMMANDS = [
    pytest.param("imitate --games 20 --steps 10", marks=pytest.mark.long),
    "policy-gradient --games 40 --batch 20",
    "value --games {games} --policy {policy} --further 40 --steps 10",
    "actor-critic --game 6x7k4 --opponent lookahead@2 --games 40 --batch 20",
    "book --last-ply 3 --least 0.02 --nodes 2000 --table-bits 18 --workers 1",
]


def make(command: str, folder: Path) -> Path:
    """The file that a command of train.py makes, with a run in this folder."""
    given = train.parse_arguments([*shlex.split(command), "--run", str(folder)])
    module = train.module_of(given.method)
    config = train.config_from(module.Config, given)
    module.train(config)
    return config.output


def make_twice(command: str, folder: Path) -> None:
    first, second = (make(command, folder / number).read_bytes() for number in ("1", "2"))
    assert first == second


@pytest.fixture(scope="module")
def policy_gradient(tmp_path_factory) -> dict[str, Path]:
    """What ``value`` learns from."""
    folder = tmp_path_factory.mktemp("policy-gradient")
    return {"policy": make("policy-gradient --games 100 --batch 50", folder), "games": folder / "games.bin"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_learners_and_the_book(command, policy_gradient, tmp_path):
    make_twice(command.format(**policy_gradient), tmp_path)


def test_labels(tmp_path, monkeypatch):
    """By the command of the manifest, but for the number of games, and late positions alone, which take no time."""
    monkeypatch.setattr(labels, "TAKEN", dict.fromkeys(range(24), 0.0))
    command = json.loads((ROOT / "labels" / MANIFEST).read_text())["hard.labels"]["command"]
    words = shlex.split(command)[2:]
    words[words.index("--games") + 1] = "3"
    words[words.index("--network") + 1] = str(ROOT / words[words.index("--network") + 1])
    make_twice(shlex.join(words), tmp_path)
    assert len(read_file(tmp_path / "1" / "labels.labels")[0]) > 10


@pytest.mark.long
def test_opponent_model(tmp_path, monkeypatch):
    """Without the games against perfect, whose moves depend on the clock."""
    players = (PoolPlayer("policy", 0.5, "ppo.bin"), PoolPlayer("policy", 1.0, "strong_policy.bin"))
    monkeypatch.setattr(opponent_model, "DEVELOPMENT", players)
    write_labels(tmp_path / "few.labels", opening_labels().take(np.arange(200)), {})
    options = "--plays 1 --rematches 0 --types 2 --samples 4096 --layers dense:16"
    make_twice(f"replies {options} --labels {tmp_path / 'few.labels'}", tmp_path)
