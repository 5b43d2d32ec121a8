"""The pre-flight's verdicts on a corpus of small agents, beside those of Kaggle's own environment."""

import ast
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

from bundler.preflight import Limits, Runner, check, first_bindings
from bundler.questions import hard_questions, late_positions, sample
from bundler.restrict import Restriction
from connectx.geometry import STANDARD
from connectx.position import Position
from tests.conftest import REAL_CLOCK

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
    found = dict(re.findall(r"^# (\w+): (.*)$", "\n".join(lines[:5]), re.MULTILINE))
    verdict, _, topic = found["expect"].partition(" ")
    given = dict(pair.split("=") for pair in found.get("limits", "").split())
    published = Limits()
    limits = published._replace(
        act_timeout=float(given.get("act_timeout", published.act_timeout)),
        bank=float(given.get("bank", published.bank)),
        memory=int(given.get("memory", published.memory)),
    )
    return Expected(verdict == "ACCEPT", topic, found.get("because", ""), found.get("kaggle", ""), limits)


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
    return " ".join(json.loads(done.stdout.splitlines()[-1]))  # some versions print what they load


@REAL_CLOCK
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


def test_the_corpus_is_large_enough():
    assert len(list(CORPUS.glob("*.py"))) >= 40


def finished(tmp_path: Path, name: str, content: bytes) -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def archive_of(*members: tuple[str, bytes], links: dict[str, str] | None = None) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return file.getvalue()


def damaged(archive: bytes) -> bytes:
    """The same archive, compressed anew, with bytes in its middle that cannot be decompressed."""
    content, compressor = gzip.decompress(archive), zlib.compressobj(wbits=31)
    half = compressor.compress(content[: len(content) // 2]) + compressor.flush(zlib.Z_FULL_FLUSH)
    return half + b"\x07" * 100  # a kind of block that does not exist


def test_archives(runner, tmp_path):
    main = b"import os\nimport helper\n\n\ndef agent(obs, config):\n    return helper.first(obs)\n"
    helper = b"def first(obs):\n    return obs.board.index(0)\n"
    good = finished(tmp_path, "good.tar.gz", archive_of(("main.py", main), ("helper.py", helper)))
    assert check(good, runner).reasons == []
    cases = {
        "nested": (archive_of(("sub/main.py", main)), "no main.py at its root (it is at sub/main.py)"),
        "empty": (archive_of(), "no main.py at its root"),
        "climbs": (archive_of(("../main.py", main)), "cannot be unpacked"),
        "cut": (archive_of(("main.py", main))[:-30], "cannot be unpacked"),
        "damaged": (damaged(archive_of(("main.py", bytes(50_000)))), "cannot be unpacked"),
    }
    for name, (content, reason) in cases.items():
        assert reason in check(finished(tmp_path, f"{name}.tar.gz", content), runner).reasons[0]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("main.py", main)
    assert "does not unpack a .zip" in check(finished(tmp_path, "x.zip", packed.getvalue()), runner).reasons[0]


def test_links_that_lead_nowhere(runner, tmp_path):
    main = b"def agent(obs, config):\n    return obs.board.index(0)\n"
    content = archive_of(("main.py", main), links={"notes.txt": "missing.txt"})
    assert check(finished(tmp_path, "linked.tar.gz", content), runner).reasons == []


@pytest.mark.parametrize("expression", ["+".join(["0"] * 12_000), "-" * 20000 + "0"], ids=["sum", "signs"])
def test_what_is_nested_too_deeply(expression, runner, tmp_path):
    path = finished(tmp_path, "deep.py", f"COLUMN = {expression}\n".encode())
    (reason,) = check(path, runner).reasons
    assert re.match("text: does not compile: .*(recursion|nested|too complex)", reason)


def test_size_limit(runner, tmp_path):
    path = finished(tmp_path, "agent.py", b"def agent(obs):\n    return obs.board.index(0)\n")
    assert check(path, runner, Limits(size=20)).reasons == ["size: 46 bytes of 20 allowed"]


@REAL_CLOCK
def test_figures_and_json(runner, tmp_path):
    source = (
        b"import time\n\ntime.sleep(0.3)\n\n\ndef agent(obs):\n    time.sleep(0.05)\n    return obs.board.index(0)\n"
    )
    report = check(finished(tmp_path, "agent.py", source), runner)
    figures = json.loads(json.dumps(report.as_json()))["figures"]
    assert 0.3 <= figures["load_seconds"] <= figures["first_move_seconds"] - 0.05
    assert 0.05 <= figures["slowest_move_seconds"] < 1 and figures["projected_bank_seconds"] == 0
    assert figures["peak_memory"] > 1 << 20 and figures["callable"]["name"] == "agent"


@pytest.mark.parametrize("source", [b"raise ValueError\n", b"async def agent(obs, config):\n    return 0\n"])
def test_figures_of_what_is_rejected(source, runner, tmp_path):
    """Those that were measured, and nothing that only the pre-flight itself needs."""
    report = check(finished(tmp_path, "agent.py", source), runner)
    assert not report.accepted and report.figures.keys() <= {"size", "kaggle_environments", "peak_memory", "seen"}


def test_first_bindings_are_in_the_order_of_kaggles_dict():
    tree = ast.parse("import os\ndef a(): pass\nb = a\ndef c(): pass\ndef a(): pass\ndel c\ndef c(): pass\n")
    assert first_bindings(tree) == [("os", 1, "import"), ("a", 2, "function"), ("b", 3, "value"), ("c", 7, "function")]


def test_hard_positions_are_what_they_say():
    one_column, one_cell = (Position.from_moves(moves, STANDARD) for moves in late_positions())
    assert len(one_column.legal_columns()) == 1 and one_column.ply < 41 and not one_column.is_over()
    assert one_cell.ply == 41 and not one_cell.is_over()
    for asked in hard_questions(2.0, 60.0):
        position = Position.from_observation(asked.obs, asked.config)
        assert position.legal_columns() == asked.legal and not position.is_lost()
        if asked.sound is not None:
            assert asked.sound == set(position.winning_columns() or position.pass_turn().winning_columns())


def test_the_sample_is_large_varied_and_of_open_games():
    asked = sample(500)
    assert asked == sample(500) and len({str(question.obs["board"]) for question in asked}) > 450
    assert sum(question.is_standard for question in asked) > 300
    assert len({(q.config["rows"], q.config["columns"], q.config["inarow"]) for q in asked}) == 3
    assert all(not Position.from_observation(question.obs, question.config).is_over() for question in asked)


@REAL_CLOCK
@pytest.mark.parametrize("by_group", [True, False], ids=["control group", "stopping and continuing"])
def test_the_restriction_is_real(by_group, runner, tmp_path):
    with Restriction(1 / 3) as restriction:
        if by_group and restriction.kind == "stopping and continuing it":
            pytest.skip("no control group can be made here")
        job = restriction.job if by_group else {"core": restriction.job["core"], "duty": 1 / 3}
        common = {"limit": 20, "memory": 8 << 30, "home": str(tmp_path), "cwd": str(tmp_path)}
        share = runner.run({"job": "spin", "seconds": 1.0} | common | job)["result"]["share"]
    assert 0 < share < 0.45  # less than a third on a busy machine, but never more


@REAL_CLOCK
def test_slow_down_run(runner, tmp_path):
    source = b"import time\n\nt = time.process_time()\nwhile time.process_time() - t < 0.4:\n    pass\n\n\n"
    path = finished(tmp_path, "agent.py", source + b"def agent(obs):\n    return obs.board.index(0)\n")
    report = check(path, runner, slowdown=3)
    assert report.accepted, report.reasons
    assert report.figures["slow"]["load_seconds"] > 0.4 / 0.5
