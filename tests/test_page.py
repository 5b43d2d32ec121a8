"""The page of a report in a real browser: what it shows, and that it asks nobody for anything."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from arena.players.loading import resolve
from arena.reporting.page import game_entry, group_html, page
from arena.results.exact_analysis import judge_in_time
from arena.results.match import Match
from arena.results.records import GameRecord
from arena.results.tournament import Tournament
from connectx.geometry import STANDARD
from connectx.position import Position
from tests.test_match import scripted

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium: apt-get install chromium")
MOVES = (1, 4, 6, 6, 6, 0, 2, 0, 3, 6, 3, 3, 5, 3, 6, 1, 0, 3, 0, 6, 3, 4, 5, 0, 4, 2, 1, 5, 0, 4)
JUDGED_FROM = 20


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """A page with a ladder of three, two games, and exact scores from ply 20 on."""
    names = [("leftmost", "middle"), ("middle", "random"), ("leftmost", "random")]
    games = [{n: scripted(n, score) for n, score in enumerate([1, 0, 0.5, 0, 1, 1, 0, 0.5])} for _ in names]
    matches = [Match(resolve(a), resolve(b), 60.0, g) for (a, b), g in zip(names, games, strict=True)]
    tournament = Tournament(matches, names)
    record = GameRecord(STANDARD, ("left <b>most</b>", "middle"), MOVES)
    judged = judge_in_time(record, JUDGED_FROM)
    entries = [game_entry(record, judged, "step limit"), game_entry(record, [], "step limit")]
    path = tmp_path_factory.mktemp("page") / "report.html"
    sections = group_html("Board <one>", tournament, tournament.ladder("random"), {"middle": judged})
    path.write_text(page(sections, entries), encoding="utf-8")
    return path


def browse(address: str, folder: Path, *options: str) -> str:
    """What chromium writes to standard output for a page that it shows without a screen."""
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += [f"--user-data-dir={folder / 'profile'}", "--window-size=1100,2600", "--hide-scrollbars"]
    done = subprocess.run([*command, *options, address], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_what_the_page_shows(report, tmp_path):
    """At ply 21 of the first game: its stones, the exact scores, the names as they are written."""
    text = browse(f"{report.as_uri()}#0.21", tmp_path, "--dump-dom")
    assert len(re.findall(r"<svg", text)) == 4 and len(re.findall(r"<tr>", text)) == 4
    cells = re.findall(r'<div class="([^"]*)"', text[text.index('id="board"') : text.index('id="numbers"')])[:42]
    assert sum(c.startswith("p1") for c in cells) == 11 and sum(c.startswith("p2") for c in cells) == 10
    assert [c for c in cells if "last" in c] == ["p1 last"]
    scores = re.findall(r"<span[^>]*>(-?\d*)</span>", text[text.index('id="scores"') : text.index('id="board"')])
    assert len(scores) == 7 and any(scores)
    assert "left &lt;b&gt;most&lt;/b&gt;" in text and f"ply 21 of {len(MOVES)}" in text
    assert f"next: column {MOVES[21]}" in text


COLOURS = {(255, 255, 255): 0, (232, 196, 0): 1, (208, 48, 48): 2}  # of an empty cell and of either side's stones
PADDING, PITCH, CELL = 6, 47, 44  # pixels: of the board's rim, from cell to cell, and of a cell


def board_shown(picture: np.ndarray) -> tuple[int, int]:
    """The top left corner of the board: where its blue rim is as wide as seven columns."""
    blue = (np.abs(picture - (36, 87, 168)).max(axis=2) <= 6).astype(int)
    width = 2 * PADDING + 7 * PITCH - (PITCH - CELL)
    runs = np.cumsum(np.pad(blue, ((0, 0), (1, 0))), axis=1)
    inner = runs[:, width - 16 :] - runs[:, : -(width - 16)]  # the rim's corners are round
    top, left = np.argwhere(inner == width - 16)[0]
    return int(top), int(left) - 8


def test_what_it_looks_like(report, tmp_path):
    """In the picture, each of the 42 cells has the colour of the stone that stands there; above the board are plots."""
    target = tmp_path / "shot.png"
    browse(f"{report.as_uri()}#0.21", tmp_path, f"--screenshot={target}")
    picture = (imread(target)[:, :, :3] * 255).round().astype(int)
    assert picture.shape == (2600, 1100, 3)
    top, left = board_shown(picture)
    centres = [PADDING + CELL // 2 + PITCH * number for number in range(7)]
    cells = [tuple(picture[top + y, left + x].tolist()) for y in centres[:6] for x in centres]
    assert [COLOURS.get(cell) for cell in cells] == Position.from_moves(MOVES[:21], STANDARD).to_board()
    assert (np.abs(picture[:top] - (36, 87, 168)).max(axis=2) <= 6).sum() > 500  # the dots and bars of the ladder


def requested(report: Path, folder: Path) -> set[str]:
    """The addresses beyond this machine that a page asked for; what the browser asks for of its own is left out."""
    log = folder / "net.json"
    folder.mkdir()
    browse(f"{report.as_uri()}#0.21", folder, f"--log-net-log={log}", "--dump-dom", "--virtual-time-budget=3000")
    events = [event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"]]
    started = [event for event in events if "initiator" in event and event["initiator"] != "not an origin"]
    return {event["url"] for event in started if not event["url"].startswith(("file:", "data:"))}


def test_no_request_leaves(report, tmp_path):
    """The browser's own log of the network; without our content security policy, an image does show up there."""
    image = "http://192.0.2.1/pixel.png"  # an address that RFC 5737 keeps for documentation
    text = report.read_text(encoding="utf-8").replace("</body>", f'<img src="{image}"></body>')
    guarded, open_page = tmp_path / "guarded.html", tmp_path / "open.html"
    guarded.write_text(text, encoding="utf-8")
    open_page.write_text(
        re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", text, flags=re.S), encoding="utf-8"
    )
    found = [requested(path, tmp_path / path.stem) for path in (report, guarded, open_page)]
    assert found == [set(), set(), {image}]
