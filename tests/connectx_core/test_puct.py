"""The tree search: what it proves is true, what it plays is legal, and it asks the network no more than it may."""

import random
import time

import numpy as np
import pytest

from agents import value_search
from connectx_core.clock import Budget
from connectx_core.position import STANDARD, Position, geometry_of
from connectx_core.puct import Evaluation, Evaluator, Node, Search, known_score
from tests import oracle
from tests.conftest import REAL_CLOCK, observe, random_game

SHAPE = (4, 5, 3)
known_to_oracle: dict[str, int] = {}


def knows_nothing(positions: np.ndarray, masks: np.ndarray) -> Evaluation:
    """A network of no opinion, for boards of up to seven columns."""
    return Evaluation(np.full((len(masks), 7), 1 / 7), np.zeros(len(masks)))


def opinionated(seed: int) -> Evaluator:
    """A network that is sure of nonsense, of moves as well."""
    rng = np.random.default_rng(seed)

    def judge(positions: np.ndarray, masks: np.ndarray) -> Evaluation:
        results = rng.uniform(-1, 1, (len(masks), 7))
        return Evaluation(rng.dirichlet(np.full(7, 0.1), len(masks)), rng.uniform(-1, 1, len(masks)), results)

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
        assert abs(node.mean_result()) <= 1 and abs(node.total) <= node.visits + 1e-9
        for child, tries in zip(node.children, node.tries, strict=True):
            if child is not None:
                tried[child] += tries
    assert all(tried[node] == node.visits for node in tried if node is not search.root)


@REAL_CLOCK
def test_budget_of_time_ends_it():
    choice = Search(Position.empty(STANDARD), knows_nothing).run(Budget.seconds(0.05))
    assert choice.column in range(7) and 0 < choice.evaluations < 20_000


def test_the_chosen_move_looks_best_at_the_end():
    """Not the most tried one, if another has come to look better in enough simulations; never one proven to lose.

    Among those that look alike the network's policy decides.
    """
    search = Search(Position.empty(STANDARD), knows_nothing)
    root = search.root
    root.columns, root.tries, root.priors = [0, 1, 2, 3, 4], [300, 100, 2, 50, 0], [0.2] * 5
    tried = [Node(mask, mask) for mask in range(4)]
    root.children = [*tried, None]
    for child, tries, worth in zip(tried, root.tries, (0.0, 0.4, 0.5, 0.9), strict=False):
        child.visits, child.total = tries, -worth * tries
    tried[3].score = 5
    assert search._best_column() == 1
    tried[0].total = -0.3 * tried[0].visits
    root.priors = [0.3, 0.1, 0.2, 0.2, 0.2]
    assert search._best_column() == 0
    for child in tried:
        child.score = 5
    assert search._best_column() == 4


def test_without_a_simulation_the_network_decides():
    """Where there is time for a single evaluation: by its policy, not by the order of the columns."""
    position = Position.from_moves([3, 3, 2, 0], STANDARD)

    def likes_the_last(positions: np.ndarray, masks: np.ndarray) -> Evaluation:
        return Evaluation(np.array([[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.4]]), np.zeros(1))

    assert Search(position, likes_the_last).run(Budget(nodes=1)).column == 6


def test_more_evaluations_find_a_win():
    """A double threat four plies away, which a network of no opinion does not point to."""
    position = Position.from_moves([3, 3, 2, 2], STANDARD)
    assert Search(position, knows_nothing).run(Budget(nodes=300)).column in (1, 4)


def test_what_decides_a_move():
    """The rules where a move wins, is the only one or all lose; the network without time to search; else the search."""
    decided = {}
    for name, moves, budget in (
        ("it wins", [3, 0, 3, 0, 3, 0], 50),
        ("it blocks", [3, 0, 3, 0, 3], 50),
        ("all lose", [2, 2, 3, 3, 4], 50),
        ("a choice", [3, 3], 50),
        ("no time", [3, 3], 1),
    ):
        decided[name] = Search(Position.from_moves(moves, STANDARD), knows_nothing).run(Budget(nodes=budget)).by
    assert decided == {
        "it wins": "rules",
        "it blocks": "rules",
        "all lose": "rules",
        "a choice": "search",
        "no time": "network",
    }


def test_the_search_ends_when_one_move_is_left():
    """All others are proven to lose: no evaluation can change the choice."""
    position = Position.from_moves([3, 3, 2], STANDARD)  # three moves stop the double threat on the lowest row
    search = Search(position, knows_nothing)
    search.run(Budget(nodes=20))
    for child in search.root.children[1:]:
        assert child is not None
        child.score = 5
    search.root.children[0].score = None  # type: ignore[union-attr]
    before = search.evaluations
    assert search.run(Budget(nodes=10_000)).column == search.root.columns[0] and search.evaluations == before


def test_the_tree_is_kept_from_move_to_move():
    """What is known of a later position stays, nothing of what can no longer happen, and the count begins anew."""
    search, start = Search(Position.empty(STANDARD), opinionated(4)), Position.empty(STANDARD)
    search.run(Budget(nodes=600))
    child = max((child for child in search.root.children if child), key=lambda child: child.visits)
    column = search.root.columns[search.root.children.index(child)]
    known, later = child.visits, start.play(column)
    search.go_on_from(later)
    assert search.root is child and child.visits == known > 50 and search.evaluations == 0
    assert 50 < len(search.nodes) < 600
    assert all(node.mask & later.mask == later.mask for node in search.nodes.values())
    assert search.run(Budget(nodes=100)).evaluations == 100 and child.visits > known


@REAL_CLOCK
def test_value_search_searches_within_the_clock():
    """The first move takes of the overage time what the clock grants it, and no more; it is the search's."""
    obs, config = observe(Position.empty(STANDARD), act_timeout=0.2, overage=38.0)
    start = time.perf_counter()
    value_search.agent(obs, config)
    assert 0.1 < time.perf_counter() - start < 0.3
    assert vars(value_search.agent)["thoughts"]()["search"] == "decided 1 of 1 moves that were not forced (0 were)"


@pytest.mark.parametrize(("score", "result"), [(18, 1), (1, 1), (0, 0), (-1, -1)])
def test_a_win_with_the_last_stone_is_a_win(score, result):
    node = Node(0, 0)
    node.score = score
    assert node.mean_result() == result


def test_a_position_is_worth_what_the_network_says():
    """As long as it is asked once."""
    judge = lambda positions, masks: Evaluation(np.full((len(masks), 7), 1 / 7), np.full(len(masks), 0.25))  # noqa: E731
    found = Search(Position.empty(STANDARD), judge, batch=1).run(Budget(nodes=1))
    assert (found.value, found.evaluations) == (0.25, 1)
