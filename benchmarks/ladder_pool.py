"""Opponents for ``benchmarks.learn_from_games``: first players that neither the shipped model nor its pool knows.

Written down before anything was learned from them (2026-11-25). ``LEARNING`` stands for the opponents whose games one
has; ``HELD_OUT`` for those that one meets for the first time. In each, half always play alike, and half draw:

- "search": alpha-beta of its own, to a fixed depth. Two evaluations: threats by the parity of their rows, as zugzwang
  decides them, or open lines. "drawing": equal moves are drawn.
- "playouts": flat Monte Carlo with upper confidence bounds, whose playouts win and block at sight.
- "network": the policy network's best move, or drawn with a temperature.
- "tree": PUCT with that network, the most visited move.
- "exact": perfect play that errs in a share of the positions: always in the same ones ("fixed"), or by chance.
- "late": perfect up to ply 12, as with an opening book, then "search".

Changed once, after both pools had been played: the "fixed" player of ``HELD_OUT`` had erred in positions in which one
of ``LEARNING`` did. Networks, trees and exact players use the network and the solver that ship.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from connectx.clock import Budget
from connectx.exact import move_values
from connectx.network import expected_result, softmax
from connectx.position import STANDARD, Position, sign
from connectx.puct import Judgement, Search
from connectx_toolkit.training.makers.opponent_pool import agent_that, network_of, solver_for

WON = 1000  # of a search: minus the plies until then
ORDER = (3, 2, 4, 1, 5, 0, 6)
BOOK_PLIES = 12  # of "late"
NETWORK = "policy.bin"  # of the agents' weights
HASH = 0x9E3779B97F4A7C15  # odd, 64 bits (Knuth): spreads positions evenly
PARITY, LINES = 0, 1  # evaluations
EXPLORATION = 1.0  # of the upper confidence bound
BOARD, BOTTOM = STANDARD.board_mask, STANDARD.bottom_mask


class Player(NamedTuple):
    """A kind of player, and what sets it apart from others of its kind."""

    kind: str
    strength: float  # depth, playouts, temperature, evaluations, or share of errors
    variant: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.kind, self.variant, f"{self.strength:g}")))


LEARNING = (
    Player("network", 0.0),
    Player("tree", 100),
    Player("exact", 0.06, "fixed"),
    Player("exact", 0.12, "fixed 2"),
    Player("search", 9, "parity"),
    Player("late", 8, "parity"),
    Player("search", 7, "lines drawing"),
    Player("playouts", 3000),
    Player("exact", 0.03),
    Player("exact", 0.08),
    Player("network", 0.25),
    Player("network", 0.5),
)
HELD_OUT = (
    Player("tree", 30),
    Player("exact", 0.09, "fixed apart"),
    Player("search", 8, "lines"),
    Player("late", 6, "lines"),
    Player("search", 6, "parity drawing"),
    Player("playouts", 1000),
    Player("exact", 0.05),
    Player("network", 0.35),
)


@njit
def completing(stones, free):
    """The free cells that complete four of the stones, on 7x6 with a guard bit above each column."""
    found = (stones << 1) & (stones << 2) & (stones << 3)
    for step in (6, 7, 8):
        pairs = (stones << step) & (stones << 2 * step)
        found |= (pairs & (stones << 3 * step)) | (pairs & (stones >> step))
        pairs = (stones >> step) & (stones >> 2 * step)
        found |= (pairs & (stones >> 3 * step)) | (pairs & (stones << step))
    return found & free


@njit
def ones(bits):
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


@njit
def open_lines(stones, theirs, board):
    """Stones in lines of four without a stone of the other side, each once for every such line."""
    total = 0
    for step in (1, 6, 7, 8):
        free = board & ~theirs
        lines = free & (free >> step) & (free >> 2 * step) & (free >> 3 * step)
        for part in range(4):
            total += ones(lines & (stones >> part * step))
    return total


@njit
def evaluate(mine, theirs, kind, board, odd):
    """For the side to move. ``odd``: the cells of rows 1, 3 and 5, which zugzwang gives to the first player."""
    if kind == LINES:
        return open_lines(mine, theirs, board) - open_lines(theirs, mine, board)
    free = board & ~(mine | theirs)
    first_moves = ones(mine | theirs) % 2 == 0
    value = 0
    for side in range(2):
        stones = mine if side == 0 else theirs
        spots = completing(stones, free)
        good = odd if (side == 0) == first_moves else ~odd
        points = 3 * ones(spots) + 9 * ones(spots & good)
        value += points if side == 0 else -points
    return value


@njit
def searched(mine, theirs, depth, alpha, beta, kind, board, odd):
    """Fail-hard alpha-beta: the value for the side to move, which has not lost yet."""
    mask = mine | theirs
    if mask == board:
        return 0
    moves = (mask + BOTTOM) & board
    if completing(mine, moves):
        return WON - 1
    if depth == 0:
        return evaluate(mine, theirs, kind, board, odd)
    forced = completing(theirs, moves)
    if forced:
        moves = forced
    for column in (3, 2, 4, 1, 5, 0, 6):
        move = moves & (0x7F << 7 * column)
        if move:
            value = -searched(theirs, mine | move, depth - 1, -beta, -alpha, kind, board, odd)
            value -= (value > 500) - (value < -500)  # a win is worth less the later it comes
            if value >= beta:
                return beta
            alpha = max(alpha, value)
    return alpha


@njit
def playout(mine, theirs, board):
    """1, 0 or -1 for the side to move, by play that wins and blocks at sight and is random otherwise."""
    result = 1
    while True:
        mask = mine | theirs
        moves = (mask + BOTTOM) & board
        if moves == 0:
            return 0
        if completing(mine, moves):
            return result
        forced = completing(theirs, moves)
        choice = forced if forced else moves
        skip = np.random.randint(ones(choice))
        for _ in range(skip):
            choice &= choice - 1
        mine, theirs, result = theirs, mine | (choice & -choice), -result


@njit
def best_by_playouts(mine, theirs, playouts, seed, board):
    """The column with the most playouts, which upper confidence bounds hand out."""
    np.random.seed(seed)
    moves = ((mine | theirs) + BOTTOM) & board
    visits, wins = np.zeros(7), np.zeros(7)
    for number in range(playouts):
        chosen, largest = -1, -1e9
        for column in range(7):
            if moves & (0x7F << 7 * column):
                bound = 1e6 - column if visits[column] == 0 else (
                    wins[column] / visits[column] + EXPLORATION * np.sqrt(np.log(number + 1) / visits[column])
                )  # fmt: skip
                if bound > largest:
                    chosen, largest = column, bound
        move = moves & (0x7F << 7 * chosen)
        visits[chosen] += 1
        wins[chosen] += 1 if completing(mine, move) else -playout(theirs, mine | move, board)
    return int(visits.argmax())


ODD = sum(1 << 7 * column + row for column in range(7) for row in (0, 2, 4))


def by_search(position: Position, depth: int, variant: str) -> int:
    """Alpha-beta; equal moves go to the centre, or are drawn if the variant says so."""
    kind = LINES if "lines" in variant else PARITY
    values = {}
    for column in ORDER:
        if column in position.winning_columns():
            return column
        if column in position.legal_columns():
            child = position.play(column)
            full = WON * 10
            mine, theirs = child.position, child.mask ^ child.position
            values[column] = -searched(mine, theirs, depth - 1, -full, full, kind, BOARD, ODD)
    best = [column for column, value in values.items() if value == max(values.values())]
    return random.choice(best) if "drawing" in variant else best[0]


def by_playouts(position: Position, playouts: int) -> int:
    stones, others = position.position, position.mask ^ position.position
    return best_by_playouts(stones, others, playouts, random.getrandbits(31), BOARD)


def by_network(position: Position, temperature: float) -> int:
    legal = position.legal_columns()
    logits = network_of(NETWORK).judge(position)["policy"][legal]
    if not temperature:
        return legal[int(logits.argmax())]
    return random.choices(legal, softmax(logits[None], temperature)[0].tolist())[0]


def by_tree(position: Position, evaluations: int) -> int:
    def judge(positions: np.ndarray, masks: np.ndarray) -> Judgement:
        outputs = network_of(NETWORK).judge_many(positions, masks)
        return Judgement(softmax(outputs["policy"], 1.0), expected_result(outputs["value"]))

    return Search(position, judge).run(Budget(nodes=evaluations)).column


def errs(position: Position, share: float, variant: str) -> bool:
    """Whether an "exact" player errs here: by the position alone if it is "fixed", else by chance."""
    if "fixed" not in variant:
        return random.random() < share
    spread = (position.canonical().key + len(variant)) * HASH % 2**64 >> 32
    return spread < share * 2**32


def by_solver(position: Position, share: float, variant: str = "") -> int:
    """The most central of the best moves; an error is the best move with a worse result, or else any."""
    with solver_for(STANDARD) as solver:
        values = move_values(position, solver)
    scores = {column: value.low for column in ORDER if (value := values[column]) is not None}
    best = max(scores.values())
    worse = {column: score for column, score in scores.items() if sign(score) < sign(best)}
    if worse and position.ply >= 2 and errs(position, share, variant):
        return max(worse, key=worse.__getitem__)
    return max(scores, key=scores.__getitem__)


def by_book_then_search(position: Position, depth: int, variant: str) -> int:
    return by_solver(position, 0.0) if position.ply < BOOK_PLIES else by_search(position, depth, variant)


def column_of(player: Player) -> Callable[[Position], int]:
    """What the player would play, as a function of the position; draws from the generator of ``random``."""
    kinds: dict[str, Callable[[], Callable[[Position], int]]] = {
        "search": lambda: partial(by_search, depth=int(player.strength), variant=player.variant),
        "playouts": lambda: partial(by_playouts, playouts=int(player.strength)),
        "network": lambda: partial(by_network, temperature=player.strength),
        "tree": lambda: partial(by_tree, evaluations=int(player.strength)),
        "exact": lambda: partial(by_solver, share=player.strength, variant=player.variant),
        "late": lambda: partial(by_book_then_search, depth=int(player.strength), variant=player.variant),
    }
    return kinds[player.kind]()


def agent_of(player: Player) -> Callable:
    """The player as an agent, which draws from the generator of ``random``: the arena seeds that."""
    return agent_that(column_of(player), player.name)
