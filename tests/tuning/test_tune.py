"""A search for better numbers, from the file to the tuned agent: small studies of a fast agent."""

import contextlib
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.games.exam_positions import first_of, standard_exam
from connectx_toolkit.games.labelled import read_file
from connectx_toolkit.games.recipes import FOR_TUNING
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup
from connectx_toolkit.statistics.evidence import Evidence, PairOfGames
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.tuning import tune
from connectx_toolkit.tuning.numbers import numbers_in
from connectx_toolkit.tuning.study import Study
from connectx_toolkit.tuning.tune import TUNED_BY, Config, train
from tests.system.test_console import at_a_terminal

pytestmark = pytest.mark.slow
HELPER = "def middle(column):\n    return -abs(3 - column)\n"
# The greater PLAY is, the better it plays: it takes wins from 30 on, stops losses from 60 on.
AGENT = '''"""Plays by one number."""
from connectx_core.position import Position
from helper import middle

PLAY = 10  # tune: 1 to 99


def agent(obs, config):
    position = Position.from_observation(obs, config)
    wins = position.winning_columns() if PLAY >= 30 else []
    stops = position.pass_turn().winning_columns() if PLAY >= 60 else []
    return max(wins or stops or position.legal_columns(), key=middle)
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the agent, where the user is. Fresh positions come from the standard exam: they are not solved."""
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "my_agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tune, "fresh_exam", lambda count, seed: standard_exam(count))
    return tmp_path


def config(**options) -> Config:
    return Config(agent=Path("my_agent.py"), **{"trials": 12, "count": 60, "judged": 20, "pairs": 2, **options})


def search_of(text: str, name: str = "test", count: int = 60) -> Study:
    """A search of an agent, kept where the user is."""
    return Study(Path("study.db"), name, Path("my_agent.py"), text, numbers_in(text), for_tuning(count), 1)


def for_tuning(count: int):
    return first_of(read_file(FOR_TUNING)[0], count)


def test_better_numbers_are_found_proven_and_written(folder, capsys):
    own = folder / "runs/tune/my_agent/best/notes.txt"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    train(config(judged=500, pairs=12))
    text = (folder / "my_agent_tuned.py").read_text()
    (found,) = map(int, re.findall(r"^PLAY = (\d+)  # tune: 1 to 99$", text, re.M))
    assert found >= 60
    assert text.startswith(f"{TUNED_BY} python train.py tune my_agent.py --trials 12")
    assert f"#   PLAY = {found}, was 10 (1 to 99)\n" in text
    assert (folder / "my_agent.py").read_text() == AGENT
    out = capsys.readouterr().out
    assert "my_agent_tuned.py plays more good moves than my_agent.py" in out and "wrote my_agent_tuned.py" in out
    page = (folder / "runs/tune/my_agent/page.html").read_text()
    assert page.count("<svg") == 2 and "<?xml" not in page and "PLAY</td>" in page
    asked = sorted((folder / "runs/tune/my_agent/answers").iterdir())
    train(config(judged=500, pairs=13))  # its own file may be replaced, and more evidence is added to what there is
    assert sorted((folder / "runs/tune/my_agent/answers").iterdir()) == asked
    assert "wrote my_agent_tuned.py" in capsys.readouterr().out and own.read_text() == "mine"


def test_what_is_not_proven_is_not_written(folder, capsys):
    """Whatever the number is, this agent plays the same."""
    (folder / "my_agent.py").write_text(AGENT.replace("PLAY >= ", "0 * PLAY >= "))
    train(config(trials=5))
    out = capsys.readouterr().out
    assert "nothing is proven" in out and "5 candidates" in out and "1 to 99" in out
    assert sorted(path.name for path in folder.glob("*.py")) == ["helper.py", "my_agent.py"]


def test_better_by_chance_is_not_written(folder, monkeypatch, capsys):
    """A candidate that looks better to the search, and is not: two pairs of games prove nothing."""
    train(config(judged=10))
    assert not (folder / "my_agent_tuned.py").exists()
    assert "nothing is proven, so nothing is written" in capsys.readouterr().out


def test_worse_in_one_way_is_not_proven():
    """Better moves with lost games, and won games with worse moves."""
    sheets: list[Any] = [SimpleNamespace(good=np.full((1, 500), is_good)) for is_good in (True, False)]
    games = {sign: Evidence() for sign in (1, 0, -1)}
    for opening in range(60):
        for sign, evidence in games.items():
            evidence.add(PairOfGames(opening, ((opening,), (sign + 1,)), 1.0 + sign))
    assert tune.is_proven(sheets, games[1]) and tune.is_proven(sheets, games[0])
    assert not tune.is_proven(sheets, games[-1]) and not tune.is_proven(sheets[::-1], games[1])
    assert not tune.is_proven(sheets[:1] * 2, games[0]) and tune.is_proven(sheets[:1] * 2, games[1])


def test_an_agent_that_always_fails_is_not_tuned(folder):
    (folder / "my_agent.py").write_text(AGENT.replace("    position =", "    np.Inf\n    position =", 1))
    with pytest.raises(
        ValueError, match=r"my_agent\.py makes faults in 20 of 20 positions \(exception\): .* shows them"
    ):
        train(config())


def test_a_slow_agent_is_refused_before_the_search(folder):
    """Ten candidates of 60 moves would take a minute; there are six seconds."""
    slow = "import time\n" + AGENT.replace("    position =", "    time.sleep(0.1)\n    position =", 1)
    (folder / "my_agent.py").write_text(slow)
    with pytest.raises(ValueError, match=r"a candidate takes about \d+ s, so --minutes 0\.1 .* --act-timeout 0\.05"):
        train(config(minutes=0.1))


def test_minutes_are_counted_where_they_end_the_search(folder, monkeypatch):
    """Not the candidates, of which nobody knows how many there will be."""
    with open_pool(Setup(Rules({}))) as pool, at_a_terminal(monkeypatch) as screen:
        search_of(AGENT).run(pool, 3, 60)
    states = screen.states()
    assert states[0] == "tuning: 0.0 of 60 minutes, 0 of at most 3 candidates [00:00]" and max(map(len, states)) <= 80
    assert "tuning: 0." in states[-1] and " of 60 minutes, 3 of at most 3 candidates [" in states[-1]


def test_what_was_asked_is_not_asked_again(folder):
    """Two whole numbers: every further candidate is a known one, also in a search that goes on."""
    text = AGENT.replace("1 to 99", "10 to 11")
    for trials in (5, 8):
        search = search_of(text)
        with open_pool(Setup(Rules({}))) as pool:
            search.run(pool, trials, 0)
        assert len(search.trials()) == trials
        assert sum(bool(trial.intermediate_values) for trial in search.trials()) == 2


def test_another_file_or_count_is_another_search(folder, capsys):
    for change, options in ((" # 1", {}), ("", {"count": 50}), ("", {})):
        (folder / "my_agent.py").write_text(AGENT.replace("PLAY >= ", "0 * PLAY >= ") + change)
        train(config(trials=3, **options))
    train(config(trials=5))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if "candidates:" in line] == [*"3335"]


def test_what_is_no_tuned_agent_is_not_replaced(folder):
    (folder / "my_agent_tuned.py").write_text("MINE = 1\n")
    with pytest.raises(ValueError, match="is not a tuned agent"):
        train(config())
    for same in ("my_agent.py", "./my_agent.py"):
        with pytest.raises(ValueError, match="never replaced"):
            train(config(output=same))
    assert not (folder / "runs").exists() and (folder / "my_agent_tuned.py").read_text() == "MINE = 1\n"


def test_killed_and_resumed(folder):
    """Killed twice; then it ends with what all of them have found."""
    command = [sys.executable, str(ROOT / "train.py"), "tune", "my_agent.py", "--trials", "40", "--count", "60"]
    counts = list[int]()
    for _ in range(2):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            deadline, before = time.monotonic() + 60, counts[-1] if counts else 0
            while time.monotonic() < deadline and finished() <= before + 2:
                time.sleep(0.2)
            process.send_signal(signal.SIGKILL)
        counts.append(finished())
    assert 2 < counts[0] < counts[1]
    train(config(trials=40, judged=500))
    assert finished() == 40 and (folder / "my_agent_tuned.py").exists()


def finished() -> int:
    """How many candidates a study has, read beside its processes: opened by optuna, it might be made twice."""
    if not Path("runs/tune/my_agent/study.db").exists():
        return 0
    try:
        with contextlib.closing(sqlite3.connect("runs/tune/my_agent/study.db")) as database:
            found = database.execute("SELECT count(*) FROM trials WHERE state IN ('COMPLETE', 'PRUNED')")
            return found.fetchone()[0]
    except sqlite3.OperationalError:
        return 0  # it is being made


def test_ctrl_c_prints_what_is_known(folder):
    command = [sys.executable, str(ROOT / "train.py"), "tune", "my_agent.py", "--count", "60", "--trials", "9999"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and finished() < 3:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()  # or a test that fails would wait for ever
    assert process.returncode == 130 and "the search is kept; the same command goes on" in err
    assert "candidates" in out and "PLAY" in out


def test_a_candidate_finds_what_lies_beside_the_original(folder):
    (folder / "data").mkdir()
    search = search_of(AGENT)
    spec = search.write_candidate({"PLAY": 20}, folder / "work", "tuned.py")
    path = Path(spec.target)
    assert path.parent.name == folder.name and "PLAY = 20" in path.read_text()
    assert (path.parent / "helper.py").read_text() == HELPER and (path.parent / "data").is_dir()
    assert not (path.parent / "my_agent.py").exists()


def test_a_move_without_time_for_the_rest_of_a_game_is_a_fault(folder):
    slow = AGENT.replace("    position =", "    __import__('time').sleep(0.2)\n    position =", 1)
    with open_pool(Setup(Rules({"actTimeout": 0.1}, 1.0))) as pool, pytest.raises(ValueError, match="too slow"):
        search_of(slow, count=3).run(pool, 2, 0)
