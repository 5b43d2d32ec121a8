"""Following imports, rewriting them, and refusing by file and line what a submission cannot hold."""

import ast
from pathlib import Path

import pytest

from connectx_toolkit.builder.source.inline import Refused, inline
from connectx_toolkit.builder.source.module import needed_packages

AGENT = "def agent(obs, config):\n    return 0\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "agent.py"


def refusals(folder: Path, source: str, **others: str) -> list[tuple[str, int, str]]:
    with pytest.raises(Refused) as caught:
        inline(write(folder, {"agent.py": source} | {name + ".py": text for name, text in others.items()}))
    return [(refusal.path.name, refusal.line, refusal.reason) for refusal in caught.value.refusals]


@pytest.mark.parametrize(
    ("statement", "rewritten"),
    [
        ("import helper", "from . import helper"),
        ("import helper as h", "from . import helper as h"),
        ("import pkg.inner as i", "from .pkg import inner as i"),
        ("import pkg.inner", "from .pkg import inner as pkg; from . import pkg"),
        ("import os, helper, sys as s", "import os; from . import helper; import sys as s"),
        ("from helper import a, b as c", "from .helper import a, b as c"),
        ("from pkg import inner", "from .pkg import inner"),
        ("from pkg.inner import (\n    a,  # why\n    b,\n)", "from .pkg.inner import (\n    a,  # why\n    b,\n)"),
        ("from .helper import a", "from .helper import a"),
        ("from connectx_core.position import STANDARD", "from .connectx_core.position import STANDARD"),
        ("import numpy as np", "import numpy as np"),
        ("x = 'é'; import helper; y = 1", "x = 'é'; from . import helper; y = 1"),
        ("import os, \\\n  helper", "import os; from . import helper \\\n"),
    ],
)
def test_imports_become_relative(tmp_path, statement, rewritten):
    helpers = {"helper.py": "a = b = 1\n", "pkg/__init__.py": "", "pkg/inner.py": "a = b = 1\n"}
    source = f"{statement}\n\n\n{AGENT}"
    text = inline(write(tmp_path, helpers | {"agent.py": source})).sources["agent.py"]
    assert text == f"{rewritten}\n\n\n{AGENT}"
    assert ast.parse(text).body[-1].lineno == ast.parse(source).body[-1].lineno


def test_a_module_of_a_package_counts_its_dots(tmp_path):
    files = {
        "agent.py": "import pkg.deep.leaf as leaf\n" + AGENT,
        "pkg/deep/leaf.py": "import helper\n",
        "helper.py": "",
    }
    sources = inline(write(tmp_path, files)).sources
    assert sources["pkg/deep/leaf.py"] == "from ... import helper\n"
    assert sorted(sources) == ["agent.py", "helper.py", "pkg/__init__.py", "pkg/deep/__init__.py", "pkg/deep/leaf.py"]


def test_lazy_imports_are_followed_and_only_what_is_imported_is_taken(tmp_path):
    files = {"agent.py": "def agent(obs, config):\n    import helper\n    return helper.x\n", "helper.py": "x = 1\n"}
    assert sorted(inline(write(tmp_path, files | {"unused.py": ""})).sources) == ["agent.py", "helper.py"]


STARS = {
    "public": "import numpy as np\nROWS = 6\ndef legal(board):\n    return [0]\n_own = 1\n",
    "listed": "import numpy as np\n__all__ = ['legal', 'np']\ndef legal(board):\n    return [0]\n",
    "of a star": "from deeper import *\nlegal = len\n",
    "in a circle": "from agent import *\nimport numpy as np\nlegal = len\n",
}


@pytest.mark.parametrize("name", STARS)
def test_a_star_import_of_an_own_module(name, tmp_path):
    """It stays one, of a module that stays one; the usual name of numpy is known."""
    helper = STARS[name]
    (tmp_path / "x.npz").touch()
    text = f"from tools import *\ndata = np.load('x.npz')\n{AGENT}"
    inlined = inline(write(tmp_path, {"agent.py": text, "tools.py": helper, "deeper.py": "import numpy as np\n"}))
    assert inlined.sources["agent.py"].startswith("from .tools import *\n")
    assert inlined.sources["tools.py"].replace("from .", "from ") == helper
    assert set(inlined.files) == {"x.npz"} and "__beside__" in inlined.sources["agent.py"]


def test_a_star_import_brings_the_modules_that_it_lists(tmp_path):
    files = {"engine/__init__.py": "__all__ = ['search']\n", "engine/search.py": AGENT}
    inlined = inline(write(tmp_path, {"agent.py": f"from engine import *\n{AGENT}"} | files))
    assert inlined.sources.keys() >= files.keys()


def test_the_agents_folder_comes_first(tmp_path):
    """As evaluate finds it: also if the parent has a module of that name; and none of the toolkit's agents."""
    files = {
        "p/__init__.py": "",
        "p/mine.py": f"import helper\n{AGENT}",
        "p/helper.py": "x = 5\n",
        "helper.py": "x = 1\n",
    }
    write(tmp_path, files | {"other.py": f"import agents.leftmost\n{AGENT}"})
    assert inline(tmp_path / "p" / "mine.py").sources["helper.py"] == "x = 5\n"
    with pytest.raises(Refused, match="unknown package agents"):
        inline(tmp_path / "other.py")


@pytest.mark.parametrize(
    "decorator", ["@njit(cache=True)", "@nb.njit(fastmath=True, cache=True)", "@vectorize(cache=True)"]
)
def test_cache_is_switched_off(tmp_path, decorator):
    source = (
        f"import numba as nb\nfrom numba import njit, vectorize\n\n\n{decorator}\ndef f(x):\n    return x\n\n\n{AGENT}"
    )
    text = inline(write(tmp_path, {"agent.py": source})).sources["agent.py"]
    assert text == source.replace("cache=True", "cache=False")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("import nonesuch", "unknown package nonesuch"),
        ("import rich", "known to have. Catch ImportError"),
        ("import panda", "did you mean pandas?"),
        ("from stable_baselines3 import PPO", "`python train.py adopt model.zip -o helper_adopted.py`"),
        ("from . import *", "binds nothing"),
        ("import helper.nothing", "no module"),
        ("from ..above import x", "beyond the top"),
        ("import numba\n@numba.njit(cache=1 > 0)\ndef f():\n    pass", "cache="),
        ("from connectx_core.weights import read_data\nname = 'w'\nread_data(name)", "literal"),
        ("from connectx_core.weights import read_data\nread_data('missing.npz')", "does not exist"),
        ("from connectx_core.weights import read_data\nread_data('../w.npz')", "beside"),
        ("from connectx_core.weights import read_data\nreader = read_data", "where it is named"),
        ("def broken(:", "syntax error"),
    ],
)
def test_refused_by_file_and_line(tmp_path, line, word):
    found = refusals(tmp_path, f"import helper\n{AGENT}", helper=f"# first\n{line}\n")
    assert [name for name, _, _ in found] == ["helper.py"]
    expected_line = 2 + line.count("\n") if "def f" not in line else 3
    assert found[0][1] == expected_line, found
    assert word in found[0][2]


@pytest.mark.parametrize(
    "line",
    [
        "import kaggle_environments, typing_extensions, scipy.signal",
        "import sys\nsys.path.append('/kaggle_simulations/agent')",
        "import os\nos.chdir('/kaggle_simulations/agent') if os.path.exists('/kaggle_simulations/agent') else None",
        "import tempfile, shutil, glob",
        "if __name__ == '__main__':\n    import pandas\n    print(open(__file__).read())",
        "try:\n    import cupy\nexcept ImportError:\n    cupy = None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas",
        "def open(name):\n    return name\n\n\nx = open('mine')",
        "import io, numpy\nx = lambda data: numpy.load(io.BytesIO(data))",
        "import os\nx = os.path.join('a', os.sep)",
    ],
)
def test_not_refused(tmp_path, line):
    assert line in inline(write(tmp_path, {"agent.py": f"{line}\n\n\n{AGENT}"})).sources["agent.py"]


NAMES = ["my-agent:my_agent", "mini.v2:mini_v2", "my agent:my_agent", "class:class", "123:123", "züge+1:züge_1"]


@pytest.mark.parametrize("given", NAMES)
def test_file_names_that_are_no_identifiers(given, tmp_path):
    stem, module = given.split(":")
    name = f"{stem}.py"
    (tmp_path / name).write_text(f"import helper\n{AGENT}")
    (tmp_path / "helper.py").write_text("")
    inlined = inline(tmp_path / name)
    assert inlined.entry == (module, "agent") and sorted(inlined.sources) == sorted([f"{module}.py", "helper.py"])


def test_a_module_beside_keeps_its_name(tmp_path):
    (tmp_path / "my-agent.py").write_text(f"from my_agent import COLUMN\n{AGENT}")
    (tmp_path / "my_agent.py").write_text("COLUMN = 3\n")
    (tmp_path / "my_agent_").mkdir()
    inlined = inline(tmp_path / "my-agent.py")
    assert inlined.entry[0] == "my_agent__" and inlined.sources["my_agent.py"] == "COLUMN = 3\n"


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        (AGENT, "agent"),
        ("def helper():\n    pass\n\n\ndef my_agent(obs, config):\n    return 0\n", "my_agent"),
        ("def agent(obs, config):\n    return 0\n\n\ndef later():\n    pass\n", "agent"),
        ("agent = lambda obs, config: 0\n", "agent"),
        ("if True:\n    def agent(obs, config):\n        return 0\n", "agent"),
        ("from helper import agent\n", "agent"),
    ],
)
def test_entry(tmp_path, source, entry):
    assert inline(write(tmp_path, {"agent.py": source, "helper.py": AGENT})).entry == ("agent", entry)


@pytest.mark.parametrize("source", ["async " + AGENT, "class agent:\n    pass\n", "x = 1\n"])
def test_no_entry(tmp_path, source):
    assert "agent" in refusals(tmp_path, source)[0][2]


def test_encodings_and_line_ends(tmp_path):
    path = tmp_path / "agent.py"
    path.write_bytes(b"\xef\xbb\xbfNAME = '\xc3\xa9'\r\n" + AGENT.encode())
    assert inline(path).sources["agent.py"] == "NAME = 'é'\n" + AGENT
    path.write_bytes(b"# coding: latin-1\nNAME = '\xe9'\n" + AGENT.encode())
    assert "NAME = 'é'" in inline(path).sources["agent.py"]
    path.write_bytes(b"NAME = '\xe9'\n" + AGENT.encode())
    with pytest.raises(Refused):
        inline(path)


def test_a_source_that_is_no_python_hides_no_package():
    assert needed_packages([b"def (", b"import torch.nn\nfrom . import mine\n", b"\0"]).keys() == {"torch"}


def test_an_agent_inside_a_package_brings_the_package(tmp_path):
    """Its ``__init__.py`` runs before it, on the judge too."""
    write(tmp_path, {"outer/__init__.py": "FIRST = 1\n", "outer/inner/__init__.py": "", "outer/inner/agent.py": AGENT})
    inlined = inline(tmp_path / "outer" / "inner" / "agent.py")
    names = {"outer/__init__.py", "outer/inner/__init__.py", "outer/inner/agent.py"}
    assert inlined.entry == ("outer.inner.agent", "agent") and inlined.sources.keys() == names
