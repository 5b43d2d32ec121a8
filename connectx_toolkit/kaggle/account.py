"""One's own account on Kaggle: submit a file, list submissions and their games, fetch replays and logs once.

Calls go to Kaggle by its official SDK, one at a time with a pause between them; whatever goes wrong is one line.

Credentials are those of Kaggle's own command line: a token in KAGGLE_API_TOKEN or ~/.kaggle/access_token, a login by
``kaggle auth login`` (~/.kaggle/credentials.json), KAGGLE_USERNAME with KAGGLE_KEY, or ~/.kaggle/kaggle.json. The SDK
reads KAGGLE_API_ENVIRONMENT: TEST makes it talk to http://localhost:7777.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

import requests
from kagglesdk import KaggleClient
from kagglesdk.competitions.types.competition_api_service import (
    ApiCreateSubmissionRequest,
    ApiGetEpisodeAgentLogsRequest,
    ApiGetEpisodeReplayRequest,
    ApiGetSubmissionLimitsRequest,
    ApiGetSubmissionRequest,
    ApiListSubmissionEpisodesRequest,
    ApiListSubmissionsRequest,
    ApiStartSubmissionUploadRequest,
)
from kagglesdk.competitions.types.episode import EpisodeState
from kagglesdk.kaggle_creds import KaggleCredentials
from kagglesdk.kaggle_env import get_access_token_from_env, get_endpoint, get_env
from requests.adapters import HTTPAdapter

from connectx_toolkit.system.console import shell
from connectx_toolkit.system.files import write_whole
from connectx_toolkit.system.foreign import from_json, integer, noting, printable

COMPETITION = "connectx"
PAUSE = 1.0  # seconds between two requests: Kaggle's documentation of episodes asks for no more than 60 a minute
TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two pieces of an answer; the SDK itself waits for ever
NO_CREDENTIALS = (
    "no credentials for Kaggle: on kaggle.com, Settings, API, create a token, and put it into ~/.kaggle/access_token "
    "or KAGGLE_API_TOKEN (~/.kaggle/kaggle.json does, too)"
)
UNAUTHORIZED, TOO_MANY = 401, 429


class KaggleProblem(ValueError):
    """Kaggle cannot be asked, or refuses; in one line. ``status``: of its answer, if there was one."""

    def __init__(self, words: str, status: int | None = None):
        super().__init__(words)
        self.status = status


class _Patient(HTTPAdapter):
    """Sends with a time limit."""

    def send(self, request: Any, **settings: Any) -> Any:  # type: ignore[override]
        return super().send(request, **{**settings, "timeout": settings.get("timeout") or TIMEOUT})


def find_credentials() -> tuple[dict[str, str], str]:
    """What KaggleClient takes, and where it was found, as Kaggle's own command line looks for it.

    Raises:
        KaggleProblem: there is nothing.
    """
    token, source = get_access_token_from_env()
    if token:
        return {"api_token": token}, source
    login = KaggleCredentials.load(KaggleClient())
    if login is not None and (token := login.get_access_token()):
        return {"api_token": token}, KaggleCredentials.DEFAULT_CREDENTIALS_FILE
    name, key = os.environ.get("KAGGLE_USERNAME"), os.environ.get("KAGGLE_KEY")
    if name and key:
        return {"username": name, "password": key}, "KAGGLE_USERNAME and KAGGLE_KEY"
    folders = [os.environ.get("KAGGLE_CONFIG_DIR", "~/.kaggle"), "~/.config/kaggle"]
    for path in (Path(folder).expanduser() / "kaggle.json" for folder in folders):
        if path.exists():
            return _key_file(path), str(path)
    raise KaggleProblem(NO_CREDENTIALS)


def _key_file(path: Path) -> dict[str, str]:
    try:
        content = from_json(path.read_bytes())
        return {"username": content["username"], "password": content["key"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise KaggleProblem(f"{path} holds no username and key, as Kaggle's kaggle.json does") from None


class Kaggle:
    """The competition's calls, ``PAUSE`` apart. ``source``: where the credentials came from."""

    def __init__(self, client: KaggleClient, source: str):
        self.calls = client.competitions.competition_api_client
        self.source, self.last = source, float("-inf")

    def call(self, name: str, request: Any) -> Any:
        """The answer to one call of the SDK; of a download, its bytes.

        Raises:
            KaggleProblem: Kaggle cannot be reached, refuses, or breaks off.
        """
        time.sleep(max(0.0, self.last + PAUSE - time.monotonic()))
        try:
            with in_one_line(self.source):
                answer = getattr(self.calls, name)(request)
                return answer.content if isinstance(answer, requests.Response) else answer
        finally:
            self.last = time.monotonic()


@contextmanager
def in_one_line(source: str) -> Iterator[None]:
    """Turns what requests and the SDK raise into a KaggleProblem."""
    try:
        yield
    except requests.HTTPError as problem:
        raise _to_problem(problem, source) from None
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
        raise KaggleProblem("Kaggle's answer broke off: the same command goes on from there") from None
    except (requests.ConnectionError, requests.Timeout):
        raise KaggleProblem(f"cannot reach {get_endpoint(get_env())}: is there a network?") from None
    except Exception as problem:  # whatever: the SDK makes objects of what came, unchecked
        if isinstance(problem, KaggleProblem | OSError) and not isinstance(problem, requests.RequestException):
            raise
        raise KaggleProblem(f"Kaggle's answer cannot be read: {printable(problem) or type(problem).__name__}") from None


def _to_problem(problem: requests.HTTPError, source: str) -> KaggleProblem:
    status = problem.response.status_code if problem.response is not None else None
    said = printable(str(problem).partition(" for url")[0].splitlines()[0], 200) if str(problem) else ""
    if status == UNAUTHORIZED:
        return KaggleProblem(f"Kaggle does not accept the credentials of {source}: {said}", status)
    if status == TOO_MANY:
        wait = problem.response.headers.get("Retry-After", "") if problem.response is not None else ""
        after = f"in {wait} seconds" if wait.isdecimal() else "in a while"
        return KaggleProblem(f"Kaggle asks for a pause (429): the same command goes on {after}", status)
    return KaggleProblem(f"Kaggle answered {status}: {said}", status)


@contextmanager
def connect_account() -> Iterator[Kaggle]:
    """Kaggle, with one's own credentials. Nothing is sent yet.

    Raises:
        KaggleProblem: there are no credentials.
    """
    try:
        get_env()
    except Exception as problem:  # the SDK raises no other, for a KAGGLE_API_ENVIRONMENT that it does not know
        raise KaggleProblem(str(problem)) from None
    with in_one_line("~/.kaggle/credentials.json"):
        found, source = find_credentials()
    with KaggleClient(**found, user_agent="connectx-toolkit") as client:
        for prefix in ("https://", "http://"):
            client.http_client()._session.mount(prefix, _Patient())
        yield Kaggle(client, source)


NOT_OURS = (403, 404)


def request_of(kind: type, **fields: Any) -> Any:
    """A request of the SDK with its fields, which its classes take one by one."""
    request = kind()
    for name, value in fields.items():
        setattr(request, name, value)
    return request


class Episode(NamedTuple):
    """A game of a submission: its number, the seats that the submission had in it, and when it was played."""

    number: int
    seats: tuple[int, ...]
    team: str
    date: str  # ISO 8601; "" if Kaggle does not tell

    def files(self, folder: Path) -> dict[Path, int | None]:
        """What there is to fetch, by where it goes: None for the replay, a seat for its logs. Names are the CLI's."""
        stem = f"episode-{self.number}"
        logs: dict[Path, int | None] = {folder / f"{stem}-agent-{seat}-logs.json": seat for seat in self.seats}
        return {folder / f"{stem}-replay.json": None, **logs}


def list_submissions(kaggle: Kaggle) -> list[Any]:
    """One's latest submissions, as the SDK's ApiSubmission. Raises KaggleProblem."""
    request = request_of(ApiListSubmissionsRequest, competition_name=COMPETITION)
    return list(kaggle.call("list_submissions", request).submissions or [])


def check_own(kaggle: Kaggle, number: int) -> None:
    """Raises KaggleProblem if a submission is not one's own."""
    try:
        kaggle.call("get_submission", request_of(ApiGetSubmissionRequest, ref=number))
    except KaggleProblem as problem:
        if problem.status not in NOT_OURS:
            raise
        words = f"submission {number} is not one of yours ({problem}): `{shell('evaluate episodes')}` lists them"
        raise KaggleProblem(words, problem.status) from None


class Episodes(NamedTuple):
    """The games of a submission that have ended, the latest first."""

    games: list[Episode]
    left_out: list[str]  # why, of games that Kaggle tells in an unexpected way


def episodes_of(kaggle: Kaggle, number: int) -> Episodes:
    """The games of a submission. Raises KaggleProblem."""
    request = request_of(ApiListSubmissionEpisodesRequest, submission_id=number)
    found, left_out = list[Episode](), list[str]()
    for episode in kaggle.call("list_submission_episodes", request).episodes or []:
        with noting(left_out, f"game {getattr(episode, 'id', None)!r:.40} of submission {number}"):
            own = [agent for agent in episode.agents if agent.submission_id == number]
            if episode.state == EpisodeState.COMPLETED and own:
                found.append(_to_episode(episode, own))
    return Episodes(sorted(found, reverse=True), left_out)


def _to_episode(episode: Any, own: Sequence[Any]) -> Episode:
    """A game of the SDK's ApiEpisode, with the ApiEpisodeAgents that are one's own. Raises ValueError if it is none."""
    when = episode.end_time or episode.create_time
    if when and when.tzinfo:
        when = when.astimezone(UTC)
    seats = tuple(integer(agent.index, "its seat", 0, 1) for agent in own)
    date = when.strftime("%Y-%m-%dT%H:%M:%SZ") if when else ""
    return Episode(integer(episode.id, "its number", 1), seats, printable(own[0].team_name or ""), date)


def files_to_fetch(episodes: Sequence[Episode], folder: Path) -> list[tuple[Episode, Path, int | None]]:
    """What has not been fetched yet: of which game, where it goes, and the seat of logs, None for a replay."""
    wanted = [(episode, path, seat) for episode in episodes for path, seat in episode.files(folder).items()]
    return [item for item in wanted if not item[1].exists()]


def fetch_files(kaggle: Kaggle, wanted: Sequence[tuple[Episode, Path, int | None]]) -> Iterator[str]:
    """Fetches files one after the other; after each, "" or why there is none.

    Raises KaggleProblem: Kaggle cannot be reached, breaks off, or refuses more than this file; the files until then are
    there, whole.
    """
    for episode, path, seat in wanted:
        try:
            content = kaggle.call(*_request_for(episode.number, seat))
        except KaggleProblem as problem:
            if problem.status in (None, TOO_MANY, UNAUTHORIZED):
                raise
            yield f"{path.name}: {problem}"
            continue
        try:
            from_json(content)
        except ValueError as problem:
            yield f"{path.name}: {problem}; the same command asks Kaggle again"
            continue
        write_whole(path, content)
        yield ""


def _request_for(number: int, seat: int | None) -> tuple[str, Any]:
    """The SDK's call for a replay, or for the logs of a seat."""
    if seat is None:
        return "get_episode_replay", request_of(ApiGetEpisodeReplayRequest, episode_id=number)
    return "get_episode_agent_logs", request_of(ApiGetEpisodeAgentLogsRequest, episode_id=number, agent_index=seat)


SERVER_ERROR = 500  # from here on the status does not tell what was done
LOOK = (
    f"Look at your submissions before you try again (Kaggle takes two a day): `{shell('evaluate episodes')}`, or "
    "kaggle.com/competitions/connectx/submissions"
)


class Submitted(NamedTuple):
    """A submission that Kaggle has taken."""

    number: int
    words: str  # Kaggle's


def submissions_left(kaggle: Kaggle) -> int:
    """How many files may still be submitted today.

    Raises:
        KaggleProblem: none; in words that say until when.
    """
    request = request_of(ApiGetSubmissionLimitsRequest, competition_name=COMPETITION)
    limits = kaggle.call("get_submission_limits", request)
    if limits.num_allowed_now > 0:
        return limits.num_allowed_now
    if limits.limited_by_total:
        raise KaggleProblem(f"Kaggle takes no further submission of this team: it has made {limits.num_total}")
    made = f"{limits.num_today} submission{'' if limits.num_today == 1 else 's'} today"
    raise KaggleProblem(f"the daily limit is reached ({made}); Kaggle takes the next one from 0:00 UTC on")


def submit_file(kaggle: Kaggle, path: Path, message: str) -> Submitted:
    """Uploads a file and submits it.

    Raises:
        KaggleProblem: nothing was submitted, or the text says that it may have been.
    """
    fields = {"file_name": path.name, "content_length": path.stat().st_size}
    fields |= {"competition_name": COMPETITION, "last_modified_epoch_seconds": int(path.stat().st_mtime)}
    upload = kaggle.call("start_submission_upload", request_of(ApiStartSubmissionUploadRequest, **fields))
    with in_one_line(kaggle.source):
        headers = {"Content-Type": "application/octet-stream"}
        requests.put(upload.create_url, path.read_bytes(), headers=headers, timeout=TIMEOUT).raise_for_status()
    fields = {"competition_name": COMPETITION, "blob_file_tokens": upload.token, "submission_description": message}
    try:
        created = kaggle.call("create_submission", request_of(ApiCreateSubmissionRequest, **fields))
    except (KaggleProblem, KeyboardInterrupt) as problem:
        if isinstance(problem, KaggleProblem) and (problem.status or SERVER_ERROR) < SERVER_ERROR:
            raise  # Kaggle has refused it
        raise KaggleProblem(f"{path.name} may have been submitted, but Kaggle's answer was lost. {LOOK}") from None
    if not created.ref:
        raise KaggleProblem(f"Kaggle has not taken {path.name}: {created.message or 'it does not say why'}")
    return Submitted(created.ref, created.message)
