"""The database of games: each game once, positions with their mirror images, filters."""

import contextlib
import os
import random
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from connectx_core.position import STANDARD, Geometry, Position, geometry_of, write_columns
from connectx_toolkit.arena.store import MatchStore
from connectx_toolkit.games.database import GAMES_AT_ONCE, ORIGINS, GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.kaggle.rules import Fault, Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve

ME, THEM = "my_team", "them"


def played(
    moves: tuple[int, ...], names=(ME, THEM), episode: int = 0, geometry: Geometry = STANDARD, **more: Any
) -> Game:
    """A game as it is read from a replay, ended by the limit of steps if it is not over."""
    more = {"overage": (60.0,) * len(moves), "source": "none.json", **more}
    game = Game(geometry, moves, names, episode=episode or None, **more)
    return replace(game, cut="step limit") if game.ending == "unfinished" and "cut" not in more else game


def random_games(count: int, seed: int = 1, geometry: Geometry = STANDARD) -> list[Game]:
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
        (3, 3, 2, 2, 4, 4, 1), episode=7, measured=(1.25, None, 0.5), date="2026-01-02",
        overage=(60.0, 57.5, 60.0, 57.5, 60.0, 57.5, 60.0),
    )  # fmt: skip
    assert database.add([replay], ME, 44) == 1
    (game,) = database.games()
    assert game == replace(replay, submission=44, source=os.path.abspath("none.json"))
    assert database.owners() == {ME: 1}


@pytest.mark.parametrize(
    ("more", "ending"),
    [
        ({"faults": (Fault(1, 3, "hang", "3 after 99 s", True),)}, "hang"),
        ({"cut": "run limit"}, "run limit"),
        ({"cut": ""}, "unfinished"),
        ({}, "step limit"),
    ],
)
def test_endings_come_back(more, ending, database):
    game = played((3, 3, 2), reserve=None, act_timeout=0.5, loads=(1.5, 0.25), **more)
    database.add([game])
    (found,) = database.games()
    assert found == replace(game, source=found.source) and found.ending == ending and found.name == "none"


def test_a_game_counts_once(database):
    """By Kaggle's number whatever its file is called; without one by what happened, logs beside it or not."""
    numbered, nameless = played((3, 3), episode=7), played((3, 4))
    assert database.add([numbered, replace(numbered, source="copy.json"), nameless]) == 2
    assert database.add([nameless, replace(nameless, measured=(1.0,)), numbered]) == 0
    assert database.add([replace(nameless, overage=(60.0, 51.0)), played((3, 3), episode=8)]) == 2
    assert len(database) == 4
    assert database.add([numbered], ME, 5) == 0 and database.owners() == {ME: 1}


def test_a_stored_game_is_told_by_its_clocks(database):
    """Two games of a store with the same moves are two; an edited file gives its old games another name, not twice."""
    first = played((3, 3), measured=(0.001, 0.002), loads=(0.0, 0.0))
    second = replace(first, measured=(0.001, 0.003))
    renamed = replace(first, names=("mine 3fa2c1", THEM))
    assert database.add([first, second, renamed]) == 2


@pytest.mark.parametrize(
    "geometry",
    [STANDARD, geometry_of(5, 4, 3), geometry_of(12, 12, 4), geometry_of(2, 11, 3), geometry_of(4, 10, 3)],
    ids=str,
)
def test_positions_are_those_of_the_games(database, geometry):
    """Against a count over all games, mirror images together, at every position of some of them.

    On 11 columns some games are written with commas, others without, and one's mirror image may be of the other kind.
    """
    games = random_games(80, geometry=geometry)
    database.add(games)
    assert (len({"," in write_columns(game.moves) for game in games}) == 2) == (geometry.columns > 10)
    for asked in games[:3]:
        for ply in range(0, len(asked.moves), 3):
            position = Position.from_moves(asked.moves[:ply], geometry)
            found = {one.column: one for one in database.at(position)}
            expected, players = _counted(games, position)
            assert {column: (one.games, one.won, one.lost) for column, one in found.items()} == expected
            assert {column: dict(one.players) for column, one in found.items()} == players


def test_games_that_began_alike_are_read_once(database, monkeypatch):
    """On a board, many thousands of games may be asked what was played in a position."""
    database.add(random_games(60))
    read = list[str]()

    def read_column(text: str) -> tuple[int]:
        read.append(text)
        return (int(text),)

    monkeypatch.setattr("connectx_toolkit.games.database.parse_columns", read_column)
    assert sum(made.games for made in database.at(Position.empty(STANDARD))) == 60
    assert len(read) <= STANDARD.columns


def _counted(
    games: list[Game], position: Position
) -> tuple[dict[int, tuple[int, int, int]], dict[int, dict[str, int]]]:
    """(games, won, lost) of each move in a position, and the games of those who made it, without the index."""
    found: dict[int, tuple[int, int, int]] = {}
    players: dict[int, dict[str, int]] = {}
    last = position.geometry.columns - 1
    for game in games:
        state = Position.empty(position.geometry)
        for ply, column in enumerate(game.moves):
            if state in (position, position.mirror()):
                move = column if state == position else last - column
                move = min(column, last - column) if position == position.mirror() else move
                count, won, lost = found.get(move, (0, 0, 0))
                points = game.points and game.points[ply % 2]
                found[move] = (count + 1, won + (points == 1), lost + (points == 0))
                of_move, name = players.setdefault(move, {}), game.names[ply % 2]
                of_move[name] = of_move.get(name, 0) + 1
            state = state.play(column)
    return found, players


def test_the_moves_of_an_opening_are_nobodys(database):
    database.add([played((3, 3, 2, 2), opening=2)])
    assert database.at(Position.empty(STANDARD)) == []
    (made,) = database.at(Position.from_moves((3, 3), STANDARD))
    assert (made.column, made.players) == (2, ((ME, 1),))
    (game,) = database.games()
    assert [*game.positions()] == [2, 3]


def test_who_played_what_and_how_it_ended(database):
    line = (3, 0, 3, 0, 3, 0, 3)
    games = [played(line, episode=1), played((3, 1), (THEM, ME), 2, cut=""), played((3, 3, 3, 3), episode=3)]
    faults = (Fault(0, 2, "timeout", "", True),)
    database.add([*games, played((3, 2), ("other", ME), 4, faults=faults)])
    (made,) = database.at(Position.empty(STANDARD))
    assert (made.column, made.games, made.won, made.drawn, made.lost) == (3, 4, 1, 1, 1)
    assert made.points == 0.5 and made.players == ((ME, 2), ("other", 1), (THEM, 1))


def test_filters(database):
    database.add([replace(game, date=f"2026-01-{game.episode:02}") for game in random_games(28)])

    def episodes(**asked):
        return [(game.episode or 0) - 1 for game in database.games(**asked)]

    assert episodes(opponent="team 3") == [3, 10, 17, 24]
    assert episodes(opponent="team 3", seat=0) == [3, 17] and episodes(me=ME, opponent="team 3", seat=1) == [10, 24]
    assert episodes(me=ME, since="2026-01-27") == [26, 27] and episodes(me="team 3", opponent="team 2") == []
    counted = sum(made.games for made in database.at(Position.empty(STANDARD), opponent="team 3", me=ME))
    assert counted == 4 and database.names()[ME] == 28


def test_what_fails_keeps_the_batches_before(tmp_path):
    """As after a kill: whole batches are there, and adding again goes on."""

    def breaking():
        yield from games[: GAMES_AT_ONCE + 50]
        raise RuntimeError("no more")

    games, path = random_games(GAMES_AT_ONCE + 100), tmp_path / "games.sqlite"
    with GameDatabase(path) as database, pytest.raises(RuntimeError):
        database.add(breaking())
    with GameDatabase(path) as database:
        assert len(database) == GAMES_AT_ONCE
        assert database.add(games) == 100


def test_a_damaged_row_does_not_end_the_others(database):
    """It is named by file and row; neither the games nor the moves of a position stop at it."""
    database.add([played((3, 3), episode=1), played((2, 3), episode=2), played((1, 3), episode=3)])
    database.connection.execute("UPDATE games SET moves = 'xyz' WHERE episode = 2")
    assert [game.episode for game in database.games()] == [1, 3]
    assert {made.column for made in database.at(Position.empty(STANDARD))} == {1, 3}
    assert all(why.startswith(f"{database.path}: row 2 of its games: expected columns") for why in database.left_out)
    assert len(database.left_out) == 2 and len(database) == 3


# Dates, order, and where games came from


def test_the_time_of_a_file_is_not_the_date_of_its_game(database, tmp_path):
    (tmp_path / "1.json").touch()
    game = played((3, 3), episode=1, source=str(tmp_path / "1.json"))
    database.add([game])
    assert [one.date for one in database.games()] == [None]
    assert [*database.games(since="2026")] == [] and "1 games of which no date is known" in database.left_out[0]
    database.add([replace(game, date="2026-01-05T10:00:00Z")])
    assert [one.date for one in database.games()] == ["2026-01-05T10:00:00Z"]
    database.add([game])
    assert [one.date for one in database.games()] == ["2026-01-05T10:00:00Z"]


def test_games_of_matches_are_not_of_the_ladder(database):
    """Unless they are asked for; whichever count, their positions do, too."""
    pair = resolve("leftmost"), resolve("random")
    game = played((2, 3), (ME, "random"), cut="run limit", measured=(0.1, 0.2), source="")
    with MatchStore(database.path) as store:
        match = store.match_id(*pair, Setup(Rules()), [()], 1, "the empty board")
        store.add_played(match, Task(0, pair, (), (1, 2)), game)
    stored = database.match_games(match)[0]
    database.add([played((3, 3), episode=1, date="2026-01-05"), played((2, 1), episode=2)], ME)
    found = {}
    for origin in ORIGINS:
        with GameDatabase(database.path, create=False, origin=origin) as part:
            columns = {made.column: made.games for made in part.at(Position.empty(STANDARD))}
            filtered = sum(made.games for made in part.at(Position.empty(STANDARD), me=ME, seat=0))
            found[origin] = len(part), part.names()["random"], part.owners(), columns, filtered, [*part.games()]
    ladder, arena, whole = found["ladder"], found["arena"], found["all"]
    assert ladder[:5] == (2, 0, {ME: 2}, {3: 1, 2: 1}, 2) and [game.episode for game in ladder[5]] == [1, 2]
    assert arena == (1, 1, {}, {2: 1}, 1, [stored]) and stored.source == str(database.path / "1-1")
    assert whole[:5] == (3, 1, {ME: 2}, {3: 1, 2: 2}, 3) and {*whole[5]} == {*ladder[5], stored}


def test_games_are_removed_by_number_and_by_source(database, tmp_path):
    def at(source: str, episode: int) -> Game:
        return played((3, episode % 7), episode=episode, source=str(tmp_path / source))

    places = ("a/1.json", "a/b/2.json", "ab/3.json", "c/4.json", "day.tar/2026/5.json")
    database.add([at(place, number) for number, place in enumerate(places, 1)])

    def left() -> list[int | None]:
        return [game.episode for game in database.games()]

    with pytest.raises(ValueError, match="holds no game of nowhere: expected Kaggle's number"):
        database.remove(["3", "nowhere"])
    assert left() == [1, 2, 3, 4, 5]
    assert database.remove([str(tmp_path / "a")]) == 2 and left() == [3, 4, 5]
    assert database.remove(["3", str(tmp_path / "day.tar")]) == 2 and left() == [4]
    assert database.remove([str(tmp_path / "c")]) == 1 and left() == []
    for what in ("7", str(10**30)):
        with pytest.raises(ValueError):
            database.remove([what])
    assert database.add([at("a/1.json", 1)]) == 1


def test_a_file_of_version_5_is_brought_up_to_date(tmp_path):
    """Its matches say nothing of their openings, and its games had ratings; the match played again tells."""
    path, pair = tmp_path / "old", (resolve("leftmost"), resolve("random"))
    with MatchStore(path) as store:
        match = store.match_id(*pair, Setup(Rules()), [()], 1, "balanced")
        store.add_played(match, Task(0, pair, (), (1, 2)), played((2, 3), cut="run limit"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            "ALTER TABLE matches DROP COLUMN openings; PRAGMA user_version = 5;"
            "UPDATE games SET record = json_set(record, '$.ratings', json('[1200.5, null]'))"
        )
    with GameDatabase(path, create=False) as database:
        (stored,) = database.matches()
        assert database.left_out == [] and (stored.openings, stored.games[0].moves) == ("", (2, 3))
    with MatchStore(path) as store:
        assert store.match_id(*pair, Setup(Rules()), [()], 1, "balanced") == match
        assert [stored.openings for stored in store.matches()] == ["balanced"]
