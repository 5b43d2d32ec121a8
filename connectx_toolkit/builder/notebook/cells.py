"""The code cells of a notebook as Python, without running them: .ipynb files, and the scripts that nbconvert makes.

Cells are numbered as Run All numbers them: code cells from the top of the page, empty ones left out. Lines for the
shell and the kernel become ``pass``, so that all other lines keep their numbers.
"""

import ast
import json
import re
import textwrap
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

SUFFIXES = (".ipynb", ".py", ".txt")  # of files that may be pages; nbconvert writes .txt where no language is named
CODE_MAGICS = frozenset({"time", "capture", "prun", "memit", "mprun"})  # their cell is Python that stays
MAGICS = ("run_cell_magic", "run_line_magic")  # as IPython calls what begins with %% or %
FILE_MAGICS = frozenset({"writefile", "file"})
_PROGRAMS = "pip|pip3|conda|mamba|apt|apt-get|git|wget|curl|ls|cd|mkdir|cp|mv|rm|cat|pwd|unzip|tar|python|python3"
COMMAND = re.compile(rf"\s*(?:[%!?]|(?:{_PROGRAMS})\b(?!\s*[=(.])|.*[\w)\]]\?{{1,2}}\s*$)")
GIVEN = re.compile(r"(\s*[\w, ]+=\s*)[%!]")  # names = !ls
MARK = re.compile(r"^# In ?\[[\d ]*\]:", re.MULTILINE)  # where nbconvert begins a cell
LINE = re.compile(r"^(?:%%?[a-z]|![\w.])", re.MULTILINE)  # a command, where a script keeps them as they are
TIMED = re.compile(r"(\s*)%(?:time|prun|memit)\s+(?=[\w(\[])")  # of a line that runs nevertheless
SET = re.compile(r"(\s*)%(?:set_)?env\s+(\w+)[= ]\s*(.*)")
MAIN = re.compile(r"^if __name__ == ([\"'])__main__\1:", re.MULTILINE)  # holds in a notebook
SHELL = "__output_of_a_command__"  # what a name gets from !ls: no file of an agent has it


class Cell(NamedTuple):
    """A code cell.

    name: "cell 16", or "" for a script, whose lines people count through.
    first: the number of lines before the code in the file or the cell that ``place`` counts in.
    code: Python.
    fault: what is wrong with it if it is none, else "".
    fault_line: of ``code``, from 1.
    text: as it was typed, with commands.
    file: the name of the file that it writes by %%writefile; then ``code`` is the file's.
    is_more: whether it adds to that file.
    is_call: whether all of it stands in one line of a script, in a call of run_cell_magic.
    """

    page: str
    name: str
    first: int
    code: str
    fault: str = ""
    fault_line: int = 1
    text: str = ""
    file: str = ""
    is_more: bool = False
    is_call: bool = False

    def where(self, line: int) -> str:
        """ "cell 16"; of a script "line 57"."""
        return self.name or f"line {self._counted(line)}"

    def place(self, line: int) -> str:
        """ "lesson.ipynb, cell 16, line 3"."""
        return ", ".join(filter(None, (self.page, self.name, f"line {self._counted(line)}")))

    def _counted(self, line: int) -> int:
        return self.first + (1 if self.is_call else line)


def is_page(path: Path) -> bool:
    """Whether a file is a notebook, or the script of one, and not a plain source. False if it cannot be read."""
    if path.suffix not in SUFFIXES or not path.is_file():
        return False
    try:
        return path.suffix != ".py" or _is_script(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return False


def page_named(text: str) -> tuple[Path, str | None] | None:
    """The page and the function of "lesson.ipynb" or "lesson.ipynb:my_agent"; None if the text names no page."""
    head, _, name = text.rpartition(":")
    if is_page(Path(text)):
        return Path(text), None
    is_pair = name.isidentifier() and Path(head).suffix in SUFFIXES and Path(head).is_file()
    return (Path(head), name) if is_pair else None


def _is_script(text: str) -> bool:
    has_calls = MARK.search(text) or re.search(r"^\s*get_ipython\(\)\.", text, re.MULTILINE)
    return bool(has_calls or (LINE.search(text) and _fault_of(text)))


def cells_of(path: Path) -> list[Cell]:
    """The code cells of a page, from the top.

    Raises:
        ValueError: it is neither a notebook nor a script; or a notebook in another language.
        OSError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ValueError(f"{path} is no notebook: it is no text in UTF-8 ({fault.reason})") from None
    if path.suffix == ".ipynb":
        return list(_of_notebook(path, text))
    if path.suffix == ".py" and not _is_script(text):
        raise ValueError(f"{path} is no notebook, nor the script of one: only those take a function's name")
    if not MARK.search(text) and (unclear := _unclear(text)):
        raise ValueError(f"{path}, line {unclear}: where this cell ends cannot be told: use the .ipynb itself")
    return [_read(path.name, "", *each) for each in _of_script(text)]


def _unclear(text: str) -> int:
    """The line with a cell magic that makes its cell no Python, in a script without the marks of cells; 0 if none."""
    lines = enumerate(text.split("\n"), 1)
    names = ((number, line[2:].split()[:1]) for number, line in lines if line.startswith("%%"))
    return next((number for number, name in names if not CODE_MAGICS.issuperset(name)), 0)


def _of_notebook(path: Path, text: str) -> Iterator[Cell]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"{path} is no notebook: it should be JSON, but {fault}") from None
    cells = _listed(notebook)
    if cells is None:
        raise ValueError(f"{path} is no notebook: it is JSON without cells")
    data = _dict(notebook.get("metadata"))
    names = [_dict(data.get("language_info")).get("name"), _dict(data.get("kernelspec")).get("language")]
    language = str(next(filter(None, names), "python"))
    if not language.lower().startswith(("python", "ipython")):
        raise ValueError(f"{path} is a notebook in {language}: an agent should be Python")
    number = 0
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        source = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell.get("cell_type") != "code" or not source.strip():
            continue
        number += 1
        if _is_python(cell):
            yield _read(path.name, f"cell {number}", 0, source)


def _listed(notebook: Any) -> list[dict[str, Any]] | None:
    """The cells; format 3 has them in worksheets. None if there are none."""
    if not isinstance(notebook, dict):
        return None
    found = notebook.get("cells")
    if found is None and isinstance(sheets := notebook.get("worksheets"), list):
        found = [cell for sheet in sheets for cell in _dict(sheet).get("cells", ())]
    return [_dict(cell) for cell in found] if isinstance(found, list) else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_python(cell: dict[str, Any]) -> bool:
    """Whether no metadata gives the cell to another language, as format 3 and some editors do."""
    data = _dict(cell.get("metadata"))
    found = [cell.get("language"), _dict(data.get("vscode")).get("languageId"), data.get("kernel")]
    return all("python" in str(name).lower() for name in found if name)


def _of_script(text: str) -> Iterator[tuple[int, str]]:
    """(lines before it, source) of each part of a script."""
    starts = [0, *(match.start() for match in MARK.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        if text[start:end].strip():
            yield text.count("\n", 0, start), text[start:end]


def _read(page: str, name: str, first: int, source: str) -> Cell:
    """A cell as Python."""
    source = source.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    lines = source.split("\n")
    skipped = next((number for number, line in enumerate(lines) if line.strip()), 0)
    head = lines[skipped] if lines else ""
    if called := _cell_magic_of_script(source):  # get_ipython().run_cell_magic(...)
        line, magic, options, body = called
        head, lines = f"%%{magic} {options}", ["", *body.removesuffix("\n").split("\n")]
        first, skipped = first + line - 1, 0
    magic, _, options = head[2:].partition(" ")
    if not head.startswith("%%") or (not name and magic in CODE_MAGICS and not called):
        code, fault, at = python_of(source)
        return Cell(page, name, first, code, fault, at, source)
    body = "\n".join(lines[skipped + 1 :]) + "\n"
    begin = first + skipped + (not called)
    if magic in CODE_MAGICS:
        code, fault, at = python_of(body)
        return Cell(page, name, begin, code, fault, at, source, is_call=bool(called))
    if magic in FILE_MAGICS:
        more, _, file = options.strip().rpartition(" ")
        return Cell(page, name, begin, body, "", 1, source, file.strip("\"'"), "-a" in more, bool(called))
    return Cell(page, name, begin, "", f"is a %%{magic} cell", 1, source)


def _cell_magic_of_script(source: str) -> tuple[int, str, str, str] | None:
    """(line, name, options, cell) of the only statement in a script's cell, if it is a cell magic."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return None
    given = texts_of_magic(body[0]) if len(body) == 1 else []
    return (body[0].lineno, given[0], given[1], given[2]) if len(given) == 3 else None


def texts_of_magic(node: ast.stmt) -> list[str]:
    """What a statement gives IPython's run_line_magic (name, line) or run_cell_magic (name, options, cell), else []."""
    call: Any = getattr(node, "value", None)
    is_magic = isinstance(call, ast.Call) and ast.unparse(call.func).removeprefix("get_ipython().") in MAGICS
    if not is_magic or len(call.args) < 2:
        return []
    return [str(each.value) if isinstance(each, ast.Constant) else "" for each in call.args]


def python_of(source: str) -> tuple[str, str, int]:
    """(Python, what is wrong with it or "", the line of that) of a cell: what does not parse and is a command is left
    out line by line, so that a string with % in it stays."""
    lines = MAIN.sub("if True:", _dedented(source)).removesuffix("\n").split("\n")
    for _ in range(len(lines) + 1):
        code = "\n".join(lines) + "\n"
        fault = _fault_of(code)
        if fault is None:
            return code, "", 1
        number = min(max(fault.lineno or 1, 1), len(lines)) - 1
        if not _strip(lines, number):
            return code, f"syntax error: {fault.msg}", number + 1
    return code, "syntax error", 1


def _dedented(source: str) -> str:
    """Without the indentation that a whole cell has, which IPython takes off as well."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    return textwrap.dedent(source) if first[:1] in (" ", "\t") else source


def _fault_of(code: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(code, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as fault:
        return fault
    except (ValueError, RecursionError, MemoryError) as fault:
        return SyntaxError(str(fault) or "nested too deeply")
    return None


def _strip(lines: list[str], number: int) -> bool:
    """Replaces the command in a line by ``pass``, or what it gives by a name that nothing has; whether there is one."""
    line = lines[number]
    indent = line[: len(line) - len(line.lstrip())]
    if given := GIVEN.match(line):
        lines[number] = f"{given[1]}{SHELL}"
    elif timed := TIMED.match(line):
        lines[number] = timed[1] + line[timed.end() :]
        return True
    elif variable := SET.match(line):
        lines[number] = f"{variable[1]}import os; os.environ[{variable[2]!r}] = {variable[3].strip()!r}"
    elif COMMAND.match(line):
        lines[number] = f"{indent}pass"
    else:
        return False
    while line.endswith("\\") and number + 1 < len(lines):
        number += 1
        line, lines[number] = lines[number], ""
    return True
