"""No advice that hurts: every line that is recommended against generated opponents is replayed against exact scores."""

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from connectx.exact import move_values
from connectx.position import STANDARD, Geometry, Position, sign
from connectx.solver import Solver
from connectx_toolkit.games.scout import Line, Report, scout
from connectx_toolkit.report.scouting import line_words
from tests.games.test_database import ME, THEM, played
from tests.games.test_scout import SMALL, Choice, play, stored

GAMES = 10
OPPONENTS = int(os.environ.get("SCOUTED", "1"))  # on 7x6; 40 take minutes


def player(seed: int, share: float, sees: Callable[[Position], list[int]]) -> Choice:
    """Plays a share of its moves at random, else of the moves that it sees that which is first in its own order."""
    rng = random.Random(seed)
    preferred: list[int] = []

    def choose(position: Position) -> int:
        legal = position.legal_columns()
        if not preferred:
            preferred.extend(rng.sample(range(position.geometry.columns), position.geometry.columns))
        if rng.random() < share:
            return rng.choice(legal)
        seen = sees(position) or legal
        return next(column for column in preferred if column in seen)

    return choose


def urgent(position: Position) -> list[int]:
    return position.winning_columns() or position.pass_turn().winning_columns()


def report_of(folder: Path, number: int, geometry: Geometry, solver: Solver) -> Report:
    """Of ten games against an opponent: perfect, with sight or blind, some always alike, some erring; so are we."""

    def best(position: Position) -> list[int]:
        scores = scores_in(solver, position)
        return [column for column, score in scores.items() if score == max(scores.values())]

    kinds: list[Callable[[Position], list[int]]] = [best, urgent, urgent, lambda _: []]
    them = player(number, (0.0, 0.1, 0.3, 0.6)[number // 4 % 4], kinds[number % 4])
    me = player(100 + number, (0.0, 0.3, 1.0)[number % 5 % 3], kinds[1 + number % 3])
    replays = []
    for game in range(GAMES):
        pair, names = ((me, them), (ME, THEM)) if game % 2 and number % 8 else ((them, me), (THEM, ME))
        replays.append(played(play(*pair, geometry), names, game + 1, geometry))
    return scout(stored(folder, replays), ME, THEM, 600.0)


def scores_in(solver: Solver, position: Position) -> dict[int, int]:
    values = move_values(position, solver)
    assert all(value is None or value.exact for value in values)
    return {column: value.low for column, value in enumerate(values) if value is not None}


def kind_of(line: Line, report: Report, solver: Solver) -> str:
    """What a line is, after each of its moves was compared with the exact scores of all moves there."""
    position, end, shortened = Position.empty(report.geometry), 0, 0
    for step in line.steps:
        scores = scores_in(solver, position)
        best, score = max(scores.values()), scores[step.column]
        if step.is_answer:
            assert 0 < step.seen <= step.met <= len(report.games)
        else:
            assert sign(score) == sign(best)  # gives nothing away
            shortened += best < 0 and score < best
        end = -score if step.is_answer else score
        position = position.play(step.column)
        assert not (step.is_answer and position.is_lost())  # never ends in one's own loss
    if not line.steps:
        return "no line"
    assert end == line.score and line.has_line == (position.is_lost() and not line.steps[-1].is_answer)
    words = line_words(line, report)
    if end < 0:  # nothing better was known: the longest resistance, at every move
        assert not shortened and not line.gains and line.expected == 0.0 and "nothing in your games beats it" in words
        return "resistance"
    assert line.gains == ("promises" in words)
    return "gains" if line.gains else "won by theory" if end else "draw"


@pytest.mark.parametrize(("geometry", "count"), [(SMALL, 20), (STANDARD, OPPONENTS)], ids=["4x5", "6x7"])
def test_no_recommended_line_hurts(geometry, count, tmp_path):
    solver, kinds, points = Solver(geometry), Counter[str](), 0.0
    for number in range(count):
        report = report_of(tmp_path / str(number), number, geometry, solver)
        assert not report.unsolved
        points += sum(one.points for one in report.tallies)
        kinds.update(kind_of(line, report, solver) for line in report.lines)
    print(f"{dict(kinds)}, {points:g} points of {GAMES * count}")
    assert kinds.total() == 2 * count and (count < 20 or min(kinds["gains"], kinds["resistance"]) > 1)
