"""The supervised teacher: its targets, that it learns, goes on where it ended, and publishes what it measured."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import train
from connectx.encoding import encode_many
from connectx.geometry import STANDARD
from connectx.nets import PlainNetwork
from connectx.torch_nets import Network
from connectx.weights import unpack
from training.data.sampling import FULL
from training.data.shards import TEST, Labels, book_labels, labels_of, write_shard
from training.methods import distill, labels
from training.methods.distill import Config, Examples, batches, losses, measure, parse_layers, targets_of
from training.support.device import device_named
from training.support.manifest import NAME

SCORES = Path(__file__).parents[2] / "training" / "book-scores.txt"
SMALL: dict[str, Any] = {
    "layers": "dense:48",
    "batch": 128,
    "samples": 38_400,
    "report_every": 12_800,
    "learning_rate": 0.01,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The labels of the opening book's positions, which need no solving."""
    path = tmp_path_factory.mktemp("labels")
    write_shard(path / "book.shard", book_labels(SCORES), labels.recipe_of(labels.Config()))
    return path


def one(scores: list[int], ply: int = 20) -> Labels:
    """A label of these scores; its stones do not matter."""
    mask = np.array([(1 << ply) - 1], np.int64)
    return Labels(mask & 0, mask, np.array([scores], np.int8), np.zeros(1, np.uint8))


def test_targets():
    targets = targets_of(one([-3, 4, FULL, 0, 6, -1, 6]))
    assert targets.value.tolist() == [2] and targets.results.tolist()[0][:2] == [0, 2]
    assert targets.kept.int().tolist() == [[0, 1, 0, 0, 1, 0, 1]]
    assert targets.perfect.int().tolist() == [[0, 0, 0, 0, 1, 0, 1]]
    # A win of score 6 is the stone of ply 30: eleven plies from ply 20 on, the last one included.
    assert targets.distance.tolist() == pytest.approx([11 / 42])
    assert targets.take(torch.tensor([0]), True).kept.int().tolist() == [[1, 0, 1, 0, 0, 1, 0]]


def test_a_full_column_and_a_choice_among_equals_cost_nothing():
    """The loss is nil for any policy on perfect moves, however it divides itself among them."""
    targets = targets_of(one([-3, 4, FULL, 0, 6, -1, 6]))
    for split in ((20.0, 20.0), (20.0, 12.0)):
        logits = torch.zeros(1, 7)
        logits[0, 2], logits[0, 4], logits[0, 6] = 99.0, *split
        outputs = {"policy": logits, "value": torch.zeros(1, 3), "distance": torch.zeros(1, 1)}
        parts = losses(outputs | {"results": torch.zeros(1, 21)}, targets)
        assert parts["kept"] < 1e-4 and parts["perfect"] < 1e-4
        assert parts["results"] == pytest.approx(np.log(3)) and parts["value"] == pytest.approx(np.log(3))


def test_every_position_once_an_epoch():
    config = Config(batch=10, samples=1000)
    rows = [batch.tolist() for (batch, _), _ in zip(batches(config, 105, 0), range(20), strict=False)]
    assert len({row for batch in rows[:10] for row in batch}) == 100 and rows[:10] != rows[10:]
    later = [batch.tolist() for (batch, _), _ in zip(batches(config, 105, 13), range(7), strict=False)]
    assert later == rows[13:]


def test_it_learns_and_goes_on(folder, tmp_path, monkeypatch):
    """From nothing: the loss falls and moves get better. Stopped in the middle, the same network comes out."""
    first = Config(labels=folder, run=tmp_path / "a", output=tmp_path / "a.bin", **SMALL)
    facts = distill.train(first)
    log = json.loads((tmp_path / "a" / "log.json").read_text())
    assert [entry["samples"] for entry in log] == [12_800, 25_600, 38_400]
    assert log[-1]["training_loss"] < 0.8 * log[0]["training_loss"] and facts["kept_decisive"] > 0.6
    assert (tmp_path / "a" / "curves.png").read_bytes()[:4] == b"\x89PNG"
    second = Config(labels=folder, run=tmp_path / "b", output=tmp_path / "b.bin", **SMALL)
    plain_save, saved = distill.Trainer.save, []

    def save_once(self, path):
        plain_save(self, path)
        saved.append(path)
        if len(saved) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(distill.Trainer, "save", save_once)
    with pytest.raises(KeyboardInterrupt):
        distill.train(second)
    assert not (tmp_path / "b.bin").exists()
    distill.train(second)
    assert (tmp_path / "b.bin").read_bytes() == (tmp_path / "a.bin").read_bytes()
    other = Config(labels=folder, run=tmp_path / "b", output=tmp_path / "b.bin", **SMALL | {"layers": "dense:47"})
    with pytest.raises(ValueError, match=r"checkpoint.bin is of a run with layers 'dense:\d+', not 'dense:47'"):
        distill.train(other)


class Hostile:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_checkpoint_is_never_unpickled(folder, tmp_path):
    """A file that would act when it is unpickled is refused, and does not act."""
    config = Config(labels=folder, run=tmp_path, output=tmp_path / "net.bin", **SMALL)
    torch.save({"config": Hostile(tmp_path / "acted")}, tmp_path / "checkpoint.bin")
    with pytest.raises(ValueError, match=r"checkpoint.bin is damaged: not a weight container"):
        distill.train(config)
    assert not (tmp_path / "acted").exists()
    torch.load(tmp_path / "checkpoint.bin", weights_only=False)  # what would have happened
    assert (tmp_path / "acted").exists()


def test_what_is_published_is_what_was_measured(folder, tmp_path):
    """The file's network in numpy chooses as often right as the manifest says, on the same test positions."""
    output = tmp_path / "net.bin"
    config = Config(labels=folder, run=tmp_path / "run", output=output, **SMALL | {"samples": 2560})
    facts = distill.train(config)
    entry = json.loads((tmp_path / NAME).read_text())["net.bin"]
    assert entry["kept"] == facts["kept"] and entry["command"].startswith("python train.py distill --layers dense:48")
    labels = book_labels(SCORES)
    labels = labels_of(labels, TEST)
    assert len(labels) == facts["test_positions"] > 300
    network = PlainNetwork.from_bytes(output.read_bytes())
    assert [name for name, _ in network.architecture.heads] == ["policy", "value"]
    policy = np.where(labels.legal, network.judge_many(labels.positions, labels.masks)["policy"], -np.inf)
    kept = labels.kept[np.arange(len(labels)), policy.argmax(1)].mean()
    assert kept == pytest.approx(facts["kept"], abs=1e-4)  # rounded


def test_planes_on_a_device_are_those_of_the_encoding():
    labels = book_labels(SCORES).take(np.arange(0, 2000, 40))
    examples = Examples.of(labels, "lines-1")
    planes = encode_many(labels.positions, labels.masks, STANDARD, "lines-1")
    assert (examples.batch(np.arange(len(labels)))[0].numpy() == planes).all()
    assert (examples.batch(np.arange(len(labels)), mirrored=True)[0].numpy() == planes[..., ::-1]).all()


def test_devices(monkeypatch):
    assert device_named("cpu").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device_named("auto").type == "mps"
    with pytest.raises(ValueError, match="device 'cuda' is not usable here"):
        device_named("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_named("auto").type == "cuda"


def test_overfits_one_batch(folder):
    labels = book_labels(SCORES)
    examples = Examples.of(labels.take(np.arange(1000, 1064)), "lines-1")
    trainer = distill.Trainer(Config(layers="dense:64,dense:64", samples=64 * 300, batch=64, learning_rate=0.01))
    for _ in range(300):
        trainer.learn(*examples.batch(np.arange(64)))
    assert measure(trainer.network, examples)["perfect"] == 1.0 and measure(trainer.network, examples)["value"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layers", "dense"], "layers should look like"),
        (["--layers", "conf:3"], "cannot follow"),
        (["--encoding", "lines-7"], "encoding 'lines-7' is unknown"),
        (["--samples", "0"], "at least 1"),
    ],
)
def test_bad_options(arguments, message, capsys):
    assert train.main(["distill", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_layers_and_published_heads():
    assert parse_layers("conv:3,dense:4") == (("conv", 3), ("dense", 4))
    whole = Network(Config(layers="dense:8").architecture())
    arrays, _ = unpack(distill.published(whole).to_bytes())
    assert set(arrays) == {"0a.weight", "0a.bias", "policy.weight", "policy.bias", "value.weight", "value.bias"}
    assert (arrays["0a.weight"] == whole.arrays()["0a.weight"].astype(np.float16)).all()
