"""Progress, and messages in the words of their reader."""

import io
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

import pytest
from rich.color import ColorSystem

from connectx_toolkit import adopt, analyse, build, exam, get_win_percentages, match, tournament
from connectx_toolkit.system import console
from connectx_toolkit.system.console import (
    as_option,
    bare_name,
    command,
    ctrl_c_waits,
    progress,
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
    (lambda: bare_name("build"), "build_submission.py", "connectx build", "build(...)"),
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


class Screen(io.StringIO):
    """Standard error at a terminal of 80 columns."""

    def isatty(self) -> bool:
        return True

    def states(self) -> list[str]:
        """All that the bar has shown."""
        return [state for state in re.split(r"[\r\n]+", self.getvalue()) if state.strip()]


@contextmanager
def at_a_terminal(monkeypatch) -> Iterator[Screen]:
    monkeypatch.setenv("COLUMNS", "80")
    with redirect_stderr(Screen()) as screen:
        yield screen


def shows_all(*arguments, delay: float):
    """A bar that shows each state, however quickly the next one comes."""
    bar = progress(*arguments, delay=0)
    bar.mininterval, bar.miniters, bar.dynamic_miniters = 0, 1, False
    return bar


def test_a_bar_tells_what_is_done_and_left(monkeypatch):
    with at_a_terminal(monkeypatch) as screen, progress(3, "game", "asking", delay=0) as bar:
        for _ in range(2):
            time.sleep(0.15)
            bar.update()
    first, *_, last = screen.states()
    assert re.fullmatch(r"asking:   0%\| +\| 0/3 games \[00:00, \? left\]", first) and len(first) <= 80
    assert re.fullmatch(r"asking:  67%\|[█#].* *\| 2/3 games \[00:00, 00:00 left\]", last)


def test_a_bar_of_nothing_is_not_shown(monkeypatch):
    """As of a match whose games are all known."""
    with at_a_terminal(monkeypatch) as screen, progress(0, "game", delay=0) as bar:
        bar.update()
    assert screen.getvalue() == ""


def test_a_match_with_sprt_shows_where_the_test_stands(tmp_path, monkeypatch):
    """Pairs, LLR, bounds and the pairs that are left; no cap, and no end that goes by it."""
    monkeypatch.setattr("connectx_toolkit.arena.stored_games.progress", shows_all)
    with at_a_terminal(monkeypatch) as screen:
        found = match("one_step", "leftmost", sprt=(0, 100), games=tmp_path / "games.sqlite")
    states = screen.states()
    assert states[0] == "0 pairs, LLR 0.00 (-2.94 to 2.94) [00:00]" and max(map(len, states)) <= 80
    form = r"\d+ pairs?, LLR -?\d\.\d\d \(-2\.94 to 2\.94\), about \d+ pairs? left \[\d\d:\d\d\]"
    assert found.ending == "sprt" and any(re.fullmatch(form, state.strip()) for state in states[1:])
    assert not any("2000" in state or "game" in state for state in states)


def test_a_match_without_sprt_counts_games(tmp_path, monkeypatch):
    monkeypatch.setattr("connectx_toolkit.arena.stored_games.progress", shows_all)
    with at_a_terminal(monkeypatch) as screen:
        match("one_step", "leftmost", pairs=3, games=tmp_path / "games.sqlite")
    states = screen.states()
    assert "| 0/6 games [00:00, ? left]" in states[0] and max(map(len, states)) <= 80
