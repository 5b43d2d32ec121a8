"""The network against exact values: alone, in a search with a number of evaluations, and at the real clock.

python -m benchmarks.nets [--labels data/labels] [--evaluations 600] [--searched 400] [--timed 50]
                          [--set-size 100] [--sets NAME ...] [--players alone policy network solver]

"kept": the move keeps the result (win, draw or loss); "perfect": quickest win or slowest loss; "decisive" positions are
those in which some legal move does not keep the result. The positions are those that ``train.py labels`` holds out for
tests; outputs are averaged over each and its mirror image. Most of them have fewer than 18 stones, because more of
those are held out. So two rows use other weights: plies as in the mix "late", and all plies equally. The six sets are
of the published kinds (benchmarks/positions.py); errors are moves that do not keep the result.
"""

import argparse
import base64
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from agents import policy, value_search
from benchmarks.machine import describe
from benchmarks.positions import SIX_SETS, Kind, six_set
from connectx.clock import Budget
from connectx.exact import move_values
from connectx.geometry import STANDARD
from connectx.nets.network import PlainNetwork, masked_argmax
from connectx.nets.puct import Prove, Search
from connectx.nets.second_look import second_look
from connectx.position import Position
from connectx.score import NO_MOVE
from connectx.solver import Solver
from connectx_toolkit.training.data.shards import (
    AGENTS_PLAY,
    BOOK,
    CAREFUL_PLAY,
    HALF_RANDOM_PLAY,
    HARD_PLAY,
    NEAR_PERFECT_PLAY,
    OPENING,
    RANDOM_PLAY,
    TEST,
    Labels,
    labels_of,
    read_labels,
)
from connectx_toolkit.training.methods.labels import LATE, MIXES

AGENTS = Path(value_search.__file__).parent
Player = Callable[[Position], int]
# The network's policy, the agent of that name, a search with the network only, one with the solver at leaves.
PLAYERS = ("alone", "policy", "network", "solver")
PLIES = ((0, 7), (8, 11), (12, 15), (16, 19), (20, 23), (24, 27), (28, 31), (32, 35), (36, 41))
ORIGINS = {
    "random play": RANDOM_PLAY,
    "near-perfect play": NEAR_PERFECT_PLAY,
    "half-random play": HALF_RANDOM_PLAY,
    "careful play": CAREFUL_PLAY,
    "agents' games": AGENTS_PLAY,
    "hard positions": HARD_PLAY,
    "opening book": BOOK,
    "plies 0 to 8": OPENING,
}
WEIGHTINGS = {"plies as in the mix late": MIXES[LATE], "each ply of 8 to 40 alike": dict.fromkeys(MIXES[LATE], 1)}
MOVE_SECONDS = 1.7  # time of a move in the middle of a game with Kaggle's 2 s
# Errors in % of AlphaZero.jl's agent (1.67M parameters, 600 simulations) on sets of these kinds.
PUBLISHED_ERRORS = dict(zip((kind.name for kind in SIX_SETS), (0, 0, 1.7, 0, 1.6, 6.5), strict=True))


def positions_of(labels: Labels) -> list[Position]:
    stones = zip(labels.positions.tolist(), labels.masks.tolist(), strict=True)
    return [Position(position, mask, STANDARD) for position, mask in stones]


def print_shares(name: str, labels: Labels, columns: np.ndarray) -> None:
    """Prints a row: positions, share kept of all and of decisive ones, share perfect, share of decisive positions."""
    if not len(labels):
        return
    kept, perfect = (moves[np.arange(len(labels)), columns] for moves in (labels.kept, labels.perfect))
    decisive = f"{kept[labels.decisive].mean():8.2%}" if labels.decisive.any() else "       -"
    share = labels.decisive.mean()
    print(f"{name:<20}{len(labels):>7}{kept.mean():>9.2%}{decisive:>10}{perfect.mean():>10.2%}{share:>10.1%}")


def print_table(labels: Labels, columns: np.ndarray) -> None:
    """Prints the shares kept and perfect of all positions, by origin and by ply."""
    print(f"{'':<20}{'positions':>7}{'kept':>7}{'decisive':>10}{'perfect':>10}{'decisive share':>16}")
    print_shares("all", labels, columns)
    for name, origin in ORIGINS.items():
        rows = np.flatnonzero(labels.origins == origin)
        print_shares(name, labels.take(rows), columns[rows])
    for first, last in PLIES:
        rows = np.flatnonzero((labels.plies >= first) & (labels.plies <= last))
        print_shares(f"plies {first} to {last}", labels.take(rows), columns[rows])
    kept, perfect = (moves[np.arange(len(labels)), columns] for moves in (labels.kept, labels.perfect))
    hard = labels.decisive
    for name, weights in WEIGHTINGS.items():
        means = [weighted(right, labels.plies, weights) for right in (kept, perfect)]
        decisive = weighted(kept[hard], labels.plies[hard], weights)
        print(f"{name}: kept {means[0]:.2%}, of the decisive {decisive:.2%}, perfect {means[1]:.2%}")


def weighted(right: np.ndarray, plies: np.ndarray, weights: dict[int, int]) -> float:
    """Weighted mean over plies, (n,), of the share of ``right``, (n,) bool; plies that do not occur are left out."""
    present = sorted(weights.keys() & set(plies.tolist()))
    return float(np.average([right[plies == ply].mean() for ply in present], weights=[weights[ply] for ply in present]))


def choose_alone(position: Position) -> int:
    return masked_argmax(value_search.network.judge(position)["policy"], position)


def policy_alone(network: PlainNetwork, labels: Labels) -> np.ndarray:
    """The policy's most likely legal column for each position."""
    logits = network.judge_many(labels.positions, labels.masks)["policy"]
    return np.where(labels.legal, logits, -np.inf).argmax(1)


def policy_looking_twice(network: PlainNetwork, labels: Labels) -> np.ndarray:
    """The column of the agent ``policy`` for each position."""
    logits = second_look(network.forward, network.architecture, labels.positions, labels.masks)
    return np.where(labels.legal, logits, -np.inf).argmax(1)


def searching(budget: Callable[[], Budget], prove: Prove = value_search.prove) -> Player:
    """A player that starts a new search in each position; ``prove``: the solver at its leaves."""
    return lambda position: Search(position, value_search.judge, value_search.BATCH, prove).run(budget()).column


def played(player: Player, labels: Labels, label: str) -> np.ndarray:
    return np.array([player(position) for position in tqdm(positions_of(labels), label, mininterval=10)], np.int64)


def labelled_set(kind: Kind, size: int, seed: int, solver: Solver) -> Labels:
    """One of the six sets of the published kinds, with the score of every move."""
    states = [sample.position for sample in six_set(kind, size, seed)]
    scores = [[NO_MOVE if value is None else value.low for value in move_values(state, solver)] for state in states]
    positions, masks = (np.array([state[part] for state in states], np.int64) for part in (0, 1))
    return Labels(positions, masks, np.array(scores, np.int8), np.full(len(states), RANDOM_PLAY, np.uint8))


def print_sets(kinds: Sequence[Kind], size: int, seed: int, players: dict[str, Player]) -> None:
    """Prints the errors in % on each set, beside the published ones."""
    solver = Solver(STANDARD, table_bits=24)
    print(
        f"\n{'errors, %':<16}{'positions':>10}" + "".join(f"{name:>18}" for name in players) + f"{'AlphaZero.jl':>15}"
    )
    for kind in kinds:
        labels = labelled_set(kind, size, seed, solver)
        row = f"{kind.name:<16}{len(labels):>10}"
        for who, player in players.items():
            columns = played(player, labels, f"{kind.name}, {who}")
            row += f"{100 * (1 - labels.kept[np.arange(len(labels)), columns].mean()):>18.1f}"
        print(row + f"{PUBLISHED_ERRORS[kind.name]:>15}", flush=True)


def print_network(network: PlainNetwork, content: bytes, labels: Labels) -> None:
    """Prints size, speed, and the value head's accuracy."""
    architecture, one = network.architecture, positions_of(labels.take(np.arange(1)))[0]
    size = len(base64.b64encode(content))
    print(f"{architecture.encoding}, {architecture.layers}: {architecture.size:,} parameters, {size:,} bytes of base64")
    started = time.process_time()
    for _ in range(300):
        network.judge(one)
    single = (time.process_time() - started) / 300
    batch, repeats = labels.take(np.arange(min(8, len(labels)))), 100
    started = time.process_time()
    for _ in range(repeats):
        network.judge_many(batch.positions, batch.masks)
    each = (time.process_time() - started) / repeats / len(batch)
    print(f"a forward in numpy: {single * 1e6:.0f} us for one position, {each * 1e6:.0f} us each in batches of 8")
    values = network.judge_many(labels.positions, labels.masks)["value"].argmax(1) - 1
    right = values == np.sign(labels.values)
    print(f"value head right: {right.mean():.2%} of all, {right[labels.decisive].mean():.2%} of the decisive", end="")
    for name, weights in WEIGHTINGS.items():
        print(f"; {name}: {weighted(right, labels.plies, weights):.2%}", end="")
    print()


def sample(labels: Labels, count: int, seed: int) -> Labels:
    return labels.take(np.random.default_rng(seed).permutation(len(labels))[:count])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=Path, default=Path("data/labels"), help="folder that train.py labels has made")
    parser.add_argument("--evaluations", type=int, default=600, help="evaluations per move")
    parser.add_argument("--searched", type=int, default=400, help="test positions to search with so many evaluations")
    parser.add_argument("--set-size", type=int, default=100, help="positions in each of the six sets")
    names = [kind.name for kind in SIX_SETS]
    parser.add_argument("--sets", nargs="+", choices=names, default=names, metavar="NAME", help="which of them")
    parser.add_argument("--players", nargs="+", choices=PLAYERS, default=PLAYERS, help="who plays them")
    parser.add_argument("--timed", type=int, default=50, help="test positions to search for 1.7 s each")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{describe()}; seed {options.seed}")
    labels, content = read_labels(options.labels), (AGENTS / "weights" / "net.bin").read_bytes()
    labels = labels_of(labels, TEST)
    network = PlainNetwork.from_bytes(content)
    print_network(network, content, labels)
    print("\nThe policy alone. Published: 95.8% kept on random positions that are not lost (about 3M parameters),")
    print("93.5% perfect (6M) and 84% (70k) on sets half random, without trivial ones")
    print_table(labels, policy_alone(network, labels))
    print_shares("a second look", labels, policy_looking_twice(network, labels))
    searched, timed = sample(labels, options.searched, options.seed), sample(labels, options.timed, options.seed + 1)
    search = searching(lambda: Budget(nodes=options.evaluations))
    if options.searched:
        print(f"\nvalue_search at {options.evaluations} evaluations")
        print_table(searched, played(search, searched, "evaluations"))
    if options.timed:
        print(f"\nvalue_search at {MOVE_SECONDS} s")
        at_the_clock = played(lambda p: value_search.best_column(p, Budget.seconds(MOVE_SECONDS)), timed, "seconds")
        print_table(timed, at_the_clock)
    if options.set_size:
        network_only = searching(lambda: Budget(nodes=options.evaluations), prove=lambda position, mask: None)
        titles = ("network alone", "second look", f"{options.evaluations} evaluations", "with solver")
        choices = (choose_alone, policy.best_column, network_only, search)
        players = dict(zip(PLAYERS, zip(titles, choices, strict=True), strict=True))
        kinds = [kind for kind in SIX_SETS if kind.name in options.sets]
        print_sets(kinds, options.set_size, options.seed, dict(players[name] for name in options.players))


if __name__ == "__main__":
    main()
