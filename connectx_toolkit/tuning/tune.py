"""Finds better numbers for your agent, and proves that they are better.

Say which numbers, by comments in the agent's file:

    DEPTH = 2                # tune: 1 to 3
    THREE_IN_A_ROW = 100     # tune: 1 to 10000 log
    CENTRE = 0.5             # tune: 0.0 to 3.0
    STYLE = "careful"        # tune: careful, bold

Whole numbers stay whole. "log" searches on a logarithmic scale. Leave one number without a comment: an agent with all
numbers doubled plays the same moves. Every candidate is asked for its moves in the same positions, and costs the points
that it gives away there. Bad ones are given up early. The best one is compared with the original in fresh positions and
in a match. It is written, to another file, only if it is proven better.

  python train.py tune my_agent.py --minutes 10 --workers 2
"""

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from connectx_toolkit.arena.exam import examine
from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.arena.results import Match, match_lines, match_table, seconds_table
from connectx_toolkit.arena.stored_games import play_matches
from connectx_toolkit.games.exam_positions import first_of, fresh_exam
from connectx_toolkit.games.grades import Sheet, rate_difference
from connectx_toolkit.games.labelled import canonical_keys, read_file
from connectx_toolkit.games.recipes import FOR_TUNING
from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE, Rules
from connectx_toolkit.players.process import Setup
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.report.exams import Examined, exam_lines
from connectx_toolkit.report.pages import tuning_page
from connectx_toolkit.statistics.evidence import Evidence
from connectx_toolkit.statistics.ratings import difference
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.files import check_folder, write_whole
from connectx_toolkit.system.table import Column, Table, percent, print_parts
from connectx_toolkit.training.options import Options, command_line_of, option
from connectx_toolkit.tuning.numbers import Value, numbers_in, with_values

if TYPE_CHECKING:  # --help and messages about the file do not need optuna
    from connectx_toolkit.tuning.study import Study

TUNED_BY = "# Tuned by:"
MATTERS = "share of the differences between candidates that this number explains; together 100%"
NUMBER_COLUMNS = (  # of rows (name, range, value in the file, best value, what MATTERS says)
    *("number", "range", Column("before", show=str, align="right"), Column("best found", show=str, align="right")),
    Column("matters", show=percent, help=MATTERS, align="right"),
)


@dataclass
class Config(Options):
    """Options of ``train.py tune``."""

    METHOD = "tune"
    RESUMES = True

    agent: Path = option(Path(), "the agent's file, in which comments name the numbers to tune", comes_first=True)
    trials: int = option(200, "number of candidates, those of earlier calls included", least=2)
    minutes: float = option(0.0, "minutes after which the search ends, earlier calls included; 0 is no limit", least=0)
    # With 300 positions, the best of 66 candidates was best by luck alone: in others it gave away more than before.
    count: int = option(1000, "positions for each candidate", least=1)
    judged: int = option(400, "fresh positions of the final comparison", least=10)
    pairs: int = option(100, "pairs of games of the final match", least=1)
    workers: int = option(1, "positions or games at a time, each on a core of its own", least=1)
    act_timeout: float = option(float(DEFAULTS["actTimeout"]), "seconds for a move", above=0)
    overage: float = option(float(OVERAGE), "overage time of a game, in seconds", least=0)
    seed: int = option(1, "random seed; another one compares in other fresh positions and openings")
    output: str = option("", "the tuned agent (NAME_tuned.py beside the agent)", short="-o")
    run: Path = option(Path("runs/tune"), "folder for the search, the page and the games: one for each agent in it")

    @property
    def folder(self) -> Path:
        """The folder of this agent's search."""
        return self.run / self.agent.stem

    @property
    def tuned(self) -> Path:
        """Where the tuned agent goes."""
        return Path(self.output) if self.output else self.agent.with_name(f"{self.agent.stem}_tuned.py")


def train(config: Config) -> None:
    """Searches, compares, and writes the tuned agent if it is proven to be better.

    Raises:
        ValueError: something in the file does not fit; the text says what.
        OSError: a file cannot be read or written.
        KeyboardInterrupt: it was stopped; what is known has been printed.
    """
    numbers = numbers_in(text := _agent_text(config), str(config.agent))
    check_folder(config.folder / "study.db", is_made=True)
    from connectx_toolkit.tuning.study import Study

    original = AgentSpec("file", str(config.agent.absolute()), config.agent.name)
    asked = f"{original.fingerprint()} {config.count} {config.act_timeout} {config.overage} {config.seed}"
    name, labels = hashlib.sha256(asked.encode()).hexdigest()[:12], first_of(read_file(FOR_TUNING)[0], config.count)
    search = Study(config.folder / "study.db", name, config.agent, text, numbers, labels, config.seed)
    setup = Setup(Rules({"actTimeout": config.act_timeout}, config.overage))
    with open_pool(setup, config.workers) as pool:
        pool.check([original])
        try:
            search.run(pool, config.trials, config.minutes)
        except KeyboardInterrupt:
            if search.cost_of_original() is not None:
                print_parts([*_search_lines(search), _numbers_table(search)])
            raise KeyboardInterrupt("the search is kept; the same command goes on") from None
    _judge_best(config, search, original, setup)


def _agent_text(config: Config) -> str:
    """The agent's text. Raises ValueError, or OSError, where there is none, or the result would replace what is not."""
    agent, tuned = config.agent, config.tuned
    if agent.suffix != ".py":
        raise ValueError(f"{agent} is no .py file: save the agent as one, with comments on the numbers to tune")
    check_concurrency(config.workers)
    text = agent.read_text(encoding="utf-8")
    if tuned.exists() and tuned.samefile(agent):
        raise ValueError(f"--output {tuned} is the agent itself, which is never replaced: choose another name")
    if tuned.exists() and TUNED_BY not in tuned.read_text(encoding="utf-8", errors="replace"):
        raise ValueError(f"{tuned} is not a tuned agent, and stays as it is: choose another --output")
    check_folder(tuned)
    return text


def _judge_best(config: Config, search: "Study", original: AgentSpec, setup: Setup) -> None:
    """Compares the best candidate with the original, prints what is proven, and writes it if it is."""
    values, lines, tables = search.values(search.study.best_trial), _search_lines(search), list[Table]()
    print_parts([*lines, numbers := _numbers_table(search)])
    if search.study.best_value == search.cost_of_original():
        said = ["nothing is proven: no candidate was better than the original. Nothing is written"]
    else:
        place = config.folder / "best" / f"{search.name}-{search.study.best_trial.number}"  # another call has its own
        tuned = search.write_candidate(values, place, config.tuned.name)
        exam, match = _compare_agents(config, tuned, original, setup)
        tables = [*exam.tables(), match_table(match), seconds_table(match)]
        said = [*exam_lines(exam.sheets), *match_lines(match)]
        if is_proven(exam.sheets, match.evidence):
            write_whole(config.tuned, tuned_text(config, search, values).encode())
            said.append(f"wrote {config.tuned}")
        else:
            said.append("nothing is proven, so nothing is written; --pairs and --judged ask for more evidence")
    words = [said[-1], *lines, *said[:-1]]
    page = tuning_page(f"Numbers of {config.agent.name}", words, numbers, _search_plots(search), tables)
    write_whole(config.folder / "page.html", page.encode())
    print_parts([*said, f"page: {config.folder / 'page.html'}"])


def _compare_agents(config: Config, tuned: AgentSpec, original: AgentSpec, setup: Setup) -> tuple[Examined, Match]:
    """Both in fresh positions, and in a match. What is known of an earlier call is not asked or played again."""
    print("comparing the best with the original", flush=True)
    seen, fresh = read_file(FOR_TUNING)[0], fresh_exam(config.judged, config.seed)
    known = np.isin(canonical_keys(fresh.positions, fresh.masks), canonical_keys(seen.positions, seen.masks))
    unseen, folder = fresh.take(np.flatnonzero(~known)), config.folder
    exam = Examined(*examine([tuned, original], unseen, setup, config.workers, folder / "answers"))
    played = play_matches(
        [(tuned, original)], config.pairs, config=setup.rules.config, overage=setup.rules.overage, openings=None,
        seed=config.seed, games=folder / "games.sqlite", workers=config.workers, isolate=True, scheduler=None,
    )  # fmt: skip
    match = None if exam.is_interrupted else next(played)
    if match is None or match.ending == "interrupted":
        raise KeyboardInterrupt("nothing is written yet; the same command goes on with the comparison")
    return exam, match


def is_proven(sheets: Sequence[Sheet], games: Evidence) -> bool:
    """Whether the first agent plays more good moves or wins more, and neither is shown to be worse."""
    shown = rate_difference(sheets[0].good, sheets[1].good), difference(games)[0]
    proofs = [(each.low > 0) - (each.high < 0) for each in shown]
    return max(proofs) > 0 <= min(proofs)


def tuned_text(config: Config, search: "Study", values: dict[str, Value]) -> str:
    """The agent's text with new numbers; above it, in comments, the command and the old numbers."""
    old = [f"#   {n.name} = {values[n.name]!r}, was {n.value!r} ({n.range})" for n in search.numbers]
    return "\n".join([f"{TUNED_BY} {command_line_of(config)}", *old, with_values(search.text, search.numbers, values)])


def _search_lines(search: "Study") -> list[str]:
    """How many candidates were tried, and what the best costs."""
    finished = search.trials()
    early = sum(trial.state.name == "PRUNED" for trial in finished)
    return [
        f"{len(finished)} candidates: {len(finished) - early} to the end, {early} given up early",
        f"points given away a move: the best {search.study.best_value:.3f}, the original "
        f"{search.cost_of_original():.3f}; your gain will be smaller: the best of many candidates is partly luck",
    ]


def _numbers_table(search: "Study") -> Table:
    """The numbers, before and at their best."""
    matters, best = search.importances(), search.values(search.study.best_trial)
    rows = [(n.name, n.range, n.value, best[n.name], matters[n.name]) for n in search.numbers]
    return Table("numbers", NUMBER_COLUMNS, rows)


def _search_plots(search: "Study") -> str:
    """optuna's plots of the search's course and of each number, as SVG."""
    from matplotlib import pyplot
    from optuna.visualization import matplotlib as plots

    page = io.StringIO()
    for plot in (plots.plot_optimization_history, plots.plot_slice):
        plot(search.study)
        pyplot.savefig(page, format="svg", bbox_inches="tight")
        pyplot.close()
    return re.sub(r"<\?xml.*?(?=<svg)", "", page.getvalue(), flags=re.S)  # inside a page there is no head
