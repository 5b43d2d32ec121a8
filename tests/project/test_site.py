"""The documentation site: its tables of commands, and the whole of it where mkdocs is installed (make docs)."""

import ast
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from connectx_toolkit.cli import train
from connectx_toolkit.system.files import ROOT
from tests.project.test_readme import DOCUMENTS, PLACEHOLDER, blocks, in_text, parse

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "hooks.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLE = re.compile(r"^\s*python (\S+\.py \S+ \S[^\n]*?)(?:\s{2,}.*)?$", re.M)  # what follows two spaces explains it


@pytest.mark.parametrize("script", ["evaluate.py", "build_submission.py", "train.py"])
def test_examples_of_help_texts_parse(hooks, script):
    examples = [line for line in EXAMPLE.findall(hooks.reference(script)) if not PLACEHOLDER.search(line)]
    assert examples
    for line in examples:
        parse(shlex.split(line))


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
NAMED = re.compile(r"((?:`\w+`(?:, | and )?)+) (?:in|of) `([\w/]+\.py)`")
OF_OTHERS = {"--depth", "--install", "--no-deps", "--target", "--nthreads", "--nworkers"}  # git, wsl, pip, dask


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_names_are_in_the_files_that_are_said_to_hold_them(document):
    """ "`TAKEN` and `LAST` in `positions.py`": defined there, at the top or in a class."""
    for names, file in NAMED.findall(document.read_text(encoding="utf-8")):
        defined = set()
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            defined |= {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
            defined |= {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
        assert set(re.findall(r"\w+", names)) - {"and"} <= defined, (names, file)


def test_add_a_method_as_printed(tmp_path, monkeypatch, capsys):
    """The guide's module, and a line in ``GROUPS``: its help, its limits, its run and its manifest."""
    guide = ROOT / "docs" / "guides" / "training-methods.md"
    (source,) = (block for language, block in blocks(guide) if language == "python")
    module = ModuleType("connectx_toolkit.training.learners.coin")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(source, vars(module))
    monkeypatch.setitem(train.METHODS, "coin", "training.learners.coin")
    with pytest.raises(SystemExit):
        train.main(["coin", "--help"])
    assert "--tosses" in capsys.readouterr().out
    assert train.main(["coin", "--tosses", "0"]) == 2 and "tosses should be at least 1" in capsys.readouterr().err
    assert train.main(["coin", "--tosses", "7", "--run", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("score: half of them; wrote ")
    manifest = json.loads((tmp_path / "manifest.json").read_text())["coin.txt"]
    assert manifest["tosses"] == 7 and (tmp_path / "coin.txt").read_bytes() == b"0.5"


@pytest.fixture
def copied(tmp_path) -> Path:
    """A copy of what the scripts consist of, to add something to."""
    for name in ("agents", "connectx_core", "connectx_toolkit"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("evaluate.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_add_an_agent_and_a_command_as_printed(copied):
    """In a copy: the agent is listed and plays, the command has its option and its help."""
    printed = blocks(ROOT / "CONTRIBUTING.md")
    agent, function = (block for language, block in printed if language == "python")
    (line,) = (block for _, block in printed if "command(api." in block)
    (copied / "agents" / "middle.py").write_text(agent)
    with (copied / "connectx_toolkit" / "api.py").open("a") as api:
        api.write(function)
    commands = copied / "connectx_toolkit" / "cli" / "functions.py"
    head, start, rest = commands.read_text().partition("COMMANDS = {\n")
    commands.write_text(head + start + line + rest)

    def said(*words: str) -> str:
        command = [sys.executable, "evaluate.py", *words]
        return subprocess.run(command, cwd=copied, capture_output=True, text=True, check=True).stdout

    assert "The most central column" in said("list")
    assert "middle" in said("match", "middle", "leftmost", "--pairs", "1")
    assert said("left", "33", "--cells", "40") == "38 plies are left\n"
    assert "cells of the board (default: 42)" in said("left", "--help")


def test_options_that_texts_name_exist(hooks):
    """Of some command of ours, or of a benchmark. Results name commands of the commit that measured them."""
    known = OF_OTHERS | {"--help"}
    for script in ("evaluate.py", "build_submission.py", "train.py"):
        known |= set(OPTION.findall(hooks.reference(script)))
    for path in (ROOT / "benchmarks").glob("*.py"):
        known |= set(OPTION.findall(path.read_text(encoding="utf-8")))
    told = [path for path in DOCUMENTS if path.name != "results.md"]
    named = {option: path.name for path in told for words in in_text(path) for option in OPTION.findall(words)}
    assert {option: where for option, where in named.items() if option not in known} == {}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built without a broken link."""
    pytest.importorskip("mkdocs", reason="needs mkdocs: make .venv/.installed-docs")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder]  # -q would hide warnings
    run = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not run.returncode, run.stderr
    return folder


def test_what_the_site_holds(site):
    index = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert {"reference/train/#trainpy-network", "concepts/glossary/"} <= {page["location"] for page in index}
    assert "fonts.googleapis" not in (site / "index.html").read_text()
    assert [page["location"] for page in index if "SUPPRESS" in page["text"]] == []  # of options that help hides
