"""Calls to Kaggle by its official SDK, one at a time with a pause between them; whatever goes wrong is one line.

Credentials are those of Kaggle's own command line: a token in KAGGLE_API_TOKEN or ~/.kaggle/access_token, a login by
``kaggle auth login`` (~/.kaggle/credentials.json), KAGGLE_USERNAME with KAGGLE_KEY, or ~/.kaggle/kaggle.json. The SDK
reads KAGGLE_API_ENVIRONMENT: TEST makes it talk to http://localhost:7777.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from kagglesdk import KaggleClient
from kagglesdk.kaggle_creds import KaggleCredentials
from kagglesdk.kaggle_env import get_access_token_from_env, get_endpoint, get_env
from requests.adapters import HTTPAdapter

from connectx_toolkit.foreign import from_json, shown

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
    """The competition's calls. ``source``: where the credentials came from; ``pause``: seconds between two calls."""

    def __init__(self, client: KaggleClient, source: str, pause: float):
        self.calls = client.competitions.competition_api_client
        self.source, self.pause, self.last = source, pause, float("-inf")

    def call(self, name: str, request: Any) -> Any:
        """The answer to one call of the SDK; of a download, its bytes.

        Raises:
            KaggleProblem: Kaggle cannot be reached, refuses, or breaks off.
        """
        time.sleep(max(0.0, self.last + self.pause - time.monotonic()))
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
        raise _refused(problem, source) from None
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
        raise KaggleProblem("Kaggle's answer broke off: the same command goes on from there") from None
    except (requests.ConnectionError, requests.Timeout):
        raise KaggleProblem(f"cannot reach {get_endpoint(get_env())}: is there a network?") from None
    except Exception as problem:  # whatever: the SDK makes objects of what came, unchecked
        if isinstance(problem, KaggleProblem | OSError) and not isinstance(problem, requests.RequestException):
            raise
        raise KaggleProblem(f"Kaggle's answer cannot be read: {shown(problem) or type(problem).__name__}") from None


def _refused(problem: requests.HTTPError, source: str) -> KaggleProblem:
    status = problem.response.status_code if problem.response is not None else None
    said = shown(str(problem).partition(" for url")[0].splitlines()[0], 200) if str(problem) else ""
    if status == UNAUTHORIZED:
        return KaggleProblem(f"Kaggle does not accept the credentials of {source}: {said}", status)
    if status == TOO_MANY:
        wait = problem.response.headers.get("Retry-After", "") if problem.response is not None else ""
        after = f"in {wait} seconds" if wait.isdecimal() else "in a while"
        return KaggleProblem(f"Kaggle asks for a pause (429): the same command goes on {after}", status)
    return KaggleProblem(f"Kaggle answered {status}: {said}", status)


@contextmanager
def connected(pause: float = PAUSE) -> Iterator[Kaggle]:
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
        yield Kaggle(client, source, pause)
