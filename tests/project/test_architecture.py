"""The rules of the tree that no other test would notice: who may import whom, and that nothing is unpickled."""

import ast
import json
import re
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from kaggle_environments import make

from connectx_toolkit.games.analysis import JudgedMove
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.review import Judged
from connectx_toolkit.players import child
from connectx_toolkit.players.process import AgentProcess
from connectx_toolkit.players.protocol import Reply
from connectx_toolkit.system import workers
from connectx_toolkit.system.files import ROOT
from tests.conftest import TWO_CORES, evaluate

TOOLKIT = ROOT / "connectx_toolkit"
# Each package imports itself and those of the lines below it. Packages of one line don't import each other.
FLOORS = [
    {"cli", "__init__"},
    {"api"},
    {"board", "tuning"},
    {"report", "training"},
    {"arena"},
    {"games"},
    {"players"},
    {"builder"},
    {"kaggle", "statistics"},
    {"page", "system"},
]
ROOMS: dict[str, list[set[str]]] = {  # the same within a package
    "board": [{"server", "widget"}, {"session"}, {"thinking"}],
    "builder": [{"submission"}, {"build"}, {"notebook"}, {"preflight", "source"}, {"embedded"}],
    "training": [
        {"adopt", "learners"},
        {"user_model"},
        {"environments", "makers"},
        {"opponents", "supervised"},
        {"positions", "runs", "vector_games"},
        {"options"},
    ],
}
LONGEST_FUNCTION, NAMED_TWICE = 60, 4  # but kernels; of modules
SCRIPTS = {"benchmarks", "tests", "evaluate", "build_submission", "train", "agents"}
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
WORKERS = str(Path(workers.__file__).relative_to(ROOT))
SOURCES = sorted(p for package in ("connectx", "connectx_toolkit", "agents") for p in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The dotted names of all that a file imports, inside functions too; "a.b.c" of ``from a.b import c`` as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names.update(a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
    return names


def imported_modules(path: Path) -> set[str]:
    """Top-level names of all that a file imports, inside functions too."""
    return {name.split(".")[0] for name in imported(path)}


def circle_in(imports: Mapping[str, Collection[str]]) -> str:
    """A circle of modules, drawn: "a -> b -> a", where a imports b; "" if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as found:
        return " -> ".join(reversed(found.args[1]))
    return ""


def misplaced(imports: Mapping[str, Collection[str]], floors: list[set[str]]) -> list[str]:
    """What is in no room, and imports that run up or sideways, of modules "room.module" of one package."""
    floor_of = {room: number for number, rooms in enumerate(floors) for room in rooms}
    found = [module for module in imports if module.split(".")[0] not in floor_of]
    for module, targets in imports.items():
        for target in targets:
            own, other = module.split(".")[0], target.split(".")[0]
            if own != other and floor_of.get(own, 0) >= floor_of.get(other, -1):
                found.append(f"{module} -> {target}")
    return found


def test_what_plays_imports_nothing_of_the_toolkit():
    ours = {"connectx", "connectx_toolkit", *SCRIPTS}
    for path in SOURCES:
        allowed = {"connectx", "connectx_toolkit"} if path.is_relative_to(TOOLKIT) else {"connectx"}
        assert imported_modules(path) & ours <= allowed, path


def test_only_commands_talk_to_kaggle():
    """What plays, judges and reports works without an account."""
    talking = {path.parent for path in SOURCES if any("kaggle.account" in name for name in imported(path))}
    assert talking == {TOOLKIT / "cli"}


def test_only_training_draws_with_matplotlib():
    """It takes about a second to load; what else is drawn is SVG."""
    drawing = {path for path in SOURCES if "matplotlib" in imported_modules(path)}
    assert drawing and all(path.is_relative_to(TOOLKIT / "training") for path in drawing)


def imports_within(package: str) -> dict[str, set[str]]:
    """The modules of a package without its name, "room.module", and those of the package that each imports."""
    modules = {}
    folder = ROOT.joinpath(*package.split("."))
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        if name:
            modules[name] = {n.removeprefix(f"{package}.") for n in imported(path) if n.startswith(f"{package}.")}
    return {name: targets & modules.keys() - {name} for name, targets in modules.items()}


@pytest.mark.parametrize("package", ["connectx", "connectx_toolkit"])
def test_no_circles(package):
    assert circle_in(imports_within(package)) == ""


def test_parts_import_down():
    assert misplaced(imports_within("connectx_toolkit"), FLOORS) == []


@pytest.mark.parametrize("part", ROOMS)
def test_every_module_has_a_room_and_imports_run_down(part):
    assert misplaced(imports_within(f"connectx_toolkit.{part}"), ROOMS[part]) == []


def test_a_file_is_a_subject():
    """It has a name by which it is found."""
    modules = [path for path in SOURCES if path.name != "__init__.py"]
    names = Counter(path.name for path in modules if path.parent.name != "agents")
    assert sum(count > 1 for count in names.values()) <= NAMED_TWICE


def is_kernel(function: ast.AST) -> bool:
    """Whether numba compiles a function, or one in it."""
    return any(
        isinstance(node, ast.FunctionDef) and {"njit", "jitable"} & {ast.unparse(name) for name in node.decorator_list}
        for node in ast.walk(function)
    )


def test_a_function_is_a_thought():
    long = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not is_kernel(node):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                long += [f"{path.relative_to(ROOT)}: {node.name}, {length} lines"] * (length > LONGEST_FUNCTION)
    assert long == []


def project_files(frame: FrameType | None) -> list[str]:
    """The project's files that a stack passes, in the order of their first call."""
    files = []
    while frame:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and path.parts[len(ROOT.parts)] not in ("tests", ".venv"):
            files.append(str(path.relative_to(ROOT)))
        frame = frame.f_back
    return list(dict.fromkeys(reversed(files)))


NOTING = """
import sys
from pathlib import Path

def agent(obs, config):
    frame, files = sys._getframe(), []
    while frame:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    Path(__file__).with_name("child").write_text("\\n".join(files))
    return obs.board.index(0)
"""


@pytest.mark.parametrize("concurrency", [1, pytest.param(2, marks=TWO_CORES)])
def test_from_a_command_to_an_agents_move(concurrency, tmp_path, monkeypatch, capsys):
    """The files that the call passes, in all processes, are those that CONTRIBUTING.md draws: seven at most.

    With several games at a time, what calls functions in other processes comes between.
    """
    move = AgentProcess._move

    def noting(self: AgentProcess, *arguments: Any) -> Reply:
        (tmp_path / "here").write_text("\n".join(project_files(sys._getframe())))
        return move(self, *arguments)

    monkeypatch.setattr(AgentProcess, "_move", noting)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # with no other run that has reserved cores
    (tmp_path / "noting.py").write_text(f"__file__ = {str(tmp_path / 'noting.py')!r}\n{NOTING}")
    command = ["evaluate.py", str(tmp_path / "noting.py"), "leftmost", "--rounds", "2"]
    monkeypatch.setattr(sys, "argv", [*command, "--concurrency", str(concurrency)])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(ROOT / "evaluate.py"), run_name="__main__")
    assert not stop.value.code, capsys.readouterr().err
    paths = (tmp_path / "child").read_text().splitlines()
    there = [str(Path(path).relative_to(ROOT)) for path in reversed(paths) if path.startswith(str(TOOLKIT))]
    passed = [*(tmp_path / "here").read_text().splitlines(), *dict.fromkeys(there)]
    (drawing,) = re.findall(r"^evaluate\.py  .*?^agent\(obs, config\)", CONTRIBUTING.read_text(), re.M | re.S)
    drawn = re.findall(r"^(\S+\.py) ", drawing, re.M)
    assert [file for file in passed if concurrency == 1 or file != WORKERS] == drawn and len(drawn) <= 7
    assert (WORKERS in passed) == (concurrency > 1)


def holds_a_game(value: Any) -> bool:
    """Whether a value is a game, its review or a judged move of it, or a list of such."""
    is_list = isinstance(value, list | tuple) and not isinstance(value, JudgedMove)
    return any(map(holds_a_game, value[:1])) if is_list else isinstance(value, Game | Judged | JudgedMove)


def trace_analysis(folder: str) -> None:
    """Prints, as JSON, the files that take or give a game while a folder's replays are analysed, and who calls whom."""
    passed, calls, ours = set[str](), set[tuple[str, str]](), str(TOOLKIT)
    evaluate(["analyse", folder, "--me", "first"])  # compiles the board's solver, in millions of calls

    def noting(frame: FrameType, event: str, value: Any) -> None:
        if event in ("call", "return") and (file := frame.f_code.co_filename).startswith(ours):
            if any(map(holds_a_game, frame.f_locals.values() if event == "call" else [value])):
                passed.add(file)
            if event == "call" and frame.f_back:
                calls.add((frame.f_back.f_code.co_filename, file))

    sys.setprofile(noting)
    try:
        evaluate(["analyse", folder, "--me", "first"])
    finally:
        sys.setprofile(None)
    print(json.dumps([sorted(passed), sorted(calls)]))


def test_from_a_replay_to_its_analysis(tmp_path):
    """The files with a function that takes or gives the game are those that CONTRIBUTING.md draws, seven at most.

    None of them calls one that is drawn above it, but for what renders tables: it asks the columns for their cells.
    """
    game = make("connectx", configuration={"rows": 4, "columns": 5, "inarow": 3})
    game.run(["random", "random"])
    (tmp_path / "1.json").write_text(json.dumps(game.toJSON()))
    code = f"from tests.project.test_architecture import trace_analysis\ntrace_analysis({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    files, calls = json.loads(done.stdout.splitlines()[-1])
    passed = set(files)
    (drawing,) = re.findall(r"^a replay.*?^(.*?)^```", CONTRIBUTING.read_text(), re.M | re.S)
    drawn = [str(ROOT / file) for file in re.findall(r"^(\S+\.py) ", drawing, re.M)]
    assert passed == {*drawn} and len(drawn) <= 7
    found = [(one, other) for one, other in calls if {one, other} <= passed]
    climbing = {one for one, other in found if drawn.index(one) > drawn.index(other)}
    assert len(found) > len(drawn) and climbing == {str(TOOLKIT / "system" / "table.py")}


def test_an_agents_process_imports_little():
    """Or an agent's first move would pay less than on Kaggle, and a process would take longer to start."""
    code = f"import sys, {child.__name__}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"numpy", "numba", "torch", "kaggle_environments", "multiprocessing", "dataclasses"}
    assert heavy & {name.split(".")[0] for name in done.stdout.split()} == set()
    ours = {name for name in done.stdout.split() if name.split(".")[0] == "connectx"}
    assert ours == {"connectx", "connectx.jit"}  # which import Python's own modules alone


NAMED = re.compile(r"``(?:python -m )?([a-z_]+(?:\.\w+)+)``|\b(connectx_toolkit/[\w/]+\.\w+)")
HEADS = {"connectx", "benchmarks", TOOLKIT.name, *(path.stem for path in TOOLKIT.iterdir())} - {"__init__"}


def is_there(name: str) -> bool:
    """Whether a dotted name is one of our modules, or something that such a module's text names."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:count])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return all(re.search(rf"\b{part}\b", file.read_text(encoding="utf-8")) for part in parts[count:])
    return False


def named_in_vain(text: str) -> list[str]:
    """The modules, their contents and files of the toolkit that a text names and that are not there."""
    found = []
    for name, path in NAMED.findall(text):
        is_gone = name.split(".")[0] in HEADS and not is_there(name)
        found += [name] * is_gone + [path] * bool(path and not (ROOT / path).is_file())
    return found


def test_texts_name_what_is_there():
    texts = [*SOURCES, *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "docs").rglob("*.md"), *TOOLKIT.rglob("*.js")]
    gone = {str(path.relative_to(ROOT)): named_in_vain(path.read_text(encoding="utf-8")) for path in texts}
    assert {path: names for path, names in gone.items() if names} == {}


def test_what_names_in_vain_look_like():
    named = ("``arena.play.openings``", "``connectx.clock.budget_off``", "``python -m benchmarks.nothing``",
             "``connectx.clock.budget_for``", "``numpy.random``", "connectx_toolkit/page/gone.js")  # fmt: skip
    assert named_in_vain(" ".join(named)) == [named[n].strip("`").split()[-1] for n in (0, 1, 2, 5)]


def test_what_a_wrong_import_looks_like():
    floors = [{"methods"}, {"learning", "data"}, {"support"}]
    assert misplaced({"methods.book": {"data.labels", "methods.leaf"}, "data": {"support.pool"}}, floors) == []
    assert misplaced({"data.labels": {"learning.networks"}}, floors) == ["data.labels -> learning.networks"]
    assert misplaced({"support.pool": {"methods.book"}}, floors) == ["support.pool -> methods.book"]
    assert misplaced({"book": set()}, floors) == ["book"]
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) in ("b -> c -> b", "c -> b -> c")


def test_no_pickle():
    unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    safe = ("allow_pickle=False", "weights_only=True", "torch.save(model.state_dict(), ")
    for path in SOURCES:
        assert not imported_modules(path) & unsafe, path
        calls = {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}
        loads = [call for call in calls if call.startswith(("torch.load", "torch.save", "np.load", "numpy.load"))]
        assert [call for call in loads if not any(option in call for option in safe)] == [], path


def test_connectx_needs_little():
    """Submissions contain it: the standard library, numpy, numba and torch only."""
    third_party = set.union(*(imported_modules(p) for p in SOURCES if p.is_relative_to(ROOT / "connectx")))
    assert third_party - set(sys.stdlib_module_names) <= {"connectx", "numpy", "numba", "torch"}


ORDERS = [("kaggle_environments", "agents.minimax"), ("agents.minimax", "kaggle_environments")]


@pytest.mark.parametrize("order", ORDERS)
def test_agents_is_a_package(order):
    """Kaggle's package leaves the folder of another game, which has an agents.py, at the end of the path."""
    code = f"import {order[0]}, {order[1]}\nfrom agents.minimax import agent\nfrom agents import leftmost"
    code += "\nprint(agent.__module__, leftmost.__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "agents.minimax agents.leftmost"


def run_without_numba(code: str) -> subprocess.CompletedProcess:
    blocked = "import sys; sys.modules['numba'] = None\n"
    command = [sys.executable, "-c", blocked + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_numba_may_be_missing():
    """The same agent plays, and says on stderr that it is slower."""
    run = run_without_numba(
        "from agents.minimax import agent\n"
        "print(agent({'board': [0] * 42, 'mark': 1, 'remainingOverageTime': 0},"
        " {'rows': 6, 'columns': 7, 'inarow': 4, 'actTimeout': 0.5}))"
    )
    assert run.returncode == 0 and run.stdout.strip() in list("0123456")
    assert run.stderr.count("\n") == 1 and "numba is not usable" in run.stderr
