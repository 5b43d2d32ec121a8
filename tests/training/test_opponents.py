"""Opponents by name: whom they play as."""

import random
import warnings
from functools import partial

import numpy as np
import pytest
from kaggle_environments import make
from kaggle_environments.envs.connectx import connectx as kaggle_connectx
from kaggle_environments.envs.connectx.connectx import negamax_agent

import agents.one_step
from connectx_core.position import STANDARD, Geometry, Position, geometry_of
from connectx_toolkit.players.spec import parse_agent_name, resolve
from connectx_toolkit.training.opponents import AgentPlayer, negamax_choose, opponent_named
from connectx_toolkit.training.vector_games import (
    FIRST,
    NO_ACTION,
    SECOND,
    ConnectX,
    play_actions,
    play_games,
    random_player,
)

pytestmark = pytest.mark.slow


def positions(count: int, plies: int, geometry: Geometry = STANDARD) -> ConnectX:
    """Games after so many random moves, without those that are over."""
    rng = np.random.default_rng(plies)
    games, player = ConnectX(count, geometry), random_player(rng)
    for _ in range(plies):
        which = np.flatnonzero(~games.done)
        games.play(player(games, which), which)
    return games.take(np.flatnonzero(~games.done))


@pytest.mark.parametrize("name", ["random", "leftmost", "one_step", "minimax@2", "minimax@1~50", "leftmost~0"])
def test_columns_are_legal(name):
    player = opponent_named(name, STANDARD, np.random.default_rng(1))
    for plies in (0, 1, 12, 25):
        games = positions(30, plies)
        which = np.arange(0, len(games), 2)
        columns = player(games, which)
        assert games.legal()[which, columns].all() and len(columns) == len(which)


def test_agents_see_the_board_as_kaggle_shows_it():
    """The observation leads back to the position."""
    games = positions(20, 11)
    seen: list[Position] = []

    def agent(obs, config):
        assert obs["mark"] == obs.mark == 1 + obs.step % 2
        seen.append(Position.from_observation(obs, config))
        return agents.one_step.agent(obs, config)

    AgentPlayer(lambda: agent, STANDARD, np.random.default_rng(1))(games, np.arange(len(games)))
    assert [state[:2] for state in seen] == list(zip(*(bits.tolist() for bits in games.bitboards()), strict=True))
    assert negamax_agent.__module__.startswith("kaggle_environments")


@pytest.mark.parametrize("name", ["one_step", "n_step"])
def test_agents_draw_from_the_generator_that_they_are_given(name):
    """The same moves from the same seed, others from another one; the global generators go on as they were."""
    games, which, states = positions(40, 2), np.arange(40), (random.getstate(), str(np.random.get_state()))
    first, again, other = (opponent_named(name, STANDARD, np.random.default_rng(s))(games, which) for s in (1, 1, 2))
    assert (first == again).all() and (first != other).any()
    assert states == (random.getstate(), str(np.random.get_state()))


def course_middle(obs, config):
    return config.columns // 2


def test_faults_lose_as_at_kaggle():
    """Against Kaggle's own environment: None is column 0; a full column, none, an exception, a float lose the game."""

    def raises(obs, config):
        raise ZeroDivisionError

    agents_of = {"middle": course_middle, "none": lambda obs, config: None, "raises": raises, "8": lambda o, c: 7}
    for agent in (*agents_of.values(), lambda obs, config: "3"):
        env = make("connectx", debug=False)
        env.run([lambda obs, config: 6 if obs.step < 6 else 5 if obs.step < 10 else 4, agent])
        moves = [step[1 - number % 2].action for number, step in enumerate(env.steps[1:], 1)]
        games, which = ConnectX(1, STANDARD), np.zeros(1, np.int64)
        player = AgentPlayer(partial(lambda agent: agent, agent), STANDARD, np.random.default_rng(1))
        while not games.done[0]:
            if games.plies[0] % 2:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    play_actions(games, player(games, which), which)
            else:
                games.play(np.array([moves[int(games.plies[0])]]))
        rewards = [step.reward for step in env.steps[-1]]
        assert games.winner[0] == (SECOND if rewards[1] == 1 else FIRST), (agent, rewards)
        assert rewards[1] is None or rewards[1] == -rewards[0]


def test_a_fault_is_told():
    games = positions(3, 1)
    with pytest.warns(RuntimeWarning, match=r"an opponent chose column 9, .*: it loses that game"):
        chosen = AgentPlayer(lambda: lambda obs, config: 9, STANDARD, np.random.default_rng(1))(games, np.arange(3))
    assert (chosen == NO_ACTION).all()
    play_actions(games, chosen, np.arange(3))
    assert games.done.all() and (games.winner == FIRST).all()


def test_each_game_has_an_agent_of_its_own():
    """What an agent remembers is of one game, in games side by side and in the next ones."""

    def load():
        seen: list[int] = []

        def agent(obs, config):
            assert seen == sorted(seen) and obs.step not in seen and len(seen) == obs.step // 2
            seen.append(obs.step)
            return obs.board.index(0) % config.columns

        return agent

    rng = np.random.default_rng(3)
    for _ in range(2):
        played = play_games(
            ConnectX(5, STANDARD), (random_player(rng), AgentPlayer(load, STANDARD, rng)), np.arange(5) < 3
        )
        assert (played.moves[:, 6] != NO_ACTION).all()


def test_errors_are_as_frequent_as_asked():
    """leftmost, but for 40% random columns, six sevenths of which are others."""
    games = ConnectX(4000, STANDARD)
    columns = opponent_named("leftmost~40", STANDARD, np.random.default_rng(3))(games, np.arange(4000))
    assert (columns != 0).mean() == pytest.approx(0.4 * 6 / 7, abs=0.03)


def test_names_are_read_alike_everywhere():
    """What one command takes for a name and its parts, all do; a share of more than 100% is refused by name."""
    assert parse_agent_name("minimax@4~2.5") == ("minimax", 4, 2.5)
    assert parse_agent_name("random") == ("random", None, None) and parse_agent_name("./random.py") is None
    for named in (resolve, lambda name: opponent_named(name, STANDARD, np.random.default_rng(0))):
        assert named("random~100")
        with pytest.raises(ValueError, match="'random~500': the share of random moves should be 0 to 100, not 500"):
            named("random~500")


@pytest.mark.parametrize("coin", [True, False])
def test_negamax_is_kaggles(coin, monkeypatch):
    """With each tie taken, or none: the ends of the set that Kaggle's coins choose from."""
    monkeypatch.setattr(kaggle_connectx, "choice", lambda options: coin if options == [True, False] else options[0])
    for geometry, plies in (
        (STANDARD, (0, 6, 22, 33)),  # after six moves the bottom rows tell, whose neighbours do not count alike
        (geometry_of(4, 5, 3), (0, 5, 11)),
        (geometry_of(3, 4, 4), (0, 7)),
    ):
        for games in (positions(3, count, geometry) for count in plies):
            chosen = np.empty(len(games), np.int64)
            negamax_choose(*games.bitboards(), np.full((len(games), geometry.columns), coin), geometry, chosen)
            kaggles = AgentPlayer(lambda: negamax_agent, geometry, np.random.default_rng(1))
            assert (chosen == kaggles(games, np.arange(len(games)))).all()


def test_negamax_tosses_coins():
    """On the empty board all columns are worth the same: the last is taken in half of the games"""
    games = ConnectX(4000, STANDARD)
    shares = np.bincount(opponent_named("negamax", STANDARD, np.random.default_rng(1))(games, np.arange(4000))) / 4000
    assert shares == pytest.approx([1 / 64, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2], abs=0.03)
