"""An opponent: Monte Carlo tree search (UCT, 2006) with 1,000 random playouts per move, knowing only the rules."""

import math
import random

from connectx.jit import njit
from connectx.position import Position, column_cells, has_line, open_cells

PLAYOUTS = 1000
EXPLORATION = 1.0


@njit
def playout(position, mask, geometry, seed):
    """Result of a random game for the side to move: 1, 0 or -1. ``seed``: of a 31-bit congruential generator."""
    result = 1
    while mask != geometry.board_mask:
        moves = open_cells(mask, geometry)
        move = 0
        while move == 0:
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            move = moves & column_cells((seed >> 8) % geometry.columns, geometry)
        if has_line(position | move, geometry):
            return result
        position, mask, result = position ^ mask, mask | move, -result
    return 0


class Node:
    """A position, its visits, the sum of its results for the side that moved into it, and its children by column."""

    def __init__(self, position: Position):
        self.position, self.visits, self.total = position, 0, 0.0
        self.children: dict[int, Node] = {}
        self.untried = [] if position.is_over() else position.legal_columns()
        random.shuffle(self.untried)

    def best_child(self) -> "Node":
        log = math.log(self.visits)
        return max(self.children.values(), key=lambda c: c.total / c.visits + EXPLORATION * math.sqrt(log / c.visits))


def evaluate(position: Position) -> int:
    """The result, of one playout if the game is not over, for the side that moved last."""
    if position.is_lost():
        return 1
    return -playout(position.position, position.mask, position.geometry, random.getrandbits(31))


def simulate(root: Node) -> None:
    """One simulation: selection, expansion, playout, backup."""
    path = [root]
    while not path[-1].untried and path[-1].children:
        path.append(path[-1].best_child())
    if path[-1].untried:
        column = path[-1].untried.pop()
        path[-1].children[column] = Node(path[-1].position.play(column))
        path.append(path[-1].children[column])
    result = evaluate(path[-1].position)
    for node in reversed(path):
        node.visits += 1
        node.total += result
        result = -result


def agent(obs, config):
    root = Node(Position.from_observation(obs, config))
    for _ in range(PLAYOUTS):
        simulate(root)
    return max(root.children, key=lambda column: root.children[column].visits)
