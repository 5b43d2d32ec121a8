"""One self-contained HTML page: ladder, plots, and games to replay with the exact scores of every move.

Plots are inline SVG, games are JSON inside the page, and its content security policy lets nothing be fetched.
"""

import html
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from arena.analysis import JudgedMove, accuracy
from arena.ladder import ladder_figure, new_figure
from arena.openings import write_opening
from arena.records import GameRecord
from arena.report import LADDER_NOTE, LADDER_TITLES, ladder_rows
from arena.tournament import Standing, Tournament

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ConnectX results</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<style>
body { font: 15px/1.4 sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; } td, th { padding: .2em .7em; text-align: right; border-bottom: 1px solid #ddd; }
td:nth-child(2), th:nth-child(2) { text-align: left; } svg { max-width: 100%; height: auto; }
#board { display: grid; gap: 3px; background: #2457a8; padding: 6px; border-radius: 8px; width: max-content; }
#board div { width: 44px; height: 44px; border-radius: 50%; background: #fff; }
.p1 { background: #e8c400 !important; } .p2 { background: #d03030 !important; }
#board .last { box-shadow: inset 0 0 0 4px #fff, inset 0 0 0 6px #222; }
.lane { display: grid; gap: 3px; padding: 0 6px; width: max-content; text-align: center; min-height: 1.5em; }
.lane span { width: 44px; } #numbers { color: #777; } #scores { font-variant-numeric: tabular-nums; }
#scores .best { font-weight: bold; background: #cfe8cf; border-radius: 6px; }
.disc { display: inline-block; width: .8em; height: .8em; border-radius: 50%; }
#ply { width: 240px; vertical-align: middle; } #said { min-height: 3em; } .note { color: #666; font-size: 13px; }
</style></head><body>
<h1>ConnectX results</h1>
"""

REPLAYER = """<h2>Games</h2>
<p><select id="game"></select></p>
<p><span class="disc p1"></span> <span id="first"></span> moves first, <span class="disc p2"></span>
<span id="second"></span></p>
<div id="scores" class="lane"></div><div id="board"></div><div id="numbers" class="lane"></div>
<p><button id="back">&#9664;</button> <input id="ply" type="range" min="0" value="0"> <button id="on">&#9654;</button>
<span id="count"></span></p><p id="said"></p>
<p class="note">The numbers above the board are the exact scores of the moves, for the side to move: 0 draws, a win
counts the winner's unplayed stones and one more, so that quicker wins are larger; losses are negative. The best are
marked.
The arrow keys step; the address of this page with #3.12 opens the fourth game at ply 12.</p>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const games = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
for (const [index, game] of games.entries()) at("game").add(new Option(game.title, index));
function show() {
  const game = games[at("game").value], ply = Number(at("ply").value), heights = Array(game.columns).fill(0);
  at("ply").max = game.moves.length;
  const cells = Array.from({length: game.rows * game.columns}, () => "");
  game.moves.slice(0, ply).forEach((column, index) => {
    const cell = (game.rows - 1 - heights[column]++) * game.columns + column;
    cells[cell] = (index % 2 ? "p2" : "p1") + (index === ply - 1 ? " last" : "");
  });
  for (const id of ["board", "scores", "numbers"]) at(id).style.gridTemplateColumns = `repeat(${game.columns}, 44px)`;
  at("board").replaceChildren(...cells.map(name => Object.assign(document.createElement("div"), {className: name})));
  const judged = game.judged[ply];
  const best = judged ? Math.max(...judged.scores.filter(score => score !== null)) : null;
  at("scores").replaceChildren(...(judged ? judged.scores : []).map(score => {
    const text = score === null ? "" : score, name = score === best ? "best" : "";
    return Object.assign(document.createElement("span"), {textContent: text, className: name});
  }));
  const number = index => Object.assign(document.createElement("span"), {textContent: index});
  at("numbers").replaceChildren(...heights.map((_, index) => number(index)));
  [at("first").textContent, at("second").textContent] = game.names;
  at("count").textContent = `ply ${ply} of ${game.moves.length}`;
  const next = ply < game.moves.length ? `next: column ${game.moves[ply]}. ` : `${game.ending}. `;
  at("said").textContent = next + (judged ? judged.words : "");
}
function step(by) { at("ply").value = Number(at("ply").value) + by; show(); }
at("back").onclick = () => step(-1);
at("on").onclick = () => step(1);
at("ply").oninput = show;
at("game").onchange = () => { at("ply").value = 0; show(); };
onkeydown = event => {
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (by && !["game", "ply"].includes(event.target.id)) step(by);
};
function follow() {
  const [game, ply] = location.hash.slice(1).split(".").map(Number);
  if (!games.length) return;
  at("game").value = game in games ? game : 0;
  show();
  if (ply) { at("ply").value = ply; show(); }
}
onhashchange = follow;
follow();
</script>
"""


def game_entry(record: GameRecord, judged: Sequence[JudgedMove], ending: str) -> dict[str, Any]:
    """What the page shows of a game. ``judged`` may leave moves out."""
    return {
        "title": f"{record.names[0]} v {record.names[1]}: {write_opening(record.moves[:12])}...",
        "names": record.names,
        "rows": record.geometry.rows,
        "columns": record.geometry.columns,
        "moves": record.moves,
        "ending": ending,
        "judged": {
            move.ply: {"scores": move.scores, "words": "" if move.kept_result else move.words()} for move in judged
        },
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
    axes.set_yticks(range(len(names)), [f"{number} {name}" for number, name in enumerate(names, 1)])
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
    for name, by_ply in sorted(times.items()):
        plies = sorted(by_ply)
        axes.plot(plies, [sorted(by_ply[ply])[len(by_ply[ply]) // 2] for ply in plies], marker=".", label=name)
    axes.set(xlabel="ply", ylabel="median seconds a move", yscale="log")
    if times:
        axes.legend(fontsize=8)
    return _svg(figure)


def accuracy_plot(judged: Mapping[str, Sequence[JudgedMove]]) -> str:
    """Share of moves that kept a result not lost yet, by ply in steps of 4, one line an agent, as SVG."""
    figure, axes = new_figure(7, 3.5)
    for name, moves in sorted(judged.items()):
        steps = sorted({move.ply // 4 for move in moves if move.holds})
        found = [accuracy(move for move in moves if move.ply // 4 == step) for step in steps]
        axes.plot([4 * step for step in steps], [f.kept / f.holding for f in found], marker="o", label=name)
    axes.set(xlabel="ply", ylabel="moves that kept the result", ylim=(0, 1.05))
    axes.legend(fontsize=8)
    return _svg(figure)


def ladder_html(ladder: Sequence[Standing]) -> str:
    """The ladder as an HTML table."""
    lines = ["<table><tr>" + "".join(f"<th>{title}</th>" for title in LADDER_TITLES) + "</tr>"]
    for row in ladder_rows(ladder):
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
    return "\n".join([*lines, f'</table><p class="note">{LADDER_NOTE}</p>'])


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
    data = json.dumps(games).replace("<", "\\u003c")  # so that no name can end the script element
    return HEAD + "\n".join(sections) + REPLAYER.replace("@DATA@", data) + "</body></html>\n"
