"""The door that notebooks use, and the command line behind the same door."""

import contextlib
import importlib
import re
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from agents import leftmost
from connectx.position import write_columns
from connectx_toolkit.arena import match
from connectx_toolkit.arena.match import Pool, open_pool
from connectx_toolkit.cli.main import evaluate_commands
from connectx_toolkit.cli.options import parse_config
from connectx_toolkit.games.match import Match, totals
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.statistics.intervals import anytime
from connectx_toolkit.system.files import ROOT
from evaluate import analyse, get_win_percentages
from tests.conftest import REAL_CLOCK, TWO_CORES, refused
from tests.conftest import evaluate as main

HERE = __name__  # the module that these agents are named after


def wins_down_the_left(obs, config):
    return 0


def plays_column_6(obs, config):
    return 6


def gives_up_on_its_second_move(obs, config):
    return 0 if obs.step < 2 else 99


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
        f"a game that {HERE}.wins_down_the_left lost: python evaluate.py analyse 6060606 "
        f"--names {HERE}.plays_column_6 {HERE}.wins_down_the_left\n"
    )
    assert rounds.wins == (2, 3) and rounds.draws == 0 and len(rounds.games) == 5


def test_a_forfeit_is_nobodys_win_for_the_course_and_a_loss_below(capsys):
    rounds = get_win_percentages(gives_up_on_its_second_move, wins_down_the_left, 4)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "Agent 1 Win Percentage: 0.0",
        "Agent 2 Win Percentage: 0.0",
        "Number of Invalid Plays by Agent 1: 4",
        "Number of Invalid Plays by Agent 2: 0",
    ]
    names = f"{HERE}.gives_up_on_its_second_move v {HERE}.wins_down_the_left"
    assert lines[5].startswith(f"{names}, forfeits counted as losses: 0 won, 0 drawn, 4 lost (")
    assert lines[6].startswith(f"{HERE}.gives_up_on_its_second_move, 4 no such column (first on ply ")
    assert lines[9].startswith("no verdict: 1 distinct pair of games")
    assert lines[10:] == ["4 of 4 games were forfeits: this measures faults more than strength"]
    assert rounds.wins == (0, 4) and rounds.forfeits == (4, 0) and rounds.percentages == (0.0, 0.0)
    assert [game.rewards for _, game in sorted(rounds.games.items())] == [(None, 0), (0, None)] * 2


def test_the_seats_of_the_course():
    """Agent 1 moves first in half of the games, rounded down: of 5, in games 0 and 2; copies do not end the rounds."""
    rounds = get_win_percentages(wins_down_the_left, "random", 5, seed=4)
    assert sorted(rounds.games) == [0, 1, 2, 3, 5] and rounds.seed == 4
    assert all(set(game.moves[number % 2 :: 2]) == {0} for number, game in rounds.games.items())
    assert len(get_win_percentages(wins_down_the_left, plays_column_6, 31).games) == 31


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
    assert bound.endswith(" (95%, valid at every look)") and verdict == "one_step is stronger"


def test_two_functions_of_one_name(tmp_path, monkeypatch, capsys):
    """By their modules; a notebook's own has none."""
    (tmp_path / "my_version.py").write_text("def agent(obs, config):\n    return 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    other, notebook = importlib.import_module("my_version").agent, {"__name__": "__main__"}
    exec("def agent(obs, config):\n    return 0", notebook)
    rounds = get_win_percentages(leftmost.agent, other, 2)
    assert f"\nagents.leftmost.agent v my_version.agent: {rounds.wins[0]} won" in capsys.readouterr().out
    assert len(rounds.lost("my_version.agent")) == rounds.wins[0] == len(rounds.lost(leftmost.agent)) == 1
    with pytest.raises(ValueError, match="one agent by its name, or 1 for"):
        rounds.lost("agent")  # both are called that
    assert resolve(notebook["agent"]).label == "agent" and resolve(partial(other)).label == "functools.partial"


def test_rounds_in_a_notebook(capsys):
    """The results as a table, in text and in HTML, in which no name is markup; nothing that was printed comes twice."""
    rounds = get_win_percentages(lambda obs, config: 99, "random", 100, seed=1)
    assert capsys.readouterr().out.splitlines()[5] == totals(rounds)
    assert f"{HERE}.<lambda> v random: 100 games" in repr(rounds) and "Elo" not in repr(rounds)
    shown = rounds._repr_html_()
    assert f"<td>{HERE}.&lt;lambda&gt;</td>" in shown and "<lambda>" not in shown and "Elo" not in shown
    numbers = "".join(f'<td class="number">{count}</td>' for count in (0, 0, 100, 100))
    assert f"<td>both</td>{numbers}" in shown


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


def test_draws_are_in_the_denominator_only():
    rounds = get_win_percentages("random", "random", 4, config={"inarow": 10})
    assert rounds.draws == 4 and rounds.percentages == (0.0, 0.0)


def test_the_seed_decides(capsys):
    first, again, other = (get_win_percentages("random", "random", 6, seed=seed) for seed in (1, 1, 2))
    assert moves_of(first) == moves_of(again) != moves_of(other)


@TWO_CORES
def test_workers_play_the_same_games(capsys):
    """A closure of this very test goes to both processes."""
    columns = iter(range(10**6))

    def agent(obs, config):
        next(columns)
        return next(c for c in range(7) if not obs.board[c])

    runs = [get_win_percentages(agent, "random", 9, seed=3, workers=workers) for workers in (1, 2)]
    assert moves_of(runs[0]) == moves_of(runs[1])


def test_command_line(tmp_path):
    """As a user runs it, from another folder, with a file; standard error stays empty."""
    (tmp_path / "mine.py").write_text("def agent(obs, config):\n    return obs.step // 2 % config.columns\n")
    command = [sys.executable, str(ROOT / "evaluate.py"), "mine.py", "negamax", "--rounds", "2"]
    command += ["--config", "rows=4,columns=5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Agent 1 Win Percentage: ")


HELP = """
import sys
from connectx_toolkit.cli.main import evaluate_commands, run

for command in evaluate_commands():
    try:
        run("evaluate", [*command.split(), "--help"])
    except SystemExit:
        heavy = {"numba", "numpy", "torch", "kaggle_environments", "rich"} & sys.modules.keys()
        print(f"end of {command!r}:", *heavy)
"""


def test_help_is_quick():
    """It imports nothing that takes long."""
    done = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall("^end of .*", done.stdout, re.M) == [f"end of {command!r}:" for command in evaluate_commands()]


@pytest.mark.parametrize("command", evaluate_commands())
def test_each_example_once_and_of_its_command(command, capsys):
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    examples = re.findall(r"^ +python (evaluate\.py .*?)(?:  .*)?$", capsys.readouterr().out, re.M)
    assert examples and len(examples) == len(set(examples))
    assert not command or all(example.startswith(f"evaluate.py {command}") for example in examples)


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "syntax.py": ("def agent(:\n", "SyntaxError: invalid syntax (syntax.py, line 1)"),
    "nothing.py": ("x = 1\n", "it defines no function"),
    "raises.py": ("import no_such_module\ndef agent(obs, config):\n    return 0\n", "No module named 'no_such_module'"),
    "exits.py": ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
    "dies.py": ("import os\nos._exit(3)\n", "exit code 3"),
    "agent.zip": (b"PK\x03\x04\x14\x00\x00\x00\x08\x00\xff\xfe", "no text in UTF-8"),
}


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Goes to a folder with these files."""
    monkeypatch.chdir(tmp_path)
    for name, (content, _) in BROKEN.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


@REAL_CLOCK
@pytest.mark.parametrize("concurrency", [1, pytest.param(2, marks=TWO_CORES)])
def test_a_load_that_never_ends(concurrency, tmp_path, monkeypatch, capsys):
    """It is spoken of, and given up by the clock that was set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("connectx_toolkit.arena.match.SILENCE", 0.2)
    Path("endless.py").write_text("while True:\n    pass\n")
    with pytest.raises(SystemExit) as stop:
        clock = "--bank 0.5 --config actTimeout=0.3"
        main(f"match leftmost endless.py {clock} --games store --concurrency {concurrency}".split())
    assert stop.value.code == 2
    *said, refused = capsys.readouterr().err.splitlines()
    assert "loading endless.py ..." in said
    assert "endless.py cannot be loaded: still loading when its clock ran out (0.8 s: " in refused


def test_a_tournament_loads_everyone_first(broken, capsys):
    err = refused(["tournament", "leftmost", "random", *BROKEN, "--games", "store"], capsys)
    assert all(f"{name} cannot be loaded: " in err and words in err for name, (_, words) in BROKEN.items())
    with sqlite3.connect("store") as connection:
        assert connection.execute("SELECT count(*) FROM games").fetchone() == (0,)


@TWO_CORES
def test_a_match_on_two_cores_loads_both_first(broken, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # with no other run that has reserved them
    assert "syntax.py cannot be loaded" in refused(
        ["match", "syntax.py", "random", "--games", "store", "--concurrency", "2"], capsys
    )


def test_match_command(tmp_path, capsys):
    (tmp_path / "openings").write_text("33\n3324\n")
    arguments = f"match random leftmost --pairs 30 --openings {tmp_path / 'openings'} --sprt 0 50 --seed 2"
    main([*arguments.split(), "--games", str(tmp_path / "store")])
    out = capsys.readouterr().out
    assert "random v leftmost: " in out and "accepts +0" in out and "leftmost scores more from these 2 openings" in out


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
    rules = "--config actTimeout=0.1 --bank 2"
    main(f"match slow.py leftmost --pairs 1 --openings openings --games store {rules}".split())
    out = capsys.readouterr().out
    assert "load s" in out and re.search(r"slow.py +both( +\d){4} +1\.5", out)
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


def test_tournament_command(tmp_path, capsys):
    """Played once; the second time all games are known, and the table is the same."""
    (tmp_path / "openings").write_text("33\n3324\n")
    arguments = f"tournament one_step leftmost random --pairs 8 --openings {tmp_path / 'openings'}"
    outputs = []
    for _ in range(2):
        main([*arguments.split(), "--games", str(tmp_path / "store")])
        outputs.append(capsys.readouterr().out)
    assert re.search(r"^one_step v leftmost: won \d+ drawn \d+ lost \d+$", outputs[0], re.MULTILINE)
    assert "Elo, random = 0" in outputs[0] and "1 one_step" in outputs[0] and "too early" in outputs[0]
    known, _, rest = outputs[1].partition("\n")
    assert (
        rest == outputs[0]
        and known.startswith("reused 48 of 48 games from ")
        and "another seed plays new ones" in known
    )


def test_more_pairs_on_another_board(tmp_path, capsys):
    """The games played already count, as on the standard board."""
    match = f"match random leftmost --config rows=4,columns=5 --games {tmp_path / 'store'}"
    main(f"{match} --pairs 2".split())
    main(f"{match} --pairs 3".split())
    assert "reused 4 of 6 games" in capsys.readouterr().out


def test_games_of_another_version_count_and_are_told(tmp_path, capsys):
    """In one line of match; the tables show them with the others."""
    match = f"match random leftmost --config rows=4,columns=5 --games {tmp_path / 'store'}"
    main(f"{match} --pairs 2".split())
    with contextlib.closing(sqlite3.connect(tmp_path / "store")) as connection, connection:
        connection.execute("UPDATE games SET conditions = 'python 3.1, numba 0.50.0'")
    capsys.readouterr()
    main(f"{match} --pairs 5".split())
    out = capsys.readouterr().out
    words = "\n4 of them were played under other conditions; they still count: python 3.1, numba 0.50.0 (now python 3."
    assert "reused 4 of 10 games" in out and words in out and "random v leftmost: 10 games" in out
    main(f"report --games {tmp_path / 'store'}".split())
    assert capsys.readouterr().out.count("Elo, random = 0") == 1


def test_parse_config():
    assert parse_config("rows=5,actTimeout=0.5,inarow=3") == {"rows": 5, "actTimeout": 0.5, "inarow": 3}
