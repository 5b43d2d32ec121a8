"""A search for better numbers, from the file to the tuned agent: small studies of a fast agent."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from connectx.position import STANDARD
from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.arena.start_positions import openings_for
from connectx_toolkit.games.exam_positions import standard_exam
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.tuning import judgement, tune
from connectx_toolkit.tuning.candidates import place_for, spec_of
from connectx_toolkit.tuning.numbers import numbers_in
from connectx_toolkit.tuning.objective import Positions, for_tuning
from connectx_toolkit.tuning.study import Search
from connectx_toolkit.tuning.tune import HEAD, Config, train

pytestmark = pytest.mark.slow
HELPER = "def middle(column):\n    return -abs(3 - column)\n"
# The greater PLAY is, the better it plays: it takes wins from 30 on, stops losses from 60 on.
AGENT = '''"""Plays by one number."""
from connectx.position import Position
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
    monkeypatch.setattr(judgement, "fresh_exam", lambda count, seed: standard_exam(count))
    return tmp_path


def config(**options) -> Config:
    return Config(agent=Path("my_agent.py"), **{"trials": 12, "count": 60, "judged": 20, "pairs": 2, **options})


def judgement_of(options: Config) -> judgement.Judgement:
    """What a search finds that beats the original."""
    found = train(options)
    assert found is not None
    return found


def test_better_numbers_are_found_proven_and_written(folder, capsys):
    judged = judgement_of(config(judged=500, pairs=12))
    text = (folder / "my_agent_tuned.py").read_text()
    (found,) = map(int, re.findall(r"^PLAY = (\d+)  # tune: 1 to 99$", text, re.M))
    assert found >= 60 and judged.is_proven
    assert text.startswith(f"{HEAD} python train.py tune my_agent.py --trials 12")
    assert f"#   PLAY = {found}, was 10 (1 to 99)\n" in text
    assert (folder / "my_agent.py").read_text() == AGENT
    out = capsys.readouterr().out
    assert "my_agent_tuned.py plays more good moves than my_agent.py" in out and "wrote my_agent_tuned.py" in out
    page = (folder / "runs/tune/my_agent/page.html").read_text()
    assert "<svg" in page and "best so far" in page and "PLAY</td>" in page
    asked = sorted((folder / "runs/tune/my_agent/answers").iterdir())
    train(config(judged=500, pairs=13))  # its own file may be replaced, and more evidence is added to what there is
    assert sorted((folder / "runs/tune/my_agent/answers").iterdir()) == asked
    assert "wrote my_agent_tuned.py" in capsys.readouterr().out


def test_what_is_not_proven_is_not_written(folder, capsys):
    """Whatever the number is, this agent plays the same."""
    (folder / "my_agent.py").write_text(AGENT.replace("PLAY >= ", "0 * PLAY >= "))
    assert train(config(trials=5)) is None
    out = capsys.readouterr().out
    assert "nothing is proven" in out and "5 candidates" in out and "1 to 99" in out
    assert sorted(path.name for path in folder.glob("*.py")) == ["helper.py", "my_agent.py"]


def test_better_by_chance_is_not_written(folder, monkeypatch, capsys):
    """A candidate that looks better to the search, and is not."""
    monkeypatch.setattr(tune, "with_values", lambda text, *_: text)
    judged = judgement_of(config())
    assert not judged.is_proven and not (folder / "my_agent_tuned.py").exists()
    assert "nothing is proven, so nothing is written" in capsys.readouterr().out


def test_an_agent_that_always_fails_is_not_tuned(folder):
    (folder / "my_agent.py").write_text(AGENT.replace("    position =", "    np.Inf\n    position =", 1))
    with pytest.raises(
        ValueError, match=r"my_agent\.py makes faults in 60 of 60 positions \(exception\): .* shows them"
    ):
        train(config())


def test_a_slow_agent_is_refused_before_the_search(folder):
    """Ten candidates of 60 moves would take a minute; there are six seconds."""
    (folder / "my_agent.py").write_text(
        "import time\n" + AGENT.replace("    position =", "    time.sleep(0.1)\n    position =", 1)
    )
    with pytest.raises(ValueError, match=r"a candidate takes about \d+ s, so --minutes 0\.1 .* --act-timeout 0\.05"):
        train(config(minutes=0.1))
    assert not search_of(config()).finished


def test_tuning_by_games(folder, capsys):
    train(config(games="random", count=4, trials=4))
    assert "share of the points lost" in capsys.readouterr().out


def test_an_agent_that_draws_is_asked_several_times(folder, capsys):
    drawing = AGENT.replace("key=middle", "key=lambda column: random.random()").replace(
        "from helper", "import random  #"
    )
    (folder / "my_agent.py").write_text(drawing)
    judged = judgement_of(config(trials=4, judged=40))
    out = capsys.readouterr().out
    assert "my_agent.py answers differently each time: every position was asked 3 times" in out
    assert {len(sheet.columns) for sheet in judged.sheets} == {judgement.TIMES}


def test_faults_are_told_and_cost(folder, capsys):
    """A candidate that crashes has lost at once, wherever it is asked."""
    (folder / "my_agent.py").write_text(AGENT.replace("    position =", "    assert PLAY < 50\n    position =", 1))
    train(config())
    out = capsys.readouterr().out
    assert re.search(r"\d of them made faults: \d+ exception", out)
    costs = costs_of(search_of(config()))
    assert all(
        cost < min([c for play, c in costs.items() if play >= 50], default=99) for p, cost in costs.items() if p < 50
    )


def costs_of(search: Search) -> dict:
    return {trial.params["PLAY"]: trial.value for trial in search.whole if trial.value is not None}


def search_of(options: Config) -> Search:
    text = options.agent.read_text()
    labels = for_tuning(options.count)
    return Search(
        options.database, "my_agent", options.agent, text, numbers_in(text), Positions(labels, 1), 1, options.trials
    )


def test_the_cheapest_play_and_the_one_that_wins_is_judged(folder):
    """Games show who crashes in some positions only, and who wins most."""
    options = config(trials=20, pairs=8)
    train(options)
    search = search_of(options)
    favourites = search.favourites(8)
    costs = costs_of(search)
    found = [costs[favourite["PLAY"]] for favourite in favourites]
    assert found == sorted(set(found)) and max(found) <= costs[10] and favourites[0] == search.best()[1]
    assert search.favourites(1) == favourites[:1] and search.original not in favourites

    agents = {"crashing": AGENT.replace("    position =", "    assert sum(obs.board) > 20\n    position =", 1)}
    agents |= {str(play): AGENT.replace("PLAY = 10", f"PLAY = {play}") for play in (10, 99)}
    for name, text in agents.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "careful.py").write_text(AGENT.replace("PLAY = 10", "PLAY = 30"))
    specs = [spec_of(Path(f"{name}.py"), name) for name in agents]
    openings = openings_for(STANDARD, None, 1)[:12]
    winner = judgement.race(specs, spec_of(Path("careful.py"), "30"), options.plan, openings)
    assert list(agents)[winner] == "99"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("1 to 99", "1 to 98"), "with --numbers 'PLAY = 1 to 99', not 'PLAY = 1 to 98'"),
        (lambda text: text + "\n", "that read other files with --agent"),
    ],
)
def test_another_file_or_range_is_another_study(change, words, folder):
    train(config(trials=3))
    (folder / "my_agent.py").write_text(change(AGENT))
    with pytest.raises(ValueError, match=words):
        train(config(trials=3))
    with pytest.raises(ValueError, match=r"with --count 60, not 50"):
        (folder / "my_agent.py").write_text(AGENT)
        train(config(trials=3, count=50))


def test_what_is_no_tuned_agent_is_not_replaced(folder):
    (folder / "my_agent_tuned.py").write_text("MINE = 1\n")
    with pytest.raises(ValueError, match="is not a tuned agent"):
        train(config())
    for same in ("my_agent.py", "./my_agent.py"):
        with pytest.raises(ValueError, match="never replaced"):
            train(config(output=same))
    assert not (folder / "runs").exists() and (folder / "my_agent_tuned.py").read_text() == "MINE = 1\n"


def test_killed_and_resumed(folder):
    """Killed three times, with two processes each; then it ends with what all of them have found."""
    command = [sys.executable, str(ROOT / "train.py"), "tune", "my_agent.py", "--trials", "60", "--count", "60"]
    counts = list[int]()
    for _ in range(3):
        with (
            subprocess.Popen(command, stderr=subprocess.DEVNULL) as one,
            subprocess.Popen(command, stderr=subprocess.DEVNULL) as other,
        ):
            deadline, before = time.monotonic() + 60, counts[-1] if counts else 0
            while time.monotonic() < deadline and finished() <= before + 2:
                time.sleep(0.2)
            for process in (one, other):
                process.send_signal(signal.SIGKILL)
        counts.append(finished())
    assert 2 < counts[0] < counts[1] < counts[2]
    assert judgement_of(config(trials=60, judged=500)).is_proven
    assert finished() >= 60 and search_of(config()).of_original() is not None


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


def test_a_candidate_finds_what_lies_beside_the_original(tmp_path):
    original = tmp_path / "mine" / "my_agent.py"
    original.parent.mkdir()
    original.write_text("old")
    (original.parent / "data.txt").write_text("1")
    path = place_for(original, tmp_path / "work", "my_agent.py")
    path.write_text("new")
    (original.parent / "gone.txt").write_text("2")
    assert place_for(original, tmp_path / "work", "my_agent.py") == path and path.parent.name == "mine"
    assert (path.parent / "gone.txt").read_text() == "2" and (path.parent / "data.txt").read_text() == "1"
    (original.parent / "gone.txt").unlink()
    place_for(original, tmp_path / "work", "my_agent.py")
    assert not os.path.lexists(path.parent / "gone.txt") and original.read_text() == "old"


def test_a_move_without_time_for_the_rest_of_a_game_is_a_fault(tmp_path):
    slow = "import time\ndef agent(obs, config):\n    time.sleep(0.2)\n    return obs.board.index(0)\n"
    (tmp_path / "slow.py").write_text(slow)
    short = replace(config(), act_timeout=0.1, overage=1.0)
    with open_pool(short.setup) as pool:
        steps = [*Positions(for_tuning(3), 1).steps(pool.slot, spec_of(tmp_path / "slow.py", "slow.py"))]
    assert steps[0].faults == ["too slow"] * 3


def test_what_the_search_has_seen_does_not_judge(monkeypatch):
    seen = for_tuning(20)
    monkeypatch.setattr(judgement, "fresh_exam", lambda count, seed: for_tuning(count))
    left = judgement.unseen(50, 1, seen)
    assert len(left) == 30 and not set(left.masks.tolist()) & set(seen.masks.tolist()) - set(left.masks.tolist())
