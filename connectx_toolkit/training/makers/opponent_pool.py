"""A pool of opponents: first players that are good but make errors, and play another game each time.

Two halves, written down before anything was measured. The opponent model (``train.py replies``) learns from games of
``DEVELOPMENT`` alone; ``benchmarks.perfect`` measures on ``HELD_OUT_PLAYERS``. ``column_of`` makes a function of a
player. The networks are those of agents, and two small ones that training runs of a minute or two made
(``networks/manifest.json``).

- "policy": a network's move, drawn with a temperature.
- "puct": a tree search with a network, so many evaluations, its move drawn by visits.
- "minimax", "leaf": alpha-beta with the heuristic or the leaf network; each move's depth is drawn, two plies wide.
- "mcts": so many random playouts, by a tree search that knows only the rules (UCT, Kocsis and Szepesvari 2006).
- "exact": perfect moves, but for a share of random ones.
"""

import math
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from connectx_core.afterstates import MoveNetwork
from connectx_core.clock import Budget
from connectx_core.exact import move_values
from connectx_core.jit import njit
from connectx_core.leaf import leaf_net_from_bytes
from connectx_core.network import expected_result, softmax
from connectx_core.position import STANDARD, Position, column_cells, has_line, open_cells
from connectx_core.puct import Evaluation, Search
from connectx_core.search import Searcher
from connectx_core.solver import Solver
from connectx_toolkit.system.files import WEIGHTS
from connectx_toolkit.system.object_pool import ObjectPool

PLAYOUT_EXPLORATION = 1.0
TREE_POSITION, TREE_MASK, FIRST_CHILD, CHILDREN, VISITS, FIELDS = range(6)  # of a node, a row of int64


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
        bound = totals[child] / visits + PLAYOUT_EXPLORATION * math.sqrt(log / visits)
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
    nodes[0, TREE_POSITION], nodes[0, TREE_MASK], nodes[0, VISITS] = position, mask, 1
    path, count = np.zeros(geometry.rows * geometry.columns + 1, np.int64), 1
    for _ in range(playouts):
        depth, node = 0, 0
        path[0] = 0
        while True:
            stones, all_stones = nodes[node, TREE_POSITION], nodes[node, TREE_MASK]
            lost = has_line(stones ^ all_stones, geometry)
            if lost or all_stones == geometry.board_mask or nodes[node, VISITS] == 0:
                break
            if nodes[node, CHILDREN] == 0:
                nodes[node, FIRST_CHILD] = count
                for column in np.random.permutation(geometry.columns):
                    move = open_cells(all_stones, geometry) & column_cells(column, geometry)
                    if move:
                        nodes[count, TREE_POSITION], nodes[count, TREE_MASK] = stones ^ all_stones, all_stones | move
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
        move = nodes[child, TREE_MASK] ^ mask
        for column in range(geometry.columns):
            if move & column_cells(column, geometry):
                visits[column] = nodes[child, VISITS]
    return visits


def most_visited(position: Position, playouts: int, chance: Random) -> int:
    """The column that the search visits most."""
    seed = chance.getrandbits(31)
    return int(tree_search(position.position, position.mask, playouts, seed, position.geometry).argmax())


NETWORKS = Path(__file__).with_name("networks")
PRIOR_TEMPERATURE = 20.0  # of the policy in "puct", as in the agent value_search
VISITS_POWER = 3  # a move of "puct" is drawn by the cube of its visits

Column = Callable[[Position], int]


class PoolPlayer(NamedTuple):
    """A player's kind and what sets it apart from others of its kind."""

    kind: str
    strength: float  # temperature, evaluations, largest depth, playouts, or share of errors
    network: str = ""  # of "policy" and "puct": a file of NETWORKS, or of the agents' weights

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.kind, self.network.removesuffix(".bin"), f"{self.strength:g}")))


DEVELOPMENT = (
    PoolPlayer("policy", 1.0, "strong_policy.bin"),
    PoolPlayer("policy", 0.5, "ppo.bin"),
    PoolPlayer("puct", 20, "small.bin"),
    PoolPlayer("puct", 150, "small.bin"),
    PoolPlayer("minimax", 6),
    PoolPlayer("minimax", 10),
    PoolPlayer("leaf", 8),
    PoolPlayer("leaf", 12),
    PoolPlayer("mcts", 1000),
    PoolPlayer("mcts", 10_000),
    PoolPlayer("exact", 0.1),
)
HELD_OUT_PLAYERS = (
    PoolPlayer("policy", 10, "medium.bin"),
    PoolPlayer("policy", 20, "policy.bin"),
    PoolPlayer("puct", 10, "policy.bin"),
    PoolPlayer("puct", 60, "medium.bin"),
    PoolPlayer("puct", 400, "policy.bin"),
    PoolPlayer("minimax", 8),
    PoolPlayer("minimax", 13),
    PoolPlayer("leaf", 10),
    PoolPlayer("leaf", 14),
    PoolPlayer("mcts", 3000),
    PoolPlayer("mcts", 50_000),
    PoolPlayer("exact", 0.05),
)


LEAF_NETWORK = "nnue.bin"  # of "leaf"


def path_of(file: str) -> Path:
    """Where a player's network lies."""
    path = NETWORKS / file
    return path if path.exists() else WEIGHTS / file


def networks_of(players: Iterable[PoolPlayer]) -> set[Path]:
    """The files that the players read."""
    files = {LEAF_NETWORK if player.kind == "leaf" else player.network for player in players}
    return {path_of(file) for file in files if file}


@cache
def network_of(file: str) -> MoveNetwork:
    return MoveNetwork.from_bytes(path_of(file).read_bytes())


@ObjectPool
def searcher(leaf: bool) -> Searcher:
    return Searcher(STANDARD, net=leaf_net_from_bytes(path_of(LEAF_NETWORK).read_bytes()) if leaf else None)


solver_for = ObjectPool(Solver)


def draw_index(weights: np.ndarray | list[float], chance: Random) -> int:
    """An index drawn by its weight."""
    return chance.choices(range(len(weights)), list(weights))[0]


def by_policy(position: Position, network: MoveNetwork, temperature: float, chance: Random) -> int:
    chances = softmax(network.evaluate(position)["policy"][None], temperature)[0]
    legal = position.legal_columns()
    return legal[draw_index(chances[legal], chance)]


def by_puct(position: Position, network: MoveNetwork, evaluations: int, chance: Random) -> int:
    def evaluate(positions: np.ndarray, masks: np.ndarray) -> Evaluation:
        outputs = network.evaluate_many(positions, masks)
        policy, value = softmax(outputs["policy"], PRIOR_TEMPERATURE), expected_result(outputs["value"])
        return Evaluation(policy, value, outputs["results"])

    search = Search(position, evaluate)
    choice = search.run(Budget(nodes=evaluations))
    if choice.score is not None or not any(search.root.tries):
        return choice.column
    return search.root.columns[draw_index([float(tries) ** VISITS_POWER for tries in search.root.tries], chance)]


def by_depth(position: Position, leaf: bool, deepest: int, chance: Random) -> int:
    """Alpha-beta of ``deepest`` plies or up to two less, of the position or its mirror image, in an empty table."""
    mirrored, depth = chance.random() < 0.5, chance.randint(deepest - 2, deepest)
    with searcher(leaf) as asked:
        asked.forget()
        column = asked.search(position.mirror() if mirrored else position, Budget(), max_depth=depth).column
    return position.geometry.columns - 1 - column if mirrored else column


def by_solver(position: Position, errors: float, chance: Random) -> int:
    if chance.random() < errors:
        return chance.choice(position.legal_columns())
    with solver_for(STANDARD) as solver:
        values = move_values(position, solver, best=True)
    lows = {column: value.low for column, value in enumerate(values) if value is not None}
    return chance.choice([column for column, low in lows.items() if low == max(lows.values())])


def column_of(player: PoolPlayer, chance: Random) -> Column:
    """What the player would play, as a function of the position; draws from the generator."""
    kinds: dict[str, Callable[[], Callable[..., int]]] = {
        "policy": lambda: partial(by_policy, network=network_of(player.network), temperature=player.strength),
        "puct": lambda: partial(by_puct, network=network_of(player.network), evaluations=int(player.strength)),
        "minimax": lambda: partial(by_depth, leaf=False, deepest=int(player.strength)),
        "leaf": lambda: partial(by_depth, leaf=True, deepest=int(player.strength)),
        "mcts": lambda: partial(most_visited, playouts=int(player.strength)),
        "exact": lambda: partial(by_solver, errors=player.strength),
    }
    return partial(kinds[player.kind](), chance=chance)
