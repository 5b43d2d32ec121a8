"""The supervised teacher: its targets, that it learns, goes on where it ended, and publishes what it measured."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from connectx.geometry import STANDARD
from connectx.nets.afterstates import NEVER, follow
from connectx.nets.encoding import encode, encode_many, planes_of
from connectx.nets.network import POSITION, REPLIES, PlainNetwork, from_bytes
from connectx.nets.torch_form import Network
from connectx.position import Position, mirror_bits
from connectx.score import NO_MOVE
from connectx.weights import unpack
from connectx_toolkit.cli import train
from connectx_toolkit.places import BOOK_SCORES
from connectx_toolkit.training.data.examples import LARGEST, MULTIPLE, SCORES, Examples, Targets
from connectx_toolkit.training.data.held_out import asked_in, without
from connectx_toolkit.training.data.shards import TEST, Labels, book_labels, labels_of, write_shard
from connectx_toolkit.training.learning.label_losses import losses, total
from connectx_toolkit.training.methods import distill, labels
from connectx_toolkit.training.methods.distill import Config, batches, measure, parse_pairs
from connectx_toolkit.training.support.device import device_named, mixed_precision
from connectx_toolkit.training.support.manifest import NAME

SMALL: dict[str, Any] = {
    "encoding": "lines-1",
    "layers": "dense:48",
    "batch": 128,
    "samples": 38_400,
    "report_every": 12_800,
    "learning_rate": 0.01,
}
ARCHITECTURES = {judges: Config(judges=judges, encoding="lines-1").architecture() for judges in (POSITION, REPLIES)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The labels of the opening book's positions, which need no solving."""
    path = tmp_path_factory.mktemp("labels")
    write_shard(path / "book.shard", book_labels(BOOK_SCORES), labels.recipe_of(labels.Config()))
    return path


def one(scores: list[int], ply: int = 20) -> Labels:
    """A label of these scores; its stones do not matter."""
    mask = np.array([(1 << ply) - 1], np.int64)
    return Labels(mask & 0, mask, np.array([scores], np.int8), np.zeros(1, np.uint8))


def targets_of(labels: Labels, mirrored: bool = False) -> Targets:
    return Examples(labels, ARCHITECTURES[POSITION]).batch(np.arange(len(labels)), mirrored)[1]


def test_targets():
    targets = targets_of(one([-3, 4, NO_MOVE, 0, 6, -1, 6]))
    assert targets.value.tolist() == [2] and targets.results.tolist()[0][:2] == [0, 2]
    assert targets.kept.int().tolist() == [[0, 1, 0, 0, 1, 0, 1]]
    assert targets.perfect.int().tolist() == [[0, 0, 0, 0, 1, 0, 1]]
    assert targets.score.tolist() == [LARGEST + 6]
    assert targets_of(one([-3, 4, NO_MOVE, 0, 6, -1, 6]), True).kept.int().tolist() == [[1, 0, 1, 0, 0, 1, 0]]


@pytest.mark.parametrize("mirrored", [False, True])
def test_moves_are_seen_after_forced_replies(mirrored):
    """Each position seen is that after the move at its place and forced replies, with that move's score; positions
    without a choice go."""
    labels = book_labels(BOOK_SCORES).take(np.arange(0, 3000, 20))
    examples = Examples(labels, ARCHITECTURES[REPLIES])
    assert 20 < len(examples) < len(labels)
    planes, targets = examples.batch(np.arange(len(examples)), mirrored)
    assert len(planes) % MULTIPLE == 0 and len(planes) - len(targets.score) < MULTIPLE
    assert targets.places is not None and targets.is_own is not None and targets.is_own.any()
    assert (np.diff(targets.places.numpy() // 7) >= 0).all()
    of_seen = (targets.places, targets.score, targets.is_own)
    for seen, place, score, is_own in zip(planes.numpy(), *(part.tolist() for part in of_seen), strict=False):
        row, column = place // 7, 6 - place % 7 if mirrored else place % 7
        position = Position(int(examples.labels.positions[row]), int(examples.labels.masks[row]), STANDARD)
        after = position.play(column)
        ends = [int(part[0]) for part in follow(np.array([after.position]), np.array([after.mask]), STANDARD)[:3]]
        assert ends[2] == is_own and not position.winning_columns() and not after.winning_columns()
        assert (encode(Position(ends[0], ends[1], STANDARD), "lines-1")[0][..., :: -1 if mirrored else 1] == seen).all()
        assert score - LARGEST == examples.labels.scores[row, column] * (1 if is_own else -1)
    assert (targets.legal.sum(1) >= 2).all() and int(targets.legal.sum()) == len(targets.score)
    logits = torch.arange(len(targets.score)).float()[:, None]
    policy = targets.policy({"move": logits})
    signs = torch.where(targets.is_own, -1, 1)
    assert (policy.flatten()[targets.places] == signs * logits[:, 0]).all() and (policy[~targets.legal] == NEVER).all()


def test_positions_that_judge_it_are_not_trained_on(tmp_path):
    """Nor are their mirror images, save those of plies 0 to 7."""
    known = book_labels(BOOK_SCORES)
    asked = known.take(np.arange(0, len(known), 3))
    mirror_images = [mirror_bits(stones, STANDARD) for stones in (asked.positions, asked.masks)]
    scores = np.ascontiguousarray(asked.scores[:, ::-1])
    write_shard(tmp_path / "asked.shard", Labels(mirror_images[0], mirror_images[1], scores, asked.origins), {})
    left = without(known, asked_in(tmp_path))
    late = np.setdiff1d(np.flatnonzero(known.plies >= 8), np.arange(0, len(known), 3))
    assert 0 < len(late) == (left.plies >= 8).sum() and (left.plies < 8).sum() == (known.plies < 8).sum() > 0
    with pytest.raises(ValueError, match=r"no shards in .*nothing: python -m benchmarks.recipes"):
        asked_in(tmp_path / "nothing")


def test_a_full_column_and_a_choice_among_equals_cost_nothing():
    """The loss is nil for any policy on perfect moves, however it divides itself among them."""
    targets = targets_of(one([-3, 4, NO_MOVE, 0, 6, -1, 6]))
    for split in ((20.0, 20.0), (20.0, 12.0)):
        logits = torch.zeros(1, 7)
        logits[0, 2], logits[0, 4], logits[0, 6] = 99.0, *split
        outputs = {"policy": logits, "value": torch.zeros(1, 3), "score": torch.zeros(1, SCORES)}
        parts = losses(outputs | {"results": torch.zeros(1, 21)}, targets)
        assert parts["kept"] < 1e-4 and parts["perfect"] < 1e-4
        assert parts["results"] == pytest.approx(np.log(3)) and parts["value"] == pytest.approx(np.log(3))
        assert parts["score"] == pytest.approx(np.log(SCORES))
        assert total(parts) == pytest.approx(0.5 * (2 * np.log(3) + np.log(SCORES)), abs=1e-3)
    outputs["policy"] = torch.zeros(1, 7)
    parts = losses(outputs | {"results": torch.zeros(1, 21)}, targets)
    assert parts["kept"] == pytest.approx(np.log(2)) and parts["perfect"] == pytest.approx(np.log(3))
    assert total(parts) - total(parts, 0.2) == pytest.approx(0.8 * (np.log(2) + 0.5 * np.log(3)))


def test_what_the_rules_know_better_costs_nothing():
    """Where no move that the network is asked for is right, there is no loss that it could not help."""
    targets = targets_of(one([-3, -4, NO_MOVE, -5, -6, -5, -6]))._replace(
        legal=torch.tensor([[False, True] + [False] * 5])
    )
    outputs = {"policy": torch.zeros(1, 7), "value": torch.zeros(1, 3), "score": torch.zeros(1, SCORES)}
    parts = losses(outputs, targets)
    assert float(parts["perfect"]) == 0 and float(parts["kept"]) == pytest.approx(0, abs=1e-4)


def test_every_position_once_an_epoch():
    rows = [batch.tolist() for (batch, _), _ in zip(batches(1, 105, 10, 0), range(20), strict=False)]
    assert len({row for batch in rows[:10] for row in batch}) == 100 and rows[:10] != rows[10:]
    later = [batch.tolist() for (batch, _), _ in zip(batches(1, 105, 10, 13), range(7), strict=False)]
    assert later == rows[13:]


def test_some_positions_more_often(tmp_path):
    """Those of plies 0 to 7, and, mirror images or not, those of some folders."""
    known = book_labels(BOOK_SCORES)
    plainly = np.where(known.plies < 8, 3, 1)
    assert (np.bincount(distill.epoch_of(known, Config(openings=3))) == plainly).all()
    chosen = known.take(np.arange(0, len(known), 5))
    mirror_images = [mirror_bits(stones, STANDARD) for stones in (chosen.positions, chosen.masks)]
    scores = np.ascontiguousarray(chosen.scores[:, ::-1])
    write_shard(tmp_path / "some" / "0.shard", Labels(mirror_images[0], mirror_images[1], scores, chosen.origins), {})
    times = np.bincount(distill.epoch_of(known, Config(labels=tmp_path, openings=3, often="some:4")))
    assert (times == np.where(np.arange(len(known)) % 5 == 0, 4, plainly)).all()
    with pytest.raises(ValueError, match=r"no labels in .*others"):
        distill.epoch_of(known, Config(labels=tmp_path, often="some:4,others:2"))


@pytest.mark.parametrize("judges", ARCHITECTURES)
def test_it_learns_and_goes_on(judges, folder, tmp_path, monkeypatch):
    """From nothing: the loss falls and moves get better. Stopped in the middle, the same network comes out."""
    options = SMALL | {"judges": judges}
    first = Config(labels=folder, run=tmp_path / "a", output=tmp_path / "a.bin", **options)
    facts = distill.train(first)
    log = json.loads((tmp_path / "a" / "log.json").read_text())
    assert [entry["samples"] for entry in log] == [12_800, 25_600, 38_400]
    assert log[-1]["training_loss"] < 0.8 * log[0]["training_loss"] and facts["kept_decisive"] > 0.6
    assert (tmp_path / "a" / "curves.png").read_bytes()[:4] == b"\x89PNG"
    second = Config(labels=folder, run=tmp_path / "b", output=tmp_path / "b.bin", **options)
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
    with pytest.raises(ValueError, match=r"b is finished: choose another --run, or delete it"):
        distill.train(second)
    other = Config(labels=folder, run=tmp_path / "b", output=tmp_path / "b.bin", **options | {"layers": "dense:47"})
    with pytest.raises(ValueError, match=r"b holds a run with --layers 'dense:48', not 'dense:47'"):
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
    options = SMALL | {"samples": 2560}
    config = Config(labels=folder, run=tmp_path / "run", output=output, **options)
    facts = distill.train(config)
    entry = json.loads((tmp_path / NAME).read_text())["net.bin"]
    assert entry["kept"] == facts["kept"] and entry["command"].startswith(
        f"python train.py distill --labels {folder} --encoding lines-1 --layers dense:48"
    )
    labels = book_labels(BOOK_SCORES)
    labels = labels_of(labels, TEST)
    assert len(labels) == facts["test_positions"] > 300
    network = PlainNetwork.from_bytes(output.read_bytes())
    assert [name for name, _ in network.architecture.heads] == ["move", "score"]
    assert {array.dtype.name for array in unpack(output.read_bytes())[0].values()} == {"int8", "float16", "float32"}
    policy = np.where(labels.legal, network.judge_many(labels.positions, labels.masks)["policy"], -np.inf)
    kept = labels.kept[np.arange(len(labels)), policy.argmax(1)].mean()
    assert kept == pytest.approx(facts["kept"], abs=1e-4)  # rounded


def test_it_begins_with_a_network(tmp_path):
    """With all that its file holds, and so with its average; of another kind it is refused."""
    config = Config(encoding="lines-1", layers="dense:8", seed=5)
    known = distill.published(Network(config.architecture()))
    (tmp_path / "net.bin").write_bytes(known.to_bytes("float16"))
    whole = Config(encoding="lines-1", layers="dense:8", start=str(tmp_path / "net.bin"))
    trainer = distill.Trainer(whole)
    for name, array in known.arrays().items():
        for network in (trainer.network, trainer.average):
            assert (network.arrays()[name] == array.astype(np.float16)).all()
    assert "value.weight" in trainer.network.arrays()
    with pytest.raises(ValueError, match="expected Architecture"):
        distill.Trainer(Config(encoding="lines-1", layers="dense:7", start=whole.start))


def test_wider_layers_begin_with_what_a_network_computes(tmp_path):
    """Their new units have inputs, and learn: what was known does not look at them yet."""
    narrow, wide = (Config(encoding="lines-1", layers=f"dense:{n},dense:{n - 2}", seed=5) for n in (8, 13))
    known = distill.published(Network(narrow.architecture()))
    (tmp_path / "net.bin").write_bytes(known.to_bytes("float16"))
    known = Network.from_bytes((tmp_path / "net.bin").read_bytes())
    network = distill.Trainer(replace(wide, start=str(tmp_path / "net.bin"))).network
    planes = (torch.rand(20, planes_of("lines-1"), 6, 7) < 0.3).float()
    with torch.inference_mode():
        for name, expected in known(planes).items():
            assert network(planes)[name] == pytest.approx(expected, abs=1e-6)
    arrays = network.arrays()
    assert arrays["0a.weight"][8:].all() and arrays["1a.weight"][6:].all()
    assert not arrays["1a.weight"][:6, 8:].any()
    again = distill.published(Network(wide.architecture()))
    distill.begin_with(again, tmp_path / "net.bin")
    assert not (again.arrays()["0a.weight"] == arrays["0a.weight"]).all()  # the seed says which
    again = distill.blended(distill.published(network), replace(wide, start=str(tmp_path / "net.bin"), start_share=0.5))
    for name, array in again.arrays().items():
        assert array == pytest.approx(arrays[name], abs=1e-6)


def test_it_is_blended_with_what_it_began_with(folder, tmp_path):
    """A quarter of its first weights, if a quarter is wanted; with all of them it is that network again."""
    options = SMALL | {"labels": folder, "samples": 1280, "file_bytes": 900_000, "output": tmp_path / "net.bin"}
    known = distill.published(Network(Config(encoding="lines-1", layers="dense:48", seed=5).architecture()))
    (tmp_path / "known.bin").write_bytes(known.to_bytes())
    arrays = {}
    for share in (0.0, 0.25, 1.0):
        start = Config(run=tmp_path / str(share), start=str(tmp_path / "known.bin"), start_share=share, **options)
        distill.train(start)
        arrays[share] = from_bytes((tmp_path / "net.bin").read_bytes())[1]
    assert (abs(arrays[0.0]["0a.weight"] - known.arrays()["0a.weight"]) > 0.02).any()
    for name, array in known.arrays().items():
        assert arrays[1.0][name] == pytest.approx(array, abs=0.01)
        assert arrays[0.25][name] == pytest.approx(0.75 * arrays[0.0][name] + 0.25 * array, abs=0.01)


def test_planes_on_a_device_are_those_of_the_encoding():
    labels = book_labels(BOOK_SCORES).take(np.arange(0, 2000, 40))
    examples = Examples(labels, ARCHITECTURES[POSITION])
    planes = encode_many(labels.positions, labels.masks, STANDARD, "lines-1")
    rows = np.arange(len(labels))
    assert (examples.batch(rows)[0][: len(rows)].numpy() == planes).all()
    assert (examples.batch(rows, mirrored=True)[0][: len(rows)].numpy() == planes[..., ::-1]).all()


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
    """Each parameter by one: heads, biases and convolutions by AdamW."""
    network = Network(Config(layers="conv:4,dense:8,dense:4", judges=POSITION).architecture())
    rates, optimizers = distill.optimizers_of(network, Config(learning_rate=0.1))
    named = {id(parameter): name for name, parameter in network.named_parameters()}
    muon, adam = ({named[id(p)] for group in one.param_groups for p in group["params"]} for one in optimizers)
    assert muon == {"1a_weight", "2a_weight"} and adam == set(named.values()) - muon
    assert rates == [0.1, 0.1 * distill.ADAM_SHARE]
    convolutions = Network(Config(layers="conv:4", judges=POSITION).architecture())
    rates, optimizers = distill.optimizers_of(convolutions, Config(learning_rate=0.1))
    assert [type(one) for one in optimizers] == [torch.optim.AdamW] and rates == [0.1 * distill.ADAM_SHARE]


@pytest.mark.parametrize("judges", ARCHITECTURES)
def test_overfits_one_batch(judges, folder):
    labels = book_labels(BOOK_SCORES)
    config = Config(layers="dense:64,dense:64", samples=64 * 300, batch=64, learning_rate=0.01, judges=judges)
    examples = Examples(labels.take(np.arange(1000, 1064)), config.architecture())
    trainer = distill.Trainer(config)
    for _ in range(300):
        trainer.learn(*examples.batch(np.arange(len(examples))))
    assert measure(trainer.network, examples)["perfect"] == 1.0 and measure(trainer.network, examples)["value"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layers", "dense"], "layers should look like"),
        (["--layers", "conf:3"], "layers should be of the kinds conv, residual, point, dense, not 'conf'"),
        (["--layers", "residual:3"], "cannot follow"),
        (["--often", "walks11"], "often should look like walks11:4,walks13:4, not 'walks11'"),
        (["--often", "walks11:0"], "often should look like"),
        (["--often", "walks99:2"], "often should name folders of data/labels, not 'walks99'"),
        (["--encoding", "lines-7"], "encoding 'lines-7' is unknown"),
        (["--samples", "0"], "at least 1"),
        (["--judges", "games"], "judges should be one of position, replies"),
        (["--file-bytes", "0"], "file_bytes should be at least 1"),
        (["--start", "agents/weights/nothing.bin"], "nothing.bin"),
        (["--leave-out", "runs/nothing", "--labels", "LABELS"], "no shards in runs/nothing"),
        (["--bounds", "runs/nothing", "--labels", "LABELS"], "no bounds in runs/nothing"),
        (["--start-share", "0.5"], "start_share needs a network to begin with, --start"),
    ],
)
def test_bad_options(arguments, message, folder, tmp_path, capsys):
    words = [str(folder) if word == "LABELS" else word for word in arguments]
    assert train.main(["distill", "--run", str(tmp_path / "run"), *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_layers_and_published_heads():
    assert parse_pairs("conv:3,dense:4", "layers") == (("conv", 3), ("dense", 4))
    whole = Network(Config(layers="dense:8", judges=POSITION).architecture())
    arrays, _ = unpack(distill.published(whole).to_bytes())
    assert set(arrays) == {"0a.weight", "0a.bias", "policy.weight", "policy.bias", "value.weight", "value.bias"}
    assert (arrays["0a.weight"] == whole.arrays()["0a.weight"].astype(np.float16)).all()
