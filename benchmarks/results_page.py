"""Writes the tables of docs/project/results.md, and the ladder of the README, from the records in benchmarks/results.

python -m benchmarks.results_page

A benchmark writes the records; what is between two marks of a page, such as ``<!-- solver -->`` and ``<!-- end -->``,
shows them. After a benchmark ran again, run this.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import RESULTS
from benchmarks.second_seat import Gain, over_players
from benchmarks.start import KINDS, WAYS
from connectx_toolkit.system.files import AGENTS, ROOT, write_whole
from connectx_toolkit.system.table import Column, Table

PAGES = PAGE, README = ROOT / "docs" / "project" / "results.md", ROOT / "README.md"
MARKED = re.compile(r"^(<!-- ([a-z ]+) -->)$.*?^(<!-- end -->)$", re.S | re.M)
USUAL_MACHINE = "AMD EPYC, 2 cores, 24 GiB, a shared virtual machine"
Record = dict[str, Any]


def read(name: str) -> Record:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown, of cells in Markdown; all columns but the first to the right."""
    columns = [Column(head, show=str, align="right" if place else "left") for place, head in enumerate(heads)]
    return Table("", columns, rows).markdown(escape=str).rstrip("\n")


def provenance(names: Iterable[str]) -> str:
    """How the records were measured, a line for each kind of run."""
    found: dict[str, None] = {}
    for record in map(read, names):
        machine = record["machine"].removeprefix(USUAL_MACHINE).lstrip(", ")
        parts = [f"`{record['command']}`", f"commit {record['commit']}", record["date"], *filter(None, [machine])]
        found.setdefault(", ".join(parts))
    return "\n".join(f"- {line}" for line in found)


def number(value: float | None) -> str:
    """A count or a time in few digits."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def solver_tables() -> list[str]:
    run, empty = read("solver"), read("empty-board")
    ratios = [
        (name, row["positions"], format(row["of bitbully's time"], ".2f"), number(row["nodes"]),
         number(run["published_us_and_nodes"][name][0][1]))
        for name, row in run["sets"].items()
    ]  # fmt: skip
    solvers = [("ours, table of 256 MB", f"{empty['figure']:g}", f"{empty['nodes'] / 1e6:.0f} million")]
    for method, found in empty["theirs"].items():
        solvers.append((f"bitbully, `{method}`", f"{found['seconds']:g}", f"{found['nodes'] / 1e6:.0f} million"))
    return [
        table(("our own sets", "positions", "time / bitbully's", "our nodes", "Pons' nodes, his sets"), ratios),
        f"Over all six sets the solver needs {run['figure']:.2f} of bitbully's time, with {run['wrong']} wrong scores.",
        table(("the empty board, one core", "seconds of processor time", "nodes"), solvers),
    ]


def scores_tables() -> list[str]:
    rows = (
        ("opening table, all positions through ply 8", "opening-table"),
        ("random positions, 8 to 41 stones, all moves", "solver-scores"),
    )
    found = [(title, f"{read(name)['positions']:,}", read(name)["figure"]) for title, name in rows]
    return [table(("compared", "number", "wrong"), found)]


def perfect_tables() -> list[str]:
    games, positions = read("perfect-games"), read("perfect-positions")
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
    ]
    return [table(("at Kaggle's clock", "found"), rows)]


def ladder_by_seat() -> str:
    """Each agent's Elo with its 95% interval, its place, and its points.

    A place is shared by agents whose intervals overlap: it is one more than the number of those wholly above.
    """
    agents = json.loads((AGENTS / "ladder.json").read_text(encoding="utf-8"))["agents"]
    balanced, empty = (read(f"ladder-{start}")["agents"] for start in ("balanced", "empty"))
    places = {
        name: 1 + sum(other["low"] > agent["high"] for other in agents.values()) for name, agent in agents.items()
    }
    rows = []
    for name, agent in agents.items():
        tied = "=" * (list(places.values()).count(places[name]) > 1)
        elo = f"{agent['elo']:.0f} ± {(agent['high'] - agent['low']) / 2:.0f}"
        points = [f"{100 * side[name][seat]:.0f}" for side in (balanced, empty) for seat in ("first", "second")]
        rows.append((f"`{name}`", f"{places[name]}{tied}", elo, *points))
    seats = (f"{start}, {seat}" for start in ("balanced", "empty") for seat in ("first", "second"))
    return table(("agent", "place", "Elo, 95%", *seats), rows)


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


def gains() -> dict[str, Gain]:
    """From the record's rows, in points of 100."""
    rows = read("second-seat-empty")["players"]
    return over_players({name: float(cells[2].partition("%")[0]) for name, cells in rows.items()})


def seat_tables() -> list[str]:
    run = read("second-seat-empty")
    rows = [(f"`{name}`", *(cell.replace("+-", "± ") for cell in cells)) for name, cells in run["players"].items()]
    rows += [
        (title, "", "", read(f"second-seat-{start}")["interval"].replace("+-", "± "))
        for title, start in (
            ("**all twelve, empty board**, interval over games", "empty"),
            ("four of them, late lost openings", "lost"),
            ("two of them, drawn openings", "drawn"),
        )
    ]
    titles = {"all": "all twelve", "without leaf": "the ten without `leaf`", "without kin": "the five without kin"}
    for part, gain in gains().items():
        rows.append((f"{titles[part]}, interval over players", "", "", f"{gain.mean:.1f}% ± {gain.half:.1f}%"))
    return [table(("first player", "points now", "points before", "difference"), rows)]


RECIPES = {  # and how the page calls them
    "random": "random play, 9 to 20 stones",
    "half-random": "half random, half perfect, 4 to 27 stones",
    "plies-4-to-7": "plies 4 to 7",
    "plies-10-to-16": "careful random play, 10 to 16 stones",
    "near-perfect": "three of four moves perfect, 2 to 36 stones",
    "searchers": "searchers of 1 to 8 plies, 8 to 36 stones",
}
SEARCHED = ("End-Easy", "Middle-Easy", "Middle-Medium", "Begin-Easy", "Begin-Medium")


def network_tables() -> list[str]:
    players = {"policy": "`policy`, with forced replies", "network": "network alone"}
    shown = {"good": ".1f", "critical": ".1f", "perfect": ".1f", "passes": "g", "unasked": "g"}
    rows = []
    for name, title in RECIPES.items():
        record = read(f"network-{name}")
        count = f"{record['positions']:,}" + (f" of {record['drawn']:,}" if "drawn" in record else "")
        for player, found in record["players"].items():
            numbers = (format(found[key], form) if key in found else "" for key, form in shown.items())
            rows.append((title, count, players[player], *numbers))
    heads = ("our own sets", "positions", "player", "good, %", "critical, %", "perfect, %", "passes", "unasked, %")
    return [table(heads, rows), errors_table()]


def errors_table() -> str:
    """The tree search beside AlphaZero.jl's."""
    rows = []
    for name in SEARCHED:
        record = read(f"network-{name}")
        found = record["players"]["search"]
        theirs = record["anchor"].partition("%")[0]
        count = f"{record['positions']:,} of {record['drawn']:,}"
        rows.append((name, count, f"{100 - found['good']:.1f}", f"{found['passes']:.0f}", theirs))
    return table(("our own sets", "positions", "errors, %", "passes", "AlphaZero.jl on Pons' sets, 600, %"), rows)


def verdict_tables() -> list[str]:
    run = read("verdicts")
    share = lambda cell: float(cell.partition("%")[0])  # noqa: E731
    wrong = [
        (row[0], f"{max(share(c) for c in row[1::2] if c):.1f}%", f"{min(share(c) for c in row[2::2] if c):.1f}%")
        for row in [*run["wrong"], *read("verdicts-variants")["wrong"], *read("verdicts-looks")["wrong"]]
    ]
    heads = ("pairs", "true Elo", "ours", "SPRT told the Elo", "ratio")
    return [
        table(("between equal agents", 'false "stronger", at most', "true interval, at least"), wrong),
        table(heads, run["pairs"]),
    ]


def arena_tables() -> list[str]:
    run = read("arena")
    rows = [(name, f"{times:g}") for name, times in run["times_kaggles"].items()]
    rows.append(("two cores, relative to one", run["scaling"]))
    return [table(("", "games a second, Kaggle's = 1"), rows)]


def start_tables() -> list[str]:
    loads = [
        (f"`{name}`", f"{row['bytes']:,}", *(f"{row[way]:.2f} s" for way in WAYS))
        for name, row in read("start")["loads"].items()
    ]
    kernels = [
        (name, f"{row['the same']:,} of {row['positions']:,}", *(f"{row['rates'][kind]:.2f}" for kind in KINDS[:2]))
        for name, row in read("kernels")["kernels"].items()
    ]
    return [
        table(("built file", "bytes", *WAYS), loads),
        table(("kernel", "same nodes and results", *(f"nodes a second, {kind}" for kind in KINDS[:2])), kernels),
    ]


def database_tables() -> list[str]:
    found = read("game_database")
    rows = [
        ("load", f"{found['figure']} s"),
        ("load again, nothing new", f"{found['again']} s"),
        ("size", f"{found['megabytes']} MB"),
        *((f"query, {where}", f"{time:.2f} ms") for where, time in found["beside_played"].items()),
        ("store a game of a match", f"{found['milliseconds_a_played_game']} ms of the processor"),
        ("games there after each of three kills", ", ".join(f"{count:,}" for count in found["games_after_kills"])),
    ]
    return [table(("10,000 replays", "found"), rows)]


def times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def environment_tables() -> list[str]:
    found = read("environments")["steps_a_second"]
    rows: list[tuple[str, ...]] = []
    base: list[float] = []
    for name, speeds in found.items():
        base = speeds if name.startswith("the course's wrapper") else base
        cells = (f"{speed:,.0f} ({times(speed / first)})" for speed, first in zip(speeds, base, strict=True))
        rows.append((name, *cells))
    return [table(("environment", "alone", "with PPO, MlpPolicy", "with PPO, the lesson's CNN"), rows)]


def learning_tables() -> list[str]:
    tables: list[str] = []
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


def tuning_tables() -> list[str]:
    def told(row: Record | None) -> str:
        return "{:+} ({:+} to {:+})".format(*row["elo"]) if row else "nothing better found"

    found = read("tuning")
    rows = []
    for name, row in found["heuristics"].items():
        good = "{:+.1f}% ({:+.1f}% to {:+.1f}%)".format(*row["tuned"]["difference"]) if row["tuned"] else ""
        rows.append((f"`{name}`", row["processor seconds"], row["candidates"], good, told(row["tuned"]),
                     row["spsa"]["played"], told(row["spsa"])))  # fmt: skip
    heads = ("heuristic", "processor s", "candidates", "good moves", "tuned, Elo", "SPSA, pairs", "SPSA, Elo")
    by_spsa = [row["spsa"]["elo"][0] for row in found["heuristics"].values()]
    return [table(heads, rows), f"On average: tuned {found['figure']:+} Elo, SPSA {sum(by_spsa) / len(by_spsa):+.0f}."]


TABLES: dict[str, tuple[Callable[[], list[str]], list[str]]] = {  # by mark, with the records that they are of
    "solver": (solver_tables, ["solver", "empty-board"]),
    "scores": (scores_tables, ["opening-table", "solver-scores"]),
    "perfect": (perfect_tables, ["perfect-games", "perfect-positions"]),
    "ladder by seat": (lambda: [ladder_by_seat()], []),
    "ladder": (ladder_tables, ["ladder-balanced", "ladder-empty"]),
    "second seat": (seat_tables, ["second-seat-empty", "second-seat-lost", "second-seat-drawn"]),
    "networks": (network_tables, [f"network-{name}" for name in (*RECIPES, *SEARCHED)]),
    "verdicts": (verdict_tables, ["verdicts", "verdicts-variants", "verdicts-looks"]),
    "learning from games": (
        learning_tables,
        [f"learn-from-games-{part}" for part in ("learning", "held-out", "positions")],
    ),
    "database": (database_tables, ["game_database"]),
    "arena": (arena_tables, ["arena"]),
    "environments": (environment_tables, ["environments"]),
    "start": (start_tables, ["start", "kernels"]),
    "learners": (learner_tables, ["learners"]),
    "tuning": (tuning_tables, ["tuning"]),
}


def filled(path: Path) -> str:
    """A page's text, with today's tables between its marks. Raises KeyError for a mark that has none."""

    def tables(found: re.Match[str]) -> str:
        parts, records = TABLES[found[2]]
        return "\n\n".join([found[1], *parts(), *filter(None, [provenance(records)]), found[3]])

    return MARKED.sub(tables, path.read_text(encoding="utf-8"))


def main() -> int:
    for path in PAGES:
        write_whole(path, filled(path).encode())
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
