"""Where an agent comes from, as a plain value, and the agent's function for such a value. Imports little.

An agent is named, a file, or a callable, of which this process keeps a registry. Agents of agents/ may be weakened, as
their names say: ``minimax@4`` searches 4 plies, ``NAME~10`` plays a random legal move in 10% of its moves.
"""

import ast
import difflib
import importlib.util
import itertools
import os
import re
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from connectx_toolkit.builder.notebook.cells import page_named
from connectx_toolkit.kaggle.agent_file import Loaded, Parsed, load_agent, module_names
from connectx_toolkit.kaggle.archive import BadArchive, cached_folder, files_in_archive, unpack_once
from connectx_toolkit.kaggle.sources import Needs, finder_beside, needs_building, redirect_paths
from connectx_toolkit.players.fingerprint import add_contents, add_files, callable_digest, files_of
from connectx_toolkit.system.console import cell_of, function_meant
from connectx_toolkit.system.files import AGENTS, our_agents, version_of

if TYPE_CHECKING:
    from connectx_toolkit.builder.notebook.written import Written

SUFFIXES = (".tar.gz", ".tgz")  # of files that are archives
PAGE = "page.json"  # what is known of a notebook's agent, beside its folder
WRAP = "wrap it in a function agent(obs, config) that returns a column"


class UnknownAgent(ValueError):
    """No agent has this name, path or type."""


class _Stored(NamedTuple):
    """An agent as matches are stored with it, and as another process is sent it."""

    kind: str  # a key of AGENT_KINDS
    target: str  # module name, Kaggle's name, partner's name, absolute path, notebook's with its function, or key
    label: str  # what tables call it


class AgentSpec(_Stored):
    """Where an agent comes from. Plain strings, so that it can be compared, stored and sent to another process.

    ``AgentSpec("file", path, label)`` is a ``FileAgent``: the class of a kind says how it is loaded, and what its play
    depends on. A new kind is a class, its line in ``AGENT_KINDS``, and what ``resolve`` knows it by.
    """

    is_users_code = False  # code of somebody's own, which is loaded before every game as Kaggle loads it
    is_here = False  # in this process alone, and in its forks

    def __new__(cls, kind: str, target: str, label: str) -> "AgentSpec":
        made = ArchiveAgent if kind == "file" and target.endswith(SUFFIXES) else AGENT_KINDS.get(kind, cls)
        return super().__new__(made, kind, target, label)

    @property
    def short_name(self) -> str:
        return Path(self.label).stem

    def files(self) -> list[Path]:
        """The files that it is loaded from before every game."""
        return []

    def fingerprint(self) -> str:
        """A hash of everything that determines the agent's play, as far as it can be found.

        Raises:
            ValueError: Kaggle could not unpack the archive.
            OSError: a file cannot be read.
        """
        digest = sha256()
        self._add_to(digest)
        return digest.hexdigest()

    def _add_to(self, digest: Any) -> None:
        raise NotImplementedError

    def place(self) -> str:
        """The file that its process loads, "" if there is none. Raises BadArchive, UnknownAgent."""
        return ""

    def alone(self, place: str) -> str:
        """Has its process find files as on Kaggle; where it finds its own then. Raises OSError where that cannot be."""
        return place

    def load(self) -> Callable:
        """The agent's function. Exceptions of its code are not caught."""
        return self.loader(self.place())().agent

    def loader(self, place: str, stays: bool = False, parsed: Parsed | None = None) -> Callable[[], Loaded]:
        """What loads the agent, after what is not on its clock.

        Args:
            stays: see ``kaggle.agent_file.seclude_imports``.
            parsed: its file, if it is parsed already; then it was loaded before, and nobody asks for warnings.
        """
        return lambda: Loaded(self.load(), "")

    def as_its_author_sees(self, text: str, place: str) -> str:
        """The end of a traceback, with lines of the file as the agent's author knows them."""
        return text


class OurAgent(AgentSpec):
    """An agent of agents/."""

    def load(self) -> Callable:
        return load_agent(str(AGENTS / f"{self.target}.py")).agent

    def _add_to(self, digest: Any) -> None:
        add_files(digest, AGENTS / f"{self.target}.py")


class KaggleAgent(AgentSpec):
    """An agent of kaggle-environments; the version of that package determines its play."""

    def load(self) -> Callable:
        return kaggle_agents()[self.target]

    def _add_to(self, digest: Any) -> None:
        digest.update(f"{self.target} {version_of('kaggle-environments')}".encode())


class WeakenedAgent(AgentSpec):
    """A named agent that is weakened, such as minimax@4~10: its base and the module that weakens it."""

    @property
    def parts(self) -> "AgentName":
        parts = parse_agent_name(self.target)
        assert parts is not None
        return parts

    def load(self) -> Callable:
        from connectx_toolkit.players.graded import at_depth, with_errors

        base, depth, percent = self.parts
        agent = at_depth(depth) if depth else resolve(base).load()
        return with_errors(agent, percent) if percent else agent

    def _add_to(self, digest: Any) -> None:
        digest.update(f"{self.target} {resolve(self.parts.base).fingerprint()}".encode())
        digest.update(Path(__file__).with_name("graded.py").read_bytes())


class FileAgent(AgentSpec):
    """A Python file, which may be a source: some of what it needs only a built file has."""

    is_users_code = True

    def files(self) -> list[Path]:
        return files_of(Path(self.target))

    def _add_to(self, digest: Any) -> None:
        add_files(digest, Path(self.target))

    def place(self) -> str:
        return self.target

    def alone(self, place: str) -> str:
        redirect_paths(finder_beside(os.path.dirname(place)))
        return place

    def loader(self, place: str, stays: bool = False, parsed: Parsed | None = None) -> Callable[[], Loaded]:
        needs = None if parsed else needs_building(place)
        return lambda: load_agent(place, stays, needs, parsed)


class ArchiveAgent(FileAgent):
    """A .tar.gz as Kaggle takes it; the files in it determine its play."""

    def _add_to(self, digest: Any) -> None:
        try:
            add_contents(digest, files_in_archive(self.target))
        except BadArchive as problem:
            raise ValueError(f"{self.label} cannot be loaded: {problem}") from None

    def place(self) -> str:
        return str(unpack_once(self.target))

    def alone(self, place: str) -> str:
        from connectx_toolkit.kaggle.sandbox import FOLDER, show_agent  # which an agent's process has

        folder = os.path.dirname(place)
        show_agent(folder, os.path.join(os.path.dirname(folder), "root"))
        return os.path.join(FOLDER, "main.py")

    def loader(self, place: str, stays: bool = False, parsed: Parsed | None = None) -> Callable[[], Loaded]:
        return lambda: load_agent(place, stays, Needs(), parsed)  # it is finished


class NotebookAgent(FileAgent):
    """An agent of a notebook, which is written as files that this run shares."""

    @property
    def short_name(self) -> str:
        name = self.label.rpartition(":")[2]
        return name if name.isidentifier() else super().short_name

    def place(self) -> str:
        """Raises UnknownAgent: it is no notebook any more, has no such agent, or one that is refused."""
        from connectx_toolkit.builder.notebook.page import from_page  # for notebooks alone
        from connectx_toolkit.builder.notebook.written import AGENT_PY
        from connectx_toolkit.builder.source.refusals import Refused

        page = page_named(self.target)
        if page is None:
            raise UnknownAgent(f"{self.target}: the notebook is gone")

        def fill(new: Path) -> None:
            (new / "agent").mkdir()
            from_page(*page, new / "agent").save(new / PAGE)

        try:
            return str(cached_folder(str(page[0]), self.target, fill) / "agent" / AGENT_PY)
        except (Refused, ValueError, OSError) as problem:
            raise UnknownAgent("; ".join(str(problem).splitlines())) from None

    def files(self) -> list[Path]:
        page, written = page_named(self.target), _read_notebook_agent(self.place())
        return [*([page[0]] if page else []), *files_of(written.agent, written.root, written.folders)]

    def _add_to(self, digest: Any) -> None:
        written = _read_notebook_agent(self.place())
        add_files(digest, written.agent, written.root, written.folders)
        digest.update(written.entry.encode())

    def alone(self, place: str) -> str:
        super().alone(place)
        redirect_paths(finder_beside(str(_read_notebook_agent(place).root)))
        return place

    def loader(self, place: str, stays: bool = False, parsed: Parsed | None = None) -> Callable[[], Loaded]:
        written = _read_notebook_agent(place)
        folders = [str(folder) for folder in (written.root, *written.folders, written.agent.parent)]

        def load() -> Loaded:
            names = module_names(place, folders, stays, parsed)
            if not callable(names.get(written.entry)):
                raise ValueError(f"{written.entry} is no function")
            return Loaded(names[written.entry], "", entry=written.entry)

        return load

    def as_its_author_sees(self, text: str, place: str) -> str:
        return _read_notebook_agent(place).with_places(text)


@cache
def _read_notebook_agent(place: str) -> "Written":
    """What is known of a notebook's agent, by its file. Read before it loads: then its process cannot import this."""
    from connectx_toolkit.builder.notebook.written import read_written

    return read_written(Path(place).parents[1] / PAGE, Path(place))


class FunctionAgent(AgentSpec):
    """A callable of this process, by its key in the registry."""

    is_here = True

    @property
    def short_name(self) -> str:
        return self.label.rpartition(".")[2]

    def load(self) -> Callable:
        return _keys[self.target].agent

    def _add_to(self, digest: Any) -> None:
        digest.update(callable_digest(self.load(), self.label).encode())


AGENT_KINDS: dict[str, type[AgentSpec]] = {
    "ours": OurAgent, "kaggle": KaggleAgent, "partner": WeakenedAgent, "file": FileAgent, "notebook": NotebookAgent,
    "callable": FunctionAgent,
}  # fmt: skip


class _Key(str):
    """A key into the registry, which keeps its callable, and so a model that it uses, as long as a spec has the key.

    In another process it is a plain string: a callable is not sent.
    """

    agent: Callable

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


_keys: "weakref.WeakValueDictionary[str, _Key]" = weakref.WeakValueDictionary()
_numbers = itertools.count()


def register(agent: Callable) -> AgentSpec:
    """Adds a callable to this process's registry, where processes that are forked later find it by its key.

    It stays there as long as a spec of it exists.

    Raises UnknownAgent: it cannot be an agent.
    """
    label = _label(agent)
    if problem := _why_not_an_agent(agent):
        raise UnknownAgent(f"{label} {problem}")
    for known in _keys.values():
        if known.agent is agent:
            return AgentSpec("callable", known, label)
    key = _Key(f"{label}#{next(_numbers)}")
    key.agent = agent
    _keys[str(key)] = key
    return AgentSpec("callable", key, label)


def _label(agent: Callable) -> str:
    """A callable's module and name, or those of its type; without the module where it is the notebook or the script."""
    module, name = getattr(agent, "__module__", None), getattr(agent, "__name__", type(agent).__name__)
    return name if module in (None, "__main__") else f"{module}.{name}"


def told_apart(specs: Iterable[AgentSpec]) -> list[AgentSpec]:
    """The specs, where callables that share their name are called by where they were defined: "agent In[3]".

    Those of one place, such as closures, are counted: "agent In[3], 2".
    """
    found = list(specs)
    unique = list(dict.fromkeys(found))
    names = {spec: spec.label for spec in unique}
    for word in (_place, lambda spec: f", {1 + unique.index(spec)}"):
        counts = Counter(names.values())
        names |= {s: f"{names[s]}{word(s)}" for s in unique if s.is_here and counts[names[s]] > 1}
    return [spec._replace(label=names[spec]) for spec in found]


def _place(spec: AgentSpec) -> str:
    """ " In[3]" of a notebook's cell, " line 7" of a file; "" of what has no code."""
    code = getattr(spec.load(), "__code__", None)
    if code is None:
        return ""
    return f" {cell_of(code.co_filename) or f'line {code.co_firstlineno}'}"


def _why_not_an_agent(agent: Callable) -> str:
    """Why a callable cannot be an agent; "" if it may be one."""
    import inspect  # only callables need it

    if isinstance(agent, type):
        return "is a class, where an instance or a function was expected"
    if (torch := sys.modules.get("torch")) and isinstance(agent, torch.nn.Module):
        return f"is a network: {WRAP}"
    called = agent if inspect.isroutine(agent) else type(agent).__call__
    if inspect.iscoroutinefunction(called) or inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        return "is async or a generator, where a plain function was expected"
    code = getattr(agent, "__code__", None)
    count = code.co_argcount if code is not None else 2  # Kaggle passes as many as the code names
    try:
        inspect.signature(agent, follow_wrapped=code is None).bind(*("obs", "config")[:count])
    except TypeError as problem:
        return f"cannot be called with (obs, config), as Kaggle does: {problem}"
    except ValueError:  # a C function without a signature
        pass
    return ""


NAME = re.compile(r"(?P<base>\w+)(?:@(?P<depth>\d+))?(?:~(?P<percent>\d+(?:\.\d+)?))?")


class AgentName(NamedTuple):
    """The parts of a name."""

    base: str
    depth: int | None = None  # plies
    percent: float | None = None  # how many of its moves are random


def parse_agent_name(text: str) -> AgentName | None:
    """The parts of NAME, NAME@DEPTH, NAME~PERCENT or NAME@DEPTH~PERCENT; None for any other text, such as a path.

    Raises UnknownAgent: the depth is 0, or the percentage is above 100.
    """
    parts = NAME.fullmatch(text)
    if parts is None:
        return None
    base, depth, percent = parts.groups()
    if depth and not int(depth):
        raise UnknownAgent(f"{text!r}: the depth should be at least 1 ply")
    if percent and float(percent) > 100:
        raise UnknownAgent(f"{text!r}: the share of random moves should be 0 to 100, not {percent}")
    return AgentName(base, int(depth) if depth else None, float(percent) if percent else None)


class Entry(NamedTuple):
    """What is known of an agent of ours without running it."""

    name: str
    summary: str  # first line of its docstring
    data: dict[str, int]  # bytes of each data file that it reads
    size: int  # bytes of its own source


def catalogue_entry(name: str, folder: Path = AGENTS) -> Entry:
    """Reads an agent's source; data files are those that it names in calls of ``read_data``."""
    path = folder / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    data = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "read_data":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and (folder / str(argument.value)).is_file():
                    data[str(argument.value)] = (folder / str(argument.value)).stat().st_size
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Entry(name, summary, data, path.stat().st_size)


ONLY_NAMED = "only minimax has a depth, only named agents can be made to err"


def kaggle_agents() -> dict[str, Callable]:
    """Kaggle's built-in agents by name. Only their file is loaded, because importing the package takes seconds.

    Raises UnknownAgent: kaggle-environments is not installed.
    """
    package = importlib.util.find_spec("kaggle_environments")
    if package is None or package.origin is None:
        raise UnknownAgent("kaggle-environments is not installed")
    source = Path(package.origin).parent / "envs" / "connectx" / "connectx.py"
    spec = importlib.util.spec_from_file_location("kaggle_connectx", source)
    if spec is None or spec.loader is None:
        raise UnknownAgent(f"{source} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.agents


def resolve(agent: str | os.PathLike | Callable | AgentSpec) -> AgentSpec:
    """Finds an agent by a name (ours, Kaggle's, or a sparring partner's) or a path, or takes a callable.

    A path leads to a Python file, or to an archive as Kaggle takes it: a .tar.gz with main.py at its root.

    Raises:
        UnknownAgent: it is none of these.
    """
    if isinstance(agent, AgentSpec):
        return agent
    if callable(agent):
        return register(agent)
    if not isinstance(agent, str | os.PathLike):
        wrap = f": {WRAP}" if hasattr(type(agent), "predict") else ""
        raise UnknownAgent(
            f"an agent should be a name, a path or a callable, not {' '.join(repr(agent).split()):.80}{wrap}"
        )
    text = os.fspath(agent)
    if page := page_named(text):
        path, name = page
        spec = AgentSpec("notebook", f"{os.path.abspath(path)}{f':{name}' if name else ''}", text)
        spec.place()  # or it is refused
        return spec
    if os.path.isfile(text):
        return AgentSpec("file", os.path.abspath(text), text)
    if (parts := parse_agent_name(text)) and parts[1:] != (None, None):
        base = resolve(parts.base)
        if base.is_users_code or (parts.depth and base.target != "minimax"):
            raise UnknownAgent(f"{text!r}: {ONLY_NAMED}")
        return AgentSpec("partner", text, text)
    if text in our_agents():
        return AgentSpec("ours", text, text)
    if text in kaggle_agents():
        return AgentSpec("kaggle", text, text)
    if os.path.isdir(text):
        raise UnknownAgent(f"{text!r} is a folder, where a file or a name was expected")
    for sign in "@~":
        if os.path.isfile(text.rpartition(sign)[0]):
            raise UnknownAgent(f"{text!r}: {ONLY_NAMED}, not files")
    for suffix in (".py", *SUFFIXES):
        if os.path.isfile(text + suffix):
            raise UnknownAgent(f"no agent {text!r}: did you mean {text}{suffix}?")
    is_path = bool(os.path.dirname(text)) or text.endswith((".py", *SUFFIXES))
    names = [] if is_path else [*our_agents(), *kaggle_agents()]
    files = [str(path) for path in Path(text).parent.glob("*") if path.is_file()]
    beside = [file for file in files if file.endswith((".py", *SUFFIXES))]
    close = function_meant(text) or next(iter(difflib.get_close_matches(text, [*names, *beside], 1)), "")
    meant = f"did you mean {close}? " if close else ""
    known = f", and the names are {', '.join(names)}, minimax@DEPTH and NAME~PERCENT (of random moves)"
    raise UnknownAgent(f"no agent {text!r}: {meant}there is no such file{'' if is_path else known}")
