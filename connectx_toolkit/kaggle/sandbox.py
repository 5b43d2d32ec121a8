"""The judge's place on this machine: /kaggle_simulations/agent, and around it only what the judge has.

An audit hook records, and can deny, access to what the judge does not have or may not have. Python calls it before it
opens a file, connects, starts a program or imports a module. A denied access raises the same exception as on a machine
without the resource, so that an agent with a fallback uses it.

``show_agent`` gives one process that folder, and leaves it all else of this machine: for agents in our own games.
``enter_sandbox`` moves a process to the judge's place, for a file under test. The process gets its own root, in a mount
namespace that no other process sees: the folders of the system and of Python, read-only, and nothing else of this
machine. The working directory and /tmp are empty at first and vanish with the process. Nothing is written outside the
caller's temporary folder, so that any number of them can run at once.
This needs Linux, and root or user namespaces; elsewhere ``obstacle`` says what is missing.
"""

import ctypes
import errno
import importlib.util
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from connectx_toolkit.system.posix import HAS_FORK, c_function, with_slashes

FOLDER = "/kaggle_simulations/agent"  # where Kaggle puts a submission

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32  # linux/mount.h
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE = 1 << 10, 1 << 11, 1 << 12, 1 << 14, 1 << 18
MS_RELATIME, ST_RELATIME = 1 << 21, 1 << 12  # the only one of these flags with another value in statvfs
KEPT_FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME  # fixed in a user namespace


def _system_call(name: str, *arguments: object) -> None:
    function = c_function(name)
    if function is None:
        raise OSError(errno.ENOSYS, f"{sys.platform} has no {name}")
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2). Raises OSError if it fails or this system does not have it."""
    texts = [text.encode() or None for text in (source, target, kind)]
    _system_call("mount", *texts, ctypes.c_ulong(flags), data.encode() or None)


def bind_mount(source: str, target: str, read_only: bool) -> None:
    """Bind-mounts the folder or file ``source``, with everything mounted below it, at ``target``. Raises OSError."""
    mount(source, target, "", MS_BIND | MS_REC)
    if read_only:
        flags = os.statvfs(target).f_flag
        kept = flags & KEPT_FLAGS | (MS_RELATIME if flags & ST_RELATIME else 0)
        mount("", target, "", MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def unshare() -> None:
    """Enters a new mount namespace: as root, or in a user namespace that keeps the user's number. Raises OSError."""
    try:
        _system_call("unshare", CLONE_NEWNS)
    except PermissionError:
        user, group = os.getuid(), os.getgid()
        _system_call("unshare", CLONE_NEWNS | CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    mount("", "/", "", MS_REC | MS_PRIVATE)


CREDENTIALS = ("~/.kaggle", "~/.config/kaggle")  # of the user's account
HOME = "/home/judge"
WORK = "/episode"  # the working directory: Kaggle's is not published, and it is not the agent's folder

SYSTEM = ("bin", "dev", "etc", "lib", "lib32", "lib64", "nix", "proc", "sbin", "sys", "usr")
SOURCE_FOLDERS = ("/usr/src", "/usr/local/src")  # in these, people's files may lie: they are empty there
LIVE = ("dev", "proc", "sys")  # not made read-only, unlike all others


class NoSandbox(RuntimeError):
    """The place cannot be made here; the text says why."""


def _python_folders() -> list[str]:
    """Folders with this Python and its packages, outermost first, both as named and with links resolved."""
    bases = [sys.prefix, sys.exec_prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), *sys.path]
    named = {name for path in bases if os.path.isdir(path) for name in (os.path.abspath(path), os.path.realpath(path))}
    chosen: list[str] = []
    for path in sorted(named, key=len):
        is_there = path.split("/")[1] in SYSTEM and not path.startswith(SOURCE_FOLDERS)
        inside = is_there or any(f"{path}/".startswith(f"{outer}/") for outer in chosen)
        hides = any(f"{own}/".startswith(f"{path.rstrip('/')}/") for own in (FOLDER, HOME, WORK, "/tmp"))
        if not inside and not hides:
            chosen.append(path)
    return chosen


def _mirror(source: str, target: str, read_only: bool) -> None:
    """Makes ``source``, with everything mounted below it, visible at ``target``, too."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        Path(target).touch()
    bind_mount(source, target, read_only)


def _fill_root(root: str) -> None:
    """Fills the new root with the system's folders, Python's folders, and empty ones."""
    for name in SYSTEM:
        if os.path.lexists(f"/{name}"):
            _mirror(f"/{name}", f"{root}/{name}", name not in LIVE)
    for path in filter(os.path.isdir, SOURCE_FOLDERS):
        mount("none", root + path, "tmpfs", MS_NOSUID | MS_NODEV)
    for path in _python_folders():
        os.makedirs(root + path)
        bind_mount(path, root + path, True)
    for path in (FOLDER, HOME, WORK, "/tmp"):
        os.makedirs(root + path, exist_ok=True)
    os.chmod(f"{root}/tmp", 0o1777)


def enter_sandbox(root: str, agent: str, home: str) -> None:
    """Moves this process, which must have a single thread, into the place. It cannot leave it.

    Args:
        root: an empty folder, on which the new root is mounted.
        agent: the folder that becomes ``FOLDER``.
        home: the folder that becomes ``HOME``; only what is written there remains when the process ends.

    Raises:
        NoSandbox: a system call fails.
    """
    try:
        unshare()
        mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
        _fill_root(root)
        bind_mount(agent, root + FOLDER, True)
        bind_mount(home, root + HOME, False)
        os.chroot(root)
        os.chdir(WORK)
    except OSError as fault:
        raise NoSandbox(f"{fault.strerror}{f' ({fault.filename})' if fault.filename else ''}") from fault


def obstacle(folder: str) -> str:
    """Why the place cannot be made here, "" if it can: a forked process tries it, in an empty ``folder``."""
    if not HAS_FORK:
        return f"{sys.platform} has no unshare"
    parts = [os.path.join(folder, name) for name in ("root", "agent", "home")]
    for part in parts:
        os.mkdir(part)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        text = ""
        try:
            enter_sandbox(*parts)
        except BaseException as fault:
            text = str(fault) or type(fault).__name__
        os.write(write, text.encode()[:500])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8", errors="replace") as file:
        text = file.read()
    os.waitpid(pid, 0)
    return text


def hide_credentials() -> None:
    """Mounts an empty folder over each of ``CREDENTIALS`` for the rest of this process, which must have one thread.

    Raises OSError where the system does not allow it, as ``show_agent`` does.
    """
    folders = [folder for folder in map(os.path.expanduser, CREDENTIALS) if os.path.isdir(folder)]
    if folders:
        unshare()
    for folder in folders:
        mount("none", folder, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV)


def show_agent(agent: str, root: str) -> None:
    """Mounts the folder ``agent`` at ``FOLDER``, read-only, for the rest of this process, which must have one thread.

    ``root``: an empty folder to mount the new root on; other processes do not see that mount.
    """
    here = os.getcwd()
    unshare()
    mount("none", root, "tmpfs", 0)
    for name in os.listdir("/"):
        if name != FOLDER.split("/")[1]:
            _mirror(f"/{name}", f"{root}/{name}", read_only=False)
    os.makedirs(root + FOLDER)
    bind_mount(agent, root + FOLDER, read_only=True)
    os.chroot(root)
    os.chdir(here)


MOST_FINDINGS = 40  # findings kept
_DATA_SUFFIXES = ".bin .ckpt .h5 .joblib .json .keras .npy .npz .onnx .pickle .pkl .pt .pth .safetensors .zip"
DATA_SUFFIXES = tuple(_DATA_SUFFIXES.split())  # endings of data; a .txt is as often what an agent writes
SHELLS = ("sh", "bash", "dash")
# Folders that code may read on any machine, besides Python's folders and those of the job.
SYSTEM_FOLDERS = ("/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/", "/bin/", "//./", "c:/windows/")


class Watch:
    """Collects findings, pairs of a kind and a name, while a job runs.

    Kinds: "file" (opened, but not available on the judge), "absent" (the name of a data file that was looked for, and
    is nowhere), "network" (a host), "program"; and for imports by the file
    under test "package" (installed here), "missing", and "late" (a module beside the file, imported after Kaggle's
    loader has removed that folder from ``sys.path``).

    Args:
        folder: the agent's folder; only imports made from there are recorded.
        own: other folders whose files the code may open and whose programs it may start.
        hides_files: deny access to this machine's files, because the process is not in the judge's place.
        hides_programs: deny the start of other programs.
    """

    def __init__(self, folder: str, own: tuple[str, ...], hides_files: bool, hides_programs: bool):
        self.folder, self.own = f"{with_slashes(folder)}/", tuple(f"{with_slashes(path)}/" for path in (folder, *own))
        self.hides_files, self.hides_programs = hides_files, hides_programs
        self._python = tuple(f"{with_slashes(path)}/" for path in (sys.prefix, sys.base_prefix, *sys.path) if path)
        here = os.path.dirname(__file__)  # tracebacks, and torch when it is imported, show the runner's lines
        own_source = tuple(map(with_slashes, (here, os.path.join(os.path.dirname(here), "system"))))
        self._readable = (*SYSTEM_FOLDERS, *self._python, *own_source, *(self.own if hides_files else ()))
        self._seen: list[tuple[str, str]] = []
        self._told = 0
        self._imported: set[str] = set()
        self._written: set[str] = set()
        self._absent: set[str] = set()
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
        """Installs the hook, which remains until the process ends; of looking at a file it is not told."""
        handlers, stat = self._handlers, os.stat

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            handler = handlers.get(event)
            if handler is not None:
                handler(arguments)

        def look(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
            try:
                return stat(path, *arguments, **options)
            except FileNotFoundError:
                if isinstance(path, str | os.PathLike) and str(path).endswith(DATA_SUFFIXES):
                    self._absent.add(os.path.abspath(str(path)))
                raise

        sys.addaudithook(hook)
        setattr(os, "stat", look)  # noqa: B010 (mypy)

    def findings(self) -> list[tuple[str, str]]:
        """The findings since the last call."""
        absent, self._absent = self._absent, set()
        for path in sorted(absent):
            if not os.path.exists(path):  # else the file has written it since
                self._note("absent", os.path.basename(path))
        imported, self._imported = self._imported, set()
        for name in sorted(imported):
            if kind := self._kind_of_import(name):
                self._note(kind, name)
        new, self._told = self._seen[self._told :], len(self._seen)
        return new

    def _note(self, kind: str, name: str) -> None:
        if (kind, name) not in self._seen and len(self._seen) < MOST_FINDINGS:
            self._seen.append((kind, name))

    def _open(self, given: tuple[Any, ...]) -> None:
        path, _, flags = given
        if not isinstance(path, (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(path))
        if f"{with_slashes(path)}/".startswith(self._readable) or path in self._written:
            return
        exists = os.path.exists(path)
        writes = bool((flags or 0) & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))
        self._absent -= {path} if writes else set()
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
        if frame is not None and with_slashes(frame.f_code.co_filename).startswith(self.folder):
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
        place = f"{with_slashes(path or '')}/"
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
        is_own = "/" in with_slashes(path) and self._is_own(os.path.abspath(path))
        if is_own or os.path.realpath(path) == os.path.realpath(sys.executable):
            return
        is_shell = os.path.basename(path) in SHELLS  # allowed: if programs are hidden, its PATH leads nowhere
        self._note("program", _program_of(arguments) if is_shell else os.path.basename(path))
        if self.hides_programs and not is_shell:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _program_of(arguments: Any) -> str:
    """The program that a shell's command line begins with."""
    words = str(list(arguments)[-1]).split() if arguments else []
    return os.path.basename(words[0]) if words else "sh"
