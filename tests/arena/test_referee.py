"""The two referees against each other, on agents that play, fail, and dawdle."""

import random
import sys
from collections import Counter
from dataclasses import replace

import pytest
from jsonschema import validators
from kaggle_environments import agent as kaggle_agent
from kaggle_environments import core as kaggle_core
from kaggle_environments import make

from connectx_core.position import STANDARD
from connectx_toolkit.arena import referee as referees
from connectx_toolkit.arena.referee import REFEREES, play_fast, play_kaggle
from connectx_toolkit.games.game import Game
from connectx_toolkit.kaggle import seats
from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE, STATUS_OF, Rules
from connectx_toolkit.players.fork_server import ForkServer
from connectx_toolkit.players.process import AgentProcess, Inline
from connectx_toolkit.players.spec import resolve
from tests.conftest import REAL_CLOCK
from tests.misbehaving import CASES, CONFIGS, Clock, returning, scripted_games

pytestmark = pytest.mark.slow
FORK_SERVER = ForkServer()  # from which all agents' processes are forked; it ends with this one
TIGHT = Rules({"actTimeout": 0.2}, overage=0.2)


def random_legal(obs, config):
    return random.choice([c for c in range(config.columns) if not obs.board[c]])


def play(referee, agents, rules, opening=(), seeds=(1, 2), grace=0.3):
    workers = [AgentProcess(resolve(agent), grace, server=FORK_SERVER) for agent in agents]
    return play_with(workers, referee, rules, opening, seeds)


def play_with(workers, referee, rules, opening=(), seeds=(1, 2)):
    try:
        return referee(workers, rules, opening, seeds)
    finally:
        for worker in workers:
            worker.close()


def test_defaults_are_kaggles():
    env = make("connectx")
    assert dict(env.configuration) == DEFAULTS
    assert env.state[0].observation.remainingOverageTime == OVERAGE


def test_kaggles_schemas_are_checked_in_the_first_game_only(monkeypatch):
    """A state is validated as ever: misbehaving agents, below, forfeit by Kaggle's own words."""
    validator, asked = validators.validator_for({}), list[str]()
    check = validator.check_schema

    @classmethod  # type: ignore[misc]
    def counting(cls, schema, *more, **options):
        asked.append(repr(schema))
        check(schema, *more, **options)

    monkeypatch.setattr(validator, "check_schema", counting)
    monkeypatch.setattr(seats, "_CHECKED", set())
    counts = list[int]()
    for _ in range(2):
        assert len(play(play_kaggle, [returning(3), returning(2)], Rules()).moves) == 7
        counts.append(len(asked))
    assert 0 < counts[0] == counts[1] == len(set(asked))
    assert vars(validator)["check_schema"] is counting


def test_same_verdicts_on_scripted_games(monkeypatch):
    """Moves, faults, durations and overage time are equal: misdeeds of all kinds, at scripted speeds.

    What a game says of statuses, rewards and points is what Kaggle's environment has in its state; for a float and at
    the run limit, where Kaggle's ``evaluate`` raises, it has no verdict.
    """
    clock, fast_clock = Clock(), Clock()
    monkeypatch.setattr(kaggle_agent, "perf_counter", clock)
    monkeypatch.setattr(kaggle_core, "perf_counter", clock)
    monkeypatch.setattr(referees, "perf_counter", fast_clock)
    endings: Counter[str] = Counter()
    states = []

    def play_and_look(players, rules, opening, seeds):
        game = play_kaggle(players, rules, opening, seeds)
        states.append(referees._environment(tuple(rules.config.items()), rules.overage)[0].state)
        return game

    for truth, ours in scripted_games(50, 1, [(play_and_look, clock), (play_fast, fast_clock)]):
        assert ours.overage == pytest.approx(truth.overage, abs=1e-5)  # Kaggle rounds durations to the microsecond
        assert replace(ours, overage=()) == replace(truth, overage=())
        endings[ours.ending] += 1
        state = states.pop()
        assert [truth.overage_left(seat) for seat in (0, 1)] == [s.observation.remainingOverageTime for s in state]
        if ours.ending not in ("float", "run limit"):
            assert ours.statuses == tuple(s.status for s in state) and ours.rewards == tuple(s.reward for s in state)
            first, second = (-1 if s.reward is None else s.reward for s in state)
            won = (1 + (first > second) - (first < second)) / 2
            assert ours.points == (won, 1 - won)
    assert endings.keys() >= {"line", "full board", "step limit", "run limit", "timeout", "float", "none"}


def test_a_game_that_goes_on_has_kaggles_statuses():
    """And no points yet."""
    env, moves = make("connectx"), (3, 3, 2)
    for ply, column in enumerate((*moves, 0)):
        game = Game(STANDARD, moves[:ply])
        assert (game.ending, game.points) == ("unfinished", None)
        assert game.statuses == tuple(seat.status for seat in env.state)
        assert game.rewards == tuple(seat.reward for seat in env.state)
        env.step([column, 0] if ply % 2 == 0 else [0, column])


@REAL_CLOCK
@pytest.mark.parametrize("referee", REFEREES.values(), ids=REFEREES)
@pytest.mark.parametrize("name", CASES)
def test_misbehaving_agents_forfeit(referee, name):
    """Each gets its fault and a loss, by our referee in either seat, and the run goes on."""
    case = CASES[name]
    for seat in (0, 1) if referee is play_fast else (0,):
        game = play(referee, ["random", case.agent] if seat else [case.agent, "random"], TIGHT)
        assert [(fault.seat, fault.kind, fault.fatal) for fault in game.faults] == [(seat, case.kind, True)]
        assert game.statuses == tuple(case.status if s == seat else "DONE" for s in (0, 1))
        assert game.rewards == tuple(None if s == seat else 0 for s in (0, 1))
        assert game.points == (seat, 1 - seat) and game.ending == case.kind and len(game.moves) == seat
        assert STATUS_OF[case.kind] == case.status


@REAL_CLOCK
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.kind not in ("crash", "hang")])
def test_the_same_without_isolation(name):
    """Agents in the referee's own process get the same faults, as long as they neither crash nor hang."""
    game = play_with([Inline(resolve(CASES[name].agent)), Inline(resolve(random_legal))], play_fast, TIGHT)
    assert game.ending == CASES[name].kind and game.rewards == (None, 0)
    assert sys.stdout is not None and not sys.stdout.closed


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_same_games_with_real_agents(config):
    """Seeded agents in processes play the same game under either referee, after an opening too."""
    opening = [0, config.get("columns", 7) - 1][: 2 if config.get("rows", 6) > 1 else 0]
    games = [play(r, ["random", random_legal], Rules(config), opening, (1, 9)) for r in REFEREES.values()]
    assert games[0].moves == games[1].moves and games[0].moves[: len(opening)] == tuple(opening)
    assert games[0].rewards == games[1].rewards and games[0].statuses == games[1].statuses


@REAL_CLOCK
@pytest.mark.parametrize("referee", REFEREES.values(), ids=REFEREES)
def test_every_game_pays_for_the_load(referee, tmp_path):
    """A process that stays loads once, 0.4 s; each game is charged for it, and forfeits if that is too much."""
    path, notes = tmp_path / "agent.py", tmp_path / "notes"
    path.write_text(
        f"import time\nopen({str(notes)!r}, 'a').write('loaded ')\ntime.sleep(0.4)\n"
        "def agent(obs, config):\n    return obs.step // 2 % 7\n"
    )
    workers = [AgentProcess(resolve(agent), server=FORK_SERVER) for agent in (str(path), random_legal)]
    workers[0].is_reloaded = False  # as if it had a name
    try:
        games = [referee(workers, Rules({"actTimeout": 0.2}, overage=1.0), (), (1, 2)) for _ in range(3)]
        forfeit = referee(workers, Rules({"actTimeout": 0.2}, overage=0.1), (), (1, 2))
        again = referee(workers, Rules({"actTimeout": 0.2}, overage=0.1), (), (1, 2))
    finally:
        for worker in workers:
            worker.close()
    assert notes.read_text() == "loaded "
    for game in games:
        assert not game.faults and game.overage_left(1) == 1.0
        assert game.overage_left(0) == pytest.approx(0.75, abs=0.05)
        assert game.seconds(0) == pytest.approx(0.45, abs=0.05) and max(game.measured[1:]) < 0.2
    for game in (forfeit, again):
        assert (game.ending, game.statuses, game.rewards) == ("timeout", ("TIMEOUT", "DONE"), (None, 0))


@REAL_CLOCK
@pytest.mark.parametrize("referee", REFEREES.values(), ids=REFEREES)
@pytest.mark.parametrize(("grace", "ending", "seconds"), [(2.0, "timeout", 0.6), (0.1, "hang", 0.3)])
def test_a_load_beyond_the_bank(referee, grace, ending, seconds, tmp_path):
    """Within the grace it is let finish, as on Kaggle, and the clock decides; then it is given up."""
    path = tmp_path / "agent.py"
    path.write_text("import time\ntime.sleep(0.6)\ndef agent(obs, config):\n    return 0\n")
    game = play(referee, [str(path), random_legal], Rules({"actTimeout": 0.1}, overage=0.1), grace=grace)
    assert game.ending == ending and game.rewards == (None, 0) and game.seconds(0) == pytest.approx(seconds, abs=0.2)
    assert game.statuses == ("TIMEOUT", "DONE")


@pytest.mark.parametrize(
    "config", [{"rows": 0}, {"rows": 6.0}, {"inarow": True}, {"actTimeout": -1}, {"actTimeout": "2"}], ids=str
)
def test_rules_refuse(config):
    with pytest.raises(ValueError, match=next(iter(config))):
        Rules(config)
