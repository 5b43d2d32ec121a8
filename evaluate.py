"""Lets two agents play and says who is stronger.

In a notebook:      from evaluate import get_win_percentages
                    get_win_percentages(my_agent, "negamax", n_rounds=100)
At a command line:  python evaluate.py minimax negamax --rounds 20
                    python evaluate.py match minimax submissions/submission.py --sprt 0 20

An agent is a name in agents/, a built-in name of Kaggle's, the path of a Python file, or (in Python) a callable.
"""

import argparse
import json
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from tqdm import tqdm

from arena.analysis import GameRecord, JudgedMove, judge, losing_move, parse_game, read_replay, solver_scores
from arena.match import Match, Setup, Task, check_concurrency, derived_seed, play_all, play_match
from arena.openings import Opening, openings_for, write_opening
from arena.page import game_entry, group_html, page
from arena.referee import BANK, REFEREES, Fault, Game, Rules
from arena.report import accuracy_table, cross_table, ladder_table, match_lines, match_table
from arena.stats import Sprt
from arena.store import Group, Store, group_records, groups
from arena.tournament import Standing, Tournament, pairings, participants
from arena.worker import AgentSpec, resolve

Agent = str | PathLike | Callable | AgentSpec
STORE = Path("runs/arena.sqlite")
FRESH = {"files": None, "always": True, "never": False}
COURSE_CONFIG = {"rows": 6, "columns": 7, "inarow": 4}


@dataclass(frozen=True)
class Rounds:
    """Outcome of ``get_win_percentages``; index 0 of a pair is agent 1.

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


def get_win_percentages(
    agent1: Agent,
    agent2: Agent,
    n_rounds: int = 100,
    *,
    workers: int = 1,
    config: dict | None = None,
    referee: str = "kaggle",
    fresh: bool | None = None,
    seed: int | None = None,
    bank: float = BANK,
    isolate: bool = True,
) -> Rounds:
    """Plays ``n_rounds`` games, half of them with agent 1 moving first, and prints who won how many.

    Args:
        agent1, agent2: names, paths or callables. Each runs in a process of its own.
        n_rounds: games in all.
        workers: games at a time, each on a core of its own.
        config: Kaggle's configuration; 6 rows, 7 columns and 4 in a row unless it says otherwise.
        referee: "kaggle" for Kaggle's own environment, "fast" for our loop, which gives the same verdicts.
        fresh: whether agents are loaded anew for each game; None does so for files, as Kaggle does.
        seed: of the agents' random generators; None draws one.
        bank: seconds that an agent may use beyond actTimeout in a whole game.
        isolate: False lets agents play in this process, faster: for callables that neither hang nor crash.

    Raises:
        ValueError: an unknown agent, a bad configuration, or too many workers.
    """
    if type(n_rounds) is not int or n_rounds < 1:
        raise ValueError(f"n_rounds should be an integer of at least 1, not {n_rounds!r}")
    if referee not in REFEREES:
        raise ValueError(f"referee should be one of {', '.join(REFEREES)}, not {referee!r}")
    check_concurrency(workers)
    setup = Setup(Rules({**COURSE_CONFIG, **(config or {})}, bank), referee, fresh, isolate=isolate)
    seed = secrets.randbits(32) if seed is None else seed
    tasks = _course_tasks((resolve(agent1), resolve(agent2)), n_rounds, seed)
    games: list[Game | None] = [None] * n_rounds
    bar = tqdm(play_all(tasks, setup, workers), total=n_rounds, unit="game", delay=2, leave=False, disable=_quiet())
    for task, game in bar:
        games[task.number] = game
    rounds = _count([game for game in games if game], n_rounds // 2, seed)
    _print(rounds)
    return rounds


def _course_tasks(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, seed: int) -> list[Task]:
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


def _print(rounds: Rounds) -> None:
    """The four lines of Kaggle's course, then what they hide."""
    for agent, share in enumerate(rounds.percentages, 1):
        print(f"Agent {agent} Win Percentage: {round(share, 2)}")
    for agent, forfeits in enumerate(rounds.forfeits, 1):
        print(f"Number of Invalid Plays by Agent {agent}: {forfeits}")
    for agent, faults in enumerate(rounds.faults, 1):
        for kind, count in Counter(fault.kind for fault in faults).most_common():
            example = next(fault for fault in faults if fault.kind == kind)
            reason = example.detail.strip().splitlines()[-1]
            print(f"Agent {agent}, {kind}: {count} (first on ply {example.ply}: {reason:.120})")


def _quiet() -> bool:
    """Whether to leave out the progress bar: nobody watches a standard error that is neither terminal nor notebook."""
    return not (sys.stderr.isatty() or "ipykernel" in sys.modules)


# Command line


class _Parser(argparse.ArgumentParser):
    """Bad input gives one line and exit code 2."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}\n")


def parse_config(text: str) -> dict:
    """``rows=5,columns=4`` as a dict; values are JSON.

    Raises:
        argparse.ArgumentTypeError: an item is not NAME=NUMBER.
    """
    config = {}
    for item in text.split(","):
        name, separator, value = item.partition("=")
        try:
            config[name] = json.loads(value)
        except json.JSONDecodeError:
            separator = ""
        if not (name and separator):
            raise argparse.ArgumentTypeError(f"an item of the configuration should be NAME=NUMBER, not {item!r}")
    return config


def _add_setup(parser: argparse.ArgumentParser, referee: str) -> None:
    """The options that say how games are played. ``referee`` is the default."""
    parser.add_argument("--config", type=parse_config, metavar="rows=6,columns=7,...", help="Kaggle's configuration")
    parser.add_argument("--bank", type=float, default=BANK, metavar="SECONDS", help="time bank of a game (60)")
    parser.add_argument(
        "--referee",
        choices=(*sorted(REFEREES), "auto"),
        default=referee,
        help="Kaggle's environment, our loop, or auto: Kaggle's for files, ours for names",
    )
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="games at a time, each on its own core")
    parser.add_argument("--fresh", choices=tuple(FRESH), default="files", help="who is loaded anew for each game")


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, default=STORE, metavar="FILE", help=f"where results are kept ({STORE})")


def _setup(options: argparse.Namespace, specs: Sequence[AgentSpec]) -> Setup:
    referee = options.referee
    if referee == "auto":
        referee = "kaggle" if any(spec.kind == "file" for spec in specs) else "fast"
    check_concurrency(options.concurrency)
    return Setup(Rules({**COURSE_CONFIG, **(options.config or {})}, options.bank), referee, FRESH[options.fresh])


def _rounds_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="evaluate.py",
        description="Lets two agents play and counts wins and faults, as Kaggle's course does.",
        epilog="More: evaluate.py match, tournament, report or analyse, each with --help",
    )
    parser.add_argument("agent1", help="a name in agents/, one of Kaggle's, or a file")
    parser.add_argument("agent2")
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="games; half with seats swapped (100)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the agents' random generators; drawn if not given")
    _add_setup(parser, referee="kaggle")
    return parser


def _rounds(arguments: Sequence[str], parser: argparse.ArgumentParser) -> None:
    options = parser.parse_args(arguments)
    specs = resolve(options.agent1), resolve(options.agent2)
    setup = _setup(options, specs)
    get_win_percentages(
        *specs,
        options.rounds,
        workers=options.concurrency,
        config=setup.rules.config,
        referee=setup.referee,
        fresh=setup.fresh,
        seed=options.seed,
        bank=options.bank,
    )


def _match_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="evaluate.py match", description="Plays pairs of games from balanced openings and says who is stronger."
    )
    parser.add_argument("agent1", help="a name in agents/, one of Kaggle's, or a file")
    parser.add_argument("agent2")
    parser.add_argument("--pairs", type=int, default=50, metavar="N", help="pairs of games, seats swapped (50)")
    parser.add_argument(
        "--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"), help="stop when either difference is accepted"
    )
    parser.add_argument("--openings", type=Path, metavar="FILE", help="one a line, columns from 0, such as 3342")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of openings and agents (1)")
    _add_store(parser)
    _add_setup(parser, referee="auto")
    return parser


def _match(arguments: Sequence[str], parser: argparse.ArgumentParser) -> None:
    options = parser.parse_args(arguments)
    if options.pairs < 1:
        raise ValueError(f"--pairs should be at least 1, not {options.pairs}")
    sprt = _sprt(options.sprt)
    specs = resolve(options.agent1), resolve(options.agent2)
    setup = _setup(options, specs)
    openings = openings_for(setup.rules.geometry, options.openings, options.pairs, options.seed)
    plan = Plan(openings, options.pairs, options.seed, options.concurrency, sprt)
    console = _console()
    with Store(options.store) as store:
        match = _play_stored(specs, setup, plan, store, console)
    console.print(match_table(match))
    for line in match_lines(match, sprt):
        console.print(line, highlight=False, soft_wrap=True)


class Plan(NamedTuple):
    """How many games of a match are played, and from where."""

    openings: Sequence[Opening]
    pairs: int
    seed: int
    concurrency: int
    sprt: Sprt | None = None


def _play_stored(specs: tuple[AgentSpec, AgentSpec], setup: Setup, plan: Plan, store: Store, console: Console) -> Match:
    """Plays those games of a match that the store has not got."""
    number = store.match_id(*specs, setup, plan.openings, plan.seed)
    known = {index: game for index, game in store.games(number).items() if index < 2 * plan.pairs}
    if known:
        console.print(f"{len(known)} of {2 * plan.pairs} games were known", highlight=False)

    def on_game(task: Task, game: Game) -> None:
        store.add(number, task, game)
        bar.update()

    total = 2 * plan.pairs - len(known)
    with tqdm(total=total, unit="game", delay=2, leave=False, disable=_quiet()) as bar:
        return play_match(
            *specs, setup, plan.openings, plan.pairs, plan.seed, plan.concurrency, plan.sprt, known, on_game
        )


def _console() -> Console:
    """Standard output; wide enough for our tables where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 140)


def _sprt(elos: Sequence[float] | None) -> Sprt | None:
    if elos is None:
        return None
    if not elos[0] < elos[1]:
        raise ValueError(f"--sprt takes the lower difference first, not {elos[0]:g} {elos[1]:g}")
    return Sprt(*elos)


def _tournament_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="evaluate.py tournament", description="Plays agents against each other and rates them.")
    parser.add_argument("agents", nargs="+", help="names, files, or folders of files")
    parser.add_argument("--gauntlet", action="store_true", help="only the first agent plays, against each other one")
    parser.add_argument("--pairs", type=int, default=10, metavar="N", help="pairs of games in each match (10)")
    parser.add_argument("--anchor", metavar="NAME", help="whose Elo is 0 (the last agent)")
    parser.add_argument("--openings", type=Path, metavar="FILE", help="one a line, columns from 0, such as 3342")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of openings and agents (1)")
    _add_store(parser)
    _add_setup(parser, referee="auto")
    return parser


def _tournament(arguments: Sequence[str], parser: argparse.ArgumentParser) -> None:
    options = parser.parse_args(arguments)
    if options.pairs < 1:
        raise ValueError(f"--pairs should be at least 1, not {options.pairs}")
    specs = participants(options.agents)
    anchor = options.anchor or specs[-1].label
    if anchor not in [spec.label for spec in specs]:
        raise ValueError(f"--anchor {anchor!r} is not one of the agents")
    setup = _setup(options, specs)
    openings = openings_for(setup.rules.geometry, options.openings, options.pairs, options.seed)
    plan = Plan(openings, options.pairs, options.seed, options.concurrency)
    console, matches = _console(), []
    with Store(options.store) as store:
        for first, second in pairings(specs, options.gauntlet):
            match = _play_stored((first, second), setup, plan, store, console)
            matches.append(match)
            tally = match.side(0).tally
            console.print(f"{first.label} v {second.label}: {tally.wins} {tally.draws} {tally.losses}", highlight=False)
    _print_ladder(Tournament(matches, [(m.first.label, m.second.label) for m in matches]), anchor, console)


def _print_ladder(tournament: Tournament, anchor: str, console: Console) -> list[Standing]:
    try:
        ladder = tournament.ladder(anchor)
    except ValueError as problem:
        console.print(f"no ladder: {problem}", highlight=False)
        return []
    console.print(ladder_table(ladder, anchor))
    console.print(cross_table(tournament, [line.name for line in ladder]))
    return ladder


def _report_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="evaluate.py report", description="Ladder and crosstable from the store alone.")
    parser.add_argument("--anchor", metavar="NAME", help="whose Elo is 0 (random, or else the first in the alphabet)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots and games to replay")
    parser.add_argument("--games", type=int, default=20, metavar="N", help="games on the page, the latest (20)")
    parser.add_argument("--judge", action="store_true", help="add exact scores to these games")
    _add_judging(parser)
    _add_store(parser)
    return parser


def _report(arguments: Sequence[str], parser: argparse.ArgumentParser) -> None:
    options = parser.parse_args(arguments)
    console, sections, entries = _console(), [], []
    with Store(options.store, create=False) as store:
        found = groups(store)
    if not found:
        raise ValueError(f"{options.store} holds no games")
    for group in found:
        names = sorted({name for pair in group.tournament.names for name in pair})
        anchor = options.anchor or ("random" if "random" in names else names[0])
        console.print(f"\n{group.title}", highlight=False)
        ladder = _print_ladder(group.tournament, anchor, console)
        if options.html:
            judged, games = _judged_games(group, options)
            entries += games
            sections += group_html(group.title, group.tournament, ladder, judged)
    if options.html:
        partial = options.html.with_name(options.html.name + ".partial")
        partial.write_text(page(sections, entries), encoding="utf-8")
        partial.replace(options.html)


def _add_judging(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from-ply", type=int, default=10, metavar="N", help="judge moves from this ply on (10); earlier takes long"
    )


def _judged_games(group: Group, options: argparse.Namespace) -> tuple[dict[str, list[JudgedMove]], list[dict]]:
    """The latest games of a group for the page; their moves by agent, judged if that was asked for."""
    geometry = Rules(group.config).geometry
    scores = solver_scores(geometry) if options.judge else None
    by_agent: dict[str, list[JudgedMove]] = {}
    entries = []
    for record, ending in group_records(group)[-max(0, options.games) :]:
        judged = judge(record, scores, options.from_ply) if scores else []
        for move in judged:
            by_agent.setdefault(record.names[move.seat], []).append(move)
        entries.append(game_entry(record, judged, ending))
    return by_agent, entries


def _analyse_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="evaluate.py analyse", description="Judges moves by their exact values.")
    parser.add_argument("what", help="a game as its columns (3342...), a replay of Kaggle's (.json), or a store")
    parser.add_argument("--config", type=parse_config, metavar="rows=6,...", help="of a game given as columns")
    parser.add_argument("--games", type=int, default=10, metavar="N", help="of a store: the latest of each group (10)")
    _add_judging(parser)
    return parser


def _analyse(arguments: Sequence[str], parser: argparse.ArgumentParser) -> None:
    options = parser.parse_args(arguments)
    console = _console()
    by_agent: dict[str, list[JudgedMove]] = {}
    for record in _records(options):
        judged = judge(record, solver_scores(record.geometry), options.from_ply)
        for move in judged:
            by_agent.setdefault(record.names[move.seat], []).append(move)
        mistake = losing_move(judged)
        moves = write_opening(record.moves)
        words = mistake.words() if mistake else f"no move from ply {options.from_ply} on changed the result"
        console.print(f"{record.names[0]} v {record.names[1]}, {moves}: {words}", highlight=False, soft_wrap=True)
    console.print(accuracy_table(by_agent))


def _records(options: argparse.Namespace) -> list[GameRecord]:
    if options.what.replace(",", "").isdigit() and not Path(options.what).exists():
        return [parse_game(options.what, Rules({**COURSE_CONFIG, **(options.config or {})}).geometry)]
    if options.what.endswith(".json"):
        return [read_replay(Path(options.what))]
    with Store(Path(options.what), create=False) as store:
        return [record for group in groups(store) for record, _ in group_records(group)[-max(0, options.games) :]]


COMMANDS = {
    "match": (_match_parser, _match),
    "tournament": (_tournament_parser, _tournament),
    "report": (_report_parser, _report),
    "analyse": (_analyse_parser, _analyse),
}


def main(argv: Sequence[str] | None = None) -> None:
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments and arguments[0] in COMMANDS else None
    make_parser, run = COMMANDS[command] if command else (_rounds_parser, _rounds)
    parser = make_parser()
    try:
        run(arguments[1:] if command else arguments, parser)
    except ValueError as problem:
        parser.error(str(problem))
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped; games that a store holds are not played again\n")


if __name__ == "__main__":
    main()
