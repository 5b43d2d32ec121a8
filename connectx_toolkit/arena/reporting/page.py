"""Self-contained HTML pages: of a store (ladder, plots, games), of one's own games (table, summary), of an opponent.

Games are replayed with the exact scores of every move. Plots are inline SVG, games are JSON inside the page, and its
content security policy lets nothing be fetched.
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
from connectx.position import Position
from connectx_toolkit.arena.analysis.exact_analysis import JudgedMove, accuracy
from connectx_toolkit.arena.games.scout import Line
from connectx_toolkit.arena.games.scouting import Report
from connectx_toolkit.arena.replays.review import SEATS, Review
from connectx_toolkit.arena.replays.summary import Section
from connectx_toolkit.arena.reporting.ladder import label, ladder_figure, name_lines, new_figure
from connectx_toolkit.arena.reporting.replay_tables import cell_text, ending_words, mistake_words, slowest_words
from connectx_toolkit.arena.reporting.scout_tables import (
    beats,
    branches_html,
    given_section,
    judged_of,
    line_end,
    line_game,
)
from connectx_toolkit.arena.reporting.scout_tables import headline as headline_of
from connectx_toolkit.arena.reporting.tables import LADDER_NOTE, LADDER_TITLES, ladder_rows
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.arena.results.tournament import Standing, Tournament
from connectx_toolkit.page import component

LATEST = 20  # games on an opponent's page


def game_entry(game: Game, judged: Sequence[JudgedMove], ending: str = "") -> dict[str, Any]:
    """What the page shows of a game. ``judged`` may leave moves out; ``ending``: words instead of the game's."""
    return {
        "title": f"{game.names[0]} v {game.names[1]}: {write_columns(game.moves[:12])}...",
        "names": game.names,
        "rows": game.geometry.rows,
        "columns": game.geometry.columns,
        "inarow": game.geometry.inarow,
        "moves": game.moves,
        "ending": ending or game.ending_words,
        "forfeit": game.fault and {"seat": game.fault.seat, "text": game.fault.kind},
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
            for ply, seconds in enumerate(game.measured):
                name = names[(ply % 2) ^ (number % 2)]
                if seconds is not None and ply >= game.opening + 2:
                    times.setdefault(name, {}).setdefault(ply, []).append(max(seconds, 1e-6))
    figure, axes = new_figure(7, 3.5)
    lines = []
    for _, by_ply in sorted(times.items()):
        plies = sorted(by_ply)
        lines += axes.plot(plies, [sorted(by_ply[ply])[len(by_ply[ply]) // 2] for ply in plies], marker=".")
    axes.set(xlabel="ply", ylabel="seconds per move (median)", yscale="log")
    name_lines(axes, lines, sorted(times))
    return _svg(figure)


def accuracy_plot(judged: Mapping[str, Sequence[JudgedMove]]) -> str:
    """Good move rate in positions that were not lost yet, by ply in steps of 4, one line an agent, as SVG."""
    figure, axes = new_figure(7, 3.5)
    lines = []
    for _, moves in sorted(judged.items()):
        steps = sorted({move.ply // 4 for move in moves if move.holds})
        found = [accuracy(move for move in moves if move.ply // 4 == step) for step in steps]
        lines += axes.plot([4 * step for step in steps], [f.kept / f.holding for f in found], marker="o")
    axes.set(xlabel="ply", ylabel="good move rate", ylim=(0, 1.05))
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
        sections += ["<h3>Points of each row against each column, %</h3>", crosstable_plot(tournament, names)]
    sections += ["<h3>Median time per move, without each agent's first move</h3>", time_plot(tournament)]
    if judged:
        sections += ["<h3>Good move rate by ply</h3>", accuracy_plot(judged)]
    return sections


def row_entry(review: Review) -> dict[str, Any]:
    """A row of the table, in words, and what its filters and jumps go by."""
    row = review.row()
    given = [mistake_words(one) for one in row["mistakes"]]
    return {
        "game": row["game"],
        "opponent": row["opponent"],
        "seat": row["seat"],
        "result": row["result"],
        "status": row["status"],
        "cause": row["cause"],
        "ended": ending_words(review),
        "plies": row["plies"],
        "overage": row["overage"],
        "slowest": slowest_words(row),
        "first": given[0] if given else "",
        "last": given[-1] if given else "",
        "mistakes": [one["ply"] for one in row["mistakes"]],
        "shortened": len(row["shortened"]),
    }


def section_html(section: Section) -> str:
    """A section of the summary as an HTML table."""
    classes = ['class="number"' if section.is_numeric(column) else "" for column in range(len(section.heads))]
    heads = "".join(f"<th {kind}>{html.escape(head)}</th>" for kind, head in zip(classes, section.heads, strict=True))
    lines = [f"<section><h2>{html.escape(section.title)}</h2><table><tr>{heads}</tr>"]
    for row in section.rows:
        cells = (f"<td {kind}>{html.escape(cell_text(c))}</td>" for kind, c in zip(classes, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    note = f'<p class="note">{html.escape(section.note)}</p>' if section.note else ""
    return "\n".join([*lines, f"</table>{note}</section>"])


def results_page(sections: Sequence[str], games: Sequence[Mapping[str, Any]]) -> str:
    """The page of a store. ``sections``: HTML; ``games``: from ``game_entry``."""
    body = _filled("results.html", sections="\n".join(sections))
    return _page("ConnectX results", body, games, "", _file_text("results.js"))


def replays_page(team: str, reviews: Sequence[Review], headline: Sequence[str], sections: Sequence[Section]) -> str:
    """The page of one's own games: a table to filter, the games to replay with exact scores, and the summary."""
    body = _filled(
        "replays.html",
        team=html.escape(team),
        headline=_paragraphs(headline),
        sections="\n".join(map(section_html, sections)),
        rows=_json([row_entry(review) for review in reviews]),
    )
    games = [game_entry(one.game, one.judged) for one in reviews]
    script = f"{{\n{_file_text('replays.js')}}}\n"  # a scope of its own: the replayer's script has the same names
    return _page(f"Games of {html.escape(team)}", body, games, _file_text("replays.css"), script)


def scout_page(report: Report) -> str:
    """The page of one opponent: the lines to play and the latest games to replay, the tree, and where it errs."""
    entries = [_line_entry(line, report) for line in reversed(report.lines) if line.steps]
    for game in report.games[: -LATEST - 1 : -1]:
        entries.append(game_entry(game, judged_of(game, report)))
    trees = [
        f"<section><h2>First moves when you move {SEATS[seat]}</h2>{branches_html(branches)}</section>"
        for seat, branches in enumerate(report.trees)
        if branches
    ]
    section = given_section(report)
    body = _filled(
        "scout.html",
        opponent=html.escape(report.opponent),
        headline=_paragraphs(headline_of(report)),
        trees=f'<div class="trees">{"".join(trees)}</div>',
        sections=section_html(section) if section.rows else "",
    )
    return _page(html.escape(report.opponent), body, entries, _file_text("scout.css"), _file_text("results.js"))


def _line_entry(line: Line, report: Report) -> dict[str, Any]:
    """A line as a game of the page, with the exact scores of its last position."""
    game, end = line_game(line, report), line_end(line, report)
    entry = game_entry(game, judged_of(game, report), end)
    if scores := report.scores.get(Position.from_moves(game.moves, game.geometry)):
        entry["judged"][len(game.moves)] = {"scores": scores}
    what = "line" if beats(line) else "longest resistance"
    return entry | {"title": f"the {what} when you move {SEATS[line.seat]}", "note": end}


def opponents_page(me: str, section: Section, notes: Sequence[str]) -> str:
    """The page of all opponents."""
    heading = f"<h1>Opponents of {html.escape(me)}</h1>"
    body = f'<main class="report scout">{heading}{section_html(section)}{_paragraphs(notes)}</main>'
    return _page(f"Opponents of {html.escape(me)}", body, [], _file_text("scout.css"), "")


def _paragraphs(lines: Sequence[str]) -> str:
    return "\n".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _page(title: str, body: str, games: Sequence[Mapping[str, Any]], style: str, script: str) -> str:
    """A whole page around a replayer of games. ``style`` and ``script`` are added to those that all pages have."""
    return _filled(
        "page.html",
        title=title,
        body=body,
        games=_json(games),
        style=component.style() + _file_text("page.css") + style,
        script=component.script("replayer.js") + script,
    )


def _filled(name: str, **fields: str) -> str:
    return Template(_file_text(name)).substitute(fields)


def _file_text(name: str) -> str:
    """What a page is made of: a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")  # so that no name can end the script element
