"""Matches: pairs, seats, seeds, faults, early stop, and several games at a time."""

import os
import random
import shutil
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from connectx_core.position import STANDARD, Position
from connectx_toolkit import api
from connectx_toolkit.arena.match import Slot, open_pool, play_match
from connectx_toolkit.arena.results import Match
from connectx_toolkit.arena.schedule import pair_tasks
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.statistics.intervals import Sprt
from connectx_toolkit.system.cores import reserve_core, usable_cores
from tests.conftest import LINUX, TWO_CORES

pytestmark = pytest.mark.slow
FAST = Setup(Rules(), "fast")
LEFTMOST = "def agent(obs, config):\n    return [c for c in range(config.columns) if obs.board[c] == 0][0]\n"
OPENINGS = [(3, 3), (3, 3, 2, 4), (0, 1, 2, 3)]
LEFT, RANDOM = resolve("leftmost"), resolve("random")


def scripted(number: int, score: float, start: tuple[int, ...] = (3, 3), **changes) -> Game:
    """A game from an opening in which the agent that moves first got ``score``; a draw ends after one move."""
    moves, rng = [*start, number % 7], random.Random(number)
    while score != 0.5:
        position = Position.from_moves(moves[: len(start) + 1], STANDARD)
        del moves[len(start) + 1 :]
        while not position.is_over():
            moves.append(rng.choice(position.legal_columns()))
            position = position.play(moves[-1])
        if position.is_lost() and position.ply % 2 == score:
            break
    cut = "step limit" if score == 0.5 else ""
    measured = (*(None for _ in start), *(0.5 for _ in moves[len(start) :]))
    return Game(STANDARD, tuple(moves), opening=len(start), measured=measured, **{"cut": cut, **changes})


def play(
    first, second, setup, openings, pairs, seed=1, cores=1, sprt=None, known=None, on_game=lambda task, game: None
) -> Match:
    """A match, played in a pool of its own."""
    match = Match(first, second, dict(known or {}), seed=seed, sprt=sprt)
    with open_pool(setup, cores) as pool:
        play_match(match, openings, pairs, pool, on_game)
    return match


def test_scores_are_those_of_the_first_agent():
    """Wins in both seats are 2 points; an incomplete pair does not count."""
    games = {0: scripted(0, 1), 1: scripted(1, 0), 2: scripted(2, 1), 3: scripted(3, 1), 4: scripted(4, 0.5)}
    match = Match(LEFT, RANDOM, games)
    assert [pair.points for pair in match.pairs()] == [2, 1] and match.evidence.results == [0, 0, 1, 0, 1]
    assert match.side(0).tally == (3, 1, 1) and match.side(1).tally == (1, 1, 3)
    assert match.side(0, seat=0).tally == (2, 1, 0) and match.side(0, seat=1).tally == (1, 0, 1)
    assert match.side(1, seat=0).tally == (1, 0, 1)


def test_times_and_overage_belong_to_their_agent():
    """After an opening of 3 plies seat 1 calls first; each seat pays for its own load, in its first call."""
    measured, overage = (None, None, None, 0.5, 0.25, 0.125), (60.0, 60.0, 60.0, 59.0, 50.0, 59.0)
    game = Game(STANDARD, (3, 3, 3, 0, 1, 0), opening=3, cut="run limit", overage=overage, measured=measured)
    side = Match(LEFT, RANDOM, {0: game}).side
    assert side(0).move_seconds == (0.25,) and side(1).move_seconds == (0.5, 0.125)
    assert (side(0).overage_used, side(1).overage_used) == (10.0, 1.0) and side(0).tally == (0, 1, 0)
    side = Match(LEFT, RANDOM, {0: replace(game, loads=(0.0625, 0.375))}).side
    assert side(0).move_seconds == (0.1875,) and side(1).move_seconds == (0.125, 0.125)
    assert (side(0).load_seconds, side(1).load_seconds) == ((0.0625,), (0.375,))


def returns_a_float_on_its_third_move(obs, config):
    return 0 if obs.step < 6 else 3.0


def returns_none(obs, config):
    return None


def test_faults_by_kind_and_seat():
    match = play(resolve(returns_a_float_on_its_third_move), resolve("middle"), FAST, [(1, 2)], 3, seed=1)
    both, first, second = (match.side(0, seat) for seat in (None, 0, 1))
    assert both.faults == {"float": 6} and first.faults == second.faults == Counter({"float": 3})
    assert both.tally == (0, 0, 6) and both.forfeits == 6 and match.side(1).faults == {}
    assert match.evidence.results == [3, 0, 0, 0, 0] and match.evidence.distinct == 1


def test_a_fault_that_plays_on_is_counted_but_does_not_forfeit():
    side = play(resolve(returns_none), resolve("middle"), FAST, [()], 1, seed=1).side(0)
    assert side.faults["none"] > side.forfeits


@pytest.mark.parametrize("concurrency", [1, pytest.param(2, marks=TWO_CORES)])
def test_matches_repeat(concurrency):
    """The seed decides every move, however many games are played at a time."""
    runs = [play(RANDOM, LEFT, FAST, OPENINGS, 20, seed, cores) for seed, cores in ((7, 1), (7, concurrency), (8, 1))]
    moves = [{number: game.moves for number, game in run.games.items()} for run in runs]
    assert moves[0] == moves[1] != moves[2] and len(moves[0]) == 40


def test_known_games_are_not_played_again():
    whole = play(RANDOM, LEFT, FAST, OPENINGS, 6, seed=3)
    known = {number: whole.games[number] for number in (0, 1, 2, 7)}
    played: list[int] = []

    def on_game(task: Task, game: Game) -> None:
        played.append(task.number)

    rest = play(RANDOM, LEFT, FAST, OPENINGS, 6, 3, known=known, on_game=on_game)
    assert played == [3, 4, 5, 6, 8, 9, 10, 11]
    assert {n: g.moves for n, g in rest.games.items()} == {n: g.moves for n, g in whole.games.items()}


def test_sprt_stops_at_the_same_pair():
    """random is weaker than leftmost: H0 is accepted long before 400 pairs, and at the same pair with 2 at a time."""
    test, cores = Sprt(0, 50), min(2, len(usable_cores()))
    runs = [play(RANDOM, LEFT, FAST, OPENINGS, 400, 1, concurrency, test) for concurrency in (1, cores)]
    counts = [run.evidence.counts for run in runs]
    assert counts[0] == counts[1] and sum(counts[0]) < 200 and test.decision(counts[0]) == "H0"
    before = dict(runs[0].games)
    last = max(before) // 2
    assert (
        test.decision(Match(RANDOM, LEFT, {n: g for n, g in before.items() if n // 2 < last}).evidence.counts) is None
    )
    again = play(RANDOM, LEFT, FAST, OPENINGS, 400, 1, 1, test, known=before)
    assert again.games == before


def test_an_agent_against_itself_is_two_processes():
    pids = play(resolve(pid_parity), resolve(pid_parity), FAST, [()], 1, seed=1)
    assert len(pids.games) == 2


_memory: list[int] = []


def pid_parity(obs, config):
    """Fails if it is ever asked to play both sides of one game."""
    _memory.append(obs.mark)
    if obs.step < 2:
        _memory[:] = [obs.mark]
    assert set(_memory) == {obs.mark}
    return random.choice([c for c in range(7) if not obs.board[c]])


def state_of(pid: int) -> str:
    """T is stopped, S asleep; nothing if the process is gone."""
    path = Path(f"/proc/{pid}/stat")
    return path.read_text().rpartition(")")[2].split()[0] if path.exists() else ""


@LINUX  # reads /proc
def test_slots_keep_agents_and_stop_them_meanwhile(tmp_path, monkeypatch):
    """An agent of an earlier pairing waits, stopped, and plays on in the same process; the oldest are ended."""

    def note_pid(obs, config):
        with (tmp_path / "pids").open("a") as file:
            file.write(f"{os.getpid()} ")
        return obs.step % 7

    noting = resolve(note_pid)
    with closing(Slot(FAST)) as slot:
        slot.play(Task(0, (noting, LEFT), (), (1, 2)))
        pid = int((tmp_path / "pids").read_text().split()[0])
        assert state_of(pid) != "T"
        slot.play(Task(1, (RANDOM, LEFT), (), (1, 2)))
        assert state_of(pid) == "T"
        slot.play(Task(2, (LEFT, noting), (), (1, 2)))
        assert set((tmp_path / "pids").read_text().split()) == {str(pid)} and len(slot.players) == 3
        monkeypatch.setattr("connectx_toolkit.arena.match.KEPT", 2)
        slot.play(Task(3, (RANDOM, LEFT), (), (1, 2)))
        assert state_of(pid) == "" and len(slot.players) == 2
    assert not slot.players


@LINUX  # cores are bound by its means
@TWO_CORES
def test_slots_have_a_core_each(tmp_path, monkeypatch, capsys):
    """Two games at a time, each bound to a core that no other run has; where none is left, to none in particular."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # other runs on this machine reserve cores too
    notes = tmp_path / "notes"

    def note_core(obs, config):
        (notes / f"{os.getpid()}").write_text(repr(sorted(os.sched_getaffinity(0))))
        return obs.step % 7

    def bound() -> set[str]:
        notes.mkdir()
        with open_pool(FAST, concurrency=2) as pool:
            list(pool.play(pair_tasks(resolve(note_core), LEFT, [()], 40, 1)))
        found = {path.read_text() for path in notes.iterdir()}
        shutil.rmtree(notes)
        return found

    cores = usable_cores()
    assert bound() == {f"[{core}]" for core in cores[:2]} and capsys.readouterr().err == ""
    other = [reserve_core() for _ in cores[1:]]  # another run, which leaves the last one
    assert bound() == {f"[{cores[-1]}]", repr(cores)}
    assert capsys.readouterr().err.startswith("1 of the 2 parallel games share a core with other runs")
    for reserved in other:
        assert reserved is not None
        reserved.lock.release()
    assert bound() == {f"[{core}]" for core in cores[:2]}  # and what was reserved is free again


@pytest.mark.parametrize("edit", ["file.write('#')", "pass"], ids=["changed", "saved"])
def test_a_file_that_is_changed_while_it_plays(edit, tmp_path):
    """Its games would be of two versions, and be found again for that of the beginning."""
    path, games = tmp_path / "mine.py", tmp_path / "games.sqlite"
    path.write_text(
        f"with open({str(path)!r}, 'a') as file:\n    {edit}\nimport os\nos.utime({str(path)!r})\n{LEFTMOST}"
    )
    if edit == "pass":
        assert len(api.match(path, "middle", pairs=2, games=games).games) == 4
        return
    with pytest.raises(ValueError, match=r"mine\.py was changed while it played"):
        api.match(path, "middle", pairs=2, games=games)
    with GameDatabase(games, create=False, origin="arena") as database:
        assert len(database) == 0
    with pytest.raises(ValueError, match=r"mine\.py was changed while it played"):
        api.get_win_percentages(path, "middle", 2)
