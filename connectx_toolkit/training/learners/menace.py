"""Menace: players that learn a small game with boxes of beads, and a table of their results against each other.

A player has a box for every position, with 3 beads for each legal action, and draws a bead. It has one set of boxes,
from which it plays either seat. After a game the winner adds a bead for each action that it drew, and the loser takes
one away (D. Michie, "Trial and error", 1961). Two rules limit what is taken away:

    keep    at least one bead of each legal action stays, so that every action remains possible
    drop    an action may lose all its beads; only the last bead of a box stays

The six players are those of the source, whose game is Nim with 9 tokens:

    keep        one of two that learn against each other; both keep
    drop        the same; both drop
    stable      ten that keep and learn against each other; each game of the table is played by one of them
    untrained   its boxes are as at the beginning
    100 games   as keep, after 100 games
    ideal       perfect play

In a training game two players of a group are drawn, and the first of them moves first. In the table each player moves
first against every player. Against its own group, each game is between two different members. After 10,000 games of
training, the source's first player wins 0.23% of 10,000 games between two that keep.

The source does not say how its pair changes seats (here at random), nor what one game of a stable is (here as above).
Unlike the source, boxes of symmetric positions are not merged.
"""

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from connectx_core.weights import pack, unpack
from connectx_toolkit.games.game import SEATS
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.table import Column, Table, console_for_tables
from connectx_toolkit.training.opponents import Tree, normed_rows, table_player, tree_of
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import begin_run, is_finished, publish, save_curve
from connectx_toolkit.training.vector_games import (
    FIRST,
    GAME_FORMS,
    SECOND,
    ConnectX,
    Games,
    Nim,
    Player,
    games_named,
    play_games,
)

KEEP, DROP = "keep", "drop"
STABLE, UNTRAINED, EARLY, IDEAL = "stable", "untrained", "100 games", "ideal"
PLAYERS = (KEEP, DROP, STABLE, UNTRAINED, EARLY, IDEAL)  # rows and columns of the table
BEADS = 3  # for each legal action at the beginning
CURVE_SPAN = 100  # training games per point of the curve


class Regime(NamedTuple):
    """How players of a group learn."""

    rule: str
    members: int
    games: int | None = None  # of training; None: as many as the options say


REGIMES = {KEEP: Regime(KEEP, 2), DROP: Regime(DROP, 2), STABLE: Regime(KEEP, 10), EARLY: Regime(KEEP, 2, 100)}


@dataclass
class Config(Options):
    """Options of ``train.py menace``."""

    METHOD = "menace"

    game: str = option("nim", GAME_FORMS)
    games: int = option(10_000, "training games of each group", least=1)
    test_games: int = option(10_000, "games for each cell of the table", least=1)
    reward: int = option(1, "beads that the winner adds for each action", least=1)
    penalty: int = option(1, "beads that the loser takes away for each action, as far as its rule allows", least=1)
    seed: int = option(1, "random seed", least=0)
    run: Path = option(Path("runs/menace"), "folder for the curves")
    output: Path = option(Path(), "file to write: the beads of all boxes", in_run="menace.bin")
    human: str = option(
        "",
        "'first' or 'second': after training, play against the player 'keep' from this seat",
        among=("", *SEATS),
        is_free=True,
    )


class Boxes:
    """A player's boxes, ``beads[position][action]``; the same for both seats."""

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


class LearningGroup:
    """Players that learn against each other, with their random generator and learning curve."""

    def __init__(self, tree: Tree, config: Config, name: str):
        kind = REGIMES[name]
        self.players = [Boxes((BEADS * tree.legal).tolist(), kind.rule) for _ in range(kind.members)]
        self.games = kind.games or config.games
        self.random = random.Random(f"{config.seed} {name}")
        self.played = 0
        self.first_wins: list[int] = []  # of each CURVE_SPAN games

    def learn(self, children: list[list[int]], rewards: list[list[int]], config: Config) -> None:
        """Plays one game between two members, from which both learn. A draw changes nothing."""
        players, moves = self.random.sample(self.players, 2), ([], [])  # type: tuple[list[Boxes], tuple[list, list]]
        position, seat = 0, 1
        while position >= 0:
            seat = 1 - seat
            action = players[seat].draw(position, self.random.random())
            moves[seat].append((position, action))
            position, result = children[position][action], rewards[position][action]
        if self.played % CURVE_SPAN == 0:
            self.first_wins.append(0)
        self.played += 1
        if result:
            winner = seat if result > 0 else 1 - seat
            players[winner].add(moves[winner], config.reward)
            players[1 - winner].take(moves[1 - winner], config.penalty)
            self.first_wins[-1] += winner == 0

    @property
    def beads(self) -> np.ndarray:
        """(members, positions, actions) int64."""
        return np.array([player.beads for player in self.players], np.int64)


class Population:
    """All groups of learners."""

    def __init__(self, tree: Tree, config: Config):
        self.tree, self.config = tree, config
        self.groups = {name: LearningGroup(tree, config, name) for name in REGIMES}
        self.seconds = 0.0  # of processor time in training

    def train(self) -> None:
        """Plays every group's games."""
        children, rewards = self.tree.children.tolist(), self.tree.rewards.tolist()
        started = time.process_time()
        for name, group in self.groups.items():
            with progress(group.games, "game", name) as bar:
                while group.played < group.games:
                    group.learn(children, rewards, self.config)
                    bar.update()
        self.seconds = time.process_time() - started

    def chances(self, name: str) -> np.ndarray:
        """(members, positions, actions): the probabilities of a player of the table, or of each of its group."""
        if name in self.groups:
            return normed_rows(self.groups[name].beads)
        return normed_rows(self.tree.best if name == IDEAL else self.tree.legal)[None]

    def arrays(self) -> dict[str, np.ndarray]:
        """Of each group, the beads of its members, and the first player's wins in each CURVE_SPAN games."""
        named: dict[str, np.ndarray] = {}
        for name, group in self.groups.items():
            named |= {f"{name}/beads": group.beads, f"{name}/curve": np.array(group.first_wins, np.int64)}
        return named


def draw_members(count: int, games: int, rng: np.random.Generator, met: np.ndarray | None = None) -> np.ndarray:
    """(games,) int64: which of ``count`` members plays each game; never the one in ``met``, (games,), of its group."""
    if met is None or count == 1:
        return rng.integers(count, size=games)
    return (met + rng.integers(1, count, games)) % count


def round_robin(population: Population, games: int, seed: int) -> np.ndarray:
    """(6, 6, 3): shares of wins, draws and losses of the players that move first (rows) against those that reply.

    Rows and columns are in the order of PLAYERS.
    """
    rng, leads, tree = np.random.default_rng(seed), np.ones(games, bool), population.tree
    chances = [population.chances(name) for name in PLAYERS]
    counts = np.zeros((len(PLAYERS), len(PLAYERS), 3))
    for row, column in np.ndindex(*counts.shape[:2]):
        first = draw_members(len(chances[row]), games, rng)
        second = draw_members(len(chances[column]), games, rng, first if row == column else None)
        sides = zip((row, column), (first, second), strict=True)
        one, other = (table_player(tree, chances[side], rng, tables) for side, tables in sides)
        counts[row, column] = play_games(games_named(population.config.game, games), (one, other), leads).counts()
    return counts / games


def report_results(population: Population) -> np.ndarray:
    """Plays the table's games, prints it, and draws the learning curves.

    A cell is the share of games that the row's player won, moving first; with that of draws, if there were any.
    """
    config = population.config
    results = round_robin(population, config.test_games, config.seed)
    title = f"{config.game}: wins of the first player in {config.test_games} games"
    with_draws = results[..., 1].any()
    show = lambda cell: f"{cell[0]:.2%}" + (f" (={cell[1]:.1%})" if with_draws else "")  # noqa: E731
    columns = (Column(name, show=show, shade=itemgetter(0), align="right") for name in PLAYERS)
    rows = ((name, *row) for name, row in zip(PLAYERS, results, strict=True))
    console_for_tables().print(Table(title, ("first \\ second", *columns), rows))
    wins = {name: np.array(group.first_wins) / CURVE_SPAN for name, group in population.groups.items()}
    curves = {name: (CURVE_SPAN * np.arange(1, len(won) + 1), won) for name, won in wins.items()}
    save_curve(config.run / f"{config.game}-curves.png", "training games", "first player's share of wins", curves)
    print(f"{config.game}-curves.png is in {config.run}")
    return results


def draw_game(games: Games) -> str:
    """The first game of the batch as text: the tokens that are left, or the board."""
    if isinstance(games, Nim):
        return "|" * int(games.tokens_left()[0])
    return "\n".join(" ".join(".XO"[stone] for stone in row) for row in games.stones[0])


def play_human(games: Games, seat: int, opponent: Player) -> None:
    """Plays the first game of the batch at the terminal until it ends or the person leaves.

    Columns count from 0, as on Kaggle, cells and tokens from 1. ``seat``: of the person, 0 moves first.
    """
    start, only = 0 if isinstance(games, ConnectX) else 1, np.array([0])
    while not games.done[0]:
        print(draw_game(games))
        legal = [str(action + start) for action in np.flatnonzero(games.legal()[0])]
        if games.plies[0] % 2 == seat:
            typed = ""
            while typed not in legal:
                typed = input(f"your move, one of {', '.join(legal)} (q to leave): ").strip().lower()
                if typed == "q":
                    return
            action = int(typed) - start
        else:
            action = int(opponent(games, only)[0])
            print(f"the other side plays {action + start}")
        games.play(np.array([action]), only)
    print(draw_game(games))
    print({0: "a draw", (FIRST, SECOND)[seat]: "you win"}.get(int(games.winner[0]), "the other side wins"))


def train(config: Config) -> tuple[Population, np.ndarray] | None:
    """Trains all players; prints, draws and writes the results. With ``human`` a person plays then.

    Returns:
        The players and their results; None if the run was finished, and a person played at once.
    """
    tree, trained = tree_of(games_named(config.game)), None
    if config.human and is_finished(config):
        beads = unpack(config.output.read_bytes())[0][f"{KEEP}/beads"]
    else:
        begin_run(config)
        population = Population(tree, config)
        population.train()
        results = report_results(population)
        won = results[PLAYERS.index(KEEP), PLAYERS.index(KEEP), 0]
        score = f"the first player wins {won:.2%} of {config.test_games} games between two of kind {KEEP}"
        publish(config, pack(population.arrays(), {"game": config.game}), {"seed": config.seed}, score)
        trained, beads = (population, results), population.groups[KEEP].beads
    if config.human:
        opponent = table_player(tree, normed_rows(beads)[0], np.random.default_rng())
        with suppress(EOFError):
            play_human(games_named(config.game), SEATS.index(config.human), opponent)
    return trained
