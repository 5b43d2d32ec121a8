"""PPO on small boards: it runs, and its networks are what the agents compute."""

import json
import re
from functools import partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from connectx_core.network import PlainNetwork
from connectx_toolkit.cli import train
from connectx_toolkit.training.environments.sb3 import CourseCNN
from connectx_toolkit.training.environments.vector_env import ENDINGS
from connectx_toolkit.training.learners import ppo
from connectx_toolkit.training.runs import MANIFEST

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Two updates a period, and few games against whom needs no compiling."""
    for name, value in (("PERIOD", 2), ("VERSIONS", 2), ("TEST_GAMES", 10), ("TEST_OPPONENT", "random")):
        monkeypatch.setattr(ppo, name, value)


def config(folder: Path, **changes) -> ppo.Config:
    """Two periods of two updates each, on 4x4k3."""
    small: dict[str, Any] = {"board": "4x4k3", "width": 16, "games": 8, "steps": 512, "opponent": "self+random"}
    return ppo.Config(**(small | {"run": folder, "output": folder / "ppo.bin"} | changes))


def test_the_algorithms(tmp_path):
    """Without masks illegal columns are tried, and end games; with them they are not."""
    for algorithm in ppo.ALGORITHMS:
        trainer = ppo.SelfPlayTrainer(config(tmp_path, algorithm=algorithm, opponent="leftmost", rewards="course"))
        trainer.advance()
        assert (trainer.curve[0]["illegal"] > 0) == (algorithm == "ppo") and trainer.curve[0]["steps"] == 256


def test_the_courses_protocol(tmp_path, monkeypatch, capsys):
    """By the command, with 64 steps: the lesson's network and settings, its games, model.zip, and the last line."""
    assert ppo.COURSE_STEPS == 60_000 and ppo.COURSE_GAMES == 100
    asked = {}
    make = ppo.gymnasium.make
    monkeypatch.setattr(ppo.gymnasium, "make", lambda name, **options: asked.update(options) or make(name, **options))
    monkeypatch.setattr(PPO, "learn", partialmethod(learn_less, PPO.learn))
    monkeypatch.setattr(ppo, "COURSE_STEPS", 64)
    monkeypatch.setattr(ppo, "COURSE_GAMES", 4)
    assert train.main(["ppo", "--protocol", "course", "--seed", "3", "--run", str(tmp_path / "run")]) == 0
    assert asked == {"opponent": "random", "seat": "first", "rewards": "course", "observation": "course"}
    last = capsys.readouterr().out.splitlines()[-1]
    told = re.fullmatch(
        r"score: (\d) of 4 games won against random, (\d) moving first and (\d) second .*; wrote (.+)", last
    )
    assert told and int(told[1]) == int(told[2]) + int(told[3]) and Path(told[4]) == tmp_path / "run" / "model.zip"
    model = PPO.load(told[4], custom_objects={"policy_kwargs": {"features_extractor_class": CourseCNN}})
    lesson = PPO("MlpPolicy", "ConnectX-v0")
    for name in ("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef", "learning_rate"):
        assert getattr(model, name) == (32 if name == "n_steps" else getattr(lesson, name))
    shapes = [tuple(array.shape) for array in model.policy.features_extractor.parameters()]
    assert shapes == [(32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,), (128, 384), (128,)]
    assert train.main(["ppo", "--protocol", "course", "--seed", "3", "--run", str(tmp_path / "run")]) == 2


def learn_less(model: PPO, learn: Any, *given: Any, **named: Any) -> Any:
    """Rollouts of 32 steps."""
    model.n_steps = model.rollout_buffer.buffer_size = 32
    model.rollout_buffer.reset()
    return learn(model, 32, **named)


def test_the_courses_agent():
    """It draws its columns as the lesson's model.predict does; for a full one, one that is not."""
    sure = SimpleNamespace(predict=lambda board: (np.array(board[0, 0, 3]), None))
    agent = ppo.course_agent(sure, 1)
    kaggle, board = SimpleNamespace(rows=6, columns=7), [0] * 42
    assert agent(SimpleNamespace(board=board), kaggle) == 0
    board[0], board[2] = 1, 2
    assert {agent(SimpleNamespace(board=board), kaggle) for _ in range(100)} == {1, 3, 4, 5, 6}


def test_half_of_self_play_is_against_the_newest_policy(tmp_path):
    """By default self-play is half of the games."""
    trainer = ppo.SelfPlayTrainer(config(tmp_path, opponent="self+negamax"))
    newest, *past, negamax = (weight for weight, _ in trainer._opponents(np.random.default_rng(1)))
    assert newest == sum(past) == pytest.approx(negamax / 2)


def test_self_play_from_end_to_end(tmp_path):
    """The same seed makes the same policy; manifest and curve have what was measured. Another seed is another run."""
    one, two = (ppo.train_by_self_play(config(tmp_path / name)) for name in ("one", "two"))
    assert (tmp_path / "one" / "ppo.bin").read_bytes() == (tmp_path / "two" / "ppo.bin").read_bytes()
    assert one.curve == two.curve
    assert [set(point) for point in one.curve] == [{"steps", "test", *ENDINGS}] * 2
    assert (tmp_path / "one" / "curve.png").read_bytes().startswith(b"\x89PNG")
    entry = json.loads((tmp_path / "one" / MANIFEST).read_text())["ppo.bin"]
    assert "--board 4x4k3" in entry["command"] and entry["steps"] == 512
    with pytest.raises(ValueError, match="holds a run with --seed 0, not 3"):
        ppo.train(config(tmp_path / "one", seed=3))


def test_networks_equal_the_policy(tmp_path):
    """What is played, stored and published computes what stable-baselines3 does."""
    trainer = ppo.SelfPlayTrainer(config(tmp_path))
    trainer.advance()
    planes = np.random.default_rng(0).integers(0, 2, (50, 9, 4, 4)).astype(np.float32)
    with torch.no_grad():
        rows = torch.from_numpy(planes.reshape(50, -1))
        expected = trainer.model.policy.get_distribution(rows).distribution.logits
        values = trainer.model.policy.predict_values(rows).numpy()
    outputs = trainer.version(-1).forward(planes)
    assert np.allclose(torch.from_numpy(outputs["policy"]).log_softmax(1), expected, atol=1e-5)
    assert np.allclose(outputs["value"], values, atol=1e-5)
    ppo.train(config(tmp_path))
    kept = PlainNetwork.from_bytes((tmp_path / "ppo.bin").read_bytes())
    assert kept.architecture == config(tmp_path).architecture
