"""What ``comparison`` compares a built file with: the author's module, a page's own cells, or a live function.

Each is asked in a process of its own, apart from the built file's: a module and cells in one without Kaggle's package,
under another hash seed; a function in a fork of this process, so that nothing of the notebook changes (where there is
no fork, it is asked here).
"""

import contextlib
import io
import json
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from connectx_toolkit.builder.notebook.carrying import Values, qualified_name
from connectx_toolkit.builder.notebook.live import cells_behind, namespace_of
from connectx_toolkit.builder.notebook.own_modules import own_modules
from connectx_toolkit.builder.notebook.page import LEFT
from connectx_toolkit.builder.notebook.written import Written
from connectx_toolkit.builder.preflight.trial import FEW_NODES, Runner, Sandbox, open_sandbox
from connectx_toolkit.builder.source.inline import Inlined
from connectx_toolkit.builder.source.old_numpy import restoring_code, restoring_lines
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.kaggle.dependencies import REACHED
from connectx_toolkit.kaggle.replies import ask_agent, ask_in_turn, count_arguments
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.kaggle.seats import call_here
from connectx_toolkit.kaggle.sources import import_name
from connectx_toolkit.kaggle.traces import Trace
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.posix import HAS_FORK, signal_name

if TYPE_CHECKING:
    from tqdm import tqdm

HANGING = 62.0  # seconds without a reply after which a function hangs: Kaggle waits no longer
WRITES = re.compile(r"""\bopen\([^\n]*['"][wax]|save|dump|write|to_csv|extract""")
CELLS_SECONDS = 120.0  # that a page's cells may run
IMPORTS_TORCH = re.compile(r"^\s*(from|import)\b.*\btorch\b", re.MULTILINE)
IMPORTED = re.compile(r"^(?:import|from) ([\w.]+)", re.MULTILINE)
NODE_CLOCK = f"moves are compared at {FEW_NODES} nodes each, without a clock; budget.is_late(nodes) counts them, too"
Kinds = Mapping[str, Sequence[Mapping[str, Any]]]  # name -> units, see connectx_toolkit.kaggle.replies


class SideAnswer(NamedTuple):
    """What one side of a comparison replies.

    replies: in the form of ``ask_in_turn``, as many as the time allows.
    why: why there are none; "" if there are.
    changed: what the play of a running function changes, of ``Written.state``.
    loaded: what the runner says of the load; {} of a running function.
    trace: see ``connectx_toolkit.kaggle.traces``.
    """

    replies: list[dict[str, Any]]
    why: str = ""
    changed: Sequence[str] = ()
    loaded: Mapping[str, Any] = {}
    trace: Mapping[str, Any] = {}


class Original:
    """What the three have in common.

    who: what the report calls it.
    lacks: what exists there and not in the file, each with its place.
    cure: what to do if the file plays otherwise.
    imports: what both sides import before they load: torch seeds itself by chance as it is imported.
    traced: the files of the author's code, as its code objects name them.
    """

    who = cure = ""
    lacks: Sequence[str] = ()
    imports: Sequence[str] = ()
    traced: Sequence[str] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def place_of(self, file: str, line: int) -> str:
        """Where people find a line of the code that is traced; "" if the built file has not got it."""
        raise NotImplementedError

    def ask(self, kinds: Kinds, **options: Any) -> SideAnswer:
        """What it replies in a new process. ``options``: of a job of the runner, such as "draw" and "stop_after"."""
        raise NotImplementedError

    def ask_as_loaded(self, judge: Sandbox, kinds: Kinds, **options: Any) -> SideAnswer | None:
        """What it replies if it is loaded where the built file is, with the same seeds.

        None if it is not loaded anew in each game, as a notebook's values are not.
        """
        return None


def answer_of(answer: dict[str, Any]) -> SideAnswer:
    """The runner's answer to a job."""
    if answer["ended"] != "ok":
        why = f"gave no answer in time: {NODE_CLOCK}" if answer["ended"] == "timeout" else answer["ended"]
        return SideAnswer([], f"{why} ({answer['step']})")
    result = answer["result"]
    if "raised" in result:
        return SideAnswer([], f"does not load: {result['raised']}: {result['text']}")
    return SideAnswer(result["replies"], loaded=result, trace=result["trace"])


def source_job(inlined: Inlined) -> dict[str, Any]:
    """What the runner needs to load the author's own module."""
    top, _ = import_name(inlined.agent_path)
    folder = inlined.agent_path.resolve().parent
    paths = list(dict.fromkeys(map(str, (folder, top, inlined.root or folder, *inlined.folders, ROOT))))
    files = {name: str(file) for name, (file, _) in inlined.files.items()}
    job = {"function": inlined.entry[1], "paths": paths, "files": files, "folders": paths}
    return job | {"before": restoring_code(inlined.old_names)}


class Source(Original):
    """The author's module."""

    who = "its source"

    def __init__(self, inlined: Inlined):
        self.file = inlined.agent_path.resolve()
        self.imports = ["torch"] if any(map(IMPORTS_TORCH.search, inlined.sources.values())) else []
        self.job = source_job(inlined) | {"imports": self.imports}
        self.traced = own_files(inlined)

    def place_of(self, file: str, line: int) -> str:
        return f"{_shorten_path(file, self.file.parent)}, line {line}"

    def __enter__(self) -> Self:
        self._open = contextlib.ExitStack()
        runner = self._open.enter_context(Runner(is_judge=False))
        self._sandbox = self._open.enter_context(open_sandbox(Limits(), runner, self.file.name))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _ask_in(self, where: Sandbox, kinds: Kinds, options: dict[str, Any]) -> SideAnswer:
        job = self.job | {"folders": [str(where.root), *self.job["folders"]]} | options
        return answer_of(where.replies(self.file, "source", kinds, **job))

    def ask(self, kinds: Kinds, **options: Any) -> SideAnswer:
        return self._ask_in(self._sandbox, kinds, options)

    def ask_as_loaded(self, judge: Sandbox, kinds: Kinds, **options: Any) -> SideAnswer | None:
        return self._ask_in(judge, kinds, options)


class Cells(Source):
    """A page's own cells, which run as they are."""

    def __init__(self, inlined: Inlined, written: Written):
        super().__init__(inlined)
        assert written.page is not None
        self.file, self.job = written.page, self.job | {"function": "AGENT", "limits": {"load": CELLS_SECONDS}}
        self.who, self.lacks = f"{written.entry} of the page's own cells", facts_of(written)
        self.cure = f"Run build({written.entry}) in the notebook, which carries its values, or save them to a file"
        self._places, self._own = {*written.places.values()}, {*own_files(inlined)} - {str(inlined.agent_path)}
        self.traced = [*self._own, *{place.rpartition(", line ")[0] for place in self._places}]

    def place_of(self, file: str, line: int) -> str:
        place = super().place_of(file, line) if file in self._own else f"{file}, line {line}"
        return place if file in self._own or place in self._places else ""

    def pack_files_of_cells(self, inlined: Inlined) -> None:
        """Runs the cells once if they write files: the submission holds those that they change as they leave them."""
        if not inlined.files or not WRITES.search(self.file.read_text(encoding="utf-8")):
            return
        with self:
            self.ask({})
        for name, (_, place) in list(inlined.files.items()):
            if (left := self.file.with_name(LEFT) / name).is_file():
                inlined.files[name] = (left, place)
                inlined.notes.append(f"{name}: as the cells leave it")
        self.job |= {"files": source_job(inlined)["files"]}

    def ask(self, kinds: Kinds, **options: Any) -> SideAnswer:
        answer = super().ask(kinds, **options)
        if not answer.loaded and (place := _read_if_there(self.file.with_suffix(".at"))) and "(load)" in answer.why:
            cure = "take out what trains or plays there, or build it in the notebook that has run"
            return answer._replace(why=f"gives no answer: {place} still ran after {CELLS_SECONDS:g} s; {cure}")
        failed = json.loads(said) if (said := _read_if_there(self.file.with_suffix(".json"))) else []
        if failed and "failed here" not in self.who:
            shown = "; ".join(failed[:3]) + "; and others" * (len(failed) > 3)
            self.who += f" (some cells failed here: {shown})"
        return answer

    def ask_as_loaded(self, judge: Sandbox, kinds: Kinds, **options: Any) -> SideAnswer | None:
        return None


class Function(Original):
    """A function that lives in this process."""

    def __init__(self, function: Callable, written: Written):
        self.function, self.written = function, written
        self.who, self.lacks = f"{written.who} here", facts_of(written)
        self._cells = {cell.file: cell for cell in cells_behind(namespace_of(function)) if cell.file}
        self._places = {*written.places.values()}
        modules = own_modules(re.findall(IMPORTED, written.agent.read_text(encoding="utf-8")))
        self._own = {str(module.__file__) for module in modules}
        self.traced = [*self._cells, *self._own]
        self._old_names = restoring_lines(written.agent.read_text(encoding="utf-8"))

    def ask(self, kinds: Kinds, **options: Any) -> SideAnswer:
        answer = ask_here(self.function, self.written.state, kinds, before=self._old_names, **options)
        return answer._replace(changed=[self._note_of(label) for label in answer.changed])

    def place_of(self, file: str, line: int) -> str:
        if file in self._own:
            return f"{_shorten_path(file, Path.cwd())}, line {line}"
        place = self._cells[file].place(line)
        return place if place in self._places else ""

    def _note_of(self, label: str) -> str:
        """That play changes a value, and with what a game of the built file starts."""
        is_new = label.isidentifier() and label not in namespace_of(self.function)
        begins = "without it" if is_new else "with its current value"
        return f"{self.written.who} modifies {label}. Each game of the built file starts {begins}"


def own_files(inlined: Inlined) -> list[str]:
    """The files of an agent's code that are not the toolkit's."""
    return [str(path) for path in sorted(inlined.paths) if not path.is_relative_to(ROOT / REACHED)]


def _shorten_path(file: str, folder: Path) -> str:
    path = Path(file)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


def facts_of(written: Written) -> list[str]:
    """What exists in a notebook and not in the file that was written of it."""
    reads_variables = re.search(r"\benviron\b|\bgetenv\b", written.agent.read_text(encoding="utf-8"))
    variables = ["os.environ as this notebook has it: write the value into a cell"] if reads_variables else []
    return [*variables, *written.left_out]


def _read_if_there(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def ask_here(
    function: Callable,
    state: Mapping[str, Callable[[], Any]],
    kinds: Kinds,
    draw: int = 0,
    traced: Sequence[str] = (),
    bar: "tqdm | None" = None,
    before: str = "",
    **limits: Any,
) -> SideAnswer:
    """What a function replies that lives in this process.

    Args:
        state: what may change as it plays, see ``Written``.
        draw, limits: see ``connectx_toolkit.kaggle.replies``.
        traced: files of its code, see ``connectx_toolkit.kaggle.traces``.
        before: code that runs first, where there are forks.
    """
    if not HAS_FORK:
        names = namespace_of(function)
        held = dict(names)
        try:
            return SideAnswer(list(_replies_of(function, kinds, draw, limits, None)))
        except Exception as problem:
            return SideAnswer([], f"raises {type(problem).__name__}: {problem}")
        finally:
            names.update(held)  # what was bound anew; what was changed in place stays so
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            _silence_fork()
            with os.fdopen(theirs, "w", buffering=1) as pipe:
                held, trace = digests_of(state), Trace(traced) if traced else None
                try:
                    exec(before, {})
                    for reply in _replies_of(function, kinds, draw, limits, trace):
                        print(json.dumps(reply), file=pipe)
                except BaseException as problem:  # SystemExit, too, which no move may raise
                    print(json.dumps(f"raises {type(problem).__name__}: {problem}"), file=pipe)
                after = digests_of(state)
                changed = [label for label in state if held[label] != after[label]]
                print(json.dumps([changed, trace.result() if trace else {}]), file=pipe)
        finally:
            os._exit(0)
    os.close(theirs)
    lines = [json.loads(line) for line in _read_lines(ours, bar)]
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    is_whole = bool(lines) and isinstance(lines[-1], list)
    changed, trace = lines.pop() if is_whole else ([], {})
    if lines and isinstance(lines[-1], str):
        return SideAnswer(lines[:-1], lines[-1], changed)
    why = ""
    if not is_whole:
        ends = f"is killed by {signal_name(-code)}" if code < 0 else f"ends its process (exit code {code})"
        why = f"gives no answer in {HANGING:g} s" if code == -signal.SIGKILL else ends
    return SideAnswer(lines, why, changed, trace=trace)


def digests_of(state: Mapping[str, Callable[[], Any]]) -> dict[str, str]:
    """A digest of each value; "" of one that no file can hold."""
    digests = dict[str, str]()
    for label, of in state.items():
        values = Values(qualified_name, lambda held: "", lambda text: None)
        with contextlib.suppress(Exception):  # their code may raise anything
            values.add(label, of(), label)
            digests[label] = values.digest()
    return {label: digests.get(label, "") for label in state}


def _read_lines(pipe: int, bar: "tqdm | None") -> list[bytes]:
    """The whole lines that come from a process until it ends or is silent for too long."""
    content = b""
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while select.select([file], [], [], HANGING)[0] and (chunk := file.read(1 << 16)):
            content += chunk
            if bar is not None:
                bar.update(chunk.count(b"\n"))
    return content.split(b"\n")[:-1]


def _silence_fork() -> None:
    """Lets nothing out of a fork, in which a process's threads are not."""
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    sys.stdout = sys.stderr = io.StringIO()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # its pool of threads was not forked


def _replies_of(
    function: Callable, kinds: Kinds, draw: int, limits: Mapping[str, Any], trace: Trace | None
) -> Iterator[dict[str, Any]]:
    count, through = count_arguments(function), trace.call if trace else call_here

    def agent(obs: Any, config: Any) -> Any:
        return function(*(obs, config)[:count])

    def ask_question(question: Mapping[str, Any]) -> dict[str, Any]:
        return ask_agent(agent, question, "", lambda entries: Struct(**entries), draw, through)

    return ask_in_turn(ask_question, kinds, **limits)
