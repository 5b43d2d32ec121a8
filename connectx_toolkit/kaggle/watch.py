"""An audit hook that records, and can deny, access to what the judge does not have or may not have.

Python calls the hook before it opens a file, connects, starts a program or imports a module. A denied access raises the
same exception as on a machine without the resource, so that an agent with a fallback uses it.
"""

import errno
import importlib.util
import os
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

LIMIT = 40  # findings kept
SHELLS = ("sh", "bash", "dash")
# Folders that code may read on any machine, besides Python's folders and those of the job.
SYSTEM_FOLDERS = ("/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/", "/bin/")


class Watch:
    """Collects findings, pairs of a kind and a name, while a job runs.

    Kinds: "file" (opened, but not available on the judge), "network" (a host), "program"; and for imports by the file
    under test "package" (installed here), "missing", and "late" (a module beside the file, imported after Kaggle's
    loader has removed that folder from ``sys.path``).

    Args:
        folder: the agent's folder; only imports made from there are recorded.
        own: other folders whose files the code may open and whose programs it may start.
        hides_files: deny access to this machine's files, because the process is not in the judge's place.
        hides_programs: deny the start of other programs.
    """

    def __init__(self, folder: str, own: tuple[str, ...], hides_files: bool, hides_programs: bool):
        self.folder, self.own = f"{folder}/", tuple(f"{path}/" for path in (folder, *own))
        self.hides_files, self.hides_programs = hides_files, hides_programs
        self._python = tuple(f"{path}/" for path in (sys.prefix, sys.base_prefix, *sys.path) if path)
        here = os.path.dirname(__file__)  # tracebacks, and torch when it is imported, show the runner's lines
        own_source = (here, os.path.join(os.path.dirname(here), "machine"))
        self._readable = (*SYSTEM_FOLDERS, *self._python, *own_source, *(self.own if hides_files else ()))
        self._seen: list[tuple[str, str]] = []
        self._told = 0
        self._imported: set[str] = set()
        self._written: set[str] = set()
        self._handlers: dict[str, Callable[[tuple[Any, ...]], None]] = {
            "open": self._open,
            "import": self._import,
            "socket.getaddrinfo": lambda given: self._look_up(given[0]),
            "socket.gethostbyname": lambda given: self._look_up(given[0]),
            "socket.connect": lambda given: self._connect(given[1]),
            "socket.sendto": lambda given: self._connect(given[1]),
            "subprocess.Popen": lambda given: self._start(given[0], given[1]),
            "os.exec": lambda given: self._start(given[0], given[1]),
            "os.posix_spawn": lambda given: self._start(given[0], given[1]),
            "os.system": lambda given: self._start("sh", ["sh", "-c", given[0]]),
        }

    def install(self) -> None:
        """Installs the hook, which remains until the process ends."""
        handlers = self._handlers

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            handler = handlers.get(event)
            if handler is not None:
                handler(arguments)

        sys.addaudithook(hook)

    def findings(self) -> list[tuple[str, str]]:
        """The findings since the last call."""
        imported, self._imported = self._imported, set()
        for name in sorted(imported):
            if kind := self._kind_of_import(name):
                self._note(kind, name)
        found, self._told = self._seen[self._told :], len(self._seen)
        return found

    def _note(self, kind: str, name: str) -> None:
        if (kind, name) not in self._seen and len(self._seen) < LIMIT:
            self._seen.append((kind, name))

    def _open(self, given: tuple[Any, ...]) -> None:
        path, _, flags = given
        if not isinstance(path, (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(path))
        if f"{path}/".startswith(self._readable) or path in self._written:
            return
        exists = os.path.exists(path)
        writes = bool((flags or 0) & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))
        if writes and not exists:
            self._written.add(path)
        elif exists == self.hides_files:
            self._note("file", path)
            if exists:
                number = errno.EACCES if writes else errno.ENOENT
                raise OSError(number, os.strerror(number), path)

    def _import(self, given: tuple[Any, ...]) -> None:
        frame: FrameType | None = sys._getframe(2)  # the caller of the hook
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(self.folder):
            self._imported.add(given[0].split(".")[0])

    def _kind_of_import(self, name: str) -> str:
        if name in sys.stdlib_module_names or self._is_own(getattr(sys.modules.get(name), "__file__", None)):
            return ""
        if name in sys.modules:
            return "package"
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is not None:
            return "" if self._is_own(spec.origin) else "package"
        beside = os.path.join(self.folder, name)
        return "late" if os.path.isdir(beside) or os.path.isfile(f"{beside}.py") else "missing"

    def _is_own(self, path: str | None) -> bool:
        """Whether a path is the agent's: not if it is Python's, which may lie in /tmp, too."""
        place = f"{path}/"
        is_pythons = place.startswith(self._python) and not place.startswith(self.folder)
        return path is not None and place.startswith(self.own) and not is_pythons

    def _look_up(self, host: str | bytes | None) -> None:
        name = os.fsdecode(host) if host else ""
        if name not in ("", "localhost", "::1") and not name.startswith("127."):
            self._note("network", name)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    def _connect(self, address: object) -> None:
        host = str(address[0]) if isinstance(address, tuple) else ""  # a string is a local socket
        if host not in ("", "localhost", "::1", "0.0.0.0") and not host.startswith("127."):
            self._note("network", host)
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    def _start(self, program: str | bytes, arguments: Any) -> None:
        path = os.fsdecode(program) if isinstance(program, (str, bytes, os.PathLike)) else str(program)
        is_own = "/" in path and self._is_own(os.path.abspath(path))
        if is_own or os.path.realpath(path) == os.path.realpath(sys.executable):
            return
        is_shell = os.path.basename(path) in SHELLS  # allowed: if programs are hidden, its PATH leads nowhere
        self._note("program", _command(arguments) if is_shell else os.path.basename(path))
        if self.hides_programs and not is_shell:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _command(arguments: Any) -> str:
    """The program that a shell's command line begins with."""
    words = str(list(arguments)[-1]).split() if arguments else []
    return os.path.basename(words[0]) if words else "sh"
