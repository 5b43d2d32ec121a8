"""How well a network plays, alone and in its agents, on positions that training did not choose.

python -m benchmarks.recipes [--only NAME ...] [--players network policy] [--count 1000] [--seed 1] [--weights FILE ...]

The recipes are those of connectx_toolkit/games/recipes.py, and the six sets of benchmarks/positions.py. Positions whose
moves all have the same exact score are left out, and from 8 stones on those that the network has learnt: the training
labels of the files that the command in the manifest beside the network read, and of the network that it began with. All
openings of up to 7 stones are known; "openings" counts those among the positions.

"perfect": fastest win or slowest loss; "good": the move keeps the result (win, draw or loss); "critical": the same of
positions in which some move does not. Intervals are Wilson's, 95%. The players: "network" is the network
alone, by legality and nothing else: one forward pass for the position after each move. "policy" adds what agents add:
the replies that each move forces, wins and losses that it meets, and the mirror image. "search" is the tree search of
the agent value_search at --evaluations, "clock" the same at Kaggle's clock. "passes" counts forward passes a position,
"ms" is the time of a move of one core in numpy.

Positions and the scores of all moves are kept in --folder, so that another network meets the same.
"""

import argparse
import io
import json
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import binomtest

from agents import value_search
from benchmarks.machine import head, record
from benchmarks.positions import SIX_SETS, six_set
from connectx_core.afterstates import UNRATED, Afterstates, MoveNetwork, chances_of_moves, policy_of
from connectx_core.clock import Budget
from connectx_core.encoding import encode_many
from connectx_core.network import softmax
from connectx_core.position import STANDARD, Position
from connectx_core.puct import Search
from connectx_core.solver import Solver
from connectx_toolkit.cli import train
from connectx_toolkit.games.grades import Sheet
from connectx_toolkit.games.labelled import Labels, canonical_keys, concatenate_labels, moves_of
from connectx_toolkit.games.recipes import RECIPES, RECIPES_FOLDER, SOLVER_BITS, label_positions, labels_by
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import WEIGHTS
from connectx_toolkit.training.makers.labels import TRAINING, labels_of, opening_labels, read_labels
from connectx_toolkit.training.makers.policy_network import OPENING_PLIES, Config
from connectx_toolkit.training.options import config_from, digest_of
from connectx_toolkit.training.runs import MANIFEST as MANIFEST

TIMED = 100  # positions, one by one
MOVE_SECONDS = 1.7  # of a move in the middle of a game with Kaggle's 2 s
ALPHAZERO_JL = "% errors of AlphaZero.jl (1.67M parameters, 600 simulations)"
ERRORS = {kind.name: f"{errors}{ALPHAZERO_JL}" for kind, errors in zip(SIX_SETS, (0, 0, 1.7, 0, 1.6, 6.5), strict=True)}
PUBLISHED = ERRORS | {
    "random": "95.8% good on random positions that are not lost (10 x 128 residual, 3M parameters)",
    "half-random": "93.5% perfect, one pass (Clausen 2020, 6M parameters, on his own set)",
}


KINDS = {kind.name: kind for kind in SIX_SETS}


def labels_for(name: str, options: argparse.Namespace) -> Labels:
    """Those of the folder, or made now."""
    if name not in KINDS:
        return labels_by(name, options.count, options.seed, options.folder)
    samples = six_set(KINDS[name], options.count, options.seed)
    return label_positions(name, (sample.position for sample in samples), options.count, Solver(STANDARD, SOLVER_BITS))


def training_labels(weights: Path) -> tuple[Labels, str]:
    """What a network learnt from, as far as it is known: openings, and the files that its manifest names.

    Raises ValueError: a file of labels is missing, is none, or is not the one that was read.
    """
    manifest = weights.parent / MANIFEST
    entry = json.loads(manifest.read_text(encoding="utf-8")).get(weights.name, {}) if manifest.exists() else {}
    try:
        with redirect_stderr(io.StringIO()):
            config = config_from(Config, train.parse_arguments(shlex.split(entry["command"])[2:]))
    except (KeyError, AttributeError, SystemExit):  # no entry, or the command of another method or an older version
        return labels_of(opening_labels(), TRAINING), f"openings; what else {weights} learnt is not known"
    if entry["inputs"]["labels"] != digest_of(config.labels):
        raise ValueError(f"{weights} did not learn from {config.labels} as it is now")
    learnt, source = labels_of(read_labels(config.labels), TRAINING), f"openings and {config.labels}"
    if config.start == Path():
        return learnt, source
    before, source_before = training_labels(config.start)
    return concatenate_labels([learnt, before]), f"{source}; before that, {source_before}"


def leave_out_learnt(drawn: Labels, learnt: Labels) -> Labels:
    """Those in which a move can be wrong, but for what a network has learnt with 8 stones or more."""
    differ = (drawn.legal & ~drawn.perfect).any(1)
    keys = canonical_keys(learnt.positions, learnt.masks)[learnt.plies >= OPENING_PLIES]
    return drawn.take(np.flatnonzero(differ & ~np.isin(canonical_keys(drawn.positions, drawn.masks), keys)))


def evaluated_alone(network: MoveNetwork, labels: Labels) -> np.ndarray:
    """What it says of the position after each move: logits of all columns, (n, columns) float32."""
    moves = moves_of(labels.masks, STANDARD)
    rows, columns = np.nonzero(moves)
    positions, masks = (labels.positions ^ labels.masks)[rows], labels.masks[rows] | moves[rows, columns]
    outputs = network.forward(encode_many(positions, masks, STANDARD, network.architecture.encoding))
    nothing, unknown = np.zeros(moves.shape, bool), np.full(moves.shape, UNRATED, np.int8)
    states = Afterstates(rows, columns, positions, masks, np.zeros(len(rows), bool), unknown, nothing)
    return policy_of(outputs["move"][:, 0], chances_of_moves(softmax(outputs["score"]), states), states)


@contextmanager
def counting(network: MoveNetwork) -> Iterator[list[int]]:
    """The number of positions in each call of the network."""
    calls: list[int] = []

    def forward(planes: np.ndarray) -> dict[str, np.ndarray]:
        calls.append(len(planes))
        return type(network).forward(network, planes)

    with mock.patch.object(network, "forward", forward):
        yield calls


def columns_of(player: str, network: MoveNetwork, labels: Labels, evaluations: int) -> np.ndarray:
    """The column of each position: (n,) int64."""
    if player in ("policy", "network"):
        is_alone = player == "network"
        logits = evaluated_alone(network, labels) if is_alone else network.evaluate_many(*labels[:2])["policy"]
        return np.where(labels.legal, logits, -np.inf).argmax(1)

    columns = []
    with progress(len(labels), "position", player) as bar:
        for stones, mask in zip(labels.positions.tolist(), labels.masks.tolist(), strict=True):
            budget = Budget.seconds(MOVE_SECONDS) if player == "clock" else Budget(nodes=evaluations)
            search = Search(Position(stones, mask, STANDARD), value_search.evaluate_leaves, value_search.BATCH)
            columns.append(search.run(budget).column)
            bar.update()
    return np.array(columns, np.int64)


def shares(labels: Labels, columns: np.ndarray) -> dict[str, list[float]]:
    """The shares of perfect, good and critical moves in percent, each with its Wilson interval (Wilson 1927)."""
    sheet = Sheet("", labels, columns[None], np.zeros((1, len(columns))), [])
    moves = {"perfect": sheet.perfect[0], "good": sheet.good[0], "critical": sheet.good[0, labels.critical]}
    percent = {}
    for name, hits in moves.items():
        if len(hits):
            interval = binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
            percent[name] = [round(100 * float(share), 2) for share in (hits.mean(), interval.low, interval.high)]
    return percent


def measure_player(player: str, labels: Labels, evaluations: int) -> dict[str, Any]:
    """The shares of right moves in percent, with their intervals, how often the network was asked, and its time."""
    network = value_search.network
    with counting(network) as calls:
        columns = columns_of(player, network, labels, evaluations)
    started, few = time.process_time(), labels.take(np.arange(min(TIMED, len(labels))))
    for row in range(len(few)):
        columns_of(player, network, few.take(np.array([row])), evaluations)
    milliseconds = 1000 * (time.process_time() - started) / len(few)
    return shares(labels, columns) | {"passes": round(sum(calls) / len(labels), 1), "ms": round(milliseconds, 2)}


def measure_set(name: str, drawn: Labels, options: argparse.Namespace) -> None:
    """Prints a row for each network and player, on the positions that are new to all of the networks."""
    labels = drawn
    for learnt in options.learnt.values():
        labels = leave_out_learnt(labels, learnt)
    if not len(labels):
        print(f"{name:<18} the networks learnt all {len(drawn):,}", flush=True)
        return
    openings = int((labels.plies < OPENING_PLIES).sum())
    for weights in options.weights:
        value_search.network = MoveNetwork.from_bytes(weights.read_bytes())
        size = value_search.network.architecture.size
        rows: dict[str, dict[str, Any]] = {}
        for player in options.players:
            row = rows[player] = measure_player(player, labels, options.evaluations)
            rates = "".join(
                "{:>8.2f} [{:.1f}, {:.1f}]".format(*row[kind]) if kind in row else 22 * " "
                for kind in ("perfect", "good", "critical")
            )
            counts = f"{size:>11,}{len(labels):>7}{openings:>9}"
            print(f"{name:<16}{weights.stem:<14}{player:<9}{counts}{rates}{row['passes']:>8}{row['ms']:>8}", flush=True)
        record(
            f"network-{weights.stem}-{name.replace(' ', '-')}",
            next(iter(rows.values()))["perfect"][0],
            f"% perfect moves of {next(iter(rows))}",
            PUBLISHED.get(name),
            parameters=size,
            positions=len(labels),
            openings=openings,
            drawn=len(drawn),
            learnt=options.left_out[weights],
            seed=options.seed,
            players=rows,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names, players = [*RECIPES, *KINDS], ("network", "policy", "search", "clock")
    parser.add_argument("--only", nargs="+", choices=names, default=list(RECIPES), metavar="NAME", help="the recipes")
    parser.add_argument("--players", nargs="+", choices=players, default=["network"], metavar="NAME")
    parser.add_argument("--count", type=int, default=1000, help="positions of each (default %(default)s)")
    parser.add_argument(
        "--evaluations", type=int, default=60, help="a move of a search, some ten passes each (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--weights", type=Path, nargs="+", default=[WEIGHTS / "policy.bin"], help="networks, on the same positions"
    )
    parser.add_argument("--folder", type=Path, default=RECIPES_FOLDER, help="where positions are kept")
    options = parser.parse_args()
    try:
        found = {weights: training_labels(weights) for weights in options.weights}
    except ValueError as fault:
        parser.error(str(fault))
    options.learnt = {weights: learnt for weights, (learnt, _) in found.items()}
    options.left_out = {weights: source for weights, (_, source) in found.items()}
    head(seed=options.seed)
    for weights, source in options.left_out.items():
        print(f"{weights}: left out what it learnt, {source}")
    rates = "".join(f"{kind:>8} %{'95%':>12}" for kind in ("perfect", "good", "critical"))
    counts = f"{'parameters':>11}{'number':>7}{'openings':>9}"
    print(f"{'positions':<16}{'network':<14}{'player':<9}{counts}{rates}{'passes':>8}{'ms':>8}")
    for name in options.only:
        measure_set(name, labels_for(name, options), options)


if __name__ == "__main__":
    main()
