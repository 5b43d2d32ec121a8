"""A finished file, submitted to the competition."""

from pathlib import Path
from typing import NamedTuple

import requests
from kagglesdk.competitions.types.competition_api_service import (
    ApiCreateSubmissionRequest,
    ApiGetSubmissionLimitsRequest,
    ApiStartSubmissionUploadRequest,
)

from connectx_toolkit.kaggle.account.client import COMPETITION, TIMEOUT, Kaggle, KaggleProblem, in_one_line

SERVER_ERROR = 500  # from here on the status does not tell what was done
LOOK = (
    "Look at your submissions before you try again (Kaggle takes two a day): `python evaluate.py episodes`, or "
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
    request = ApiGetSubmissionLimitsRequest()
    request.competition_name = COMPETITION
    limits = kaggle.call("get_submission_limits", request)
    if limits.num_allowed_now > 0:
        return limits.num_allowed_now
    if limits.limited_by_total:
        raise KaggleProblem(f"Kaggle takes no further submission of this team: it has made {limits.num_total}")
    made = f"{limits.num_today} submission{'' if limits.num_today == 1 else 's'} today"
    raise KaggleProblem(f"the daily limit is reached ({made}); Kaggle takes the next one from 0:00 UTC on")


def submit(kaggle: Kaggle, path: Path, message: str) -> Submitted:
    """Uploads a file and submits it.

    Raises:
        KaggleProblem: nothing was submitted, or the text says that it may have been.
    """
    start = ApiStartSubmissionUploadRequest()
    start.competition_name, start.file_name = COMPETITION, path.name
    start.content_length, start.last_modified_epoch_seconds = path.stat().st_size, int(path.stat().st_mtime)
    upload = kaggle.call("start_submission_upload", start)
    with in_one_line(kaggle.source):
        headers = {"Content-Type": "application/octet-stream"}
        requests.put(upload.create_url, path.read_bytes(), headers=headers, timeout=TIMEOUT).raise_for_status()
    create = ApiCreateSubmissionRequest()
    create.competition_name, create.blob_file_tokens = COMPETITION, upload.token
    create.submission_description = message
    try:
        created = kaggle.call("create_submission", create)
    except (KaggleProblem, KeyboardInterrupt) as problem:
        if isinstance(problem, KaggleProblem) and (problem.status or SERVER_ERROR) < SERVER_ERROR:
            raise  # Kaggle has refused it
        raise KaggleProblem(f"{path.name} may have been submitted, but Kaggle's answer was lost. {LOOK}") from None
    if not created.ref:
        raise KaggleProblem(f"Kaggle has not taken {path.name}: {created.message or 'it does not say why'}")
    return Submitted(created.ref, created.message)
