"""Learns what each type of opponent will give away from a position on, by fitted value iteration (Ernst et al. 2005).

Labelled positions have the exact score of every move. Where the opponent is to move, the model of replies gives each
move a probability, the scores say what it gives away, and the network, averaged over its last steps, estimates what
follows; where we are to move, the best of our moves counts that give nothing away. These sums are the next targets.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from connectx.geometry import STANDARD
from connectx.nets.encoding import encode_many
from connectx.nets.network import Architecture, PlainNetwork
from connectx.nets.torch_form import Network
from connectx.opponent_model import lengths_of, move_probabilities
from connectx.position import winning_spots
from connectx.score import NO_MOVE
from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.data.labels import Labels
from connectx_toolkit.training.data.sampling import moves_of
from connectx_toolkit.training.support.device import mixed_precision

BATCH = 1024  # positions in a step: half with the opponent to move, half with us
LEARNING_RATE, WEIGHT_DECAY, WARM_UP = 2e-3, 0.05, 200  # the last in steps
TARGETS_AVERAGED, AVERAGED = 200, 1000  # steps over which the weights are averaged, for the targets and in the end
CHUNK = 20_000  # positions whose replies are foreseen at once
CPU = torch.device("cpu")


class Problems(NamedTuple):
    """Labelled positions as the opponent and as we meet them. All arrays have n rows."""

    positions: np.ndarray  # (n,) int64, stones of the side to move
    masks: np.ndarray  # (n,) int64
    moves: np.ndarray  # (n, columns) int64, the stone that each column takes
    results: np.ndarray  # (n,) 1, 0, -1 for the side to move
    chances: np.ndarray  # (n, types, columns) float32: that each type of opponent plays the move
    points: np.ndarray  # (n, columns) float32: points that the move gives away
    theirs: np.ndarray  # (n, columns) bool: after the move the game goes on, and the opponent does not lose yet
    ours: np.ndarray  # (n, columns) bool: after the move the game goes on, and it keeps the result


def problems_of(labels: Labels, policy: PlainNetwork, types: np.ndarray) -> Problems:
    """The problems in labelled positions for types of opponents, (types, kinds), with this policy."""
    positions, masks, legal = labels.positions, labels.masks, labels.legal
    scores = np.where(legal, labels.scores.astype(np.int64), NO_MOVE)
    results, of_moves = np.sign(labels.values.astype(np.int64)), np.sign(scores)
    moves = moves_of(masks, STANDARD)
    wins = (winning_spots(positions, masks, STANDARD)[:, None] & moves) != 0
    goes_on = legal & ~wins & (np.bitwise_count(masks) < STANDARD.cells - 1)[:, None]
    points = np.where(legal, (results[:, None] - of_moves) / 2, 0).astype(np.float32)
    chances = np.empty((len(labels), len(types), STANDARD.columns), np.float32)
    for start in range(0, len(labels), CHUNK):
        part = slice(start, start + CHUNK)
        lengths = lengths_of(positions[part], masks[part], scores[part], STANDARD)
        logits = policy.judge_many(positions[part], masks[part])["policy"].astype(float)
        chances[part] = np.einsum("tk,nkc->ntc", types, move_probabilities(scores[part], lengths, logits))
    kept = of_moves == results[:, None]
    return Problems(positions, masks, moves, results, chances, points, goes_on & (of_moves >= 0), goes_on & kept)


class Learner:
    """The network of expected gains in training; ``average`` is the result."""

    def __init__(self, problems: Problems, architecture: Architecture, steps: int, seed: int):
        torch.manual_seed(seed)
        self.problems, self.steps, self.step = problems, steps, 0
        self.rng = np.random.default_rng(seed)
        self.to_move = np.flatnonzero(problems.results >= 0), np.flatnonzero(problems.results <= 0)
        self.network, self.later, self.average = (Network(architecture) for _ in range(3))
        for copy in (self.later, self.average):
            copy.load_state_dict(self.network.state_dict())
        self.optimizer = torch.optim.AdamW(self.network.parameters(), weight_decay=WEIGHT_DECAY)

    def run(self) -> float:
        """Trains to the end; the mean loss of the last tenth."""
        losses = []
        with progress(self.steps, "step") as bar:
            while self.step < self.steps:
                losses.append(self.learn())
                bar.update()
        return float(np.mean(losses[-max(1, self.steps // 10) :]))

    def learn(self) -> float:
        """One step; its loss."""
        theirs, ours = (self.rng.choice(rows, BATCH // 2) for rows in self.to_move)
        targets = [torch.from_numpy(target).clamp(0, 1) for target in self.targets(theirs, ours)]
        rows = np.concatenate([theirs, ours])
        logits = self.logits(self.network, self.problems.positions[rows], self.problems.masks[rows])
        halves = logits["gift"][: len(theirs)], logits["hope"][len(theirs) :]
        parts = [functional.binary_cross_entropy_with_logits(*pair) for pair in zip(halves, targets, strict=True)]
        loss = torch.stack(parts).sum()
        rate = LEARNING_RATE * min(1, (self.step + 1) / WARM_UP) * (1 + np.cos(np.pi * self.step / self.steps)) / 2
        for group in self.optimizer.param_groups:
            group["lr"] = float(rate)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        with torch.no_grad():
            for mean, steps in ((self.later, TARGETS_AVERAGED), (self.average, AVERAGED)):
                for old, new in zip(mean.parameters(), self.network.parameters(), strict=True):
                    old.lerp_(new, 1 / min(steps, self.step))
        return float(loss.detach())

    @staticmethod
    def logits(network: Network, positions: np.ndarray, masks: np.ndarray) -> dict[str, Tensor]:
        """Outputs of each head for positions, (n, types) float32."""
        planes = encode_many(positions, masks, STANDARD, network.architecture.encoding)
        with mixed_precision(CPU):
            outputs = network(torch.from_numpy(planes).float())
        return {name: output.float() for name, output in outputs.items()}

    def targets(self, theirs: np.ndarray, ours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is given away from rows in which the opponent, and in which we are to move: (n, types) each."""
        p = self.problems
        (their_rows, their_columns), (our_rows, our_columns) = np.nonzero(p.theirs[theirs]), np.nonzero(p.ours[ours])
        rows = np.concatenate([theirs[their_rows], ours[our_rows]])
        moves = p.moves[rows, np.concatenate([their_columns, our_columns])]
        with torch.no_grad():
            logits = self.logits(self.later, p.positions[rows] ^ p.masks[rows], p.masks[rows] | moves)
        later = np.zeros((len(theirs), *p.chances.shape[1:]), np.float32)
        later[their_rows, :, their_columns] = torch.sigmoid(logits["hope"][: len(their_rows)]).numpy()
        given = (p.chances[theirs] * (p.points[theirs][:, None] + later)).sum(2)
        theirs_next = np.zeros((len(ours), *p.chances.shape[1:]), np.float32)
        theirs_next[our_rows, :, our_columns] = torch.sigmoid(logits["gift"][len(their_rows) :]).numpy()
        return given, theirs_next.max(2)
