"""Monte Carlo tree search (UCT, Kocsis and Szepesvari 2006) with random playouts, which knows only the rules."""

import math
from random import Random

import numpy as np

from connectx.jit import njit
from connectx.position import Position, column_cells, has_line, open_cells

EXPLORATION = 1.0
POSITION, MASK, FIRST_CHILD, CHILDREN, VISITS, FIELDS = range(6)  # of a node, a row of int64


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


@njit
def favourite(nodes, totals, node):
    """The child of a node with the largest upper confidence bound; one without visits comes first."""
    log, best, chosen = math.log(nodes[node, VISITS] + 1), -math.inf, -1
    for child in range(nodes[node, FIRST_CHILD], nodes[node, FIRST_CHILD] + nodes[node, CHILDREN]):
        visits = nodes[child, VISITS]
        if visits == 0:
            return child
        bound = totals[child] / visits + EXPLORATION * math.sqrt(log / visits)
        if bound > best:
            best, chosen = bound, child
    return chosen


@njit
def tree_search(position, mask, playouts, seed, geometry):
    """Visits of each column after so many playouts from a position that is not over: (columns,) int64.

    A node gets its children, in random order, when it is met for the second time.
    """
    np.random.seed(seed)
    nodes = np.zeros((playouts * geometry.columns + 1, FIELDS), np.int64)
    totals = np.zeros(len(nodes))  # of the results for the side that moved into each node
    nodes[0, POSITION], nodes[0, MASK], nodes[0, VISITS] = position, mask, 1
    path, count = np.zeros(geometry.rows * geometry.columns + 1, np.int64), 1
    for _ in range(playouts):
        depth, node = 0, 0
        path[0] = 0
        while True:
            stones, all_stones = nodes[node, POSITION], nodes[node, MASK]
            lost = has_line(stones ^ all_stones, geometry)
            if lost or all_stones == geometry.board_mask or nodes[node, VISITS] == 0:
                break
            if nodes[node, CHILDREN] == 0:
                nodes[node, FIRST_CHILD] = count
                for column in np.random.permutation(geometry.columns):
                    move = open_cells(all_stones, geometry) & column_cells(column, geometry)
                    if move:
                        nodes[count, POSITION], nodes[count, MASK] = stones ^ all_stones, all_stones | move
                        count += 1
                nodes[node, CHILDREN] = count - nodes[node, FIRST_CHILD]
            node = favourite(nodes, totals, node)
            depth += 1
            path[depth] = node
        result = 1.0 if lost else -playout(stones, all_stones, geometry, np.random.randint(1 << 31))
        for step in range(depth, -1, -1):
            nodes[path[step], VISITS] += 1
            totals[path[step]] += result
            result = -result
    visits = np.zeros(geometry.columns, np.int64)
    for child in range(nodes[0, FIRST_CHILD], nodes[0, FIRST_CHILD] + nodes[0, CHILDREN]):
        move = nodes[child, MASK] ^ mask
        for column in range(geometry.columns):
            if move & column_cells(column, geometry):
                visits[column] = nodes[child, VISITS]
    return visits


def most_visited(position: Position, playouts: int, chance: Random) -> int:
    """The column that the search visits most."""
    seed = chance.getrandbits(31)
    return int(tree_search(position.position, position.mask, playouts, seed, position.geometry).argmax())
