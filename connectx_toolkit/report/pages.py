"""Self-contained HTML pages: of matches (ladder, charts, games), of one's own games (table, summary), of exams.

Games are replayed with the exact scores of every move. Charts are inline SVG, games are JSON inside the page, and its
content security policy lets nothing be fetched.
"""

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from connectx_core.position import write_columns
from connectx_toolkit import page
from connectx_toolkit.arena.tournament import Standing, Tournament, cross_table, ladder_table
from connectx_toolkit.games.analysis import JudgedMove, accuracy
from connectx_toolkit.games.review import Review, moves_by_agent
from connectx_toolkit.report.charts import line_chart
from connectx_toolkit.report.ladder import ladder_chart
from connectx_toolkit.report.tables import ending_words, games_table
from connectx_toolkit.system.console import plural
from connectx_toolkit.system.table import Table


def game_entry(one: Review) -> dict[str, Any]:
    """What the page shows of a game; of an exam's mistake, its theme instead of its end."""
    game = one.game
    return game.entry | {
        "title": f"{game.names[0]} v {game.names[1]}: {write_columns(game.moves[:12])}...",
        "ending": one.theme or game.ending_words,
        "judged": {move.ply: {"scores": move.scores} for move in one.moves},
    }


def time_chart(tournament: Tournament) -> str:
    """Median seconds of a move at each ply, one line an agent, as SVG. First moves pay for loads: left out."""
    times: dict[str, dict[int, list[float]]] = {}
    for match, names in zip(tournament.matches, tournament.names, strict=True):
        for number, game in match.games.items():
            for ply, seconds in enumerate(game.measured):
                name = names[(ply % 2) ^ (number % 2)]
                if seconds is not None and ply >= game.opening + 2:
                    times.setdefault(name, {}).setdefault(ply, []).append(min(max(seconds, 1e-6), 1e3))
    medians = {name: [(ply, sorted(values)[len(values) // 2]) for ply, values in sorted(by_ply.items())]
               for name, by_ply in sorted(times.items())}  # fmt: skip
    return line_chart("Median time per move, without each agent's first move", "ply", medians, None, "s")


def accuracy_chart(judged: Mapping[str, Sequence[JudgedMove]]) -> str:
    """Good move rate in positions that were not lost yet, by ply in steps of 4, one line an agent, as SVG."""
    rates: dict[str, list[tuple[float, float]]] = {}
    for name, moves in sorted(judged.items()):
        for step in sorted({move.ply // 4 for move in moves if move.holds}):
            shares = accuracy(move for move in moves if move.ply // 4 == step)
            rates.setdefault(name, []).append((4 * step, 100 * shares.kept / shares.holding))
    return line_chart("Good move rate by ply", "ply, in steps of 4", rates, 100, "%")


def group_html(
    title: str, tournament: Tournament, ladder: Sequence[Standing], anchor: str, games: Sequence[Review]
) -> list[str]:
    """The sections of one group of comparable matches. ``games``: those that the page has."""
    sections = [f"<h2>{html.escape(title)}</h2>"]
    if ladder:
        names = [line.name for line in ladder]
        sections += [ladder_table(ladder, anchor).html(), _chart_html(ladder_chart(ladder))]
        sections += [_table_section(cross_table(tournament, names), "h3")]
    sections += ["<h3>Median time per move, without each agent's first move</h3>", _chart_html(time_chart(tournament))]
    if judged := moves_by_agent(games):
        count = f"{len(games)} {plural('game', len(games))}"
        latest = f"Good move rate by ply, in {count}: the latest of each two agents"
        sections += [f"<h3>{latest}</h3>", _chart_html(accuracy_chart(judged))]
    return sections


def _chart_html(svg: str) -> str:
    """A chart that scrolls where it is too wide: made smaller, its labels could not be read."""
    return f'<div class="wide">{svg}</div>'


def _table_section(table: Table, heading: str = "h2") -> str:
    """A table under its title, as a section."""
    title = html.escape(table.title[:1].upper() + table.title[1:])
    return f"<section><{heading}>{title}</{heading}>{table.html()}</section>"


def row_entry(review: Review) -> dict[str, Any]:
    """What the filters and jumps of a game's row go by, and what is said of the game."""
    row = review.row()
    kept = ("game", "opponent", "seat", "result", "status", "cause", "plies", "mistakes", "shortened")
    return {key: row[key] for key in kept} | {"ended": ending_words(review)}


def results_page(sections: Sequence[str], games: Sequence[Mapping[str, Any]]) -> str:
    """The page of matches. ``sections``: HTML; ``games``: from ``game_entry``."""
    body = _fill_template("results.html", sections="\n".join(sections))
    return _whole_page("ConnectX results", body, games, _file_text("replays.css"), _file_text("results.js"))


def replays_page(team: str, reviews: Sequence[Review], headline: Sequence[str], sections: Sequence[Table]) -> str:
    """The page of one's own games: a table to filter, the games to replay with exact scores, and the summary."""
    body = _fill_template(
        "replays.html",
        team=html.escape(team),
        headline=_paragraphs(headline),
        sections="\n".join(map(_table_section, sections)),
        table=games_table(team, reviews).html("games"),
        rows=_json([row_entry(review) for review in reviews]),
    )
    games = [game_entry(one) for one in reviews]
    script = f"{{\n{_file_text('replays.js')}}}\n"  # a scope of its own: the replayer's script has the same names
    return _whole_page(f"Games of {html.escape(team)}", body, games, _file_text("replays.css"), script)


def exam_page(
    title: str, lines: Sequence[str], tables: Sequence[Table], mistakes: Table, entries: Sequence[Mapping[str, Any]]
) -> str:
    """The page of an exam. ``entries``: from ``game_entry``, with ``ply``, of the rows of ``mistakes``."""
    body = _fill_template(
        "exam.html",
        title=html.escape(title),
        headline=_paragraphs(lines),
        table=mistakes.html("mistakes"),
        sections="\n".join(map(_table_section, tables)),
    )
    return _whole_page(html.escape(title), body, entries, _file_text("replays.css"), _file_text("exam.js"))


def tuning_page(title: str, lines: Sequence[str], numbers: Table, chart: str, tables: Sequence[Table]) -> str:
    """The page of a search for better numbers. ``chart``: SVG of its course."""
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _paragraphs(lines),
        _table_section(numbers),
        "<h2>Course of the search</h2>",
    ]
    parts += [_chart_html(chart), *map(_table_section, tables)]
    body = f'<main class="report scout">{"".join(parts)}</main>'
    return _whole_page(html.escape(title), body, [], _file_text("tuning.css"), "")


def _paragraphs(lines: Sequence[str]) -> str:
    return "\n".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _whole_page(title: str, body: str, games: Sequence[Mapping[str, Any]], style: str, script: str) -> str:
    """A whole page around a replayer of games. ``style`` and ``script`` are added to those that all pages have."""
    return _fill_template(
        "page.html",
        title=title,
        body=body,
        games=_json(games),
        style=page.style() + _file_text("page.css") + style,
        script=page.script("replayer.js") + script,
    )


def _fill_template(name: str, **fields: str) -> str:
    return Template(_file_text(name)).substitute(fields)


def _file_text(name: str) -> str:
    """What a page is made of: a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")  # so that no name can end the script element
