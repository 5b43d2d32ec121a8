"""Finds better numbers for your agent, and proves that they are better.

Say which numbers, by comments in the agent's file:

    DEPTH = 2                # tune: 1 to 3
    THREE_IN_A_ROW = 100     # tune: 1 to 10000 log
    CENTRE = 0.5             # tune: 0.0 to 3.0
    STYLE = "careful"        # tune: careful, bold

Whole numbers stay whole. "log" searches on a logarithmic scale. Leave one number without a comment: twice all numbers
plays the same moves. Every candidate is asked for its moves in the same positions, and costs the points that it gives
away there. Bad ones are given up early. The best play games against the original. The one that wins most is compared
with the original in fresh positions and in a match from other openings. It is written, to another file, only if it is
proven better.

examples
  python train.py tune my_agent.py --minutes 10 --workers 2
  python train.py tune my_agent.py --numbers "DEPTH = 1 to 3; CENTRE = 0.0 to 3.0"
  python train.py tune my_agent.py --games negamax      by games against an opponent, not by positions
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectx.position import STANDARD
from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.arena.results import kinds, match_lines, match_table
from connectx_toolkit.arena.start_positions import Opening, openings_for
from connectx_toolkit.arena.stored_games import Plan
from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE, Rules
from connectx_toolkit.players.fingerprint import fingerprint
from connectx_toolkit.players.process import Setup
from connectx_toolkit.players.spec import AgentSpec, resolve
from connectx_toolkit.report.charts import line_chart
from connectx_toolkit.report.exams import verdicts
from connectx_toolkit.report.pages import tuning_page
from connectx_toolkit.system.console import plural
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.files import check_folder, in_words, write_whole
from connectx_toolkit.system.table import Column, Table, percent, print_parts
from connectx_toolkit.training.options import Options, command_of, option
from connectx_toolkit.tuning.candidates import place_for, spec_of
from connectx_toolkit.tuning.judgement import Judgement, answered, played, race, unseen
from connectx_toolkit.tuning.numbers import Number, Value, numbers_in, with_values
from connectx_toolkit.tuning.objective import Games, Objective, Positions, for_tuning

if TYPE_CHECKING:  # --help and messages about the file do not need optuna
    from connectx_toolkit.tuning.study import Search

# By which a candidate's cost is measured, unless --count says otherwise. With 300 positions, the best of 66 candidates
# was best by luck alone: in others it gave away more than the original.
POSITIONS, PAIRS = 1000, 40
HEAD = "# Tuned by:"
NUMBERS = (  # of rows (name, range, value in the file, best value, the share of the costs' spread that it explains)
    "number",
    "range",
    Column("before", show=str, align="right"),
    Column("best found", show=str, align="right"),
    Column("matters", show=percent, help="share of the differences between candidates that this number explains; "
           "together 100%", align="right"),
)  # fmt: skip
GOES_ON = "the search is kept; the same command goes on"


@dataclass
class Config(Options):
    """Options of ``train.py tune``."""

    METHOD = "tune"

    agent: Path = option(Path(), "the agent's file, in which comments name the numbers to tune", comes_first=True)
    numbers: str = option("", 'more numbers, or other ranges: "DEPTH = 1 to 5; STYLE = careful, bold"')
    games: str = option("", "an opponent: tune by games against it, not by positions")
    trials: int = option(200, "number of candidates, those of earlier calls included", least=2, is_free=True)
    minutes: float = option(
        0.0,
        "minutes after which the search ends, earlier calls included; 0 is no limit",
        least=0,
        is_free=True,
    )
    count: int = option(
        0, f"positions for each candidate, with --games pairs of games; 0 is {POSITIONS}, or {PAIRS}", least=0
    )
    judged: int = option(400, "fresh positions of the final comparison", least=10, is_free=True)
    finalists: int = option(8, "number of candidates that play games against the original", least=1, is_free=True)
    pairs: int = option(100, "pairs of games of the final match", least=1, is_free=True)
    workers: int = option(1, "candidates at a time, each on a core of its own", least=1, is_free=True)
    act_timeout: float = option(float(DEFAULTS["actTimeout"]), "seconds for a move", above=0)
    overage: float = option(float(OVERAGE), "overage time of a game, in seconds", least=0)
    seed: int = option(1, "random seed; another one compares in other fresh positions and openings")
    storage: str = option(
        "", "URL of the database of candidates, for several machines; by default a file in --run", is_free=True
    )
    output: str = option("", "the tuned agent (NAME_tuned.py beside the agent)", short="-o", is_free=True)
    run: Path = option(
        Path("runs/tune"), "folder for the search, the page and the games; each agent has a folder in it"
    )

    @property
    def folder(self) -> Path:
        """The folder of this agent's search."""
        return self.run / self.agent.stem

    @property
    def tuned(self) -> Path:
        """Where the tuned agent goes."""
        return Path(self.output) if self.output else self.agent.with_name(f"{self.agent.stem}_tuned.py")

    @property
    def plan(self) -> Plan:
        """How games against the original are played and kept."""
        file = self.folder / "games.sqlite"
        return Plan(self.setup, self.pairs, file, self.seed, concurrency=self.workers)

    @property
    def database(self) -> str:
        """The URL of the storage."""
        return self.storage or f"sqlite:///{(self.folder / 'study.db').absolute()}"

    @cached_property
    def setup(self) -> Setup:
        return Setup(Rules({"actTimeout": self.act_timeout}, self.overage))


def train(config: Config) -> Judgement | None:
    """Searches, judges, and writes the tuned agent if it is proven to be better.

    Returns:
        How the best candidate compares with the original; None if the original is the best.

    Raises:
        ValueError: something in the file, or of an earlier search, does not fit; the text says what.
        OSError: a file cannot be read or written.
        KeyboardInterrupt: it was stopped; what is known has been printed.
    """
    return judge(config, *searched(config))


def searched(config: Config) -> "tuple[Search, AgentSpec, list[Opening]]":
    """Searches on to the end: what ``judge`` takes. Raises what ``train`` does."""
    text = _text(config)
    numbers = numbers_in(text, config.numbers, str(config.agent))
    from connectx_toolkit.tuning.study import Search, begin, search_on

    openings = openings_for(STANDARD, None, config.seed)
    objective, fresh = _objective(config, openings)
    search = Search(
        config.database, config.agent.stem, config.agent, text, numbers, objective, config.seed, config.trials
    )  # fmt: skip
    original = spec_of(config.agent, config.agent.name)
    with open_pool(config.setup, config.workers) as pool:
        pool.check([original, *([objective.opponent] if isinstance(objective, Games) else [])])
        begin(search, _settings(config, numbers, objective), config.folder)
        is_whole = search_on(search, pool, config.workers, config.minutes)
    if not is_whole:
        if search.whole:
            print_parts([_numbers(search, search.best()[1]), *search_lines(search)])
        raise KeyboardInterrupt(GOES_ON)
    return search, original, fresh


def _text(config: Config) -> str:
    """The agent's text. Raises ValueError, or OSError, where there is none, or the result would replace it."""
    if config.agent.suffix != ".py":
        raise ValueError(f"{config.agent} is no .py file: save the agent as one, with comments on the numbers to tune")
    check_concurrency(config.workers)
    if config.tuned.absolute() == config.agent.absolute() or (
        config.tuned.exists() and config.tuned.samefile(config.agent)
    ):
        raise ValueError(f"--output {config.tuned} is the agent itself, which is never replaced: choose another name")
    try:
        if config.tuned.exists() and HEAD not in config.tuned.read_text(encoding="utf-8", errors="replace"):
            raise ValueError(f"{config.tuned} is not a tuned agent, and stays as it is: choose another --output")
        check_folder(config.tuned)
        return config.agent.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise ValueError(f"{config.agent} is not text ({problem.reason} at byte {problem.start})") from None
    except OSError as problem:
        raise ValueError(in_words(problem, config.agent)) from None


def _objective(config: Config, openings: Sequence[Opening]) -> tuple[Objective, list[Opening]]:
    """What a candidate costs, and the openings that the search does not see."""
    if not config.games:
        return Positions(for_tuning(config.count or POSITIONS), config.seed), list(openings)
    count = config.count or PAIRS
    if count >= len(openings):
        few = f"there are {len(openings)} openings, and the last match needs some of them"
        raise ValueError(f"--count {count}: {few}")
    return Games(resolve(config.games), tuple(openings[:count]), config.seed), list(openings[count:])


def _settings(config: Config, numbers: Sequence[Number], objective: Objective) -> dict[str, Any]:
    """What a candidate's cost depends on: the files that the agent reads, the ranges, how it is asked."""
    content = fingerprint(spec_of(config.agent, config.agent.name))
    other = {"opponent": fingerprint(objective.opponent)} if isinstance(objective, Games) else {}
    asked = {"count": config.count, "act_timeout": config.act_timeout, "bank": config.overage, "seed": config.seed}
    ranges = "; ".join(f"{number.name} = {number.range}" for number in numbers)
    return {"agent": content, "numbers": ranges, "games": config.games, **asked, **other}


def judge(config: Config, search: "Search", original: AgentSpec, openings: Sequence[Opening]) -> Judgement | None:
    """Compares the best candidate with the original, prints what is proven, and writes it if it is."""
    lines, judgement, tables = search_lines(search), None, list[Table]()
    print_parts(lines)
    sys.stdout.flush()
    raced = max(config.pairs // 2, 2)
    try:
        values = _winner(config, search, original, openings[-raced:])
        numbers = _numbers(search, values)
        print_parts([numbers])
        if values == search.original:
            said = ["nothing is proven: no candidate was better than the original. Nothing is written"]
        else:
            path = _written(config, search, values, "best")
            judgement = _judged(config, spec_of(path, config.tuned.name), original, openings[:-raced])
            tables = [*judgement.examined.tables(), match_table(judgement.match)]
            said = [*verdicts(judgement.sheets), *_changing(judgement), *match_lines(judgement.match)]
            if judgement.is_proven:
                write_whole(config.tuned, tuned_text(config, search, values).encode())
                said.append(f"wrote {config.tuned}")
            else:
                again = "--pairs and --judged ask for more evidence, --trials for a longer search"
                said.append(f"nothing is proven, so nothing is written; {again}")
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing is written yet; the same command goes on with the comparison") from None
    page = config.folder / "page.html"
    costs = [(trial.number, trial.value) for trial in search.whole if trial.value is not None]
    chart = course_chart(costs, _cost_before(search), search.objective.unit)
    title = f"Numbers of {config.agent.name}"
    write_whole(page, tuning_page(title, [*lines, *said], numbers, chart, tables).encode())
    print_parts([*said, f"page: {page}"])
    return judgement


def _winner(config: Config, search: "Search", original: AgentSpec, openings: Sequence[Opening]) -> dict[str, Value]:
    """The numbers that are judged: of the best candidates, those that win most against the original."""
    found = search.favourites(1 if config.games else config.finalists)
    if not found:
        return search.original
    specs = list[AgentSpec]()
    for number, values in enumerate(found, 1):
        name = f"finalist-{number}"
        specs.append(spec_of(_written(config, search, values, name), name))
    return found[race(specs, original, config.plan, openings)]


def _written(config: Config, search: "Search", values: dict[str, Value], name: str) -> Path:
    """The agent's file with these numbers, in a folder of the run."""
    path = place_for(config.agent, config.folder / name, config.tuned.name)
    path.write_text(with_values(search.text, search.numbers, values), encoding="utf-8")
    return path


def _judged(config: Config, tuned: AgentSpec, original: AgentSpec, openings: Sequence[Opening]) -> Judgement:
    print("comparing the best with the original", flush=True)
    labels = unseen(config.judged, config.seed, for_tuning(sys.maxsize))
    found = answered([tuned, original], labels, config.setup, config.folder / "answers", config.workers)
    (match,) = played([(tuned, original)], config.plan._replace(openings=openings))
    return Judgement(found, match)


def _changing(judgement: Judgement) -> list[str]:
    """Who answers differently each time."""
    return [
        f"{sheet.agent} answers differently each time: every position was asked {len(sheet.columns)} times, and the "
        "mean counts; the search asked every candidate once, with the same random numbers"
        for sheet in judgement.sheets
        if sheet.changed
    ]


def tuned_text(config: Config, search: "Search", values: dict[str, Value]) -> str:
    """The agent's text with new numbers; above it, in comments, the command and the old numbers."""
    old = [f"#   {n.name} = {values[n.name]!r}, was {n.value!r} ({n.range})" for n in search.numbers]
    lines = with_values(search.text, search.numbers, values).splitlines(keepends=True)
    first = next((n for n, line in enumerate(lines) if not line.startswith("#!")), 0)
    return "".join([*lines[:first], "\n".join([f"{HEAD} {command_of(config)}", *old]) + "\n", *lines[first:]])


def search_lines(search: "Search") -> list[str]:
    """How many candidates were tried, and what the best costs."""
    from connectx_toolkit.tuning.study import FAULTS

    finished, whole = search.finished, search.whole
    early = len(finished) - len(whole)
    lines = [f"{len(finished)} {plural('candidate', len(finished))}: {len(whole)} to the end, {early} given up early"]
    if faulty := [found for trial in finished if (found := trial.user_attrs.get(FAULTS))]:
        lines.append(f"{len(faulty)} of them made faults: {kinds(sum(map(Counter, faulty), Counter[str]()))}")
    before, best = _cost_before(search), search.best()[0]
    words = f", the original {before:.3f}" if before is not None else ""
    unit = search.objective.unit
    luck = "expect less than this: the best of many candidates is partly luck"
    return [*lines, f"{unit}: the best {best.value:.3f}{words}; {luck}"]


def _cost_before(search: "Search") -> float | None:
    """What the file's own numbers cost, once they were asked."""
    found = search.of_original()
    return found.value if found is not None else None


def _numbers(search: "Search", values: dict[str, Value]) -> Table:
    """The numbers, before and at their best."""
    matters = search.importances()
    rows = [(n.name, n.range, n.value, values[n.name], matters.get(n.name)) for n in search.numbers]
    return Table("numbers", NUMBERS, rows)


def course_chart(costs: Sequence[tuple[int, float]], before: float | None, unit: str) -> str:
    """The best cost so far by candidate, beside that of the original, as SVG.

    Args:
        costs: number of each candidate that was asked to the end, and what it costs, in the order of the search.
        before: the original's.
    """
    best = list(accumulate((cost for _, cost in costs), min))
    steps = list[tuple[float, float]]()
    for (number, cost), low, earlier in zip(costs, best, [best[0], *best], strict=False):
        steps += [(number, earlier), (number, low)] if cost == low < earlier else []
    last = costs[-1][0]
    curves = {"best so far": [(costs[0][0], best[0]), *steps, (last, best[-1])]}
    if before is not None:
        curves["original"] = [(0, before), (last, before)]
    ends = [y for curve in curves.values() for _, y in curve]
    room = 0.2 * (max(ends) - min(ends)) or 0.5
    return line_chart(f"Cost: {unit}", "candidate", curves, max(ends) + room, "", max(0.0, min(ends) - room))
