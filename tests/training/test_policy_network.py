"""The policy network: its targets, that it goes on where it ended, and that it publishes what it measured."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from connectx_core.afterstates import NEVER, Afterstates, MoveNetwork, follow
from connectx_core.encoding import encode
from connectx_core.network import read_network
from connectx_core.position import NO_MOVE, STANDARD, Position
from connectx_core.torch_form import Network
from connectx_core.weights import unpack
from connectx_toolkit.games.labelled import BOUND, Labels, canonical_keys, write_labels
from connectx_toolkit.training.descent import device_named, mixed_precision
from connectx_toolkit.training.makers import policy_network
from connectx_toolkit.training.makers.examples import (
    LARGEST_SCORE,
    MULTIPLE,
    SCORES,
    ReplyExamples,
    ReplyTargets,
    choices_of,
    is_new,
)
from connectx_toolkit.training.makers.labels import TEST, TRAINING, labels_of, opening_labels, read_labels
from connectx_toolkit.training.makers.policy_network import Config, Epochs, is_easy, losses, measure_network, total_loss
from connectx_toolkit.training.runs import MANIFEST

pytestmark = pytest.mark.slow
SMALL: dict[str, Any] = {"layers": "dense:16", "batch": 128, "samples": 2560, "learning_rate": 0.01}


@pytest.fixture(autouse=True)
def _little(monkeypatch):
    """A tenth of the openings, one thread, and three measurements in a run."""
    few = opening_labels()
    few = few.take(np.arange(0, len(few), 10))
    monkeypatch.setattr("connectx_toolkit.training.makers.labels.opening_labels", lambda: few)
    monkeypatch.setattr(policy_network, "usable_cores", lambda: [0])
    monkeypatch.setattr(policy_network, "REPORTS", 3)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """A file with one label: with the openings, which need no solving, it is enough to learn from."""
    path = tmp_path_factory.mktemp("labels") / "labels.labels"
    write_labels(path, opening_labels().take(np.arange(1)), {})
    return path


def one(scores: list[int], is_own: bool = False) -> ReplyTargets:
    """The targets of a position with these scores, every move of which is judged after it."""
    moves = torch.tensor([scores])
    legal = moves != NO_MOVE
    kept = legal & (torch.sign(moves) == torch.sign(moves.max()))
    places = legal.flatten().nonzero().flatten()
    of_moves = moves.flatten()[places] * (1 if is_own else -1) + LARGEST_SCORE
    is_exact = torch.ones(len(places), dtype=torch.bool)
    return ReplyTargets(
        kept, moves == moves.max(), legal, is_exact, of_moves, places, torch.full((len(places),), is_own)
    )


def outputs(moves: list[float]) -> dict[str, torch.Tensor]:
    return {"move": torch.tensor(moves)[:, None], "score": torch.zeros(len(moves), SCORES)}


def test_a_choice_among_equals_costs_nothing():
    """The loss is nil for any policy on perfect moves, however it divides itself among them."""
    targets = one([-3, 4, NO_MOVE, 0, 6, -1, 6])
    for split in ((20.0, 20.0), (20.0, 12.0)):
        parts = losses(outputs([0, 0, 0, split[0], 0, split[1]]), targets)
        assert parts["good"] < 1e-4 and parts["perfect"] < 1e-4
        assert total_loss(parts) == pytest.approx(0.5 * np.log(SCORES), abs=1e-3)
    parts = losses(outputs([0.0] * 6), targets)
    assert parts["good"] == pytest.approx(np.log(2)) and parts["perfect"] == pytest.approx(np.log(3))
    parts = losses(outputs([0, 0, 0, -20.0, 0, -20.0]), one([-3, 4, NO_MOVE, 0, 6, -1, 6], is_own=True))
    assert parts["perfect"] < 1e-4  # what the mover judges itself counts with the other sign


def test_bounds_teach_what_they_say():
    """That a move is worse; its score, and whether it keeps the result where a bound leaves that open, nothing."""
    scores = np.array([[4, 3 - BOUND, -1 - BOUND, NO_MOVE, 4, 0, 0], [0, -2 - BOUND, 0, 0, 0, 0, 0]], np.int8)
    few = opening_labels().take(np.flatnonzero(opening_labels().plies == 4)[:2])
    examples = ReplyExamples(Labels(few.positions, few.masks, scores), "lines-1")
    _, targets = examples.batch(np.arange(len(examples)))
    assert targets.perfect.tolist() == (scores == scores.max(1, keepdims=True)).tolist()
    assert not targets.good[0].any() and targets.good[1].int().tolist() == [1, 0, 1, 1, 1, 1, 1]
    columns = targets.places % 7
    assert set(columns[:7][targets.exact[:7]].tolist()) == {0, 4, 5, 6}


def test_what_the_rules_know_better_costs_nothing():
    """Where no move that the network is asked for is right, there is no loss that it could not help."""
    targets = one([-3, -4, -9, -5, -6, -5, -6])
    legal = torch.tensor([[False, True] + [False] * 5])
    of_moves = {name: getattr(targets, name)[1:2] for name in ("exact", "score", "places", "is_own")}
    parts = losses(outputs([0.0]), targets._replace(legal=legal, **of_moves))
    assert float(parts["perfect"]) == 0 and float(parts["good"]) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("mirrored", [False, True])
def test_moves_are_seen_after_forced_replies(mirrored):
    """Each position seen is that after the move at its place and forced replies, with that move's score; positions
    without a choice go."""
    order = slice(None, None, -1 if mirrored else 1)  # of columns
    labels = opening_labels().take(np.arange(12_000, 38_000, 200))
    examples = ReplyExamples(labels, "lines-1")
    assert len(examples.parts["starts"]) == len(examples) + 1
    assert 20 < len(examples) < len(labels)
    planes, targets = examples.batch(np.arange(len(examples)), mirrored)
    assert len(planes) % MULTIPLE == 0 and len(planes) - len(targets.score) < MULTIPLE
    assert targets.is_own.any() and (np.diff(targets.places.numpy() // 7) >= 0).all()
    of_seen = (targets.places, targets.score, targets.is_own)
    for seen, place, score, is_own in zip(planes.numpy(), *(part.tolist() for part in of_seen), strict=False):
        row, column = place // 7, 6 - place % 7 if mirrored else place % 7
        position = Position(int(examples.labels.positions[row]), int(examples.labels.masks[row]), STANDARD)
        after = position.play(column)
        ends = [int(part[0]) for part in follow(np.array([after.position]), np.array([after.mask]), STANDARD)[:3]]
        assert ends[2] == is_own and not position.winning_columns() and not after.winning_columns()
        assert (encode(Position(ends[0], ends[1], STANDARD), "lines-1")[0][..., order] == seen).all()
        assert score - LARGEST_SCORE == examples.labels.scores[row, column] * (1 if is_own else -1)
    for name in ("good", "perfect"):
        assert (getattr(targets, name).numpy() == getattr(examples.labels, name)[:, order]).all()
    assert (targets.legal.sum(1) >= 2).all() and int(targets.legal.sum()) == len(targets.score)
    logits = torch.arange(len(targets.score)).float()[:, None]
    policy = targets.policy({"move": logits})
    signs = torch.where(targets.is_own, -1, 1)
    assert (policy.flatten()[targets.places] == signs * logits[:, 0]).all() and (policy[~targets.legal] == NEVER).all()


def test_every_position_once_an_epoch():
    """The hard ones; of the easy ones one in so many, other ones each time, and openings several times."""
    masks = np.r_[np.zeros(5, np.int64), np.full(100, (1 << 20) - 1)]
    labels = Labels(masks, masks, np.zeros((105, 7), np.int8))

    def drawn(epochs: Epochs, step: int, count: int) -> list[list[int]]:
        return [rows.tolist() for (rows, _), _ in zip(epochs.batches(step), range(count), strict=False)]

    every = Epochs(labels, np.zeros(105, bool), 1, 10)
    rows = drawn(every, 0, 24)
    counts = np.bincount([row for batch in rows[:12] for row in batch], minlength=105)
    assert counts.sum() == 120 and counts[:5].sum() in range(15, 21) and counts[5:].max() == 1
    assert rows[:12] != rows[12:] and drawn(every, 13, 7) == rows[13:20]
    mirrored = [is_mirrored for (_, is_mirrored), _ in zip(every.batches(0), range(1000), strict=False)]
    assert 400 < sum(mirrored) < 600
    easy = Epochs(labels, np.arange(105) >= 45, 1, 70)
    first, second = drawn(easy, 0, 2)
    assert set(range(45)) <= set(first) and len(first) == 4 * 5 + 40 + 10
    assert {row for row in first if row >= 45}.isdisjoint(second)


def test_it_goes_on_where_it_was(file, tmp_path, monkeypatch):
    """Stopped in the middle, the same network comes out; a finished run, and other options, are refused."""
    first = Config(labels=file, run=tmp_path / "a", output=tmp_path / "a.bin", **SMALL)
    policy_network.train(first)
    log = json.loads((tmp_path / "a" / "log.json").read_text())
    assert [entry["samples"] for entry in log] == [768, 1536, 2304, 2560]
    assert (tmp_path / "a" / "curves.png").read_bytes()[:4] == b"\x89PNG"
    second = Config(labels=file, run=tmp_path / "b", output=tmp_path / "b.bin", **SMALL)
    plain_save, saved = policy_network.Trainer.save, []

    def save_once(self, path):
        plain_save(self, path)
        saved.append(path)
        if len(saved) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(policy_network.Trainer, "save", save_once)
    with pytest.raises(KeyboardInterrupt):
        policy_network.train(second)
    assert not (tmp_path / "b.bin").exists()
    policy_network.train(second)
    assert (tmp_path / "b.bin").read_bytes() == (tmp_path / "a.bin").read_bytes()
    with pytest.raises(ValueError, match=r"b is finished: choose another --run, or delete it"):
        policy_network.train(second)
    with pytest.raises(ValueError, match=r"b holds a run with --layers 'dense:16', not 'dense:15'"):
        policy_network.train(Config(labels=file, run=tmp_path / "b", **SMALL | {"layers": "dense:15"}))


def test_it_goes_on_from_another_network(file, tmp_path):
    """It begins with those weights, and knows then which positions are easy; other layers are refused."""
    policy_network.train(Config(labels=file, run=tmp_path / "a", output=tmp_path / "a.bin", **SMALL))
    config = Config(labels=file, start=tmp_path / "a.bin", run=tmp_path / "b", **SMALL)
    trainer, written = policy_network.Trainer(config), read_network((tmp_path / "a.bin").read_bytes())[1]
    assert all(np.array_equal(array, written[name]) for name, array in trainer.network.arrays().items())
    examples = config.examples(labels_of(read_labels(file), TRAINING))
    assert trainer.start is not None
    easy = is_easy(trainer.start, examples)
    policy = MoveNetwork.from_bytes((tmp_path / "a.bin").read_bytes()).evaluate_many(*examples.labels[:2])["policy"]
    right = examples.labels.perfect[np.arange(len(examples)), policy.argmax(1)]
    assert 0 < easy.mean() < 1 and right[easy].mean() > right[~easy].mean() + 0.1
    policy_network.train(config)
    with pytest.raises(ValueError, match=r"a.bin has the layers \(\('dense', 16\),\), not dense:15"):
        policy_network.Trainer(
            Config(labels=file, start=tmp_path / "a.bin", run=tmp_path, **SMALL | {"layers": "dense:15"})
        )
    with pytest.raises(OSError, match="missing"):
        policy_network.Trainer(Config(labels=file, start=tmp_path / "missing.bin", run=tmp_path, **SMALL))


def test_a_checkpoint_without_what_is_needed_is_refused(file, tmp_path):
    """Not gone on with, as if the optimizers had just begun."""
    trainer = policy_network.Trainer(Config(labels=file, run=tmp_path, **SMALL))
    trainer.save(tmp_path / "checkpoint.bin")  # before a step there is no state of an optimizer
    with pytest.raises(ValueError, match=r"checkpoint.bin is damaged: KeyError\('optimizer:0:'\)"):
        trainer.load(tmp_path / "checkpoint.bin")


def test_what_is_published_is_what_was_measured(file, tmp_path):
    """The file's network in numpy chooses as often right as the manifest says, on new positions and on known ones.

    New ones are held out, and nothing that their moves lead to is seen in training; known ones have the same plies.
    """
    config = Config(labels=file, run=tmp_path / "run", output=tmp_path / "net.bin", **SMALL)
    facts = policy_network.train(config)
    entry = json.loads((tmp_path / MANIFEST).read_text())["net.bin"]
    assert entry["new_positions"] == facts["new_positions"] and entry["inputs"]["labels"]
    assert entry["command"].startswith(f"python train.py network --labels {file} --layers dense:16")
    content = config.output.read_bytes()
    assert {array.dtype.name for array in unpack(content)[0].values()} == {"int8", "float16", "float32"}
    labels, network = read_labels(file), MoveNetwork.from_bytes(content)
    training, test = (choices_of(labels_of(labels, split))[0] for split in (TRAINING, TEST))
    parts = policy_network.measured_on(labels, training, config.seed)
    new, of_known = (np.bincount(part.plies) for part in parts.values())
    assert (new >= of_known).all() and new[1:].sum() == of_known[1:].sum()  # no other board is empty
    found, learnt, known = (keys_of(part) for part in (parts["new_positions"], training, parts["known_positions"]))
    seen, unseen = (keys_of(choices_of(part)[1]) for part in (training, parts["new_positions"]))
    assert found <= keys_of(test) and known <= learnt and not unseen & seen
    assert all(len(choices_of(part)[0]) == len(part) for part in parts.values())  # both sets leave a choice
    for name, part in parts.items():
        policy = np.where(part.legal, network.evaluate_many(part.positions, part.masks)["policy"], -np.inf)
        good = part.good[np.arange(len(part)), policy.argmax(1)].mean()
        assert good == pytest.approx(facts[name]["good"], abs=1e-4) and facts[name]["number"] == len(part)  # rounded


def keys_of(part: Labels | Afterstates) -> set[int]:
    return set(canonical_keys(part.positions, part.masks).tolist())


def test_what_training_has_seen_is_not_new():
    """The position, one with a move that leads to the same, and their mirror images; another is new."""
    games = [[3, 0], [3, 0], [3, 6], [2, 0], [4, 6], [3, 3]]  # the first is learnt
    positions = [Position.from_moves(moves, STANDARD) for moves in games]
    stones, masks, _ = zip(*positions, strict=True)
    labels = Labels(np.array(stones), np.array(masks), np.zeros((6, 7), np.int8))
    found = is_new(labels.take(np.arange(1, 6)), labels.take(np.arange(1)))
    assert found.tolist() == [False, False, False, False, True]


def test_bfloat16_where_the_processor_multiplies_it(monkeypatch):
    for name, expected in (("avx512_bf16", torch.bfloat16), ("avx512_f", torch.float32)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda name=name: {name: True, "amx_bf16": False})
        with mixed_precision(torch.device("cpu")):
            assert torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)).dtype == expected


def test_devices(monkeypatch):
    assert device_named("cpu").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device_named("auto").type == "mps"
    with pytest.raises(ValueError, match="device 'cuda' is not usable here"):
        device_named("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_named("auto").type == "cuda"


def test_what_learns_by_which_optimizer():
    """Each parameter by one: heads and biases by AdamW, the matrices of the trunk by Muon."""
    network = Network(Config(layers="dense:8,dense:4").architecture())
    optimizers = policy_network.optimizers_of(network, Config(learning_rate=0.1))
    named = {id(parameter): name for name, parameter in network.named_parameters()}
    muon, adam = ({named[id(p)] for group in one.param_groups for p in group["params"]} for one in optimizers)
    assert muon == {"0a_weight", "1a_weight"} and adam == set(named.values()) - muon
    assert [one.param_groups[0]["lr"] for one in optimizers] == [0.1, 0.1 * policy_network.ADAM_SHARE]
    network = Network(Config(layers="conv:4,dense:4").architecture())
    (group,) = policy_network.optimizers_of(network, Config())[0].param_groups
    names = {name for name, one in network.named_parameters() if any(one is other for other in group["params"])}
    assert names == {"0a_weight", "1a_weight"}


def test_the_loss_of_a_batch_falls():
    labels: Labels = opening_labels().take(np.arange(30_000, 30_064))
    config = Config(layers="dense:64", samples=64 * 60, batch=64, learning_rate=0.01)
    examples, trainer = config.examples(labels), policy_network.Trainer(config)
    losing = [float(trainer.learn(*examples.batch(np.arange(len(examples))))) for _ in range(60)]
    assert losing[-1] < 0.5 * losing[0] and measure_network(trainer.network, examples)["perfect"] > 0.8


def test_fewer_examples_than_a_batch(file, tmp_path):
    with pytest.raises(ValueError, match="fewer than a batch of 50,000: label more games"):
        policy_network.train(Config(labels=file, batch=50_000, run=tmp_path / "run"))
