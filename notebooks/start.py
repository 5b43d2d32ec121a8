"""What the notebook needs before its first command: its packages, a folder of its own, and the toolkit's scripts."""

import importlib.metadata
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

NEEDED = {
    "anywidget", "gymnasium", "kaggle-environments", "matplotlib", "numba", "numpy", "rich", "sb3-contrib",
    "stable-baselines3", "torch", "tqdm",
}  # fmt: skip

QUICK = "CONNECTX_QUICK" in os.environ  # for a test of the notebook: everything once, with little of it
ROUNDS, PAIRS, MOST, POSITIONS = (2, 1, 1, 20) if QUICK else (20, 10, 1000, 500)
GAMES, STEPS, LESSON_STEPS = (60, 50, 1000) if QUICK else (500, 2000, 60_000)


def install_missing(requirements: Path) -> None:
    """Installs what the notebook needs and does not find; what is there stays as it is, whatever its version."""
    from packaging.requirements import Requirement

    lines = [line.partition("#")[0].strip() for line in requirements.read_text(encoding="utf-8").splitlines()]
    wanted = {line.name: line for line in map(Requirement, filter(None, lines)) if line.name in NEEDED}
    there = importlib.metadata.distributions()
    found = {each.name.lower().replace("_", "-"): each.version for each in there if each.name}
    for name, requirement in wanted.items():
        print(f"{name}: {found.get(name, 'missing')} (tried: {requirement.specifier})")
    if missing := [str(requirement) for name, requirement in wanted.items() if name not in found]:
        print("installing", *missing)
        kept = Path(tempfile.mkdtemp()) / "kept.txt"
        kept.write_text("".join(f"{name}=={version}\n" for name, version in found.items()), encoding="utf-8")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "-c", kept, *missing], check=True)


def stop_at_failures() -> None:
    """Lets a command after ``!`` that fails stop the notebook, as an exception does; IPython alone would go on."""
    from IPython import get_ipython

    if (shell := get_ipython()) is None:
        return
    system = shell.system

    def run_checked(_line: str) -> None:
        system(_line)
        if _code := shell.user_ns.get("_exit_code"):
            raise RuntimeError(f"the command above failed (exit code {_code}); the cells below need what it makes")

    shell.system = run_checked


def start() -> tuple[Path, Path, str, str, str]:
    """Prepares the notebook: packages, a temporary folder for all that it makes, failing commands.

    Returns:
        The toolkit's folder, which may be read-only; submission.py in the directory that the notebook was started in;
        and the toolkit's scripts as the cells call them after ``!``: build_submission.py, evaluate.py, train.py.
    """
    toolkit = Path(__file__).absolute().parent.parent
    sys.path.insert(0, str(toolkit))
    install_missing(toolkit / "requirements.txt")
    stop_at_failures()
    home, work = Path.cwd(), Path(os.environ.get("CONNECTX_WORK", Path(tempfile.gettempdir(), "connectx-notebook")))
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    os.environ["COLUMNS"] = "110"  # characters, for the tables of the scripts
    sys.modules.setdefault("gym", None)  # type: ignore[arg-type]  # stable-baselines3 imports it to say it is unmaintained
    print(f"toolkit: {toolkit}\nfiles on the way: {work}\nthe result: {home / 'submission.py'}")
    scripts = ("build_submission.py", "evaluate.py", "train.py")
    build, evaluate, train = (shlex.join([sys.executable, str(toolkit / script)]) for script in scripts)
    return toolkit, home / "submission.py", build, evaluate, train
