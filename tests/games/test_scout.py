"""Scouting: what a player repeats, what it gives away, and that the line which is named beats it in another game."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from connectx.position import STANDARD, Position, geometry_of, sign
from connectx.solver import Solver
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.scout import (
    Report,
    against,
    answers_of,
    faults_of,
    median_seconds,
    most_overage,
    repeats,
    scout,
    table,
    tally,
    tree,
)
from connectx_toolkit.kaggle.rules import Fault
from connectx_toolkit.report.pages import opponents_page, scout_page
from connectx_toolkit.report.scouting import headline, opponents_table
from tests.games.test_database import ME, THEM, played, random_games

Choice = Callable[[Position], int]
SMALL = geometry_of(4, 5, 3)  # solved at once, without the opening table


def steady(position: Position) -> int:
    """Wins or blocks with the next stone, or else plays near the middle: always the same in the same position."""
    urgent = position.winning_columns() or position.pass_turn().winning_columns()
    order = position.geometry.column_order
    return urgent[0] if urgent else next(column for column in order if column in position.legal_columns())


def play(first: Choice, second: Choice, geometry=SMALL) -> tuple[int, ...]:
    position, moves = Position.empty(geometry), list[int]()
    while not position.is_over():
        moves.append((first, second)[position.ply % 2](position))
        position = position.play(moves[-1])
    return tuple(moves)


def games_against(choice: Choice, count: int, seed: int = 1, geometry=SMALL) -> list[Game]:
    """Games of a random player against one, in both seats."""
    rng = random.Random(seed)

    def drawn(position: Position) -> int:
        return rng.choice(position.winning_columns() or position.legal_columns())

    found = []
    for number in range(count):
        pair, names = ((drawn, choice), (ME, THEM)) if number % 2 else ((choice, drawn), (THEM, ME))
        found.append(played(play(pair[0], pair[1], geometry), names, number + 1, geometry))
    return found


def stored(tmp_path, replays: list[Game]) -> list[Game]:
    with GameDatabase(tmp_path / "games.sqlite") as database:
        database.add(replays, ME)
        return list(database.games(me=ME))


@pytest.fixture
def report(tmp_path) -> Report:
    return scout(stored(tmp_path, games_against(steady, 60)), ME, THEM, 60.0)


def test_the_lines_beat_the_opponent(report):
    """As often as they are played: the opponent answers as they say. One ends in a win, the other where one is sure."""
    ends = []
    for line in report.lines:
        position = Position.empty(SMALL)
        for step in line.steps:
            assert not step.is_answer or step.column == steady(position)
            assert (step.seen, step.met) == ((step.met, step.met) if step.is_answer else (0, 0))
            position = position.play(step.column)
        ends.append(position)
    first, second = report.lines
    assert report.unsolved == 0 and first.has_line and ends[0].is_lost() and not second.has_line
    assert first.expected == 1.0 and not first.gains and second.gains
    assert -Solver(SMALL, compiled=False).solve(ends[1]).low == second.score > 0


def test_own_moves_of_a_line_keep_the_result(report):
    """By the solver, not by the scores that the report was made of."""
    solver = Solver(SMALL, compiled=False)
    for line in report.lines:
        own = [ply for ply, step in enumerate(line.steps) if not step.is_answer]
        assert own == list(range(line.seat, len(line.steps), 2)) and len(own) > 1
        for ply in own:
            values = solver.scores(Position.from_moves(line.columns[:ply], SMALL))
            results = [None if value is None else value.result for value in values]
            assert results[line.columns[ply]] == max(result for result in results if result is not None)


def test_a_player_that_repeats_itself_and_one_that_does_not(report, tmp_path):
    assert report.repeats.share == 1.0 and report.repeats.met_again > 5
    rng = random.Random(5)
    changing = games_against(lambda position: rng.choice(position.legal_columns()), 60)
    share = repeats(answers_of(stored(tmp_path / "other", changing), THEM)).share
    assert share is not None and share < 0.5
    assert repeats({}).share is None


def test_where_it_gives_the_result_away(report):
    """By either seat; each is the first mistake of so many games, and its scores say so."""
    assert {len(one.moves) % 2 for one in report.first_mistakes} == {0, 1}
    for one in report.first_mistakes:
        scores = report.scores[Position.from_moves(one.moves, SMALL)]
        best = max(score for score in scores if score is not None)
        assert one.made.best_columns == [column for column, score in enumerate(scores) if score == best]
        words, after = ("lost", "drawn", "won"), sign(scores[one.made.column])
        assert sign(best) > after and one.made.results == (words[1 + sign(best)], words[1 + after])
    assert sum(one.games for one in report.first_mistakes) <= len(report.games)


def test_first_moves_as_a_tree(tmp_path):
    moves = [(3, 2, 1), (3, 2, 0), (3, 4, 0), (2, 3)]
    ended = [played(some, (THEM, ME), number) for number, some in enumerate(moves, 1)]
    (three, two) = tree(stored(tmp_path, ended), ME, 1, 3)
    assert (three.column, three.is_answer, three.games, two.games, two.branches) == (3, True, 3, 1, [])
    assert [(branch.column, branch.is_answer, branch.games) for branch in three.branches] == [
        (2, False, 2),
        (4, False, 1),
    ]
    assert [branch.column for branch in three.branches[0].branches] == [0, 1]
    assert tree(stored(tmp_path, ended), ME, 0, 3) == []


def test_clocks_and_faults(tmp_path):
    timed = played(
        (3, 3, 2, 2, 4), (THEM, ME), 1, measured=(9.0, 1.0, 0.5, 1.0, 1.5),
        overage=(53.0, 60.0, 53.0, 60.0, 53.0),
    )  # fmt: skip
    failed = played((3,), (ME, THEM), 2, faults=(Fault(1, 1, "timeout", "", True),))
    first, second = stored(tmp_path, [timed, failed])
    assert median_seconds([first], THEM) == 1.0 and median_seconds([second], THEM) is None
    assert most_overage([second, first], THEM) == 7.0 and faults_of([first, second], THEM) == {"timeout": 1}
    assert tally([first, second], ME) == (2, 1.5, 2)


def test_all_opponents_by_points_to_be_won(tmp_path):
    replays = random_games(28)
    itself = replace(replays[0], names=(ME, ME), episode=99)
    by_opponent, left_out = against(stored(tmp_path, [*replays, itself]), ME)
    rows = table(by_opponent, ME)
    assert left_out == 1 and len(rows) == 7 and sum(row.whole.games for row in rows) == 28
    assert [row.whole.lost for row in rows] == sorted((row.whole.lost for row in rows), reverse=True)
    own = [game.points[game.names.index(ME)] for game in replays if game.points]
    assert sum(row.whole.points for row in rows) == sum(own)


def test_other_boards_and_openings(tmp_path):
    """The board of most games counts; games that began from an opening have no line from the empty board."""
    others = [played((0, 1), (ME, THEM), 100 + number, STANDARD) for number in range(3)]
    opened = [replace(replay, opening=2) for replay in games_against(steady, 10)]
    found = scout(stored(tmp_path, [*opened, *others]), ME, THEM, 60.0)
    assert found.left_out == 3 and found.geometry == SMALL and found.trees == ([], [])
    assert not any(step.is_answer for line in found.lines for step in line.steps)
    assert any("no line" in line for line in headline(found))


def test_submissions_that_are_mixed_are_told(tmp_path):
    one, other = games_against(steady, 4)[:2], games_against(steady, 4)[2:]
    with GameDatabase(tmp_path / "games.sqlite") as database:
        database.add(one, ME, 44)
        database.add(other, ME, 45)
        lines = headline(scout(list(database.games(me=ME)), ME, THEM, 60.0))
        assert "Games of 2 submissions of yours are counted together." in lines
        lines = headline(scout(list(database.games(me=ME))[:2], ME, THEM, 60.0))
    assert not any("submissions" in line for line in lines)


def test_the_page_has_the_line_first(report):
    """With the exact scores of its moves."""
    page = scout_page(report)
    line = report.lines[1]
    (data,) = re.findall(r'id="data">(.*?)</script>', page)
    entry = json.loads(data)[0]
    assert entry["title"] == "the line when you move second" and entry["moves"] == list(line.columns)
    assert not line.has_line and entry["judged"][str(len(line.columns) - 1)]["scores"][line.columns[-1]] == line.score
    assert "when you move second, play [" in page.lower()


def test_pages_show_names_as_they_are(tmp_path):
    name = "<b>[x]</script>"
    replays = []
    for replay in games_against(steady, 8):
        names = (ME, name) if replay.names[0] == ME else (name, ME)
        replays.append(replace(replay, names=names))
    games = stored(tmp_path, replays)
    page = scout_page(scout(games, ME, name, 60.0))
    page += opponents_page(ME, opponents_table(ME, table({name: games}, ME)), [])
    assert "<b>[x]" not in page and "&lt;b&gt;[x]" in page and "\\u003c/script>" in page
