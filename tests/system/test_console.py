"""Progress, and messages in the words of their reader."""

import signal

import pytest
from rich.color import ColorSystem

from connectx_toolkit import adopt, analyse, build, exam, get_win_percentages, match, tournament
from connectx_toolkit.system import console
from connectx_toolkit.system.console import (
    as_option,
    command,
    ctrl_c_waits,
    named,
)
from connectx_toolkit.system.table import Table, console_for_tables


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
