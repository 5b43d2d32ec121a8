"""Alpha-beta search in plain Python, short enough to read in full: a negamax that looks one ply deeper each round.

``minimax`` does the same, compiled and with a table: some 110 times as many positions a second. For your own heuristic,
write an ``evaluate(mine, both, geometry)`` as in ``minimax`` in place of the imported one.
"""

from connectx_core.clock import budget_for
from connectx_core.evaluation import LIMIT, evaluate
from connectx_core.position import Position

INFINITY = 2 * LIMIT  # more than any value


class OutOfBudget(Exception):
    """The time of the move is over."""


class Search:
    """One move's search. ``nodes`` counts the positions that it has looked at."""

    def __init__(self, budget):
        self.budget, self.nodes = budget, 0

    def value_of(self, position, depth, alpha, beta):
        """The value of a position for the side to move, ``depth`` plies deep; outside alpha and beta a bound.

        alpha: what the side to move is sure of already. beta: from this value on the other side avoids the position.
        """
        self.nodes += 1
        if self.budget.is_late(self.nodes):
            raise OutOfBudget
        if position.winning_columns():  # sooner wins are worth more, as there are fewer stones on the board
            return INFINITY - 1 - position.ply
        if position.is_over():  # nobody won
            return 0
        if depth == 0:
            return evaluate(*position)  # the stones of the side to move, those of both, and the board
        for column in position.legal_columns():
            alpha = max(alpha, -self.value_of(position.play(column), depth - 1, -beta, -alpha))
            if alpha >= beta:  # the other side avoids this position: its other moves cannot matter
                break
        return alpha

    def best_column(self, position, columns, depth):
        """The column with the best value, of those in ``columns``: the first if several have it."""
        best, alpha = columns[0], -INFINITY
        for column in columns:
            value = -self.value_of(position.play(column), depth - 1, -INFINITY, -alpha)
            if value > alpha:
                best, alpha = column, value
        return best


def agent(obs, config):
    position, search = Position.from_observation(obs, config), Search(budget_for(obs, config))
    if wins := position.winning_columns():
        return wins[0]
    columns = position.pass_turn().winning_columns() or position.legal_columns()  # a threat has to be blocked
    order = sorted(columns, key=position.geometry.column_order.index)  # the middle first
    try:
        for depth in range(1, position.geometry.cells - position.ply + 1):
            best = search.best_column(position, order, depth)
            order.sort(key=lambda column: column != best)  # the best first: most others are then cut off
    except OutOfBudget:
        pass  # order[0] is the best column of the last completed round
    return order[0]
