"""Collects the sources of a submission from an agent's file: follows imports, rewrites them, refuses what would differ.

Modules remain modules. Three things are rewritten; everything else, and all line numbers, stay the same:

- project imports become relative, so that the copies in a submission find each other under any package name,
- ``cache=True`` of numba's decorators becomes ``cache=False``, because a cached kernel looks up its module by a name
  that does not exist under Kaggle's loader,
- paths of data files that the agent opens are wrapped in ``__beside__()``, which finds them although the judge's
  working directory is not the author's. Other code in the judge's process still opens what it names.
"""

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from connectx_toolkit.builder.source.module import Module, Project
from connectx_toolkit.builder.source.refusals import Refusal, Refused
from connectx_toolkit.kaggle.agent_function import agent_in, first_bindings
from connectx_toolkit.kaggle.dependencies import (
    REACHED,
    files_below,
    folders_of,
    is_private,
    merge_mentions,
    named_files,
)
from connectx_toolkit.kaggle.sources import import_name
from connectx_toolkit.kaggle.upload import Unsuitable, refuse_notebook_as_script
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.files import ROOT


@dataclass
class Inlined:
    """The sources of a submission.

    sources: embedded path ("connectx_core/clock.py") -> rewritten source; every package has its ``__init__.py``
    data: embedded path -> the data file on disk, for the files named in ``read_data``
    files: path in the archive -> (the data file on disk, the place in the source that names it), for other data files
    entry: the agent's dotted module name and the name of its function there
    root: the folder in which the agent's modules and data lie, if it is not its own
    places: line of the agent's file -> where people find it
    folders: more folders with modules
    paths: the modules on disk
    old_names: of numpy, which its sources use and version 2 lacks
    notes: what may fail on the judge, with file and line
    """

    agent_path: Path
    entry: tuple[str, str]
    root: Path | None = None
    places: Mapping[int, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    paths: set[Path] = field(default_factory=set)
    sources: dict[str, str] = field(default_factory=dict)
    data: dict[str, Path] = field(default_factory=dict)
    files: dict[str, tuple[Path, Refusal]] = field(default_factory=dict)
    old_names: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def with_place(self, refusal: Refusal) -> Refusal:
        """The refusal with the place that people know, if its line of the agent's file has one."""
        place = self.places.get(refusal.line, "") if refusal.path == self.agent_path else ""
        return refusal._replace(place=place)


def inline(
    agent_path: Path,
    extra_packages: frozenset[str] = frozenset(),
    extra_files: Sequence[Path] = (),
    entry: str = "",
    root: Path | None = None,
    places: Mapping[int, str] | None = None,
    folders: Iterable[Path] = (),
) -> Inlined:
    """The sources that the agent in ``agent_path`` needs, its own included, ready to be embedded, and its data files.

    Args:
        agent_path: a Python file. Its helpers are modules or packages beside it, or in ``connectx_core``.
        extra_packages: third-party packages that may be imported besides ``KNOWN_PACKAGES``.
        extra_files: other files and folders beside the agent, which no string in its sources names.
        entry: the name of the agent's function; else the one that Kaggle would call is found.
        root: another folder with modules and data, as if the agent's file lay there: that of its notebook.
        places, folders: see ``Inlined``.

    Raises:
        Refused: with the file and line of everything that cannot be inlined faithfully.
        OSError: a file cannot be read.
        ValueError: one of ``extra_files`` does not lie beside the agent.
    """
    top, name = import_name(agent_path)
    agent_path = agent_path.resolve()
    home = root.resolve() if root else agent_path.parent
    folders = dict.fromkeys([*folders, *folders_of(agent_path)])
    project = Project((agent_path.parent, top, home, *folders), extra_packages)
    inlined = Inlined(agent_path, (name, entry), root and home, places or {}, tuple(folders))
    refusals: list[Refusal] = []
    modules = _follow_imports(name, agent_path, project, refusals)
    inlined.files = _collect_data_files(modules.values(), home, extra_files, inlined)
    for dotted, module in modules.items():
        refusals += module.refusals
        inlined.data |= {key: file for key, (file, _) in module.data.items()}
        if dotted == name:
            inlined.entry = (name, _entry_name(module, entry, refusals))
    inlined.paths = {module.path.resolve() for module in modules.values()}
    inlined.old_names = set[str]().union(*(module.old_names for module in modules.values()))
    inlined.sources = {module.key: module.rewritten(bool(inlined.files)) for module in modules.values()}
    if refusals:
        raise Refused([inlined.with_place(refusal) for refusal in sorted(set(refusals))])
    inlined.notes += _group_notes([inlined.with_place(note) for module in modules.values() for note in module.notes])
    imported = {name.split(".")[0] for module in modules.values() for name in module.names.values()}
    unused = sorted(extra_packages - imported)
    inlined.notes += [f"{as_option('allow-package', name)}: nothing imports it" for name in unused]
    return inlined


def _follow_imports(name: str, path: Path, project: Project, refusals: list[Refusal]) -> dict[str, Module]:
    """Dotted name -> module, for the agent and everything of the project that it imports, directly or indirectly."""
    pending, modules, done = {name: path}, dict[str, Module](), set[str]()
    while pending:
        dotted, path = pending.popitem()
        done.add(dotted)
        key = dotted.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" or path.is_dir() else ".py")
        try:
            module = modules[dotted] = Module(key, path, project)
        except Refused as refused:
            refusals += refused.refusals
            continue
        pending |= {wanted: where for wanted, where in module.wanted.items() if wanted not in done}
    return modules


def _collect_data_files(
    modules: Collection[Module], home: Path, extra: Sequence[Path], inlined: Inlined
) -> dict[str, tuple[Path, Refusal]]:
    """``Inlined.files``: what the strings of the agent's own modules name, and --data.

    Args:
        home: the folder that the agent's data lie in.
    """
    own = [each for each in modules if not each.path.is_relative_to(ROOT / REACHED) and not each.path.is_dir()]
    named = [(module, module.mentions) for module in own]
    places = {text: Refusal(m.path, line, "") for m, each in reversed(named) for text, line in each.names.items()}
    every = merge_mentions(each for _, each in named)
    files: dict[str, tuple[Path, Refusal]] = {}
    for folder, package in dict.fromkeys([*((m.path.parent, "/".join(m.package)) for m in own), (home, "")]):
        for file, text in named_files(folder, every).items():
            key = (Path(package) / file.relative_to(folder)).as_posix()
            files.setdefault(key, (file, places[text]._replace(reason=f"{key} is named here")))
    private = sorted(key for key, (file, _) in files.items() if is_private(file))
    for key in private:
        place = inlined.with_place(files[key][1])
        inlined.notes.append(f"{place.short}: {key} is not packed: it may be private")
    return {key: entry for key, entry in files.items() if key not in private} | _data_files_of_option(home, extra)


def _data_files_of_option(home: Path, extra: Sequence[Path]) -> dict[str, tuple[Path, Refusal]]:
    """What --data names."""
    files: dict[str, tuple[Path, Refusal]] = {}
    data = as_option("data")
    for path in extra:
        if not path.exists():
            raise ValueError(f"{data} {path}: no such file or folder")
        if not path.resolve().is_relative_to(home):
            raise ValueError(f"{data} {path} does not lie beside the agent, in {home} or below it")
        for file in files_below(path.resolve()):
            if is_private(file, by_name=True):
                raise ValueError(f"{data} {path}: {file.name} may hold a credential, and people share submissions")
            files[file.relative_to(home).as_posix()] = (file, Refusal(path, 1, f"{data} {path}"))
    return files


def _group_notes(notes: list[Refusal]) -> list[str]:
    """One line per reason: its first place, and the number of further places."""
    places: dict[str, list[Refusal]] = {}
    for note in sorted(set(notes)):
        places.setdefault(note.reason, []).append(note)
    return [
        f"{first.short}: {reason}" + (f" (and in {len(rest)} more places)" if rest else "")
        for reason, (first, *rest) in places.items()
    ]


def _entry_name(module: Module, entry: str, refusals: list[Refusal]) -> str:
    """``entry``, or what ``connectx_toolkit.kaggle.agent_function.agent_in`` finds; refuses what Kaggle cannot call."""
    name = entry or agent_in(module.tree)
    lines = {bound: (line, kind) for bound, line, kind in first_bindings(module.tree)}
    coroutines = {node.name for node in ast.walk(module.tree) if isinstance(node, ast.AsyncFunctionDef)}
    if not name:
        why = "no function is defined: Kaggle calls agent(obs, config), and plays the column that it returns"
        try:
            refuse_notebook_as_script(module.tree)
        except Unsuitable as fault:
            why = str(fault)
        refusals.append(Refusal(module.path, 1, why))
    elif name in coroutines or (name in lines and lines[name][1] == "class"):
        why = f"{name} must be a plain function (def): Kaggle calls it with (obs, config) and awaits nothing"
        refusals.append(Refusal(module.path, lines[name][0], why))
    return name
