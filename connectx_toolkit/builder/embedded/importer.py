"""Imports the modules that a submission contains, and finds its data: embedded, or in files beside it.

The builder copies this file unchanged into every submission, before the guard; it uses only the standard library. Each
load has its own package name, so that two submissions, or one against itself, share no state in one process. What was
loaded is removed when the agent is dropped.
"""

import base64
import glob
import hashlib
import importlib.abc
import importlib.machinery
import linecache
import os
import posixpath
import sys
import zlib

JUDGE_FOLDER = "/kaggle_simulations/agent"  # where Kaggle puts a submission; it is not the working directory


def folder_of(filename):
    """The folder of the file that a code object was compiled from; the judge's folder if there is no such file."""
    return os.path.dirname(os.path.abspath(filename)) if os.path.isfile(filename) else JUDGE_FOLDER


def is_there(path):
    """Whether a path exists, or files that match it as a pattern of glob's."""
    return os.path.exists(path) or bool(glob.glob(path))


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports embedded sources, {"connectx_core/clock.py": "\\n" + source}, as modules of the package ``prefix``."""

    def __init__(self, sources, data, folder):
        self.prefix = "submission_" + os.urandom(8).hex()
        self.sources = {path: source[1:] for path, source in sources.items()}  # less the line feed after the quotes
        self.data = data  # {"agents/weights/policy.bin": (sha256 of the bytes, whether reduced, zlib as base64)}
        self.folder = folder  # holds the files of an archive
        self.aliases = set()  # while the agent loads, its modules go by the names that pickles know, too

    def _path(self, fullname):
        """The embedded path of a module; None if it is not embedded."""
        stem = fullname[len(self.prefix) + 1 :].replace(".", "/")
        paths = (stem + ".py", posixpath.join(stem, "__init__.py"))
        return next((path for path in paths if path in self.sources), None)

    def find_spec(self, fullname, path=None, target=None):
        if fullname == self.prefix:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        embedded = self._path(fullname) if fullname.startswith(self.prefix + ".") else None
        if embedded is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=embedded.endswith("__init__.py"))

    def exec_module(self, module):
        path = self._path(module.__name__)
        if path is None:
            return  # the root package
        filename, source = f"{self.prefix}/{path}", self.sources[path]
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        module.__file__ = os.path.join(self.folder, *path.split("/"))  # does not exist, but its folder has the data
        module.__beside__ = self.beside
        name = module.__name__[len(self.prefix) + 1 :]
        if sys.modules.setdefault(name, module) is module:
            self.aliases.add(name)
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)

    def drop_aliases(self):
        for name in self.aliases:
            sys.modules.pop(name, None)
        self.aliases.clear()

    def get_data(self, path):
        with open(path, "rb") as file:
            return file.read()

    def get_source(self, fullname):
        return self.sources.get(self._path(fullname), "")

    def beside(self, path):
        """Resolves a path that the agent opens; the builder wraps these paths in calls of this function.

        If the path does not exist, but the submission has a file of that name (relative to its folder, the judge's
        folder or the working directory), that file's path is returned. Anything else is returned unchanged, also if it
        is not a path.
        """
        name = path if isinstance(path, str) else str(path) if isinstance(path, os.PathLike) else ""
        for folder in (JUDGE_FOLDER, os.getcwd()):
            if name == folder or name.startswith(os.path.join(folder, "")):
                name = os.path.relpath(name, folder)
        found = os.path.join(self.folder, name)
        if not name or is_there(os.fspath(path)) or not is_there(found):
            return path
        return type(path)(found)

    def read_data(self, module_name, name):
        """The bytes of the data file ``name``, relative to the folder of a module's source.

        Raises:
            FileNotFoundError: no such file was embedded.
            ValueError: the embedded text is not what the builder wrote.
        """
        folder = posixpath.dirname(self._path(module_name))
        key = posixpath.normpath(posixpath.join(folder, name))
        if key not in self.data:
            raise FileNotFoundError(f"{key} is not embedded in this submission")
        digest, text = self.data[key]
        try:
            packed = base64.b64decode(text)
        except ValueError:
            packed = b""
        if hashlib.sha256(packed).hexdigest() != digest:
            raise ValueError(f"the embedded {key} is corrupt: its checksum differs")
        return zlib.decompress(packed)

    def remove(self):
        """Removes the modules from the interpreter; called when nothing refers to the agent any more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name in [n for n in sys.modules if n == self.prefix or n.startswith(self.prefix + ".")]:
            del sys.modules[name]
        for name in [n for n in linecache.cache if n.startswith(self.prefix + "/")]:
            del linecache.cache[name]
