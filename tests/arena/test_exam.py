"""Agents asked in single positions: what they answer, that answers are kept, and that an exam goes on."""

from pathlib import Path

import numpy as np
import pytest

from connectx_core.position import STANDARD, Position
from connectx_toolkit.arena import exam
from connectx_toolkit.arena.exam import AnswerFile, Exam, answers_in, chunks_of
from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.games.exam_positions import standard_exam
from connectx_toolkit.games.grades import NO_ANSWER
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup
from connectx_toolkit.players.spec import AgentSpec, resolve
from connectx_toolkit.report.exams import exam_lines
from tests.conftest import TWO_CORES

pytestmark = pytest.mark.slow
SETUP = Setup(Rules())


@pytest.fixture(scope="module")
def labels() -> Labels:
    return standard_exam(40)


def answered(
    agent, labels: Labels, concurrency: int = 1, setup: Setup = SETUP, rows=None, seed: int = 1, **how
) -> tuple[np.ndarray, list[str]]:
    columns, faults = np.full(len(labels), NO_ANSWER), [""] * len(labels)
    chunks = chunks_of(resolve(agent), labels, range(len(labels)) if rows is None else rows, seed, **how)
    with open_pool(setup, concurrency) as pool:
        for chunk, answers in pool.each(answers_in, chunks):
            for row, answer in zip(chunk.rows, answers, strict=True):
                columns[row], faults[row] = answer.column, answer.fault
    return columns, faults


def by_turns(obs, config):
    """A right move, then each kind of fault in turn, by the number of stones."""
    stones = sum(map(bool, obs.board))
    if stones % 4 == 0:
        raise ValueError("no idea")
    if stones % 4 == 1:
        return 7
    if stones % 4 == 2:
        return "3"
    return next(column for column in range(7) if not obs.board[column])


def test_what_an_agent_plays_and_its_faults(labels):
    columns, faults = answered(by_turns, labels)
    kinds = np.array(["exception", "no such column", "not an integer", ""])
    assert faults == kinds[labels.plies % 4].tolist()
    for row, column in enumerate(columns.tolist()):
        position = Position(int(labels.positions[row]), int(labels.masks[row]), STANDARD)
        assert column == (NO_ANSWER if faults[row] else position.legal_columns()[0])


def test_the_first_fault_of_each_kind_is_told(labels):
    """Also by the agent that crashed: its exception; and what a reply that is no column should be."""
    taken = Exam([resolve(by_turns)], labels, SETUP, Path("unused"))
    taken.sit()
    lines = exam_lines(taken.sheets())
    for words in ("exception: ValueError: no idea (test_exam.py, line ", "not an integer: '3' after"):
        assert any(words in line for line in lines), lines


def test_a_file_is_loaded_once(labels, tmp_path):
    file = tmp_path / "counting.py"
    file.write_text(
        f"open({str(tmp_path / 'loads')!r}, 'a').write('x')\ndef agent(obs, config):\n    return obs.board.index(0)\n"
    )
    answered(str(file), labels, size=5)
    assert (tmp_path / "loads").read_text() == "x"


@pytest.mark.parametrize("concurrency", [1, pytest.param(2, marks=TWO_CORES)])
def test_random_numbers_depend_on_the_position_alone(labels, concurrency):
    first = answered("random_legal", labels)[0]
    backwards = answered("random_legal", labels, concurrency, rows=range(len(labels))[::-1], size=3)[0]
    assert (first == backwards).all() and (first != answered("random_legal", labels, seed=2)[0]).any()


def exam_of(labels: Labels, folder: Path, *agents: str) -> Exam:
    return Exam([resolve(agent) for agent in agents], labels, SETUP, folder)


def test_answers_are_kept(labels, tmp_path, monkeypatch):
    """A second exam asks nothing; one whose file lost its end asks for what is missing, and a new version for all."""
    first = exam_of(labels, tmp_path, "leftmost", "random_legal")
    first.sit()
    (left, drawn), (file,) = first.sheets(), tmp_path.glob("random_legal-*")
    assert first.is_whole and first.reused == 0 and len(left.labels) == len(labels)
    assert left.changed == 0 < drawn.changed <= drawn.asked_again == exam.AGAIN
    again = exam_of(labels, tmp_path, "leftmost", "random_legal")
    with monkeypatch.context() as patch:
        patch.setattr(exam, "open_pool", lambda *_: pytest.fail("it asks"))
        again.sit()
    assert again.is_whole and again.reused == 2 * len(labels)
    assert (again.sheets()[1].columns == drawn.columns).all()
    content = file.read_bytes()
    file.write_bytes(content[:-20])  # as a kill leaves it
    cut = exam_of(labels, tmp_path, "random_legal")
    cut.sit()
    assert cut.reused == len(labels) and (cut.sheets()[0].columns == drawn.columns).all()  # the last was asked twice
    with monkeypatch.context() as patch:
        patch.setattr(exam, "open_pool", lambda *_: pytest.fail("it asks"))
        exam_of(labels, tmp_path, "random_legal").sit()  # what came after the cut line is whole
    monkeypatch.setattr(AgentSpec, "fingerprint", lambda spec: "another")
    assert exam_of(labels, tmp_path, "random_legal").reused == 0


def test_other_clocks_and_callables_have_answers_of_their_own(tmp_path):
    spec, rules = resolve("leftmost"), Rules()
    assert AnswerFile(spec, rules, tmp_path).path != AnswerFile(spec, Rules({"actTimeout": 1}), tmp_path).path
    assert AnswerFile(resolve(by_turns), rules, tmp_path).path is None  # its code may be the same with other numbers


def test_an_exam_that_is_stopped_compares_what_it_knows(labels, tmp_path, monkeypatch):
    stopped, add = exam_of(labels, tmp_path, "leftmost", "middle"), AnswerFile.add
    calls = []

    def adding(*arguments):
        add(*arguments)
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(AnswerFile, "add", adding)
    stopped.sit()
    assert not stopped.is_whole and [len(sheet.labels) for sheet in stopped.sheets()] == [exam.CHUNK] * 2
    after = exam_of(labels, tmp_path, "leftmost", "middle")
    after.sit()
    assert after.is_whole and after.reused == 3 * exam.CHUNK and len(after.sheets()[0].labels) == len(labels)
