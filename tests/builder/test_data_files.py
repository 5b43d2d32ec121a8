"""Data files that agents open by path: found, put into an archive, and opened again wherever that is unpacked."""

import gzip
import io
import json
import pickle
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from kaggle_environments.agent import get_last_callable

from connectx_toolkit.builder.build import packed_files, submission_bytes
from connectx_toolkit.builder.embedded.importer import JUDGE_FOLDER, Modules
from connectx_toolkit.builder.preflight.trial import question_after
from connectx_toolkit.builder.source.inline import Inlined, Refused, inline

OBS, CONFIG = question_after("", [])[1:3]
HERE = "import os\nHERE = '/kaggle_simulations/agent' if os.path.exists('/kaggle_simulations/agent') else '.'\n"
BOOK = "/kaggle_simulations/agent/book.txt"
# Each sets COLUMN from a file that holds 5, as people do it.
IDIOMS = {
    "working_directory": "COLUMN = int(open('book.txt').read())",
    "by_keyword": "COLUMN = int(open(file='book.txt', mode='r').read())",
    "with_statement": "with open('./book.txt', encoding='utf-8') as file:\n    COLUMN = int(file.read())",
    "constant": "import pathlib\nBOOK = pathlib.Path('book.txt')\nCOLUMN = int(BOOK.read_text())",
    "of_the_module": "from pathlib import Path\nCOLUMN = int((Path(__file__).parent / 'book.txt').read_text())",
    "with_name": "from pathlib import Path\nwith Path(__file__).with_name('book.txt').open() as file:\n"
    "    COLUMN = int(file.read())",
    "dirname": "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
    "COLUMN = int(open(os.path.join(HERE, 'book.txt')).read())",
    "of_the_working_directory": "import os\nCOLUMN = int(open(os.path.join(os.getcwd(), 'book.txt')).read())",
    "absolute": f"COLUMN = int(open('{BOOK}').read())",
    "joined": HERE + "COLUMN = int(open(os.path.join(HERE, 'book.txt')).read())",
    "formatted": HERE + "BOOK = f'{HERE}/book.txt'\nCOLUMN = int(open(BOOK).read())",
    "tried_in_turn": f"import os\nfor name in ('{BOOK}', 'book.txt'):\n    if os.path.isfile(name):\n"
    "        COLUMN = int(open(name).read())",
    "changed_directory": f"import os\nos.chdir('{JUDGE_FOLDER}')\nCOLUMN = int(open('book.txt').read())",
    "json_in_a_folder": "import json\nCOLUMN = json.load(open('data/book.json'))['column']",
    "folder_joined": "import json, os\nCOLUMN = json.load(open(os.path.join('data', 'book.json')))['column']",
    "listed": "import os\nCOLUMN = len(os.listdir('data')) + 4",
    "found_by_pattern": "from pathlib import Path\nCOLUMN = len(list(Path('data').glob('*.json'))) + 4",
    "numpy": "import numpy as np\nCOLUMN = int(np.load('weights.npz')['w'][0])",
    "numpy_text": "import numpy\nCOLUMN = int(numpy.loadtxt('book.txt'))",
    "compressed": "import gzip\nwith gzip.open('book.gz', 'rt') as file:\n    COLUMN = int(file.read())",
    "pickled": "import pickle\nwith open('book.pkl', 'rb') as file:\n    COLUMN = pickle.load(file)['column']",
    "by_a_helper": "from tools.reader import COLUMN",
    "named_elsewhere": "import names\nCOLUMN = int(open(names.BOOK).read())",
    "handed_on_by_keyword": "import helper\nCOLUMN = int(helper.load(name='book.txt'))",
    "of_an_object": "class Book:\n    def __init__(self, path='book.txt'):\n        self.path = path\n"
    "    def read(self):\n        return open(self.path).read()\nCOLUMN = int(Book().read())",
    "computed_in_a_folder": "import json\nCOLUMN = json.load(open(f'data/{\"book\"}.json'))['column']",
    "matched_by_glob": "import glob, json\nCOLUMN = json.load(open(glob.glob('data/b*.json')[0]))['column']",
    "moved_into_a_folder": "import json, os\nos.chdir('data')\nCOLUMN = json.load(open('book.json'))['column']",
    "of_pkgutil": "import pack\nCOLUMN = pack.COLUMN",
    "pickled_objects": "import pickle\nfrom tree import Node\nCOLUMN = pickle.load(open('tree.pkl', 'rb')).column",
    "in_a_folder_on_the_path": "import os, sys\n"
    "sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))\nfrom mine import COLUMN",
    "imported_by_name": "from importlib import import_module\n"
    "COLUMN = sum(import_module(f'tools.{name}').COLUMN for name in ('reader', 'zero'))",
    "with_old_names_of_numpy": "import numpy as np\nCOLUMN = int(min(np.Inf, np.float_(open('book.txt').read())))",
    "commented_in_umlauts": "x = 'ä'; COLUMN = int(open('book.txt').read())  # größer",
}


def fill(folder: Path) -> None:
    """The files that the idioms read."""
    (folder / "data").mkdir(parents=True)
    (folder / "tools").mkdir()
    (folder / "book.txt").write_text("5\n")
    (folder / "data" / "book.json").write_text(json.dumps({"column": 5}))
    (folder / "data" / ".hidden").write_text("")
    (folder / "book.gz").write_bytes(gzip.compress(b"5"))
    (folder / "book.pkl").write_bytes(pickle.dumps({"column": 5, "agent": np.arange(3)}))
    (folder / "tools" / "own.txt").write_text("5")
    (folder / "tools" / "reader.py").write_text(
        "from pathlib import Path\n\nCOLUMN = int((Path(__file__).parent / 'own.txt').read_text())\n"
    )
    (folder / "tools" / "zero.py").write_text("COLUMN = 0\n")
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text(
        "import pkgutil\nCOLUMN = int(pkgutil.get_data(__package__, 'pack.txt'))\n"
    )
    (folder / "pack" / "pack.txt").write_text("5")
    (folder / "lib").mkdir()
    (folder / "lib" / "mine.py").write_text("from pathlib import Path\nCOLUMN = int(Path('book.txt').read_text())\n")
    (folder / "tree.py").write_text("class Node:\n    pass\n")
    (folder / "tree.pkl").write_bytes(b"\x80\x02ctree\nNode\n)\x81}X\x06\x00\x00\x00columnK\x05sb.")
    (folder / "names.py").write_text("BOOK = 'book.txt'\n")
    (folder / "helper.py").write_text("def load(name):\n    return open(name).read()\n")
    (folder / "unrelated.bin").write_bytes(bytes(100))
    np.savez(folder / "weights.npz", w=np.array([5.0]))


def agent_of(setting: str) -> str:
    return f"{setting}\n\n\ndef agent(obs, config):\n    return COLUMN\n"


def unpacked(inlined: Inlined, folder: Path) -> Path:
    """The archive, unpacked into ``folder``; its main.py."""
    content = submission_bytes(inlined, Path("built.tar.gz"))
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "main.py"


def column_of(main: Path) -> int:
    return get_last_callable(main.read_text(), path=str(main))(OBS, CONFIG)


@pytest.mark.parametrize("name", IDIOMS)
def test_what_is_opened_by_path_is_found_from_another_working_directory(name, tmp_path, monkeypatch, capsys):
    fill(tmp_path / "source")
    (tmp_path / "source" / "agent.py").write_text(agent_of(IDIOMS[name]))
    inlined = inline(tmp_path / "source" / "agent.py")
    assert len(inlined.files) == 1 and "unrelated.bin" not in inlined.files
    main = unpacked(inlined, tmp_path / "judge")
    (tmp_path / "source").rename(tmp_path / "gone")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert column_of(main) == 5 and "tree" not in sys.modules  # another submission may have a module of that name
    assert not capsys.readouterr().err


def test_an_agent_of_a_package_finds_its_files(tmp_path, monkeypatch):
    fill(tmp_path / "kit")
    (tmp_path / "kit" / "__init__.py").write_text("")
    reading = (
        "from pathlib import Path\nfrom . import names\nCOLUMN = int(Path(__file__).with_name('book.txt').read_text())"
    )
    (tmp_path / "kit" / "mine.py").write_text(agent_of(f"{reading} + int(open(names.BOOK).read()) - 5"))
    inlined = inline(tmp_path / "kit" / "mine.py")
    assert sorted(inlined.files) == ["book.txt", "kit/book.txt"]  # beside the module, and beside the agent
    monkeypatch.chdir(tmp_path)
    assert column_of(unpacked(inlined, tmp_path / "judge")) == 5


def test_any_other_string_that_names_a_file_packs_it(tmp_path):
    """Whatever opens it: the builder need not know that call."""
    fill(tmp_path / "source")
    agent = tmp_path / "source" / "agent.py"
    agent.write_text(agent_of("import lightgbm\nMODEL = lightgbm.Booster(model_file='book.txt')\nCOLUMN = 5"))
    (place,) = (place for _, place in inline(agent, frozenset({"lightgbm"})).files.values())
    assert place.line == 2 and place.reason == "book.txt is named here"


FOLDERS = {  # what is packed of data/book.json, data/more.json and data/deep/deepest.json
    "nothing in it is named": ("open(f'data/{NAME}')", {"book", "more", "deepest"}),
    "a file in it is named": ("open(os.path.join('data', 'book.json'))", {"book"}),
    "a file in it is named elsewhere": ("open('data/' + NAME), 'more.json'", {"more"}),
    "it is listed": ("open('data/book.json'), os.listdir('data')", {"book", "more", "deepest"}),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_named(name, tmp_path):
    """It is packed whole, unless strings name files in it and the agent lists none."""
    reading, packed = FOLDERS[name]
    (tmp_path / "data" / "deep").mkdir(parents=True)
    for file in ("book.json", "more.json", "deep/deepest.json", ".hidden", "tool.py"):
        (tmp_path / "data" / file).write_text("5")
    (tmp_path / "data" / "again").symlink_to(tmp_path / "data")
    (tmp_path / "agent.py").write_text(agent_of(f"import os\nCOLUMN = 5\ndef read(NAME):\n    return {reading}"))
    assert {Path(key).stem for key in inline(tmp_path / "agent.py").files} == packed


PRIVATE = """from pathlib import Path

WEIGHTS = open("net.bin", "rb").read()
FOLDER = "data" if Path("data").exists() else "."
COLUMN = int(open(f"{FOLDER}/book.txt").read())
SAVE = "runs"  # where a training script logs
NAMES = ["kaggle.json", "unrelated.bin"]


def trained():
    open(SAVE + "/log.txt", "w").close()
    return open("kaggle.json").read(), open(".env").read(), open("games.sqlite", "rb").read()
"""
_NEVER = ".env games.sqlite kaggle.json runs/.netrc runs/games.db runs/id_rsa runs/my.key runs/token.txt"
NEVER = _NEVER.split()


def test_what_is_named_is_packed_and_listed_and_nothing_private(tmp_path):
    fill(tmp_path)
    (tmp_path / "runs").mkdir()
    for name in (*NEVER, "net.bin", "runs/log.csv"):
        (tmp_path / name).write_text("12345")
    agent = tmp_path / "agent.py"
    agent.write_text(agent_of(PRIVATE))
    inlined = inline(agent)
    assert sorted(inlined.files) == ["book.txt", "data/book.json", "net.bin", "runs/log.csv", "unrelated.bin"]
    assert [note.partition(": ")[2] for note in inlined.notes] == [
        f"{name} is not packed: it may be private"
        for name in NEVER
        if name != "runs/.netrc"  # hidden
    ]
    sizes = "unrelated.bin (100), data/book.json (13), net.bin (5), runs/log.csv (5), book.txt (2)"
    assert packed_files(inlined) == f"125 bytes in 5 files beside the agent: {sizes}"
    assert "games.sqlite" in inline(agent, extra_files=[tmp_path / "games.sqlite"]).files
    for name in ("kaggle.json", "runs"):
        with pytest.raises(ValueError, match=r"(kaggle\.json|id_rsa|my\.key|token\.txt) may hold a credential"):
            inline(agent, extra_files=[tmp_path / name])


def test_files_whose_names_cannot_be_seen_are_added_by_hand(tmp_path, monkeypatch):
    fill(tmp_path / "source")
    agent = tmp_path / "source" / "agent.py"
    agent.write_text(agent_of("COLUMN = int(open('bo' + 'ok.txt').read())"))
    assert not inline(agent).files
    inlined = inline(agent, extra_files=[agent.with_name("book.txt"), agent.with_name("data")])
    assert sorted(inlined.files) == ["book.txt", "data/book.json"]
    monkeypatch.chdir(tmp_path)
    assert column_of(unpacked(inlined, tmp_path / "judge")) == 5
    with pytest.raises(ValueError, match="does not lie beside the agent"):
        inline(agent, extra_files=[tmp_path])
    with pytest.raises(ValueError, match="no such file"):
        inline(agent, extra_files=[tmp_path / "nothing"])


def test_a_single_file_cannot_hold_them(tmp_path):
    fill(tmp_path / "source")
    (tmp_path / "source" / "agent.py").write_text(agent_of(IDIOMS["working_directory"]))
    with pytest.raises(
        Refused, match=r"agent\.py:1: book\.txt is named here, which a single \.py cannot hold: build an archive"
    ):
        submission_bytes(inline(tmp_path / "source" / "agent.py"), Path("built.py"))


def test_more_than_the_judge_allows_is_not_even_read(tmp_path):
    (tmp_path / "agent.py").write_text(agent_of("COLUMN = len(open('huge.bin', 'rb').read(5))"))
    with (tmp_path / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match=r"1,099,511,627,776 bytes in 1 files .*: huge.bin \(1,099,511,627,776\)"):
        submission_bytes(inline(tmp_path / "agent.py"), Path("built.tar.gz"))


def test_paths_that_lead_elsewhere_are_left_alone(tmp_path, monkeypatch):
    (tmp_path / "here.txt").write_text("")
    beside = Modules({}, {}, str(tmp_path)).beside
    for path in ("nothing.txt", "/etc/passwd", Path("nothing"), 3, b"here.txt", "", io.BytesIO()):
        assert beside(path) is path
    assert beside("here.txt") == str(tmp_path / "here.txt") == beside(f"{JUDGE_FOLDER}/here.txt")
    assert beside(Path("here.txt")) == tmp_path / "here.txt"
    monkeypatch.chdir("/")
    assert beside("/here.txt") == str(tmp_path / "here.txt") and beside("/etc/nothing") == "/etc/nothing"
