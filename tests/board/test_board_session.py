"""The board's other end without a browser: which positions it takes, what it answers, and that agents end with it."""

import json
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

import pytest

from connectx_core.position import STANDARD, Position, geometry_of
from connectx_core.solver import Value
from connectx_toolkit import Board
from connectx_toolkit.arena.referee import play_fast
from connectx_toolkit.board.server import _encode_message
from connectx_toolkit.board.session import Opening, Session, position_entry, position_in
from connectx_toolkit.board.thinking import Analyst, BoardSeat, Found, MoveQuestion, judge_reply
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.protocol import Opaque, Reply

pytestmark = pytest.mark.slow


def test_a_position_survives_a_message(geometry):
    position = Position.empty(geometry)
    assert position_in(position_entry(position)) == position
    if geometry.columns > 3:
        position = Position.from_moves([0, 1, 3], geometry)
        assert position_in(position_entry(position)) == position


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "expected rows, columns, inarow"),
        ({"rows": 3, "columns": 3, "inarow": 0, "cells": "0" * 9}, "inarow should be an integer"),
        ({"rows": 3, "columns": 3, "inarow": 3, "cells": "0" * 8}, "cells should be 9"),
        ({"rows": 3, "columns": 3, "inarow": 3, "cells": "00000000x"}, "cells should be 9"),
        ({"rows": 3, "columns": 3, "inarow": 3, "cells": "000000020"}, "as many stones"),
        ({"rows": 3, "columns": 3, "inarow": 3, "cells": "000100020"}, "column 0 has a stone above an empty cell"),
        ({"rows": 3, "columns": 3, "inarow": 3, "cells": "000220111"}, "the game is over"),
        ({"rows": 10**6, "columns": 3, "inarow": 3, "cells": ""}, "at most 4096"),
    ],
)
def test_what_is_no_position(entry, said):
    with pytest.raises(ValueError, match=said):
        position_in(entry)


REPLIES = [
    Reply(1, 0.1), Reply(1, 2.5), Reply(1, 9.0), Reply(0, 0.1), Reply(7, 0.1), Reply(None, 0.1), Reply(2.0, 0.1),
    Reply(Opaque("int64", "3"), 0.1), Reply(None, 0.2, "exception", "KeyError"), Reply(None, 9.0, "hang", "killed"),
    Reply(None, 9.0, "crash", "gone"),
]  # fmt: skip


class Answering:
    """A player whose every reply is the same."""

    def __init__(self, reply: Reply):
        self.reply = reply

    def begin(self, config: dict, seed: int) -> None:
        pass

    def ask(self, *_: object) -> Reply:
        return self.reply


@pytest.mark.parametrize("reply", REPLIES, ids=repr)
def test_the_verdict_is_the_referees(reply):
    """On a board whose column 0 is full: the same move, fault and overage as in a game of the arena."""
    rules = Rules({"rows": 2, "columns": 3, "inarow": 3, "actTimeout": 2}, overage=5.0)
    opening = (0, 0)
    game = play_fast([Answering(reply), Answering(reply)], rules, opening, (1, 1))  # type: ignore[list-item]
    question = MoveQuestion(1, 1, Position.from_moves(opening, rules.geometry), rules, rules.overage)
    answer = judge_reply(question, reply)
    if game.fault is not None and game.fault.ply == 2:
        assert (answer["type"], answer["kind"]) == ("fault", game.fault.kind)
    else:
        assert (answer["type"], answer["column"]) == ("move", game.moves[2])
        first = play_fast([Answering(reply), Answering(Reply(9, 0.0))], rules, opening, (1, 1))  # type: ignore[list-item]
        assert answer["overage"] == first.overage[2]


@pytest.fixture
def talk():
    """A session, what it has said so far, and a wait for a message of a type."""
    said: SimpleQueue[dict] = SimpleQueue()
    session = Session(said.put, Analyst(), Opening(Rules({"rows": 10, "columns": 10, "actTimeout": 0.5}, overage=1.0)))

    def wait(kind: str) -> dict:
        while (message := said.get(timeout=60))["type"] != kind:
            pass
        return message

    yield session, said, wait
    session.close()


def question(agent: str, number: int = 1) -> dict:
    return {
        "type": "ask", "id": number, "game": 1, "seat": 1, "agent": agent, "overage": 1.0,
        "position": {"rows": 4, "columns": 4, "inarow": 3, "cells": "0" * 16},
        "config": {"actTimeout": 0.5, "overage": 1.0},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (3, "unknown message: 3"),
        ({"type": "ask"}, "missing 'id'"),
        (question("nobody"), "no agent 'nobody'"),
        ({**question("middle"), "position": 1}, "expected rows, columns, inarow, got 1"),
        ({**question("middle"), "config": {"actTimeout": -1}}, "actTimeout should be a number of seconds"),
        ({**question("middle"), "config": [3]}, "config should be a JSON object"),
        ({**question("middle"), "overage": float("inf")}, "overage should be a number of seconds"),
        ({**question("middle"), "id": 1.5}, "id should be an integer"),
        ({**question("middle"), "seat": 2}, "seat should be an integer from 0 to 1"),
        ({**question("middle"), "agent": ["middle"]}, "agent should be a text"),
        ({"type": "read", "text": "9", "rows": 6, "columns": 7, "inarow": 4}, "there is no column 9"),
        ({"type": "read", "text": "{", "name": "a/b.json"}, "b.json is not a ConnectX replay: it is not JSON"),
        ({"type": "read", "text": "3", "first": 2, "rows": 6, "columns": 7, "inarow": 4}, "first should be an integer"),
    ],
    ids=str,
)
def test_what_cannot_be_understood_is_answered(talk, message, text):
    session, _, wait = talk
    session.receive(message)
    assert text in wait("problem")["text"]


def test_a_move_does_not_wait_for_what_was_played(tmp_path, monkeypatch):
    """Twenty positions are asked about, as where a key is held down: the first and the last are answered."""
    goes_on, said = threading.Event(), SimpleQueue[dict]()
    GameDatabase(tmp_path / "games.sqlite").connection.close()
    at = GameDatabase.at
    monkeypatch.setattr(GameDatabase, "at", lambda *asked: goes_on.wait(60) and at(*asked))
    session = Session(said.put, Analyst(), Opening(games=tmp_path / "games.sqlite"))
    asked = [position_entry(Position.empty(STANDARD).play(number % 7).play(number // 7)) for number in range(20)]
    for position in asked:
        session.receive({"type": "explore", "position": position})
    session.receive(question("leftmost"))
    types = [said.get(timeout=60)["type"] for _ in range(3)]
    assert types == ["loading", "thinking", "move"]
    goes_on.set()
    assert [said.get(timeout=60)["position"] for _ in range(2)] == [asked[0], asked[-1]]
    session.close()
    with pytest.raises(Empty):
        said.get(timeout=0.1)


def test_what_changes_the_board_keeps_its_order(monkeypatch):
    """What comes after a question drops it, and an agent that it brings is ended also by what came before."""
    goes_on, log = threading.Event(), list[str]()
    session = Session(lambda message: log.append(message["type"]), Analyst(), Opening())

    def note(words: str, then: Callable[..., object] = lambda *_: None) -> Callable[..., None]:
        def noting(*arguments: object) -> None:
            then(*arguments)
            log.append(words)

        return noting

    monkeypatch.setattr(BoardSeat, "drop", note("drop"))
    monkeypatch.setattr(BoardSeat, "ask", note("ask"))
    monkeypatch.setattr(BoardSeat, "close", note("close", BoardSeat.close))
    monkeypatch.setattr(session._analyst, "want", note("solve", lambda *_: goes_on.wait(60)))
    for message in (
        {"type": "solve", "positions": []},
        question("leftmost"),
        {"type": "drop"},
        question("leftmost", 2),
    ):
        session.receive(message)
    session.close()
    session.receive({"type": "drop"})  # comes too late
    goes_on.set()
    session._lanes[0].shutdown()
    assert log == ["solve", "ask", "drop", "ask", "close"]


def test_an_agent_answers_and_ends_with_the_session(talk):
    session, said, wait = talk
    session.receive(question("leftmost"))
    answer = wait("move")
    assert (answer["id"], answer["column"], answer["overage"]) == (1, 0, 1.0)
    names = {thread.name for thread in threading.enumerate()}
    assert "leftmost" in names
    session.close()
    for thread in threading.enumerate():
        if thread.name == "leftmost":
            thread.join(timeout=10)
    assert "leftmost" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(Empty):
        said.get(timeout=0.1)


def test_an_answer_nobody_waits_for_is_not_sent(talk, tmp_path):
    """One hangs, is dropped, and is ended soon after its time; the next question is answered by a new process."""
    path = tmp_path / "once.py"
    path.write_text("import os\n\ndef agent(obs, config):\n    while obs.step == 0: pass\n    return 1\n")
    session, _, wait = talk
    session.receive(question(str(path)))
    wait("thinking")
    session.receive({"type": "drop"})
    later = {"rows": 4, "columns": 4, "inarow": 3, "cells": "0" * 12 + "1200"}
    session.receive({**question(str(path), 2), "position": later})
    assert wait("move")["id"] == 2


@pytest.mark.parametrize(
    "telling",
    [
        "import time; time.sleep(1000)", "raise SystemExit", "return {1, 2}", "return 7 / 0",
        "return {'score': float('nan')}", "return {'score': -1e999}", "return {'line': '3342'}", "return {'line': 3}",
        "return {'visits': [0.5]}", "return {'text': 'x' * 10_000_000}", "return ['depth']", "return {1: 2}",
        "return {'deep': {'deeper': 1}}", "return {'line': [[3]]}",
    ],
)  # fmt: skip
def test_bad_thoughts_cost_no_game(talk, tmp_path, telling):
    """Whatever an agent does when it is asked for them, it is there for its next move."""
    path = tmp_path / "thinker.py"
    path.write_text(f"def think():\n    {telling}\n\ndef agent(obs, config):\n    return 1\n\nagent.thoughts = think\n")
    session, _, wait = talk
    for number, cells in ((1, "0" * 16), (2, "0" * 12 + "1200")):
        position = {"rows": 4, "columns": 4, "inarow": 3, "cells": cells}
        session.receive({**question(str(path), number), "position": position})
        answer = wait("move")
        assert (answer["id"], answer["column"], answer["thoughts"]) == (number, 1, None)


def test_scores_are_told_as_they_are_proven():
    """The opening table's at once, by the calling thread."""
    told: list[tuple[Position, Found]] = []
    analyst = Analyst()
    analyst._start = lambda: None  # type: ignore[method-assign]  # no thread, no solver
    start = Position.empty(STANDARD)
    analyst.want("board", [start], lambda *news: told.append(news))
    known = Found(tuple(Value(score, score) for score in (-2, -1, 0, 1, 0, -1, -2)))
    assert told == [(start, known)] and known.done


def test_a_board_that_is_too_large_is_said_to_be():
    """Nothing will be proven, and the board says why."""
    told: SimpleQueue[tuple[Position, Found]] = SimpleQueue()
    position = Position.from_moves([3, 3, 4, 4], geometry_of(10, 10, 4))
    Analyst().want("board", [position], lambda *news: told.put(news))
    found = told.get(timeout=60)[1]
    assert found.done and "too large" in found.why
    assert found.values == ()


def test_the_analyst_goes_on_after_a_failure(monkeypatch):
    """Of a solver, or of a board that cannot be told: the others have their scores, and the one is told why not."""
    told: SimpleQueue[tuple[Position, Found]] = SimpleQueue()
    analyst, start = Analyst(), Position.empty(geometry_of(4, 4, 3))
    good, bad = start.play(0), start.play(1)
    solve = analyst._solve_on

    def fails(position: Position) -> Found:
        if position == bad:
            raise MemoryError("no room")
        return solve(position)

    def raises(*_: object) -> None:
        raise RuntimeError("its page is gone")

    monkeypatch.setattr(analyst, "_solve_on", fails)
    analyst.want("gone", [good], raises)
    analyst.want("board", [bad, good], lambda *news: told.put(news))
    news: dict[Position, Found] = {}
    while not (good in news and news[good].done and bad in news):
        position, found = told.get(timeout=60)
        news[position] = found
    assert news[bad].why == "no scores: no room" and all(value.exact for value in news[good].values if value)


def test_what_browsers_cannot_parse_is_not_sent():
    for seconds in (float("nan"), {3}):
        assert json.loads(_encode_message({"type": "move", "id": 1, "seconds": seconds}))["type"] == "problem"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"config": "rows=5"}, "config should be a dict"),
        ({"overage": -1}, "at least 0"),
        ({"games": 3}, "games should be"),
    ],
)
def test_a_board_in_a_notebook_checks_its_arguments(given, said):
    with pytest.raises(ValueError, match=said):
        Board("leftmost", **given)
