"""Monte Carlo tree search with a network: PUCT (Silver et al. 2018) that proves what it can (Winands et al. 2008).

A simulation walks down from the root, in each node to the child of the largest ``value + exploration``, and expands one
node there with the network's policy and value. Nodes near the end need no network: who wins with the next stone, has no
safe reply or fills the board is known from bitboards, what an exact solver decides within a few nodes from that, where
there is one, and a proven result climbs towards the root. Moves that lose at once are no children. Positions that are
reached on several ways are one node. Simulations run in small batches, since a network judges several positions almost
as quickly as one; a path that waits for its judgement counts as lost in between (virtual loss), which spreads a batch.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from connectx.clock import Budget
from connectx.geometry import Geometry
from connectx.position import Position, column_cells, key_of, open_cells, winning_spots
from connectx.search import safe_moves

EXPLORATION = 1.5  # weight of the prior against what was seen
FIRST_PLAY = 0.2  # a move that was never tried is worth its parent's value less this
IN_VAIN = 1000  # batches in a row without a network evaluation: then what is left to learn is in proofs far away

# For n positions and masks, (n,) int64 each: the probabilities of the columns, (n, columns), and the expected results
# from -1 to 1 for the movers, (n,).
Judge = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
# The score of a position and mask whose sign is exact, or None.
Prove = Callable[[int, int], int | None]


class Node:
    """A position, seen by its mover.

    Attributes:
        columns, priors, children, tries: of the moves worth a try, parallel lists, empty until the node is expanded.
        visits, total: simulations that went through, on whatever way, and the sum of their results.
        score: the result if it is proven, as a score of the solver. Of a win or a loss only the sign is exact.
    """

    __slots__ = ("children", "columns", "mask", "position", "priors", "score", "total", "tries", "visits")

    def __init__(self, position: int, mask: int):
        self.position, self.mask = position, mask
        self.columns: list[int] = []
        self.priors: list[float] = []
        self.children: list[Node | None] = []
        self.tries: list[int] = []
        self.visits, self.total = 0, 0.0
        self.score: int | None = None

    def worth(self) -> float:
        """The expected result from -1 to 1: what is proven, or the mean of the simulations."""
        if self.score is not None:
            return (self.score > 0) - (self.score < 0)
        return self.total / self.visits if self.visits else 0.0


class Choice(NamedTuple):
    """What a search found. ``value`` is the expected result from -1 to 1, ``score`` the exact one if proven."""

    column: int
    value: float
    score: int | None
    evaluations: int


def known_score(position: int, mask: int, geometry: Geometry) -> int | None:
    """The exact score where a look at the bitboards gives it: a win in one, a loss in two, a draw by a full board."""
    cells, ply = geometry.cells, mask.bit_count()
    if winning_spots(position, mask, geometry) & open_cells(mask, geometry):
        return (cells + 1 - ply) // 2
    if ply < cells and not safe_moves(position, mask, geometry):
        return -((cells - ply) // 2)
    return 0 if cells - ply <= 2 else None


class Search:
    """A tree over one position, in which the game goes on.

    Args:
        judge: the network.
        batch: positions that it judges at once.
        prove: a quick exact solver, asked once of every new position; none by default.
    """

    def __init__(self, position: Position, judge: Judge, batch: int = 8, prove: Prove = lambda position, mask: None):
        self.start, self.geometry, self.judge, self.batch, self.prove = position, position.geometry, judge, batch, prove
        self.nodes: dict[int, Node] = {}
        self.root = self._node(position.position, position.mask)
        self.evaluations = 0

    def run(self, budget: Budget) -> Choice:
        """Simulates until the root is proven, one move is left, or the time or the number of evaluations ends."""
        root, in_vain = self.root, 0
        if root.score is None:
            self._judge([[root]])
        while root.score is None and len(root.columns) > 1 and in_vain < IN_VAIN:
            if budget.is_late(self.evaluations):
                break
            room = self.batch if budget.nodes is None else min(self.batch, budget.nodes - self.evaluations)
            in_vain = 0 if self._simulate(room) else in_vain + 1
        return Choice(self._best_column(), root.worth(), root.score, self.evaluations)

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
            if node.score is None and len(self.nodes) > 1:  # not the root, which needs a move besides
                node.score = self.prove(position, mask)
        return self.nodes[key]

    def _simulate(self, count: int) -> int:
        """A batch of simulations; the number of positions that the network had to judge."""
        waiting: list[list[Node]] = []
        for _ in range(count):
            path = self._descend()
            if path[-1].score is not None:
                self._back_up(path, path[-1].worth())
            elif any(path[-1] is other[-1] for other in waiting):
                self._back_up(path, None)  # met a second time while it waits: this simulation is taken back
                break
            else:
                waiting.append(path)
            if self.root.score is not None:
                break
        self._judge(waiting)
        return len(waiting)

    def _descend(self) -> list[Node]:
        """The path from the root to a proven or a new node; on the way, its nodes count as lost for who moved there."""
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
        """The index of the child to try. What is proven is not explored; a proven loss is no choice."""
        scale, untried = EXPLORATION * math.sqrt(node.visits), node.worth() - FIRST_PLAY
        best, chosen = -math.inf, 0
        for index, child in enumerate(node.children):
            if child is None:
                value = untried + scale * node.priors[index]
            elif child.score is not None:
                value = 4.0 * (child.score < 0) - 4.0 * (child.score > 0)
            else:
                value = scale * node.priors[index] / (1 + node.tries[index]) - child.total / child.visits
            if value > best:
                best, chosen = value, index
        return chosen

    def _judge(self, paths: list[list[Node]]) -> None:
        """Expands the last node of each path by the network, and tells the nodes above."""
        if not paths:
            return
        leaves = [path[-1] for path in paths]
        positions, masks = np.array([leaf.position for leaf in leaves]), np.array([leaf.mask for leaf in leaves])
        chances, values = (part.tolist() for part in self.judge(positions, masks))
        for path, leaf, priors, value in zip(paths, leaves, chances, values, strict=True):
            moves = safe_moves(leaf.position, leaf.mask, self.geometry)
            order = self.geometry.column_order
            leaf.columns = [column for column in order if moves & column_cells(column, self.geometry)]
            whole = sum(priors[column] for column in leaf.columns) or 1.0
            leaf.priors = [priors[column] / whole for column in leaf.columns]
            leaf.children, leaf.tries = [None] * len(leaf.columns), [0] * len(leaf.columns)
            self._back_up(path, value)
        self.evaluations += len(paths)

    def _back_up(self, path: list[Node], value: float | None) -> None:
        """Replaces the loss that each node of the path was counted with; None takes the whole simulation back."""
        for index in range(len(path) - 1, -1, -1):
            node = path[index]
            if index < len(path) - 1 and node.score is None:
                self._prove(node)
            if value is None:
                node.visits -= 1
                node.total -= 1.0
            else:
                node.total += (value if node.score is None else node.worth()) - 1.0
                value = -value
        if value is None:
            for node, child in pairwise(path):
                node.tries[node.children.index(child)] -= 1

    @staticmethod
    def _prove(node: Node) -> None:
        """Sets the node's score if its children prove one: one that is lost, or all."""
        known = [-child.score for child in node.children if child is not None and child.score is not None]
        if known and (max(known) > 0 or len(known) == len(node.children)):
            node.score = max(known)

    def _best_column(self) -> int:
        """What is proven to be best, else the move tried most of those that are not proven to lose."""
        root = self.root
        if not root.columns:
            wins, threats = self.start.winning_columns(), self.start.pass_turn().winning_columns()
            safe = safe_moves(root.position, root.mask, self.geometry)
            legal = [column for column in self.geometry.column_order if column in self.start.legal_columns()]
            safe_columns = [column for column in legal if safe & column_cells(column, self.geometry)]
            return (wins or safe_columns or threats or legal)[0]
        rank = {}
        for column, child, tries in zip(root.columns, root.children, root.tries, strict=True):
            score = None if child is None else child.score
            if root.score is not None:
                rank[column] = (-math.inf if score is None else -score, tries)
            else:
                rank[column] = (0 if score is None or score <= 0 else -1, tries)
        return max(rank, key=rank.__getitem__)
