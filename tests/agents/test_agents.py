"""One contract for every agent, and what each claims of its play."""

import importlib
import inspect
import math
import random
from types import SimpleNamespace

import pytest

from connectx_core import lookahead
from connectx_core.clock import Budget
from connectx_core.position import STANDARD, Position, geometry_of
from connectx_toolkit.system.files import AGENTS
from tests.conftest import observe, random_game

pytestmark = pytest.mark.slow
NAMES = sorted(path.stem for path in AGENTS.glob("[!_]*.py"))
# Agents that win in one whenever they can, and that block a lone win in one. The course's n_step claims neither: to
# its heuristic a line made three plies from now is worth as much as one made at once.
TAKE_WINS = {"one_step", "alpha_beta", "minimax", "nnue", "perfect", "value_greedy", "value_search"}
BLOCK = {"alpha_beta", "minimax", "nnue", "perfect", "value_search"}
SHAPES = [(6, 7, 4), (1, 7, 4), (12, 12, 5)]  # the standard one, one for which nothing is prepared, beyond 64 bits


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


def play(name: str, position: Position, act_timeout: float = 0.05) -> int:
    return importlib.import_module(f"agents.{name}").agent(*observe(position, act_timeout, overage=0.0))


def sample(shape, games: int, seed: int) -> list[Position]:
    """One position a game, at a random ply."""
    rng = random.Random(seed)
    return [rng.choice(list(random_game(geometry_of(*shape), rng))) for _ in range(games)]


def test_form(name):
    """What Kaggle's loader wants: a plain function of (obs, config), documented, and the last thing in its file."""
    module = importlib.import_module(f"agents.{name}")
    assert list(inspect.signature(module.agent).parameters) == ["obs", "config"]
    assert inspect.isfunction(module.agent) and module.__doc__


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_plays_legal_ints(name, shape):
    """On any board and at any ply, for either mark."""
    for position in sample(shape, 12, seed=1):
        column = play(name, position)
        assert type(column) is int and column in position.legal_columns()


def test_one_legal_column(name):
    """All columns but one are full."""
    rng = random.Random(3)
    found = 0
    while found < 3:
        for position in random_game(STANDARD, rng):
            if len(position.legal_columns()) == 1:
                assert play(name, position) == position.legal_columns()[0]
                found += 1


def test_forms_of_obs_and_config(name):
    """Plain dicts, Kaggle's structs, and bare attributes."""
    from kaggle_environments.utils import structify

    obs, config = observe(Position.from_moves([3, 3, 3, 3, 3, 3], STANDARD), 0.05, overage=0.0)
    agent = importlib.import_module(f"agents.{name}").agent
    for form in (lambda record: record, structify, lambda record: SimpleNamespace(**record)):
        assert agent(form(obs), form(config)) in (0, 1, 2, 4, 5, 6)


@pytest.mark.parametrize("name", sorted(TAKE_WINS))
def test_wins_in_one(name):
    winning = [p for shape in ((6, 7, 4), (5, 4, 3), (9, 8, 5)) for p in sample(shape, 200, 5) if p.winning_columns()]
    assert len(winning) > 50
    for position in winning:
        assert play(name, position, act_timeout=2.0) in position.winning_columns()


@pytest.mark.parametrize("name", sorted(BLOCK))
def test_blocks(name):
    threatened = [
        p for p in sample((6, 7, 4), 400, 6) if not p.winning_columns() and len(p.pass_turn().winning_columns()) == 1
    ]
    assert len(threatened) > 30
    for position in threatened:
        assert play(name, position) == position.pass_turn().winning_columns()[0]


def windows(board, shape):
    """All windows of inarow cells, as the course collects them."""
    rows, columns, inarow = shape
    grid = [board[r * columns : (r + 1) * columns] for r in range(rows)]
    for row in range(rows):
        for column in range(columns - inarow + 1):
            yield [grid[row][column + i] for i in range(inarow)]
    for row in range(rows - inarow + 1):
        for column in range(columns):
            yield [grid[row + i][column] for i in range(inarow)]
    for row in range(rows - inarow + 1):
        for column in range(columns - inarow + 1):
            yield [grid[row + i][column + i] for i in range(inarow)]
            yield [grid[row + inarow - 1 - i][column + i] for i in range(inarow)]


def course_minimax(position: Position, mark: int, steps: int) -> float:
    """Plain minimax with the course's heuristic, by its own text: no pruning, lists, windows."""
    shape, inarow = position.geometry[:3], position.geometry.inarow
    all_windows = list(windows(position.to_board(), shape))
    full = {m: sum(w.count(m) == inarow for w in all_windows) for m in (1, 2)}
    near = {m: sum(w.count(m) == inarow - 1 and w.count(0) == 1 for w in all_windows) for m in (1, 2)}
    if steps == 0 or full[1] or full[2] or not position.legal_columns():
        return 1e6 * full[mark] + near[mark] - 1e2 * near[3 - mark] - 1e4 * full[3 - mark]
    values = [course_minimax(position.play(c), mark, steps - 1) for c in position.legal_columns()]
    return max(values) if mark == 1 + position.ply % 2 else min(values)


@pytest.mark.parametrize("shape", [(6, 7, 4), (5, 4, 3)])
def test_n_step_is_plain_minimax(shape):
    """Alpha-beta changes no score of any move, at any number of steps."""
    for position in sample(shape, 8, seed=9):
        mark = 1 + position.ply % 2
        for steps in (1, 2, 3):
            expected = {c: course_minimax(position.play(c), mark, steps - 1) for c in position.legal_columns()}
            assert lookahead.score_moves(position, steps, Budget()) == expected


def test_n_step_plays_a_best_move():
    for position in sample((6, 7, 4), 20, seed=10):
        scores = lookahead.score_moves(position, 3, Budget())
        assert scores[lookahead.n_step_move(position, 3, Budget())] == max(scores.values())
        scores = lookahead.score_moves(position, 1, Budget())
        assert scores[lookahead.n_step_move(position, 1, Budget())] == max(scores.values())
        assert not math.isinf(max(scores.values()))


def test_minimax_without_numba_plays_on():
    """A searcher that is not compiled, as on a judge without numba, sees four plies in 1,000 nodes: 0.05 s."""
    from connectx_core.search import Searcher

    result = Searcher(STANDARD, compiled=False).search(Position.empty(STANDARD), Budget(nodes=1000))
    assert result.depth >= 4
