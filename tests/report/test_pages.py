"""The page of a report in a real browser: what it shows, and that it asks nobody for anything."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from connectx_core.position import STANDARD, Position
from connectx_toolkit.arena.results import Match
from connectx_toolkit.arena.tournament import Tournament
from connectx_toolkit.games.analysis import judge
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.review import Review
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.report.pages import exam_page, game_entry, group_html, replays_page, results_page
from connectx_toolkit.system.table import Table, Told
from tests.arena.test_match import scripted
from tests.conftest import BROWSER, CHROMIUM

pytestmark = [pytest.mark.slow, CHROMIUM]
MOVES = (1, 4, 6, 6, 6, 0, 2, 0, 3, 6, 3, 3, 5, 3, 6, 1, 0, 3, 0, 6, 3, 4, 5, 0, 4, 2, 1, 5, 0, 4)
JUDGED_FROM = 20


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """A page with a ladder of three, two games, and exact scores from ply 20 on."""
    names = [("leftmost", "middle"), ("middle", "random"), ("leftmost", "random")]
    games = [{n: scripted(n, score) for n, score in enumerate([1, 0, 0.5, 0, 1, 1, 0, 0.5])} for _ in names]
    matches = [Match(resolve(a), resolve(b), g) for (a, b), g in zip(names, games, strict=True)]
    tournament = Tournament(matches, names)
    record = Game(STANDARD, MOVES, ("left <b>most</b>", "middle"))
    judged = judge(replace(record, opening=JUDGED_FROM))
    entries = [game_entry(Review(record, moves, theme="step limit")) for moves in (judged, [])]
    path = tmp_path_factory.mktemp("page") / "report.html"
    sections = group_html("Board <one>", tournament, tournament.ladder("random"), "random", {"middle": judged}, 1)
    path.write_text(results_page(sections, entries), encoding="utf-8")
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
    assert len(re.findall(r'<svg xmlns="[^"]*" class="chart"', text)) == 3 and len(re.findall(r"<tr>", text)) == 8
    assert len(re.findall(r'<td class="number" style="background', text)) == 3 * 2 + 3 * 2  # by seat, and against each
    stones = re.findall(r'class="cx-stone cx-p(\d)', text)
    assert stones.count("1") == 11 and stones.count("2") == 10
    assert len(re.findall(r'class="cx-last"', text)) == 1
    assert re.findall(r'class="cx-move[^"]*" data-ply="(\d+)"[^>]*aria-current', text) == ["21"]
    chips = re.findall(r'<div class="cx-chip (cx-win|cx-draw|cx-loss)( cx-best)?', text)
    open_columns = Position.from_moves(MOVES[:21], STANDARD).legal_columns()
    assert len(chips) == len(open_columns) and any(best for _, best in chips)
    assert "left &lt;b&gt;most&lt;/b&gt;" in text and f"move 21 of {len(MOVES)}" in text


def test_the_board_needs_no_scrolling(report, tmp_path):
    """On a laptop, below a summary of seven lines. What is said of a column that has no room there is not shown."""
    record = Game(STANDARD, MOVES, ("me", "middle"), measured=(0.5,) * len(MOVES))
    lines = ["A sentence as long as those of a summary of games."] * 7
    review = Review(record, judge(replace(record, opening=JUDGED_FROM)), 0)
    exam = exam_page("Exam", lines, [], Table("", ["agent"], [("me",)]), [game_entry(review) | {"ply": 21}])
    pages = [report, tmp_path / "replays.html", tmp_path / "exam.html"]
    for path, text in zip(pages[1:], (replays_page("me", [review], lines, []), exam), strict=True):
        path.write_text(text, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for path in pages:
            page.goto(path.as_uri())
            box = page.locator(".cx-field").bounding_box()
            assert box and box["y"] + box["height"] < 900, path.name
            if path.stem == "replays":
                legend = page.locator("#list .note").inner_text()
                assert "slowest: " in legend and "first mistake: " not in legend
        browser.close()


def test_ladders_legends_and_keys(tmp_path):
    """A laptop shows all columns of a ladder, a phone what lines of a chart are; ? lists the page's own keys, too."""
    long = "my_agent_with_a_long_name.py"
    games = {n: scripted(n, score) for n, score in enumerate([1, 0, 0.5, 0, 1, 1, 0, 0.5])}
    tournament = Tournament([Match(resolve("middle"), resolve("random"), games)], [(long, "random")])
    review = Review(Game(STANDARD, MOVES, ("me", "middle")), judge(Game(STANDARD, MOVES, opening=JUDGED_FROM)), 0)
    ladder, replays = tmp_path / "ladder.html", tmp_path / "replays.html"
    sections = group_html("Board", tournament, tournament.ladder("random"), "random", {}, 1)
    ladder.write_text(results_page(sections, [game_entry(review)]), encoding="utf-8")
    replays.write_text(replays_page("me", [review], [], []), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(ladder.as_uri())
        assert page.locator(".wide").first.evaluate("each => each.scrollWidth <= each.clientWidth")
        page.set_viewport_size({"width": 375, "height": 667})
        legend = page.locator(".chart").last.get_by_text(long, exact=True).bounding_box()
        assert legend and legend["x"] + legend["width"] < 375
        page.goto(replays.as_uri())
        page.keyboard.press("?")
        keys = page.get_by_role("dialog").locator("dt").all_inner_texts()
        browser.close()
    assert {"".join(key.split()) for key in keys} >= {"←→", "NP", "T", "↑↓", "M"}


def test_in_a_notebook_text_is_left_and_numbers_are_right(tmp_path):
    """Where JupyterLab's style sheet sets all cells to the right, and breaks words."""
    jupyter = ".jp :is(tr, th, td) { text-align: right; } .jp pre { word-break: break-all; font-family: serif; }"
    told = Told([Table("games", ["agent", "points"], [("me", 3)]), "a line"])._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f'<style>{jupyter}</style><div class="jp">{told}</div>', encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(path.as_uri())
        style = "(all, name) => all.map(it => getComputedStyle(it)[name])"
        assert page.locator("th, td").evaluate_all(style, "textAlign") == ["left", "right"] * 2
        assert page.locator("pre").evaluate_all(style, "wordBreak") == ["normal"]
        browser.close()


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
