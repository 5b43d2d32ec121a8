"""What train.py learns from one's own games: the second seat's book, and how frequent which opponents are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents import perfect
from connectx_core.books import Book, openings
from connectx_core.opponent import candidates, columns_of_scores
from connectx_core.position import STANDARD, Position, Scores, geometry_of
from connectx_core.solver import Solver
from connectx_toolkit.builder.submission import with_book
from connectx_toolkit.cli import build, train
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.system.files import AGENTS
from connectx_toolkit.training.makers import book
from connectx_toolkit.training.makers.own_games import Met, OwnGames, TypeLogs, collect_lines, evidence_of, prior_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
MODEL = perfect.opponent.model
EMPTY = Position.empty(STANDARD)
# Two openings of the second player that both keep the (lost) result; after the second one the opponent always errs.
LOSES, WINS = (3, 3, 3, 3, 3, 1), (3, 3, 3, 3, 3, 3)


def scores_of(positions: list[Position]) -> list[Scores]:
    solver = Solver(STANDARD)
    return [openings().scores(p) or [v and v.low for v in solver.scores(p)] for p in positions]


def game_after(start: tuple[int, ...], ours: int) -> tuple[int, ...]:
    """A game that goes on from a position until this seat has a line in column 0 or 5; the other one lets it."""
    position, moves = Position.from_moves(start, STANDARD), list(start)
    while not position.is_over():
        if position.ply % 2 == ours:
            column = (position.winning_columns() or [c for c in (0, 5) if c in position.legal_columns()])[0]
        else:
            column = (6, 1)[position.ply // 2 % 2]
        moves.append(column)
        position = position.play(column)
    return tuple(moves)


def tree_of(games: list[Met]) -> OwnGames:
    return OwnGames(collect_lines(games, EMPTY), MODEL, scores_of)


def test_it_expects_more_than_was_played(monkeypatch):
    """Against one opponent, who lost after one of two moves and won after the other, but by answers that lose, too.

    No move gives a result away. What is played in a position adds up to 1 in each round of the improvement.
    """
    strategies, reach = [], OwnGames._reach

    def recording_reach(tree, strategy):
        strategies.append(dict(strategy))
        return reach(tree, strategy)

    monkeypatch.setattr(OwnGames, "_reach", recording_reach)
    won, lost = Met("them", game_after(WINS, 1), 1.0), Met("them", game_after(LOSES, 0), 0.0)
    columns, expected = tree_of([won] * 5 + [lost] * 15).improve()
    ((position, column),) = columns.items()
    assert (position, column) == (Position.from_moves(LOSES[:-1], STANDARD).canonical(), LOSES[-1])
    assert column in candidates(position, scores_of([position])[0]) and 0.95 < expected <= 1
    assert len(strategies) > 1
    for shares in (shares for strategy in strategies for shares in strategy.values()):
        assert shares.min() >= 0 and shares.sum() == pytest.approx(1)


def test_who_always_answers_alike_is_expected_to():
    """The model stands for the fewest games, 0.1, of who opened at the edge in ten of ten games."""
    games = tree_of([Met("them", game_after((0,), 1), 1.0)] * 10)
    reply = games.replies[EMPTY]
    assert reply.chances[0, reply.children.index(EMPTY.play(0).canonical())] >= 10 / 10.1


def test_an_opponent_met_once_moves_little():
    """The prior: one game of an opponent, or fifty, all of them of the same type."""
    logs = np.zeros((50, len(MODEL.prior)))
    logs[:, 1] = 5.0
    moved = [abs(prior_of(MODEL, [TypeLogs(logs[:n], np.ones(n))]) - MODEL.prior).max() for n in (1, 50)]
    assert 0 < moved[0] < moved[1] / 3 and prior_of(MODEL, []) == pytest.approx(MODEL.prior)


def file_of(path: Path, games: list[tuple[int, ...]], names=("them", "me"), geometry=STANDARD) -> Path:
    with GameDatabase(path) as database:
        for number, moves in enumerate(games):
            database.add([Game(geometry, moves, names, episode=number)], me="me")
    return path


def test_the_command(tmp_path, capsys):
    """From a file of games to a book that the builder takes; the book is the shipped one, changed."""
    games = file_of(tmp_path / "games.sqlite", [game_after(WINS, 1)] * 5 + [game_after(LOSES, 0)] * 15)
    config = book.Config(games=str(games), table_bits=18, workers=1, run=tmp_path / "run")
    made = book.train(config)
    assert isinstance(made, Book) and "with the new book" in capsys.readouterr().out
    shipped = perfect.second_book
    assert set(shipped.keys) <= set(made.keys)
    changed = [
        key
        for key, bits in zip(made.keys, made.choices, strict=True)
        if bits not in shipped.choices[shipped.keys == key]
    ]
    assert changed
    agent = with_book(AGENTS / "perfect.py", config.output, tmp_path)
    assert (agent.parent / "weights" / "perfect_second_book.bin").read_bytes() == config.output.read_bytes()
    with pytest.raises(ValueError, match="perfect, not of minimax"):
        with_book(Path("minimax.py"), games, tmp_path)
    other = Book.of({Position.empty(geometry_of(4, 5, 3)): [1]})
    (tmp_path / "other.bin").write_bytes(other.to_bytes())
    with pytest.raises(ValueError, match=r"other\.bin: a book for 5x4, expected one for 7x6"):
        with_book(AGENTS / "perfect.py", tmp_path / "other.bin", tmp_path)
    assert book.train(replace(config, me="me", run=tmp_path / "run2")) is not None


def test_games_in_which_nothing_is_to_be_gained(tmp_path, capsys):
    """It says so, and what to build instead; who builds with the book all the same is told what is missing."""
    games = file_of(tmp_path / "games.sqlite", [game_after(LOSES, 0)])
    config = book.Config(games=str(games), table_bits=18, workers=1, run=tmp_path / "run")
    assert book.train(config) is None and not config.output.exists()
    out = capsys.readouterr().out
    assert f"{config.output} was not written" in out and "build_submission.py perfect" in out
    assert build.main(["perfect", "--book", str(config.output)]) == 2
    assert "no such file. python train.py book" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["book", "replies"])
def test_games_that_teach_nothing(method, tmp_path, capsys):
    """One line, exit code 2, and nothing is written."""
    first = file_of(tmp_path / "first.sqlite", [game_after(WINS, 1)], names=("me", "them"))
    small = file_of(tmp_path / "small.sqlite", [(0, 1, 0, 1, 0)], geometry=geometry_of(4, 5, 3))
    itself = file_of(tmp_path / "itself.sqlite", [game_after(WINS, 1)], names=("me", "me"))
    (tmp_path / "bytes.sqlite").write_bytes(bytes(range(256)) * 8)
    for path, words in (
        (first, "with 'me' as second player"),
        (small, "is a finished game of 7x6"),
        (itself, "with 'me' as second player"),
        (tmp_path / "bytes.sqlite", "is not a file of games"),
    ):
        output = tmp_path / "new.bin"
        arguments = [*method.split(), "--games", str(path), "--run", str(tmp_path / "run"), "--output", str(output)]
        assert train.main(arguments) == 2
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1 and not output.exists()


def by_hand(games: list[Met]) -> np.ndarray:
    """The log likelihood of one opponent's moves under each type, position by position, without a mirror: (types,)."""
    logs = np.zeros(len(MODEL.prior))
    for game in games:
        position = EMPTY
        for ply, column in enumerate(game.columns):
            if ply % 2 == 0:
                chances = MODEL.chances([position], columns_of_scores(scores_of([position])))[0]
                child = position.play(column).canonical()
                same = [c for c in position.legal_columns() if position.play(c).canonical() == child]
                logs += np.log(chances[:, same].sum(1))
            position = position.play(column)
    return logs


def test_moves_tell_which_type_an_opponent_is():
    """By Bayes' rule; of a stranger the prior is all that is known."""
    games = [Met("them", game_after(WINS, 1), 1.0)] * 2
    expected = MODEL.prior * np.exp(by_hand(games) - by_hand(games).max())
    beliefs = tree_of(games).beliefs
    assert beliefs[0] == pytest.approx(expected / expected.sum(), abs=1e-6)
    assert beliefs[1] == pytest.approx(MODEL.prior) and abs(beliefs[0] - beliefs[1]).max() > 0.05


def test_a_mirrored_game_is_the_same_evidence():
    """Of moves that have no mirror image at their side, in any order of columns."""
    game = Met("them", game_after((0, *WINS), 0), 0.0)
    mirrored = game._replace(columns=tuple(6 - column for column in game.columns))
    one, other = (evidence_of([each], EMPTY, MODEL, scores_of)["them"] for each in (game, mirrored))
    assert one.logs == pytest.approx(other.logs) and one.logs.any()
