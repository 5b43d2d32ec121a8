"""Reports from stored games alone: groups, tables, the page and what it must not contain."""

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest
from kaggle_environments import make
from kaggle_environments.errors import DeadlineExceeded

from connectx.position import geometry_of
from connectx_toolkit.games.analysis import JudgedMove, solvers_for
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.review import Judged
from connectx_toolkit.games.tournament import group_games, groups
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.report.pages import game_entry, results_page
from connectx_toolkit.report.tables import accuracy_table
from connectx_toolkit.system.table import console_for_tables
from tests.arena.test_match import play
from tests.conftest import evaluate as main
from tests.games.test_analysis import judged as judged_slowly

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


def play_into(store: GameDatabase, first: str, second: str, setup: Setup, pairs: int) -> None:
    specs = resolve(first), resolve(second)
    match = store.match_id(*specs, setup, [()], 1)

    def add(task: Task, game: Game) -> None:
        store.add_played(match, task, game)

    play(*specs, setup, [()], pairs, on_game=add)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A store with two matches on a small board and one on the standard board."""
    path = tmp_path_factory.mktemp("report") / "store"
    with GameDatabase(path) as store:
        play_into(store, "one_step", "leftmost", SMALL, 4)
        play_into(store, "leftmost", "random", SMALL, 4)
        play_into(store, "leftmost", "random", Setup(Rules(), "fast", isolate=False), 4)
    return path


def test_groups(path):
    with GameDatabase(path, create=False) as store:
        found = groups(store)
    assert [group.title for group in found] == [
        "4x3, 3 in a row, 60 s overage time",
        "6x7, 4 in a row, 60 s overage time",
    ]
    assert found[0].tournament.names == [("one_step", "leftmost"), ("leftmost", "random")]
    games = group_games(found[0])
    assert len(games) == 16 and games[0].names == ("one_step", "leftmost") == games[1].names[::-1]


def test_agents_of_one_name_are_told_apart_by_content(tmp_path):
    agent = tmp_path / "agent.py"
    with GameDatabase(tmp_path / "store") as store:
        for column in (0, 1):
            agent.write_text(f"def agent(obs, config):\n    return {column}\n")
            play_into(store, str(agent), "leftmost", SMALL, 1)
        names = [pair[0] for pair in groups(store)[0].tournament.names]
    assert names[0] != names[1] and all(re.fullmatch(re.escape(str(agent)) + " [0-9a-f]{6}", name) for name in names)


def test_report_command(path, capsys):
    target = path.parent / "report.html"
    main(["report", "--games", str(path), "--html", str(target), "--judge", "--latest", "5"])
    out = capsys.readouterr().out
    assert out.count("Elo, random = 0") == 2 and "one_step" in out
    elements = Elements(target.read_text(encoding="utf-8"))
    assert elements.tags.count("table") == 4 and elements.tags.count("svg") == 6
    assert {"h1", "h2", "select"} <= set(elements.tags)
    assert len(json.loads(elements.data)) == 10
    assert list(path.parent.glob("*.partial")) == []


def test_a_board_that_cannot_be_solved_stays_unjudged(tmp_path, capsys):
    """The page is made all the same, with the scores of the others."""
    large = Setup(Rules({"rows": 8, "columns": 8}), "fast", isolate=False)
    with GameDatabase(tmp_path / "store") as store:
        play_into(store, "leftmost", "middle", SMALL, 1)
        play_into(store, "leftmost", "middle", large, 1)
    target = tmp_path / "report.html"
    main(["report", "--games", str(tmp_path / "store"), "--html", str(target), "--judge"])
    assert "not judged: 8x8, 4 in a row, 60 s overage time (boards of more than 64 bits" in capsys.readouterr().out
    games = json.loads(Elements(target.read_text(encoding="utf-8")).data)
    assert [bool(game["judged"]) for game in games] == [True, True, False, False]


def test_the_page_fetches_nothing(path):
    target = path.parent / "report.html"
    main(["report", "--games", str(path), "--html", str(target)])
    text = target.read_text(encoding="utf-8")
    elements = Elements(text)
    assert "default-src 'none'" in text and not {"link", "img", "iframe", "object", "base"} & set(elements.tags)
    assert all(reference.startswith(("#", "data:image/png;base64,")) for reference in elements.references)
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest", text)


def test_games_on_the_page_carry_their_scores():
    record = Game(geometry_of(4, 3, 3), (1, 0, 1, 0, 1), ("<b>", "</script><script>alert(1)</script>"), 1)
    judged = judged_slowly(record)
    text = results_page([], [game_entry(Judged(record, judged))])
    (game,) = json.loads(Elements(text).data)
    assert game["moves"] == [1, 0, 1, 0, 1] and sorted(map(int, game["judged"])) == [1, 2, 3, 4]
    assert game["judged"]["4"]["scores"] == list(judged[-1].scores)
    assert "</script><script>" not in text


def test_analyse_commands(path, tmp_path, capsys):
    main(["analyse", "10101", "--config", "rows=4,columns=3,inarow=3"])
    assert "given away" in capsys.readouterr().out
    main(["analyse", str(path), "--time", "0", "--latest", "2"])
    out = capsys.readouterr().out
    assert out.count("leftmost v random") + out.count("random v leftmost") == 4


def test_a_game_too_short_to_judge(monkeypatch, capsys):
    """Without a table of openings, the first plies of 7x6 would take minutes."""
    monkeypatch.setattr("connectx_toolkit.games.analysis.has_openings", lambda geometry: False)
    main(["analyse", "4444422"])
    out, err = capsys.readouterr()
    words = "the game has 7 plies, judged from ply 10 on: there is no table of openings"
    assert out == f"first v second, 4444422: {words}\n" and err == ""


FIVE = ["--config", "rows=5,columns=5,inarow=4"]
GAME = "2214121120204030"
TURNED = "drawn position given away (now lost) on ply 6 by column 1; best: 2, 3"
BOARD = """\
before ply 6, in which first (X) played column 1; best: 2, 3
 0  1  2  3  4
 .  .  .  .  .
 .  .  .  .  .
 .  .  O  .  .
 .  X  O  .  .
 .  X  X  .  O
"""


def rows_of(out: str) -> list[list[str]]:
    """The cells of the table of moves."""
    rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines()]
    return [row for row in rows if row[0].isdecimal() and len(row) > 2 and not row[1].isdecimal()]


def test_every_move_of_a_game(capsys):
    """Of a game on 5x5: each move in words, the turning points marked, the boards of the first and the last.

    After the last mistake, on ply 6, all kept the win: one line tells the rest.
    """
    main(["analyse", GAME, *FIVE])
    out = capsys.readouterr().out
    rows = rows_of(out)
    assert [row[0] for row in rows] == [str(ply) for ply in range(7)] and [row[2] for row in rows] == list(GAME[:7])
    assert rows[3] == ["3", "second", "4", "draws", "wins in 21 plies", "3", "<- won, given away: drawn"]
    assert re.search(r"\n7 to 15  first +lost already, shortened by 2 moves +\n", out)
    assert [row[0] for row in rows if row[-1].startswith("<-")] == ["2", "3", "6"]
    assert "\nbefore ply 2, in which first (X) played column 1; best: 2\n" in out and BOARD in out
    assert "before ply 3" not in out and f"turning point of first: {TURNED}; given away before: first on ply 2" in out
    assert re.search(r"\nfirst +all +8 +50.0% ", out)  # half of those with something to keep


def test_what_is_not_solved_in_time_is_said(monkeypatch, capsys):
    monkeypatch.setattr("connectx.solver.COMPILED_SLICE", 1)  # nodes
    solvers_for.cache_clear()  # whose table may know the game
    main(["analyse", GAME, "--time", "0", *FIVE])
    out = capsys.readouterr().out
    assert re.search(r"not solved in time: ply 0, 1, .*\(--seconds SECONDS gives them more\)", out)


def test_the_command_of_a_lost_game_finds_the_mistake(tmp_path, monkeypatch, capsys):
    """As match prints it: typed again, it names the turning point, and whose it was, in text and tables."""
    monkeypatch.chdir(tmp_path)
    Path("openings").write_text("22\n1411\n")
    main(f"match leftmost one_step --pairs 4 --games store --openings openings {' '.join(FIVE)}".split())
    (command,) = re.findall(r"a game that leftmost lost: python evaluate.py (.*)", capsys.readouterr().out)
    assert "--names" in command and "rows=5" in command
    main(shlex.split(command))
    out = capsys.readouterr().out
    assert re.search(r"turning point of (leftmost|one_step): (won|drawn) position given away", out)
    assert {row[1] for row in rows_of(out)} == {"leftmost", "one_step"} and re.search(r"\nleftmost +all ", out)


def test_players_are_named_as_they_were_typed(capsys):
    """Also where a name looks like rich's markup."""
    main(["analyse", GAME, *FIVE, "--names", "my agent", "[bold]it"])
    out = capsys.readouterr().out
    assert {row[1] for row in rows_of(out)} == {"my agent", "[bold]it"}
    assert f"my agent v [bold]it, {GAME}: turning point of my agent: " in out
    assert "in which my agent (X) played" in out and re.search(r"\n\[bold\]it +all ", out)


def test_all_that_was_given_away_is_named(capsys):
    main(["analyse", "02014031333122", *FIVE])
    assert "; given away before: second on ply 1 (drawn, now lost), first on ply 2 (won, now drawn)" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("deadline", "timeout of first on ply 8"),
        ("raise", "error of first on ply 8"),
        ("illegal", "illegal move of first on ply 8: there is no column 99"),
    ],
)
def test_a_replay_that_was_lost_by_a_fault(failure, words, tmp_path, capsys):
    """Eight plies, then the first player fails: that is said, not only that there is nothing to judge."""

    def fails(obs, config):
        if obs.step < 8:
            return obs.step // 2 % 2
        if failure == "raise":
            raise ValueError("no idea")
        return DeadlineExceeded() if failure == "deadline" else 99

    env = make("connectx")
    env.run([fails, lambda obs, config: 5 + obs.step // 2 % 2])
    (tmp_path / "episode.json").write_text(json.dumps(env.toJSON(), default=str))
    main(["analyse", str(tmp_path / "episode.json")])
    assert f": {words}; turning point of " in capsys.readouterr().out


def test_plies_from_50_on_are_counted(capsys):
    """On a board of 56 cells; the table's parts add up to all moves."""
    geometry = geometry_of(7, 8, 4)
    moves = [JudgedMove(ply, 0, (0, -1)) for ply in (3, 12, 49, 50, 55)]
    console_for_tables().print(accuracy_table({"a": moves}))
    out = capsys.readouterr().out
    counts = {part: int(count) for part, count in re.findall(r"(plies \d+ to \d+|all) +(\d+)", out)}
    assert geometry.cells == 56 and counts["plies 50 to 55"] == 2
    assert counts.pop("all") == 5 == sum(counts.values())


def test_agents_that_no_games_connect_are_left_out(tmp_path, capsys):
    """A file's first version met others than its second."""
    agent = tmp_path / "agent.py"
    with GameDatabase(tmp_path / "store") as store:
        for column, other in enumerate(("middle", "leftmost")):
            agent.write_text(f"def agent(obs, config):\n    return {column}\n")
            play_into(store, str(agent), other, SMALL, 1)
        play_into(store, "leftmost", "random", SMALL, 2)
    main(["report", "--games", str(tmp_path / "store"), "--html", str(tmp_path / "page.html")])
    out = capsys.readouterr().out
    assert "Elo, random = 0" in out and "3 " in out
    (line,) = [line for line in out.splitlines() if line.startswith("left out")]
    assert re.search(r"connect them with random: .*agent.py [0-9a-f]{6}, middle; edited versions of a file count", line)


def test_match_and_report_give_one_verdict(tmp_path, monkeypatch, capsys):
    """README's second command and then the report of the same games, all won by one side."""
    monkeypatch.chdir(tmp_path)
    main(["match", "one_step", "leftmost", "--pairs", "12", "--games", "store"])
    said = [line for line in capsys.readouterr().out.splitlines() if "is stronger" in line or "too early" in line]
    main(["report", "--games", "store"])
    out = capsys.readouterr().out
    assert said == ["one_step is stronger"] and said[0] in out.splitlines() and " proven " in out
