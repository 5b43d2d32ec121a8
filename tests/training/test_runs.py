"""A run is the run of its options and inputs: with others it is refused, and what it publishes says how it was made."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from connectx_toolkit.cli import train
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.training import runs
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import MANIFEST

pytestmark = pytest.mark.slow
MADE = ("agents/weights", "connectx_core/data", "labels", "connectx_toolkit/training/makers/networks")
# The command's options are gone (an input of policy.bin, as the labels are), or its maker.
OLDER = {"policy_start.bin", "openings.bin"}


@pytest.mark.parametrize("folder", MADE)
def test_the_manifests_of_what_ships(folder):
    """Every file is recorded, with the checksum that it has, and can be made again: today's train.py understands each
    command, whose options have the values that they had. What it reads is in the repository, or made by the command of
    another file, and its entry has the digest of each.
    """
    entries = json.loads((ROOT / folder / MANIFEST).read_text(encoding="utf-8"))
    assert set(entries) == {path.name for path in (ROOT / folder).iterdir()} - {MANIFEST}
    for name, entry in entries.items():
        assert hashlib.sha256((ROOT / folder / name).read_bytes()).hexdigest() == entry["sha256"]
        if name in OLDER:
            assert "command" in entry or entry["checked_by"] == "python -m benchmarks.solver --openings"
            continue
        assert re.fullmatch("[0-9a-f]{40}", entry["commit"]) and not entry["dirty"]
        config = config_of(entry["command"])
        assert entry["options"] == config.origin["options"], name
        read = {option: file for option, file in config.files_read().items() if file != Path()}
        assert set(entry["inputs"]) == set(read), name
        for file in read.values():
            assert (ROOT / file).is_relative_to(ROOT) and ((ROOT / file).exists() or file.parts[0] == "runs"), name


def config_of(command: str) -> Any:
    given = train.parse_arguments(shlex.split(command)[2:])
    return train.config_from(train.module_of(given.method).Config, given)


def test_the_smoke_commands():
    """They parse, and write nothing outside of their folder."""
    done = subprocess.run(["make", "-n", "train-smoke"], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.replace("\\\n", " ").splitlines() if "train.py" in line]
    assert len(lines) > 8
    for line in lines:
        config = config_of(line)
        assert Path("runs/smoke") in (config.run if hasattr(config, "run") else config.output).parents


@dataclass
class Made(Options):
    """Options of a run that reads a folder."""

    METHOD = "made"

    shards: str = option("", "what it reads", reads=True)
    is_quick: bool = option(False, "a flag")
    seed: int = option(1, "a seed")
    threads: int = option(1, "threads", is_free=True)
    run: Path = option(Path("runs/made"), "its folder")
    output: Path = option(Path(), "its file", in_run="made.bin")


def test_a_manifest_says_how_a_file_was_made(tmp_path):
    """All options, paths and flags among them, the digest of what was read when it began, the commit."""
    (tmp_path / "it's").write_bytes(b"early")
    config = Made(str(tmp_path / "it's"), True, threads=2, run=tmp_path / "run")
    runs.begin_run(config)
    (tmp_path / "it's").write_bytes(b"later")
    runs.publish(config, b"content", {"accuracy": 0.5}, "50%")
    entry = json.loads((tmp_path / "run" / MANIFEST).read_text())["made.bin"]
    words = ["python", "train.py", "made", "--shards", str(tmp_path / "it's"), "--is-quick", "--threads", "2"]
    assert shlex.split(entry["command"]) == [*words, "--run", str(config.run)]
    assert entry["options"] == {"is_quick": True, "seed": 1}
    assert entry["accuracy"] == 0.5 and entry["inputs"] == {"shards": config.settings["shards"]} != {
        "shards": Made(config.shards).settings["shards"]
    }
    assert entry["seconds"] == 0 and entry["machine"].endswith(f"{os.cpu_count()} cores")
    if (ROOT / ".git").exists():
        assert re.fullmatch("[0-9a-f]{40}", entry["commit"]) and entry["dirty"] in (True, False)


def test_a_run_with_another_input_is_refused(tmp_path):
    """Finished or stopped; what it reads may have changed, or its options. What may differ is no other run."""
    (tmp_path / "0.shard").write_bytes(b"early")
    config = Made(str(tmp_path / "0.shard"), run=tmp_path / "run")
    runs.begin_run(config)
    runs.publish(config, b"content", {}, "50%")
    runs.save_checkpoint(tmp_path / "run" / "state.bin", config.settings, {}, {})
    for same in (config, replace(config, threads=2)):
        with pytest.raises(ValueError, match="run is finished: choose another --run, or delete it"):
            runs.begin_run(same)
    (tmp_path / "0.shard").write_bytes(b"later")
    for other, option_named in ((Made(config.shards, run=config.run), "--shards"), (replace(config, seed=2), "--seed")):
        for refusing in (runs.begin_run, lambda asked: runs.load_checkpoint(config.run / "state.bin", asked.settings)):
            with pytest.raises(ValueError, match=f"holds a run .*{option_named}.*: choose another --run, or delete it"):
                refusing(other)
    assert config.output.read_bytes() == b"content"


@dataclass
class Reading(Made):
    """Reads what no option names, but not always what one does."""

    def files_read(self) -> dict[str, Path]:
        return super().files_read() | {"net.bin": self.run / "net.bin"} | ({"shards": Path()} if self.seed == 2 else {})


def test_files_that_no_option_names(tmp_path):
    """They belong to the run as others do; what is not read does not."""
    (tmp_path / "net.bin").write_bytes(b"early")
    (tmp_path / "0.shard").write_bytes(b"early")
    config = Reading(str(tmp_path / "0.shard"), run=tmp_path)
    assert set(config.origin["inputs"]) == {"net.bin", "shards"}
    assert set(replace(config, seed=2).origin["inputs"]) == {"net.bin"}
    runs.finish(config)
    (tmp_path / "net.bin").write_bytes(b"later")
    with pytest.raises(ValueError, match=r"holds a run that read another net\.bin: choose another --run"):
        runs.begin_run(replace(config))


def test_what_cannot_be_published_is_not_finished(tmp_path):
    config = Made(run=tmp_path / "run")
    runs.begin_run(config)
    config.output.mkdir(parents=True)  # somebody has taken its place
    with pytest.raises(OSError):
        runs.publish(config, b"content", {}, "50%")
    config.output.rmdir()
    assert not runs.is_finished(config)
    runs.publish(config, b"content", {}, "50%")
    assert runs.is_finished(config) and config.output.read_bytes() == b"content"


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff", b'"made.bin"'])
def test_a_damaged_manifest_is_refused_before_the_work(content, tmp_path):
    config = Made(run=tmp_path)
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(
        ValueError, match=rf"^{re.escape(str(tmp_path / MANIFEST))}(: it is not JSON| should be a JSON object)"
    ):
        runs.begin_run(config)
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST] and (tmp_path / MANIFEST).read_bytes() == content


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
    assert set(loads((tmp_path / MANIFEST).read_text())) == {f"{seed}.bin" for seed in range(6)}
