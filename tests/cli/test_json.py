"""What machines get: one JSON document, with the keys of its page, whatever the command prints besides."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from connectx_toolkit.cli.functions import COMMANDS, PRINT
from connectx_toolkit.cli.main import run
from connectx_toolkit.system.files import ROOT

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
OPEN = ("tables", "elo", "agents[].data", "games[].slowest", "matches", "groups[].standings", "groups[].matches")
CALLS = {
    "match": "leftmost one_step --pairs 4 --sprt 0 50 --games games",
    "tournament": "leftmost middle one_step --pairs 2 --games games",
    "report": "--games games",
    "list": "",
    "analyse": "3332221",
    "exam": "leftmost --count 12",
    "explore": "--games games --origin arena --seconds 0",
}


def keys_of(value: Any, name: str = "") -> set[str]:
    """The keys of a document, as its page writes them; of lists of mappings those of all items, of ``OPEN`` none."""
    if isinstance(value, dict) and name.removesuffix("[]") not in OPEN:
        inside = [keys_of(each, f"{name}{name and '.'}{key}") for key, each in value.items()]
        return set().union(*inside) | ({name} if name and not name.endswith("]") else set())
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return set().union(*(keys_of(each, f"{name}[]") for each in value))
    return {name}


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> dict[str, Any]:
    """What each command prints."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("json"))
        for name, arguments in CALLS.items():
            patch.setattr("sys.stdout", file := io.StringIO())
            assert run("evaluate", [name, *arguments.split(), "--json"]) == 0
            found[name] = json.loads(file.getvalue())
    return found


@pytest.mark.parametrize("name", CALLS)
def test_the_keys_are_those_of_the_page(name, documents):
    _, _, section = PAGE.partition(f"## `{name}`\n")
    told = set(re.findall(r"^\| `([^`]+)` \|", section.partition("\n## ")[0], re.M))
    plain = {key.removesuffix("[]") for key in told or {"tables", "lines"}}
    assert {key.removesuffix("[]") for key in keys_of(documents[name])} == plain


def test_every_command_that_gives_a_result_has_it():
    assert {function.__name__ for function in PRINT} == {"get_win_percentages", "board"}
    assert COMMANDS.keys() - {"", "board", "episodes"} == CALLS.keys()


def test_what_is_told_besides_goes_to_standard_error(tmp_path, monkeypatch, capsys):
    """Such as that games are known."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run("evaluate", ["match", "leftmost", "middle", "--pairs", "1", "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["games"] == 2
    assert "reused 2 of 2 games" in err


def test_what_json_lacks_is_null(tmp_path, monkeypatch, capsys):
    """An agent that wins every game has no finite Elo."""
    monkeypatch.chdir(tmp_path)
    assert run("evaluate", ["match", "one_step", "leftmost", "--pairs", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document["won"] == [2, 0] and document["elo"] is None


@pytest.mark.parametrize("form", ["3333", '[{"steps": []}, [3, 3]]', "\ufeff3342\n"])
def test_standard_input_stands_for_a_file(form, tmp_path, monkeypatch, capsys):
    """A replay or columns, in any form that a file may have."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(form.encode())))
    assert run("evaluate", ["analyse", "-", "--json"]) == 0
    (game,) = json.loads(capsys.readouterr().out)["games"]
    assert game["moves"][0] == 3 and not list(Path().iterdir())


@pytest.mark.parametrize(
    "arguments", ["exam leftmost --positions -", "match leftmost middle --pairs 1 --openings -", "board --practise -"]
)
def test_standard_input_stands_for_positions(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"33\nhello\n")))
    assert run("evaluate", arguments.split()) == 2
    assert re.search("stdin, line 2: '?hello", capsys.readouterr().err)
