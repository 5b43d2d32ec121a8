"""What a terminal of 80 and of 60 columns shows: no line is longer, no word is torn, and no two names read alike."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console

from connectx_toolkit.api import agents, analyse, exam, explore, get_win_percentages, match, report, tournament
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.report.tables import submissions_table
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.table import Column, Part, Table, console_for_tables, print_parts, shorten
from connectx_toolkit.tuning.tune import NUMBER_COLUMNS
from tests.replay_games import make_games

pytestmark = pytest.mark.slow
LONG = "my_connect_four_agent_of_november"  # with an ending that differs, as versions of one agent have it
AGENT = "def agent(obs, config):\n    return [c for c in range(config.columns) if obs.board[c] == 0][{}]\n"


def rendered(part: Part, width: int) -> str:
    """A table, or a line, as a terminal so wide gets it."""
    file = StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    print_parts([part], console)
    return file.getvalue()


def texts_of(table: Table) -> Iterator[str]:
    yield from [table.title, table.note, *(column.head for column in table.columns)]
    yield from (text for row in table.cells() for _, text, _ in row)


def torn(texts: Iterable[str], shown: str) -> list[str]:
    """Words that stand nowhere whole, nor shortened to their beginning and end, and are not too long for both."""
    stand = set(shown.split())
    cut = [word.split("…") for word in stand if "…" in word]

    def stands(word: str) -> bool:
        parts = (all((word.startswith(p[0]), word.endswith(p[-1]), p[1] in word)) for p in cut)
        return word in stand or (len(word) > 20 and any(parts))

    return [word for text in texts for word in text.split() if not stands(word)]


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> list[Part]:
    """What the commands show, of agents with long names."""
    folder = tmp_path_factory.mktemp("terminal")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        names = [f"{LONG}_{version}.py" for version in ("1", "2", "12")]
        for number, name in enumerate(names):
            Path(name).write_text(AGENT.format(-min(number, 1)))
        Path("faulty.py").write_text("def agent(obs, config):\n    return 9\n")
        Path("replays").mkdir()
        list(make_games(Path("replays"), 3, ("leftmost", "middle"), own="one_step", fault_every=3))
        replay = next(iter(sorted(Path("replays").glob("*-replay.json"))))
        build = Report("my_agent.py")
        build.add("compare", "warning", f"the file {folder}/{LONG}/{LONG}.py answers `{LONG}` in 3 of 300 positions")
        ref = SimpleNamespace(ref=41234567, date=datetime(2026, 1, 1), public_score="612.3", file_name="submission.py")
        ref.status, ref.description = SimpleNamespace(name="COMPLETE"), "deeper search, the book of November " * 2
        numbers = [("THEIR_THREE_IN_A_ROW", "0.1 to 1000, log", 100.0, 123.456, 0.31), ("TWO", "0 to 1", 0.0, 0.5, 0.6)]
        shown = [
            match(names[0], "leftmost", pairs=3, games="match.sqlite"),
            match("faulty.py", names[1], pairs=2, games="match.sqlite"),
            tournament(*names, "random", pairs=2, games="many.sqlite"),
            get_win_percentages(names[0], names[1], 4),
            exam(names[0], names[1], count=30),
            analyse(str(replay)),
            analyse("replays", me="my_team"),
            explore("", add=["replays"], games="ladder.sqlite"),
            report(games="many.sqlite"),
            agents(),
            build,
        ]
        tables = [submissions_table([ref]), Table("numbers", NUMBER_COLUMNS, numbers)]
        return [*(part for one in shown for part in one.parts()), *tables]


@pytest.mark.parametrize("width", [80, 60])
def test_tables_fit(parts, width):
    tables = [part for part in parts if isinstance(part, Table)]
    assert len(tables) > 20
    for table in tables:
        shown = rendered(table, width)
        assert max(map(len, shown.splitlines())) <= width and not torn(texts_of(table), shown), shown


def test_lines_go_on_between_words(parts):
    """Of a command its reader copies all; a pipe gets each line whole."""
    lines = [part for part in parts if isinstance(part, str)]
    assert max(map(len, lines)) > 90
    commands = [line for line in lines if line.startswith("python ")]
    assert commands and all(rendered(line, 60).strip() == line for line in commands)
    for line in set(lines) - set(commands):
        shown = rendered(line, 60)
        assert shown.split() == line.split() and all(len(one) <= 60 or " " not in one for one in shown.splitlines())
        file = StringIO()
        print_parts([line], console_for_tables(file))
        assert file.getvalue() == f"{line}\n"


def test_names_are_whole_where_there_is_room_and_never_read_alike(parts):
    (ladder,) = [part for part in parts if isinstance(part, Table) and part.title == "Elo, random = 0"][:1]
    shown = rendered(ladder, 80)
    assert all(f"{LONG}_{version}.py" in shown for version in ("1", "2", "12"))
    assert "forfeits" not in shown and "worst s" in shown
    short = re.findall(r"^\d  (\S+)", rendered(ladder, 50), re.M)
    blocks = [short[n : n + 4] for n in range(0, len(short), 4)]
    assert len(blocks) >= 2 and all(len({*names}) == 4 for names in blocks)
    assert sum("…" in name for name in short) == 3 * len(blocks)


@pytest.mark.parametrize(
    "names",
    [
        ["connectx_toolkit_one.py", "connectx_toolkit_two.py"],
        ["1_connectx_toolkit.py", "2_connectx_toolkit.py"],
        ["runs/november/a/agent_of_mine.py", "runs/november/b/agent_of_mine.py"],
        ["a" * 40, "a" * 41],
        ["強い四目並べのエージェント" * 2, "弱い四目並べのエージェント" * 2],
    ],
)
def test_names_that_are_cut_differ(names):
    for width in (20, 14, 9):
        short = shorten(names, width)
        if len({*short.values()}) != 2:
            assert short == {} and names[0][0] == "a"  # nothing tells them apart but their length
        assert all(cell_len(one) <= width and "…" in one for one in short.values())


def test_the_middle_goes():
    assert shorten(["connectx_toolkit", "short"], 11) == {"connectx_toolkit": "conne…olkit"}


def test_columns_that_hold_nothing_are_left_out_but_for_machines():
    columns: list[Column | str] = ["name", Column("lost"), Column("faults", is_rare=True, help="by kind"), "words"]
    table = Table("", columns, [("a", 0, 0, ""), ("b", 0, 0, None)])
    assert [column.head for column in table.columns] == ["name", "lost"] and table.note == ""
    assert "faults" not in table.html() and "words" not in table.markdown()
    assert table.records()[0] == {"name": "a", "lost": 0, "faults": 0, "words": ""}
    full = Table("", columns, [("a", 0, 0, ""), ("b", 0, 1, "x")])
    assert [column.head for column in full.columns] == ["name", "lost", "faults", "words"] and "by kind" in full.note


def test_what_does_not_fit_goes_on_below_beside_the_names():
    """In tables that are about equally wide: a rate stays beside its interval."""
    heads = ["who", *(f"head{n}" for n in range(12))]
    rows = [(f"agent{n}", *range(12)) for n in range(2)]
    first, second = rendered(Table("t", heads, rows), 60).strip().split("\n\n")
    assert [len(re.findall(r"head\d+", part.splitlines()[-4])) for part in (first, second)] == [6, 6]
    assert all("agent0" in part and "agent1" in part for part in (first, second))


@pytest.mark.parametrize(("width", "width_in_pipes"), [(80, "80"), (60, "72")])
def test_a_real_terminal_and_a_pipe(parts, width, width_in_pipes):
    """A pipe is as wide as COLUMNS says, and 80 letters without it."""
    command = [sys.executable, str(ROOT / "evaluate.py"), "list"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    process = subprocess.Popen(command, stdout=child, stderr=child, stdin=child, env=environment)
    os.close(child)
    text = b""
    while part := read_part(parent):
        text += part
    assert process.wait() == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.decode()).replace("\r", "")
    assert max(map(len, shown.splitlines())) == width
    table = next(part for part in parts if isinstance(part, Table) and part.title == "agents")
    assert not torn(texts_of(table), shown)
    columns = {} if width_in_pipes == "80" else {"COLUMNS": width_in_pipes}
    piped = subprocess.check_output(command, text=True, stdin=subprocess.DEVNULL, env=environment | columns)
    lines = [line for line in piped.splitlines() if not line.startswith("Elo above")]
    assert max(map(len, lines)) == int(width_in_pipes)


def read_part(parent: int) -> bytes:
    """What a terminal gets next; nothing once the command has ended, when Linux raises."""
    try:
        return os.read(parent, 65536)
    except OSError:
        return b""


def test_every_move_of_a_game_has_one_line():
    """Of two agents with names of usual length."""
    shown = analyse("362133214545441233165554311450066", names=("my_agent.py", "negamax"))
    table = next(part for part in shown.parts() if isinstance(part, Table))
    lines = rendered(table, 80).splitlines()
    assert len(lines) == 2 + len(table.rows) + 1 and lines[0].split()[:3] == ["ply", "agent", "move"]
