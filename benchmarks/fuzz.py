"""Damaged replays, files, answers, messages and thoughts: does anything hang, crash or get lost?

Each case is made from its kind and number, in another process, under a time limit. Exit code 1 if any failed.
"""

import argparse
import gzip
import io
import json
import multiprocessing
import random
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any
from unittest import mock

import requests
from kaggle_environments import make
from kagglesdk.competitions.types.competition_api_service import (
    ApiListSubmissionEpisodesResponse,
    ApiSubmission,
)

from benchmarks.machine import head, record
from connectx_core.position import Position, geometry_of
from connectx_toolkit.board.server import _encode_message, _receive
from connectx_toolkit.board.session import Opening, Session
from connectx_toolkit.board.thinking import Analyst
from connectx_toolkit.cli.main import run
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.reader import read_only_game, read_replays
from connectx_toolkit.games.review import Review
from connectx_toolkit.kaggle.account import Kaggle
from connectx_toolkit.players.child import MOST_TOLD, HostedAgent, Struct
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.report.pages import replays_page
from connectx_toolkit.system.files import our_agents

LIMIT = 90.0  # seconds a case: a process's first ones import, and compile for new boards
JSON: list[Any] = [
    None, True, -1, 0, 3, 7, 99, 20_000, 10**9, 10**400, 3.0, -0.5, 1e999, float("nan"), "", "3", "x" * 5000, "DONE",
    "TIMEOUT", "\ud800", "</script>", [], [3], [[]], [None] * 50, {}, {"rows": 6}, {"": 1},
]  # fmt: skip


def damage(value: Any, rng: random.Random) -> Any:
    """A copy of some JSON in which one thing is replaced or removed."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
        return rng.choice(JSON)
    copied: Any = value.copy()
    place = rng.choice([*value] if isinstance(value, dict) else range(len(value)))
    copied[place] = damage(value[place], rng)
    if rng.random() < 0.2:
        del copied[place]
    return copied


@cache
def games() -> list[dict[str, Any]]:
    """Replays made by Kaggle's environment, one of them with a fault."""
    environments = [make("connectx", info={"TeamNames": ["me", "you"]}) for _ in range(3)]
    for environment, second in zip(environments, ("random", "negamax", lambda obs, config: 99), strict=True):
        environment.run(["random", second])
    return [environment.toJSON() | {"specification": None} for environment in environments]


def replay(rng: random.Random) -> str:
    """A damaged replay, as the board and the commands read it."""
    whole = json.dumps(damage(damage(rng.choice(games()), rng), rng))
    text = rng.choice([whole, whole, whole, whole[: rng.randrange(len(whole) + 1)], "{" + "[" * rng.randrange(100_000)])
    said: SimpleQueue[dict[str, Any]] = SimpleQueue()
    message = {"type": "read", "text": text, "name": "a.json", "rows": 6, "columns": 7, "inarow": 4}
    Session(said.put, Analyst(), Opening()).receive(message)
    answer = said.get(timeout=LIMIT / 2)
    assert answer["type"] in ("game", "problem"), f"lost: {answer}"
    if answer["type"] == "problem" or not text.startswith("{"):
        return "refused"
    review = Review(read_only_game(text, Path("a.json")), [], 0)
    return "read" if json.dumps(review.row(), allow_nan=False) and replays_page("me", [review], [], []) else "lost"


def thoughts(rng: random.Random) -> str:
    """Any object as an agent's thoughts."""
    told: Any = rng.choice(values := [*JSON, b"3", {3}, object(), "x" * 10**7])
    if rng.random() < 0.9:
        names = ("depth", "nodes", "score", "line", "visits", "", "more", 3)
        told = {rng.choice(names): rng.choice(values) for _ in range(rng.choice((1, 1, 2, 8)))}
    agent = SimpleNamespace(agent=SimpleNamespace(thoughts=lambda: told))
    value = (HostedAgent.thoughts(agent)[2] or {})["value"]  # type: ignore[arg-type]
    assert value is None or len(json.dumps(value, allow_nan=False)) <= MOST_TOLD, "too long"
    return "shown" if value else "left out"


def observation(rng: random.Random) -> str:
    """A position for one of our agents: as Kaggle shows it, a plain dict or a Struct, every other one damaged."""
    name = rng.choice(sorted(our_agents()))
    geometry = geometry_of(*rng.choice([(6, 7, 4), (6, 7, 4), (5, 4, 3), (3, 3, 3), (1, 7, 4), (8, 8, 4)]))
    position = Position.empty(geometry)
    for _ in range(rng.randrange(geometry.cells)):
        after = position.play(rng.choice(position.legal_columns()))
        position = position if after.is_over() else after
    board, config = position.to_board(), dict(zip(("rows", "columns", "inarow"), geometry[:3], strict=True))
    obs = {"board": board, "mark": 1 + position.ply % 2, "step": position.ply, "remainingOverageTime": 1.0}
    if is_damaged := rng.random() < 0.5:
        obs["board"] = rng.choice([board[:-1], [*board, 0], [], [3] * len(board), [1] * len(board), "0" * 42, None])
        obs["mark"] = rng.choice((obs["mark"], 0, 3, None, "1"))
    form = rng.choice((dict, Struct))
    with suppress(Exception) if is_damaged else nullcontext():
        column = resolve(name).load()(form(**obs), form(**config, actTimeout=0.1))
        assert is_damaged or (type(column) is int and column in position.legal_columns()), f"{name}: {column!r}"
        return "played"
    return "refused"


QUESTION = {
    "type": "ask", "id": 1, "game": 1, "seat": 1, "agent": "leftmost", "overage": 60.0,
    "position": {"rows": 6, "columns": 7, "inarow": 4, "cells": "0" * 42}, "config": {"actTimeout": 2, "overage": 60},
}  # fmt: skip
MESSAGES: list[dict[str, Any]] = [
    QUESTION, QUESTION, QUESTION, {"type": "hello"}, {"type": "drop"}, {"type": "check", "agent": "middle", "seat": 0},
    {"type": "solve", "positions": [QUESTION["position"], {"rows": 4, "columns": 5, "inarow": 3, "cells": "0" * 20}]},
    {"type": "read", "text": "3342", "name": "a.json", "rows": 6, "columns": 7, "inarow": 4},
    {"type": "explore", "position": QUESTION["position"]},
]  # fmt: skip


@cache
def open_board() -> tuple[Session, SimpleQueue[dict[str, Any]]]:
    """A board with a file of games, and what its host sends."""
    with GameDatabase(Path(tempfile.mkdtemp(), "games.sqlite")) as database:
        database.add([read_only_game(json.dumps(game), Path("a.json")) for game in games()], "me")
    said: SimpleQueue[dict[str, Any]] = SimpleQueue()
    return Session(said.put, Analyst(), Opening(games=database.path)), said


def message(rng: random.Random) -> str:
    """A damaged message to a board, and then a good question: a move has to follow, and all answers are strict JSON."""
    session, said = open_board()
    asked = rng.choice(MESSAGES) | {"game": rng.randrange(2**32)}
    for _ in range(rng.choice((0, 1, 1, 2))):
        asked = damage(asked, rng)
    whole = json.dumps(asked)
    if rng.random() < 0.1:
        session.receive(asked)  # as a widget gives it
    else:
        whole = whole if rng.random() < 0.9 else whole[: rng.randrange(len(whole) + 1)]
        _receive(session, whole, said.put)
    is_question = isinstance(asked, dict) and asked.get("type") == "ask" and whole.endswith("}")
    kind = answer_to(said)["type"] if is_question else "no move"
    number = rng.randrange(2**32, 2**53)
    _receive(session, json.dumps({**QUESTION, "id": number, "game": number, "seat": rng.randrange(2)}), said.put)
    answer = answer_to(said, number)
    assert answer["type"] == "move", f"after {whole:.300}: {answer}"
    return f"answered by {kind}"


def answer_to(said: SimpleQueue[dict[str, Any]], number: int | None = None) -> dict[str, Any]:
    """The next answer to a question, to that with the number."""
    while True:
        answer = json.loads(_encode_message(said.get(timeout=LIMIT / 2)), parse_constant=json.loads)
        if answer["type"] in ("move", "fault", "problem") and number in (None, answer.get("id")):
            return answer


def file(rng: random.Random) -> str:
    """A damaged file of some form, beside a good replay, which has to be read whatever the other one is."""
    content = rng.choice(games())
    text = json.dumps(rng.choice([content, content, damage(content, rng)])).encode()
    wrapped = json.dumps({"result": {"replay": text.decode()}}).encode()
    text = rng.choice([text, wrapped, text.decode().encode("utf-16")])
    packed = rng.choice(FORMS)(text)
    for _ in range(rng.choice((0, 1, 1, 3))):
        place = rng.randrange(len(packed) + 1)
        packed = rng.choice([packed[:place], packed[:place] + rng.randbytes(rng.randrange(40)) + packed[place + 9 :]])
    with tempfile.TemporaryDirectory() as folder:
        damaged_one, good = Path(folder, "a.zip"), Path(folder, "b.json")
        damaged_one.write_bytes(packed)
        good.write_text(json.dumps(games()[0]))
        read = read_replays(damaged_one, good)
        sources = [game.source for game in read.games]
        assert str(good) in sources, "lost"
        run_command(["analyse", folder, "--me", "me", "--seconds", "0"], (None, 2))
        return "refused" if read.left_out else "read"


def zip_text(text: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("2026/a.json", text)
    return packed.getvalue()


def tar_text(text: bytes) -> bytes:
    packed, info = io.BytesIO(), tarfile.TarInfo("2026/a.json")
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
    return packed.getvalue()


FORMS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zip_text, tar_text]


def run_command(arguments: list[str], codes: Collection[int | None]) -> str:
    """What a command prints; its exit code has to be one of some, and a refusal one line."""
    out, err = io.StringIO(), io.StringIO()
    code: str | int | None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = run("evaluate", arguments) or None
        except SystemExit as stop:
            code = stop.code
    assert code in codes, f"{arguments}: exit code {code}: {err.getvalue()}"
    assert "\x1b[2J" not in out.getvalue() + err.getvalue(), "an escape sequence was sent"
    return out.getvalue()


def answer(rng: random.Random) -> str:
    """Answers of Kaggle, one of them damaged: the games that the damage leaves are fetched, kept and analysed."""
    own = {"submissionId": 7, "index": 0, "teamName": "me"}
    others: dict[str, Any] = {"createTime": "2026-11-20T10:00:00.000Z", "state": "COMPLETED", "agents": [own]}
    answers: dict[str, Any] = {
        "get_submission": {"ref": 7, "publicScore": "640.1"},
        "list_submission_episodes": {"episodes": [{"id": number + 1, **others} for number in range(3)]},
    }
    replays = {n: game | {"info": {"TeamNames": ["me", "you"], "EpisodeId": n}} for n, game in enumerate(games(), 1)}
    kept, what = {1, 2, 3}, rng.choice(("all", "replay", "episode"))
    if what == "all":
        name = rng.choice([*answers])
        answers[name], kept = damage(answers[name], rng), set()
    elif what == "replay":
        replays[2], kept = damage(replays[2], rng), {1, 3}
    else:
        listed, kept = answers["list_submission_episodes"]["episodes"], {1, 3}
        listed[1] = damage(listed[1], rng) if rng.random() < 0.7 else {**listed[1], "agents": [damage(own, rng)]}
    connected = mock.patch("connectx_toolkit.kaggle.account.connect_account", answering(answers, replays))
    with tempfile.TemporaryDirectory() as folder, connected:
        options = ["--games", f"{folder}/games.sqlite", "--seconds", "0"]
        out = run_command(["episodes", "7", *options], (None, 1, 2))
        if what == "episode" and not out:  # the SDK refuses all of an answer in which one entry is not of its form
            return "refused"
        if kept:
            with GameDatabase(Path(folder, "games.sqlite"), create=False) as database:
                assert kept <= {game.episode or 0 for game in database.games()}, f"lost: {what}"
        return "read" if out else "refused"


def answering(answers: dict[str, Any], replays: dict[int, Any]) -> Callable[[], AbstractContextManager[Kaggle]]:
    """``connect_account`` with answers from here, which the SDK makes its objects of."""

    def make_answer(kind: Any, name: str) -> Callable[[Any], Any]:
        return lambda request: kind.from_dict(json.loads(json.dumps(answers[name])))

    def send_content(content: Any) -> requests.Response:
        response = requests.Response()
        response.status_code, response._content = 200, json.dumps(content).encode()
        return response

    calls = SimpleNamespace(
        get_submission=make_answer(ApiSubmission, "get_submission"),
        list_submission_episodes=make_answer(ApiListSubmissionEpisodesResponse, "list_submission_episodes"),
        get_episode_replay=lambda request: send_content(replays.get(request.episode_id)),
        get_episode_agent_logs=lambda request: send_content([]),
    )
    client: Any = SimpleNamespace(competitions=SimpleNamespace(competition_api_client=calls))
    return lambda: nullcontext(Kaggle(client, "here"))


KINDS = {
    "replay": replay, "file": file, "message": message, "answer": answer, "thoughts": thoughts,
    "observation": observation,
}  # fmt: skip


def work(line: Any) -> None:
    """Answers kinds and numbers of cases with what became of them."""
    line.send("ready")
    while True:
        kind, number = line.recv()
        try:
            line.send(KINDS[kind](random.Random(f"{kind} {number}")))
        except Exception:
            line.send(f"FAILED\n{traceback.format_exc()}")


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS], help="kinds of cases (default: all)")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="how long to go on (default 10)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="number of the first case (default 0)")
    options = parser.parse_args()
    head(seed=options.seed, minutes=options.minutes)
    counts, spent, process, case = Counter[str](), dict.fromkeys(options.kinds, 0.0), None, options.seed
    deadline = time.monotonic() + 60 * options.minutes
    while (begun := time.monotonic()) < deadline:
        if process is None:
            line, theirs = multiprocessing.Pipe()
            process = multiprocessing.get_context("spawn").Process(target=work, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            assert line.poll(10 * LIMIT) and line.recv() == "ready"
            begun = time.monotonic()
        kind = min(options.kinds, key=spent.__getitem__)  # each has its share of the time
        line.send((kind, case))
        try:
            ended = line.recv() if line.poll(LIMIT) else "HANGS"
        except EOFError:
            ended = "DIES"
        if ended[0].isupper():
            print(f"{kind}, case {case}: {ended}", flush=True)
            process.kill()
            process = None
        counts[f"{kind}: {ended.splitlines()[0]}"] += 1
        spent[kind], case = spent[kind] + time.monotonic() - begun, case + 1
    print("\n".join(f"{what} {number}" for what, number in sorted(counts.items())))
    failed = sum(number for what, number in counts.items() if what.endswith(("HANGS", "DIES", "FAILED")))
    record("fuzz", failed, f"of {counts.total()} cases hang, die or fail", 0, counts=dict(counts))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
