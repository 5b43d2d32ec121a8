"""The course's protocol: so many games, half of them with either agent moving first, and shares of them won."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from arena.match import derived_seed
from arena.players.spec import AgentSpec
from arena.report import fault_words, progress
from arena.rules import Fault, Game
from arena.slots import Setup, Task, open_slots


@dataclass(frozen=True)
class Rounds:
    """What came of it; index 0 of a pair is agent 1.

    A fault that ends a game is a loss of the agent that made it and counts in ``wins`` of the other.
    """

    wins: tuple[int, int]
    draws: int
    forfeits: tuple[int, int]  # games that the agent lost by a fault
    faults: tuple[tuple[Fault, ...], tuple[Fault, ...]]  # all of them, also those that did not end the game
    games: tuple[Game, ...]
    seed: int  # pass it to play the same games again

    @property
    def percentages(self) -> tuple[float, float]:
        """Share of the games that each agent won, from 0 to 1."""
        return self.wins[0] / len(self.games), self.wins[1] / len(self.games)


def play_rounds(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, setup: Setup, workers: int, seed: int) -> Rounds:
    """Plays ``n_rounds`` games, ``workers`` at a time.

    Raises:
        ValueError: fewer games than one, more at a time than there are cores, or an agent that cannot be loaded.
    """
    if type(n_rounds) is not int or n_rounds < 1:
        raise ValueError(f"n_rounds should be an integer of at least 1, not {n_rounds!r}")
    games: list[Game | None] = [None] * n_rounds
    with open_slots(setup, workers) as slots:
        slots.check(dict.fromkeys(specs))
        played = slots.play(_tasks(specs, n_rounds, seed))
        with progress(n_rounds, "game") as bar:
            for task, game in played:
                games[task.number] = game
                bar.update()
    return _count([game for game in games if game], n_rounds // 2, seed)


def _tasks(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, seed: int) -> list[Task]:
    """The course's order: agent 1 moves first in the first half, rounded down, then agent 2 does."""
    tasks = []
    for index in range(n_rounds):
        seeds = [derived_seed(seed, index, agent) for agent in (1, 2)]
        players, order = (specs, seeds) if index < n_rounds // 2 else (specs[::-1], seeds[::-1])
        tasks.append(Task(index, (players[0], players[1]), (), (order[0], order[1])))
    return tasks


def _count(games: Sequence[Game], swapped_from: int, seed: int) -> Rounds:
    """Counts by agent; from game ``swapped_from`` on, agent 2 moves first."""
    wins = [0, 0]
    faults: tuple[list[Fault], list[Fault]] = ([], [])
    for index, game in enumerate(games):
        swapped = index >= swapped_from
        if game.score != 0.5:
            wins[(game.score == 0) ^ swapped] += 1
        for fault in game.faults:
            faults[fault.seat ^ swapped].append(fault)
    forfeits = [sum(fault.fatal for fault in of_agent) for of_agent in faults]
    return Rounds(
        (wins[0], wins[1]),
        len(games) - sum(wins),
        (forfeits[0], forfeits[1]),
        (tuple(faults[0]), tuple(faults[1])),
        tuple(games),
        seed,
    )


def rounds_lines(rounds: Rounds) -> list[str]:
    """The four lines that Kaggle's course prints, then what they hide."""
    lines = [f"Agent {agent} Win Percentage: {round(share, 2)}" for agent, share in enumerate(rounds.percentages, 1)]
    lines += [f"Number of Invalid Plays by Agent {agent}: {count}" for agent, count in enumerate(rounds.forfeits, 1)]
    for agent, faults in enumerate(rounds.faults, 1):
        for kind, count in Counter(fault.kind for fault in faults).most_common():
            example = next(fault for fault in faults if fault.kind == kind)
            game = next(game for game in rounds.games if any(fault is example for fault in game.faults))
            lines.append(f"Agent {agent}, {kind}: {count} ({fault_words(game, example)})")
    return lines
