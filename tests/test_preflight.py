"""The pre-flight's verdicts on a corpus of small agents, beside those of Kaggle's own environment."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from bundler.preflight import Limits, Runner, check

CORPUS = Path(__file__).with_name("corpus") / "files"

# Kaggle's environment alone, without any of our code: the file against itself, by path, in a process of its own.
ASK_KAGGLE = """
import json, os, sys
from kaggle_environments import make

file, act, bank = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
env = make("connectx", configuration={"actTimeout": act})
env.specification.observation["remainingOverageTime"]["default"] = bank
for seat in (0, 1):
    env.__dict__.pop(f"__state_schema_{seat}", None)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
answer = os.dup(1)
os.dup2(2, 1)
try:
    verdict = sorted({state.status for state in env.run([file, file])[-1]} - {"DONE"}) or ["DONE"]
except BaseException as fault:
    verdict = [type(fault).__name__ + " escapes"]
os.write(answer, json.dumps(verdict).encode())
"""


class Expected(NamedTuple):
    """What a corpus file's first comment lines say of it."""

    accepted: bool
    topic: str
    because: str
    kaggle: str
    limits: Limits


def expected(path: Path) -> Expected:
    lines = path.read_bytes().decode(errors="replace").lstrip("\ufeff").splitlines()
    found = dict(re.match(r"# (\w+): (.*)", line).groups() for line in lines[:5] if re.match(r"# (\w+): ", line))
    verdict, _, topic = found["expect"].partition(" ")
    given = dict(pair.split("=") for pair in found.get("limits", "").split())
    numbers = {name: int(value) if name == "memory" else float(value) for name, value in given.items()}
    return Expected(verdict == "ACCEPT", topic, found.get("because", ""), found.get("kaggle", ""), Limits(**numbers))


@pytest.fixture(scope="module")
def runner():
    with Runner() as running:
        yield running


def ask_kaggle(path: Path, limits: Limits, home: Path) -> str:
    """Kaggle's verdict on the second of two fresh processes (a cache may break the second alone)."""
    command = [sys.executable, "-I", "-c", ASK_KAGGLE, str(path), str(limits.act_timeout), str(limits.bank)]
    environment = {"PATH": os.defpath, "HOME": str(home)}
    for _ in range(2 if b"cache=True" in path.read_bytes() else 1):
        try:
            limit = 2 * limits.first_move + 8
            done = subprocess.run(command, capture_output=True, timeout=limit, cwd=home, env=environment, check=False)
        except subprocess.TimeoutExpired:
            return "hangs"
        if not done.stdout:
            return f"process dies ({done.returncode})"
    return " ".join(json.loads(done.stdout))


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.py")), ids=lambda path: path.stem)
def test_corpus(path, runner, tmp_path, record_property):
    wanted = expected(path)
    report = check(path, runner, wanted.limits)
    ours = "ACCEPT" if report.accepted else "REJECT"
    asked = "" if wanted.kaggle else ask_kaggle(path, wanted.limits, tmp_path)
    reason = (report.reasons or [""])[0]
    record_property("verdict", [path.stem, ours, asked or wanted.kaggle, reason])
    assert report.accepted == wanted.accepted, report.reasons
    if not wanted.accepted:
        assert wanted.topic in {finding.topic for finding in report.findings if finding.level == "reject"}
        assert wanted.because.lower() in " ".join(report.reasons).lower()
    if asked:
        assert (asked == "DONE") == report.accepted
