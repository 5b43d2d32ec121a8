"""The code cells of a notebook as Python, without running them.

Cells are numbered as Run All numbers them: code cells from the top of the page, empty ones left out. Lines for the
shell and the kernel become empty, or ``pass`` in a block, so that all other lines keep their numbers.
"""

import ast
import json
import re
import textwrap
import warnings
from pathlib import Path
from typing import Any, NamedTuple

PAGE_SUFFIX = ".ipynb"
CODE_MAGICS = frozenset({"time", "capture", "prun", "memit", "mprun"})  # their cell is Python that stays
MAGICS = ("run_cell_magic", "run_line_magic")  # as IPython calls what begins with %% or %
FILE_MAGICS = frozenset({"writefile", "file"})
_PROGRAMS = "pip|pip3|conda|mamba|apt|apt-get|git|wget|curl|ls|cd|mkdir|cp|mv|rm|cat|pwd|unzip|tar|python|python3"
COMMAND = re.compile(rf"\s*(?:[%!?]|(?:{_PROGRAMS})\b(?!\s*[=(.])|.*[\w)\]]\?{{1,2}}\s*$)")
OUTPUT_GIVEN = re.compile(r"(\s*[\w, ]+=\s*)[%!]")  # names = !ls
TIMED_LINE = re.compile(r"(\s*)%(?:time|prun|memit)\s+(?=[\w(\[])")  # of a line that runs nevertheless
SET = re.compile(r"(\s*)%(?:set_)?env\s+(\w+)[= ]\s*(.*)")
MAIN = re.compile(r"^if __name__ == ([\"'])__main__\1:", re.MULTILINE)  # holds in a notebook
SHELL = "__output_of_a_command__"  # what a name gets from !ls: no file of an agent has it


class Cell(NamedTuple):
    """A code cell.

    code: Python.
    places: of each line of the code, "lesson.ipynb, cell 16, line 3".
    text: as it was typed, with commands.
    fault: "lesson.ipynb, cell 16, line 3, ... has a syntax error": what is wrong with it if it is no Python, else "".
    file: the name of the file that it writes by %%writefile; then ``code`` is the file's.
    is_more: whether it adds to that file.
    """

    code: str
    places: list[str]
    text: str
    fault: str = ""
    file: str = ""
    is_more: bool = False


def is_page(path: Path) -> bool:
    """Whether a file is a notebook."""
    return path.suffix == PAGE_SUFFIX and path.is_file()


def page_named(text: str) -> tuple[Path, str | None] | None:
    """The page and the function of "lesson.ipynb" or "lesson.ipynb:my_agent"; None if the text names no page."""
    head, _, name = text.rpartition(":")
    if is_page(Path(text)):
        return Path(text), None
    return (Path(head), name) if name.isidentifier() and is_page(Path(head)) else None


def cells_of(path: Path) -> list[Cell]:
    """The code cells of a page, from the top.

    Raises:
        ValueError: it is no notebook, or one in another language.
        OSError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ValueError(f"{path} is no notebook: it is no text in UTF-8 ({fault.reason})") from None
    sources = enumerate(filter(str.strip, _sources_of(path, text)), 1)
    return [_to_cell(source, f"{path.name}, cell {number}, line ") for number, source in sources]


def _sources_of(path: Path, text: str) -> list[str]:
    """The sources of a notebook's code cells."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"{path} is no notebook: it should be JSON, but {fault}") from None
    try:
        data = notebook.get("metadata", {})
        known = data.get("language_info", {}).get("name"), data.get("kernelspec", {}).get("language")
        sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (AttributeError, KeyError, TypeError):
        raise ValueError(f"{path} is no notebook: it is JSON without cells as Jupyter has them today") from None
    language = str(next(filter(None, known), "python"))
    if not language.lower().startswith(("python", "ipython")):
        raise ValueError(f"{path} is a notebook in {language}: an agent should be Python")
    return sources


def _to_cell(source: str, prefix: str) -> Cell:
    """A cell as Python. ``prefix``: of the places of its lines, before their numbers."""
    source = source.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    lines = source.split("\n")
    places = [f"{prefix}{number}" for number in range(1, len(lines) + 1)]
    skipped = next((number for number, line in enumerate(lines) if line.strip()), 0)
    magic, _, options = lines[skipped].removeprefix("%%").partition(" ")
    if not lines[skipped].startswith("%%") or magic in CODE_MAGICS:
        code, fault, line = python_of(source)
        return Cell(code, places, source, fault and f"{places[line - 1]}, which may do so, has a {fault}")
    begin = skipped + 1
    if magic in FILE_MAGICS:
        more, _, file = options.strip().rpartition(" ")
        body = "\n".join(lines[begin:]) + "\n"
        return Cell(body, places[begin:], source, "", file.strip("\"'"), "-a" in more)
    place = places[min(begin, len(lines) - 1)]
    return Cell("", [], source, f"{place}, which may do so, is a %%{magic} cell")


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
    lines = MAIN.sub("if True:", _dedent_cell(source)).removesuffix("\n").split("\n")
    for _ in range(len(lines) + 1):
        code = "\n".join(lines) + "\n"
        fault = _fault_of(code)
        if fault is None:
            return code, "", 1
        number = min(max(fault.lineno or 1, 1), len(lines)) - 1
        if not _strip_command(lines, number):
            return code, f"syntax error: {fault.msg}", number + 1
    return code, "syntax error", 1


def _dedent_cell(source: str) -> str:
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


def _strip_command(lines: list[str], number: int) -> bool:
    """Takes the command out of a line, or what it gives by a name that nothing has; whether there is one."""
    line = lines[number]
    indent = line[: len(line) - len(line.lstrip())]
    if given := OUTPUT_GIVEN.match(line):
        lines[number] = f"{given[1]}{SHELL}"
    elif timed := TIMED_LINE.match(line):
        lines[number] = timed[1] + line[timed.end() :]
        return True
    elif variable := SET.match(line):
        lines[number] = f"{variable[1]}import os; os.environ[{variable[2]!r}] = {variable[3].strip()!r}"
    elif COMMAND.match(line):
        lines[number] = indent and f"{indent}pass"
    else:
        return False
    while line.endswith("\\") and number + 1 < len(lines):
        number += 1
        line, lines[number] = lines[number], ""
    return True
