"""The door that notebooks use, and the command line behind the same door."""

import contextlib
import re
from pathlib import Path

import pytest

from connectx_core.position import write_columns
from connectx_toolkit.arena import match
from connectx_toolkit.arena.match import Pool, open_pool
from connectx_toolkit.arena.results import Match
from connectx_toolkit.statistics.intervals import anytime
from evaluate import analyse, get_win_percentages
from tests.conftest import REAL_CLOCK, TWO_CORES, refused
from tests.conftest import evaluate as main

pytestmark = pytest.mark.slow
HERE = __name__  # the module that these agents are named after


def wins_down_the_left(obs, config):
    return 0


def plays_column_6(obs, config):
    return 6


def moves_of(match: Match) -> list[tuple[int, ...]]:
    """The moves of its games, in order."""
    return [game.moves for _, game in sorted(match.games.items())]


def test_the_course_s_four_lines(capsys):
    rounds = get_win_percentages(wins_down_the_left, plays_column_6, 5)
    assert capsys.readouterr().out == (
        "Agent 1 Win Percentage: 0.4\n"  # who moves first completes a column first: 2 of 5 games, then 3
        "Agent 2 Win Percentage: 0.6\n"
        "Number of Invalid Plays by Agent 1: 0\n"
        "Number of Invalid Plays by Agent 2: 0\n"
        "\n"
        f"{HERE}.wins_down_the_left v {HERE}.plays_column_6: 2 won, 0 drawn, 3 lost "
        "(moving first 2 won, 0 drawn, 0 lost; moving second 0 won, 0 drawn, 3 lost)\n"
        "too few games for a bound on Elo\n"
        "pair results 0, 1/2, 1, 1 1/2, 2: 0 0 2 0 0; 1 distinct pair among 2 from 1 opening, the others are copies\n"
        "no verdict: 1 distinct pair of games, at least 9 are needed; the first agent made 50% of the points; "
        "python evaluate.py match begins from many openings\n"
        f"a game that {HERE}.wins_down_the_left lost:\npython evaluate.py analyse 6060606 "
        f"--names {HERE}.plays_column_6 {HERE}.wins_down_the_left\n"
    )
    assert rounds.wins == (2, 3) and rounds.draws == 0 and len(rounds.games) == 5


def test_what_the_rounds_prove(capsys):
    """The interval and the verdict are those of the pairs; counts by seat add up."""
    rounds = get_win_percentages("one_step", "random", 50, seed=1)
    line, bound, _, verdict, *_ = capsys.readouterr().out.splitlines()[5:]
    (won, drawn, lost), *seats = re.findall(r"(\d+) won, (\d+) drawn, (\d+) lost", line)
    assert (int(won), int(lost)) == rounds.wins and int(drawn) == rounds.draws
    assert [sum(map(int, part)) for part in zip(*seats, strict=True)] == [int(won), int(drawn), int(lost)]
    assert [sum(map(int, seat)) for seat in seats] == [25, 25]
    found = anytime(rounds.evidence.counts)
    assert rounds.evidence.distinct == 25 and 100 < found.low < found.elo
    assert bound.startswith((f"Elo {found.elo:+.0f}, between {found.low:+.0f} and ", f"Elo above {found.low:+.0f}"))
    assert bound.endswith(" (95% sure, however often you look)") and verdict == "one_step is stronger"


def test_lost_games(tmp_path, monkeypatch, capsys):
    """By name, file name, callable or number, those by a fault, too; analyse says where one of them turned."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def agent(obs, config):\n    return 3 if obs.step < 2 else 99\n")
    rounds = get_win_percentages("mine.py", wins_down_the_left, 4)
    lost = rounds.lost("mine")
    assert lost == rounds.lost("mine.py") == rounds.lost(1)
    assert rounds.lost(2) == rounds.lost("wins_down_the_left") == rounds.lost(f"{HERE}.wins_down_the_left") == []
    assert [game.fault and game.fault[:3:2] for game in lost] == [(0, "no such column"), (1, "no such column")] * 2
    rounds = get_win_percentages(plays_column_6, "one_step", 8, seed=2)
    lost = rounds.lost(plays_column_6)
    assert len(lost) == rounds.wins[1] > 0 == len(rounds.lost("one_step"))
    assert [record.names.index("one_step") for record in lost] == [1, 0] * 4
    record = next(record for record in lost if record.fault is None)
    assert record.names[record.line or 0] == "one_step"
    capsys.readouterr()
    shown = repr(analyse(record))
    assert f"one_step v {HERE}.plays_column_6, {write_columns(record.moves)}:" in shown
    for agent in ("two_step", "random", 3):
        with pytest.raises(ValueError, match=r"1 for '.*plays_column_6', 2 for 'one_step', not"):
            rounds.lost(agent)


class Stopping:
    """Slots in which Ctrl-C comes after so many games."""

    def __init__(self, pool: Pool, games: int):
        self.pool, self.games, self.check = pool, games, pool.check

    def play(self, tasks):
        for number, played in enumerate(self.pool.play(tasks)):
            if number == self.games:
                raise KeyboardInterrupt
            yield played


@pytest.fixture
def stop_after(monkeypatch):
    """Has Ctrl-C come after so many games of ``play_rounds``."""

    def stop(games: int) -> None:
        @contextlib.contextmanager
        def stopping(*arguments):
            with open_pool(*arguments) as pool:
                yield Stopping(pool, games)

        monkeypatch.setattr(match, "open_pool", stopping)

    return stop


def test_ctrl_c_keeps_what_was_played(stop_after, capsys):
    whole = get_win_percentages("random", "leftmost", 20, seed=3)
    stop_after(6)
    capsys.readouterr()
    rounds = get_win_percentages("random", "leftmost", 20, seed=3)
    assert moves_of(rounds) == moves_of(whole)[:6]  # as many of either seating
    assert sum(rounds.wins) + rounds.draws == 6 and rounds.evidence.pairs == 3
    assert "stopped after 6 of 20 games. random v leftmost: " in capsys.readouterr().out


@pytest.mark.parametrize("games", [0, 5])
def test_ctrl_c_at_the_command_line(games, stop_after, capsys):
    """What was played is shown, and nothing is promised of it."""
    stop_after(games)
    with pytest.raises(SystemExit) as stop:
        main(["leftmost", "random", "--rounds", "20"])
    out, err = capsys.readouterr()
    assert stop.value.code == 130 and err.count("\n") == 1 and err.startswith("evaluate.py: stopped")
    assert "store" not in err or "not stored" in err
    assert ("stopped after 5 of 20 games" in out) == bool(games) and bool(out) == bool(games)


@TWO_CORES
def test_workers_play_the_same_games(capsys):
    """A closure of this very test goes to both processes."""
    columns = iter(range(10**6))

    def agent(obs, config):
        next(columns)
        return next(c for c in range(7) if not obs.board[c])

    runs = [get_win_percentages(agent, "random", 9, seed=3, workers=workers) for workers in (1, 2)]
    assert moves_of(runs[0]) == moves_of(runs[1])


@REAL_CLOCK
@pytest.mark.parametrize("concurrency", [1, pytest.param(2, marks=TWO_CORES)])
def test_a_load_that_never_ends(concurrency, tmp_path, monkeypatch, capsys):
    """It is spoken of, and given up by the clock that was set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("connectx_toolkit.arena.match.SILENCE", 0.2)
    Path("endless.py").write_text("while True:\n    pass\n")
    with pytest.raises(SystemExit) as stop:
        clock = "--overage 0.5 --config actTimeout=0.3"
        main(f"match leftmost endless.py {clock} --games store --workers {concurrency}".split())
    assert stop.value.code == 2
    *said, refused = capsys.readouterr().err.splitlines()
    assert "loading endless.py ..." in said
    assert "endless.py cannot be loaded: still loading when its clock ran out (0.8 s: " in refused


SLOW = """
import time
time.sleep(1.5)

def agent(obs, config):
    if obs.step > 3:
        time.sleep(1.2)
    return obs.step // 2 % config.columns
"""


@REAL_CLOCK
def test_a_slow_load_is_seen(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(SLOW)
    Path("openings").write_text("00\n")
    rules = "--config actTimeout=0.1 --overage 2"
    main(f"match slow.py leftmost --pairs 1 --openings openings --games store {rules}".split())
    out = capsys.readouterr().out
    assert "load s" in out and re.search(r"slow.py +both +1\.5", out)
    assert re.search(r"slow.py, 2 timeout \(first on ply [45]: 1\.\d s load \+ 1\.\d s\)", out)
    assert "2 of 2 games were forfeits: this measures faults more than strength" in out


@pytest.mark.parametrize(
    ("last", "name"),
    [
        ("def best(obs, config):\n    return 0\n", "best (line 4)"),
        ("class Table:\n    pass\n", "Table"),
        ("x = 1\n", ""),
    ],
)
def test_another_function_than_agent(last, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def agent(obs, config):\n    return 0\n\n" + last)
    main(["mine.py", "leftmost", "--rounds", "1"])
    advice = "move agent to the end of the file, or let build_submission.py build it"
    assert capsys.readouterr().err == (f"mine.py: Kaggle will call {name}, not agent: {advice}\n" if name else "")


def test_exceptions_come_with_their_place(tmp_path, monkeypatch, capsys):
    """That of the agent's own code, though a module of Python's raises."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("import json\ndef agent(obs, config):\n    return json.loads('{')\n")
    main(["mine.py", "leftmost", "--rounds", "1"])
    out = capsys.readouterr().out
    assert re.search(r"mine.py, 1 exception \(first on ply \d: json.*JSONDecodeError: .* \(mine.py, line 3\)\)", out)
    Path("late.py").write_text("x = 1\n\nimport missing_module\n")
    assert "(late.py, line 3)" in refused(["late.py", "random"], capsys)
