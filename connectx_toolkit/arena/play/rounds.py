"""The protocol of Kaggle's *Intro to Game AI* course, with its four lines; below them, what else the games tell."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from connectx_toolkit.arena.play.match import pair_tasks
from connectx_toolkit.arena.play.pool import open_pool
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup
from connectx_toolkit.arena.results.evidence import Evidence
from connectx_toolkit.arena.results.match import Match
from connectx_toolkit.arena.results.records import SEATS, Game
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
from connectx_toolkit.kaggle.rules import Fault


@dataclass(frozen=True, repr=False)
class Rounds:
    """The results. In all pairs of numbers, index 0 is agent 1.

    A game that a fault ends is a forfeit. For the course, and so in ``percentages``, it is nobody's win. In ``wins``,
    and in all that is said about strength, the other agent has won it.
    """

    match: Match  # a pair is the first game with each agent moving first, then the second game with each, and so on
    asked: int  # number of games asked for; there are fewer if Ctrl-C ended the run
    seed: int  # pass it to play the same games again

    @property
    def games(self) -> tuple[Game, ...]:
        """The games in the course's order: first those in which agent 1 moves first, then the others."""
        return tuple(self.match.games[number] for number in self._numbers())

    @property
    def outcomes(self) -> list[tuple[int | None, int | None]]:
        """Kaggle's rewards of agents 1 and 2, in the course's order: 1 and -1, 0 and 0, or None and 0 for a forfeit."""
        rewards = ((number % 2, self.match.games[number].rewards) for number in self._numbers())
        return [(second, first) if swapped else (first, second) for swapped, (first, second) in rewards]

    def _numbers(self) -> list[int]:
        return sorted(self.match.games, key=lambda number: (number % 2, number))

    @property
    def percentages(self) -> tuple[float, float]:
        """Share of the games, from 0 to 1, that ended 1 to -1, and -1 to 1."""
        outcomes = self.outcomes
        return outcomes.count((1, -1)) / len(outcomes), outcomes.count((-1, 1)) / len(outcomes)

    @property
    def wins(self) -> tuple[int, int]:
        """How many games each agent won, those included that the other one forfeited."""
        return self.match.side(0).tally.wins, self.match.side(1).tally.wins

    @property
    def draws(self) -> int:
        return self.match.side(0).tally.draws

    @property
    def forfeits(self) -> tuple[int, int]:
        """How many games each agent lost by a fault: what the course calls its invalid plays."""
        return self.match.side(0).forfeits, self.match.side(1).forfeits

    @property
    def faults(self) -> tuple[tuple[Fault, ...], tuple[Fault, ...]]:
        """All faults of each agent, including those that did not end the game."""
        numbered = sorted(self.match.games.items())
        found = [(fault.seat ^ number % 2, fault) for number, game in numbered for fault in game.faults]
        return tuple(f for agent, f in found if agent == 0), tuple(f for agent, f in found if agent == 1)

    def lost(self, agent: str | Callable | int) -> list[Game]:
        """The games that an agent lost, in the order of play, including losses by a fault.

        ``evaluate.analyse``, or the command line in a game's ``command``, shows the move that lost it.

        Args:
            agent: its name, with or without folder, ending or module; or the callable, or 1 or 2.

        Raises:
            ValueError: it is neither of the two agents, or both have this name.
        """
        name, specs = resolve(agent) if callable(agent) else agent, (self.match.first, self.match.second)
        found = [n for n, spec in enumerate(specs) if name in (n + 1, spec, spec.label, _short_name(spec))]
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


def _short_name(spec: AgentSpec) -> str:
    return spec.label.rpartition(".")[2] if spec.kind == "callable" else Path(spec.label).stem


def play_rounds(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, setup: Setup, workers: int, seed: int) -> Rounds:
    """Plays ``n_rounds`` games from the empty board, ``workers`` at a time. Agent 1 moves first in half, rounded down.

    The seats are swapped after each game, so that a run that Ctrl-C ends early has games of both; those are kept.

    Raises:
        ValueError: ``n_rounds`` is below 1, ``workers`` is above the number of cores, or an agent cannot be loaded.
        KeyboardInterrupt: it came before the first game had finished.
    """
    if type(n_rounds) is not int or n_rounds < 1:
        raise ValueError(f"n_rounds should be an integer of at least 1, not {n_rounds!r}")
    match = Match(*specs, {})
    tasks = list(pair_tasks(*specs, [()], (n_rounds + 1) // 2, seed))
    if n_rounds % 2:
        del tasks[-2]  # agent 2 moves first in the last game
    try:
        with open_pool(setup, workers) as pool:
            pool.check(dict.fromkeys(specs))
            with progress(n_rounds, "game") as bar:
                for task, game in pool.play(tasks):
                    match.games[task.number] = game
                    bar.update()
    except KeyboardInterrupt:
        if not match.games:
            raise
    return Rounds(match, n_rounds, seed)


def summary(rounds: Rounds) -> str:
    """One line: the results in total and by seat, the interval, and which agent is stronger. A forfeit is a loss."""
    match = rounds.match
    played = len(match.games)
    counts = "{} won, {} drawn, {} lost".format
    seats = "; ".join(f"{seat} {counts(*match.side(0, number).tally)}" for number, seat in enumerate(SEATS))
    counted = ", forfeits counted as losses" if any(rounds.forfeits) else ""
    line = f"{match.names[0]} v {match.names[1]}{counted}: {counts(*match.side(0).tally)} ({seats}). "
    if played < rounds.asked:
        line = f"stopped after {played} of {rounds.asked} games. {line}"
    evidence = match.evidence
    if not evidence.pairs:
        return f"{line}There is not a game in either seat yet: no result"
    is_whole = played == rounds.asked
    result = estimate(evidence.counts) if is_whole else anytime(evidence.counts)
    if evidence.distinct < FEWEST_PAIRS and not result.is_proof:
        return f"{line}{few_words(evidence, played)}"
    shown = interval(result, AS_AGREED if is_whole else ANY_TIME)
    return f"{line}{shown}; {verdict(evidence, *match.names, result=result)}"


def few_words(evidence: Evidence, games: int) -> str:
    """Why there is no verdict: too few games, or too few different ones."""
    if evidence.distinct == evidence.pairs:
        return f"Too early to tell: {games} games are few, unless one agent wins nearly all"
    different = f"{evidence.distinct} different {plural('pair', evidence.distinct)} of games among {evidence.pairs}"
    hint = as_typed("python evaluate.py match begins from many openings")
    return f"No verdict: {different}; the others are copies. {hint}"


def notes(rounds: Rounds) -> list[str]:
    """What the percentages do not show: faults, and a lost game to analyse."""
    match = rounds.match
    return [*fault_lines(match), *forfeits_line(match), *lost_game_line(match)]


def rounds_lines(rounds: Rounds) -> list[str]:
    """The four lines that the course's own function prints; below an empty one, ``summary`` and ``notes``."""
    outcomes, shares = rounds.outcomes, rounds.percentages
    lines = [f"Agent {agent} Win Percentage: {np.round(share, 2)}" for agent, share in enumerate(shares, 1)]
    lines += [
        f"Number of Invalid Plays by Agent 1: {outcomes.count((None, 0))}",
        f"Number of Invalid Plays by Agent 2: {outcomes.count((0, None))}",
    ]
    return [*lines, "", summary(rounds), *notes(rounds)]
