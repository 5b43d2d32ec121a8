"""A run is the run of its options and inputs: with others it is refused, and what it publishes says how it was made."""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connectx.books import Openings
from connectx.position import STANDARD, geometry_of
from connectx.weights import pack
from connectx_toolkit.cli import train
from connectx_toolkit.games.labelled import write_labels
from connectx_toolkit.system.files import BOOK_SCORES, ROOT, write_whole
from connectx_toolkit.training import options, runs
from connectx_toolkit.training.learners import imitation, value
from connectx_toolkit.training.makers import leaf_network, opening_table, replies
from connectx_toolkit.training.makers.labels import opening_labels
from connectx_toolkit.training.options import Options, command_of, digest_of, option
from connectx_toolkit.training.runs import FINISHED, NAME
from connectx_toolkit.training.supervised import small_network
from connectx_toolkit.training.vector_games import NO_MOVE
from tests.training.in_place import pool_in_place

POOL_NETWORKS = "connectx_toolkit/training/makers/networks"
MANIFESTS = [ROOT / folder / NAME for folder in ("agents/weights", "connectx/data", POOL_NETWORKS)]
NO_RUN = ("adopt", "labels", "tune")  # labels and tune go on by their files, adopt has nothing to go on with
WEIGHTS = ROOT / "agents" / "weights"
INPUTS: dict[str, Any] = {  # an input of tiny runs by its option: what ``inputs`` makes, or a file of ours
    "labels": "some.labels", "games": "games.bin", "policy": "policy.bin",
    "opponent": "policy.bin", "replies_policy": WEIGHTS / "perfect_replies_policy.bin",
    "replies": WEIGHTS / "perfect_replies.bin",
    "shipped": WEIGHTS / "perfect_second_book.bin", "book_scores": BOOK_SCORES,
}  # fmt: skip
SMALL: dict[str, Any] = {  # by the names of options: with these a run of any method takes a second or two
    "games": 80, "test_games": 50, "further": 40, "plays": 1, "rematches": 0, "depth": 1, "first_ply": 1,
    "steps": 20, "samples": 4096, "batch": 40, "channels": 4, "hidden": 8, "layers": "dense:8", "types": 2,
    "table_bits": 18, "lasting_bits": 18, "workers": 1,
}  # fmt: skip
SMALLER: dict[str, dict[str, Any]] = {
    "distill": {"samples": 256, "batch": 128},
    "ppo": {"width": 8, "games": 8, "board": "4x4k3", "steps": 128, "opponent": "random"},
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """Folders "0" and "1" with an input of each kind, which differ."""
    folder = tmp_path_factory.mktemp("inputs")
    known = opening_labels()
    for number in (0, 1):
        place = folder / f"{number}"
        place.mkdir()
        write_labels(place / "some.labels", known.take(np.arange(number, 3000)), {})
        (place / "policy.bin").write_bytes(small_network("policy", 7, 4, 8, number).to_bytes())
        moves = np.full((40, STANDARD.cells), NO_MOVE, np.int8)
        moves[:, :7] = [number, 2, number, 2, number, 2, number]
        (place / "games.bin").write_bytes(pack({"moves": moves}, {"block": value.BLOCK}))
    return folder


@pytest.fixture
def _quick(monkeypatch):
    """No processes, nothing solved or played for long, nothing compiled: of each run what is left is quick."""
    monkeypatch.setattr(runs, "worker_pool", pool_in_place)
    table = Openings(geometry_of(3, 3, 3), 1, np.zeros(2, np.int8))
    monkeypatch.setattr(opening_table, "build", lambda *_: table)
    known = opening_labels().take(np.arange(20_000, 20_040))
    best = known.scores.argmax(1)
    moves = replies.Moves(known.positions, known.masks, known.scores.astype(np.int64), best, np.arange(40) // 20)
    monkeypatch.setattr(replies, "DEVELOPMENT", replies.DEVELOPMENT[:2])
    monkeypatch.setattr(replies, "games_of", lambda *_, **__: moves)
    monkeypatch.setattr(
        leaf_network, "fit", lambda config, _: leaf_network.first_parameters(config.hidden, np.random.default_rng(1))
    )
    monkeypatch.setattr(leaf_network, "measure", lambda *_: {"sign": 0.5, "auc": 0.5})
    rows = np.full((imitation.PART, STANDARD.cells), NO_MOVE, np.int8)
    rows[:, :7] = [0, 1, 0, 1, 0, 1, 0]
    rows[0, :7] = [2, 1, 2, 1, 2, 1, 2]  # held out, and new
    monkeypatch.setattr(imitation, "lookahead_games", lambda *_: (rows, rows))


def small_options(method: str) -> dict[str, Any]:
    """What a tiny run of a method is asked for: its own, and of ``SMALL`` the options that it has."""
    found = dict(SMALLER.get(method, {}))
    item: Any
    for item in fields(train.module_of(method).Config):
        if item.type is type(SMALL.get(item.name)):  # "games" may be a file, too
            found.setdefault(item.name, SMALL[item.name])
    return found


def tiny(method: str, inputs: Path, folder: Path) -> Any:
    """A Config of a method, whose run takes a second or two in ``folder``."""
    kind = train.module_of(method).Config
    options: dict[str, Any] = {"run": folder / "run"}
    item: Any
    for item in fields(kind):
        if item.metadata["reads"] and item.name in INPUTS and item.default != "":  # one's own games may be left out
            options[item.name] = item.type(inputs / "0" / INPUTS[item.name])
        elif item.name in ("scores", "entries"):  # what the run adds to
            options[item.name] = folder / item.name
    if method == "book":
        shutil.copy(BOOK_SCORES, folder / "scores")
    return kind(**options | small_options(method))


def variations(config: Any, inputs: Path, folder: Path) -> dict[str, Any]:
    """The config with one path changed, the run's own excepted, by the option's name."""
    found: dict[str, Any] = {}
    item: Any
    for item in fields(config):
        if not (item.metadata["reads"] or item.type is Path) or item.name == "run" or item.default == "":
            continue
        other = inputs / "1" / INPUTS.get(item.name, "policy.bin")
        if item.name in INPUTS and other == INPUTS[item.name]:  # a file of ours: a byte of it
            content = bytearray(other.read_bytes())
            content[20] ^= 1
            other = folder / f"other-{item.name}"
            other.write_bytes(content)
        found[item.name] = replace(
            config, **{item.name: item.type(other if item.metadata["reads"] else folder / "new")}
        )
    return found


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.parametrize("method", [name for name in train.METHODS if name not in NO_RUN])
@pytest.mark.usefixtures("_quick")
def test_a_run_with_another_input_is_refused(method, inputs, tmp_path, monkeypatch, capsys):
    """Finished, whichever path is changed; stopped, where there is a checkpoint. What it has made stays as it is.

    Its last line has its score, with a figure, and the file that it wrote.
    """
    monkeypatch.chdir(ROOT)
    module, config = train.module_of(method), tiny(method, inputs, tmp_path)
    module.train(config)
    last = re.fullmatch(r"score: .*\d.*; wrote (.+)", capsys.readouterr().out.splitlines()[-1])
    assert last and Path(last[1]).read_bytes()
    before = contents(tmp_path / "run")
    is_finished = r"run is finished: .*choose another --run, or delete it"
    with pytest.raises(ValueError, match=is_finished):
        module.train(config)
    other = variations(config, inputs, tmp_path)
    read = {item.name for item in fields(config) if item.metadata["reads"]}
    for name, variation in other.items():
        told = f"holds a run that read other files with --{name.replace('_', '-')}: choose another --run, or delete it"
        with pytest.raises(ValueError, match=told if name in read else is_finished):
            module.train(variation)
    for number in [name for name in small_options(method) if not own_field(config, name).metadata["is_free"]][:1]:
        with pytest.raises(ValueError, match=f"holds a run with --{number.replace('_', '-')}"):
            module.train(replace(config, **{number: OTHER.get(number, 3)}))
    (tmp_path / "run" / FINISHED).unlink()
    if method == "distill":
        for name in read:
            with pytest.raises(ValueError, match=r"holds a run that read other files|is a network of"):
                module.train(other[name])
    assert {path: content for path, content in before.items() if path.name != FINISHED} == contents(tmp_path / "run")


def own_field(config: Any, name: str) -> Any:
    return next(item for item in fields(config) if item.name == name)


def test_a_run_that_could_not_publish_is_not_finished(inputs, tmp_path, monkeypatch):
    """It publishes when it is called again, without any training."""
    monkeypatch.chdir(ROOT)
    module, config = train.module_of("distill"), tiny("distill", inputs, tmp_path)

    def fails_for_the_output(path: Path, content: bytes) -> None:
        if path == config.output:
            raise OSError("no space left")
        write_whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_whole", fails_for_the_output)
        with pytest.raises(OSError, match="no space left"):
            module.train(config)
    assert not config.output.exists()
    monkeypatch.setattr(module.Trainer, "learn", None)
    module.train(config)
    assert config.output.exists()


@pytest.mark.parametrize("method", train.METHODS)
def test_nothing_of_ours_is_written_unasked(method, monkeypatch):
    """Every output is in runs, in a folder of the method, or where the user is."""
    config = train.module_of(method).Config()
    written = [item.name for item in fields(config) if item.type is Path and not item.metadata["reads"]]
    places = {name: getattr(config, name) for name in written if name not in READ}
    assert places and all(path.parts[0] == "runs" or len(path.parts) == 1 for path in places.values())
    if hasattr(config, "run"):
        assert config.run == Path("runs") / method
    if hasattr(config, "run") and method != "tune":  # whose output is an agent, beside the original
        assert config.output.parent == config.run
        elsewhere = train.module_of(method).Config(run=Path("runs/other"))
        assert elsewhere.output == Path("runs/other") / config.output.name


@pytest.mark.parametrize("method", [name for name in train.METHODS if name != "adopt"])
def test_a_command_says_every_option(method):
    """The command of a Config with everything changed gives that Config again, by the real parser."""
    kind = train.module_of(method).Config
    config = kind(**ASKED.get(method, {}))
    item: Any
    for item in fields(config):
        value = getattr(config, item.name)
        others = [name for name in item.metadata["among"] if name not in (value, "cuda", "mps")]
        number = [2 * value, value / 2, value + 1] if item.type in (int, float) else []
        for other in [*others, *number] or [True if item.type is bool else item.type("some where/it's.bin")]:
            try:
                config = replace(config, **{item.name: item.type(other)})
                break
            except (ValueError, OSError):
                continue
    same = [item.name for item in fields(config) if getattr(config, item.name) == item.default]
    assert len(same) < len(fields(config)) / 3, same
    given = train.parse(shlex.split(command_of(config))[2:])
    assert train.config_from(kind, given) == config


READ = ("agent", "model", "labels", "scores", "packed")
ASKED = {"ppo": {"opponent": "random", "encoding": "stones-1"}}
OTHER = {"encoding": "stones-1", "board": "4x5k3", "layers": "dense:9"}  # numbers become 3


def history_of(*words: str) -> str:
    """What git says of the history. Skips the test in a copy that has none, or only its end."""
    shallow = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, check=False
    )
    if shallow.stdout.strip() != b"false":
        pytest.skip("the whole history")
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_the_commands_of_a_manifest(path):
    """They parse today; of those made before inputs were recorded, the commit and the files that it needs are there."""
    for entry in json.loads(path.read_text(encoding="utf-8")).values():
        assert re.fullmatch("[0-9a-f]{40}", entry["commit"])
        if "inputs" in entry:
            given = train.parse(shlex.split(entry["command"])[2:])
            train.config_from(train.module_of(given.method).Config, given)
            continue
        for needed in [entry["commit"], *entry.get("needs", {}).values()]:
            assert history_of("cat-file", "-t", needed).strip() in ("blob", "commit")


def test_the_smoke_commands():
    """They parse, and write nothing outside of their folder."""
    done = subprocess.run(["make", "-n", "train-smoke"], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.replace("\\\n", " ").splitlines() if "train.py" in line]
    assert len(lines) > 8
    for line in lines:
        given = train.parse(shlex.split(line)[2:])
        config = train.config_from(train.module_of(given.method).Config, given)
        assert Path("runs/smoke") in (config.run if hasattr(config, "run") else config.output).parents


@dataclass
class Made(Options):
    """Options of a run that reads a folder."""

    METHOD = "made"

    shards: str = option("", "what it reads", reads=(".shard",))
    is_quick: bool = option(False, "a flag")
    seed: int = option(1, "a seed")
    threads: int = option(1, "threads", is_free=True)
    run: Path = option(Path("runs/made"), "its folder")
    output: Path = option(Path(), "its file", in_run="made.bin")


def test_a_manifest_says_how_a_file_was_made(tmp_path):
    """All options, paths and flags among them, the digest of what was read when it began, the commit."""
    (tmp_path / "it's").mkdir()
    (tmp_path / "it's" / "0.shard").write_bytes(b"early")
    config = Made(str(tmp_path / "it's"), True, threads=2, run=tmp_path / "run")
    runs.begin(config)
    (tmp_path / "it's" / "0.shard").write_bytes(b"later")
    runs.publish(config, b"content", {"accuracy": 0.5}, "50%")
    entry = json.loads((tmp_path / "run" / NAME).read_text())["made.bin"]
    words = ["python", "train.py", "made", "--shards", str(tmp_path / "it's"), "--is-quick", "--threads", "2"]
    assert shlex.split(entry["command"]) == [*words, "--run", str(config.run), "--output", str(config.output)]
    assert entry["accuracy"] == 0.5 and entry["inputs"] == {"shards": config.settings["shards"]} != {
        "shards": Made(config.shards).settings["shards"]
    }
    if (ROOT / ".git").exists():
        assert re.fullmatch("[0-9a-f]{40}", entry["commit"]) and entry["dirty"] in (True, False)


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff", b'"made.bin"'])
def test_a_damaged_manifest_is_refused_before_the_work(content, tmp_path):
    config = Made(run=tmp_path)
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(
        ValueError, match=rf"^{re.escape(str(tmp_path / NAME))}(: it is not JSON| should be a JSON object)"
    ):
        runs.begin(config)
    assert [path.name for path in tmp_path.iterdir()] == [NAME] and (tmp_path / NAME).read_bytes() == content


def test_no_commit_outside_a_checkout(tmp_path, monkeypatch):
    """Nor that of another project whose folder the toolkit was unpacked in; git may be missing, too."""
    monkeypatch.setattr(options, "ROOT", ROOT / "tests")
    assert options.source() == {}
    monkeypatch.setattr(options, "ROOT", tmp_path)
    assert options.source() == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert options.source() == {}


def test_digests(tmp_path):
    """Of names and contents, whatever sizes and times say; of other files in the folder nothing."""
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    file = folder / "inner" / "0.shard"
    file.write_bytes(b"12")
    first, stamp = digest_of(folder, (".shard",)), file.stat()
    file.write_bytes(b"21")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert digest_of(folder, (".shard",)) != first
    file.write_bytes(b"12")
    (folder / "notes.txt").write_text("noted")
    assert digest_of(folder, (".shard",)) == first
    file.rename(folder / "0.shard")
    assert digest_of(folder, (".shard",)) != first
    assert digest_of(tmp_path / "nothing", (".shard",)) == "" != digest_of(folder / "0.shard", ())
    for seed in (1, 2):
        (folder / "0.shard").write_bytes(pack({"a": np.arange(seed, seed + 3)}))
        first, second = digest_of(folder, (".shard",)), first
    assert first != second


def test_runs_that_publish_at_once_keep_all_entries(tmp_path, monkeypatch):
    """The manifest is read and written by one after the other."""
    loads = json.loads

    def slowly(text):
        time.sleep(0.02)
        return loads(text)

    monkeypatch.setattr(runs.json, "loads", slowly)
    configs = [Made(seed=seed, run=tmp_path / f"{seed}", output=tmp_path / f"{seed}.bin") for seed in range(6)]
    assert all(config.origin for config in configs)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda config: runs.publish(config, b"content", {}, "none"), configs))
    assert set(loads((tmp_path / NAME).read_text())) == {f"{seed}.bin" for seed in range(6)}
