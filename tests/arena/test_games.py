"""The database of games: each game once, positions with their mirror images, filters, ratings, and damaged files."""

import random
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectx.geometry import STANDARD, Geometry, geometry_of
from connectx.position import Position
from connectx_toolkit.arena.games.database import BATCH, GameDatabase
from connectx_toolkit.arena.replays.replay import Call, Replay
from connectx_toolkit.arena.results.records import GameRecord

ME, THEM = "my_team", "them"


def played(
    moves: tuple[int, ...], names=(ME, THEM), episode: int = 0, geometry: Geometry = STANDARD, **more: Any
) -> Replay:
    """A game as it is read from a replay."""
    record = GameRecord(geometry, names, moves, more.pop("opening", 0), more.pop("forfeit", None))
    overage = more.pop("overage", (60.0,) * len(moves))
    statuses = more.pop("statuses", ("DONE", "DONE"))
    return Replay(
        Path("none.json"), "none", record, statuses, 2.0, (60.0, 60.0), overage, episode=episode or None, **more
    )


def random_games(count: int, seed: int = 1, geometry: Geometry = STANDARD) -> list[Replay]:
    rng, games = random.Random(seed), []
    for number in range(count):
        position, moves = Position.empty(geometry), list[int]()
        while not position.is_over():
            moves.append(rng.choice(position.winning_columns() or position.legal_columns()))
            position = position.play(moves[-1])
        names = (ME, f"team {number % 7}") if number % 2 else (f"team {number % 7}", ME)
        games.append(played(tuple(moves), names, number + 1, geometry))
    return games


@pytest.fixture
def database(tmp_path):
    with GameDatabase(tmp_path / "games.sqlite") as found:
        yield found


def test_a_game_comes_back_as_it_was_read(database):
    replay = played(
        (3, 3, 2, 2, 4, 4, 1), episode=7, calls={0: Call(1.25), 2: Call(0.5)}, date="2026-01-02", ratings=(None, 812.5),
        overage=(60.0, 57.5, 60.0, 57.5, 60.0, 57.5, 60.0),
    )  # fmt: skip
    assert database.add([replay], ME, 44) == 1
    (game,) = database.games()
    assert (game.names, game.columns, game.geometry) == ((ME, THEM), replay.record.moves, STANDARD)
    assert (game.winner, game.points, game.fault, game.opening) == (0, (1.0, 0.0), None, 0)
    assert game.seconds == (1.25, 4.5, 0.5, None, None, None, None) and game.overage == replay.overage
    assert (game.episode, game.date, game.me, game.submission) == (7, "2026-01-02", ME, 44)
    assert game.ratings == (None, 812.5) and game.banks == (60.0, 60.0) and game.seat_of(THEM) == 1


def test_a_game_counts_once(database):
    """By Kaggle's number whatever its file is called; without one by what happened, logs beside it or not."""
    numbered, nameless = played((3, 3), episode=7), played((3, 4), statuses=("DONE", "DONE"))
    assert database.add([numbered, replace(numbered, path=Path("copy.json"), name="copy"), nameless]) == 2
    assert database.add([nameless, replace(nameless, calls={0: Call(1.0)}), numbered]) == 0
    assert database.add([replace(nameless, overage=(60.0, 51.0)), played((3, 3), episode=8)]) == 2
    assert len(database) == 4
    assert database.add([numbered], ME, 5) == 0 and database.owners() == {ME: 1}


def test_a_stored_game_is_told_by_its_clocks(database):
    """Two games of a store with the same moves are two; an edited file gives its old games another name, not twice."""
    first = played((3, 3), calls={0: Call(0.001), 1: Call(0.002)}, is_stored=True)
    second = replace(first, calls={0: Call(0.001), 1: Call(0.003)})
    renamed = replace(first, record=replace(first.record, names=("mine 3fa2c1", THEM)))
    assert database.add([first, second, renamed]) == 2


@pytest.mark.parametrize("geometry", [STANDARD, geometry_of(5, 4, 3), geometry_of(12, 12, 4)], ids=str)
def test_positions_are_those_of_the_games(database, geometry):
    """Against a count over all games, mirror images together, at every position of some of them."""
    games = random_games(40, geometry=geometry)
    database.add(games)
    for asked in games[:3]:
        for ply in range(0, len(asked.record.moves), 3):
            position = Position.from_moves(asked.record.moves[:ply], geometry)
            found = {one.column: one for one in database.at(position)}
            expected = _counted(games, position)
            assert {column: (one.games, one.won, one.lost) for column, one in found.items()} == expected


def _counted(games: list[Replay], position: Position) -> dict[int, tuple[int, int, int]]:
    """(games, won, lost) of each move in a position, without the index."""
    found: dict[int, tuple[int, int, int]] = {}
    last = position.geometry.columns - 1
    for game in games:
        state = Position.empty(position.geometry)
        for ply, column in enumerate(game.record.moves):
            if state in (position, position.mirror()):
                move = column if state == position else last - column
                move = min(column, last - column) if position == position.mirror() else move
                count, won, lost = found.get(move, (0, 0, 0))
                score = game.score(ply % 2)
                found[move] = (count + 1, won + (score == 1), lost + (score == 0))
            state = state.play(column)
    return found


def test_the_moves_of_an_opening_are_nobodys(database):
    database.add([played((3, 3, 2, 2), opening=2)])
    assert database.at(Position.empty(STANDARD)) == []
    (made,) = database.at(Position.from_moves((3, 3), STANDARD))
    assert (made.column, made.players) == (2, ((ME, 1),))
    (game,) = database.games()
    assert [ply for ply, _ in game.positions()] == [2, 3]


def test_who_played_what_and_how_it_ended(database):
    line = (3, 0, 3, 0, 3, 0, 3)
    unfinished: dict[str, Any] = {"statuses": ("ACTIVE", "INACTIVE")}
    games = [played(line, episode=1), played((3, 1), (THEM, ME), 2, **unfinished), played((3, 3, 3, 3), episode=3)]
    forfeit: dict[str, Any] = {"forfeit": (0, "timeout"), "statuses": ("TIMEOUT", "DONE")}
    database.add([*games, played((3, 2), ("other", ME), 4, **forfeit)])
    (made,) = database.at(Position.empty(STANDARD))
    assert (made.column, made.games, made.won, made.drawn, made.lost) == (3, 4, 1, 1, 1)
    assert made.points == 0.5 and made.players == ((ME, 2), ("other", 1), (THEM, 1))


def test_filters(database):
    database.add([replace(game, date=f"2026-01-{game.episode:02}") for game in random_games(28)])
    database.add_ratings({"team 1": 900.0, "team 2": 700.0}, "2026-01-01")
    database.add_ratings({"team 1": 1100.0}, "2026-01-09")

    def episodes(**asked):
        return [(game.episode or 0) - 1 for game in database.games(**asked)]

    assert episodes(opponent="team 3") == [3, 10, 17, 24]
    assert episodes(opponent="team 3", seat=0) == [3, 17] and episodes(me=ME, opponent="team 3", seat=1) == [10, 24]
    assert episodes(me=ME, since="2026-01-27") == [26, 27] and episodes(me="team 3", opponent="team 2") == []
    assert episodes(rated=(1000, 1200)) == [1, 8, 15, 22] and episodes(rated=(600, 800), me=ME, seat=1) == [2, 16]
    counted = sum(made.games for made in database.at(Position.empty(STANDARD), opponent="team 3", me=ME))
    assert counted == 4 and database.names()[ME] == 28


def test_a_rating_is_the_one_kept_nearest_before_the_game(database):
    database.add([played((3,), date=date, overage=(left,)) for left, date in ((60.0, "2026-01"), (59.0, "2026-03-05"))])
    for date, score in (("2026-02-01", 650.0), ("2026-03-01", 700.0), ("2026-04-01", 800.0)):
        database.add_ratings({THEM: score}, date)
    assert [game.ratings for game in database.games()] == [(None, 650.0), (None, 700.0)]
    assert database.ratings() == {THEM: [("2026-02-01", 650.0), ("2026-03-01", 700.0), ("2026-04-01", 800.0)]}
    database.add_submission_score(44, 912.5, "2026-03-01")
    assert database.submission_scores(44) == [("2026-03-01", 912.5)] and database.submission_scores(45) == []


def test_what_fails_keeps_the_batches_before(tmp_path):
    """As after a kill: whole batches are there, and adding again goes on."""

    def breaking():
        yield from games[: BATCH + 50]
        raise RuntimeError("no more")

    games, path = random_games(BATCH + 100), tmp_path / "games.sqlite"
    with GameDatabase(path) as database, pytest.raises(RuntimeError):
        database.add(breaking())
    with GameDatabase(path) as database:
        assert len(database) == BATCH
        assert database.add(games) == 100


def test_other_files_are_refused_and_stay_as_they_are(tmp_path):
    text, other, newer = tmp_path / "notes.txt", tmp_path / "other.sqlite", tmp_path / "newer.sqlite"
    text.write_text("not a database, but a text that is longer than the head of one")
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE addresses (name TEXT)")
    with GameDatabase(newer) as database:
        database.connection.execute("PRAGMA user_version = 9")
    for path, words in {
        text: "is not a file of games (not an SQLite database)",
        other: "is not a file of games (a database of something else)",
        newer: "written by a newer version of the toolkit (schema 9, this one reads 2)",
    }.items():
        before = path.read_bytes()
        for create in (True, False):
            with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
                GameDatabase(path, create)
            assert words in str(caught.value)
        assert path.read_bytes() == before
    with pytest.raises(ValueError, match="no games were added yet"):
        GameDatabase(tmp_path / "none.sqlite", create=False)
