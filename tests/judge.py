"""What Kaggle's environment does with a file in the judge's place: an oracle for the pre-flight, with none of its code.

``unshare`` and a few lines of shell make the place: a root of its own with this machine's folders, an empty /tmp, and
/kaggle_simulations/agent instead of one that the machine may have. In it a server imports kaggle-environments once and
forks a referee for each game, and that a process for each seat. No other program is on the path, as if the judge had
none.
"""

import base64
import gc
import io
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

AGENT = "/kaggle_simulations/agent"
HOME = "/tmp/home"
ENTER = """
set -e
root=$1; python=$2; here=$3; shift 3
mount -t tmpfs tmpfs "$root"
for entry in /*; do
    [ "$entry" != /kaggle_simulations ] || continue
    if [ -L "$entry" ]; then cp -P "$entry" "$root$entry"
    elif [ -d "$entry" ] && [ "$entry" != /tmp ]; then mkdir "$root$entry"; mount --rbind "$entry" "$root$entry"
    fi
done
mkdir -p "$root/kaggle_simulations/agent" "$root/tmp/home"
for folder in "$python" "$here"; do
    case "$folder" in /tmp/*) mkdir -p "$root$folder"; mount --rbind "$folder" "$root$folder" ;; esac
done
exec chroot "$root" setpriv --bounding-set=-dac_override "$@"
"""


class Judge:
    """A running server, a context manager.

    Raises:
        OSError: the place cannot be made here.
    """

    def __init__(self) -> None:
        self._root = tempfile.TemporaryDirectory(prefix="judge-")
        namespaces = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        server = [sys.executable, "-IB", __file__]
        self._process = subprocess.Popen(
            [*namespaces, "sh", "-c", ENTER, "sh", self._root.name, sys.prefix, os.path.dirname(__file__), *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        if self._process.stdout.readline() != "ready\n":
            raise OSError(f"the judge's place cannot be made: {self._process.stderr.read()[-300:]}")

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._root.cleanup()

    def verdict(self, content: bytes, act_timeout: float, overage: float, by_http: bool = False) -> str:
        """The statuses of a game of the file against itself, "DONE" alone if all is well; or what escapes."""
        job = {"content": base64.b64encode(content).decode(), "act": act_timeout, "overage": overage, "http": by_http}
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


def seat(connection: Any, env: Any) -> None:
    """Kaggle's Agent, asked over a pipe."""
    from kaggle_environments.agent import Agent
    from kaggle_environments.errors import DeadlineExceeded
    from kaggle_environments.utils import structify

    os.chdir(tempfile.mkdtemp())
    agent = Agent(f"{AGENT}/main.py", env)
    while True:
        action, _ = agent.act(structify(json.loads(connection.recv())))
        if isinstance(action, BaseException):
            connection.send("late" if isinstance(action, DeadlineExceeded) else "raised")
            continue
        try:
            connection.send([action])
        except Exception:  # of a class that the other process does not know
            connection.send([int(action) if isinstance(action, int) else repr(action)])


def player(env: Any) -> Any:
    """A seat's process, as a function that Kaggle's environment can call."""
    from kaggle_environments.errors import DeadlineExceeded

    ours, theirs = multiprocessing.Pipe()
    if os.fork() == 0:
        ours.close()
        try:
            seat(theirs, env)
        finally:
            os._exit(1)
    theirs.close()

    def ask(obs: Any, config: Any) -> Any:
        try:
            ours.send(json.dumps(obs))
            if not ours.poll(obs.remainingOverageTime + config.actTimeout + 1):
                return DeadlineExceeded()
            reply = ours.recv()
        except (EOFError, OSError):
            return RuntimeError("the seat's process is gone")
        return reply[0] if isinstance(reply, list) else DeadlineExceeded() if reply == "late" else RuntimeError(reply)

    return ask


def http_player(port: int) -> str:
    """Kaggle's own HTTP server in a process, as the address that Kaggle's environment calls."""
    import socket

    from kaggle_environments import main

    if os.fork() == 0:
        os.chdir(tempfile.mkdtemp())
        main.action_http(main.parse_args({"action": "http-server", "port": port}))
        os._exit(0)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    return f"http://127.0.0.1:{port}/?agents[]={AGENT}/main.py"


def play(job: dict[str, Any], agents: Any = None) -> str:
    from kaggle_environments import make

    env = make("connectx", configuration={"actTimeout": job["act"]})
    env.specification.observation["remainingOverageTime"]["default"] = job["overage"]
    for number in (0, 1):
        env.__dict__.pop(f"__state_schema_{number}", None)
    first = 20_000 + os.getpid() % 20_000 * 2
    agents = agents or [http_player(first + n) if job["http"] else player(env) for n in (0, 1)]
    try:
        return " ".join(sorted({state.status for state in env.run(agents)[-1]} - {"DONE"}) or ["DONE"])
    except BaseException as fault:
        return f"{type(fault).__name__} escapes"


def protect(folder: str, mode: int) -> None:
    for path in [Path(folder), *Path(folder).rglob("*")]:
        if path.is_dir():
            path.chmod(mode)


def serve() -> None:
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import kaggle_environments  # noqa: F401 (the games find it loaded)
    from jsonschema import validators

    kind = validators.validator_for({})
    check, known = kind.check_schema, set()

    def check_once(schema: Any, *arguments: Any, **options: Any) -> None:
        """Kaggle's own schemas are checked at each state of a game: that is two thirds of its time."""
        if (key := repr(schema)) not in known:
            check(schema, *arguments, **options)
            known.add(key)

    kind.check_schema = check_once
    play({"act": 2.0, "http": False, "overage": 60.0}, [lambda obs, config: obs.board.index(0) % 7] * 2)
    gc.freeze()  # else a collection in a fork would copy all that is imported here
    os.environ.clear()
    os.environ.update(HOME=HOME, PATH="/nonexistent", LANG="C.UTF-8")
    os.write(answers, b"ready\n")
    for line in sys.stdin:
        job = json.loads(line)
        for folder in (AGENT, HOME):
            protect(folder, 0o755)
            shutil.rmtree(folder)
            os.makedirs(folder)
        content = base64.b64decode(job["content"])
        if content[:2] == b"\x1f\x8b":
            with tarfile.open(fileobj=io.BytesIO(content)) as tar:
                tar.extractall(AGENT, filter="data")
        else:
            Path(AGENT, "main.py").write_bytes(content)
        protect(AGENT, 0o555)
        referee = os.fork()
        if referee == 0:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)  # the jobs are not for the players
            os.dup2(0, 2)
            os.write(answers, f"{play(job)}\n".encode())
            os.killpg(0, 9)  # the seats too
        os.waitpid(referee, 0)


if __name__ == "__main__":
    serve()
