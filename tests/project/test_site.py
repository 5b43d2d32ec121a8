"""The documentation site: its tables of commands, and the whole of it where mkdocs is installed (make docs)."""

import argparse
import ast
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

from connectx_toolkit.cli.main import evaluate_commands
from connectx_toolkit.system.files import ROOT
from tests.conftest import BROWSER, CHROMIUM
from tests.project.test_readme import PLACEHOLDER, parse


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "hooks.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_has_a_section_with_its_options(hooks):
    sections = hooks.reference("evaluate.py").split("\n## ")
    assert len(sections) == len(evaluate_commands())
    (match,) = (text for text in sections if text.startswith("`evaluate.py match`"))
    assert "| `agent1` |" in match and "| `--pairs N` |" in match and "| `--sprt ELO0 ELO1` |" in match
    assert "| `-o`, `--output FILE` |" in hooks.reference("build_submission.py")


def test_indented_lines_are_code_unless_they_belong_to_a_list(hooks):
    told: set[str] = set()
    text, code, points = hooks.passages("Try\n  python a.py\n\n- one\n  goes on\n- <two>\n", told)
    assert (text, code, points) == ("Try", "```text\npython a.py\n```", "- one\n  goes on\n- &lt;two&gt;")
    assert not list(hooks.passages("Try\n  python a.py", told))  # it was told


EXAMPLE = re.compile(r"^\s*python (\S+\.py \S+ \S[^\n]*?)(?:\s{2,}.*)?$", re.M)  # what follows two spaces explains it


@pytest.mark.parametrize("script", ["evaluate.py", "build_submission.py", "train.py"])
def test_examples_of_help_texts_parse(hooks, script):
    examples = [line for line in EXAMPLE.findall(hooks.reference(script)) if not PLACEHOLDER.search(line)]
    assert examples
    for line in examples:
        parse(shlex.split(line))


def test_parsers_are_left_as_they_were(hooks):
    before = argparse.ArgumentParser.parse_known_args
    hooks.reference("build_submission.py")
    assert argparse.ArgumentParser.parse_known_args is before


def test_help_texts_are_data_not_markup(hooks):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("a|b", "c"), default="c", help="<b> or a | b (default: %(default)s)")
    assert hooks.options_table(parser).splitlines()[-3] == (r"| `--mode {a\|b,c}` | &lt;b&gt; or a \| b (default: c) |")


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](docs/guides/compare.md#x)", "[a](../guides/compare.md#x)"),
        ("![a](agents/ladder.svg)", "![a](../assets/ladder.svg)"),
        ("[a](CHANGELOG.md)", "[a](changelog.md)"),
        ("[a](Makefile)", "[a](https://host/us/blob/main/Makefile)"),
        ("[a](https://kaggle.com)", "[a](https://kaggle.com)"),
    ],
)
def test_links_of_the_root_lead_to_the_same_places_on_the_site(hooks, link, expected):
    assert hooks.relinked(link, ROOT, "project/contributing.md", "https://host/us") == expected


@pytest.mark.parametrize("path", sorted((ROOT / "connectx").glob("*.py")), ids=lambda path: path.stem)
def test_public_names_are_on_the_site(path):
    assignments = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
    public = [ast.literal_eval(node.value) for node in assignments if ast.unparse(node.targets[0]) == "__all__"]
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    assert all(f"connectx.{path.stem}.{name}" in page for names in public for name in names)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built without a broken link."""
    pytest.importorskip("mkdocs", reason="mkdocs")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder]  # -q would hide warnings
    run = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not run.returncode, run.stderr
    return folder


def test_what_the_site_holds(site):
    index = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert {"reference/train/#trainpy-distill", "concepts/glossary/"} <= {page["location"] for page in index}
    assert "fonts.googleapis" not in (site / "index.html").read_text()


FIRST_HITS = {
    "timeout": "concepts/kaggle",
    "overage": "concepts/kaggle",
    "numba": "guides/write-an-agent",
    "weights": "guides/write-an-agent",
    "book": "guides/learn-from-the-ladder",
    "tar.gz": "guides/build",
    "gpu": "guides/train-a-network",
    "replay": "guides/analyse",
    "elo": "concepts/statistics",
    "windows": "start/install",
    "macos": "start/install",
    "git clone": "start/install",
    "kaggle notebook": "start/kaggle",
    "pip install": "start/install",
    "dask": "guides/train-a-network",
}


@CHROMIUM
def test_the_search_finds_what_people_ask_for(site):
    """Its first hit, as the page itself finds it."""
    from playwright.sync_api import expect, sync_playwright

    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.locator(".md-search__input").click()
        hits = page.locator(".md-search-result__link")
        for words, address in FIRST_HITS.items():
            page.locator(".md-search__input").fill("")
            expect(hits).to_have_count(0)
            page.locator(".md-search__input").fill(words)
            page.locator(".md-search__input").press("End")  # it listens to keys
            expect(hits.first).to_have_attribute("href", re.compile(f"/{address}/"))
        server.shutdown()
