"""Replays in bulk: rows held to how the games were made, the summary, the page, and the file of mistakes."""

import contextlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from connectx_core.position import STANDARD, plies_to_end, write_columns
from connectx_toolkit.games.analysis import JudgedMove, judge, mistakes
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.owner import team_of
from connectx_toolkit.games.reader import find_one_game, parse_game, replay_paths
from connectx_toolkit.games.replay import logs_path, replay_of
from connectx_toolkit.games.review import Review, headline, summary
from connectx_toolkit.report.pages import replays_page
from connectx_toolkit.report.reviews import Reviewed
from connectx_toolkit.system.table import Table
from tests.conftest import CHROMIUM, refused
from tests.conftest import evaluate as main
from tests.replay_games import FAULTS, TEAM, Made, make_games, wrong_rows
from tests.report.test_pages import browse

pytestmark = pytest.mark.slow
OPPONENTS = ("leftmost", "middle", "one_step", "random_legal")
UNJUDGED = ["--seconds", "0"]  # where exact scores are not what a test is about


@pytest.fixture(scope="module")
def games(tmp_path_factory) -> list[Made]:
    """Ten games in a folder of their own, six with a fault in them."""
    folder = tmp_path_factory.mktemp("replays")
    return list(make_games(folder, 10, OPPONENTS, own="one_step~30", fault_every=1))


@pytest.fixture(scope="module")
def folder(games) -> Path:
    return games[0].path.parent


def printed_json(arguments: Sequence[str], capsys) -> dict:
    main(["analyse", *arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_rows_tell_how_the_games_were_made(games, folder, capsys):
    """Opponent, seat, result, fault with its maker and ply, moves, overage time and the slowest move of each."""
    found = printed_json([str(folder), *UNJUDGED], capsys)
    assert found["me"] == TEAM and found["left_out"] == []
    assert wrong_rows(games, found["games"]) == {}
    faults = [(made.status, made.failed == made.seat) for made in games if made.failed is not None]
    assert faults == [(fault.kind, fault.is_own) for fault in FAULTS]


def test_logs_tell_what_a_crash_said_and_every_move_s_time(games, folder):
    """Without logs only what was taken of the overage time is known."""
    (made,) = [made for made in games if made.status == "error"]
    replay = find_one_game(made.path)
    assert replay.measured and replay.ending_words == f"error of {TEAM} on ply {made.ply}: ValueError: no idea"
    assert replay.seconds(made.slowest[0]) == pytest.approx(made.slowest[1], abs=1e-5)
    silent = next(made for made in games if made.overage and not logs_path(made.path, made.seat).exists())
    replay = find_one_game(silent.path)
    assert replay.slowest(silent.seat) == pytest.approx(silent.slowest)
    assert replay.seconds(silent.seat) is None


def test_files_folders_and_patterns(games, folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder.parent)
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "7.json").write_bytes(games[0].path.read_bytes())
    everything = [made.path.resolve() for made in games]
    assert [path.resolve() for path in replay_paths([folder.name, f"{folder.name}/*.json"])] == everything
    assert replay_paths([str(tmp_path)]) == [tmp_path / "deeper" / "7.json"]
    expanded = [str(path) for path in sorted(folder.glob("*.json"))]  # by the shell: logs, too
    assert [path.resolve() for path in replay_paths(expanded)] == everything and len(expanded) > len(everything)
    with pytest.raises(ValueError, match="no replays, only agents' logs"):
        replay_paths([name for name in expanded if name.endswith("-logs.json")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no replays"):
        replay_paths([str(tmp_path / "empty")])
    with pytest.raises(ValueError, match="no such file"):
        replay_paths(["*.nothing"])


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_argument_is_not_the_current_folder(text):
    """As a shell passes a variable that is not set."""
    with pytest.raises(ValueError, match="an empty argument: expected a game, a file, a folder or a pattern"):
        replay_paths([text])


def test_a_copy_of_a_game_is_no_game(games, tmp_path, capsys):
    """Counted once by every command, whatever its file is called; which one it copies is told."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(games[5].path.read_bytes())
    found = printed_json([str(tmp_path), "--me", TEAM, *UNJUDGED], capsys)
    assert [game["game"] for game in found["games"]] == ["a"]
    assert found["left_out"] == [f"{tmp_path / 'b.json'} is the same game as {tmp_path / 'a.json'}"]
    main(["explore", "--add", str(tmp_path), "--games", str(tmp_path / "games.sqlite")])
    assert "1 games added, 1 copy left out, 1 in all" in capsys.readouterr().out


def test_whose_games_they_are(games):
    replays = [find_one_game(made.path) for made in games]
    assert team_of(replays) == TEAM and team_of(replays, "middle") == "middle"
    with pytest.raises(ValueError, match=r"did you mean my_team\? Names and games: my_team \(10\)"):
        team_of(replays, "my_teem")
    with pytest.raises(ValueError, match="more than one name is in all 2 games: pass --me NAME"):
        team_of(replays[:2])
    with pytest.raises(ValueError, match="no name is in all"):
        team_of([*replays, _renamed(replays[0], ("a", "b"))])
    with pytest.raises(ValueError, match="do not name their players: pass --me first or --me second"):
        team_of([_renamed(replays[0], ("first", "second"))])


def _renamed(replay, names):
    return replace(replay, names=names)


def test_a_game_against_oneself_gives_no_points(games):
    """Kaggle validates a submission so. If a seat fails there, the row is that seat's."""
    made = next(made for made in games if made.status == "timeout")
    replay = _renamed(find_one_game(made.path), (TEAM, TEAM))
    review = Review(replay, [], made.failed or 0)
    assert review.opponent == "itself" and review.cause == "timeout"
    assert headline(TEAM, [review]) == [f"{TEAM}: no game that counts, of 1"]


def judged_by(replay, seat: int, values: Sequence[tuple[int, int]]) -> list[JudgedMove]:
    """Moves of a seat in the first plies, each of a position of one value, and itself of another."""
    moves = []
    for ply, (value, played) in zip(range(seat, len(replay.moves), 2), values, strict=False):
        column = replay.moves[ply]
        scores = [value if c != column else played for c in range(7)]
        moves.append(JudgedMove(ply, column, tuple(scores)))
    return moves


def row_of(sections: Sequence[Table], title: str, first: str) -> tuple:
    (section,) = [section for section in sections if section.title == title]
    return tuple(next(row for row in section.rows if row[0] == first))


def test_what_was_thrown_away(games):
    """By hand: a win that was given away to a draw and the draw to a loss, and a game lost by timeout."""
    replay = next(find_one_game(made.path) for made in games if made.status == "played" and len(made.moves) > 8)
    loser = 1 - (replay.line or 0)
    review = Review(replay, judged_by(replay, loser, [(18, 0), (0, -15), (-15, -15)]), loser)
    assert [move.results for move in review.mistakes] == [("won", "drawn"), ("drawn", "lost")]
    late = next(made for made in games if made.result == "lost" and made.status == "timeout")
    sections = summary([review, Review(find_one_game(late.path), [], late.seat)])
    assert row_of(sections, "Why points were lost", "timeout")[1:3] == (1, 1)
    assert row_of(sections, "Why points were lost", "drawn position given away")[1:3] == (1, 1)
    assert row_of(sections, "Mistakes by ply", "0 to 7") == ("0 to 7", 2, 1, 1, 100, 1)
    ply = review.mistakes[-1].ply
    words = "are 0 to 7: 1. A search 4 plies deep finds "
    assert ply < 8 and words in headline(TEAM, [review])[-1] and "of these mistakes" in headline(TEAM, [review])[-1]


def played(game: Game) -> Game:
    """A game without a fault or a slow move, named by its columns."""
    return replace(game, cut="step limit", overage=(60.0,) * len(game.moves), source=write_columns(game.moves))


def test_mistakes_that_come_again():
    """After 3 and 3 the move 2 gives the win away, and so does its mirror image; other moves are made once."""

    def review(columns: str) -> Review:
        record = parse_game(columns, STANDARD)
        return Review(played(record), judge(record), 0)

    reviews = [review(columns) for columns in ("332", "3340", "0")]
    section = next(one for one in summary(reviews) if one.title == "Mistakes that come again")
    assert section.rows == [("33", "2", "3", 2, 1.0, "332")]
    assert "Made most often: column 2 after 33, in 2 games; best is 3." in headline(TEAM, reviews)
    assert "again" not in " ".join(one.title for one in summary(reviews[1:]))


def test_the_page(games, folder, tmp_path, monkeypatch):
    """Into runs/, which there need not be."""
    monkeypatch.chdir(tmp_path)
    main(["analyse", str(folder), "--html", "runs/page.html", *UNJUDGED])
    text = Path("runs/page.html").read_text(encoding="utf-8")
    rows, data = map(json.loads, re.findall(r'type="application/json" id="\w+">(.*?)</script>', text, re.S))
    assert [row["opponent"] for row in rows] == [made.opponent for made in games]
    assert re.findall(r'<td class="result">(\w+)</td>', text) == [made.result for made in games]
    assert [game["moves"] for game in data] == [made.moves for made in games]
    assert "default-src 'none'" in text and set(re.findall(r"https?://[^\s\"']+", text)) <= {
        "http://www.w3.org/2000/svg"
    }


PRACTISE = """<script type="module">
const element = id => document.getElementById(id), text = name => document.querySelector(name).textContent;
const press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const found = [];
element("practise").click();
found.push(location.hash, text(".cx-verdict"), document.querySelectorAll(".cx-chip.cx-win, .cx-chip.cx-loss").length);
press("WRONG");
found.push(text(".cx-verdict strong"));
press("t");
press("p");
press("n");
found.push(text(".cx-blame"), document.querySelectorAll(".cx-wrong").length);
press("ArrowRight");
found.push(location.hash);
Object.defineProperty(navigator, "clipboard", {value: {writeText: copied => found.push(copied.split("#").at(-1))}});
for (const key of ["c", "k"]) press(key);
document.title = JSON.stringify(found);
</script></body>"""


@CHROMIUM
def test_mistakes_are_shown_and_practised(tmp_path):
    """One mistake of each: only one's own is gone to. Judged by the table of the openings."""
    record = Game(STANDARD, (3, 3, 2, 5, 1), ("me", "other"))
    review = Review(played(record), judge(record), 0)
    (mistake,) = review.mistakes
    assert (mistake.ply, [move.ply for move in mistakes(review.moves)]) == (2, [2, 3])
    found = told(replays_page("me", [review], [], []), PRACTISE.replace("WRONG", "0"), tmp_path)
    best, words = mistake.best().replace(", ", " or "), "gives away a win: it"
    assert mistake.value > 0 and found[:3] == ["#0.2", "Practise: Yellow to move. Which column wins?", 0]
    assert found[3].startswith("Wrong: column 0 ") and f"Best: column {best} (" in found[3]
    assert found[4].startswith(f"Yellow (me) plays column 2 and {words} ") and f"Best: column {best} (" in found[4]
    assert found[5:] == [1, "#0.3", "33251", "0.3"]


def told(page: str, script: str, folder: Path) -> list:
    """What a script at the end of a page has left in its title."""
    path = folder / "page.html"
    path.write_text(page.replace("</body>", script), encoding="utf-8")
    (title,) = re.findall(r"<title>(.*?)</title>", browse(path.as_uri(), folder, "--dump-dom"))
    return json.loads(html.unescape(title))


def test_a_lost_game_that_is_shortened():
    """After 3 the second player is lost: 0 loses sooner than 3. That is no mistake, and is counted apart."""
    record = Game(STANDARD, (3, 0, 3, 3), ("other", "me"))
    review = Review(played(record), judge(record), 1)
    assert not review.mistakes and [move.ply for move in review.shortened] == [1]
    (move,) = review.shortened
    plies = [plies_to_end(score, 1, 42) for score in (move.played, move.value)]
    assert plies[0] < plies[1]
    words = "In lost positions, 1 move in 1 game lost sooner than necessary. The worst: 3033, ply 1: "
    words += f"column 0 loses in {plies[0]} plies, the best (3) in {plies[1]}."
    assert words in headline("me", [review])
    assert not any("sooner" in line for line in headline("other", [Review(review.game, review.moves, 0)]))


# Games of our own stores

MINE = """
calls = []

def agent(obs, config):
    calls.append(obs.step)
    if len(calls) == 2 and obs.mark == 1:
        raise ValueError("no idea")
    return 3 if len(calls) == 1 else 99
"""
OPENINGS = "33\n1411\n204\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """Three matches of leftmost, 14 games: one against a file that fails, one on another board with less time."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text(MINE)
    (folder / "openings").write_text(OPENINGS)
    with contextlib.chdir(folder):
        for players in (
            "leftmost random --pairs 3",
            "leftmost mine.py --pairs 2",
            "leftmost random --pairs 2 --overage 30 --config rows=5,columns=5,actTimeout=0",
        ):
            main(f"match {players} --games games.sqlite --openings openings".split())
    return folder / "games.sqlite"


@pytest.fixture(scope="module")
def stored(store) -> dict[str, Game]:
    """The games by name."""
    with GameDatabase(store, create=False) as opened:
        found = [*opened.matches()]
    return {
        f"{number}-{index + 1}": game
        for number, match in enumerate(found, 1)
        for index, game in sorted(match.games.items())
    }


def test_stored_games_are_reviewed_as_replays_are(store, stored, capsys):
    """Rows held to the store. Nobody has to say whose games they are where one name is in all of them."""
    found = printed_json([str(store), "--html", str(store.with_name("page.html")), *UNJUDGED], capsys)
    assert found["me"] == "leftmost" and found["left_out"] == [] and len(stored) == 14
    assert [row["game"] for row in found["games"]] == list(stored)
    for row in found["games"]:
        game = stored[row["game"]]
        seat = game.names.index("leftmost")
        assert game.points is not None
        assert (row["opponent"], row["seat"]) == (game.names[1 - seat], ("first", "second")[seat])
        assert row["result"] == {1: "won", 0.5: "drawn", 0: "lost"}[game.points[seat]]
        assert row["file"] == f"{store}/{row['game']}"
        assert row["moves"] == list(game.moves) and row["opening"] == game.opening > 0
        assert row["overage"] == pytest.approx(game.overage_used(seat), abs=1e-3)
        own = game.calls(seat)
        assert own[row["slowest"]["ply"]] == max(own.values())
    assert [row["game"] for row in found["games"] if row["overage"]] == ["3-1", "3-2", "3-3", "3-4"]


def test_faults_of_stored_games(store, capsys):
    rows = printed_json([str(store), "--me", "mine", *UNJUDGED], capsys)["games"]
    assert [row["game"] for row in rows] == ["2-1", "2-2", "2-3", "2-4"]  # only one's own
    assert [row["status"] for row in rows] == ["illegal move", "error"] * 2 == [row["cause"] for row in rows]
    illegal, error = (re.escape(f"of mine.py on ply {row['plies']}: ") for row in rows[:2])
    assert re.fullmatch(rf"illegal move {illegal}no such column, 99 after \d+.\d+ s", rows[0]["ending"])
    assert re.fullmatch(rf"error {error}exception, ValueError: no idea \(mine.py, line 7\)", rows[1]["ending"])
    main(["analyse", str(store), "--me", "leftmost", *UNJUDGED])
    out = capsys.readouterr().out
    assert "their error, ply" in out and "leftmost: 14 games, won " in out
    assert "Stored games are numbered by match and game: 3-12 is game 12 of match 3." in out


def test_versions_of_a_file(tmp_path, monkeypatch, capsys):
    """After an edit it is two agents, of which one is to be chosen."""
    monkeypatch.chdir(tmp_path)
    Path("openings").write_text(OPENINGS)
    for column in (1, 2):
        Path("mine.py").write_text(f"def agent(obs, config):\n    return {column}\n")
        main(["match", "mine.py", "leftmost", "--pairs", "1", "--games", "two", "--openings", "openings"])
    words = r"--me 'mine.py' fits 2 names: did you mean '(mine.py [0-9a-f]{6})' or 'mine.py [0-9a-f]{6}'\?"
    (version,) = re.findall(words, refused(["analyse", "two", "--me", "mine.py"], capsys))
    assert [row["game"] for row in printed_json(["two", "--me", version], capsys)["games"]] == ["1-1", "1-2"]


def test_both_seats_may_fail(tmp_path):
    """The one that was to move has lost; Kaggle marks the other one, too, where its process could not start."""
    step = [{"action": 3, "observation": {}}, {"action": 0, "observation": {}}]
    content = json.loads('{"name": "connectx", "configuration": {"rows": 6, "columns": 7, "inarow": 4}}')
    content |= {"statuses": ["ERROR", "ERROR"], "steps": [step, step, step]}
    replay = replay_of(content, tmp_path / "1.json")
    assert replay.moves == (3,) and replay.ending_words == "error of second on ply 1"
    assert replay.points == (1, 0) and replay.reserve is None


def test_mistakes_are_kept_once(games, tmp_path):
    """Mirrored or not; and what was there stays as it was."""
    replay, seat, path = find_one_game(games[6].path), games[6].seat, tmp_path / "runs" / "mistakes.txt"
    review = Review(replay, judged_by(replay, seat, [(18, 18), (0, -15), (15, 0)]), seat)
    assert Reviewed(TEAM, [review]).write_mistakes(path) == f"{path}: 2 positions added, 2 in all"
    assert Reviewed(TEAM, [review]).write_mistakes(path) == f"{path}: 0 positions added, 2 in all"
    mirrored = "".join(str(6 - column) for column in replay.moves[: review.mistakes[0].ply])
    path.write_text(f"{mirrored}  # mine\n")
    assert Reviewed(TEAM, [review]).write_mistakes(path) == f"{path}: 1 position added, 2 in all"
    assert path.read_text().splitlines()[0] == f"{mirrored}  # mine"


def test_mistakes_are_written_and_played_from(games, folder, tmp_path, monkeypatch, capsys):
    """By analyse, of lost and of won games; match begins there, exam asks for moves there."""
    monkeypatch.chdir(tmp_path)
    rows = printed_json([str(folder), "--write-mistakes", "runs/mistakes.txt"], capsys)["games"]
    given = {row["result"]: [move["ply"] for move in row["mistakes"]] for row in rows if row["mistakes"]}
    assert {"won", "lost"} <= given.keys()
    lines = Path("runs/mistakes.txt").read_text().splitlines()[1:]
    openings = {"".join(map(str, row["moves"][: move["ply"]])) for row in rows for move in row["mistakes"]}
    assert {line.split()[0] for line in lines} <= openings and len(lines) > 5
    main(["match", "middle", "leftmost", "--pairs", "1", "--openings", "runs/mistakes.txt", "--games", "store"])
    capsys.readouterr()
    late = sorted(lines, key=lambda line: len(line.split()[0]))[-3:]
    Path("few.txt").write_text("\n".join(late))
    main(["exam", "middle", "--positions", "few.txt", "--json"])
    assert json.loads(capsys.readouterr().out)["positions"] == 3
