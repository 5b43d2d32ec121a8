"""Menace: players that learn a small game with boxes of beads, and a table of their results against each other.

A player has a box for every position, with beads for each legal action, and draws a bead. After a game the winner adds
beads for the actions that it drew, and the loser takes some away (D. Michie, "Trial and error", 1961; boxes of
symmetric positions are not merged here). Two rules limit what is taken away:

    keep    at least one bead of each legal action stays, so that every action remains possible
    drop    an action may lose all its beads; only the last bead of a box stays

There are six players for each seat: one that draws at random, a perfect one ("ideal"), and those of four pairs that
learn against each other, one for each combination of the rules ("keep v drop": keeps, learned against one that drops).
All players of the first seat meet all of the second. ``train.py menace`` trains, prints and draws the table, and
compares each player with exact values; with ``--human first`` you can then play against one.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.games.game_tree import Tree, shares, table_player, tree_of
from connectx_toolkit.training.games.players import play_games
from connectx_toolkit.training.games.small_games import NAMES, games_named
from connectx_toolkit.training.games.terminal import play_human
from connectx_toolkit.training.support import checkpoint
from connectx_toolkit.training.support.manifest import finish, is_finished
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.plots import save_curve, save_figure

KEEP, DROP = "keep", "drop"
PAIRS = [(first, second) for first in (KEEP, DROP) for second in (KEEP, DROP)]  # rules of the pairs that learn
COLUMNS = ["random", *(f"{own} v {other}" for own, other in PAIRS), "ideal"]  # the players of each seat
SEATS = ("first", "second")
BEADS = 10  # for each legal action at the beginning
CHUNK = 1000  # training games of a pair between two checkpoints
SPAN = 100  # training games per point of the curve


@dataclass
class Config(Options):
    """Options of ``train.py menace``."""

    METHOD = "menace"

    game: str = option("nim", NAMES)
    games: int = option(10_000, "training games of each pair", least=1)
    test_games: int = option(10_000, "games for each cell of the table", least=1)
    reward: int = option(1, "beads that the winner adds for each action", least=1)
    penalty: int = option(1, "beads that the loser takes away for each action, as far as its rule allows", least=1)
    seed: int = option(1, "random seed")
    run: Path = option(Path("runs/menace"), "folder for the checkpoint, the table and the curves")
    human: str = option(
        "",
        "'first' or 'second': after training, play against keep v keep from this seat",
        among=("", *SEATS),
        is_free=True,
    )


class Boxes:
    """A player's boxes, ``beads[position][action]``."""

    def __init__(self, beads: Sequence[Sequence[int]], rule: str):
        self.beads = [list(box) for box in beads]
        self.rule = rule

    def draw(self, position: int, chance: float) -> int:
        """The action of the bead that ``chance``, in [0, 1), picks."""
        box = self.beads[position]
        left = chance * sum(box)
        for action, count in enumerate(box):
            left -= count
            if left < 0:
                return action
        return max(range(len(box)), key=box.__getitem__)  # reached only by a rounding error

    def add(self, moves: Sequence[tuple[int, int]], beads: int) -> None:
        """After a win: ``moves`` are (position, action)."""
        for position, action in moves:
            self.beads[position][action] += beads

    def take(self, moves: Sequence[tuple[int, int]], beads: int) -> None:
        """After a loss: as many beads as the rule allows, at most ``beads``."""
        for position, action in moves:
            box = self.beads[position]
            floor = 0 if self.rule == DROP and sum(box) > box[action] else 1
            box[action] = max(min(floor, box[action]), box[action] - beads)


class Pair:
    """Two players that learn against each other, with their random generator and learning curve."""

    def __init__(self, tree: Tree, config: Config, index: int):
        self.players = [Boxes((BEADS * tree.legal).tolist(), rule) for rule in PAIRS[index]]
        self.name = "{} against {}".format(*PAIRS[index])
        self.random = random.Random(f"{config.seed} {index}")
        self.played = 0
        self.first_wins: list[int] = []  # of each SPAN games

    def learn(self, children: list[list[int]], rewards: list[list[int]], config: Config) -> None:
        """Plays one game, from which both learn. A draw changes nothing."""
        moves: tuple[list, list] = ([], [])
        position, seat = 0, 1
        while position >= 0:
            seat = 1 - seat
            action = self.players[seat].draw(position, self.random.random())
            moves[seat].append((position, action))
            position, result = children[position][action], rewards[position][action]
        if self.played % SPAN == 0:
            self.first_wins.append(0)
        self.played += 1
        if result:
            winner = seat if result > 0 else 1 - seat
            self.players[winner].add(moves[winner], config.reward)
            self.players[1 - winner].take(moves[1 - winner], config.penalty)
            self.first_wins[-1] += winner == 0


class Population:
    """All pairs of learners, and their checkpoint."""

    def __init__(self, tree: Tree, config: Config):
        self.tree, self.config = tree, config
        self.path = config.run / f"{config.game}.bin"
        self.pairs = [Pair(tree, config, index) for index in range(len(PAIRS))]
        self.seconds = 0.0  # of processor time in training, over all runs
        self._resume()

    def train(self) -> None:
        """Plays every pair's games, with a checkpoint every CHUNK games."""
        children, rewards = self.tree.children.tolist(), self.tree.rewards.tolist()
        for pair in self.pairs:
            with progress(self.config.games, "game", pair.name, done=pair.played) as bar:
                while pair.played < self.config.games:
                    count = min(CHUNK - pair.played % CHUNK, self.config.games - pair.played)
                    started = time.process_time()
                    for _ in range(count):
                        pair.learn(children, rewards, self.config)
                    self.seconds += time.process_time() - started
                    bar.update(count)
                    self.save()

    def chances(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """For each seat, the players in the order of COLUMNS, as (positions, actions) probabilities."""
        uniform, ideal = shares(self.tree.legal), shares(self.tree.best)
        learned = [[shares(np.array(pair.players[seat].beads)) for pair in self.pairs] for seat in (0, 1)]
        # A column's own rule comes first; the pairs are listed by the first seat's.
        second = [learned[1][PAIRS.index((other, own))] for own, other in PAIRS]
        return [uniform, *learned[0], ideal], [uniform, *second, ideal]

    def save(self) -> None:
        arrays, states = {}, []
        for index, pair in enumerate(self.pairs):
            for seat, player in zip(SEATS, pair.players, strict=True):
                arrays[f"{index}/{seat}/beads"] = np.array(player.beads, np.int64)
            arrays[f"{index}/curve"] = np.array(pair.first_wins, np.int64)
            states.append({"played": pair.played, "random": pair.random.getstate()})
        checkpoint.save(self.path, self.config.settings, {"pairs": states, "seconds": self.seconds}, arrays)

    def _resume(self) -> None:
        found = checkpoint.load(self.path, self.config.settings)
        if found is None:
            return
        with checkpoint.restoring(self.path):
            self.seconds = found.facts["seconds"]
            for index, (pair, state) in enumerate(zip(self.pairs, found.facts["pairs"], strict=True)):
                for seat, player in zip(SEATS, pair.players, strict=True):
                    player.beads = found.arrays[f"{index}/{seat}/beads"].tolist()
                pair.first_wins, pair.played = found.arrays[f"{index}/curve"].tolist(), state["played"]
                version, numbers, gauss = state["random"]
                pair.random.setstate((version, tuple(numbers), gauss))


def round_robin(population: Population, games: int, seed: int) -> np.ndarray:
    """(6, 6, 3): shares of wins, draws and losses of the first seat's players (rows) against the second's.

    Both are in the order of COLUMNS.
    """
    rng, leads = np.random.default_rng(seed), np.ones(games, bool)
    rows, columns = ([table_player(population.tree, c, rng) for c in players] for players in population.chances())
    found = np.zeros((len(rows), len(columns), 3))
    for row, column in np.ndindex(*found.shape[:2]):
        new = games_named(population.config.game, games)
        found[row, column] = play_games(new, (rows[row], columns[column]), leads).counts()
    return found / games


def kept(tree: Tree, chances: np.ndarray, which: np.ndarray) -> float:
    """Mean probability of an action that keeps the exact value, over positions of ``which`` where not all actions do.

    NaN if there are none.
    """
    matters = which & (tree.best != tree.legal).any(1)
    return float((chances * tree.best).sum(1)[matters].mean()) if matters.any() else float("nan")


def colour(share: float) -> str:
    """A color for rich, from red (0) through yellow to green (1)."""
    return f"rgb({round(255 * min(1, 2 - 2 * share))},{round(255 * min(1, 2 * share))},80)"


def table_of(results: np.ndarray, title: str) -> Table:
    """The share of games that the row's player won, moving first; with the share of draws, if there were any."""
    table = Table("first \\ second", *COLUMNS, title=title)
    for name, row in zip(COLUMNS, results, strict=True):
        draws = [f" (={drawn:.1%})" if results[..., 1].any() else "" for _, drawn, _ in row]
        cells = [f"[black on {colour(won)}]{won:6.2%}{more}[/]" for (won, *_), more in zip(row, draws, strict=True)]
        table.add_row(name, *cells)
    return table


def exact_table(population: Population) -> Table:
    """Each player's draws compared with exact values."""
    tree = population.tree
    table = Table(
        "", *COLUMNS, title="probability of a move that keeps the exact value, where some legal move does not"
    )
    for seat, name in enumerate(SEATS):
        shares_kept = [kept(tree, chances, tree.turns(seat)) for chances in population.chances()[seat]]
        table.add_row(name, *("-" if np.isnan(share) else f"{share:.2%}" for share in shares_kept))
    return table


def draw_table(results: np.ndarray, title: str, path: Path) -> None:
    """The table of wins as a picture."""
    figure = Figure(figsize=(8, 6.5), layout="constrained")
    axes = figure.subplots()
    wins = results[..., 0]
    axes.imshow(wins, cmap="RdYlGn", vmin=-0.15, vmax=1.15)  # without the ends, too dark for text
    for row, column in np.ndindex(wins.shape):
        axes.text(column, row, f"{wins[row, column]:.2%}", ha="center", va="center")
    axes.set_xticks(range(len(COLUMNS)), COLUMNS, rotation=30, ha="right")
    axes.set_yticks(range(len(COLUMNS)), COLUMNS)
    axes.set(title=title, xlabel="second player", ylabel="first player")
    save_figure(figure, path)


def report(population: Population) -> np.ndarray:
    """Plays the table's games, prints the tables, and draws the wins and the learning curves."""
    config = population.config
    results = round_robin(population, config.test_games, config.seed)
    title = f"{config.game}: wins of the first player in {config.test_games} games"
    for table in (table_of(results, title), exact_table(population)):
        Console().print(table)
    draw_table(results, title, config.run / f"{config.game}-table.png")
    wins = {pair.name: np.array(pair.first_wins) / SPAN for pair in population.pairs}
    curves = {name: (SPAN * np.arange(1, len(won) + 1), won) for name, won in wins.items()}
    save_curve(config.run / f"{config.game}-curves.png", "training games", "first player's share of wins", curves)
    print(f"written: {population.path}, and {config.game}-table.png and {config.game}-curves.png beside it")
    return results


def train(config: Config) -> tuple[Population, np.ndarray]:
    """Trains all players, or resumes from the checkpoint; prints and draws the results.

    Raises:
        ValueError: the run is finished, and nobody wants to play.
    """
    if is_finished(config) and not config.human:
        raise ValueError(f"{config.run} is finished: play against it with --human, choose another --run, or delete it")
    population = Population(tree_of(games_named(config.game)), config)
    population.train()
    results = report(population)
    finish(config)
    if config.human:
        seat = SEATS.index(config.human)
        chances = population.chances()[1 - seat][COLUMNS.index("keep v keep")]
        play_human(games_named(config.game), seat, table_player(population.tree, chances, np.random.default_rng()))
    return population, results
