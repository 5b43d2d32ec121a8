"""Runs code under test for ``connectx_toolkit.builder.preflight.check``, each job in a process of its own.

Jobs arrive as JSON lines on stdin, answers leave as JSON lines on stdout. The runner imports kaggle-environments once,
as Kaggle's server does, and leaves no module of this project importable. So each fork is a fresh process with Kaggle's
package: without its games of OpenSpiel, and after ``make submission`` without all others whose packages are missing.
torch and numba are imported once, too, when a file has needed them: until a fork imports them it does not see them, and
then it sleeps as long as that import took (``connectx_toolkit.kaggle.preload``).

A job that takes too much time or memory is killed with its whole process group. Where there is no fork, each job is a
new interpreter, which imports all that again; it has no group, and its memory is not known.
"""

import base64
import contextlib
import gc
import importlib
import importlib.metadata
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from importlib.machinery import PathFinder

from connectx_toolkit.kaggle import sandbox, seats
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.kaggle.jobs import ForkedProcess, SpawnedProcess, missing_limits, resident_memory, supervise_job
from connectx_toolkit.kaggle.preload import Preload, heavy_imports
from connectx_toolkit.kaggle.raised import to_raised
from connectx_toolkit.kaggle.replies import NewThreads, ask_agent, ask_in_turn, count_arguments, shift_clocks
from connectx_toolkit.kaggle.sandbox import Watch
from connectx_toolkit.kaggle.sources import module_of, redirect_paths
from connectx_toolkit.kaggle.traces import Trace
from connectx_toolkit.system.cores import waiting
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.posix import HAS_FORK, c_function

PRCTL = c_function("prctl")  # only on Linux
PREPARATION = Preload()
SLEEP = time.sleep  # which a file may replace
OPEN_SPIEL = "kaggle_environments.envs.open_spiel_env"
NOWHERE = "/nonexistent"


class WithoutOpenSpiel:
    """An entry for ``sys.meta_path`` while Kaggle's package is imported, which goes on without games that are missing.

    OpenSpiel's take 0.45 s and 125 MB, for which each fork pays. All others are imported: one of them puts a folder
    with an ``agents.py`` on ``sys.path``, before a file's own.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == OPEN_SPIEL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_judge():
    """Kaggle's package without OpenSpiel's games, but with numpy, which they import."""
    sys.meta_path.insert(0, WithoutOpenSpiel)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # which games could not be loaded
            importlib.import_module("numpy.random")
            return importlib.import_module("kaggle_environments")
    finally:
        sys.meta_path.remove(WithoutOpenSpiel)


def move_to_judge(job):
    """Moves this process to the judge's place, or the nearest substitute that is possible here.

    Returns the ``Watch`` that records what the code under test tries to access.
    """
    if job.get("sandbox"):
        sandbox.enter_sandbox(*job["sandbox"])
        own = (sandbox.FOLDER, sandbox.WORK, sandbox.HOME, "/tmp")
        folders = {"HOME": sandbox.HOME}
    else:
        work = tempfile.mkdtemp(dir=job["cwd"])
        os.chdir(work)
        own = (*job["folders"], work)
        folders = {"HOME": job["home"], "TMPDIR": work}
        tempfile.tempdir = None  # so that tempfile uses the new TMPDIR
    os.environ.update(folders, **({"PATH": NOWHERE} if job.get("hides_programs") else {}))
    if PRCTL is not None:  # after the move, which would undo it
        PRCTL(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a job does not outlive a runner that is killed
    PREPARATION.hide(but=job.get("imports", ()))
    PREPARATION.charge = lambda seconds: SLEEP(seconds / (job.get("duty") or 1.0))
    folder = os.path.dirname(job["file"])
    watch = Watch(folder, own, hides_files=not job.get("sandbox"), hides_programs=bool(job.get("hides_programs")))
    if job.get("form") != "source":
        watch.install()
        sys.meta_path.insert(0, WithoutToolkit)
    return watch


class WithoutToolkit:
    """An entry for ``sys.meta_path``: an installed toolkit lies among Python's packages, and Kaggle has it not."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in ("connectx_core", "connectx_toolkit"):
            return None
        spec = PathFinder.find_spec(name, [entry for entry in sys.path if os.path.realpath(entry) != str(ROOT)])
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


def provide_files(files):
    """Makes a new working directory with copies of ``files``, and redirects the judge's folder to it, too."""
    folder = tempfile.mkdtemp(dir=os.getcwd())
    os.chdir(folder)
    for name, file in files.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        shutil.copyfile(file, name)
    judges = f"{sandbox.FOLDER}/"
    redirect_paths(lambda path: folder + path[len(judges) - 1 :] if f"{path}/".startswith(judges) else path)


def load_source(job):
    """The author's own agent, imported with its folders on the path, as a function of (obs, config)."""
    if job["files"]:
        provide_files(job["files"])
    sys.path[:0] = job["paths"]
    exec(job.get("before", ""), {})
    function = getattr(module_of(job["file"]), job["function"])
    count = count_arguments(function)

    def agent(obs, config):
        collects = gc.isenabled()
        gc.disable()  # as the guard of a built file does: a search against the clock reaches as far in both
        try:
            return function(*(obs, config)[:count])
        finally:
            if collects:
                gc.enable()

    return agent


def load_file(job):
    """(agent, path or text that it was loaded from): by Kaggle's loader, or from the author's source."""
    if job["form"] == "source":
        return load_source(job), job["file"]
    from kaggle_environments.agent import get_last_callable
    from kaggle_environments.utils import read_file

    text = read_file(job["file"])
    raw_path = job["file"] if job["form"] == "path" else text
    return get_last_callable(text, path=raw_path), raw_path


def structifier():
    """Kaggle's function that makes an observation of a dict; ours where Kaggle's package is not loaded."""
    if "kaggle_environments" not in sys.modules:
        return lambda entries: Struct(**entries)
    from kaggle_environments.utils import structify

    return structify


def job_replies(job, progress, part):
    """Loads an agent and asks it the units of ``job["kinds"]``, by the limits of ``replies.ask_in_turn``.

    Passes each result to ``part`` as it comes, with the next step: what was loaded, then each reply.
    """
    structify = structifier()
    watch = move_to_judge(job)
    progress("load")
    for name in job.get("imports", ()):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    seats.seed_process(job.get("load_seed", 0))
    if "clocks_shifted" in job:
        shift_clocks(job["clocks_shifted"])
    call = NewThreads().call if job["form"] != "source" else seats.call_here
    started, waited = time.perf_counter(), waiting("self")
    err = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            agent, raw_path = call(load_file, job)
    except BaseException:
        part({"seen": watch.findings()}, "load")
        raise
    code = getattr(agent, "__code__", None)
    loaded = {
        "load_seconds": time.perf_counter() - started,
        "waited": waited(),
        "name": getattr(agent, "__name__", type(agent).__name__),
        "kind": type(agent).__name__,
        "arguments": getattr(code, "co_argcount", None),
        "load_stderr": err.getvalue()[-600:],
    }
    part(loaded | {"seen": watch.findings()}, "question 0")
    limits = {name: job[name] for name in ("stop_after", "at_least", "enough") if name in job}

    trace = Trace(job["traced"]) if job.get("traced") else None
    through = trace.call if trace else seats.call_here

    def ask_question(question):
        return call(ask_agent, agent, question, raw_path, structify, job.get("draw", 0), through)

    for number, reply in enumerate(ask_in_turn(ask_question, job["kinds"], **limits), 1):
        part(reply | {"seen": watch.findings()}, f"question {number}")
    return {"imported": heavy_imports(), "trace": trace.result() if trace else {}}


def job_game(job, progress, part):
    """Plays a game between two files in Kaggle's environment (see ``connectx_toolkit.kaggle.seats``)."""

    def seat(env, raw, number):
        if HAS_FORK:
            return ForkedProcess(lambda asked, answers, output: serve_seat(job, env, raw, number, asked, answers))
        return SpawnedProcess(job | {"job": "seat", "raw": raw, "number": number})

    return seats.run_game(job, progress, seat)


def serve_seat(job, env, raw, number, questions, answers):
    """One seat of a game, in its own process, until ``questions`` ends."""
    with os.fdopen(questions, encoding="utf-8") as asked, os.fdopen(answers, "w", encoding="utf-8") as replies:
        call = seats.call_here if job.get("in_one_thread") else NewThreads().call
        seats.serve_seat(raw, env, number, asked, replies, lambda: move_to_judge(job).findings, call)


def job_spin(job, progress, part):
    """Measures the share of one core that a busy process gets."""
    cpu, wall = time.process_time(), time.perf_counter()
    while time.perf_counter() - wall < job["seconds"]:
        pass
    return {"share": (time.process_time() - cpu) / (time.perf_counter() - wall)}


def job_kernels(job, progress, part):
    """Machine code for submissions, as base64 by name, of our kernels that the author's own agent prepares."""
    move_to_judge(job)
    PREPARATION.charge = lambda seconds: None  # there is no clock
    sys.path[:0] = job["paths"]
    from connectx_toolkit.system.kernel_compiler import for_submission

    def agent():
        function, structify = load_source(job), structifier()

        def play(obs, config):
            function(structify(obs), structify(config))

        return play

    parts = for_submission(agent)
    return {"parts": {name: base64.b64encode(content).decode() for name, content in parts.items()}}


JOBS = {"kernels": job_kernels, "replies": job_replies, "game": job_game, "spin": job_spin}


def run_alone():
    """A new interpreter where there is no fork: does the job that comes as a line on stdin, and answers on stdout."""
    answer = os.dup(1)
    os.dup2(2, 1)  # only answers may reach the real stdout
    import_judge()  # as in the runner, before the code under test
    with os.fdopen(os.dup(0), "rb", buffering=0) as line:  # unbuffered: questions may follow
        job = json.loads(line.readline())
    if job["job"] == "seat":
        env = seats.environment_of(job["config"], job["overage"])
        serve_seat(job, env, job["raw"], job["number"], os.dup(0), answer)
        os._exit(0)
    run_job(job, answer, 2)


def run_job(job, answer, output):
    """The job's process: does the job, writes its result to ``answer``, and ends."""
    if HAS_FORK:
        os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if PRCTL is not None:
        PRCTL(1, signal.SIGKILL)
    if job.get("core") is not None:
        os.sched_setaffinity(0, {job["core"]})
    file = os.fdopen(answer, "w", encoding="utf-8", newline="\n")

    def tell(*lines):
        print(*lines, sep="\n", file=file, flush=True)  # in one write: each wakes the runner

    try:
        result = JOBS[job["job"]](job, tell, lambda part, step: tell(f"+{json.dumps(part)}", step))
    except BaseException as problem:  # SystemExit and KeyboardInterrupt are results, too
        result = {"raised": type(problem).__name__, "text": str(problem)[:500], "fault": to_raised(problem)}
    tell(f"={json.dumps(result)}")
    os._exit(0)


def serve_jobs(folder: str, is_judge: bool = True) -> None:
    """Runs jobs until stdin closes.

    Args:
        folder: an empty one to test whether the judge's place can be made, or "".
        is_judge: False to load nothing of Kaggle's: for the author's own agent.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # only answers may reach the real stdout
    judge = import_judge() if is_judge else None
    hello = {
        "kaggle": getattr(judge, "__version__", "?"),
        "numpy": importlib.metadata.version("numpy"),
        "memory": resident_memory(os.getpid()),
        "obstacle": sandbox.obstacle(folder) if folder else "switched off",
        "lacks": missing_limits(),
    }

    def answer(content):
        print(json.dumps(content), file=answers, flush=True)

    answer(hello)
    gc.collect()
    gc.freeze()  # else a collection in a fork would copy the memory of all that is imported here
    for line in sys.stdin:
        job = json.loads(line)
        if HAS_FORK:
            PREPARATION.prepare(job["packages"], None)

        def news(step, seconds):
            answer({"at": step, "seconds": seconds})

        started = ForkedProcess(lambda _, *files, job=job: run_job(job, *files)) if HAS_FORK else SpawnedProcess(job)
        answer(supervise_job(started, job, news))
