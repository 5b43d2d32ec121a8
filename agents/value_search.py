"""Tree search (PUCT) over a policy and value network, which judges the tree's leaves for as long as the clock allows.

No solver, no opening table and no book: the tree proves what it can, the ends of games and forced replies, and the
network judges the rest. The tree is kept from move to move. After each move a line on standard output, and what the
board shows, say how many moves of the game the search has decided: all but the forced ones. The network knows one
board; on others a heuristic alpha-beta search plays.
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

# Of the policy: above 1, the search trusts it less. With 5 it erred in 4 of 600 positions of the kinds Middle-Medium
# and Begin-Medium at 600 evaluations, with 10 and with 20 in 1; with 20 and with 40 in 31 and 36 of 1,874 harder ones.
TEMPERATURE = 20.0
# Evaluations a second of one core: 1,530 with 8, 1,840 with 16, 1,980 with 32. Larger batches explore less well.
BATCH = 16

network = MoveNetwork.from_bytes(read_data("weights/policy.bin"))


def evaluate(positions: np.ndarray, masks: np.ndarray) -> Evaluation:
    """The network's policy and what it expects of positions and moves: probability to win minus that to lose."""
    outputs = network.evaluate_many(positions, masks)
    return Evaluation(softmax(outputs["policy"], TEMPERATURE), expected_result(outputs["value"]), outputs["results"])


class Play:
    """What is kept from move to move of a game: the tree, and how many moves were decided by what (``Choice.by``)."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.search: Search | None = None
        self.moves: Counter[str] = Counter()

    def choose(self, position: Position, budget: Budget) -> Choice:
        """The move that the search finds, or the rules force."""
        if self.search is None:
            self.search = Search(position, evaluate, BATCH)
        else:
            self.search.go_on_from(position)
        choice = self.search.run(budget)
        self.moves[choice.by] += 1
        searched, forced = self.moves["search"], self.moves["rules"]
        log = f"decided {searched} of {self.moves.total() - forced} moves that were not forced ({forced} were)"
        tell(self.search.thoughts(choice) | {"search": log})
        print(f"column {choice.column}, {choice.value:+.2f} after {choice.evaluations:,} evaluations; the search {log}")
        return choice


@lru_cache(maxsize=2)
def searcher_for(geometry: Geometry) -> Searcher:
    """Uncompiled: to compile for a board that rarely comes up would take longer than a move may."""
    return Searcher(geometry, compiled=False)


play = Play()
game = GameMemory(play.forget, searcher_for.cache_clear)


def tell(thoughts: dict | None) -> None:
    """Keeps what the board asks for after a move; None where there is nothing to tell."""
    agent.thoughts = lambda: thoughts  # type: ignore[attr-defined]


def agent(obs, config):
    tell(None)  # those of the move before are out of date
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    game.meet(position)
    if position.geometry == network.architecture.geometry:
        column = play.choose(position, budget).column
    else:
        column = searcher_for(position.geometry).search(position, budget).column
    game.leave(position.play(column))
    return column
