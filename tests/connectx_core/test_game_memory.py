"""What is a new game, and that no agent carries anything from one game to the next."""

import random
from collections.abc import Callable, Sequence

import pytest

from agents import perfect
from connectx_core.clock import GameMemory
from connectx_core.position import STANDARD, Position, geometry_of
from connectx_core.solver import Solver
from connectx_toolkit.arena.start_positions import openings_for
from connectx_toolkit.players.spec import resolve
from tests.conftest import observe

pytestmark = pytest.mark.slow
BUDGETS = {
    "perfect": 3000,
    "minimax": 2000,
    "value_search": 24,
    "minimax@4": 1,
    "minimax@3~30": 1,
}  # nodes, evaluations
OPENING = [3, 3, 3, 3, 2]


def test_what_is_a_new_game():
    """The game goes on where the opponent has answered our last move, and nowhere else."""
    forgotten: list[str] = []
    memory = GameMemory(lambda: forgotten.append("all"))
    start = Position.from_moves([3, 2], STANDARD)
    assert memory.meet(start) is None and not forgotten  # the first game has nothing to forget
    memory.leave(start.play(3))
    assert memory.meet(start.play(3).play(0)) == 0 and not forgotten
    memory.leave(start.play(3).play(0).play(1))
    others = {
        "asked twice": start.play(3).play(0),
        "two plies later": start.play(3).play(0).play(1).play(2).play(2),
        "another move of ours": start.play(3).play(0).play(4).play(2),
        "one of our stones is the opponent's": Position.from_moves([2, 3, 3, 0, 1, 5], STANDARD),
        "the empty board": Position.empty(STANDARD),
        "another board": Position.from_moves([3, 2, 3, 0, 1, 2], geometry_of(5, 4, 3)),
    }
    for why, position in others.items():
        memory.leave(start.play(3).play(0).play(1))
        forgotten.clear()
        assert memory.meet(position) is None and forgotten == ["all"], why
    assert memory.meet(start) is None  # the agent has left nothing: it failed, or another move was played for it


def game(agent: Callable, budget: int, opening: Sequence[int], plies: int = 42, seed: int = 1) -> list[int]:
    """The moves of a game of ``plies`` against one that plays at random, seen by the side to move after the opening."""
    random.seed(seed)  # as the arena does before each game, for the agent's own random numbers
    rng, position, moves = random.Random(seed), Position.from_moves(opening, STANDARD), list[int]()
    seat = position.ply % 2
    while not position.is_over() and len(moves) < plies:
        if position.ply % 2 == seat:
            moves.append(agent(*observe(position, nodeBudget=budget)))
        else:
            moves.append(rng.choice(position.winning_columns() or position.legal_columns()))
        position = position.play(moves[-1])
    return moves


@pytest.mark.parametrize("name", BUDGETS)
def test_a_game_does_not_depend_on_those_before(name):
    """Move by move, after games that ended early, that began with more or fewer stones, or that were the same one."""
    agent, budget = resolve(name).load(), BUDGETS[name]
    first = game(agent, budget, OPENING)
    assert len(first) >= 4
    before: list[tuple[Sequence[int], int]] = [
        (OPENING, 1),  # the opponent failed at once: the next game begins with the very position of this one
        ([3, 3, 3], 3),  # ended, in the same column, before the next game's opening does
        ([*OPENING, 0, 6], 42),
        ([], 6),
        (OPENING, 42),
    ]
    for opening, plies in before:
        game(agent, budget, opening, plies, seed=2)
        assert game(agent, budget, OPENING) == first, (opening, plies)


def test_memory_stays_bounded(monkeypatch):
    """Over 40 games from openings, `perfect` knows no more than what one game has shown it."""
    solver = Solver(STANDARD, 16, compiled=False)
    monkeypatch.setattr(perfect, "solver_for", lambda geometry: solver)
    openings = [opening for opening in openings_for(STANDARD, None, 1) if 2 <= len(opening) <= 5]
    sizes = []
    for number in range(40):
        game(perfect.agent, 100, openings[number % len(openings)], 3, seed=number)
        sizes.append(len(perfect.known))
    assert 0 < max(sizes) <= 3 * 100 // perfect.NODES_PER_ESTIMATE
