"""Reports from stored games alone: groups, tables, the page and what it must not contain."""

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest

from connectx_core.position import STANDARD, geometry_of
from connectx_toolkit.arena.store import MatchStore
from connectx_toolkit.games.analysis import judge
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.groups import group_games, groups, latest_of
from connectx_toolkit.games.reader import parse_game
from connectx_toolkit.games.review import Review
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.report.pages import game_entry, results_page
from connectx_toolkit.report.tables import moves_table
from tests.arena.test_match import play
from tests.conftest import evaluate as main
from tests.games.test_analysis import judged as judged_slowly

pytestmark = pytest.mark.slow
SMALL = Setup(Rules({"rows": 4, "columns": 3, "inarow": 3}), "fast", isolate=False)


class Elements(HTMLParser):
    """Collects tags, the attributes that could fetch something, and the text of the data element."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.data = ""
        self._in_data = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._in_data = ("id", "data") in attrs
        self.references += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "action", "data")
        ]

    def handle_endtag(self, tag):
        self._in_data = False

    def handle_data(self, data):
        if self._in_data:
            self.data += data


def play_into(store: MatchStore, first: str, second: str, setup: Setup, pairs: int, openings=((),)) -> None:
    specs = resolve(first), resolve(second)
    match = store.match_id(*specs, setup, openings, 1, "the empty board" if openings == ((),) else "mine.txt")

    def add(task: Task, game: Game) -> None:
        store.add_played(match, task, game)

    play(*specs, setup, openings, pairs, on_game=add)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A store with two matches on a small board and one on the standard board."""
    path = tmp_path_factory.mktemp("report") / "store"
    with MatchStore(path) as store:
        play_into(store, "one_step", "leftmost", SMALL, 4)
        play_into(store, "leftmost", "random", SMALL, 4)
        play_into(store, "leftmost", "random", Setup(Rules(), "fast", isolate=False), 4)
    return path


def test_agents_of_one_name_are_told_apart_by_content(tmp_path):
    agent = tmp_path / "agent.py"
    with MatchStore(tmp_path / "store") as store:
        for column in (0, 1):
            agent.write_text(f"def agent(obs, config):\n    return {column}\n")
            play_into(store, str(agent), "leftmost", SMALL, 1)
        (matches,) = groups(store).values()
    names = [match.agents[0].label for match in matches]
    assert [match.games[0].names[0] for match in matches] == names
    assert names[0] != names[1] and all(re.fullmatch(re.escape(str(agent)) + " [0-9a-f]{6}", name) for name in names)


def test_matches_with_other_openings_are_groups_of_their_own(tmp_path):
    """What an agent scores from chosen openings is not pooled with what it scores from the empty board."""
    with MatchStore(tmp_path / "store") as store:
        for pairs, openings in ((2, ((),)), (3, ((1,), (0,)))):
            play_into(store, "one_step", "leftmost", SMALL, pairs, openings)
        titles = {title: len(group_games(matches)) for title, matches in groups(store).items()}
    board = "3x4, 3 in a row, 60 s overage time, openings: "
    assert titles == {f"{board}the empty board": 4, f"{board}mine.txt": 6}


def test_report_command(path, capsys):
    target = path.parent / "report.html"
    main(["report", "--games", str(path), "--html", str(target), "--judge", "--latest", "5"])
    out = capsys.readouterr().out
    assert out.count("Elo, random = 0") == 2 and "one_step" in out
    assert {*re.findall(r"of the Elo above (\w+)", target.read_text(encoding="utf-8"))} == {"random"}
    elements = Elements(target.read_text(encoding="utf-8"))
    assert elements.tags.count("table") == 4 and elements.tags.count("svg") == 6
    assert {"h1", "h2", "select"} <= set(elements.tags)
    assert len(json.loads(elements.data)) == 10
    assert list(path.parent.glob("*.partial")) == []


@pytest.mark.parametrize(("count", "expected"), [(1, [1, 1]), (5, [3, 2]), (99, [8, 8])])
def test_a_page_has_games_of_every_two_agents(path, count, expected):
    """The latest ones, in order; of the last match alone, the chart of accuracies would leave an agent out."""
    with GameDatabase(path, create=False) as database:
        group = next(matches for matches in groups(database).values() if len(matches) == 2)
    games, latest = group_games(group), latest_of(group, count)
    names = [{*game.names} for game in latest]
    assert [names.count(two) for two in ({"one_step", "leftmost"}, {"leftmost", "random"})] == expected
    assert latest == games[8 - expected[0] : 8] + games[16 - expected[1] :]


def test_games_on_the_page_carry_their_scores():
    record = Game(geometry_of(4, 3, 3), (1, 0, 1, 0, 1), ("<b>", "</script><script>alert(1)</script>"), 1)
    judged = judged_slowly(record)
    text = results_page([], [game_entry(Review(record, judged))])
    (game,) = json.loads(Elements(text).data)
    assert game["moves"] == [1, 0, 1, 0, 1] and sorted(map(int, game["judged"])) == [1, 2, 3, 4]
    assert game["judged"]["4"]["scores"] == list(judged[-1].scores)
    assert "</script><script>" not in text


FIVE = ["--config", "rows=5,columns=5,inarow=4"]


def test_the_command_of_a_lost_game_finds_the_mistake(tmp_path, monkeypatch, capsys):
    """As match prints it: typed again, it names the turning point, and whose it was, in text and tables."""
    monkeypatch.chdir(tmp_path)
    Path("openings").write_text("22\n1411\n")
    main(f"match leftmost one_step --pairs 4 --games store --openings openings {' '.join(FIVE)}".split())
    (command,) = re.findall(r"a game that leftmost lost:\npython evaluate.py (.*)", capsys.readouterr().out)
    assert "--names" in command and "rows=5" in command
    main(shlex.split(command))
    out = capsys.readouterr().out
    assert re.search(r"turning point of (leftmost|one_step): (won|drawn) position given away", out)


def test_match_and_report_give_one_verdict(tmp_path, monkeypatch, capsys):
    """README's second command and then the report of the same games, all won by one side."""
    monkeypatch.chdir(tmp_path)
    main(["match", "one_step", "leftmost", "--pairs", "12", "--games", "store"])
    said = [line for line in capsys.readouterr().out.splitlines() if "is stronger" in line or "too early" in line]
    main(["report", "--games", "store"])
    out = capsys.readouterr().out
    assert said == ["one_step is stronger"] and said[0] in out.splitlines() and " proven " in out


def test_what_was_not_solved_has_a_row():
    """Plies in a row are one; before the first move that was judged, and between two."""
    game = parse_game("3333332222", STANDARD)
    moves = judge(game)
    shown = moves_table(game, [moves[3], *moves[6:9]], 0).rows
    assert [(row[0], row[-1]) for row in shown if row[-1] == "not solved in time"] == [
        ("0-2", "not solved in time"), ("4-5", "not solved in time"),
    ]  # fmt: skip
    assert moves_table(game, [], 0).rows == []


def test_a_decided_game_is_a_row():
    """The first player wins from the start, and the second hurries it twice."""
    game = parse_game("30303", STANDARD)
    rows = moves_table(game, judge(game), 0).rows
    assert [row[0] for row in rows] == ["0", "1-4"]
    assert rows[1] == ("1-4", "second", "", "", "", "", "lost already, shortened by 2 moves")
