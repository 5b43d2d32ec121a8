"""Small agents, and what real submissions do, one idiom a file: the pre-flight's verdict is that of Kaggle's."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from connectx_toolkit.builder.preflight.check import run_preflight
from tests.conftest import REAL_CLOCK
from tests.corpus_files import CORPUS, content_of, expected
from tests.judge import Judge

pytestmark = pytest.mark.slow
FILES = sorted((CORPUS / "files").glob("*.py"))
IDIOMS = sorted(path for path in (CORPUS / "idioms").iterdir() if path.suffix == ".py" or path.is_dir())
# A few of each kind are also played by Kaggle's own HTTP servers, which the pipes of tests/judge.py stand for.
BY_HTTP = ("absolute_path_at_load", "argmax", "late_import", "half_of_six", "ends_the_process", "remembers_its_moves")


@pytest.fixture(scope="module")
def judge():
    try:
        running = Judge()
    except OSError as problem:
        pytest.skip(f"needs mounts, as root has: {problem}")
    with running:
        yield running


def verdict_of(kaggle: str) -> str:
    return "ACCEPT" if kaggle == "DONE" else "REJECT"


def ending(judge: Judge, content: bytes, clock: tuple[float, float], games: int) -> str:
    """How Kaggle's environment ends a game of the file: the first of ``games`` that fails, if one does."""
    return next((text for _ in range(games) if (text := judge.verdict(content, *clock)) != "DONE"), "DONE")


@REAL_CLOCK
@pytest.mark.parametrize("path", [*FILES, *IDIOMS], ids=lambda path: path.stem)
def test_the_verdict_is_kaggles(path, runner, judge, tmp_path):
    wanted, content = expected(path), content_of(path)
    if wanted.needs:
        pytest.importorskip(wanted.needs, reason=f"needs {wanted.needs}")
    file = tmp_path / (path.name if path.is_file() else f"{path.name}.tar.gz")
    file.write_bytes(content)
    clock = (wanted.limits.act_timeout, wanted.limits.overage)
    for _ in range(wanted.runs):
        with ThreadPoolExecutor() as both:  # most of the time both wait for the agent
            asked = None if wanted.kaggle else both.submit(ending, judge, content, clock, wanted.games)
            report = run_preflight(file, runner, wanted.limits)
            kaggle = asked.result() if asked else wanted.kaggle
        assert report.verdict == wanted.verdict, report.findings
        assert wanted.kaggle or report.verdict == verdict_of(kaggle), report.findings
    if report.verdict == "REJECT":
        assert wanted.topic in {"", *(finding.topic for finding in report.findings if finding.level == "reject")}
        assert wanted.because in " ".join(report.reasons)
    assert wanted.says in " ".join(finding.text for finding in report.findings)


def test_there_are_enough():
    assert len(FILES) >= 60 and len(IDIOMS) >= 60


@pytest.mark.parametrize("name", BY_HTTP)
def test_kaggles_servers_agree(name, judge):
    path = next(path for path in IDIOMS if path.stem == name)
    wanted = expected(path)
    assert verdict_of(judge.verdict(content_of(path), 2.0, 60.0, by_http=True)) == wanted.verdict
