"""The few calls of Kaggle's API that the toolkit makes, on http://localhost:7777, as the SDK's TEST environment asks.

The server keeps what it is asked for, so that a test can say that nothing was fetched twice.
"""

import errno
import json
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT = 7777
SERVICE = "/api/v1/competitions.CompetitionApiService/"
TOKEN, SUBMISSION = "a-token-of-ours", 4567
KEY = b64encode(f"me:{TOKEN}".encode()).decode()
PATIENCE = 120.0  # seconds: tests that run side by side take turns at the one port
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Account:
    """What Kaggle knows of one team, and what was asked of it."""

    replays: dict[int, bytes] = field(default_factory=dict)  # by episode
    logs: dict[tuple[int, int], bytes] = field(default_factory=dict)  # by episode and seat
    seats: dict[int, int] = field(default_factory=dict)  # of ours, by episode
    team: str = "my_team"
    allowed: int = 2  # submissions that are left today
    uploaded: dict[str, bytes] = field(default_factory=dict)
    submitted: list[dict[str, Any]] = field(default_factory=list)
    asked: Counter = field(default_factory=Counter)  # name of the call and what it was for
    times: list[float] = field(default_factory=list)  # when it was asked
    overlapping: int = 0  # requests that came while another was being answered
    failing: dict[str, Answer] = field(default_factory=dict)  # by a call, or a call and its episode: answers with this
    odd: dict[str, Any] | None = None  # an episode that is listed with the others
    cut: str = ""  # the call whose answer breaks off in the middle
    delay: float = 0.0  # seconds that each answer takes

    def answer(self, call: str, body: dict[str, Any]) -> Answer:
        for key in (call, f"{call}/{body.get('episodeId')}"):
            if key in self.failing:
                return self.failing[key]
        return getattr(self, f"_{call}")(body)

    def _ListSubmissions(self, body: dict[str, Any]) -> Answer:
        found = [{**one, "date": "2026-11-20T10:00:00.000Z", "status": "COMPLETE"} for one in self.submitted]
        ours = {"ref": SUBMISSION, "description": "first try", "publicScore": "1021.3", "fileName": "submission.py"}
        ours |= {"date": "2026-11-19T10:00:00.000Z", "status": "COMPLETE"}
        return _json({"submissions": [ours, *found] if body["competitionName"] == "connectx" else []})

    def _GetSubmission(self, body: dict[str, Any]) -> Answer:
        if body["ref"] in (SUBMISSION, *(one["ref"] for one in self.submitted)):
            return _json({"ref": body["ref"], "teamName": self.team, "publicScore": "1021.3"})
        return _json({"code": 403, "message": "Permission 'submissions.get' was denied"}, 403)

    def _ListSubmissionEpisodes(self, body: dict[str, Any]) -> Answer:
        episodes = []
        for number, seat in self.seats.items():
            agents = [{"submissionId": 99, "index": 1 - seat, "teamName": "another"}]
            agents.append({"submissionId": body["submissionId"], "index": seat, "teamName": self.team})
            played = {"createTime": "2026-11-20T10:00:00.000Z", "endTime": "2026-11-20T10:05:00.000Z"}
            played |= {"state": "COMPLETED", "type": "EPISODE_TYPE_PUBLIC"}
            episodes.append({"id": number, **played, "agents": agents})
        running = {"id": 1, "state": "CREATED", "agents": []}
        return _json({"episodes": [running, *episodes, *([self.odd] if self.odd else [])]})

    def _GetEpisodeReplay(self, body: dict[str, Any]) -> Answer:
        return 200, {"Content-Type": "application/json"}, self.replays[body["episodeId"]]

    def _GetEpisodeAgentLogs(self, body: dict[str, Any]) -> Answer:
        found = self.logs.get((body["episodeId"], body.get("agentIndex", 0)))
        if found is None:
            return _json({"code": 404, "message": "Not found"}, 404)
        return 200, {"Content-Type": "application/json"}, found

    def _GetSubmissionLimits(self, body: dict[str, Any]) -> Answer:
        return _json({"numToday": 2 - self.allowed, "numTotal": 10, "numAllowedNow": self.allowed})

    def _StartSubmissionUpload(self, body: dict[str, Any]) -> Answer:
        return _json({"token": f"blob-{body['fileName']}", "createUrl": f"http://localhost:{PORT}/upload/blob"})

    def _CreateSubmission(self, body: dict[str, Any]) -> Answer:
        self.allowed -= 1
        ref = SUBMISSION + 1 + len(self.submitted)
        self.submitted.append({"ref": ref, "description": body["submissionDescription"]})
        return _json({"message": "Successfully submitted to Connect X", "ref": ref})


def _json(content: dict[str, Any], status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json; charset=utf-8"}, json.dumps(content).encode()


def _handler(account: Account) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            call = self.path.removeprefix(SERVICE)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            wanted = "/".join([call, *(str(body[name]) for name in ("episodeId", "agentIndex") if name in body)])
            account.asked[wanted] += 1
            account.times.append(time.monotonic())
            if not lock.acquire(blocking=False):
                account.overlapping += 1
                lock.acquire()
            try:
                time.sleep(account.delay)
                if self.headers.get("Authorization") not in (f"Bearer {TOKEN}", f"Basic {KEY}"):
                    self.reply(*_json({"code": 401, "message": "Unauthenticated"}, 401))
                else:
                    self.reply(*account.answer(call, body), is_cut=call == account.cut)
            finally:
                lock.release()

        def do_PUT(self) -> None:
            account.asked["upload"] += 1
            account.uploaded[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self.reply(*account.failing.get("upload", (200, {}, b"")))

        def reply(self, status: int, headers: dict[str, str], content: bytes, is_cut: bool = False) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if is_cut else content)
            self.close_connection = is_cut

        def log_message(self, *_: object) -> None:
            """Nothing: the account keeps what was asked."""

    return Handler


def _when_free(bind: Callable[[], Any]) -> Any:
    """What ``bind`` gives, as soon as nobody else has the port."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return bind()
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@contextmanager
def serving(account: Account) -> Iterator[Account]:
    """The account, served while the block runs."""
    server = _when_free(lambda: ThreadingHTTPServer(("localhost", PORT), _handler(account)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield account
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def account_of(folder: Path, seats: dict[int, int]) -> Account:
    """An account with the replays and logs that lie in a folder, by the names of Kaggle's command line."""
    replays = {number: (folder / f"episode-{number}-replay.json").read_bytes() for number in seats}
    logs = {}
    for number, seat in seats.items():
        path = folder / f"episode-{number}-agent-{seat}-logs.json"
        if path.exists():
            logs[number, seat] = path.read_bytes()
    return Account(replays, logs, seats)
