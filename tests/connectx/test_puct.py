"""The tree search: what it proves is true, what it plays is legal, and it asks the network no more than it may."""

import random

import numpy as np
import pytest

from agents import value_search
from connectx.clock import Budget
from connectx.exact import move_values
from connectx.geometry import STANDARD, geometry_of
from connectx.nets.puct import Judge, Judgement, Node, Search, known_score
from connectx.position import Position
from connectx.solver import Solver
from tests import oracle
from tests.conftest import REAL_CLOCK, observe, random_game

SHAPE = (4, 5, 3)
known_to_oracle: dict[str, int] = {}


def knows_nothing(positions: np.ndarray, masks: np.ndarray) -> Judgement:
    """A network of no opinion, for boards of up to seven columns."""
    return Judgement(np.full((len(masks), 7), 1 / 7), np.zeros(len(masks)))


def opinionated(seed: int) -> Judge:
    """A network that is sure of nonsense, of moves as well."""
    rng = np.random.default_rng(seed)

    def judge(positions: np.ndarray, masks: np.ndarray) -> Judgement:
        results = rng.uniform(-1, 1, (len(masks), 7))
        return Judgement(rng.dirichlet(np.full(7, 0.1), len(masks)), rng.uniform(-1, 1, len(masks)), results)

    return judge


def small_positions(stones: range, games: int) -> list[tuple[Position, dict[int, int]]]:
    """Positions of a small board with the oracle's score of every move."""
    rng = random.Random(2)
    found: list[tuple[Position, dict[int, int]]] = []
    while len(found) < games:
        for position in random_game(geometry_of(*SHAPE), rng):
            if position.ply in stones and rng.random() < 0.3:
                cells = position.to_board()
                board = [cells[row * SHAPE[1] : (row + 1) * SHAPE[1]] for row in range(SHAPE[0])]
                found.append((position, oracle.move_scores(board, SHAPE[2], known_to_oracle)))
    return found


def sign(score: float) -> int:
    return (score > 0) - (score < 0)


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("judge", [knows_nothing, opinionated(1)], ids=["nothing", "nonsense"])
def test_what_is_proven_is_true(batch, judge):
    """Whatever the network says: a proven result is the oracle's, and the move keeps it."""
    proven = 0
    for position, scores in small_positions(range(10, 20), 40):
        choice = Search(position, judge, batch).run(Budget(nodes=1000))
        assert choice.column in scores
        if choice.score is not None:
            proven += 1
            assert sign(choice.score) == sign(max(scores.values())) == sign(choice.value)
            assert sign(scores[choice.column]) == sign(choice.score)
    assert proven > 30


def test_an_exact_solver_at_the_leaves():
    """With a solver that knows all, one look at each reply settles the move, whatever the network says."""
    solver = Solver(geometry_of(*SHAPE), compiled=False)

    def prove(position: int, mask: int) -> int:
        return solver.solve(Position(position, mask, solver.geometry)).low

    proven = 0
    for position, scores in small_positions(range(8, 16), 20):
        choice = Search(position, opinionated(3), prove=prove).run(Budget(nodes=50))
        assert choice.evaluations <= 1 and sign(scores[choice.column]) == sign(max(scores.values()))
        assert choice.score is None or sign(choice.score) == sign(scores[choice.column])
        proven += choice.score is not None
    assert proven > 10  # in the others a single move is left


def test_what_is_known_at_a_look():
    seen = set()
    for position, scores in small_positions(range(10, 20), 80):
        known = known_score(position.position, position.mask, position.geometry)
        seen.add(None if known is None else sign(known))
        assert known is None or known == max(scores.values())
    assert seen == {None, -1, 1}
    drawn = Position.from_moves([0, 0], geometry_of(2, 2, 3))
    assert known_score(drawn.position, drawn.mask, drawn.geometry) == 0


@pytest.mark.parametrize(
    ("score", "worth", "chosen"),
    [(0, 0.9, 1), (0, -0.9, 0), (3, 0.9, 1), (3, -0.9, 1), (-3, 0.9, 0), (-3, -0.9, 0)],
    ids=[
        "draw or promise",
        "draw or despair",
        "loss or promise",
        "loss or despair",
        "win or promise",
        "win or despair",
    ],
)
def test_what_is_proven_has_its_worth(score, worth, chosen):
    """Of a child with a proven score (its own side's) and one that looks so much to the side to move, tried often."""
    node, proven, open_child = Node(0, 0), Node(1, 1), Node(2, 2)
    proven.score = score
    open_child.visits, open_child.total = 1000, -1000 * worth
    node.visits, node.columns, node.priors = 1000, [0, 1], [0.5, 0.5]
    node.children, node.tries = [proven, open_child], [0, 1000]
    assert Search._select(node) == chosen


def test_visits_add_up():
    """After any number of batches, no virtual loss is left: every node's visits are those of its parents' tries."""
    search = Search(Position.empty(STANDARD), opinionated(2), 8)
    search.run(Budget(nodes=500))
    assert 480 <= search.evaluations <= 500
    tried = dict.fromkeys(search.nodes.values(), 0)
    for node in search.nodes.values():
        assert len(node.children) == len(node.tries) == len(node.priors) == len(node.columns)
        assert abs(node.expected()) <= 1 and abs(node.total) <= node.visits + 1e-9
        for child, tries in zip(node.children, node.tries, strict=True):
            if child is not None:
                tried[child] += tries
    assert all(tried[node] == node.visits for node in tried if node is not search.root)


def test_what_it_tells_of_its_thoughts():
    """As many visits as the root had, by column; the chosen one has most where nothing else speaks for it."""
    search = Search(Position.empty(STANDARD), knows_nothing, batch=4)
    choice = search.run(Budget(nodes=60))
    told = search.thoughts(choice)
    assert len(told["visits"]) == 7 and sum(told["visits"]) == sum(search.root.tries)
    assert told["visits"][choice.column] == max(told["visits"]) and told["nodes"] == choice.evaluations


@REAL_CLOCK
def test_budget_of_time_ends_it():
    choice = Search(Position.empty(STANDARD), knows_nothing).run(Budget.seconds(0.05))
    assert choice.column in range(7) and 0 < choice.evaluations < 20_000


def test_the_chosen_move_looks_best_at_the_end():
    """Not the most tried one, if another has come to look better in enough simulations; never one proven to lose."""
    search = Search(Position.empty(STANDARD), knows_nothing)
    root = search.root
    root.columns, root.tries, root.priors = [0, 1, 2, 3, 4], [300, 100, 2, 50, 0], [0.2] * 5
    tried = [Node(mask, mask) for mask in range(4)]
    root.children = [*tried, None]
    for child, tries, worth in zip(tried, root.tries, (0.1, 0.3, 0.5, 0.9), strict=False):
        child.visits, child.total = tries, -worth * tries
    tried[3].score = 5
    assert search._best_column() == 1
    for child in tried:
        child.score = 5
    assert search._best_column() == 4


def test_without_a_simulation_the_network_decides():
    """Where there is time for a single evaluation: by its policy, not by the order of the columns."""
    position = Position.from_moves([3, 3, 2, 0], STANDARD)

    def likes_the_last(positions: np.ndarray, masks: np.ndarray) -> Judgement:
        return Judgement(np.array([[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.4]]), np.zeros(1))

    assert Search(position, likes_the_last).run(Budget(nodes=1)).column == 6


def test_more_evaluations_find_a_win():
    """A double threat four plies away, which a network of no opinion does not point to."""
    position = Position.from_moves([3, 3, 2, 2], STANDARD)
    assert Search(position, knows_nothing).run(Budget(nodes=300)).column in (1, 4)


def test_a_lost_game_is_still_played():
    """Against two open ends: a block, legal, and known to be of no use."""
    position = Position.from_moves([2, 2, 3, 3, 4], STANDARD)
    choice = Search(position, knows_nothing).run(Budget(nodes=50))
    assert choice.column in (1, 5) and choice.score is not None and choice.score < 0


def test_columns_that_are_known_to_be_worse_are_not_searched():
    start = Position.empty(STANDARD)
    for columns in ([5], [0, 6]):
        search = Search(start, knows_nothing, columns=columns)
        assert search.run(Budget(nodes=50)).column in columns and set(search.root.columns) == set(columns)


@REAL_CLOCK
def test_value_search_plays_what_can_be_proven():
    """From the table in the openings, by the solver later: quickest wins and slowest losses, not only kept results."""
    if value_search.solver() is None:
        pytest.skip("numba")
    rng, oracle_solver = random.Random(8), Solver(STANDARD)
    positions = [p for _ in range(12) for p in random_game(STANDARD, rng) if p.ply in (0, 5, 7, 20, 25, 30)]
    for position in positions:
        scores = [value and value.low for value in move_values(position, oracle_solver)]
        column = value_search.best_column(position, Budget.seconds(2.0))
        assert scores[column] == max(score for score in scores if score is not None)


def test_value_search_tells_of_this_move_only():
    obs, config = observe(Position.empty(STANDARD))
    value_search.agent(obs, config)
    assert vars(value_search.agent)["thoughts"]() == {"score": "win, proven"}
    value_search.agent(*observe(Position.empty(geometry_of(4, 5, 3))))
    assert vars(value_search.agent)["thoughts"]() is None


def test_value_search_without_numba(monkeypatch):
    """The table is enough in the openings; beyond it the tree chooses."""
    monkeypatch.setattr(value_search, "solver", lambda: None)
    assert value_search.best_column(Position.empty(STANDARD), Budget(nodes=4)) == 3
    beyond = Position.from_moves([3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 0], STANDARD)
    assert value_search.best_column(beyond, Budget(nodes=4)) in beyond.legal_columns()
