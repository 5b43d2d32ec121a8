"""Plants faults into what ships, one at a time, and tells which tests find them (mutation testing).

python -m benchmarks.faults [--count 60] [--seed 1128] [--tree DIR]

A fault replaces a comparison, an operator, a number, a condition, a result or a call in a function; its place is drawn
from all of these. It is planted in a clone of this commit, which is made if it is not there. First the tests of `make
test` run that lie nearest to the file, then all of them, then those of `make long`, up to the first that fails. What
was run lies in DIR's folder as JSON lines: the same command goes on there. Some faults change nothing that anybody
could see: the share counts those that some test sees.
"""

import argparse
import ast
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import head, record
from connectx_toolkit.system.files import ROOT

OTHER: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.Add, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift},
    **{ast.RShift: ast.LShift},
}
FOLDERS = ("agents", "connectx_core", "connectx_toolkit")
# Where a folder's faults are looked for first; by default in the folder of tests that has its name.
NEAREST = {
    "agents": "agents connectx_core",
    "api.py": "cli project",
    "arena": "arena cli statistics",
    "builder": "builder kaggle",
    "connectx_core": "connectx_core agents",
    "games": "games cli report",
    "kaggle": "kaggle builder players",
    "page": "board report",
    "players": "players arena",
    "report": "report cli games",
    "statistics": "statistics arena",
    "system": "system cli",
}
STAGES = {"nearest": "not long", "test": "not long", "long": "long"}
LIMIT = 1500.0  # seconds of a stage; a fault that makes tests hang is seen


class Fault(NamedTuple):
    """A piece of a file, and what stands in its place."""

    file: str
    line: int
    old: str
    new: str
    start: int  # in characters
    end: int

    def planted_in(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def _other(node: ast.AST) -> tuple[ast.AST, str] | None:
    """(the node to replace, the text that replaces it); None if a node can be no fault."""
    match node:
        case ast.Compare(ops=[kind, *_]) if type(kind) in OTHER:
            return node, _with(node, lambda copy: copy.ops.__setitem__(0, OTHER[type(kind)]()))
        case ast.BinOp(op=kind) | ast.BoolOp(op=kind) if type(kind) in OTHER:
            return node, _with(node, lambda copy: setattr(copy, "op", OTHER[type(kind)]()))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return node, f"({ast.unparse(operand)})"
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return node, repr(value + 1)
        case ast.Return(value=ast.AST()):
            return node, "return None"
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            return node, "pass"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return test, f"(not ({ast.unparse(test)}))"
    return None


def _with(node: ast.AST, change: Callable[[Any], None]) -> str:
    copy: Any = ast.parse(ast.unparse(node), mode="eval").body
    change(copy)
    return f"({ast.unparse(copy)})"


def faults_in(root: Path, path: Path) -> Iterator[Fault]:
    """Every fault that can be planted into the functions of a file."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    bodies = [node.body for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    nodes = {id(node): node for body in bodies for statement in body for node in ast.walk(statement)}
    for assigned in [each for each in nodes.values() if isinstance(each, ast.AnnAssign)]:
        for part in ast.walk(assigned.annotation):
            nodes.pop(id(part), None)
    for node in nodes.values():
        if found := _other(node):
            old: Any = found[0]
            start, end = place(old.lineno, old.col_offset), place(old.end_lineno, old.end_col_offset)
            yield Fault(path.relative_to(root).as_posix(), old.lineno, text[start:end], found[1], start, end)


def _compiles(root: Path, fault: Fault) -> bool:
    """Whether the file is Python with the fault, which it is not in some f-strings."""
    try:
        ast.parse(fault.planted_in((root / fault.file).read_text(encoding="utf-8")))
    except SyntaxError:
        return False
    return True


def draw(root: Path, seed: int, count: int) -> list[Fault]:
    """So many faults, on different lines."""
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    every = [fault for path in paths for fault in faults_in(root, path)]
    random.Random(seed).shuffle(every)
    drawn = dict[tuple[str, int], Fault]()
    for fault in every:
        if len(drawn) < count and _compiles(root, fault):
            drawn.setdefault((fault.file, fault.line), fault)
    return list(drawn.values())


def first_failure(tree: Path, *options: str) -> str | None:
    """The first of some tests that fails in a tree; None if all pass."""
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", *options],
            check=False,
            cwd=tree,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT:g} s"
    if run.returncode in (0, 5):  # 5: nothing to run
        return None
    named = [line.split()[1] for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return named[0] if named else f"pytest ends with code {run.returncode}"


def seen_by(tree: Path, fault: Fault) -> tuple[str, str]:
    """(the stage whose tests see a fault, the first of them); empty if none does."""
    path = tree / fault.file
    sound = path.read_text(encoding="utf-8")
    first, _, rest = fault.file.partition("/")
    folder = rest.partition("/")[0] if first == "connectx_toolkit" else first
    nearest = [f"tests/{name}" for name in NEAREST.get(folder, folder).split() if (tree / "tests" / name).is_dir()]
    options = list[str]()
    try:
        for stage, marked in STAGES.items():
            where = nearest if stage == "nearest" else []
            while True:
                path.write_text(fault.planted_in(sound), encoding="utf-8")
                test = first_failure(tree, "-n", "auto", "--no-loadscope-reorder", "-m", marked, *options, *where)
                if test is None:
                    break
                if "::" not in test:  # nothing was collected, or nothing ended
                    return stage, test
                again = first_failure(tree, test)
                path.write_text(sound, encoding="utf-8")
                if again and not first_failure(tree, test):
                    return stage, test
                options += ["--deselect", test]  # fails now and then, or without the fault too
    finally:
        path.write_text(sound, encoding="utf-8")
    return "", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="faults to plant (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1128, help="draws them (default %(default)s)")
    parser.add_argument(
        "--tree", type=Path, default=ROOT / "runs" / "faults" / "tree", help="the clone to plant them in"
    )
    settings = parser.parse_args()
    head(seed=settings.seed)
    tree: Path = settings.tree.resolve()
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(tree)], check=True)
    kept = tree.parent / f"seen-{settings.seed}.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {tuple(row["fault"]): row for row in rows}
    counts = dict.fromkeys([*STAGES, ""], 0)
    for fault in draw(tree, settings.seed, settings.count):
        if (row := known.get(tuple(fault))) is None:
            started = time.monotonic()
            stage, test = seen_by(tree, fault)
            row = {"fault": fault, "stage": stage, "test": test, "seconds": round(time.monotonic() - started)}
            with kept.open("a") as file:
                file.write(json.dumps(row) + "\n")
        counts[row["stage"]] += 1
        change = f"{' '.join(fault.old.split())[:50]} -> {' '.join(fault.new.split())[:50]}"
        print(f"{row['stage'] or 'unseen':<8}{fault.file}:{fault.line}  {change}  {row['test']}", flush=True)
    early, late, unseen = counts["nearest"] + counts["test"], counts["long"], counts[""]
    share = early / max(1, early + late)
    record(
        "faults", round(share, 3), "of the faults that some test sees, seen by make test", 0.9, late=late, unseen=unseen
    )


if __name__ == "__main__":
    main()
