"""How well the network plays, alone and in its agents, on positions that training did not choose.

python -m benchmarks.recipes [--only NAME ...] [--players policy network] [--count 1000] [--seed 1] [--weights FILE]
python -m benchmarks.recipes --file FILE          positions of others, as evaluate.py exam --positions takes them

What the network learnt is left out: positions of its training labels, and those whose moves lead to anything that it
saw of them. The labels are all openings of up to 7 stones that are not held out, and those of the file that the
manifest beside the network names. "number" counts the positions that remain.

The recipes are those of connectx_toolkit/games/recipes.py, and the six sets of benchmarks/positions.py.

"good": the move keeps the result (win, draw or loss); "critical": the same of positions in which some move does not;
"perfect": fastest win or slowest loss. The players: "policy" is the agent: it plays the replies that each move forces,
takes wins and losses that it meets, and lets the network judge the rest, each position and its mirror image. "network"
is the network alone: one forward pass for the position after each move, no rules, no replies, no mirror image; training
showed it quiet positions only. "search" is the tree search of the agent value_search at --evaluations, "clock" the same
at Kaggle's clock. "passes" counts forward passes a position, "unasked" the positions in which rules alone chose. A
search takes some ten passes for an evaluation, AlphaZero.jl one for a simulation: beside its 600 simulations stand 600
passes, --evaluations 60.

Positions and the scores of all moves are kept in --folder, so that another network meets the same.
"""

import argparse
import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

from agents import value_search
from benchmarks.machine import head, record
from benchmarks.positions import SIX_SETS, six_set
from connectx.clock import Budget
from connectx.encoding import UNKNOWN, Afterstates, afterstates, chances_of_moves, encode_many, policy_of
from connectx.network import PlainNetwork, softmax
from connectx.position import STANDARD, Position
from connectx.puct import Search, one_thread
from connectx.solver import Solver
from connectx_toolkit.games.exam_positions import positions_in
from connectx_toolkit.games.grades import Sheet
from connectx_toolkit.games.labelled import Labels, moves_of
from connectx_toolkit.games.recipes import FOLDER, RECIPES, TABLE_BITS, labelled, labels_by
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import WEIGHTS
from connectx_toolkit.training.makers.examples import is_new
from connectx_toolkit.training.makers.labels import TRAINING, labels_of, opening_labels, read_labels
from connectx_toolkit.training.runs import NAME as MANIFEST

MOVE_SECONDS = 1.7  # of a move in the middle of a game with Kaggle's 2 s
ALPHAZERO_JL = "% errors of AlphaZero.jl (1.67M parameters, 600 simulations)"
ERRORS = {kind.name: f"{errors}{ALPHAZERO_JL}" for kind, errors in zip(SIX_SETS, (0, 0, 1.7, 0, 1.6, 6.5), strict=True)}
PUBLISHED = ERRORS | {
    "random": "95.8% good on random positions that are not lost (10 x 128 residual, 3M parameters)",
    "half-random": "93.5% perfect (Clausen 2020, 6M parameters)",
}


KINDS = {kind.name: kind for kind in SIX_SETS}


def labels_for(name: str, options: argparse.Namespace) -> Labels:
    """Those of the folder, or made now."""
    if name not in KINDS:
        return labels_by(name, options.count, options.seed, options.folder)
    samples = six_set(KINDS[name], options.count, options.seed)
    return labelled(name, (sample.position for sample in samples), options.count, Solver(STANDARD, TABLE_BITS))


def training_labels(weights: Path) -> tuple[Labels, str]:
    """What a network learnt from, and which of it is known: openings, and the file that its manifest names.

    Raises:
        ValueError: that file is missing, or is none of labels.
    """
    manifest = weights.parent / MANIFEST
    entry = json.loads(manifest.read_text(encoding="utf-8")).get(weights.name, {}) if manifest.exists() else {}
    words = shlex.split(entry.get("command", ""))
    if "--labels" not in words:  # networks made before a command had every option
        return labels_of(opening_labels(), TRAINING), "openings; its other labels are not here"
    path = Path(words[words.index("--labels") + 1])
    return labels_of(read_labels(path), TRAINING), f"openings and {path}"


def judged_alone(network: PlainNetwork, labels: Labels) -> np.ndarray:
    """What the network says of the position after each move: logits of all columns, (n, columns) float32."""
    moves = moves_of(labels.masks, STANDARD)
    rows, columns = np.nonzero(moves)
    positions, masks = (labels.positions ^ labels.masks)[rows], labels.masks[rows] | moves[rows, columns]
    outputs = network.forward(encode_many(positions, masks, STANDARD, network.architecture.encoding))
    nothing, unknown = np.zeros(moves.shape, bool), np.full(moves.shape, UNKNOWN, np.int8)
    states = Afterstates(rows, columns, positions, masks, np.zeros(len(rows), bool), unknown, nothing)
    return policy_of(outputs["move"][:, 0], chances_of_moves(softmax(outputs["score"]), states), states)


@contextmanager
def counting(network: PlainNetwork) -> Iterator[list[int]]:
    """The number of positions in each call of the network."""
    calls: list[int] = []

    def forward(planes: np.ndarray) -> dict[str, np.ndarray]:
        calls.append(len(planes))
        return type(network).forward(network, planes)

    with mock.patch.object(network, "forward", forward):
        yield calls


def unasked(labels: Labels) -> float:
    """The share of positions, in percent, in which rules and forced replies alone choose the move."""
    states = afterstates(labels.positions, labels.masks, STANDARD)
    return round(100 * float((np.bincount(states.rows, minlength=len(labels)) == 0).mean()), 1)


def columns_of(player: str, network: PlainNetwork, labels: Labels, evaluations: int) -> np.ndarray:
    """The column of each position: (n,) int64."""
    if player in ("policy", "network"):
        is_alone = player == "network"
        logits = judged_alone(network, labels) if is_alone else network.judge_many(*labels[:2])["policy"]
        return np.where(labels.legal, logits, -np.inf).argmax(1)

    columns = []
    with progress(len(labels), "position", player) as bar, one_thread():
        for stones, mask in zip(labels.positions.tolist(), labels.masks.tolist(), strict=True):
            budget = Budget.seconds(MOVE_SECONDS) if player == "clock" else Budget(nodes=evaluations)
            search = Search(Position(stones, mask, STANDARD), value_search.judge, value_search.BATCH)
            columns.append(search.run(budget).column)
            bar.update()
    return np.array(columns, np.int64)


def shares(labels: Labels, columns: np.ndarray) -> dict[str, float]:
    """The shares of good, critical and perfect moves, in percent."""
    sheet = Sheet("", labels, columns[None], np.zeros((1, len(columns))), [])
    critical = sheet.good[:, labels.critical].mean() if labels.critical.any() else 1.0
    found = {"good": sheet.good.mean(), "critical": critical, "perfect": sheet.perfect.mean()}
    return {name: round(100 * float(share), 2) for name, share in found.items()}


def row_of(player: str, labels: Labels, evaluations: int) -> dict[str, float]:
    """The shares of right moves, and how often the network was asked."""
    with counting(value_search.network) as calls:
        columns = columns_of(player, value_search.network, labels, evaluations)
    found = shares(labels, columns) | {"passes": round(sum(calls) / len(labels), 1)}
    return found | ({"unasked": unasked(labels)} if player == "policy" else {})


def measure(name: str, drawn: Labels, options: argparse.Namespace) -> None:
    """Prints a row for each player, on the positions that are new to the network."""
    labels = drawn.take(np.flatnonzero(is_new(drawn, options.learnt)))
    if not len(labels):
        print(f"{name:<18}{'':10}{0:>10}  the network learnt all {len(drawn):,}", flush=True)
        return
    rows: dict[str, dict[str, float]] = {}
    for player in options.players:
        rows[player] = row_of(player, labels, options.evaluations)
        numbers = "".join(f"{share:>10.2f}" for share in rows[player].values())
        print(f"{name:<18}{player:<10}{len(labels):>10}{numbers}", flush=True)
    first, share = next((player, row["good"]) for player, row in rows.items())
    stem = f"network-{name.replace(' ', '-')}"
    record(
        stem,
        share,
        f"% good moves of {first}",
        PUBLISHED.get(name),
        positions=len(labels),
        drawn=len(drawn),
        learnt=options.left_out,
        seed=options.seed,
        players=rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names, players = [*RECIPES, *KINDS], ("policy", "network", "search", "clock")
    parser.add_argument("--only", nargs="+", choices=names, default=list(RECIPES), metavar="NAME", help="the recipes")
    parser.add_argument("--players", nargs="+", choices=players, default=players[:2], metavar="NAME")
    parser.add_argument("--file", type=Path, help="positions of others, in place of the recipes")
    parser.add_argument("--count", type=int, default=1000, help="positions of each (default %(default)s)")
    parser.add_argument(
        "--evaluations", type=int, default=60, help="a move of a search, some ten passes each (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", type=Path, default=WEIGHTS / "policy.bin", help="the network")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where positions are kept")
    options = parser.parse_args()
    try:
        options.learnt, options.left_out = training_labels(options.weights)
    except ValueError as fault:
        parser.error(str(fault))
    head(seed=options.seed, weights=options.weights)
    print(f"left out: what is known to be learnt, {len(options.learnt):,} positions ({options.left_out})")
    value_search.network = PlainNetwork.from_bytes(options.weights.read_bytes())
    print(
        f"{'positions':<18}{'player':<10}{'number':>10}{'good':>10}{'critical':>10}{'perfect':>10}{'passes':>10}{'unasked':>10}"
    )
    if options.file:
        try:
            positions = positions_in(options.file)[0]
        except ValueError as fault:
            parser.error(str(fault))
        labels = labelled(options.file.stem, positions, options.count, Solver(STANDARD, TABLE_BITS))
        return measure(options.file.stem, labels, options)
    for name in options.only:
        measure(name, labels_for(name, options), options)
    return None


if __name__ == "__main__":
    main()
