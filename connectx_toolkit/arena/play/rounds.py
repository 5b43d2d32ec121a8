"""The course's protocol: a number of games, each agent moving first in half of them, and the share that each won."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from connectx_toolkit.arena.play.match import derived_seed
from connectx_toolkit.arena.play.pool import open_pool
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.arena.results.evidence import Evidence
from connectx_toolkit.arena.results.match import Match
from connectx_toolkit.arena.results.records import SEATS, GameRecord
from connectx_toolkit.arena.results.stats import FEWEST_PAIRS, anytime, estimate
from connectx_toolkit.arena.results.words import (
    ANY_TIME,
    AS_AGREED,
    fault_lines,
    forfeits_line,
    interval,
    lost_game_line,
    plural,
    verdict,
)
from connectx_toolkit.console.programs import as_typed
from connectx_toolkit.console.progress import progress
from connectx_toolkit.kaggle.rules import Fault, Game


@dataclass(frozen=True, repr=False)
class Rounds:
    """The results. In all pairs of numbers, index 0 is agent 1.

    An agent loses a game by a fault that ends it, and the game counts in ``wins`` of the other agent.
    """

    match: Match  # a pair is the first game with each agent moving first, then the second game with each, and so on
    asked: int  # number of games asked for; there are fewer if Ctrl-C ended the run
    seed: int  # pass it to play the same games again

    @property
    def games(self) -> tuple[Game, ...]:
        """The games in the course's order: first those in which agent 1 moves first, then the others."""
        return tuple(self.match.games[number] for number in sorted(self.match.games, key=lambda n: (n % 2, n)))

    @property
    def wins(self) -> tuple[int, int]:
        return self.match.side(0).tally.wins, self.match.side(1).tally.wins

    @property
    def draws(self) -> int:
        return self.match.side(0).tally.draws

    @property
    def forfeits(self) -> tuple[int, int]:
        """How many games each agent lost by a fault."""
        return self.match.side(0).forfeits, self.match.side(1).forfeits

    @property
    def faults(self) -> tuple[tuple[Fault, ...], tuple[Fault, ...]]:
        """All faults of each agent, including those that did not end the game."""
        numbered = sorted(self.match.games.items())
        found = [(fault.seat ^ number % 2, fault) for number, game in numbered for fault in game.faults]
        return tuple(f for agent, f in found if agent == 0), tuple(f for agent, f in found if agent == 1)

    @property
    def percentages(self) -> tuple[float, float]:
        """Share of the games that each agent won, from 0 to 1."""
        return self.wins[0] / len(self.match.games), self.wins[1] / len(self.match.games)

    def lost(self, agent: str | Callable | int) -> list[GameRecord]:
        """The games that an agent lost, in the order of play, including losses by a fault.

        ``evaluate.analyse``, or the command line in a game's ``command``, shows the move that lost it.

        Args:
            agent: its name, or the callable, or 1 or 2.

        Raises:
            ValueError: it is neither of the two agents, or both have this name.
        """
        name, specs = resolve(agent) if callable(agent) else agent, (self.match.first, self.match.second)
        found = [n for n, spec in enumerate(specs) if name in (n + 1, spec, spec.label, Path(spec.label).stem)]
        if len(found) != 1:
            labels = f"1 for {specs[0].label!r}, 2 for {specs[1].label!r}"
            raise ValueError(f"expected one agent by its name, or {labels}, not {agent!r}")
        return self.match.lost(found[0])

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        """For notebooks: the results by seat, and what they prove."""
        rows = ["<tr><th>agent</th><th></th><th>won</th><th>drawn</th><th>lost</th><th>forfeits</th></tr>"]
        for agent, name in enumerate(self.match.names):
            for seat, words in ((None, "both"), *enumerate(SEATS)):
                side = self.match.side(agent, seat)
                cells = [html.escape(name) if seat is None else "", words, *map(str, side.tally), str(side.forfeits)]
                rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        lines = "<br>".join(html.escape(line) for line in [summary(self), *notes(self)])
        return f"<table>{''.join(rows)}</table><p>{lines}</p>"


def play_rounds(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, setup: Setup, workers: int, seed: int) -> Rounds:
    """Plays ``n_rounds`` games, ``workers`` at a time. Ctrl-C ends the run early; finished games are kept.

    Raises:
        ValueError: ``n_rounds`` is below 1, ``workers`` is above the number of cores, or an agent cannot be loaded.
        KeyboardInterrupt: it came before the first game had finished.
    """
    if type(n_rounds) is not int or n_rounds < 1:
        raise ValueError(f"n_rounds should be an integer of at least 1, not {n_rounds!r}")
    match = Match(*specs, setup.rules.bank, {}, setup.rules.geometry)
    try:
        with open_pool(setup, workers) as pool:
            pool.check(dict.fromkeys(specs))
            with progress(n_rounds, "game") as bar:
                for task, game in pool.play(_tasks(specs, n_rounds, seed)):
                    match.games[task.number] = game
                    bar.update()
    except KeyboardInterrupt:
        if not match.games:
            raise
    return Rounds(match, n_rounds, seed)


def _tasks(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, seed: int) -> list[Task]:
    """The course's games: agent 1 moves first in half of them, rounded down, and agent 2 in the others.

    Both kinds are played in turn, so that a run that ends early has games of both; they are numbered as in a match.
    """
    tasks, half = [], n_rounds // 2
    for index in range(n_rounds):
        swapped = index >= half
        place = index - half if swapped else index
        seeds = [derived_seed(seed, index, agent) for agent in (1, 2)]
        players, order = (specs[::-1], seeds[::-1]) if swapped else (specs, seeds)
        tasks.append(Task(2 * place + swapped, (players[0], players[1]), (), (order[0], order[1])))
    return sorted(tasks, key=lambda task: task.number)


def summary(rounds: Rounds) -> str:
    """One line: the results in total and by seat, the interval, and which agent is stronger."""
    match = rounds.match
    played = len(match.games)
    counts = "{} won, {} drawn, {} lost".format
    seats = "; ".join(f"{seat} {counts(*match.side(0, number).tally)}" for number, seat in enumerate(SEATS))
    line = f"{match.names[0]} v {match.names[1]}: {counts(*match.side(0).tally)} ({seats}). "
    if played < rounds.asked:
        line = f"stopped after {played} of {rounds.asked} games. {line}"
    evidence = match.evidence
    if not evidence.pairs:
        return f"{line}There is not a game in either seat yet: no result"
    is_whole = played == rounds.asked
    result = estimate(evidence.counts) if is_whole else anytime(evidence.counts)
    if evidence.distinct < FEWEST_PAIRS:
        return f"{line}{few_words(evidence, played)}"
    shown = interval(result, AS_AGREED if is_whole else ANY_TIME)
    return f"{line}{shown}; {verdict(evidence, *match.names, result=result)}"


def few_words(evidence: Evidence, games: int) -> str:
    """Why there is no verdict: too few games, or too few different ones."""
    needed = f"a verdict needs {2 * FEWEST_PAIRS} different ones, in pairs"
    if evidence.distinct == evidence.pairs:
        return f"Too early to tell: {games} games, {needed}"
    different = f"{evidence.distinct} different {plural('pair', evidence.distinct)} of games among {evidence.pairs}"
    hint = as_typed("python evaluate.py match begins from many openings")
    return f"No verdict: {different}; the others are copies. {hint}"


def notes(rounds: Rounds) -> list[str]:
    """What the percentages do not show: faults, and a lost game to analyse."""
    match = rounds.match
    return [*fault_lines(match), *forfeits_line(match), *lost_game_line(match)]


def rounds_lines(rounds: Rounds) -> list[str]:
    """The four lines that Kaggle's course prints, then ``summary`` and ``notes``."""
    lines = [f"Agent {agent} Win Percentage: {round(share, 2)}" for agent, share in enumerate(rounds.percentages, 1)]
    lines += [f"Number of Invalid Plays by Agent {agent}: {count}" for agent, count in enumerate(rounds.forfeits, 1)]
    return [*lines, summary(rounds), *notes(rounds)]
