"""The files in which people have replays: encodings, compressed, archives, what programs put around one, of 2020."""

import bz2
import gzip
import html
import io
import json
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from kaggle_environments import make

from connectx_core.position import STANDARD, Position, geometry_of
from connectx_toolkit.arena.start_positions import read_openings
from connectx_toolkit.board.session import Opening, Session
from connectx_toolkit.board.thinking import Analyst
from connectx_toolkit.games.exam_positions import read_positions
from connectx_toolkit.games.reader import (
    find_games,
    find_one_game,
    parse_moves,
    read_game_file,
    read_replays,
    replay_paths,
)
from connectx_toolkit.games.replay import logs_path
from connectx_toolkit.system import foreign
from tests.conftest import evaluate as main


@pytest.fixture(scope="module")
def content() -> dict:
    """A game that Kaggle's own environment played."""
    environment = make("connectx", info={"TeamNames": ["Ångström", "them"], "EpisodeId": 7001})
    environment.run([lambda obs: 3, lambda obs: obs.step % 3])
    return environment.toJSON()


def moves_of(content: dict) -> tuple[int, ...]:
    return tuple(step[ply % 2]["action"] for ply, step in enumerate(content["steps"][1:]))


def zipped(content: bytes, name: str = "7001.json") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def tarred(entries: dict[str, bytes], mode: str = "w") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def shown_in_a_notebook(text: str) -> bytes:
    """As ``env.render(mode="ipython")`` and a cell that prints something leave it."""
    page = f"<script>window.kaggle = {json.dumps({'environment': json.loads(text)})};</script>"
    data = {"text/html": [f'<iframe srcdoc="{html.escape(page)}"></iframe>']}
    outputs = [{"output_type": "stream", "text": ["x"]}, {"output_type": "display_data", "data": data}]
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "outputs": outputs}, {"source": []}]}).encode()


def shows(*values: object) -> str:
    """A notebook with cells that show values."""
    cells = [{"outputs": [{"data": {"text/plain": [json.dumps(value)]}}]} for value in values]
    return json.dumps({"nbformat": 4, "cells": cells})


FORMS = {
    "a text in a text": lambda text: json.dumps(text).encode(),
    "in a list": lambda text: f"[{text}]".encode(),
    "in an object": lambda text: json.dumps({"environment": text}).encode(),
    "shown in a notebook": shown_in_a_notebook,
    "with a byte order mark": lambda text: text.encode("utf-8-sig"),
    "in UTF-16": lambda text: text.encode("utf-16"),
    "gzipped": lambda text: gzip.compress(text.encode()),
    "bzip2": lambda text: bz2.compress(text.encode()),
    "xz": lambda text: lzma.compress(text.encode()),
    "in a zip": lambda text: zipped(text.encode()),
    "gzipped in a zip": lambda text: zipped(gzip.compress(text.encode()), "a/7001.json.gz"),
    "in a tar": lambda text: tarred({"2026-11-20/7001.json": text.encode()}),
    "in a tar.gz": lambda text: tarred({"2026-11-20/7001.json": text.encode()}, "w:gz"),
    "wrapped": lambda text: json.dumps({"result": {"episodeId": 7001, "replay": text}}).encode(),
    "wrapped as an object": lambda text: json.dumps({"result": {"replay": json.loads(text)}}).encode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["game.json", "game"])
def test_forms_of_one_replay(form, name, content, tmp_path):
    """Whatever the file is called, it is the same game."""
    path = tmp_path / name
    path.write_bytes(form(json.dumps(content, ensure_ascii=False)))
    replay = find_one_game(path)
    assert replay.moves == moves_of(content) and replay.names == ("Ångström", "them")
    assert replay.episode == 7001 and replay.reserve == (60.0, 60.0)


def test_what_kaggles_player_shows_and_what_it_prints(tmp_path):
    """Made by Kaggle's environment; what tells no moves is named by its kind."""
    environment = make("connectx")
    environment.run([lambda obs: 3, lambda obs: obs.step % 3])
    path, expected = tmp_path / "file", moves_of(environment.toJSON())
    for content in (environment.render(mode="html"), json.dumps(environment.render(mode="json"))):
        path.write_text(content)
        assert find_one_game(path).moves == expected
    page = environment.render(mode="html").replace('"', "&quot;")  # as its mode "ipython" does
    outputs = [{"data": {"text/html": [f'<iframe srcdoc="{page}"></iframe>']}}]
    path.write_text(json.dumps({"nbformat": 4, "cells": [{"outputs": outputs}]}))
    assert find_one_game(path).moves == expected
    boards = [step[0]["observation"]["board"] for step in environment.steps]
    for content, words in {
        repr(environment.steps): "it is Python's text of env.steps",
        environment.render(mode="ansi"): "it is a drawing of the board",
        json.dumps(boards): "it is boards, not a replay: python evaluate.py exam AGENT --positions FILE asks an agent",
        json.dumps(boards[0]): "it is a board, not a replay",
        json.dumps({"board": boards[0]}): "it is a board, not a replay",
        '{"nbformat": 4, "cells": []}': "a notebook whose outputs show no replay",
        shows(7, 0.5, True, ["a"], {"b": 1}): "a notebook whose outputs show no replay",
        '[{"moves": "3342"}, {"moves": "44"}]': "a list in which nothing has 'steps': expected replays, as env.toJSON",
        '{"board": [0]}\n{"board": [1]}': "a list in which nothing has 'steps'",
        "4453 -2\n44 3": "it is positions, not a replay: python evaluate.py exam AGENT --positions FILE",
        f"{'b,' * 42}win": "it is positions",
        "game,moves\n1,3342": "it is a table whose first line names its columns .game,moves.: leave that out",
        "x\0y": "it is binary: neither a text nor an archive",
        ".......\n.......\n...xo..\n": "it is a drawing of the board, which does not tell the moves: give columns",
        "<html></html>": "it is a page without a replay",
    }.items():
        path.write_text(content)
        with pytest.raises(ValueError, match=f"file is not a ConnectX replay: {words}"):
            find_one_game(path)


@pytest.mark.parametrize(
    ("content", "games"),
    [
        ("# mine\n3342  # why\n44", [(3, 3, 4, 2), (4, 4)]),
        ("3342", [(3, 3, 4, 2)]),
        ("3,3,4\n", [(3, 3, 4)]),
        ("[3, 3, 4, 2]", [(3, 3, 4, 2)]),
        ("[[3, 3], [6]]", [(3, 3), (6,)]),
        ('["3342", "44"]', [(3, 3, 4, 2), (4, 4)]),
        ("https://connect4.gamesolver.org/?pos=4432", [(3, 3, 2, 1)]),
    ],
)
def test_games_as_columns_in_a_file(content, games, tmp_path):
    path = tmp_path / "games.txt"
    path.write_text(content)
    assert [game.moves for game in find_games(path).games] == games
    if "pos=" in content:
        assert find_one_game(content).moves == games[0] and find_one_game("4432", from_one=True).moves == games[0]
    else:
        assert [game.moves for game in read_game_file(path, from_one=True).games] == [
            tuple(column - 1 for column in moves) for moves in games
        ]


def test_replays_under_a_key(content, tmp_path):
    (tmp_path / "batch.json").write_text(json.dumps({"replays": [content, content]}))
    assert len(find_games(tmp_path / "batch.json").games) == 2
    with pytest.raises(ValueError, match="is for games given as columns, and replays tell theirs"):
        read_game_file(tmp_path / "batch.json", from_one=True)


def test_several_replays_of_a_document(content, tmp_path):
    """In a list or line by line: each is a game of its own, and a bad one does not end the others."""
    text = json.dumps(content)
    for name, document in {
        "a.json": f'[{text}, {{"name": "halite"}}, {text}]',
        "a.jsonl": f"{text}\n{{\n{text}\n",
    }.items():
        (tmp_path / name).write_text(document)
        found, left_out, _ = read_game_file(tmp_path / name)
        assert [game.name for game in found] == ["a-1", "a-3"] and len(left_out) == 1
        assert "a-2 is not a ConnectX replay: it is " in left_out[0]


def test_no_game_of_an_archive_is_left_out_unsaid(content, tmp_path, capsys):
    """Not the eleventh either; of a file of games the latest ten are shown, and how many there are is said."""
    with zipfile.ZipFile(tmp_path / "day.zip", "w") as archive:
        for number in range(12):
            info = {"TeamNames": [f"a{number}", "b"], "EpisodeId": number}
            archive.writestr(f"{number:02}.json", json.dumps(content | {"info": info}))
    main(["analyse", str(tmp_path / "day.zip"), "--seconds", "0"])
    assert sum(" v b, " in line for line in capsys.readouterr().out.splitlines()) == 12
    games = str(tmp_path / "games.sqlite")
    main(["explore", "--add", str(tmp_path / "day.zip"), "--games", games, "--seconds", "0"])
    main(["analyse", games, "--seconds", "0"])
    out = capsys.readouterr().out
    assert sum(" v b, " in line for line in out.splitlines()) == 10
    assert f"left out: {games}: 2 older games (--latest N shows more)" in out


def test_steps_alone(content, tmp_path):
    """As ``json.dump(env.steps)`` writes them: of Kaggle's board, if boards and end show it; else the cure is told."""
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(content["steps"]))
    replay = find_one_game(path)
    assert replay.moves == moves_of(content) and replay.names == ("first", "second")
    assert replay.rewards == tuple(content["rewards"]) and replay.episode is None
    for config in ({"rows": 7, "columns": 6}, {"inarow": 3}):
        other = make("connectx", configuration=config)
        other.run([lambda obs: 3, lambda obs: 0])
        path.write_text(json.dumps(other.steps))
        with pytest.raises(ValueError, match=r"only env\.steps, which do not tell its board: save env\.toJSON\(\)"):
            find_one_game(path)
    failing = make("connectx")
    failing.run([lambda obs: 3, lambda obs: 9])
    path.write_text(json.dumps(failing.steps))
    assert find_one_game(path).ending_words == "illegal move of second on ply 1: there is no column 9"


def test_a_game_of_2020_has_no_overage_time(content, tmp_path, capsys):
    """Kaggle's first version knew none: nothing is said of it, and nothing is made up."""
    old = json.loads(json.dumps(content))
    for step in old["steps"]:
        for entry in step:
            del entry["observation"]["remainingOverageTime"]
    (tmp_path / "game.json").write_text(json.dumps(old))
    replay = find_one_game(tmp_path / "game.json")
    assert (replay.reserve, replay.overage) == (None, ()) and replay.overage_used(0) is None
    assert replay.slowest(0) is None and replay.seconds(0) is None
    main(["analyse", str(tmp_path / "game.json"), "--seconds", "0"])
    assert "overage" not in capsys.readouterr().out
    main(["analyse", "--seconds", "0", "--me", "them", str(tmp_path)])
    out = capsys.readouterr().out
    assert "most overage time" not in out and "s left" not in out
    logs_path(tmp_path / "game.json", 0).write_text(json.dumps([[{"duration": 1.5}], [], [{"duration": 0.5}]]))
    assert find_one_game(tmp_path / "game.json").slowest(0) == (0, 1.5)


def day(content: dict, folder: Path) -> Path:
    """All replays of a day, two of them bad ones, beside what is no replay."""
    text = json.dumps(content).encode()
    entries = {f"2026-11-20/{number}.json": text for number in range(3)}
    entries |= {"2026-11-20/bad.json": text[:-9], "2026-11-20/other.json": b'{"name": "halite"}'}
    path = folder / "2026-11-20.tar.gz"
    path.write_bytes(tarred({**entries, "README.md": b"#", "._0.json": b"", "0-agent-1-logs.json": b"[]"}, "w:gz"))
    return path


def test_one_bad_replay_of_an_archive_does_not_end_the_others(content, tmp_path, capsys):
    path = day(content, tmp_path)
    (tmp_path / "more.zip").write_bytes(zipped(b"[true]"))
    replays, left_out, _ = read_replays(*replay_paths([str(tmp_path)]))
    assert [replay.source for replay in replays] == [f"{path}/2026-11-20/{number}.json" for number in range(3)]
    assert left_out == [
        f"{path}/2026-11-20/bad.json is not a ConnectX replay: it is not JSON",
        f"{path}/2026-11-20/other.json is not a ConnectX replay: it is of 'halite'",
        f"{tmp_path}/more.zip/7001.json is not a ConnectX replay: 'steps' has an unexpected form",
    ]
    main(["analyse", str(path), "--seconds", "0"])
    out = capsys.readouterr().out
    assert out.count("Ångström v them") == 3 and out.count("left out: ") == 2
    with pytest.raises(ValueError, match="several games"):
        find_one_game(path)


@pytest.mark.parametrize("kept", [10, 100, 400, 700])
def test_a_damaged_archive(kept, content, tmp_path):
    """What can be read of it is there, and why the rest is not."""
    path = day(content, tmp_path)
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) * kept // 1000])
    (tmp_path / "good.json").write_text(json.dumps(content))
    replays, left_out, _ = read_replays(*replay_paths([str(tmp_path)]))
    assert replays[-1].name == "good" and left_out and str(path) in left_out[-1]
    path.unlink()
    whole = zipped(json.dumps(content).encode())
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) * kept // 1000])
    assert len(read_replays(*replay_paths([str(tmp_path)]))[0]) == 1


def test_what_unpacks_without_end(content, tmp_path, monkeypatch):
    """Sizes are limited: of a file, of what it unpacks to, and of what a tar's header says of itself."""
    monkeypatch.setattr(foreign, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr("connectx_toolkit.games.reader.MOST_BYTES", 1 << 20)
    large = b"[" + b" " * (2 << 20) + b"]"
    endless = tarfile.TarInfo("x" * 200)
    header = bytearray(endless.tobuf(tarfile.GNU_FORMAT)[:512])
    header[124:136] = b"77777777777\0"  # octal: 8 GiB of a long name
    header[148:156] = b"        "
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    for name, packed in {
        "plain.json": large, "small.json.gz": gzip.compress(large), "small.zip": zipped(large),
        "twice.zip": zipped(gzip.compress(large), "a.json.gz"), "small.tar": tarred({"a.json": large}),
        "endless.tar.gz": gzip.compress(bytes(header) + bytes(4 << 20)),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(packed)
        found, left_out, _ = read_replays(tmp_path / name)
        assert found == [] and len(left_out) == 1, name
        assert "more than 1 MiB" in left_out[0] or "without end" in left_out[0], left_out


def test_what_is_no_file(content, tmp_path):
    """A pipe in a folder is not waited for; names in archives lead nowhere else."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "deeper.json").mkdir()
    outside = tmp_path / "outside-agent-0-logs.json"
    outside.write_text(json.dumps([[{"duration": 9.0}]]))
    archive = tmp_path / "a.tar"
    archive.write_bytes(tarred({str(tmp_path / "outside.json"): json.dumps(content).encode()}))
    assert replay_paths([str(tmp_path)]) == [archive]
    (replay,) = read_replays(archive)[0]
    assert replay.measured == () and replay.source.startswith(f"{archive}/")


HOSTILE = {
    "EpisodeId": ({"EpisodeId": 2**63}, "EpisodeId should be an integer of at most 63 bits"),
    "a list of names": ({"TeamNames": [["me"], "x"]}, "a team's name should be a text"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_pass_the_door(name, content, tmp_path):
    info, words = HOSTILE[name]
    (tmp_path / "a.json").write_text(json.dumps(content | {"info": info}))
    (tmp_path / "b.json").write_text(json.dumps(content))
    (replay,), (why,), _ = read_replays(*replay_paths([str(tmp_path)]))
    assert replay.name == "b" and words in why


def test_names_can_be_printed_and_stored(content, tmp_path, capsys):
    """A lone surrogate, escape sequences, and a name that is missing."""
    for number, names in enumerate(
        (["me", "\ud800x"], ["me", "\x1b[2J\x1b]0;owned\x07evil"], ["me", None], ["me", ""])
    ):
        info = {"TeamNames": names, "EpisodeId": number + 1}
        (tmp_path / f"{number}.json").write_text(json.dumps(content | {"info": info}))
    names = [replay.names[1] for replay in read_replays(*replay_paths([str(tmp_path)]))[0]]
    assert names == [r"\ud800x", r"\x1b[2J\x1b]0;owned\x07evil", "second", "second"]
    main(["analyse", "--seconds", "0", str(tmp_path)])
    out = capsys.readouterr().out
    assert r"\x1b[2J" in out and "\x1b" not in out and "\x07" not in out and r"\ud800x" in out


@pytest.mark.parametrize("text", ["3342", "3 3 4 2", "3, 3, 4, 2", "3,3,4,2", "33 42"])
def test_columns_are_read_alike_everywhere(text, tmp_path):
    """By commands, functions, the board and its page, and in files of openings and of positions."""
    file, said, moves = tmp_path / "file.txt", list[dict](), (3, 3, 4, 2)
    file.write_text(f"{text}\n")
    message = {"type": "read", "text": text, "rows": 6, "columns": 7, "inarow": 4}
    Session(said.append, Analyst(), Opening()).receive(message)
    assert said[0]["game"]["moves"] == [*moves]
    assert parse_moves(text, STANDARD) == find_one_game(text).moves == find_one_game([*moves]).moves == moves
    assert read_openings(file, STANDARD) == [moves]
    if text != "33 42":  # there, columns and a score
        assert read_positions(file)[0] == [Position.from_moves(moves, STANDARD)]
    wide = geometry_of(6, 12, 4)
    assert parse_moves("3 10 3", wide) == parse_moves("3,10,3", wide) == (3, 10, 3)
    long = ",".join(str(column) for _ in range(10) for column in range(12))
    assert len(find_one_game(long, geometry_of(12, 12, 12)).moves) == 120  # not the name of a file
