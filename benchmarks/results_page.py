"""Writes docs/project/results.md and its plots from the records in benchmarks/results.

python -m benchmarks.results_page

A benchmark writes the records, a section here shows them. After a benchmark ran again, run this.
"""

import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from benchmarks.machine import RESULTS
from connectx_toolkit.arena.reporting.ladder import new_figure
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.places import ROOT

PAGE = ROOT / "docs" / "project" / "results.md"
NOT_RECORDED = "not recorded"
USUAL_MACHINE = "AMD EPYC, 2 cores, 24 GiB, a shared virtual machine"
OURS, OTHERS, GREY = "#2457a8", "#d03030", "#999999"
SETS = ("End-Easy", "Middle-Easy", "Middle-Medium", "Begin-Easy", "Begin-Medium", "Begin-Hard")
Record = dict[str, Any]


class Section(NamedTuple):
    """A part of the page: how it was measured in a sentence or two, and a table for each group of records."""

    title: str
    method: str
    tables: Callable[[], list[str]]
    records: tuple[str, ...]
    picture: str = ""  # the plot's name and what it shows
    alt: str = ""


def read(name: str) -> Record:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; numbers to the right, except in the first column."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def provenance(names: Iterable[str]) -> str:
    """How the records were measured, a line for each kind of run."""
    found: dict[str, None] = {}
    for record in map(read, names):
        command = record["command"]
        parts = [f"`{command}`" if command.startswith("python") else f"command: {command}"]
        parts.append(f"commit {record['commit']}")
        machine = record["machine"].removeprefix(USUAL_MACHINE).lstrip(", ")
        date = "" if record["date"] == NOT_RECORDED else record["date"]
        parts += filter(None, (date, "machine not recorded" if machine == NOT_RECORDED else machine))
        found.setdefault(", ".join(parts))
    return "\n".join(f"- {line}" for line in found)


def number(value: float | None) -> str:
    """A count or a time in few digits."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def time_of(microseconds: float) -> str:
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= limit:
            return f"{microseconds / limit:.3g} {unit}"
    return f"{microseconds:.3g} us"


def solver_tables() -> list[str]:
    run, files, empty = read("solver"), read("solver-pons-files"), read("empty-board")
    ratios = [
        (name, row["positions"], format(row["of bitbully's time"], ".2f"), number(row["nodes"]),
         number(run["published_us_and_nodes"][name][0][1]))
        for name, row in run["sets"].items()
    ]  # fmt: skip
    times = [
        (name, files["positions"][name], *(time_of(solver[name]) for solver in files["microseconds"].values()),
         time_of(run["published_us_and_nodes"][name][0][0]))
        for name in SETS
    ]  # fmt: skip
    c4 = empty["anchor"]["c4 (C++)"]
    return [
        table(("our own sets", "positions", "time / bitbully's", "our nodes", "Pons' nodes, his sets"), ratios),
        f"Over all six sets the solver needs {run['figure']:.2f} of bitbully's time, with {run['wrong']} wrong scores.",
        table(("Pons' files", "positions", *files["microseconds"], "Pons, his machine"), times),
        table(
            ("the empty board, one core", "ours", "c4 (C++)"),
            [("seconds", f"{empty['figure']:g}", f"{c4:g}"), ("nodes", f"{empty['nodes'] / 1e6:.0f} million", "")],
        ),
    ]


def scores_tables() -> list[str]:
    rows = (
        ("opening table, all positions through ply 8", "opening-table"),
        ("random positions, 8 to 41 stones, all moves", "solver-scores"),
        ("positions after an earlier opening book, all moves", "book-scores"),
        ("games of replays, every row of `analyse`", "replays"),
    )
    found = [(title, f"{read(name)['positions']:,}", read(name)["figure"]) for title, name in rows]
    return [table(("compared", "number", "wrong"), found)]


def perfect_tables() -> list[str]:
    games, positions, clock = read("perfect-games"), read("perfect-positions"), read("clock-recipes")
    first, slowest = games["seats"]["first"], games["seats"]["slowest"]
    won, lost = positions["positions"]["won"], positions["positions"]["lost, slowest"]
    rows = [
        ("`perfect` first, against bitbully with its database", f"won {first['won']} of {first['games']}"),
        ("`perfect` second, choice among equal moves off", f"lost at ply {slowest['shortest']}, the last possible"),
        ("most overage time used in a game", f"{games['overage']} s of 60 s"),
        (f"`perfect`, {positions['count']:,} positions, good moves", f"{positions['figure']:g}%"),
        ("quickest win chosen in won positions", f"{won['perfect']:,} of {won['asked']:,}"),
        ("slowest loss chosen in lost positions, choice off", f"{lost['perfect']} of {lost['asked']}"),
        ("most overage time used by a move", f"{positions['overage']} s of 60 s"),
        (f"`value_search`, {clock['positions']} positions, good moves", f"{clock['figure']:g}%"),
    ]
    return [table(("at Kaggle's clock", "found"), rows)]


def ladder_by_seat() -> str:
    balanced, empty = (read(f"ladder-{start}")["agents"] for start in ("balanced", "empty"))
    rows = []
    for name, agent in balanced.items():
        shares = [f"{100 * side[seat]:.0f}%" for side in (agent, empty[name]) for seat in ("first", "second")]
        rows.append((f"`{name}`", f"{agent['elo']:.0f}", f"{agent['low']:.0f} to {agent['high']:.0f}", *shares))
    seats = (f"{start}, {seat}" for start in ("balanced", "empty") for seat in ("first", "second"))
    return table(("agent", "Elo, balanced", "95% interval", *seats), rows)


def perfect_by_seat() -> str:
    """Won, drawn and lost games of ``perfect`` against each, from both starts."""
    starts = [read(f"ladder-{start}")["by_seat"]["perfect"] for start in ("balanced", "empty")]
    rows = [
        (f"`{name}`", *(" / ".join(map(str, tally)) for games in starts for tally in games[name])) for name in starts[0]
    ]
    heads = ("`perfect` against", "balanced, first", "balanced, second", "empty, first", "empty, second")
    return table(heads, rows)


def ladder_tables() -> list[str]:
    return [ladder_by_seat(), "Won / drawn / lost games of `perfect`:", perfect_by_seat()]


def seat_tables() -> list[str]:
    run = read("second-seat-empty")
    rows = [(f"`{name}`", *(cell.replace("+-", "± ") for cell in cells)) for name, cells in run["players"].items()]
    rows += [
        (title, "", "", read(f"second-seat-{start}")["interval"].replace("+-", "± "))
        for title, start in (
            ("**all twelve, empty board**", "empty"),
            ("four of them, late lost openings", "lost"),
            ("two of them, drawn openings", "drawn"),
        )
    ]
    return [table(("first player", "points now", "points before", "difference"), rows)]


def network_tables() -> list[str]:
    names = ("random", "half-random", "plies-4-to-7", "plies-10-to-16", "near-perfect", "searchers")
    titles = (
        "random play, 9 to 20 stones", "half random, half perfect, 4 to 27 stones", "plies 4 to 7",
        "careful random play, 10 to 16 stones", "three of four moves perfect, 2 to 36 stones",
        "searchers of 1 to 8 plies, 8 to 36 stones",
    )  # fmt: skip
    rows = []
    for name, title in zip(names, titles, strict=True):
        record = read(f"network-{name}")
        shares = record["players"]["alone"]
        published = (record["anchor"] or "").partition(" on random")[0]
        rows.append((title, *(f"{shares[key]:.1f}%" for key in ("good", "critical", "perfect")), published))
    sets = read("network-publishers")
    leaf = read("leaf")
    match = leaf["match"]
    leaf_rows = [
        ("held-out positions, won told from lost", f"{leaf['figure']}%", f"{leaf['anchor']['the heuristic']}%"),
        (
            f"games at {match['seconds']} s a move, won / drawn / lost",
            f"{match['won']} / {match['drawn']} / {match['lost']}",
            "",
        ),
        ("Elo with 95% interval", f"{match['elo']:+} ({match['low']:+} to {match['high']:+})", "0"),
    ]
    errors = [(name, *(f"{found[kind]:g}%" for kind in SETS)) for name, found in sets["errors"].items()]
    return [
        table(("our own sets", "good", "good, critical", "perfect", "best published"), rows),
        table(("the publishers' sets", "good", "perfect", "best published"), sets["sets"]),
        table(("moves that lose the result, Pons' sets", *SETS), errors),
        table(("`minimax`, by what judges its leaves", "network of 67 kB", "heuristic"), leaf_rows),
    ]


def ablation_tables() -> list[str]:
    return [table(("variant", "good", "perfect", "decision: gain"), read("network-ablation")["rows"])]


def verdict_tables() -> list[str]:
    run = read("verdicts")
    share = lambda cell: float(cell.partition("%")[0])  # noqa: E731
    wrong = [
        (row[0], f"{max(share(c) for c in row[1::2] if c):.1f}%", f"{min(share(c) for c in row[2::2] if c):.1f}%")
        for row in run["wrong"]
    ]
    heads = ("pairs", "true Elo", "ours", "SPRT told the Elo", "ratio")
    return [
        table(("between equal agents", 'false "stronger", at most', "true interval, at least"), wrong),
        table(heads, run["pairs"]),
    ]


def arena_tables() -> list[str]:
    run, referee = read("arena"), read("referee")
    rows = [(name, f"{times:g}") for name, times in run["times_kaggles"].items()]
    rows += [
        ("two cores, relative to one", run["scaling"]),
        (f"of {referee['games']:,} games, ending otherwise than in Kaggle's environment", referee["figure"]),
    ]
    return [table(("", "games a second, Kaggle's = 1"), rows)]


def forecast_tables() -> list[str]:
    rows = [
        (name, f"{100 * found['coverage']:.1f}%", f"{found['width']:.0f}", f"{found['error']:.0f}")
        for name, found in read("rating-forecast")["ladders"].items()
    ]
    return [table(("ladder", "intervals that hold", "median width", "mean error of the median"), rows)]


def database_tables() -> list[str]:
    found = read("game_database")
    rows = [
        ("load", f"{found['figure']} s"),
        ("load again, nothing new", f"{found['again']} s"),
        ("size", f"{found['megabytes']} MB"),
        *((f"query, {where}", f"{time:.2f} ms") for where, time in found["query_milliseconds"].items()),
        ("games there after each of three kills", ", ".join(f"{count:,}" for count in found["games_after_kills"])),
    ]
    return [table(("10,000 replays", "found"), rows)]


def times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def environment_tables() -> list[str]:
    found = read("environments")["steps_a_second"]
    base = next(iter(found.values()))
    rows = [
        (name, *(f"{speed:,.0f} ({times(speed / first)})" for speed, first in zip(speeds, base, strict=True)))
        for name, speeds in found.items()
    ]
    return [table(("environment", "alone", "with PPO, MlpPolicy", "with PPO, the lesson's CNN"), rows)]


def learning_tables() -> list[str]:
    tables = []
    for pool, heading in (("learning", "opponents of the games"), ("held-out", "held-out opponents")):
        found = read(f"learn-from-games-{pool}")
        rows = [(f"`{name}`" if name != "all" else "**all**", *points) for name, points in found["rows"].items()]
        gains = found["gains"]
        tables.append(table((heading, "before", "first round", "second round"), rows))
        tables.append(f"First round {gains['after']} points, second round {gains['again']}.")
    checked = read("learn-from-games-positions")
    lost, count = checked["figure"], checked["positions"]
    return [
        *tables,
        f"Moves that give a result away: {lost} in the {count:,} positions of these games and of the book.",
    ]


def learner_tables() -> list[str]:
    methods = read("learners")["methods"]
    rows = [row for found in methods.values() for row in found["rows"]]
    cells = methods["menace"]["wins of the first player"]
    how: dict[str, list[str]] = {}
    for name, found in methods.items():
        how.setdefault(f"commit {found['commit']}, {found['date']}", []).append(name)
    return [
        table(("method", "source's protocol", "source", "ours: mean (range)", "seeds", "seconds"), rows),
        "Menace's six players, seed 1: wins of the row's player, moving first, in percent of 10,000 games of Nim. "
        "The source's cells are known where the table above has them.",
        table(("first \\ second", *cells), ((name, *(f"{won:.2f}" for won in row)) for name, row in cells.items())),
        "\n".join(f"- {', '.join(names)}: measured at {told}" for told, names in how.items()),
    ]


SECTIONS = (
    Section(
        "Exact solver",
        "Both solvers take turns on the same core, without a database, in CPU time. bitbully's faster search counts. "
        "Pons' published figures are from his own machine, so compare nodes, not times. "
        "[A note](notes/solver.md) tells what made it fast.",
        solver_tables,
        ("solver", "solver-pons-files", "empty-board"),
        "solver.png",
        "Time a position on Pons' files: ours, BitBully, c4",
    ),
    Section(
        "Exact scores",
        "Every score is compared with bitbully's, an independent solver.",
        scores_tables,
        ("opening-table", "solver-scores", "book-scores", "replays"),
    ),
    Section(
        "Exact play",
        "The built file plays in Kaggle's environment and is loaded again for each game. No faults in any run. "
        "A good move keeps the result with perfect play.",
        perfect_tables,
        ("perfect-games", "perfect-positions", "clock-recipes"),
    ),
    Section(
        "Ladder",
        "Every agent plays every other in pairs with seats swapped: 2 s a move and 60 s of overage time. "
        "20 games for each two agents from balanced openings, 8 from the empty board, where the first player wins with "
        "perfect play. `ppo` is fixed at 0 Elo. No forfeits. Columns show the points moving first and second.",
        ladder_tables,
        ("ladder-balanced", "ladder-empty"),
        "ladder.png",
        "Elo of eight agents with 95% intervals, and their points by seat",
    ),
    Section(
        "The second seat",
        "The second player loses against perfect play, so it has to win from errors. Twelve first players that the "
        "opponent model never met, 100 games each from the empty board at 0.3 s a move. "
        '"Before" is the version at cb09674. Differences are of paired games, with 95% intervals. '
        "[A note](notes/second-seat.md) tells how good the opponent model is.",
        seat_tables,
        ("second-seat-empty", "second-seat-lost", "second-seat-drawn"),
        "second-seat.png",
        "Points of the second player against twelve first players, now and before",
    ),
    Section(
        "Networks",
        "The network of `policy` alone, without search, 1,736,000 parameters. 1,000 positions a set of our own. "
        "A perfect move is the fastest win or the slowest loss. A position is critical if some legal move changes the "
        "result.",
        network_tables,
        ("network-random", "network-publishers", "leaf"),
    ),
    Section(
        "Parts of the network",
        "Mean over our six sets. The first seven rows change how the shipped network plays. The others train a small "
        "one for 180 s, three seeds each, with the range in brackets. A part had to gain 0.3 points of perfect moves.",
        ablation_tables,
        ("network-ablation",),
    ),
    Section(
        "Verdicts",
        "Simulated users, 3,000 for each workflow and kind of pairs, judged by the code of `evaluate.py`. "
        "A verdict may be wrong in 5% of cases. The second table counts pairs until a right verdict, in the median.",
        verdict_tables,
        ("verdicts",),
    ),
    Section(
        "Learning from games",
        "Points of 100 of `perfect` as second player, 0.3 s a move, 300 games a stage against each pool. It learns a "
        "book by `train.py book --second --games`: first from the 300 games before, then from 600. "
        "The pools were written down first (`benchmarks/ladder_pool.py`); one held-out player was replaced later.",
        learning_tables,
        ("learn-from-games-learning", "learn-from-games-held-out", "learn-from-games-positions"),
    ),
    Section(
        "Database of games",
        "10,000 generated replays, a file each. A load that is killed goes on; in the end every game is there once.",
        database_tables,
        ("game_database",),
    ),
    Section(
        "Forecast of ratings",
        "200 simulated ladders of each kind, with 30 agents. The forecast is made after 20 games. Its 90% interval "
        "should hold the rating after 200 games. In the first kind all agents start together. In the second a "
        "newcomer joins a settled ladder. In the third, some opponents also suit an agent better than others.",
        forecast_tables,
        ("rating-forecast",),
    ),
    Section(
        "Arena",
        "Kaggle's random agent plays itself. Median of three runs in turn.",
        arena_tables,
        ("arena", "referee"),
    ),
    Section(
        "Environments",
        "Steps a second of processor time on one thread, against `random`, with the observation and rewards of "
        "Kaggle's course.",
        environment_tables,
        ("environments",),
    ),
    Section(
        "Learners",
        "By the protocol of each source. Where one is not followed, the method's docstring in "
        "`connectx_toolkit/training/methods/` says so. Seconds are processor time of training.",
        learner_tables,
        ("learners",),
    ),
)


def page() -> str:
    """The page in Markdown."""
    parts = [
        "# Results",
        "`python -m benchmarks.results_page` makes this page from the records in `benchmarks/results/`. "
        f"Unless a line says otherwise, the machine is {USUAL_MACHINE}. Other work slows it: "
        "trust counted figures and ratios of one run more than seconds.",
    ]
    for section in SECTIONS:
        parts += [f"## {section.title}", section.method]
        if section.picture:
            parts.append(f"![{section.alt}]({section.picture})")
        parts += [*section.tables(), provenance(section.records)]
    return "\n\n".join(parts) + "\n"


def solver_plot() -> Any:
    times = read("solver-pons-files")["microseconds"]
    figure, axes = new_figure(8, 3.6)
    for index, ((name, found), colour) in enumerate(zip(times.items(), (OURS, OTHERS, GREY), strict=True)):
        axes.bar(
            [place + 0.27 * (index - 1) for place in range(len(SETS))], found.values(), 0.25, label=name, color=colour
        )
    axes.set_yscale("log")
    axes.set_xticks(range(len(SETS)), SETS)
    axes.set_ylabel("microseconds a position")
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    return figure


def ladder_plot() -> Any:
    balanced, empty = (read(f"ladder-{start}")["agents"] for start in ("balanced", "empty"))
    names = list(reversed(balanced))
    figure, (left, right) = new_figure(9, 3.6, 2)
    agents = [balanced[name] for name in names]
    bars = [[a["elo"] - a["low"] for a in agents], [a["high"] - a["elo"] for a in agents]]
    left.errorbar([a["elo"] for a in agents], range(len(names)), xerr=bars, fmt="o", capsize=3, color=OURS)
    left.set_yticks(range(len(names)), names)
    left.set_xlabel("Elo from balanced openings, 95% interval")
    for seat, colour, shift in (("first", OURS, 0.2), ("second", OTHERS, -0.2)):
        points = [100 * empty[name][seat] for name in names]
        right.barh([n + shift for n in range(len(names))], points, 0.38, color=colour, label=f"moving {seat}")
    right.set_yticks(range(len(names)), [""] * len(names))
    right.set_xlabel("points from the empty board, %")
    right.legend(loc="lower right")
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.3)
    return figure


def seat_plot() -> Any:
    players = read("second-seat-empty")["players"]
    figure, axes = new_figure(8, 4.2)
    places = range(len(players))
    for column, label, colour, shift in ((0, "now", OURS, -0.2), (1, "before", GREY, 0.2)):
        points = [float(cells[column].partition("%")[0]) for cells in players.values()]
        axes.barh([place + shift for place in places], points, 0.38, label=label, color=colour)
    axes.set_yticks(places, players)
    axes.invert_yaxis()
    axes.set_xlabel("points of the second player, %")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right")
    return figure


PLOTS = {"solver.png": solver_plot, "ladder.png": ladder_plot, "second-seat.png": seat_plot}


def main() -> int:
    from matplotlib import pyplot

    PAGE.parent.mkdir(parents=True, exist_ok=True)
    write_whole(PAGE, page().encode())
    for name, plot in PLOTS.items():
        figure, picture = plot(), io.BytesIO()
        figure.tight_layout()
        figure.savefig(picture, format="png", dpi=110, metadata={"Software": None})
        pyplot.close(figure)
        write_whole(PAGE.with_name(name), picture.getvalue())
    print(f"wrote {PAGE.relative_to(ROOT)} and {len(PLOTS)} plots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
