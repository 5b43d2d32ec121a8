"""One's submissions, the games that they played, and their replays and logs, each of which is fetched once."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

from kagglesdk.competitions.types.competition_api_service import (
    ApiGetEpisodeAgentLogsRequest,
    ApiGetEpisodeReplayRequest,
    ApiGetLeaderboardRequest,
    ApiGetSubmissionRequest,
    ApiListSubmissionEpisodesRequest,
    ApiListSubmissionsRequest,
)
from kagglesdk.competitions.types.episode import EpisodeState

from connectx_toolkit.console.files import write_whole
from connectx_toolkit.foreign import from_json, integer, noting, number, shown
from connectx_toolkit.kaggle.account.client import COMPETITION, TOO_MANY, UNAUTHORIZED, Kaggle, KaggleProblem

NOT_OURS = (403, 404)
MOST_TEAMS = 1000  # of the leaderboard, in one request


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


def submissions(kaggle: Kaggle) -> list[Any]:
    """One's latest submissions, as the SDK's ApiSubmission. Raises KaggleProblem."""
    request = ApiListSubmissionsRequest()
    request.competition_name = COMPETITION
    return list(kaggle.call("list_submissions", request).submissions or [])


def check_own(kaggle: Kaggle, number: int) -> None:
    """Raises KaggleProblem if a submission is not one's own."""
    request = ApiGetSubmissionRequest()
    request.ref = number
    try:
        kaggle.call("get_submission", request)
    except KaggleProblem as problem:
        if problem.status not in NOT_OURS:
            raise
        words = f"submission {number} is not one of yours ({problem}): `python evaluate.py episodes` lists them"
        raise KaggleProblem(words, problem.status) from None


def episodes_of(kaggle: Kaggle, number: int, left_out: list[str]) -> list[Episode]:
    """The games of a submission that have ended, the latest first. Raises KaggleProblem.

    Args:
        left_out: of games that Kaggle tells in an unexpected way, why is added here.
    """
    request = ApiListSubmissionEpisodesRequest()
    request.submission_id = number
    found = []
    for episode in kaggle.call("list_submission_episodes", request).episodes or []:
        with noting(left_out, f"game {getattr(episode, 'id', None)!r:.40} of submission {number}"):
            own = [agent for agent in episode.agents if agent.submission_id == number]
            if episode.state == EpisodeState.COMPLETED and own:
                found.append(_episode(episode, own))
    return sorted(found, reverse=True)


def _episode(episode: Any, own: Sequence[Any]) -> Episode:
    """A game of the SDK's ApiEpisode, with the ApiEpisodeAgents that are one's own. Raises ValueError if it is none."""
    when = episode.end_time or episode.create_time
    if when and when.tzinfo:
        when = when.astimezone(UTC)
    seats = tuple(integer(agent.index, "its seat", 0, 1) for agent in own)
    date = when.strftime("%Y-%m-%dT%H:%M:%SZ") if when else ""
    return Episode(integer(episode.id, "its number", 1), seats, shown(own[0].team_name or ""), date)


def leaderboard(kaggle: Kaggle) -> dict[str, float]:
    """The teams' scores of today, as far as one request tells them; none if Kaggle refuses."""
    request = ApiGetLeaderboardRequest()
    request.competition_name, request.page_size = COMPETITION, MOST_TEAMS
    try:
        teams = kaggle.call("get_leaderboard", request).submissions or []
    except KaggleProblem:
        return {}
    scores = ((team.team_name, _score(team.score)) for team in teams)
    return {shown(name): score for name, score in scores if name and score is not None}


def _score(said: str | None) -> float | None:
    """A score as Kaggle writes it; None if there is none yet."""
    try:
        return number(said, "a score")
    except ValueError:
        return None


def missing(episodes: Sequence[Episode], folder: Path) -> list[tuple[Episode, Path, int | None]]:
    """What has not been fetched yet: of which game, where it goes, and the seat of logs, None for a replay."""
    wanted = [(episode, path, seat) for episode in episodes for path, seat in episode.files(folder).items()]
    return [item for item in wanted if not item[1].exists()]


def fetch(kaggle: Kaggle, wanted: Sequence[tuple[Episode, Path, int | None]]) -> Iterator[str]:
    """Fetches files one after the other; after each, "" or why there is none.

    Raises:
        KaggleProblem: Kaggle cannot be reached, breaks off, or refuses more than this file; the files until then are
            there, whole.
    """
    for episode, path, seat in wanted:
        try:
            content = kaggle.call(*_request(episode.number, seat))
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


def _request(number: int, seat: int | None) -> tuple[str, Any]:
    """The SDK's call for a replay, or for the logs of a seat."""
    if seat is None:
        replay = ApiGetEpisodeReplayRequest()
        replay.episode_id = number
        return "get_episode_replay", replay
    logs = ApiGetEpisodeAgentLogsRequest()
    logs.episode_id, logs.agent_index = number, seat
    return "get_episode_agent_logs", logs
