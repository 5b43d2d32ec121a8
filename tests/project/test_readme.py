"""What the README, CONTRIBUTING and docs/ tell people to type: it parses, it runs, and what they name is there."""

import ast
import importlib
import importlib.util
import json
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from kaggle_environments import make

from connectx_core.position import STANDARD, Position
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.cli import train
from connectx_toolkit.cli.main import evaluate_commands
from connectx_toolkit.system.console import Parser
from connectx_toolkit.system.files import ROOT, our_agents
from tests.builder.notebook.pages import written
from tests.conftest import evaluate

pytestmark = pytest.mark.slow
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
PLACEHOLDER = re.compile(r"\b(METHOD|HOST|BEFORE|NEW)\b")  # stands for what the reader chooses
MADE_BY_COMMANDS = ("runs/", "data/", "submissions/", ".venv")
AGENT = "def agent(obs, config):\n    return [c for c in range(config.columns) if obs.board[c] == 0][0]\n"
LESS_WORK = [
    (r"--(rounds|pairs) \d+", r"--\1 1"),
    (r"--(concurrency|workers) \d+", r"--\1 1"),
    (r" --slowdown \d+", ""),
]
LESS_WORK += [(r"(--sprt \S+ \S+)", r"\1 --pairs 2")]
QUICK = ["one_step", "middle", "leftmost", "random_legal"]  # these neither compile nor think


class Command(NamedTuple):
    document: str
    text: str


def blocks(document: Path) -> list[tuple[str, str]]:
    """(language, content) of each code block."""
    return BLOCK.findall(document.read_text(encoding="utf-8"))


def in_text(document: Path) -> list[str]:
    """What stands between backquotes, outside code blocks."""
    return re.findall(r"`([^`\n]+)`", BLOCK.sub("", document.read_text(encoding="utf-8")))


def commands() -> Iterator[Command]:
    """Every command, of code blocks and of the text; a line that ends in a backslash goes on in the next."""
    for document in DOCUMENTS:
        lines = [line for language, block in blocks(document) if language in ("", "sh", "bash", "console")
                 for line in block.replace("\\\n", " ").splitlines()]  # fmt: skip
        for line in [*lines, *in_text(document)]:
            if re.match(r"(python|make) (?!\.)", line.removeprefix("$ ")) and not PLACEHOLDER.search(line):
                words = shlex.split(line.removeprefix("$ "), comments=True)
                yield Command(document.name, shlex.join(words))


@pytest.mark.parametrize("command", sorted(set(commands())), ids=lambda command: command.text)
def test_commands_parse(command):
    """By the script's own parser; make's targets and variables exist; benchmarks know their options."""
    program, *arguments = command.text.split(" ", 1)
    words = shlex.split(arguments[0] if arguments else "")
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for word in words:
            name, is_setting, _ = word.partition("=")
            pattern = rf"^{name} \?=" if is_setting else rf"^{re.escape(name)}:"
            assert re.search(pattern, makefile, re.M), f"no {name} in the Makefile"
    elif words[0] == "-m":
        source = ROOT / (words[1].replace(".", "/") + ".py")
        text = source.read_text(encoding="utf-8") if words[1].split(".")[0] in ("benchmarks", "arena", "tests") else ""
        assert not text or all(f'"{word}"' in text for word in words[2:] if word.startswith("--"))
    else:
        parse(words)


def parse(words: list[str]) -> None:
    """SystemExit with the parser's own line if it does not."""
    script, *arguments = words
    if "--help" in arguments:
        arguments.remove("--help")
        assert script in ("evaluate.py", "build_submission.py", "train.py")
        assert not arguments or arguments[0] in {*evaluate_commands(), *train.METHODS}
    elif script == "evaluate.py":
        commands = evaluate_commands()
        command = arguments.pop(0) if arguments and arguments[0] in commands else ""
        parser = Parser(prog=f"evaluate.py {command}")
        commands[command].add_options(parser)
        parser.parse_args(arguments)
    else:
        {"build_submission.py": build_submission.parse_arguments, "train.py": train.parse_arguments}[script](arguments)


def smaller(text: str) -> list[str]:
    """The words of a command after ``python``, with less work to do and agents that are quick."""
    for pattern, replacement in LESS_WORK:
        text = re.sub(pattern, replacement, text)
    words = shlex.split(text)[1:]
    if words[0] == "evaluate.py" and words[1] not in evaluate_commands() and "--rounds" not in words:
        words += ["--rounds", "1"]
    if words[1] == "exam" and "--positions" not in words:
        words += ["--count", "20"]
    others, given = (name for name in QUICK if name not in words), dict[str, str | None]()
    for word in words:
        if re.split("[@~]", word)[0] in our_agents() and word not in QUICK and word not in given:
            given[word] = next(others, None)  # a tournament of many agents has fewer
    words = [name for word in words if (name := given.get(word, word)) is not None]
    return [*words, "--positions", "5"] if words[0] == "build_submission.py" else words


def cheap(command: Command) -> bool:
    """All of evaluate.py, and builds: training takes hours, judging every move minutes; a build checks what it made; a
    board is served until somebody ends it; files of games are made by other commands first."""
    return command.text.startswith(("python evaluate.py", "python build_submission.py")) and not re.search(
        r"--help|--scheduler|--judge|--check|--submit|--submission|episodes|mistakes.txt"
        r"|evaluate.py board|evaluate.py report$|analyse runs/|runs/old/",
        command.text,
    )


def cheap_commands() -> list[Command]:
    """Each once, wherever it stands; one build of a file is enough: it takes seconds."""
    found = {command.text: command for command in filter(cheap, commands())}
    builds = [text for text in found if "build_submission.py" in text and ".ipynb" not in text]
    return [command for text, command in found.items() if text not in builds[1:]]


@pytest.fixture(scope="module")
def replay() -> str:
    """A game that my_team loses, whose four stones in a row nobody stops."""
    environment = make("connectx", info={"TeamNames": ["my_team", "another"]})
    environment.run([lambda obs: obs.step // 2 % 3, lambda obs: 6])
    return json.dumps(environment.toJSON())


@pytest.mark.parametrize("command", cheap_commands(), ids=lambda command: command.text)
def test_cheap_commands_run(command, replay, tmp_path, monkeypatch):
    """As a reader would, in a folder with the files that it names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda prompt="": "quit")
    for folder in ("submissions", "runs", "agents"):
        Path(folder).mkdir()
    script, *arguments = smaller(command.text)
    for name in arguments:
        if re.fullmatch(r"[\w-]+\.json", name):
            Path(name).write_text(replay)
        elif name == "my_replays":
            Path(name).mkdir()
            for opponent in ("another", "a third"):
                (Path(name) / f"{opponent}.json").write_text(replay.replace("another", opponent))
        elif name.startswith("lesson.ipynb"):
            written(Path("lesson.ipynb"), [AGENT.replace("agent", "my_agent")])
        elif re.fullmatch(r"\w+\.py", name):
            Path(name).write_text(AGENT)  # the README's own uses all of the clock
    run_one(script, arguments, command)


KAGGLE_PAGE = ROOT / "docs" / "start" / "kaggle.md"  # test_kaggle_page runs its cells in one kernel
NOTEBOOK = [  # blocks of a notebook's cells, but those that need what the reader has trained
    pytest.param(source, id=path.name)
    for path in DOCUMENTS
    if path != KAGGLE_PAGE
    for language, source in blocks(path)
    if language == "python" and "from connectx_toolkit import" in source and "adopt(" not in source
]
LESS_PLAY = [(r"n_rounds=\d+", "n_rounds=2"), (r"pairs=\d+", "pairs=1"), (r"sprt=\(.*?\)", "pairs=1")]
LESS_PLAY += [(r'"(minimax|perfect)[@~]\d+"', '"leftmost"')]


@pytest.mark.parametrize("source", NOTEBOOK)
def test_cells_to_copy_run(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for pattern, replacement in LESS_PLAY:
        source = re.sub(pattern, replacement, source)
    Path("cell.py").write_text(source)
    runpy.run_path("cell.py", run_name="__main__")


AGENTS = [
    pytest.param(source, id=path.name)
    for path in DOCUMENTS
    for _, source in blocks(path)
    if "\ndef agent(obs, config):" in source
]


@pytest.mark.parametrize("source", AGENTS)
@pytest.mark.parametrize(
    ("moves", "column"), [([3, 0, 3, 1, 3, 2], 3), ([0, 3, 1, 3, 6, 3], 3)], ids=["wins", "blocks"]
)
def test_agents_to_copy_play(source, moves, column):
    """What a reader copies wins with the next stone, or blocks one, with as few nodes as the builder's comparison."""
    names: dict = {}
    exec(compile(source, "my_agent.py", "exec"), names)
    board = Position.from_moves(moves, STANDARD).to_board()
    config = SimpleNamespace(rows=6, columns=7, inarow=4, nodeBudget=300)
    assert names["agent"](SimpleNamespace(board=list(board), mark=1, step=len(moves)), config) == column


def run_one(script: str, arguments: list[str], command: Command) -> None:
    code: object
    try:
        main = evaluate if script == "evaluate.py" else build_submission.main
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    assert not code, f"{command.text}, as {' '.join(arguments)}: exit code {code}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_named_exists(document):
    """Benchmarks, files between backquotes, pictures, links within the project, and the files of the map."""
    text = document.read_text(encoding="utf-8")
    for name in set(re.findall(r"\bbenchmarks\.(\w+)", text)):
        assert (ROOT / "benchmarks" / f"{name}.py").is_file(), name
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    paths = [span for span in in_text(document) if re.fullmatch(r"[\w./-]+", span) and span.split("/")[0] in folders]
    for path in paths:
        assert (ROOT / path).exists() or path.startswith(MADE_BY_COMMANDS), path
    for link in re.findall(r"\]\((?!\w+:|#)([^)#]+)", text):
        assert (document.parent / link).exists(), link


@pytest.mark.parametrize(
    "source",
    [block for path in DOCUMENTS for language, block in blocks(path) if language == "python"],
    ids=lambda source: source.splitlines()[0],
)
def test_python_compiles_and_its_imports_exist(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module = importlib.import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.util.find_spec(f"{node.module}.{alias.name}")


def test_the_plain_search_is_printed_as_it_is():
    """docs/guides/write-an-agent.md shows an agent of the toolkit to the end."""
    agent = (ROOT / "agents" / "alpha_beta.py").read_text(encoding="utf-8")
    assert ("python", agent) in blocks(ROOT / "docs" / "guides" / "write-an-agent.md")


def test_the_heuristic_of_the_guide(tmp_path, monkeypatch, capsys):
    """As printed it beats ``minimax@2``, and is built with machine code, by the guide's commands."""
    guide = ROOT / "docs" / "guides" / "your-heuristic.md"
    monkeypatch.chdir(tmp_path)
    Path("my_heuristic.py").write_text(next(text for language, text in blocks(guide) if language == "python"))
    match, build = (
        next(shlex.split(one.text)[2:] for one in commands() if one.document == guide.name and words in one.text)
        for words in ("my_heuristic.py minimax@2", "build_submission.py my_heuristic.py")
    )
    evaluate([*match, "--pairs", "4", "--json"])
    ours, theirs = json.loads(capsys.readouterr().out)["won"]
    assert ours > 2 * theirs
    assert not build_submission.main([*build, "--positions", "20"])
    assert re.search(r"machine code +pass +usable here", capsys.readouterr().out)
