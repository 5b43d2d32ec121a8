"""The board in a real browser, driven by clicks and keys, with the server and the agents that it has for its users."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from kaggle_environments import make
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from connectx_core.position import STANDARD, Position
from connectx_toolkit.board.widget import Board
from connectx_toolkit.games.analysis import JudgedMove, mistakes
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.page import style
from connectx_toolkit.system.files import ROOT
from tests.conftest import BROWSER, CHROMIUM, start_interruptible
from tests.games.test_database import played

pytestmark = [pytest.mark.slow, CHROMIUM]
GAME = "362133214545441233165554311450066"  # that of the README
LARGE = "rows=10,columns=10"  # more than the solver can hold: nothing is compiled
WAIT = 20.0  # seconds: the solver compiles on a busy machine


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen]]:
    """The board's address and its process. ``folder``: where it runs."""
    command = [sys.executable, str(ROOT / "evaluate.py"), "board", "--no-browser", *options]
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    with start_interruptible(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1], process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=20)
            finally:
                process.kill()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("served")) as (url, _):
        yield url


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    """One browser for all tests. When it ends, its own log of the network names no other machine."""
    log = tmp_path_factory.mktemp("browser") / "net.json"
    with sync_playwright() as playwright:
        arguments = [
            "--no-sandbox",
            f"--log-net-log={log}",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        ]
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=arguments)
        yield chromium
        chromium.close()
    events = [event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"]]
    asked = {
        event["url"] for event in events if "url" in event and event.get("initiator") not in (None, "not an origin")
    }
    assert asked and not {
        url for url in asked if not re.match(r"(http|ws)://127\.0\.0\.1:|file:|data:|blob:|about:", url)
    }


@pytest.fixture(scope="module")
def context(browser) -> BrowserContext:
    return browser.new_context(viewport={"width": 900, "height": 700}, reduced_motion="reduce")


@pytest.fixture(scope="module")
def tab(context) -> tuple[Page, list[str]]:
    """A tab, and what its pages have thrown."""
    page, problems = context.new_page(), []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.set_default_timeout(1000 * WAIT)
    return page, problems


@pytest.fixture
def page(tab, address) -> Iterator[Page]:
    """The board as it is when it is opened, in the one tab that most tests share: a new one takes half a second."""
    page, problems = tab
    page.goto(address)
    until(page, "window.board?.welcomed")
    yield page
    page.evaluate("sessionStorage.clear(), delete board.options.storage")
    assert problems == []


@pytest.fixture
def open_page(context) -> Iterator[Callable[[str], Page]]:
    """Opens tabs, each of which has connected; afterwards none has thrown anything."""
    pages, problems = [], []

    def open_one(url: str) -> Page:
        page = context.new_page()
        pages.append(page)
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.set_default_timeout(1000 * WAIT)
        page.goto(url)
        until(page, "window.board?.welcomed")
        return page

    yield open_one
    for page in pages:
        page.close()
    assert problems == []


def until(page: Page, condition: str, seconds: float = WAIT) -> None:
    """Waits for an expression to be true. (Playwright's own way needs eval in the page, which its policy refuses.)"""
    deadline = time.monotonic() + seconds
    while not page.evaluate(f"Boolean({condition})"):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(15)


def column(page: Page, number: int):
    """The button of a column, counted from 0."""
    return page.locator(f".cx-column[data-column='{number}']")


def moves(page: Page) -> list[int]:
    return page.evaluate("board.game.moves")


def stones(page: Page) -> list[int]:
    """By column, as the drawing has them."""
    return page.evaluate("Array.from(document.querySelectorAll('.cx-column'), each => Number(each.dataset.stones))")


def sit(page: Page, seat: int, name: str) -> None:
    page.locator(".cx-who").nth(seat).select_option(name)


def sit_file(page: Page, seat: int, path: Path) -> None:
    page.locator(".cx-who").nth(seat).select_option(label="file or other agent …")
    page.get_by_placeholder("my_agent.py").fill(str(path))
    page.get_by_role("button", name="Play", exact=True).click()
    until(page, f"board.seats[{seat}] === {json.dumps(str(path))}")


def load_columns(page: Page, columns: str) -> None:
    page.keyboard.press("l")
    page.locator("dialog textarea").fill(columns)
    page.get_by_role("button", name="Load", exact=True).last.click()
    until(page, f"board.game.moves.join('') === '{columns}'")


def new_board(page: Page, sizes: dict[str, int]) -> None:
    page.keyboard.press("n")
    window = page.get_by_role("dialog")
    for label, size in sizes.items():
        window.get_by_label(label, exact=True).fill(str(size))
    window.get_by_role("button", name="Start").click()


def verdict(page: Page):
    return page.locator(".cx-verdict")


def test_a_game_is_won_by_clicking_hints(page):
    """Against the agent that fills the leftmost column; scores are off, so that hints are all there is."""
    page.get_by_role("button", name="Off", exact=True).click()
    sit(page, 1, "leftmost")
    while not page.evaluate("board.game.isOver"):
        before = len(moves(page))
        page.get_by_role("button", name="Hint").click()
        hinted = page.locator(".cx-column.cx-hint")
        expect(hinted.first).to_be_visible()
        hinted.first.click()
        until(page, f"board.game.isOver || board.game.moves.length === {before + 2}")
    expect(verdict(page)).to_contain_text("Yellow wins")
    assert page.locator(".cx-won").count() >= 4
    assert Position.from_moves(moves(page), STANDARD).is_lost() and len(moves(page)) % 2 == 1


def test_undo_goes_back_to_ones_own_turn(page):
    sit(page, 1, "leftmost")
    column(page, 3).click()
    until(page, "board.game.moves.length === 2")
    column(page, 4).click()
    until(page, "board.game.moves.length === 4")
    page.get_by_role("button", name="Undo").click()
    assert stones(page) == [1, 0, 0, 1, 0, 0, 0]
    page.keyboard.press("u")
    assert sum(stones(page)) == 0
    page.keyboard.press("r")
    page.keyboard.press("r")
    assert stones(page) == [2, 0, 0, 1, 1, 0, 0]
    page.keyboard.press("u")
    page.keyboard.press("5")
    until(page, "board.game.moves.length === 4")
    assert moves(page) == [3, 0, 5, 0]


def test_keys_and_labels_are_enough(page):
    """A game of two without a pointer, told to a screen reader, and the address of the game on the clipboard's way."""
    for key in "3344":
        page.keyboard.press(key)
    assert moves(page) == [3, 3, 4, 4]
    assert column(page, 3).get_attribute("aria-label").endswith("Yellow Red")
    column(page, 5).focus()
    page.keyboard.press("Enter")
    assert moves(page) == [3, 3, 4, 4, 5]
    expect(verdict(page)).to_contain_text("Yellow plays column 5.")
    page.keyboard.press("Home")
    assert sum(stones(page)) == 0
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert sum(stones(page)) == 4
    page.keyboard.press("f")
    expect(column(page, 3)).to_have_attribute("aria-label", re.compile("Red Yellow$"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("undo")
    page.keyboard.press("3")  # a window is open: it is not meant for the board
    page.reload()  # the game outlasts it
    until(page, "window.board?.welcomed")
    assert len(moves(page)) == 5 and sum(stones(page)) == 4


def drop(page: Page, name: str, text: str) -> None:
    page.evaluate(
        """([name, text]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], name, {type: "application/json"}));
            document.getElementById("board").dispatchEvent(
                new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        [name, text],
    )


def test_a_replay_is_dropped_in(page):
    """The moves and the names are those of the replay, and the last move of a lost game can be reached."""
    environment = make("connectx", info={"TeamNames": ["one <b>", "two"]})
    environment.run(["random", "random"])
    drop(page, "episode.json", json.dumps(environment.toJSON()))
    played = [step[ply % 2].action for ply, step in enumerate(environment.steps[1:])]
    until(page, f"board.game.moves.length === {len(played)}")
    assert moves(page) == played
    assert page.locator(".cx-who option:checked").all_text_contents() == ["one <b>", "two"]
    page.keyboard.press("End")
    assert sum(stones(page)) == len(played)
    drop(page, "other.json", '{"name": "chess"}')
    expect(page.locator(".cx-notice")).to_have_text("other.json is not a ConnectX replay: it is of 'chess'")


def test_a_game_is_judged(page):
    """The README's game: its scores, the mistakes that ``analyse`` finds, the graph, and a click on it."""
    load_columns(page, GAME)
    until(page, "board.game.positions.slice(0, -1).every(each => board.values.get("
                           "`6x7x4:${each.cells}`)?.done)", 60)  # fmt: skip
    marked = page.locator(".cx-move.cx-lost1, .cx-move.cx-lost2")
    plies = [int(each.get_attribute("data-ply")) - 1 for each in marked.all()]
    assert plies == mistakes_by(page)
    page.keyboard.press("m")
    assert page.evaluate("board.game.cursor") == plies[0]
    expect(verdict(page)).to_contain_text(re.compile(r"(Yellow|Red) plays column \d and gives away a (win|draw): "))
    assert page.locator(".cx-wrong").count() == 1 == page.locator(".cx-chip.cx-played").count()
    best = page.evaluate("board.mistakeHere(board.movesMade()).verdict.best")
    assert page.locator(".cx-right").count() == len(best) and best
    page.keyboard.press("ArrowRight")
    expect(verdict(page)).to_contain_text("gives away a ")
    box = page.locator(".cx-graph").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 20.2 / len(GAME), box["y"] + 40)
    assert page.evaluate("board.game.cursor") == 20
    page.keyboard.press("o")
    page.keyboard.press("o")
    assert page.locator(".cx-chip.cx-win, .cx-chip.cx-loss").count() == 0


def mistakes_by(page: Page) -> list[int]:
    """The plies of the mistakes, by the scores that the page was told and the toolkit's own judgement of them."""
    told = page.evaluate(
        "board.game.positions.slice(0, -1).map(each => board.values.get(`6x7x4:${each.cells}`).values)"
    )
    scores = [tuple(None if value is None else value[0] for value in values) for values in told]
    judged = [JudgedMove(ply, played, scores[ply]) for ply, played in enumerate(moves(page))]
    return [move.ply for move in mistakes(judged)]


def test_misbehaving_agents_lose(page, tmp_path):
    """One that hangs is ended at its clock; what crashes, raises or plays no column loses at once, with the reason."""
    bodies = {
        "hangs": ("__import__('time').sleep(99)", "hang: killed after"),
        "crashes": ("import os; os._exit(3)", "crash: exit code 3"),
        "raises": ("raise KeyError('x')", "exception: KeyError: 'x'"),
        "illegal": ("return 99", "no such column: returned 99"),
    }
    page.keyboard.press("n")
    page.get_by_label("seconds a move").fill("0.3")
    page.get_by_label("overage seconds").fill("0.5")
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    for name, (body, reason) in bodies.items():
        path = tmp_path / f"{name}.py"
        path.write_text(f"def agent(obs, config):\n    {body}\n")
        sit_file(page, 1, path)
        column(page, 3).click()
        expect(verdict(page)).to_contain_text(reason)
        expect(verdict(page)).to_contain_text("Yellow wins")
        page.get_by_role("button", name="Undo").click()
    sit(page, 1, "leftmost")  # the board is as good as new
    column(page, 3).click()
    until(page, "board.game.moves.length === 2")


def test_an_agents_turn_is_the_agents(page, tmp_path):
    """While it hangs, keys and clicks are answered in words, a hint does not answer for it, and undo ends the wait."""
    path = tmp_path / "hangs.py"
    path.write_text("import time\n\n\ndef agent(obs, config):\n    time.sleep(99)\n")
    sit_file(page, 1, path)
    column(page, 3).click()
    until(page, "board.asking?.state === 'thinking'")
    expect(page.locator(".cx-seat.cx-thinking .cx-overage")).to_contain_text(
        re.compile(r"^\d\.\d s \(2 s a move, \d+\.\d s overage left\)$")
    )
    page.keyboard.press("h")
    expect(page.locator(".cx-notice")).to_contain_text("Hints are for your turn. It is Red (")
    assert page.locator(".cx-column.cx-hint").count() == 0
    page.keyboard.press("5")
    expect(page.locator(".cx-notice")).to_have_text(f"It is Red ({path})'s turn.")
    assert moves(page) == [3]
    page.keyboard.press("u")
    assert stones(page) == [0] * 7
    sit(page, 1, "leftmost")
    column(page, 2).click()
    until(page, "board.game.moves.length === 2")


def test_a_link_shows_the_position(page, open_page, address):
    """In another tab, pasted into the address, or into Load; a bad one is told and changes nothing."""
    for key in "3344":
        page.keyboard.press(key)
    page.keyboard.press("ArrowLeft")
    link = page.evaluate("location.href")
    assert link == f"{address}#6x7x4//3,3,4,4/3"
    other = open_page(link)
    assert moves(other) == [3, 3, 4, 4] and sum(stones(other)) == 3
    other.evaluate("location.hash = '4x4x3/0000000000001200/3/1'")
    until(other, "board.game.moves.length === 1")
    assert stones(other) == [1, 1, 0, 1]
    other.keyboard.press("l")
    other.locator("textarea").fill(f"http://another.machine/{link[link.index('#') :]}")
    other.get_by_role("button", name="Load", exact=True).last.click()
    until(other, "board.game.moves.length === 4 && board.game.cursor === 3")
    other.evaluate("location.hash = '4x4x3/0000000000001200/3/1'")
    until(other, "board.game.moves.length === 1")
    floating = "6x7x4/1" + "0" * 41 + "//0"
    for bad in ("nonsense", "64x65x4//3/1", "6x7x4//9/1", "9999999x9999999x4///0", "4x4x3/0000000000002200//0",
                floating, "6x7x4//0,,3/0", "6x7x4//,,/0"):  # fmt: skip
        other.evaluate("hash => { location.hash = hash; }", bad)
        expect(other.locator(".cx-notice").first).to_contain_text("Cannot open the link")
        assert stones(other) == [1, 1, 0, 1]
        other.evaluate("board.say('')")


def test_a_server_that_was_killed_and_started_again(open_page, tmp_path):
    """The page goes on without an agent, and where its link is loaded with the agent, at another address."""
    options = ("leftmost", "--config", LARGE)
    with served(tmp_path, *options) as (url, process):
        page = open_page(url)
        column(page, 5).click()
        until(page, "board.game.moves.length === 2")
        process.kill()
        process.wait()
        expect(page.locator(".cx-working")).to_contain_text("Connection lost")
        column(page, 6).click()
        assert stones(page)[6] == 1
        link = page.evaluate("location.href")
        with served(tmp_path, *options) as (again, _):
            assert again.split("/")[3] != url.split("/")[3]
            page = open_page(again)
            page.keyboard.press("l")
            page.locator("dialog textarea").fill(link)
            page.get_by_role("button", name="Load", exact=True).last.click()
            until(page, "board.game.moves.length === 4")
            assert moves(page) == [5, 0, 6, 0]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("", {}, 200),
        ("board.css", {}, 200),
        ("../", {}, 404),
        ("wrong/", {}, 404),
        ("../../evaluate.py", {}, 404),
        ("", {"Origin": "http://example.org"}, 403),
        ("", {"Origin": "null"}, 403),
        ("socket", {"Origin": "http://127.0.0.1:1"}, 403),
        ("", {"Host": "example.org"}, 403),
    ],
)
def test_who_is_served(address, path, headers, status):
    root = address.replace(address.split("/")[3], "x" * 32) if path == "wrong/" else address
    request = urllib.request.Request(root + path.removeprefix("wrong/"), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            found, policy = answer.status, answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
    except urllib.error.HTTPError as refusal:
        found = refusal.code
    assert found == status


def test_two_agents_are_watched(page):
    """At the chosen pace, stopped and let go on by a key, to the end."""
    new_board(page, {"rows": 4, "columns": 4, "in a row": 3})
    page.get_by_role("button", name="Off", exact=True).click()
    sit(page, 0, "middle")
    sit(page, 1, "leftmost")
    until(page, "board.game.moves.length >= 1")
    page.evaluate("document.activeElement.blur()")  # a button that has the focus would be pressed
    page.keyboard.press("Space")
    page.wait_for_timeout(700)  # longer than the pace of 0.5 s: an answer that was on its way is there
    seen = len(moves(page))
    page.wait_for_timeout(700)
    assert len(moves(page)) == seen
    page.get_by_label("pause between moves").select_option("none")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    until(page, "board.game.isOver")
    assert page.locator(".cx-move small").count() == len(moves(page))  # the seconds of each


def test_a_position_is_set_up_by_clicks(page):
    page.keyboard.press("s")
    page.get_by_role("button", name="Red", exact=True).click()
    column(page, 0).click()
    expect(verdict(page)).to_contain_text("the second player has 1 too many")
    expect(page.get_by_role("button", name="Done")).to_be_disabled()
    page.get_by_role("button", name="Yellow", exact=True).click()
    for _ in range(3):
        column(page, 6).click()
    page.get_by_role("button", name="Remove").click()
    column(page, 6).click()
    page.get_by_role("button", name="Done").click()
    assert stones(page) == [1, 0, 0, 0, 0, 0, 2]
    column(page, 0).click()
    assert page.evaluate("board.game.shown.cells").count("2") == 2  # with three stones, the second side was to move


# What fits, and where


@pytest.mark.parametrize("size", [(1280, 800), (375, 667), (667, 375)], ids=str)
def test_buttons_stay_where_they_are(page, size):
    """Whatever is said and however long the list of moves gets; and a phone on its side shows the whole board."""
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    sit(page, 1, "leftmost")
    tops = set()
    for key in ("", "3", "h", "3", "2", "2", "u"):
        if key:
            page.keyboard.press(key)
            until(page, "!board.asking")
        tops.add(tuple(page.get_by_role("button", name=name).bounding_box()["y"] for name in ("Undo", "Hint")))
    below = page.evaluate("document.querySelector('.cx-numbers').getBoundingClientRect().bottom")
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 900, "height": 700})
    assert len(tops) == 1 and wide == size[0] and below <= max(size[1], 600)


def test_numbers_of_a_wide_board_do_not_overlap(page):
    new_board(page, {"rows": 64, "columns": 64, "in a row": 4})
    page.set_viewport_size({"width": 375, "height": 667})
    edges = page.locator(".cx-numbers span").evaluate_all("""all => all.filter(each => each.textContent).map(each => {
        const range = document.createRange();
        range.selectNodeContents(each);
        const {left, right} = range.getBoundingClientRect();
        return [left, right];
    })""")
    page.set_viewport_size({"width": 900, "height": 700})
    assert len(edges) == 13 and all(right < left for (_, right), (left, _) in pairwise(edges))


# Columns from 1, and what is loaded


def test_columns_from_1_in_every_door(page):
    """Below the board, by keys, in what is loaded and copied, and in the words about it."""
    page.get_by_label("count columns from").select_option("from 1")
    page.keyboard.press("l")
    window = page.get_by_role("dialog")
    expect(window).to_contain_text("columns counted from 1")
    for text, expected in (("471", [3, 6, 0]), ("[1, 7]", [0, 6])):
        window.locator("textarea").fill(text)
        window.get_by_role("button", name="Load", exact=True).click()
        until(page, f"board.game.moves.join() === '{','.join(map(str, expected))}'")
        expect(page.locator("dialog")).to_have_count(0)  # until it is gone, keys are its own
        page.keyboard.press("l")
    window.locator("textarea").fill("470")
    window.get_by_role("button", name="Load", exact=True).click()
    expect(window.get_by_role("alert")).to_contain_text("0")
    assert "--" not in window.get_by_role("alert").inner_text()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("c")
    expect(page.locator(".cx-notice")).to_contain_text(re.compile("counted from 1: 17$"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text(
        "Columns are counted from 1 here, also in moves that you load or copy."
    )


# In a notebook


def test_the_board_of_a_notebook(context):
    """The widget's own module in a page, its messages carried to the widget and back as the kernel does."""
    widget = Board("leftmost", config={"rows": 10, "columns": 10})
    assert widget._session is not None
    page = context.new_page()
    waiting: list[dict] = []
    widget.send = lambda message, buffers=None: waiting.append(message)
    widget._session._send = widget.send
    page.expose_function("toKernel", widget._session.receive)
    page.set_content("<div id='output'></div>")
    page.add_style_tag(content=style())
    page.evaluate(
        """source => {
            window.model = {
                listeners: [], kept: {moves: []}, on(name, each) { this.listeners.push(each); }, off() {},
                send: message => toKernel(message), get(name) { return this.kept[name]; },
                set(name, value) { this.kept[name] = value; }, save_changes() {},
            };
            const address = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
            return import(address).then(found => found.default.render({model, el: document.getElementById("output")}));
        }""",
        widget._esm if isinstance(widget._esm, str) else str(widget._esm),
    )

    def carry_until(condition: str) -> None:
        deadline = time.monotonic() + 20
        while not page.evaluate(condition):
            assert time.monotonic() < deadline, condition
            while waiting:
                page.evaluate("message => model.listeners.forEach(each => each(message))", waiting.pop(0))
            page.wait_for_timeout(20)

    carry_until("document.querySelectorAll('.cx-column').length === 10")
    column(page, 7).click()
    carry_until("model.kept.moves.length === 2")
    assert page.evaluate("model.kept.moves") == [7, 0]
    widget.close()


def test_what_was_played_here(open_page, tmp_path):
    """A file of games lists the moves of the position that is shown, and follows the game."""
    with GameDatabase(tmp_path / "games.sqlite") as database:
        database.add([played((3, 2, 3), episode=1), played((3, 4), episode=2), played((0, 0), episode=3)])
    with served(tmp_path, "--games", str(database.path)) as (url, _):
        page = open_page(url)
        rows = page.locator(".cx-played-here tr")
        expect(rows).to_have_count(3)
        expect(rows.nth(1)).to_contain_text("my_team 2")
        rows.nth(1).click()
        assert moves(page) == [3]
        expect(rows.nth(1)).to_contain_text("2 or 4")
        rows.nth(1).get_by_role("button").press("Enter")
        assert moves(page) == [3, 2]
        page.keyboard.press("3")
        expect(page.locator(".cx-played-here")).to_have_text("No game went on from here.")
        page.evaluate("void (board.asked = [], board.host.send = message => board.asked.push(message.type))")
        for key in ("0", "1", "ArrowLeft"):  # of questions that wait only the last is answered: they are asked again
            page.keyboard.press(key)
        assert page.evaluate("board.asked.filter(type => type === 'explore').length") == 3


def test_positions_of_a_file_are_practised(open_page, tmp_path):
    """A file as exam --write-mistakes writes it: a win in 1, then a loss to stop; T goes on, and begins again."""
    (tmp_path / "mistakes.txt").write_text("# mistakes\n030303  # leftmost: a win in 1 missed\n03030  # the same\n")
    with served(tmp_path, "--practise", "mistakes.txt") as (url, _):
        page = open_page(url)
        expect(verdict(page)).to_contain_text("Practise 1 of 2: Yellow to move. Which column")
        until(page, "board.lookUp(board.game.shown)")  # solved before the answer, so that it can be asked which wins
        assert page.locator(".cx-chip.cx-best").count() == 0  # the scores do not tell it
        column(page, 5).click()
        expect(verdict(page)).to_contain_text("Wrong: column 5")
        expect(verdict(page)).to_contain_text("Best: column 0 (wins in 1 ply)")
        page.get_by_role("button", name="Practise").click()
        expect(verdict(page)).to_contain_text("Practise 2 of 2: Red to move")
        page.keyboard.press("0")
        expect(verdict(page)).to_contain_text("Right: column 0")
        page.keyboard.press("t")
        expect(verdict(page)).to_contain_text("Practise 1 of 2: Yellow to move")
        assert sum(stones(page)) == 6
