"""Monte Carlo tree search with a network: PUCT (Silver et al. 2018) with proven results (Winands et al. 2008).

A simulation descends from the root, in each node to the child with the largest ``value + exploration``, and expands a
leaf with the network's policy and value. A move that was not tried yet counts as what the network expects of it. Leaves
near the end need no network. The bitboards show a win with the next stone, a position without a safe reply, a full
board, and what replies lead to that are forced. Proven results are backed up towards the root. Moves that lose at once
are not children, and transpositions share one node. Simulations run in small batches, because a network evaluates
several positions almost as fast as one. A path that waits for its evaluation counts as lost meanwhile (virtual loss),
so that a batch explores different paths.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from connectx_core.clock import Budget
from connectx_core.position import Geometry, Position, column_cells, key_of, open_cells, winning_spots
from connectx_core.search import safe_moves
from connectx_core.threads import one_thread

EXPLORATION = 1.5  # weight of the exploration term
FIRST_PLAY = 0.2  # first-play urgency: an untried move that was not judged counts as its parent's value minus this
SPREAD = 0.5  # how far the mean of simulations may be off, times the root of their number
# Moves whose bounds differ by less are equal, and the network's policy chooses among them: it knows the quickest win.
# Half-random positions, perfect and good moves of one network: 92.9 and 98.5% alone; with 60 evaluations 87.9 and 99.3%
# for a margin of 0, 92.4 and 99.3 for 0.1, 93.5 and 99.3 for 0.2, 93.7 and 99.0 for 0.5.
EQUAL_BOUNDS = 0.2
MAX_IDLE_BATCHES = 1000  # the search stops after so many batches in a row without a network evaluation


class Evaluation(NamedTuple):
    """What a network says of n positions; expected results are those of the side to move, -1 to 1."""

    chances: np.ndarray  # (n, columns): the probabilities of the moves
    values: np.ndarray  # (n,): the expected results
    results: np.ndarray | None = None  # (n, columns): those of each move, from a network that judges what moves lead to


Evaluator = Callable[[np.ndarray, np.ndarray], Evaluation]  # of positions and masks, (n,) int64 each


class Node:
    """A position, seen by the side to move.

    Attributes:
        columns, priors, results, children, tries: parallel lists over the moves to search; empty until the node is
            expanded. The results are None where moves are not judged.
        visits, total: the number of simulations through this node, from any parent, and the sum of their results.
        score: the proven result as a solver's score, or None. Only the sign is exact.
    """

    __slots__ = ("children", "columns", "mask", "position", "priors", "results", "score", "total", "tries", "visits")

    def __init__(self, position: int, mask: int):
        self.position, self.mask = position, mask
        self.columns: list[int] = []
        self.priors: list[float] = []
        self.results: list[float] | None = None
        self.children: list[Node | None] = []
        self.tries: list[int] = []
        self.visits, self.total = 0, 0.0
        self.score: int | None = None

    def mean_result(self) -> float:
        """The result from -1 to 1: the proven one, or else the mean of the simulations."""
        if self.score is not None:
            return (self.score > 0) - (self.score < 0)
        return self.total / self.visits if self.visits else 0.0


class Choice(NamedTuple):
    """The outcome of a search.

    Attributes:
        value: the expected result, from -1 to 1.
        score: the proven one, or None. Only the sign is exact.
        by: what decided: "rules" where the move is forced, "search", or "network" where there was no time to search.
    """

    column: int
    value: float
    score: int | None
    evaluations: int
    by: str


def known_score(position: int, mask: int, geometry: Geometry) -> int | None:
    """The exact score if the bitboards show it: a win in one, a loss in two, a draw on a full board, or what replies
    lead to that are the only ones not to lose at once.
    """
    sign = 1
    while True:
        left = geometry.cells - mask.bit_count()
        if winning_spots(position, mask, geometry) & open_cells(mask, geometry):
            return sign * ((left + 1) // 2)
        moves = safe_moves(position, mask, geometry)
        if left and not moves:
            return -sign * (left // 2)
        if left <= 2:
            return 0
        if moves & (moves - 1):
            return None
        position, mask, sign = position ^ mask, mask | moves, -sign


class Search:
    """A search tree for one position, in which the game is not over.

    Args:
        evaluate: the network.
        batch: positions that it judges at once.
    """

    def __init__(self, position: Position, evaluate: Evaluator, batch: int = 8):
        self.geometry, self.evaluate, self.batch = position.geometry, evaluate, batch
        self.nodes: dict[int, Node] = {}
        self.go_on_from(position)

    def go_on_from(self, position: Position) -> None:
        """Makes a later position of the game the root, and keeps what is known of those that may follow it."""
        self.start, self.evaluations = position, 0
        self.nodes = {key: node for key, node in self.nodes.items() if not position.mask & ~node.mask}
        self.root = self._node(position.position, position.mask)

    def run(self, budget: Budget) -> Choice:
        """Simulates until the root is proven, all moves but one lose, or the budget (time, evaluations) ends."""
        root, idle = self.root, 0
        with one_thread():
            if root.score is None and not root.columns:
                self._simulate(1)
            while root.score is None and not self._is_settled() and idle < MAX_IDLE_BATCHES:
                if budget.is_late(self.evaluations):
                    break
                room = self.batch if budget.nodes is None else min(self.batch, budget.nodes - self.evaluations)
                idle = 0 if self._simulate(room) else idle + 1
        by = "rules" if self._is_forced() else "search" if any(root.tries) else "network"
        return Choice(self._best_column(), root.mean_result(), root.score, self.evaluations, by)

    def _is_settled(self) -> bool:
        """Whether all moves of the root but one are proven to lose."""
        open_moves = [child for child in self.root.children if child is None or child.score is None or child.score <= 0]
        return len(open_moves) <= 1

    def _is_forced(self) -> bool:
        """Whether the bitboards show the root's result, or a single move that does not lose at once."""
        position, mask = self.root.position, self.root.mask
        moves = safe_moves(position, mask, self.geometry)
        return known_score(position, mask, self.geometry) is not None or not moves & (moves - 1)

    def thoughts(self, choice: Choice) -> dict:
        """What there is to tell of a search that has ended, in words of JSON: visits by column, and its expectation."""
        visits = [0] * self.geometry.columns
        for column, tries in zip(self.root.columns, self.root.tries, strict=True):
            visits[column] = tries
        return {"visits": visits, "nodes": choice.evaluations, "score": f"{choice.value:+.2f}"}

    def _node(self, position: int, mask: int) -> Node:
        key = key_of(position, mask)
        if key not in self.nodes:
            node = self.nodes[key] = Node(position, mask)
            node.score = known_score(position, mask, self.geometry)
        return self.nodes[key]

    def _simulate(self, count: int) -> int:
        """Runs a batch of simulations; returns how many positions the network had to evaluate."""
        waiting: list[list[Node]] = []
        for _ in range(count):
            path = self._descend()
            if path[-1].score is not None:
                self._back_up(path, path[-1].mean_result())
            elif any(path[-1] is other[-1] for other in waiting):
                self._back_up(path, None)  # the same leaf already waits for its evaluation: undo this simulation
                break
            else:
                waiting.append(path)
            if self.root.score is not None:
                break
        self._judge(waiting)
        return len(waiting)

    def _descend(self) -> list[Node]:
        """The path from the root to a proven or new node; its nodes count as lost for the side that moved there."""
        node, path = self.root, [self.root]
        node.visits += 1
        node.total += 1.0
        while node.columns and node.score is None:
            index = self._select(node)
            node.tries[index] += 1
            child = node.children[index]
            if child is None:
                move = open_cells(node.mask, self.geometry) & column_cells(node.columns[index], self.geometry)
                child = node.children[index] = self._node(node.position ^ node.mask, node.mask | move)
            node = child
            node.visits += 1
            node.total += 1.0
            path.append(node)
        return path

    @staticmethod
    def _select(node: Node) -> int:
        """The index of the child to try. Proven children get no exploration: a win is taken, a loss avoided."""
        scale, untried = EXPLORATION * math.sqrt(node.visits), node.mean_result() - FIRST_PLAY
        best, chosen = -math.inf, 0
        for index, child in enumerate(node.children):
            if child is None:
                value = (untried if node.results is None else node.results[index]) + scale * node.priors[index]
            elif child.score is not None:
                value = 4.0 * (child.score < 0) - 4.0 * (child.score > 0)
            else:
                value = scale * node.priors[index] / (1 + node.tries[index]) - child.total / child.visits
            if value > best:
                best, chosen = value, index
        return chosen

    def _judge(self, paths: list[list[Node]]) -> None:
        """Expands the last node of each path with the network and backs up its value."""
        if not paths:
            return
        leaves = [path[-1] for path in paths]
        positions, masks = np.array([leaf.position for leaf in leaves]), np.array([leaf.mask for leaf in leaves])
        evaluation = self.evaluate(positions, masks)
        chances, values = evaluation.chances.tolist(), evaluation.values.tolist()
        results = [None] * len(paths) if evaluation.results is None else evaluation.results.tolist()
        for path, leaf, priors, value, of_moves in zip(paths, leaves, chances, values, results, strict=True):
            moves = safe_moves(leaf.position, leaf.mask, self.geometry)
            order = self.geometry.column_order
            leaf.columns = [column for column in order if moves & column_cells(column, self.geometry)]
            whole = sum(priors[column] for column in leaf.columns) or 1.0
            leaf.priors = [priors[column] / whole for column in leaf.columns]
            leaf.results = of_moves and [of_moves[column] for column in leaf.columns]
            leaf.children, leaf.tries = [None] * len(leaf.columns), [0] * len(leaf.columns)
            self._back_up(path, value)
        self.evaluations += len(paths)

    def _back_up(self, path: list[Node], value: float | None) -> None:
        """Replaces the virtual loss of each node on the path by the value; None undoes the whole simulation."""
        for index in range(len(path) - 1, -1, -1):
            node = path[index]
            if index < len(path) - 1 and node.score is None:
                self._prove(node)
            if value is None:
                node.visits -= 1
                node.total -= 1.0
            else:
                node.total += (value if node.score is None else node.mean_result()) - 1.0
                value = -value
        if value is None:
            for node, child in pairwise(path):
                node.tries[node.children.index(child)] -= 1

    @staticmethod
    def _prove(node: Node) -> None:
        """Sets the node's score if its children prove it: one is lost for its mover, or all are proven."""
        known = [-child.score for child in node.children if child is not None and child.score is not None]
        if known and (max(known) > 0 or len(known) == len(node.children)):
            node.score = max(known)

    def _best_column(self) -> int:
        """The move proven best; without a proof the likeliest of those whose bounds are equal (``EQUAL_BOUNDS``)."""
        root = self.root
        if not root.columns:
            wins, threats = self.start.winning_columns(), self.start.pass_turn().winning_columns()
            safe = safe_moves(root.position, root.mask, self.geometry)
            legal = [column for column in self.geometry.column_order if column in self.start.legal_columns()]
            safe_columns = [column for column in legal if safe & column_cells(column, self.geometry)]
            return (wins or safe_columns or threats or legal)[0]
        if root.score is not None:
            proven = [-math.inf if child is None or child.score is None else -child.score for child in root.children]
            return max(zip(root.columns, proven, root.tries, strict=True), key=lambda move: move[1:])[0]
        bounds = [self._bound(child) for child in root.children]
        equal = [index for index, bound in enumerate(bounds) if bound >= max(bounds) - EQUAL_BOUNDS]
        return root.columns[max(equal, key=root.priors.__getitem__)]

    @staticmethod
    def _bound(child: Node | None) -> float:
        """What a move is worth at least, more or less: the mean of its simulations, less where these are few.

        The most tried move, the usual choice, is often one that looked best for most of the search and no longer does.
        """
        if child is None:
            return -2.0
        if child.score is not None:
            return -math.inf if child.score > 0 else -child.mean_result()
        return -child.mean_result() - SPREAD / math.sqrt(child.visits)
