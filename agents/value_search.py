"""Tree search (PUCT) over a policy and value network, which judges the tree's leaves for as long as the clock allows.

No solver, no opening table and no book: the tree proves what it can, the ends of games and forced replies, and the
network judges the rest. PUCT grows the tree where a move looks good or was tried little, good moves of the network's
policy first. It plays the move with the best mean result, less a margin where few simulations stand for it
(``connectx_core/puct.py``). The tree is kept from move to move. A line on standard output, and what the board shows,
say how many moves of the game the search has decided; forced ones are counted apart. The network knows one board; on
others a heuristic alpha-beta search plays.
"""

from collections import Counter
from functools import lru_cache

import numpy as np

from connectx_core.afterstates import MoveNetwork
from connectx_core.clock import Budget, GameMemory, budget_for
from connectx_core.network import expected_result, softmax
from connectx_core.position import Geometry, Position
from connectx_core.puct import Choice, Evaluation, Search
from connectx_core.search import Searcher
from connectx_core.weights import read_data

# Softmax temperature of the policy: the larger, the flatter. Errors with 600 evaluations in 600 positions of two test
# sets: 4 with 5, 1 with 10, 1 with 20. In 1,874 harder positions: 31 with 20, 36 with 40.
TEMPERATURE = 20.0
# Evaluations a second of one core: 1,530 with 8, 1,840 with 16, 1,980 with 32. Larger batches explore less well.
BATCH = 16

# The network of ``policy``, its planes and forced replies included: here its policy and its values are used.
network = MoveNetwork.from_bytes(read_data("weights/policy.bin"))


def evaluate_leaves(positions: np.ndarray, masks: np.ndarray) -> Evaluation:
    """The network's policy, and the chance to win minus the chance to lose of each position and each move."""
    outputs = network.evaluate_many(positions, masks)
    return Evaluation(softmax(outputs["policy"], TEMPERATURE), expected_result(outputs["value"]), outputs["results"])


class GameTree:
    """What is kept from move to move of a game: the tree, and the number of moves that the search, the rules or, where
    there was no time to search, the network alone decided (``Choice.by``).
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.search: Search | None = None
        self.moves: Counter[str] = Counter()

    def find_move(self, position: Position, budget: Budget) -> Choice:
        """The move that the search finds, or the rules force."""
        if self.search is None:
            self.search = Search(position, evaluate_leaves, BATCH)
        else:
            self.search.go_on_from(position)
        choice = self.search.run(budget)
        self.moves[choice.by] += 1
        searched, forced = self.moves["search"], self.moves["rules"]
        summary = f"decided {searched} of {self.moves.total() - forced} moves that were not forced ({forced} were)"
        set_thoughts(self.search.thoughts(choice) | {"search": summary})
        found = f"column {choice.column}, {choice.value:+.2f} after {choice.evaluations:,} evaluations"
        print(f"{found}; the search {summary}")
        return choice


@lru_cache(maxsize=2)
def searcher_for(geometry: Geometry) -> Searcher:
    """Uncompiled: to compile for a board that rarely comes up would take longer than a move may."""
    return Searcher(geometry, compiled=False)


tree = GameTree()
game = GameMemory(tree.forget, searcher_for.cache_clear)  # a new game forgets both


def set_thoughts(thoughts: dict | None) -> None:
    """Sets what the web board shows of this move."""
    agent.thoughts = lambda: thoughts  # type: ignore[attr-defined]


def agent(obs, config):
    set_thoughts(None)  # those of the move before are out of date
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    game.meet(position)
    if position.geometry == network.architecture.geometry:
        column = tree.find_move(position, budget).column
    else:
        column = searcher_for(position.geometry).search(position, budget).column
    game.leave(position.play(column))
    return column
