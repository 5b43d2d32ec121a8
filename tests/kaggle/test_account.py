"""Submit, list, download, analyse: Kaggle's official SDK against a small server that speaks the calls needed."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.system.files import ROOT
from tests.conftest import evaluate, wait_until
from tests.kaggle_server import SUBMISSION, TOKEN, Account, account_of, serving
from tests.replay_games import TEAM, make_games

pytestmark = pytest.mark.slow
UNJUDGED = ["--time", "0"]  # exact scores are not what these tests are about


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    """A folder with six replays of Kaggle's environment, and logs of some."""
    folder = tmp_path_factory.mktemp("played")
    list(make_games(folder, 6, ("leftmost",), own="middle", fault_every=3))
    return folder


@pytest.fixture
def account(played) -> Account:
    numbers = [int(path.name.split("-")[1]) for path in sorted(played.glob("*-replay.json"))]
    return account_of(played, {number: index % 2 for index, number in enumerate(numbers)})


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    """A home of our own, with a token that the server knows, in an empty folder; nobody at the terminal."""
    for name in [name for name in os.environ if name.startswith("KAGGLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "TEST")
    monkeypatch.setenv("KAGGLE_API_TOKEN", TOKEN)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    monkeypatch.chdir(tmp_path)


def refused(arguments: list[str], capsys, main: Callable = evaluate, code: int = 2) -> str:
    """The one line of a command that ends with an exit code."""
    ended = None
    try:
        ended = main(arguments)
    except SystemExit as stop:
        ended = stop.code
    lines = [line for line in capsys.readouterr().err.splitlines() if not re.search("fetching|to fetch into", line)]
    assert ended == code and len(lines) == 1, lines
    return lines[0]


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr("connectx_toolkit.kaggle.account.PAUSE", 0.0)


@pytest.fixture
def building():
    Path("agent.py").write_text("def agent(obs, config):\n    return [c for c in range(7) if not obs.board[c]][0]\n")


BUILD = ["agent.py", "-o", "built.py", "--positions", "5", "--submit", "the left"]


@pytest.mark.usefixtures("building")
def test_the_round_trip(account, capsys):
    """Submitted, listed, killed in the middle of the download, resumed, analysed; and no file was fetched twice."""
    account.delay = 0.15
    with serving(account):
        assert build_submission.main(BUILD) == 0
        number = SUBMISSION + 1
        assert f"submitted as {number}: Successfully submitted" in capsys.readouterr().err
        assert account.uploaded == {"/upload/blob": Path("built.py").read_bytes()}
        assert account.submitted == [{"ref": number, "description": "the left"}]
        evaluate(["episodes"])
        out = capsys.readouterr().out
        assert "the left" in out and str(number) in out and "1021.3" in out and "2026-11-19 10:00" in out
        folder = Path("runs/episodes") / str(number)
        command = [sys.executable, str(ROOT / "evaluate.py"), "episodes", str(number), *UNJUDGED]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: len(list(folder.glob("*.json"))) >= 4)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}
        assert 4 <= len(before) < 12
        for path in folder.glob("*.json"):
            json.loads(path.read_text())
        evaluate(["episodes", str(number), *UNJUDGED])
        out = capsys.readouterr().out
        assert f"{TEAM}: 6 games, " in out and "left out: " in out  # Kaggle has no logs of some
        assert before.items() <= {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}.items()
        for name in before:
            assert account.asked[call_of(name)] == 1
        account.asked.clear()
        evaluate(["episodes", str(number), *UNJUDGED])
    asked_again = [call for call in account.asked if "GetEpisodeReplay" in call]
    assert asked_again == [] and sorted(folder.glob("*-replay.json")) == sorted(set(folder.glob("*-replay.json")))
    for path in folder.glob("*-replay.json"):
        assert path.read_bytes() == account.replays[int(path.name.split("-")[1])]


def call_of(name: str) -> str:
    """What the server notes for the fetching of a file."""
    _, episode, kind, *rest = name.removesuffix(".json").split("-")
    return f"GetEpisodeReplay/{episode}" if kind == "replay" else "/".join(["GetEpisodeAgentLogs", episode, *rest[:1]])


def test_one_request_at_a_time_with_pauses(account, monkeypatch):
    monkeypatch.setattr("connectx_toolkit.kaggle.account.PAUSE", 0.1)
    account.delay = 0.05
    with serving(account):
        evaluate(["episodes", str(SUBMISSION), "--latest", "2", *UNJUDGED])
    assert account.overlapping == 0 and len(account.times) == 2 + 4
    assert all(later - earlier > 0.14 for earlier, later in pairwise(account.times))
    fetched = sorted(call.split("/")[1] for call in account.asked if call.startswith("GetEpisodeReplay"))
    assert fetched == sorted(map(str, account.replays))[-2:]


def test_games_are_kept(account, capsys):
    """What was fetched twice is there once."""
    with serving(account):
        for _ in range(2):
            evaluate([*EPISODES, "--games", "games.sqlite", *UNJUDGED])
    said = capsys.readouterr()
    assert "games.sqlite: 6 games added, 6 in all" in said.err
    with GameDatabase(Path("games.sqlite"), create=False) as database:
        games, owners = list(database.games()), database.owners()
    assert [game.episode for game in games] == sorted(account.replays)
    assert {(game.submission, game.date) for game in games} == {(SUBMISSION, "2026-11-20T10:05:00Z")}
    assert owners == {TEAM: 6}


def answering(status: int, message: str = "no", **headers: str) -> tuple[int, dict[str, str], bytes]:
    content = json.dumps({"code": status, "message": message}).encode()
    return status, {"Content-Type": "application/json", **headers}, content


EPISODES = ["episodes", str(SUBMISSION)]


def test_kaggle_asks_for_a_pause(account, capsys):
    """429: it stops at once, and the next run goes on."""
    account.failing["GetEpisodeReplay"] = answering(429, "Too many requests", **{"Retry-After": "30"})
    with serving(account):
        line = refused(EPISODES, capsys)
        assert "Kaggle asks for a pause (429): the same command goes on in 30 seconds; 0 of 12 files" in line
        assert sum(account.asked.values()) == 3
        account.failing.clear()
        evaluate([*EPISODES, *UNJUDGED])
    assert len(list(Path("runs/episodes").rglob("*-replay.json"))) == 6


def test_a_download_that_breaks_off(account, capsys):
    account.cut = "GetEpisodeReplay"
    with serving(account):
        line = refused(EPISODES, capsys)
    assert "Kaggle's answer broke off: the same command goes on from there; 0 of 12 files were fetched" in line
    assert not list(Path().rglob("*episode-*"))


def test_one_bad_game_does_not_end_the_others(account, capsys):
    """One that cannot be fetched, one that is no replay, one that is told oddly: the others are there, and analysed."""
    lost, damaged, *_ = sorted(account.replays)
    account.failing[f"GetEpisodeReplay/{lost}"] = answering(500, "oh \x1b[2J no")
    account.replays[damaged] = b'{"name": "connectx"}'
    account.odd = {"id": 2**70, "agents": [{"submissionId": SUBMISSION, "index": 0}], "state": "COMPLETED"}
    with serving(account):
        evaluate([*EPISODES, "--games", "games.sqlite", *UNJUDGED])
    out = capsys.readouterr().out
    assert f"episode-{lost}-replay.json: Kaggle answered 500" in out and "\x1b" not in out
    assert (
        f"left out: game {2**70} of submission {SUBMISSION}: its number should be an integer of at most 63 bits" in out
    )
    assert f"episode-{damaged}-replay.json is not a ConnectX replay: its field 'configuration' is missing" in out
    with GameDatabase(Path("games.sqlite"), create=False) as database:
        assert [game.episode for game in database.games()] == sorted(account.replays)[2:]
    assert out.splitlines()[-1].startswith("left out: ")


@pytest.mark.parametrize("call", ["ListSubmissionEpisodes", "GetSubmission"])
@pytest.mark.parametrize("content", [b"[]", b'{"episodes": 5}', b'{"episodes": [5]}', b'{"publicScore": 7, "ref": {}}'])
def test_answers_in_another_form(call, content, account, capsys):
    """A line; or, where there is nothing in it that is asked for, as if Kaggle had said nothing."""
    account.failing[call] = 200, {"Content-Type": "application/json"}, content
    with serving(account):
        try:
            evaluate([*EPISODES, *UNJUDGED])
        except SystemExit as stop:
            assert stop.code in (1, 2)
            assert len(capsys.readouterr().err.splitlines()) == 1


def test_wrong_credentials(account, capsys, monkeypatch):
    monkeypatch.setenv("KAGGLE_API_TOKEN", "another")
    with serving(account):
        line = refused(EPISODES, capsys)
    assert line == ("evaluate.py episodes: Kaggle does not accept the credentials of KAGGLE_API_TOKEN: Unauthenticated")


@pytest.mark.parametrize("command", [EPISODES, ["episodes"]])
def test_no_credentials(command, capsys, monkeypatch):
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    assert "no credentials for Kaggle: on kaggle.com" in refused(command, capsys)


LOGIN = {"refresh_token": "r", "access_token": TOKEN, "access_token_expiration": "2999-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("access_token", TOKEN),
        ("credentials.json", json.dumps(LOGIN)),
        ("kaggle.json", json.dumps({"username": "me", "key": TOKEN})),
        ("", ""),
    ],
    ids=["access_token", "login", "key file", "key in the environment"],
)
def test_other_credentials(file, content, account, tmp_path, capsys, monkeypatch):
    """All that Kaggle's own command line takes."""
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    (tmp_path / ".kaggle").mkdir()
    if file:
        (tmp_path / ".kaggle" / file).write_text(content)
    else:
        monkeypatch.setenv("KAGGLE_USERNAME", "me")
        monkeypatch.setenv("KAGGLE_KEY", TOKEN)
    with serving(account):
        evaluate(["episodes"])
    assert "first try" in capsys.readouterr().out


def test_no_network(capsys, monkeypatch):
    """Through a proxy where nobody listens."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    line = refused(EPISODES, capsys)
    assert line == "evaluate.py episodes: cannot reach http://localhost:7777: is there a network?"


def test_an_answer_that_never_ends_is_given_up(account, capsys, monkeypatch):
    """The SDK itself sets no time limit."""
    monkeypatch.setattr("connectx_toolkit.kaggle.account.TIMEOUT", (0.3, 0.3))
    account.delay = 1.0
    with serving(account):
        assert "cannot reach" in refused(EPISODES, capsys)


def test_the_daily_limit(account, capsys):
    """Said before anything is built."""
    account.allowed = 0
    with serving(account):
        line = refused(BUILD, capsys, build_submission.main)
    words = "the daily limit is reached (2 submissions today); Kaggle takes the next one from 0:00 UTC on"
    assert line == f"build_submission.py: {words}"
    assert not Path("built.py").exists()


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize(
    ("answer", "is_open"), [("cut", True), (answering(502), True), (answering(403, "team is full"), False)]
)
def test_a_submission_whose_answer_is_lost(answer, is_open, account, capsys):
    """It may have been made, and there are two a day: only a refusal says that it was not."""
    if answer == "cut":
        account.cut = "CreateSubmission"
    else:
        account.failing["CreateSubmission"] = answer
    with serving(account):
        assert build_submission.main(BUILD) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert ("built.py may have been submitted, but Kaggle's answer was lost" in line) == is_open
    assert ("kaggle.com/competitions/connectx/submissions" in line) == is_open


@pytest.mark.usefixtures("building")
def test_what_the_pre_flight_rejects_is_not_submitted(account):
    Path("agent.py").write_text("def agent(obs, config):\n    return 3.0\n")
    with serving(account):
        assert build_submission.main(["--check", "agent.py", "--submit", "floats"]) == 1
    assert account.submitted == [] and account.uploaded == {}


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize(("answer", "submitted"), [("y", 1), ("n", 0), (EOFError(), 0)])
def test_it_asks_first_on_a_terminal(answer, submitted, account, capsys, monkeypatch):
    asked = []

    def typed(question: str) -> str:
        asked.append(question)
        if isinstance(answer, EOFError):
            raise answer
        return answer

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr(build_submission, "build_or_check", lambda given: (0, Path("agent.py")))
    with serving(account):
        assert build_submission.main(BUILD) == 0
    assert asked == ["submit agent.py to Kaggle (2 left today)? [y/N] "] and len(account.submitted) == submitted
