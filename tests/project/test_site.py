"""The documentation site: its tables of commands, and the whole of it where mkdocs is installed (make docs)."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from connectx_toolkit.system.files import ROOT
from tests.project.test_readme import PLACEHOLDER, parse

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
