"""The corpus of small agents: what the first lines of each say of it, and archives packed from folders."""

import io
import os
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.kaggle.rules import Limits

CORPUS = Path(__file__).with_name("corpus")
RUNS = int(os.environ.get("CORPUS_RUNS", "1"))  # how often each file is asked, unless it says how often itself


class Expected(NamedTuple):
    """What the first comment lines of a file say of it.

    verdict: of the pre-flight; ``topic`` and ``because``: of a finding that rejects it.
    says: words of any finding.
    kaggle: why Kaggle's environment is not asked, "" if it is.
    games: how many it plays at most until one fails.
    needs: a module that this Python may lack.
    """

    verdict: str
    topic: str
    because: str
    says: str
    kaggle: str
    limits: Limits
    runs: int
    games: int
    needs: str


def source_of(path: Path) -> Path:
    """The file with the comment lines: of an archive, the one that holds an agent."""
    if path.is_file():
        return path
    return next(file for file in sorted(path.rglob("*.py")) if file.is_file() and file.read_bytes()[:9] == b"# expect:")


def expected(path: Path) -> Expected:
    lines = source_of(path).read_bytes().decode(errors="replace").lstrip("\ufeff").splitlines()
    found = dict(re.findall(r"^# (\w+): (.*)$", "\n".join(lines[:6]), re.MULTILINE))
    verdict = next(word for word in ("ACCEPT", "REJECT", "NOT JUDGED") if found["expect"].startswith(word))
    given = dict(pair.split("=") for pair in found.get("limits", "").split())
    published = Limits()
    limits = published._replace(
        act_timeout=float(given.get("act_timeout", published.act_timeout)),
        overage=float(given.get("overage", published.overage)),
        memory=int(given.get("memory", published.memory)),
    )
    because, says, kaggle = (found.get(name, "") for name in ("because", "says", "kaggle"))
    topic = found["expect"].removeprefix(verdict).strip()
    runs, games = int(found.get("runs", RUNS)), int(found.get("games", 1))
    return Expected(verdict, topic, because, says, kaggle, limits, runs, games, found.get("needs", ""))


def content_of(path: Path) -> bytes:
    """The file, or the .tar.gz of a folder, as it would be uploaded."""
    if path.is_file():
        return path.read_bytes()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for member in sorted(path.iterdir()):
            tar.add(member, member.name)
    return file.getvalue()
