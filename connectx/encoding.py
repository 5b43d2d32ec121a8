"""Encodes positions as planes, the input of the networks. The name of an encoding ends in its version.

A plane is a board of 0s and 1s. The first plane holds the mover's stones. Row 0 is the bottom row: the cell with bit
``column * stride + row`` is at ``[row, column]``. A weight file names its encoding; a change to what an encoding
means needs a new version.

What a policy sees may also be what its moves lead to (``afterstates``): rules follow forced replies, and a network
judges the positions where they end. A reply is forced if it is the only one that does not lose at once: where a stone
that completes a line can be kept off by one stone, or every other stone would let one be completed. Replies are
followed as long as they are forced, so that what the network sees is quiet: nobody completes a line with the next
stone, and the side to move has a choice. Where they end with a line, the result and its ply are known. This is the
quiescence search of chess programs for a game in which what is not quiet has a single answer.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from connectx.lookahead import gap_planes
from connectx.position import STANDARD, Geometry, Position, field, line_step, open_cells, winning_spots


def stones(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The stones of the mover and of the opponent."""
    return [position, position ^ mask]


def facts(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """Stones, threats (cells that would complete a line) of each side, playable cells, and who is to move.

    The last plane is all 1 if the first player is to move; it tells which rows zugzwang favours the mover in.
    """
    opponent = position ^ mask
    first = np.where(np.bitwise_count(mask) % 2 == 0, geometry.board_mask, 0)
    spots = [winning_spots(side, mask, geometry) for side in (position, opponent)]
    return [position, opponent, *spots, open_cells(mask, geometry), first]


def tactics(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """Stones, threats of each side, and playable cells: those that win, must be blocked, or lie below a threat.

    A stone below a threat gives it up: the opponent can then complete its own line there, or block the mover's.
    """
    opponent = position ^ mask
    spots = [winning_spots(side, mask, geometry) for side in (position, opponent)]
    cells = open_cells(mask, geometry)
    return [position, opponent, *spots, *(cells & side for side in spots), *(cells & (side >> 1) for side in spots)]


def facing_pairs(side: np.ndarray, mask: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The empty cells of lines without the other side's stones that lack two stones: a stone there makes a threat."""
    empty, cells = geometry.board_mask ^ mask, np.zeros_like(mask)
    for direction in range(4):
        step = line_step(direction, geometry)
        _, two, three = gap_planes(empty, step, geometry.inarow)
        free = [(side | empty) >> distance * step for distance in range(geometry.inarow)]
        lines = np.bitwise_and.reduce(free) & two & ~three
        for distance in range(geometry.inarow):
            cells |= lines << distance * step
    return cells & empty


def safe_cells(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The moves after which the opponent cannot win at once: ``connectx.search.safe_moves`` for arrays."""
    moves, spots = open_cells(mask, geometry), winning_spots(position ^ mask, mask, geometry)
    forced = moves & spots
    answers = np.where(forced == 0, moves, np.where(forced & (forced - 1), 0, forced))
    return answers & ~(spots >> 1)


def lines(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The planes of ``facts``, the moves that do not lose at once, and for each side the cells that make a threat."""
    pairs = [facing_pairs(side, mask, geometry) for side in (position, position ^ mask)]
    return [*facts(position, mask, geometry), safe_cells(position, mask, geometry), *pairs]


def line_places() -> tuple[np.ndarray, np.ndarray]:
    """The lines of four of 7x6, as bits, and for each a place of its own among the cells of two planes: (69,), (69, 2).

    Which place has no meaning, but a line's mirror image has the mirrored place, so that planes are mirrored as ever.
    Horizontal lines that start in column s are at column 2s of the first plane; rising ones on the left of the second,
    falling ones on its right, vertical ones on what is left of both.
    """
    cells, places = [], []
    for row, start in np.ndindex(6, 4):
        cells.append([(row, start + step) for step in range(4)])
        places.append((0, row, 2 * start))
    for row, start in np.ndindex(3, 4):
        number = 4 * row + start
        rising = [(row + step, start + step) for step in range(4)]
        cells += [rising, [(r, 6 - column) for r, column in rising]]
        places += [(1, number // 3, number % 3), (1, number // 3, 6 - number % 3)]
    for row, column in np.ndindex(3, 7):
        cells.append([(row + step, column) for step in range(4)])
        beside = (0, column if column < 3 else 6 - column, 3 if column == 3 else 1 if column < 3 else 5)
        places.append((1, 4 + row, column) if row < 2 else beside)
    bits = np.array([[1 << column * STANDARD.stride + row for row, column in line] for line in cells], np.int64)
    at = np.zeros((len(places), 2), np.int64)
    for number, (plane, row, column) in enumerate(places):
        at[number, plane] = 1 << column * STANDARD.stride + row
    return bits.sum(1), at


FOURS, FOUR_PLACES = line_places()


def fours(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The planes of ``lines``, and those of the 69 lines of 7x6 in which one side has 1, 2 or 3 stones, the other none.

    The last twelve are two for each side and number, see ``line_places``. Stones that no longer matter are not in them.
    """
    if geometry != STANDARD:
        raise ValueError(f"the encoding 'fours-1' is for the standard board, not for one of {geometry[:3]}")
    planes = lines(position, mask, geometry)
    mine, theirs = (np.bitwise_count(side[:, None] & FOURS) for side in (position, position ^ mask))
    for stones, others in ((mine, theirs), (theirs, mine)):
        for count in (1, 2, 3):
            open_fours = (stones == count) & (others == 0)
            planes += [np.where(open_fours, places, 0).sum(1) for places in FOUR_PLACES.T]
    return planes


def zugzwang(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The planes of ``lines``, the cells below threats of each side, and the rows that zugzwang gives each of them.

    Once both sides only wait, the first player gets the odd rows, counted from 1 at the bottom, the second the even
    ones (Allis 1988).
    """
    planes = lines(position, mask, geometry)
    below = [(spots >> 1) & (geometry.board_mask ^ mask) for spots in planes[2:4]]
    odd = sum(1 << cell for cell in range(0, geometry.columns * geometry.stride) if cell % geometry.stride % 2 == 0)
    odd &= geometry.board_mask
    is_first = np.bitwise_count(mask) % 2 == 0
    mine = np.where(is_first, odd, geometry.board_mask ^ odd)
    return [*planes, *below, mine, geometry.board_mask ^ mine]


def forced(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> list[np.ndarray]:
    """The planes of ``zugzwang``, and the moves whose results forced replies show (``afterstates``).

    Moves that win the quickest, others that win, those that lose the slowest, others that lose, and those after which
    the mover is to move again; then the moves that the other side would win with if it were to move.
    """
    moves = open_cells(mask, geometry)[:, None] & np.array([geometry.column_mask(c) for c in range(geometry.columns)])
    states = afterstates(position, mask, geometry)
    scores = np.where(states.scores == UNKNOWN, 0, states.scores)
    known = np.where(states.scores == UNKNOWN, -UNKNOWN, states.scores)
    slowest = np.where(scores < 0, scores, -UNKNOWN).max(1, keepdims=True)
    again = np.zeros(moves.shape, bool)
    again[states.rows, states.columns] = states.is_own
    theirs = afterstates(position ^ mask, mask, geometry).scores
    best = known.max(1, keepdims=True)
    shown = (
        (scores > 0) & (scores == best),
        (scores > 0) & (scores < best),
        (scores < 0) & (scores == slowest),
        (scores < 0) & (scores < slowest),
        again,
        (theirs > 0) & (theirs != UNKNOWN),
    )
    return [*zugzwang(position, mask, geometry), *(np.where(which, moves, 0).sum(1) for which in shown)]


Bits = Callable[[np.ndarray, np.ndarray, Geometry], list[np.ndarray]]
ENCODINGS: dict[str, tuple[int, Bits]] = {  # number of planes, and the function that computes their bits
    "stones-1": (2, stones),
    "facts-1": (6, facts),
    "tactics-1": (8, tactics),
    "lines-1": (9, lines),
    "fours-1": (21, fours),
    "zugzwang-1": (13, zugzwang),
    "forced-1": (19, forced),
}


def planes_of(encoding: str) -> int:
    """The number of planes of an encoding.

    Raises:
        ValueError: there is no such encoding or no such version of it.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding {encoding!r} is unknown, expected one of {sorted(ENCODINGS)}")
    return ENCODINGS[encoding][0]


def bits_of(positions: np.ndarray, masks: np.ndarray, geometry: Geometry, encoding: str) -> np.ndarray:
    """The planes of n positions as bitboards, (n, planes) int64; positions and masks are two (n,) int64.

    Raises:
        ValueError: the encoding is unknown, or the geometry does not fit a word.
    """
    if not geometry.fits_word:
        raise ValueError(f"a board of {geometry[:3]} (rows, columns, inarow) does not fit a 64-bit word")
    planes_of(encoding)
    return np.stack(ENCODINGS[encoding][1](positions, masks, geometry), 1).astype(np.int64)


def unpack_planes(bits: np.ndarray, geometry: Geometry) -> np.ndarray:
    """Bitboards, (n, planes) int64, as cells: (n, planes, rows, columns) uint8 of 0 and 1."""
    cells = np.unpackbits(bits.astype("<i8").view(np.uint8).reshape(*bits.shape, 8), axis=2, bitorder="little")
    cells = cells[:, :, : geometry.columns * geometry.stride].reshape(*bits.shape, geometry.columns, geometry.stride)
    return np.ascontiguousarray(cells[:, :, :, : geometry.rows].transpose(0, 1, 3, 2))


def encode_many(positions: np.ndarray, masks: np.ndarray, geometry: Geometry, encoding: str) -> np.ndarray:
    """The planes of n positions, given as two (n,) int64: (n, planes, rows, columns) uint8. Raises as ``bits_of``."""
    return unpack_planes(bits_of(positions, masks, geometry, encoding), geometry)


def encode(position: Position, encoding: str) -> np.ndarray:
    """The planes of one position: (1, planes, rows, columns) uint8. Raises as ``bits_of``."""
    stones_and_mask = np.array([position.position], np.int64), np.array([position.mask], np.int64)
    return encode_many(*stones_and_mask, position.geometry, encoding)


def seen(obs: Any, config: Any, name: str) -> np.ndarray:
    """Kaggle's observation in the form that learners of training.environments know by a name.

    Args:
        name: "course" for the board as it is, (1, rows, columns) of 0, 1, 2, top row first; "sides" for the same with 1
            for the mover's stones and 2 for the other side's; or an encoding, (planes, rows, columns).

    Raises:
        ValueError: as ``bits_of``.
    """
    if name not in ("course", "sides"):
        return encode(Position.from_observation(obs, config), name)[0]
    board = np.reshape(field(obs, "board"), (1, field(config, "rows"), field(config, "columns")))
    is_second = field(obs, "mark") == 2
    return np.where(board == 0, 0, 3 - board) if name == "sides" and is_second else board


NEVER = -1e4  # the logit of a move that the rules rule out, or that does not exist
LEAST_CHANCE = 1e-9  # of a result, even where the rules know another
UNKNOWN = 127  # instead of the score of a move, where the rules do not know it
# What counts in a move's logit besides the network's own: being sure that no other move has a better result, and that
# none has a better score.
RESULT_BONUS, BEST_BONUS = 48.0, 8.0


class Replies(NamedTuple):
    """Where forced replies from n positions end."""

    positions: np.ndarray  # (n,) int64, stones of the side then to move
    masks: np.ndarray  # (n,) int64
    turned: np.ndarray  # (n,) bool: whether another side is to move there
    scores: np.ndarray  # (n,) int8, of the first position for the side to move in it, or UNKNOWN


class Afterstates(NamedTuple):
    """The positions to be judged, m in all, for n positions; ``rows`` is in increasing order."""

    rows: np.ndarray  # (m,) int64, which of the n positions
    columns: np.ndarray  # (m,) int64, of the move
    positions: np.ndarray  # (m,) int64, after the move and forced replies, stones of the side then to move
    masks: np.ndarray  # (m,) int64
    is_own: np.ndarray  # (m,) bool: whether that is the side that made the move
    scores: np.ndarray  # (n, columns) int8: of moves that win or lose by force, for the mover; else UNKNOWN
    blocks: np.ndarray  # (n, columns) bool: the moves that keep the other side from a line there


def follow(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> Replies:
    """Plays the only replies that do not lose at once. Nobody may have a line."""
    replies = Replies(positions.copy(), masks.copy(), np.zeros(len(masks), bool), np.full(len(masks), UNKNOWN, np.int8))
    going = np.arange(len(masks))
    while going.size:
        position, mask, turned = (part[going] for part in replies[:3])
        left = geometry.cells - np.bitwise_count(mask).astype(np.int8)  # empty cells
        answers = safe_cells(position, mask, geometry)
        wins = (open_cells(mask, geometry) & winning_spots(position, mask, geometry)) != 0
        loses = ~wins & (answers == 0) & (left > 0)
        score = np.select([wins, loses], [(left + 1) // 2, -(left // 2)], UNKNOWN)
        replies.scores[going] = np.where(turned & (wins | loses), -score, score)
        forced = ~wins & (answers != 0) & (answers & (answers - 1) == 0)
        going = going[forced]
        replies.positions[going], replies.masks[going] = (position ^ mask)[forced], (mask | answers)[forced]
        replies.turned[going] = ~turned[forced]
    return replies


def afterstates(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> Afterstates:
    """What the moves lead to whose results the rules do not know, of those of n positions where none wins by force."""
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    moves = open_cells(masks, geometry)
    wins, blocks = (moves & winning_spots(side, masks, geometry) for side in (positions, positions ^ masks))
    answers = np.where(wins == 0, safe_cells(positions, masks, geometry), moves & ~wins)
    is_move, is_win, is_answer, is_block = ((cells[:, None] & columns) != 0 for cells in (moves, wins, answers, blocks))
    left = (geometry.cells - np.bitwise_count(masks).astype(np.int8))[:, None]
    scores = np.select([is_win, is_move & ~is_answer], [(left + 1) // 2, -(left // 2)], UNKNOWN).astype(np.int8)
    rows, places = np.nonzero(is_answer & ~is_win.any(1, keepdims=True))
    replies = follow((positions ^ masks)[rows], masks[rows] | (moves[rows] & columns[places]), geometry)
    known = replies.scores != UNKNOWN
    scores[rows[known], places[known]] = -replies.scores[known]
    asked = ~known & ~won(scores)[rows]
    positions, masks, is_own = (part[asked] for part in (replies.positions, replies.masks, replies.turned))
    return Afterstates(rows[asked], places[asked], positions, masks, is_own, scores, is_block)


def won(scores: np.ndarray) -> np.ndarray:
    """(n,) bool: whether some of the known scores of moves, (n, columns), is a win."""
    return ((scores > 0) & (scores != UNKNOWN)).any(1)


def scores_of(geometry: Geometry) -> np.ndarray:
    """The scores that a distribution is over, -most to most, of a line at once: (2 * most + 1,) int64."""
    most = (geometry.cells + 1) // 2
    return np.arange(-most, most + 1)


def chances_of_moves(chances: np.ndarray, states: Afterstates) -> np.ndarray:
    """The chances of the scores of all moves, for the mover: (n, columns, scores) float32.

    Where there is no move the least score is sure.

    Args:
        chances: of the scores of the side to move in each position that was asked for, (m, scores).
    """
    most = chances.shape[1] // 2
    known = np.where(states.scores == UNKNOWN, -most, states.scores) + most
    moves = (known[..., None] == np.arange(chances.shape[1])).astype(np.float32)
    chances = np.where(states.is_own[:, None], chances, chances[:, ::-1])
    moves[states.rows, states.columns] = chances
    return moves


def chances_of_best(moves: np.ndarray) -> np.ndarray:
    """(n, columns): the chance of each move that no other has a better score, as if they did not depend on each other.

    Args:
        moves: the chances of scores, or of other things in increasing order, (n, columns, scores).
    """
    at_most = np.maximum(moves.cumsum(2), 1e-12)
    return (moves * (at_most.prod(1, keepdims=True) / at_most)).sum(2)


def results_of(moves: np.ndarray) -> np.ndarray:
    """The chances of loss, draw and win, (n, columns, 3), from those of scores."""
    most = moves.shape[2] // 2
    return np.stack([moves[..., :most].sum(2), moves[..., most], moves[..., most + 1 :].sum(2)], 2)


def expected_results(moves: np.ndarray) -> np.ndarray:
    """(n, columns): the expected result of each move for the mover, -1 to 1, from the chances of scores."""
    results = results_of(moves)
    return results[..., 2] - results[..., 0]


def logit_bonus(moves: np.ndarray) -> np.ndarray:
    """(n, columns): what the chances of a move's scores add to its logit."""
    return RESULT_BONUS * chances_of_best(results_of(moves)) + BEST_BONUS * chances_of_best(moves)


def policy_of(logits: np.ndarray, moves: np.ndarray, states: Afterstates) -> np.ndarray:
    """Logits of all columns, (n, columns) float32.

    Of moves that win by force the quickest are played. Those that lose by force are played only where there are no
    others: the slowest, and of them one that blocks a line, because it asks more of the other side.

    Args:
        logits: the network's own for each position that it was asked for, (m,): how good it is for the side that is
            not to move there.
        moves: as ``chances_of_moves`` gives them.
    """
    scores = np.where(states.scores == UNKNOWN, 0, states.scores)
    best = scores.max(1, keepdims=True)
    loses = NEVER / 2 + 10.0 * scores + 5.0 * states.blocks
    policy = np.select([(scores > 0) & (scores == best), scores < 0], [0, loses], NEVER).astype(np.float32)
    asked = states.rows, states.columns
    policy[asked] = np.where(states.is_own, -logits, logits) + logit_bonus(moves)[asked]
    return policy


def value_of(policy: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Logits of loss, draw and win, (n, 3) float32: the mean over the moves, weighted by the policy.

    Args:
        policy: as ``policy_of`` gives it.
        moves: as ``chances_of_moves`` gives them.
    """
    weights = np.exp(policy - policy.max(1, keepdims=True))
    means = np.einsum("nc,ncr->nr", weights, results_of(moves)) / weights.sum(1, keepdims=True)
    return np.log(np.maximum(means, LEAST_CHANCE)).astype(np.float32)
