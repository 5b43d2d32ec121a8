"""The rules of the tree that no other test would notice: who may import whom, and that nothing is unpickled."""

import ast
import subprocess
import sys
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from connectx_toolkit.players import child
from connectx_toolkit.system.files import ROOT

TOOLKIT = ROOT / "connectx_toolkit"
# Each package imports itself and those of the lines below it. Packages of one line don't import each other.
FLOORS = [
    {"cli", "__init__"},
    {"api"},
    {"board", "tuning"},
    {"report", "training"},
    {"arena"},
    {"players"},
    {"builder", "games"},
    {"kaggle", "statistics"},
    {"page", "system"},
]
SCRIPTS = {"benchmarks", "tests", "evaluate", "build_submission", "train", "agents"}
SOURCES = sorted(
    p for package in ("connectx_core", "connectx_toolkit", "agents") for p in (ROOT / package).rglob("*.py")
)


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
    ours = {"connectx_core", "connectx_toolkit", *SCRIPTS}
    for path in SOURCES:
        allowed = {"connectx_core", "connectx_toolkit"} if path.is_relative_to(TOOLKIT) else {"connectx_core"}
        assert imported_modules(path) & ours <= allowed, path


def imports_within(package: str) -> dict[str, set[str]]:
    """The modules of a package without its name, "room.module", and those of the package that each imports."""
    modules = {}
    folder = ROOT.joinpath(*package.split("."))
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        if name:
            modules[name] = {n.removeprefix(f"{package}.") for n in imported(path) if n.startswith(f"{package}.")}
    return {name: targets & modules.keys() - {name} for name, targets in modules.items()}


@pytest.mark.parametrize("package", ["connectx_core", "connectx_toolkit"])
def test_no_circles(package):
    assert circle_in(imports_within(package)) == ""


def test_parts_import_down():
    assert misplaced(imports_within("connectx_toolkit"), FLOORS) == []


# Names that several modules define on purpose. Config: the options of a training method, by which train.py finds them.
CONTRACTS = {"Config"}


def names_defined(path: Path) -> set[str]:
    """The classes and the constants, in capital letters, that a module defines rather than imports."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            names.update(name.id for name in stored if name.id.isupper())
    return names


def test_one_word_has_one_meaning():
    """No two modules define a class or a constant of the same name: one imports the other's, or says what it is."""
    homes: dict[str, list[str]] = {}
    for path in SOURCES:
        if not path.is_relative_to(ROOT / "agents"):
            for name in names_defined(path):
                homes.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: files for name, files in homes.items() if len(files) > 1 and name not in CONTRACTS} == {}


def test_an_agents_process_imports_little():
    """Or an agent's first move would pay less than on Kaggle, and a process would take longer to start."""
    code = f"import sys, {child.__name__}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"numpy", "numba", "torch", "kaggle_environments", "multiprocessing", "dataclasses"}
    assert heavy & {name.split(".")[0] for name in done.stdout.split()} == set()
    ours = {name for name in done.stdout.split() if name.split(".")[0] == "connectx_core"}
    assert ours == {"connectx_core", "connectx_core.jit"}  # which import Python's own modules alone


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
    third_party = set.union(*(imported_modules(p) for p in SOURCES if p.is_relative_to(ROOT / "connectx_core")))
    assert third_party - set(sys.stdlib_module_names) <= {"connectx_core", "numpy", "numba", "torch"}


ORDERS = [("kaggle_environments", "agents.n_step"), ("agents.n_step", "kaggle_environments")]


@pytest.mark.parametrize("order", ORDERS)
def test_agents_is_a_package(order):
    """Kaggle's package leaves the folder of another game, which has an agents.py, at the end of the path."""
    code = f"import {order[0]}, {order[1]}\nfrom agents.n_step import agent\nfrom agents import leftmost"
    code += "\nprint(agent.__module__, leftmost.__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "agents.n_step agents.leftmost"


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
