"""A person's game in the terminal: what is asked, what is answered, and how it ends."""

import builtins
from collections.abc import Iterator

import pytest

from connectx.geometry import STANDARD, geometry_of
from connectx.solver import Value
from connectx_toolkit.arena.analysis.exact_words import drawn, score_words
from connectx_toolkit.cli.evaluate import main

SMALL = ["--config", "rows=4,columns=3,inarow=3"]


@pytest.fixture
def typing(monkeypatch, capsys):
    """Runs ``evaluate.py play`` with answers typed one by one, then the end of the input; the output."""

    def run(arguments: list[str], *answers: str) -> str:
        given: Iterator[str] = iter(answers)

        def answer(prompt: str) -> str:
            print(prompt)
            try:
                return next(given)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr(builtins, "input", answer)
        main(["play", *arguments])
        return capsys.readouterr().out

    return run


def test_the_board_is_drawn_as_it_lies():
    cells = bytes([0, 0, 0, 0, 2, 0, 1, 1, 2])
    assert drawn(cells, geometry_of(3, 3, 3)) == " 0  1  2\n .  .  .\n .  O  .\n X  X  O"


def test_a_game_is_won(typing):
    """leftmost fills column 0, a person column 2 of a board of 3 in a row."""
    out = typing(["leftmost", *SMALL], "2", "2", "2")
    assert "you are X" in out and out.rstrip().endswith("you win after 5 moves: 2 0 2 0 2")


def test_a_load_is_announced(typing, capsys):
    """At once: an agent that compiles takes ten seconds."""
    typing(["leftmost", *SMALL])
    main(["play", "leftmost", *SMALL])
    assert capsys.readouterr().err == "loading leftmost ...\n"


def test_a_game_is_lost_moving_second(typing):
    out = typing(["leftmost", "--second", *SMALL], "1", "2")
    assert "you are O" in out and out.rstrip().endswith("you lose after 5 moves: 0 1 0 2 0")


def test_answers_are_checked(typing):
    """Each wrong one is answered in one line, and asked again."""
    out = typing(["leftmost", *SMALL], "", "x", "3", "-1", "1.5", "0", "0", "0", "quit")
    asked = out.split("you are X, your column?")
    assert ["expected a column" in text for text in asked[1:6]] == [True, True, False, True, True]
    assert "the columns are 0 to 2" in asked[3] and "column 0 is full" in asked[8]
    assert out.rstrip().endswith("until next time")


def test_the_end_of_the_input_ends_the_game(typing):
    assert typing(["leftmost", *SMALL]).rstrip().endswith("until next time")


def test_hints_and_scores_are_exact(typing):
    """After 2 0 2 0, whoever moves wins at once in column 2."""
    out = typing(["leftmost", *SMALL], "2", "2", "hint", "scores", "quit")
    assert "best: 2 (wins in 1 ply)" in out
    assert [line for line in out.splitlines() if line.startswith("column 2 ")] == ["column 2 wins in 1 ply"]
    assert sum(line.startswith("column ") for line in out.splitlines()) == 3


def test_scores_in_words():
    """On the empty board, a win with the first player's 20th stone and the like."""
    values = [Value(*v) for v in ((2, 2), (0, 0), (-3, -3), (1, 9), (-9, -1), (-1, 5))]
    assert [score_words(value, 0, STANDARD) for value in values] == [
        "wins in 39 plies", "draws", "loses in 38 plies", "wins", "loses", "is not solved yet",
    ]  # fmt: skip


def test_a_faulty_agent_loses(typing, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def agent(obs, config):\n    return 99\n")
    assert "you win: the agent forfeits by no such column" in typing([str(path), *SMALL], "1")
