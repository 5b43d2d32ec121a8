"""Opponents by name: whom they play as."""

import numpy as np
import pytest
from kaggle_environments.envs.connectx import connectx as kaggle_connectx
from kaggle_environments.envs.connectx.connectx import negamax_agent

import agents.one_step
from connectx.clock import Budget
from connectx.geometry import STANDARD, Geometry, geometry_of
from connectx.position import Position
from connectx.search import Searcher
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.catalogue import parse_agent_name
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.negamax import choose
from connectx_toolkit.training.games.opponents import AgentPlayer, opponent_named
from connectx_toolkit.training.games.players import random_player


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


def test_fixed_depth_is_minimax():
    games = positions(20, 9)
    columns = opponent_named("minimax@3", STANDARD, np.random.default_rng(1))(games, np.arange(len(games)))
    for column, position, mask in zip(columns, *games.bitboards(), strict=True):
        state = Position(int(position), int(mask), STANDARD)
        assert column == Searcher(STANDARD).search(state, Budget(), max_depth=3).column


def test_agents_see_the_board_as_kaggle_shows_it():
    """The observation leads back to the position; Kaggle's own agent finds the win that is there."""
    games = positions(20, 11)
    seen: list[Position] = []

    def agent(obs, config):
        assert obs["mark"] == obs.mark == 1 + obs.step % 2
        seen.append(Position.from_observation(obs, config))
        return agents.one_step.agent(obs, config)

    AgentPlayer(agent, STANDARD)(games, np.arange(len(games)))
    assert [state[:2] for state in seen] == list(zip(*(bits.tolist() for bits in games.bitboards()), strict=True))
    won = ConnectX(1, STANDARD)
    for column in (3, 0, 3, 0, 3, 0):
        won.play(np.array([column]))
    assert opponent_named("negamax", STANDARD, np.random.default_rng(1))(won, np.arange(1)) == [3]
    assert negamax_agent.__module__.startswith("kaggle_environments")


def test_errors_are_as_frequent_as_asked():
    """leftmost, but for 40% random columns, six sevenths of which are others."""
    games = ConnectX(4000, STANDARD)
    columns = opponent_named("leftmost~40", STANDARD, np.random.default_rng(3))(games, np.arange(4000))
    assert (columns != 0).mean() == pytest.approx(0.4 * 6 / 7, abs=0.03)


@pytest.mark.parametrize("name", ["nobody", "one_step@3", "minimax@", "random~x", "", "../evil", "__init__"])
def test_unknown_names(name):
    with pytest.raises(ValueError, match=r"opponent|only minimax"):
        opponent_named(name, STANDARD, np.random.default_rng(0))


def test_names_are_read_alike_everywhere():
    """What one command takes for a name and its parts, all do; a share of more than 100% is refused by name."""
    assert parse_agent_name("minimax@4~2.5") == ("minimax", 4, 2.5)
    assert parse_agent_name("random") == ("random", None, None) and parse_agent_name("./random.py") is None
    for named in (resolve, lambda name: opponent_named(name, STANDARD, np.random.default_rng(0))):
        assert named("random~100")
        with pytest.raises(ValueError, match="'random~500': the share of random moves should be 0 to 100, not 500"):
            named("random~500")
        with pytest.raises(ValueError, match="'minimax@0': the depth should be at least 1 ply"):
            named("minimax@0")


@pytest.mark.parametrize("coin", [True, False])
def test_negamax_is_kaggles(coin, monkeypatch):
    """With each tie taken, or none: the ends of the set that Kaggle's coins choose from."""
    monkeypatch.setattr(kaggle_connectx, "choice", lambda options: coin if options == [True, False] else options[0])
    for geometry, plies in (
        (STANDARD, (0, 9, 22, 33)),
        (geometry_of(4, 5, 3), (0, 5, 11)),
        (geometry_of(3, 4, 4), (0, 7)),
    ):
        for games in (positions(3, count, geometry) for count in plies):
            chosen = np.empty(len(games), np.int64)
            choose(*games.bitboards(), np.full((len(games), geometry.columns), coin), geometry, chosen)
            assert (chosen == AgentPlayer(negamax_agent, geometry)(games, np.arange(len(games)))).all()


def test_negamax_tosses_coins():
    """On the empty board all columns are worth the same: the last is taken in half of the games"""
    games = ConnectX(4000, STANDARD)
    shares = np.bincount(opponent_named("negamax", STANDARD, np.random.default_rng(1))(games, np.arange(4000))) / 4000
    assert shares == pytest.approx([1 / 64, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2], abs=0.03)
