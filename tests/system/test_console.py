"""Progress for people and for logs."""

import html
import re
import signal
import sys
import types

import pytest
from rich.color import ColorSystem

import connectx_toolkit
from connectx_toolkit import adopt, analyse, build, exam, get_win_percentages, match, tournament
from connectx_toolkit.cli.main import run
from connectx_toolkit.system import console
from connectx_toolkit.system.console import (
    Parser,
    as_help,
    as_option,
    beside_bars,
    command,
    complain,
    ctrl_c_waits,
    named,
    prog,
    progress,
    shell,
    tell,
)
from connectx_toolkit.system.table import Shown, Table, console_for_tables, print_parts


def test_progress_is_for_people(monkeypatch, capsys):
    """Where nobody watches a bar, lines are written one after the other, and the first comes late."""
    for interval, lines in ((0.0, 4), (30.0, 0)):
        monkeypatch.setattr("connectx_toolkit.system.console.LINE_EVERY", interval)
        with progress(4, "game", delay=2) as bar:
            for _ in range(4):
                bar.update()
        err = capsys.readouterr().err
        assert err.count("\n") >= lines if lines else err == ""
        assert "\r" not in err and ("4/4" in err) == bool(lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress(4, "game", delay=0):
        assert "0/4" in capsys.readouterr().err


def test_escape_sequences_are_shown_not_sent(capsys):
    """In lines and in tables; colours of our own are sent as before."""
    table = Table("", ("head",), [("evil \x1b[2J",)], kind=lambda row: "lost")
    output = console_for_tables()
    output.print("a line \x1b]0;owned\x07\nÅ \ud800 \u202e")
    output.print(table)
    out = capsys.readouterr().out
    assert r"a line \x1b]0;owned" in out and r"Å \ud800 \u202e" in out and r"evil \x1" in out
    assert "\x1b" not in out and "\x07" not in out
    with output.capture() as captured:
        output._color_system = ColorSystem.STANDARD
        output.print(table)
    assert captured.get().count("\x1b[31m") and "\x1b[2J" not in captured.get()


def test_a_loaded_ipykernel_is_no_notebook(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with progress(0, "game", delay=2) as bar:
        bar.clear()
    assert capsys.readouterr().err == ""


def test_a_log_of_many_steps_is_short(capsys):
    """Redrawn at each step, as on a terminal, the bar would leave thousands of lines."""
    with progress(20_000, "step", "learning", done=5_000, delay=0) as bar:
        for _ in range(15_000):
            bar.set_postfix(loss="0.1", refresh=False)
            bar.update()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("learning") and "5000/20000" in lines[0]


def test_a_line_beside_a_bar(monkeypatch, capsys):
    """On a terminal the bar goes away before a line is printed, and comes again after it."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress(4, "game", delay=0) as bar:
        bar.update(2)
        with beside_bars():
            assert capsys.readouterr().err.endswith(" \r")
            print("a v b: won 2")
        assert "2/4" in capsys.readouterr().err


def test_ctrl_c_in_a_block_that_would_lose_it_comes_at_its_end():
    """In the block nothing is raised; without one, the handler is the one before."""
    before, reached = signal.getsignal(signal.SIGINT), False
    with pytest.raises(KeyboardInterrupt), ctrl_c_waits():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached and signal.getsignal(signal.SIGINT) is before
    with ctrl_c_waits():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_long_names_in_tables_are_whole(capsys):
    """Two files in one long folder would read alike if their names were cut."""
    names = [f"/home/me/{'long_' * 20}folder/version_{number}/submission.py" for number in (1, 2)]
    console_for_tables().print(Table("", ("agent", "what it does"), [(name, "plays " * 20) for name in names]))
    lines = [line.split("  ")[0].strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert "".join(lines) == "".join(names)


@pytest.mark.parametrize("inside", [True, False])
def test_a_package_that_is_missing_has_its_cure(inside, monkeypatch):
    """In a notebook, too; "activate the environment first" is no advice where it is active."""
    monkeypatch.setattr(sys, "prefix", "/elsewhere" if inside else sys.base_prefix)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "connectx_toolkit.board.widget", raising=False)
    with pytest.raises(ModuleNotFoundError, match="this Python has no anywidget: ") as problem:
        connectx_toolkit.Board("minimax@2")
    assert ('pip install ".[notebook]"' in str(problem.value)) == inside
    assert ("activate the virtual environment first" in str(problem.value)) != inside


@pytest.fixture(params=["checkout", "pip", "notebook", "script"])
def door(request, monkeypatch):
    """Where the reader is: at the scripts of a checkout, at what pip installs, in a notebook, in a script of theirs."""
    monkeypatch.setattr(console, "IS_CHECKOUT", request.param == "checkout")
    monkeypatch.setattr(console, "in_notebook", lambda: request.param == "notebook")
    if request.param in ("notebook", "script"):
        monkeypatch.delenv(console.DOOR)
    return request.param


WORDS = [
    (lambda: command("evaluate match"), "python evaluate.py match", "connectx evaluate match", "match(...)"),
    (lambda: named("build"), "build_submission.py", "connectx build", "build(...)"),
    (lambda: command("build a.py", 'build("a.py")'), "python build_submission.py a.py", "connectx build a.py",
     'build("a.py")'),
    (lambda: as_option("allow-package", "NAME"), "--allow-package NAME", "--allow-package NAME", "allow_package=NAME"),
    (lambda: as_option("from-one"), "--from-one", "--from-one", "from_one"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "checkout", "pip", "call"), WORDS)
def test_a_message_names_what_its_reader_types(words, checkout, pip, call, door):
    assert words() == {"checkout": checkout, "pip": pip}.get(door, call)


def test_a_command_without_a_function_is_one_of_a_shell(door):
    """In a notebook it is typed after "!"; ``connectx board`` is short for ``connectx evaluate board``."""
    sign = "!" if door == "notebook" else ""
    shown = "python evaluate.py" if door == "checkout" else f"{sign}connectx evaluate"
    assert command("evaluate episodes 7 --html FILE") == f"{shown} episodes 7 --html FILE"
    assert shell("evaluate board a") == (
        "python evaluate.py board a" if door == "checkout" else f"{sign}connectx board a"
    )


def test_help_names_the_commands_at_hand(door, capsys):
    """Docstrings are written in a checkout's words; so are those of commands that pip installs."""
    shown = as_help("python train.py tune my.py, as evaluate.py list says")
    own = {"checkout": "evaluate.py list", "pip": "connectx evaluate list"}.get(door, "connectx evaluate list")
    sign = "!" if door == "notebook" else ""
    tune = "python train.py tune my.py" if door == "checkout" else f"{sign}connectx train tune my.py"
    assert shown == f"{tune}, as {own} says"
    with pytest.raises(SystemExit, match="2"):
        parser = Parser(prog=prog("evaluate match"))
        parser.add_argument("agent1")
        parser.parse_args([])
    typed = "python evaluate.py" if door == "checkout" else "connectx evaluate"
    name = typed.removeprefix("python ")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"{name} match: ") and lines[-1] == f"{typed} match --help explains all options"


@pytest.mark.parametrize(
    "said",
    [
        "FileNotFoundError: /home/me/train.py",
        "ValueError: my_agent.py, line 7: bad option --no-cache 3",
        "subprocess failed: git commit --message X",
        "no agent 'evaluate.py match'",
    ],
)
def test_what_others_wrote_is_printed_as_it_is(said, door, capsys):
    """By a complaint, a line of progress, a printed result and a result in a notebook."""

    class Result(Shown):
        def parts(self):
            return [said]

    complain("x", said)
    tell(said)
    print_parts([said])
    print(Result())
    printed = capsys.readouterr()
    assert printed.err == f"x: {said}\n{said}\n" and printed.out == f"{said}\n" * 2
    assert html.escape(said) in Result()._repr_html_()


@pytest.mark.parametrize(
    "call",
    [
        lambda: get_win_percentages("leftmost", "random", 2, workers=999),
        lambda: match("leftmost", "random", 1, workers=999),
        lambda: exam("leftmost", workers=999),
        lambda: exam("leftmost", config={"rows": 5}),
        lambda: exam("leftmost", me="x"),
        lambda: match("leftmost", "random", sprt=(20, 0)),
        lambda: tournament("leftmost", "random", anchor="middle"),
        lambda: get_win_percentages("leftmost", "random", 2, overage=-1),
        lambda: build("leftmost", positions=0),
        lambda: build("leftmost", allow_package="no-name"),
        lambda: analyse("8"),
        lambda: adopt("no_such_model.zip"),
    ],
)
def test_errors_of_functions_name_no_option(call, door, tmp_path, monkeypatch):
    """At all doors alike: what is wrong is named as it was passed."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, OSError)) as problem:
        call()
    words = str(problem.value)
    assert "concurrency" not in words and "-1 to" not in words
    assert ("--" not in words and ".py" not in words) or door in ("checkout", "pip")


def test_a_file_called_as_a_script_of_ours_keeps_its_name(tmp_path, monkeypatch, capsys):
    """Also where pip has installed the commands: the line that analyses its game can be typed."""
    (tmp_path / "train.py").write_text("def agent(obs, config):\n    return 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/connectx"])
    run("evaluate", ["match", "train.py", "leftmost", "--pairs", "1"])
    out = capsys.readouterr().out
    assert "train.py v leftmost: 2 games" in out and "connectx train" not in out
    assert re.search(r"a game that \S+ lost: connectx evaluate analyse \d+ .*--names .*train\.py", out)
