"""What mkdocs asks for while it builds the site: the tables of commands, and files that live outside docs/.

The options of every command are read from the parsers that the scripts themselves use. CONTRIBUTING.md and CHANGELOG.md
stay at the root of the repository, where people look for them, and are pages of the site as well.
"""

import argparse
import html
import os
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from connectx_toolkit.cli import build, main, train

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES_OF_THE_ROOT = {"project/contributing.md": "CONTRIBUTING.md", "project/changelog.md": "CHANGELOG.md"}
PICTURES = {"assets/icon.svg": "connectx_toolkit/page/icon.svg", "assets/ladder.svg": "agents/ladder.svg"}
COMMANDS_HERE = re.compile(r"<!-- commands of (\w+\.py) -->")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


class _Parsed(BaseException):
    """Carries the parser that a script was about to use."""


def parser_of(script: Callable[[list[str]], Any], *arguments: str) -> argparse.ArgumentParser:
    """The parser with which a script reads these arguments."""

    def stop(parser: argparse.ArgumentParser, *_: Any) -> Any:
        raise _Parsed(parser)

    parse, argparse.ArgumentParser.parse_known_args = argparse.ArgumentParser.parse_known_args, stop  # type: ignore
    try:
        script(list(arguments))
    except _Parsed as found:
        return found.args[0]
    finally:
        argparse.ArgumentParser.parse_known_args = parse  # type: ignore[method-assign]
    raise AssertionError(f"{script} reads no arguments")


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of a script's own commands."""
    return {
        name: choice
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, choice in action.choices.items()
    }


def parsers(script: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command of a script: what is typed to run it, and its parser."""
    if script == "build_submission.py":
        yield "build_submission.py", parser_of(build.parse_arguments)
    elif script == "train.py":
        for name in train.METHODS:
            yield f"train.py {name}", subcommands(parser_of(train.parse_arguments, name))[name]
    else:
        for name in main.evaluate_commands():
            yield f"evaluate.py {name or 'AGENT1 AGENT2'}", parser_of(main.evaluate_command_of, *filter(None, [name]))


def reference(script: str) -> str:
    """A section for each command of a script, in Markdown. Texts that several commands share stand in the first one."""
    told: set[str] = set()
    return "\n\n".join(section(title, parser, told) for title, parser in parsers(script))


def section(title: str, parser: argparse.ArgumentParser, told: set[str]) -> str:
    """A command: what it does, its options, and what follows them in its help."""
    parts = [
        f"## `{title}`",
        *passages(parser.description, told),
        options_table(parser),
        *passages(parser.epilog, told),
    ]
    return "\n\n".join(filter(None, parts))


def passages(text: str | None, told: set[str]) -> Iterator[str]:
    """The paragraphs of a help text that were not told before; indented lines and commands become code."""
    for passage in re.split(r"\n\s*\n", (text or "").strip("\n")):
        if passage.strip() and passage not in told:
            told.add(passage)
            yield from _text_and_code(passage.splitlines())


def _text_and_code(lines: list[str]) -> Iterator[str]:
    has_list = any(line.lstrip().startswith("- ") for line in lines)  # whose lines are indented, too
    is_code = [line.startswith((" ", "python ")) and not has_list for line in lines]
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or is_code[end] != is_code[start]:
            block = textwrap.dedent("\n".join(lines[start:end]))
            yield f"```text\n{block}\n```" if is_code[start] else html.escape(block, quote=False)
            start = end


def options_table(parser: argparse.ArgumentParser) -> str:
    """Arguments and options, one a row; "" if the command has none."""
    formatter = parser._get_formatter()
    rows = [
        (option_words(action, formatter), cell(formatter._expand_help(action) if action.help else ""))
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
        and action.help != argparse.SUPPRESS
    ]
    if not rows:
        return ""
    table = "\n".join(["| option | what it does |", "|---|---|", *(f"| {words} | {text} |" for words, text in rows)])
    return f'<div class="options" markdown>\n\n{table}\n\n</div>'


def option_words(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    """ "`-o`, `--output FILE`"."""
    if not action.option_strings:
        return f"`{formatter._metavar_formatter(action, action.dest)(1)[0]}`"
    *short, long = action.option_strings
    value = ""
    if action.nargs != 0:
        value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    return ", ".join([*(f"`{option}`" for option in short), f"`{f'{long} {value}'.rstrip()}`"]).replace("|", "\\|")


def cell(text: str) -> str:
    """A text as the cell of a table."""
    words = " ".join(text.replace(f"{ROOT}/", "").split())  # a default may be a path of this machine
    return html.escape(words, quote=False).replace("|", "\\|")


def relink_page(markdown: str, folder: Path, page: str, repository: str) -> str:
    """A page with links that work on the site.

    Args:
        folder: where the links of the text begin.
        page: the page's own address below docs/.
        repository: address of the repository, for files that are not on the site; without it they are names only.
    """

    def one(link: re.Match) -> str:
        mark, words, target, anchor = link[1], link[2], link[3], link[4] or ""
        path = (folder / target).resolve()
        if path.is_relative_to(DOCS):
            place = path.relative_to(DOCS).as_posix()
        else:
            inside = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else target
            place = next((place for place, source in PICTURES.items() if source == inside), "")
            place = place or next((place for place, source in PAGES_OF_THE_ROOT.items() if source == inside), "")
            if not place:
                return f"{mark}[{words}]({repository}/blob/main/{inside}{anchor})" if repository else words
        return f"{mark}[{words}]({os.path.relpath(place, Path(page).parent)}{anchor})"

    return LINK.sub(one, markdown)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pictures that live elsewhere in the repository."""
    from mkdocs.structure.files import File

    for place, source in PICTURES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Puts in the tables of commands and the pages of the repository's root."""
    place, folder = page.file.src_uri, (DOCS / page.file.src_uri).parent
    if place in PAGES_OF_THE_ROOT:
        markdown, folder = (ROOT / PAGES_OF_THE_ROOT[place]).read_text(encoding="utf-8"), ROOT
        page.meta["search"] = {"boost": 0.3}  # a user looks for the guides first
    markdown = COMMANDS_HERE.sub(lambda found: reference(found[1]), markdown)
    if place.startswith("start/"):
        markdown = markdown.replace("ADDRESS", config.repo_url or "ADDRESS")
    return relink_page(markdown, folder, place, config.repo_url or "")
