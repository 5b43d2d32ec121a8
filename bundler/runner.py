"""Runs code under test, one forked process a job, for ``bundler.preflight``: ``python -I runner.py``.

Jobs come as JSON lines on stdin, answers go as JSON lines to stdout. The runner imports kaggle-environments once, as
Kaggle's server does, and nothing of this project, so each fork is a fresh process that holds what the judge holds. A
job that takes too long or too much memory is killed with its whole process group.
"""

import builtins
import contextlib
import ctypes
import io
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
import traceback

TAIL = 4000  # characters kept of what a job prints past Kaggle's own capture
POLL = 0.05  # seconds between looks at a job's memory
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # Linux has it
DUTY_PERIOD = 0.03  # seconds of one stop-and-go cycle where no control group is to be had
AUDIT_LIMIT = 12
JUDGE_FOLDER = "/kaggle_simulations/agent"

# Folders that code may read on any machine: Python's own, the system's, and what the job was given.
SYSTEM_FOLDERS = ("/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/", "/bin/", "/opt/", "/run/")


def audit(allowed, seen):
    """Notes in ``seen`` what the judge would not have: files of this machine, the network, other programs."""
    folders = (*SYSTEM_FOLDERS, *allowed, sys.prefix, sys.base_prefix, *(p for p in sys.path if p))

    def hook(event, arguments):
        if len(seen) >= AUDIT_LIMIT:
            return
        if event == "open" and isinstance(arguments[0], str):
            path = os.path.abspath(arguments[0])
            if not path.startswith(folders) and os.path.exists(path):
                seen.append(f"opens {path}")
        elif event in ("socket.connect", "socket.getaddrinfo"):
            seen.append(f"uses the network ({event})")
        elif event in ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec"):
            seen.append(f"starts another program ({event})")

    sys.addaudithook(hook)


def provide(files):
    """Makes a new working directory of links to ``files``, and has it stand for the judge's folder, too."""
    folder = tempfile.mkdtemp(dir=os.getcwd())
    os.chdir(folder)
    for name, file in files.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        os.symlink(file, name)

    def redirected(function):
        def call(path, *arguments, **options):
            name = os.fspath(path) if isinstance(path, os.PathLike) else path
            if isinstance(name, str) and (name + "/").startswith(JUDGE_FOLDER + "/"):
                path = folder + name[len(JUDGE_FOLDER) :]
            return function(path, *arguments, **options)

        return call

    for module, name in ((builtins, "open"), (io, "open"), *((os, n) for n in ("stat", "listdir", "scandir", "chdir"))):
        setattr(module, name, redirected(getattr(module, name)))


def load_source(job):
    """The agent as its author wrote it, imported with its folders on the path, as a function of (obs, config)."""
    import importlib.util
    import inspect

    if job["files"]:
        provide(job["files"])
    sys.path[:0] = job["paths"]
    package = type(sys)("source_under_test")  # lets a lone file use relative imports, as it may in a submission
    package.__path__ = [job["folder"]]
    sys.modules["source_under_test"] = package
    name = job["module"] if "." in job["module"] else f"source_under_test.{job['module']}"
    importlib.import_module(name.rpartition(".")[0])
    spec = importlib.util.spec_from_file_location(name, job["file"])  # the file's name may be no identifier
    assert spec is not None and spec.loader is not None, job["file"]
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, job["function"])
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    count = 2 if inspect.Parameter.VAR_POSITIONAL in kinds else len(kinds)
    return lambda obs, config: function(*(obs, config)[:count])


def load(job):
    """The agent that Kaggle's loader makes of a file, given by path or as text; or the source agent."""
    if job["form"] == "source":
        return load_source(job)
    from kaggle_environments.agent import get_last_callable
    from kaggle_environments.utils import read_file

    text = read_file(job["file"])
    return get_last_callable(text, path=job["file"] if job["form"] == "path" else text)


def call(agent, arguments):
    """Calls as Kaggle does, with as many arguments as the code object says."""
    code = getattr(agent, "__code__", None)
    return agent(*arguments[: code.co_argcount] if code is not None else arguments)


def described(value):
    """What a reply is: (its type's name, the int that it stands for or None, its text)."""
    try:
        column = None if isinstance(value, (bool, float)) else int(value.__index__())
    except Exception:
        column = None
    return type(value).__name__, column, repr(value)[:80]


def seed(number):
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def ask(agent, question, structify):
    """One direct call: its reply, seconds, and what it printed to stderr."""
    obs, config = question["obs"], question["config"]
    if not question.get("plain"):
        obs, config = structify(obs), structify(config)
    seed(question["seed"])
    out, err = io.StringIO(), io.StringIO()
    started = time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            kind, column, text = described(call(agent, [obs, config]))
        except Exception as fault:
            kind, column, text = "exception", None, repr(fault)[:300]
    return {
        "type": kind,
        "column": column,
        "text": text,
        "seconds": time.perf_counter() - started,
        "stderr": err.getvalue()[-600:],
    }


def job_replies(job, progress):
    """Loads an agent and asks it; ``stop_after`` seconds end the asking early, after ``at_least`` questions."""
    from kaggle_environments.utils import structify

    progress("load")
    started = time.perf_counter()
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        agent = load(job)
    code = getattr(agent, "__code__", None)
    replies: list[dict] = []
    result = {
        "load_seconds": time.perf_counter() - started,
        "name": getattr(agent, "__name__", type(agent).__name__),
        "kind": type(agent).__name__,
        "arguments": getattr(code, "co_argcount", None),
        "load_stderr": err.getvalue()[-600:],
        "replies": replies,
    }
    asking = time.perf_counter()
    for number, question in enumerate(job["questions"]):
        progress(f"question {number}")
        replies.append(ask(agent, question, structify))
        asked = number + 1
        if asked >= job.get("at_least", 1) and time.perf_counter() - asking > job.get("stop_after", float("inf")):
            break
    return result


def job_game(job, progress):
    """A game in Kaggle's environment; ``job["agents"]`` holds (form, file) pairs or names of built-in agents."""
    from kaggle_environments import make
    from kaggle_environments.utils import read_file

    def agent(given):
        if isinstance(given, str):
            return given
        return given[1] if given[0] == "path" else read_file(given[1])

    env = make("connectx", configuration=job["config"])
    env.specification.observation["remainingOverageTime"]["default"] = job["bank"]
    for seat in (0, 1):
        env.__dict__.pop(f"__state_schema_{seat}", None)  # made from the specification once more, at the reset
    progress("game")
    steps = env.run([agent(given) for given in job["agents"]])
    logs = [[entry[seat] for entry in env.logs if len(entry) > seat and entry[seat]] for seat in (0, 1)]
    return {
        "statuses": [str(state.status) for state in steps[-1]],
        "rewards": [state.reward for state in steps[-1]],
        "plies": len(steps) - 1,
        "actions": [state.action for step in steps[1:] for state in step if state.action is not None],
        "banks": [state.observation.remainingOverageTime for state in steps[-1]],
        "durations": [[entry.get("duration", 0.0) for entry in log] for log in logs],
        "stderr": ["".join(entry.get("stderr", "") for entry in log)[-3000:] for log in logs],
    }


def job_spin(job, progress):
    """The share of one core that a busy process gets."""
    cpu, wall = time.process_time(), time.perf_counter()
    while time.perf_counter() - wall < job["seconds"]:
        pass
    return {"share": (time.process_time() - cpu) / (time.perf_counter() - wall)}


JOBS = {"replies": job_replies, "game": job_game, "spin": job_spin}


def child(job, answer, output):
    """The forked process: does the job, writes its result to ``answer``, and ends."""
    os.setsid()
    if PRCTL is not None:
        PRCTL(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a job does not outlive a runner that is killed
    os.chdir(job["cwd"])
    os.environ |= {"HOME": job["home"], "TMPDIR": job["home"]}
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if job.get("core") is not None:
        os.sched_setaffinity(0, {job["core"]})
    if job.get("cgroup"):
        with open(os.path.join(job["cgroup"], "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))
    seen: list[str] = []
    file = os.fdopen(answer, "w", buffering=1)
    try:
        audit(tuple(job.get("folders", ())), seen)
        result = JOBS[job["job"]](job, lambda stage: print(stage, file=file))
    except BaseException as fault:  # SystemExit and KeyboardInterrupt are findings too
        result = {"raised": type(fault).__name__, "text": str(fault)[:500], "trace": traceback.format_exc()[-1500:]}
    result["audit"] = seen
    print(json.dumps(result), file=file, flush=True)
    os._exit(0)


def resident(pid):
    """Bytes of memory that a process holds now."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0


def duty_cycle(pid, share, elapsed):
    """Stops or continues a process so that it runs ``share`` of each period; returns the seconds to the next turn."""
    phase = elapsed % DUTY_PERIOD
    running = phase < share * DUTY_PERIOD
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGCONT if running else signal.SIGSTOP)
    return (share * DUTY_PERIOD if running else DUTY_PERIOD) - phase


def supervise(pid, job, answer, output):
    """Waits for a job's process, drains what it writes, and kills it when it breaks a limit.

    ``job["limit"]`` counts seconds from the last sign of progress: the load, each question, a game are a stage each.
    """
    started = stage = looked = time.perf_counter()
    peak, ended, pause = 0, "ok", POLL
    lines: list[bytes] = []
    rest, tail = b"", b""
    streams = [answer, output]
    while answer in streams and not (lines and lines[-1].startswith(b"{")):
        now = time.perf_counter()
        if job.get("duty"):
            pause = duty_cycle(pid, job["duty"], now - started)
        if now - looked >= POLL:
            looked, peak = now, max(peak, resident(pid))
        ended = "timeout" if now - stage > job["limit"] else "memory" if peak > job["memory"] else "ok"
        if ended != "ok":
            break
        for file in select.select(streams, [], [], pause)[0]:
            chunk = os.read(file, 1 << 16)
            if not chunk:
                streams.remove(file)
            elif file == output:
                tail = (tail + chunk)[-TAIL:]
            else:
                *whole, rest = (rest + chunk).split(b"\n")
                lines += whole
                stage = now
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    result = json.loads(lines[-1]) if lines and lines[-1].startswith(b"{") else None
    if ended == "ok" and result is None:
        ended = f"ended itself with exit code {os.waitstatus_to_exitcode(status)}"
    return {
        "ended": ended,
        "seconds": time.perf_counter() - started,
        "peak": max(peak, usage.ru_maxrss * 1024),
        "tail": tail.decode(errors="replace"),
        "stage": next((line.decode() for line in reversed(lines) if not line.startswith(b"{")), "start"),
        "result": result,
    }


def serve():
    """Answers jobs until stdin closes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing but answers may reach the real stdout
    with contextlib.redirect_stdout(io.StringIO()):
        import kaggle_environments

    hello = {"kaggle": getattr(kaggle_environments, "__version__", "?"), "memory": resident(os.getpid())}
    print(json.dumps(hello), file=answers, flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        answer_read, answer_write = os.pipe()
        output_read, output_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(answer_read)
            os.close(output_read)
            child(job, answer_write, output_write)
        os.close(answer_write)
        os.close(output_write)
        result = supervise(pid, job, answer_read, output_read)
        os.close(answer_read)
        os.close(output_read)
        print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])  # a folder with another version of kaggle-environments
    serve()
