"""Writes the text of a submission: readable sources, data as text with checksums, the guard, and at the end `agent`.

The same inputs give the same bytes: there are no dates and no paths of this machine, and everything is sorted.
"""

import base64
import contextlib
import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from connectx import __version__
from connectx_toolkit.builder.source.inline import Inlined

IMPORTER, GUARD = (Path(__file__).parents[1] / "embedded" / name for name in ("importer.py", "guard.py"))
HEADER = "# ConnectX submission:"  # how every built file begins
LINE = 116  # characters of base64 per line: editors cannot handle lines of megabytes

_TAIL = """
_importer, _guard = type(_time)("submission_importer"), type(_time)("submission_guard")
exec(compile(IMPORTER[1:], "submission_importer.py", "exec", dont_inherit=True), _importer.__dict__)
exec(compile(GUARD[1:], "submission_guard.py", "exec", dont_inherit=True), _guard.__dict__)
_folder = _importer.folder_of(_importer.sys._getframe().f_code.co_filename)
_submission = _guard.Submission(_importer.Modules(SOURCES, DATA, _folder), {entry!r}, _STARTED)


def agent(obs, config):
    return _submission.answer(obs, config)
"""


def quoted(source: str) -> str:
    """A Python literal of a line feed and the source, raw unless the quotes in the source prevent that."""
    for quotes in ("'''", '"""'):
        if quotes not in source:
            return f"r{quotes}\n{source}{quotes}"
    escaped = source.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    return f"'''\n{escaped}'''"


def packed(content: bytes, is_reduced: bool = False) -> tuple[str, bool, str]:
    """The form that the importer's ``read_data`` reads: (sha256 of the zlib stream, whether reduced, its base64)."""
    stream = zlib.compress(content, 9)
    return hashlib.sha256(stream).hexdigest(), is_reduced, base64.b64encode(stream).decode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _header(inlined: Inlined, contents: Mapping[str, bytes], notes: Mapping[str, str]) -> str:
    module, function = inlined.entry
    lines = [
        f"{HEADER} {function} of {module}".removeprefix("# "),
        f"built by connectx {__version__} with build_submission.py: change the sources, not this file",
        "",
        "sha256 (first 16 digits) of the modules as embedded below:",
        *(f"  {_digest(text.encode())}  {path}" for path, text in sorted(inlined.sources.items())),
        f"  {_digest(IMPORTER.read_bytes())}  the importer",
        f"  {_digest(GUARD.read_bytes())}  the guard",
    ]
    if contents:
        lines += ["and of the data files:"]
        lines += [f"  {_digest(data)}  {path}{notes.get(path, '')}" for path, data in sorted(contents.items())]
    if inlined.files:
        lines += ["and of the files beside it in the archive:"]
        lines += [f"  {_digest(file.read_bytes())}  {path}" for path, (file, _) in sorted(inlined.files.items())]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def submission_text(
    inlined: Inlined, contents: Mapping[str, bytes], reduced: Mapping[str, bytes], notes: Mapping[str, str]
) -> str:
    """The one file.

    Args:
        contents: embedded path -> bytes of the data file.
        reduced: embedded path -> bytes from ``connectx.weights.reduce``, for files embedded in lower precision.
        notes: embedded path -> what the header says after the file's name.
    """
    parts = [_header(inlined, contents, notes), "import time as _time\n\n_STARTED = _time.perf_counter()\n"]
    parts.append("\nSOURCES = {}\n")
    parts += [f"\nSOURCES[{path!r}] = {quoted(text)}\n" for path, text in sorted(inlined.sources.items())]
    parts.append("\nDATA = {}\n")
    for path, content in sorted(contents.items()):
        digest, is_reduced, text = packed(reduced.get(path, content), path in reduced)
        wrapped = "\n".join(text[start : start + LINE] for start in range(0, len(text), LINE))
        parts.append(f"DATA[{path!r}] = ({digest!r}, {is_reduced}, '''\n{wrapped}\n''')\n")
    for name, source in (("IMPORTER", IMPORTER), ("GUARD", GUARD)):
        parts.append(f"\n{name} = {quoted(source.read_text(encoding='utf-8'))}\n")
    return "".join([*parts, _TAIL.format(entry=inlined.entry)])


def archive(main: bytes, files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz with ``main`` as main.py at its root, and ``files``, given by their paths in it.

    It has no dates and no owners, so that the same input gives the same bytes.
    """
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in [("main.py", main), *sorted(files.items())]:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), 9, mtime=0)


def is_submission(path: Path) -> bool:
    """Whether a file was built by this module: a text that begins with ``HEADER``, or an archive of one."""
    with contextlib.suppress(OSError, EOFError, tarfile.TarError, zlib.error):
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as tar:
                first = tar.next()
                main = tar.extractfile(first) if first is not None and first.isfile() else None
                return main is not None and main.read(len(HEADER)) == HEADER.encode()
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER.encode()
    return False


def sources_of(submission: Path) -> list[bytes]:
    """The Python files in a submission: itself, or those of an archive."""
    if not tarfile.is_tarfile(submission):
        return [submission.read_bytes()]
    with tarfile.open(submission) as tar:
        members = [tar.extractfile(member) for member in tar if member.isfile() and member.name.endswith(".py")]
        return [member.read() for member in members if member is not None]
