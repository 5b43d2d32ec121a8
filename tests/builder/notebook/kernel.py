"""What the tests' kernels run: the files of a function that lives there, and the moves that it plays itself."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from connectx_core.position import STANDARD
from connectx_toolkit.builder import comparison
from connectx_toolkit.builder.build import BuildOptions, NotAccepted, build
from connectx_toolkit.builder.notebook.live import from_function
from connectx_toolkit.builder.originals import Function, ask_here
from connectx_toolkit.builder.preflight.trial import Runner, sample_questions
from connectx_toolkit.builder.source.refusals import Refused
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.kaggle.replies import count_arguments, seed_of
from connectx_toolkit.system.cores import seed_everything

POSITIONS = 60


def capture(function: Any, folder: str) -> None:
    """Writes the agent's files, and what ``from_function`` says of them, or why it refuses."""
    path = Path(folder)
    path.mkdir()
    try:
        written = from_function(function, path)
        facts = written._asdict() | {"agent": str(written.agent), "root": str(written.root), "state": {}}
        facts["folders"] = list(map(str, written.folders))
        asked = [question.as_json() for question in sample_questions(POSITIONS, geometries=(STANDARD,))[:20]]
        answer = ask_here(function, written.state, {"positions": asked})
        facts["changed"] = list(answer.changed)
    except (Refused, ValueError) as refusal:
        facts = {"refused": f"{refusal}"}
    (path / "facts.json").write_text(json.dumps(facts))


@cache
def runner() -> Runner:
    """That of all builds of this kernel; it ends with the kernel."""
    return Runner()


def make(function: Any, folder: str, between: str = "", is_quick: bool = False, **options: Any) -> None:
    """Builds the submission, and writes its report.

    Args:
        between: a statement that is run in the notebook after the agent's files were written.
        is_quick: whether few questions will do for the comparison.
        options: of the build.
    """
    path = Path(folder)
    path.mkdir()
    written = from_function(function, path)
    original = Function(function, written)
    exec(between, function.__globals__)
    with pytest.MonkeyPatch.context() as patch:
        if is_quick:
            patch.setattr(comparison, "ENOUGH", 60)
            patch.setattr(comparison, "USUAL_SECONDS", 0.1)
        try:
            given = written.to_inlined(), path / "submission.py", BuildOptions(**options), runner()
            report = build(*given, original=original)
        except NotAccepted as refused:
            report = refused.report
    (path / "facts.json").write_text(json.dumps([list(finding) for finding in report.findings]))


def ask(function: Any, folder: str, seed: int = 0) -> None:
    """Writes what the function plays, which draws the same as the built file if both draw alike."""
    moves = []
    for question in sample_questions(POSITIONS, geometries=(STANDARD,)):
        seed_everything(seed_of(question.as_json()) + seed)
        obs, config = Struct(**question.obs), Struct(**question.config)
        moves.append(int(function(*(obs, config)[: count_arguments(function)])))
    Path(folder, "moves.json").write_text(json.dumps(moves))
