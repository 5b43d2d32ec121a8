"""Where the pre-flight and the comparison try a file, and what they ask it.

``Sandbox``: folders as on the judge; ``Runner``: the process that works in them, ``connectx_toolkit.kaggle.runner``.
Questions: hard positions that every agent must answer legally, and samples for comparing two agents.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from connectx_core.position import STANDARD, Geometry, Position, geometry_of
from connectx_toolkit.kaggle import sandbox
from connectx_toolkit.kaggle.jobs import interpreter_command
from connectx_toolkit.kaggle.remedies import Situation
from connectx_toolkit.kaggle.rules import DEFAULTS, Limits, sizes_of
from connectx_toolkit.system.console import ProcessFailed
from connectx_toolkit.system.posix import c_function, without_groups

if TYPE_CHECKING:
    from tqdm import tqdm

# A game in which nobody can win at once, and nobody must block, after LONG_THOUGHTS plies: a search takes its time.
OPEN_GAME = [int(column) for column in "06664461210050251312045620622"]
LONG_THOUGHTS = (11, 20, 29)
# Games after which one column, with two free cells, or one cell is left.
ONE_COLUMN = [int(column) for column in "1466602036335361030435065225122025454441"]
ONE_CELL = [int(column) for column in "14666020363353610304350652251220254544411"]
NO_OVERAGE = 1e-3  # share that stands for "no overage time left"; not 0, because agents may divide by it
JUDGE_CLOCK = (Limits().act_timeout, Limits().overage)  # actTimeout and overage time of Kaggle's games
QUICK = (0.2, 38.0)  # actTimeout and overage time of questions that test the answer, not the clock
FEW_NODES = 300  # nodes per move when two agents are compared

# The configurations of the sample, mostly Connect Four. One of another size shows what depends on the size, and one of
# more than 64 bits what runs uncompiled. Each costs an exact agent about 5 s of compilation.
SAMPLE_GEOMETRIES = (*(STANDARD,) * 14, *(geometry_of(4, 5, 3),) * 3, *(geometry_of(9, 9, 5),) * 3)
# For an agent with machine code, which is for Connect Four alone: numba would compile its kernels for the small board,
# in both sides' processes, as it does in no game of Kaggle's.
CODE_GEOMETRIES = (*(STANDARD,) * 17, *(geometry_of(9, 9, 5),) * 3)


class Question(NamedTuple):
    """An observation and a configuration as Kaggle gives them, with the columns that a good player would choose."""

    name: str
    obs: dict[str, Any]
    config: dict[str, Any]
    sound: frozenset[int] | None = None

    @property
    def legal(self) -> list[int]:
        return [column for column in range(self.config["columns"]) if self.obs["board"][column] == 0]

    def as_json(self) -> dict[str, Any]:
        """The form that the runner takes."""
        return {"obs": self.obs, "config": self.config}


def question_after(
    name: str,
    moves: Iterable[int],
    geometry: Geometry = STANDARD,
    clock: tuple[float, float] = QUICK,
    sound: Iterable[int] | None = None,
    **options: Any,
) -> Question:
    """The question that the mover faces after ``moves``; ``clock`` is (actTimeout, overage) in seconds."""
    played = list(moves)
    obs = {
        "board": Position.from_moves(played, geometry).to_board(),
        "mark": 1 + len(played) % 2,
        "step": len(played),
        "remainingOverageTime": clock[1],
    }
    config = DEFAULTS | sizes_of(geometry) | {"actTimeout": clock[0]} | options
    return Question(name, obs, config, None if sound is None else frozenset(sound))


def random_moves(randomness: random.Random, geometry: Geometry, plies: int) -> list[int]:
    """Up to ``plies`` random legal moves from the empty board; fewer if the next one would end the game."""
    position, moves = Position.empty(geometry), list[int]()
    while len(moves) < plies:
        wins = position.winning_columns()
        choices = [column for column in position.legal_columns() if column not in wins]
        if not choices:
            break
        moves.append(randomness.choice(choices))
        position = position.play(moves[-1])
    return moves if not position.is_over() else moves[:-1]


def hard_questions(act_timeout: float, overage: float) -> list[Question]:
    """Questions that every agent must answer legally: some at the true clock, and those where naive code fails.

    The second question says that the overage time is gone: who overdraws even then lives off it.
    """
    quick, half_spent = (min(QUICK[0], act_timeout), min(QUICK[1], overage)), (act_timeout, overage / 2)
    return [
        question_after("first move, true clock", [], clock=(act_timeout, overage)),
        question_after("later move, no overage time left", [3, 3, 3, 2], clock=(act_timeout, NO_OVERAGE * overage)),
        question_after("a win in one", [3, 0, 3, 0, 3, 0], clock=quick, sound=[3]),
        question_after("a win in one, second seat", [6, 3, 0, 3, 0, 3, 5], clock=quick, sound=[3]),
        question_after("a block", [3, 0, 3, 0, 3], clock=quick, sound=[3]),
        question_after("a block in the bottom row", [0, 0, 1, 1, 2], clock=quick, sound=[3]),
        question_after("column 0 is full", [0] * 6, clock=quick),
        question_after("the middle is full", [3] * 6, clock=quick),
        question_after("one column is left", ONE_COLUMN, clock=quick),
        question_after("one cell is left", ONE_CELL, clock=quick),
        *(question_after(f"ply {ply}, true clock", OPEN_GAME[:ply], clock=half_spent) for ply in LONG_THOUGHTS),
    ]


def sample_questions(count: int, seed: int = 7, geometries: tuple[Geometry, ...] = SAMPLE_GEOMETRIES) -> list[Question]:
    """``count`` different positions of unfinished random games, with a node budget in place of the clock.

    Those of Connect Four come first.
    """
    randomness, questions, seen = random.Random(seed), list[Question](), set()
    while len(questions) < count:
        geometry = randomness.choice(geometries)
        moves = random_moves(randomness, geometry, randomness.randrange(geometry.cells))
        asked = comparison_question("position", moves, geometry)
        key = (geometry, *asked.obs["board"])
        if key not in seen:
            seen.add(key)
            questions.append(asked)
    return sorted(questions, key=lambda each: len(each.obs["board"]) != STANDARD.cells)


def comparison_question(name: str, moves: Sequence[int], geometry: Geometry = STANDARD) -> Question:
    """A question for two sides that should play alike: at the judge's clock, or with a node budget in its place."""
    return question_after(name, moves, geometry, JUDGE_CLOCK, nodeBudget=FEW_NODES)


def opening_questions(plies: Iterable[int]) -> list[Question]:
    """All different positions after so many plies: here every game begins, and what was learnt by heart matters."""
    moves = (list(each) for count in plies for each in product(range(STANDARD.columns), repeat=count))
    asked = (comparison_question("opening", each) for each in moves)
    return list({tuple(each.obs["board"]): each for each in asked}.values())


STEP_PATIENCE = 5.0  # seconds beyond the judge's limit until a step is given up
SILENT_SECONDS = 4.9  # seconds without a message from the runner after which progress is printed
GAME_PLIES = 36  # of a usual game between two equal players
LONG_GAME = 20.0  # seconds: longer games are announced


class RunnerDied(ProcessFailed):
    """The runner itself, not the code under test, ended: kaggle-environments is missing or broken."""


def _drop_override() -> None:
    """Makes read-only folders binding for root, as they are for the judge's user; no effect for other users."""
    if _PRCTL is not None:
        prctl_capbset_drop, cap_dac_override = 24, 1
        _PRCTL(prctl_capbset_drop, cap_dac_override, 0, 0, 0)


_PRCTL = c_function("prctl")  # only on Linux


class Runner:
    """A running ``runner.py``, as a context manager. It serves any number of files, each job in its own process.

    Args:
        has_sandbox: False to work without the judge's place, as on systems that cannot make it.
        is_judge: False for the author's own agent: nothing of Kaggle's is loaded, and what hangs on the hashes of texts
            is another there, as on Kaggle in each game.
    """

    def __init__(self, has_sandbox: bool = True, is_judge: bool = True):
        self.tell: Callable[[str], None] = lambda line: None  # called with a line about each step that takes long
        self._packages: dict[str, None] = {}  # that files have imported so far, of ``preload.HEAVY``
        path = os.pathsep.join([os.path.dirname(sys.executable), os.defpath, "/usr/local/bin"])
        known = {"PATH": path, "LANG": "C.UTF-8", "PYTHONHASHSEED": str(int(is_judge))}
        known |= {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if "SYSTEMROOT" in os.environ else {}  # for Windows' sockets
        self._folder = tempfile.TemporaryDirectory(prefix="preflight-")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
        self._process = subprocess.Popen(
            interpreter_command("serve_jobs", [], self._folder.name if has_sandbox and is_judge else "", is_judge),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=tempfile.gettempdir(),
            env=known,
            **without_groups({"preexec_fn": _drop_override}),  # it only makes one system call
        )
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)  # only threads wait for pipes everywhere
        self._listener.start()

    def __enter__(self) -> "Runner":
        return self

    @cached_property
    def hello(self) -> dict[str, Any]:
        """The runner's first message, sent after it has imported Kaggle's package, which takes seconds."""
        return self._next_message("starting kaggle-environments")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _next_message(self, doing: str) -> dict[str, Any]:
        started, line = time.monotonic(), None
        while line is None:
            try:
                line = self._lines.get(timeout=SILENT_SECONDS)
            except Empty:
                self.tell(f"checking: {doing}, {time.monotonic() - started:.0f} s")
        if not line:
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RunnerDied(f"the runner for kaggle-environments ended: {''.join(last)}")
        return json.loads(line)

    def run(
        self, job: dict[str, Any], doing: str = "", names: list[str] | None = None, bar: "tqdm | None" = None
    ) -> dict[str, Any]:
        """The answer to a job; ``doing`` and ``names``, of its questions, are for messages of progress.

        With a ``bar``, it counts the questions instead.
        """
        assert self._process.stdin is not None and self.hello
        self._packages |= dict.fromkeys(job.get("imports", ()))
        self._process.stdin.write(json.dumps(job | {"packages": [*self._packages]}).encode() + b"\n")
        self._process.stdin.flush()
        before = bar.n if bar is not None else 0
        while "at" in (answer := self._next_message(doing)):
            if bar is not None:
                bar.update(before + int(answer["at"].removeprefix("question ")) - bar.n if " " in answer["at"] else 0)
                continue
            self.tell(f"checking: {doing}, {_stage_text(answer['at'], names or [])}, {answer['seconds']:.0f} s")
        if bar is not None:
            bar.update(before + max(0, len(answer["parts"]) - 1) - bar.n)
        self._packages |= dict.fromkeys((answer["result"] or {}).get("imported", ()))
        return answer

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join(SILENT_SECONDS)  # it ends with the last process that has the pipe
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # what was not flushed
            self._process.stdin.close()
        self._errors.close()
        self._folder.cleanup()


def _stage_text(at: str, names: list[str]) -> str:
    """A step of the runner in words."""
    kind, _, number = at.partition(" ")
    is_named = kind == "question" and int(number) < len(names)  # after the last one the process ends
    return f"at {names[int(number)]!r}" if is_named else at


@contextlib.contextmanager
def open_sandbox(limits: Limits, runner: Runner, name: str) -> Iterator["Sandbox"]:
    """Makes folders as on the judge, which are removed at the end. ``name``: of the file that is tried."""
    with tempfile.TemporaryDirectory(prefix="preflight-") as folder:
        root = Path(folder)
        for part in ("agent", "home", "elsewhere", "root"):
            (root / part).mkdir()
        try:
            yield Sandbox(root, runner, limits, name if name.endswith(".py") else "main.py")
        finally:
            for path in [root / "agent", *(root / "agent").rglob("*")]:
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o755)


@dataclass
class Sandbox:
    """Where a file is tried: ``root/agent`` becomes the judge's folder, or replaces it if that cannot be made."""

    root: Path
    runner: Runner
    limits: Limits
    name: str  # what the author calls main.py
    home: Path | None = None  # in which the author has it

    @cached_property
    def has_sandbox(self) -> bool:
        return not self.runner.hello["obstacle"]

    @property
    def main(self) -> Path:
        return self.root / "agent" / "main.py"

    @property
    def sandbox_note(self) -> str:
        return f"{sandbox.FOLDER} cannot be made here ({self.runner.hello['obstacle']})"

    @property
    def not_imitated(self) -> list[str]:
        """What this machine cannot do as the judge does, each in a few words."""
        return [*([] if self.has_sandbox else [self.sandbox_note]), *self.runner.hello["lacks"]]

    def mentions(self, name: str) -> bool:
        """Whether a source of the file has a name in its text."""
        return any(name.encode() in path.read_bytes() for path in (self.root / "agent").rglob("*.py"))

    @cached_property
    def situation(self) -> Situation:
        folder = self.root / "agent"
        files = frozenset(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return Situation(files, self.runner.hello["numpy"], self.name, str(self.home or ""))

    def seal(self) -> None:
        """Makes the agent's folder read-only."""
        for path in [*(self.root / "agent").rglob("*"), self.root / "agent"]:
            if not path.is_symlink():  # its target is sealed by itself, if it exists
                path.chmod(0o555 if path.is_dir() else path.stat().st_mode & 0o555 | 0o444)

    def run(
        self, job: dict[str, Any], doing: str = "", names: list[str] | None = None, bar: "tqdm | None" = None
    ) -> dict[str, Any]:
        """The runner's answer to a job. Raises RunnerDied: it has ended, or cannot make the judge's place."""
        common = {
            "limit": self.limits.first_move + STEP_PATIENCE,
            "memory": self.limits.memory + self.runner.hello["memory"],
            "folders": [str(self.root)],
            "file": str(self.main),
            "home": str(self.root / "home"),
            "cwd": str(self.root / "elsewhere"),
        }
        if self.has_sandbox and job.get("form") != "source":
            folders = [str(self.root / name) for name in ("root", "agent", "home")]
            common |= {"sandbox": folders, "file": f"{sandbox.FOLDER}/main.py"}
        answer = self.runner.run(common | job, doing, names, bar)
        if (answer["result"] or {}).get("raised") == "NoSandbox":
            raise RunnerDied(f"the judge's place cannot be made: {answer['result']['text']}")
        return answer

    def replies(
        self,
        file: Path,
        form: str,
        asked: Sequence[Question] | Mapping[str, Sequence[Mapping[str, Any]]],
        bar: "tqdm | None" = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Loads a file and asks it; the answer's "result" contains the "replies".

        Args:
            form: "path" for ``main``; "source" for the author's own agent, which is loaded outside the judge's place.
            asked: questions, or units of several kinds (``connectx_toolkit.kaggle.replies.ask_in_turn``).
        """
        names = [] if isinstance(asked, Mapping) else [question.name for question in asked]
        kinds = asked if isinstance(asked, Mapping) else {"questions": [question.as_json() for question in asked]}
        job = {"job": "replies", "form": form, "kinds": kinds} | ({"file": str(file)} if form == "source" else {})
        answer = self.run(job | options, "loading and asking", names, bar)
        if answer["ended"] == "ok" and "raised" not in answer["result"]:
            answer["result"] |= answer["parts"][0] | {"replies": answer["parts"][1:]}
        return answer

    def game(self, act_timeout: float, overage: float, seed: int, **options: Any) -> dict[str, Any]:
        """The file against itself in Kaggle's environment; games with another ``seed`` draw other random numbers."""
        files = [f"{sandbox.FOLDER}/main.py" if self.has_sandbox else str(self.main)] * 2
        limit = act_timeout + overage + 2 * STEP_PATIENCE  # the referee gives up a move earlier than this
        job = {"job": "game", "files": files, "config": {"actTimeout": act_timeout}, "overage": overage, "limit": limit}
        doing = f"game at {act_timeout:g} s a move and {overage:g} s a game"
        return self.run(job | {"seed": seed} | options, doing)
