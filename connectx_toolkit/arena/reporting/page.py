"""One self-contained HTML page: ladder, plots, and games to replay with the exact scores of every move.

Plots are inline SVG, games are JSON inside the page, and its content security policy lets nothing be fetched.
"""

import html
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from connectx.notation import write_columns
from connectx_toolkit.arena.analysis.exact_analysis import JudgedMove, accuracy
from connectx_toolkit.arena.reporting.ladder import label, ladder_figure, name_lines, new_figure
from connectx_toolkit.arena.reporting.tables import LADDER_NOTE, LADDER_TITLES, ladder_rows
from connectx_toolkit.arena.results.records import GameRecord
from connectx_toolkit.arena.results.tournament import Standing, Tournament
from connectx_toolkit.page import component


def game_entry(record: GameRecord, judged: Sequence[JudgedMove], ending: str) -> dict[str, Any]:
    """What the page shows of a game. ``judged`` may leave moves out."""
    return {
        "title": f"{record.names[0]} v {record.names[1]}: {write_columns(record.moves[:12])}...",
        "names": record.names,
        "rows": record.geometry.rows,
        "columns": record.geometry.columns,
        "inarow": record.geometry.inarow,
        "moves": record.moves,
        "ending": ending,
        "forfeit": record.forfeit and {"seat": record.forfeit[0], "text": record.forfeit[1]},
        "judged": {move.ply: {"scores": move.scores} for move in judged},
    }


def _svg(figure) -> str:
    """A figure as an SVG element, without the head and the metadata that name web addresses."""
    from matplotlib import pyplot

    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return re.sub(r"<metadata>.*?</metadata>", "", text.getvalue()[text.getvalue().index("<svg") :], flags=re.S)


def crosstable_plot(tournament: Tournament, names: Sequence[str]) -> str:
    """Share of the points of row against column, as a heat map in SVG."""
    cells = tournament.crosstable()
    figure, axes = new_figure(1.5 + 0.6 * len(names), 1 + 0.5 * len(names))
    nan = float("nan")
    shares = [[cells.get((row, column), (nan, 0))[0] for column in names] for row in names]
    axes.imshow(shares, vmin=0, vmax=1, cmap="RdYlGn", aspect="auto")
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            if share == share:
                colour = "white" if abs(share - 0.5) > 0.4 else "black"  # the ends of the map are dark
                axes.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=9, color=colour)
    axes.set_xticks(range(len(names)), [str(number) for number in range(1, len(names) + 1)])
    axes.set_yticks(range(len(names)), [f"{number} {label(name)}" for number, name in enumerate(names, 1)])
    return _svg(figure)


def time_plot(tournament: Tournament) -> str:
    """Median seconds of a move at each ply, one line an agent, as SVG. First moves pay for loads: left out."""
    times: dict[str, dict[int, list[float]]] = {}
    for match, names in zip(tournament.matches, tournament.names, strict=True):
        for number, game in match.games.items():
            for ply, seconds in enumerate(game.seconds[2:], game.opening + 2):
                name = names[(ply % 2) ^ (number % 2)]
                times.setdefault(name, {}).setdefault(ply, []).append(max(seconds, 1e-6))
    figure, axes = new_figure(7, 3.5)
    lines = []
    for _, by_ply in sorted(times.items()):
        plies = sorted(by_ply)
        lines += axes.plot(plies, [sorted(by_ply[ply])[len(by_ply[ply]) // 2] for ply in plies], marker=".")
    axes.set(xlabel="ply", ylabel="median seconds a move", yscale="log")
    name_lines(axes, lines, sorted(times))
    return _svg(figure)


def accuracy_plot(judged: Mapping[str, Sequence[JudgedMove]]) -> str:
    """Share of moves that kept a result not lost yet, by ply in steps of 4, one line an agent, as SVG."""
    figure, axes = new_figure(7, 3.5)
    lines = []
    for _, moves in sorted(judged.items()):
        steps = sorted({move.ply // 4 for move in moves if move.holds})
        found = [accuracy(move for move in moves if move.ply // 4 == step) for step in steps]
        lines += axes.plot([4 * step for step in steps], [f.kept / f.holding for f in found], marker="o")
    axes.set(xlabel="ply", ylabel="moves that kept the result", ylim=(0, 1.05))
    name_lines(axes, lines, sorted(judged))
    return _svg(figure)


def ladder_html(ladder: Sequence[Standing]) -> str:
    """The ladder as an HTML table."""
    lines = ['<div class="wide"><table><tr>' + "".join(f"<th>{title}</th>" for title in LADDER_TITLES) + "</tr>"]
    for row in ladder_rows(ladder):
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
    return "\n".join([*lines, f'</table></div><p class="note">{LADDER_NOTE}</p>'])


def group_html(
    title: str, tournament: Tournament, ladder: Sequence[Standing], judged: Mapping[str, Sequence[JudgedMove]]
) -> list[str]:
    """The sections of one group of comparable matches."""
    sections = [f"<h2>{html.escape(title)}</h2>"]
    if ladder:
        names = [line.name for line in ladder]
        sections += [ladder_html(ladder), _svg(ladder_figure(ladder))]
        sections += ["<h3>Points of row against column, %</h3>", crosstable_plot(tournament, names)]
    sections += ["<h3>Time a move, first moves left out</h3>", time_plot(tournament)]
    if judged:
        sections += ["<h3>Accuracy by ply</h3>", accuracy_plot(judged)]
    return sections


def page(sections: Sequence[str], games: Sequence[Mapping[str, Any]]) -> str:
    """The whole page. ``sections``: HTML; ``games``: from ``game_entry``."""
    return Template(file_text("page.html")).substitute(
        style=component.style() + file_text("page.css"),
        script=component.script("replayer.js") + file_text("page.js"),
        sections="\n".join(sections),
        games=json.dumps(games).replace("<", "\\u003c"),  # so that no name can end the script element
    )


def file_text(name: str) -> str:
    """What a page is made of: a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
