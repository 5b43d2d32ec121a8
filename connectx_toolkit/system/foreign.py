"""Checks data from outside before it is used: replays, the board's messages, Kaggle's answers and manifests.

Numbers are bounded and finite, texts can be printed, sizes are limited. What does not pass raises a ValueError, and
nothing else, so that a reader of many items can note it (``noting``) and go on with the next one.
"""

import json
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

MOST_BYTES = 64 << 20  # of one document: Kaggle's replays have 10 to 60 kB, a full board of 64x64 some 40 MB
LARGEST_INTEGER = 2**63 - 1
LONGEST_NAME = 300  # characters of a name
JOINERS = "\u200c\u200d"  # invisible, but parts of emojis and of words in several scripts
MOST_NAMED = 10  # of what was left out


class NothingLeft(RuntimeError):
    """Of many things that were to be read, none was left: exit code 1. Its text says why, in a line."""

    def __init__(self, left_out: Sequence[str]):
        more = f" (and {len(left_out) - MOST_NAMED} more)" if len(left_out) > MOST_NAMED else ""
        super().__init__("nothing is left: " + "; ".join(left_out[:MOST_NAMED]) + more)


def from_json(content: str | bytes) -> Any:
    """What a JSON document says, with or without a byte order mark, in UTF-8, UTF-16 or UTF-32.

    Raises ValueError: it is no JSON, nested too deeply for Python, or larger than ``MOST_BYTES``.
    """
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    try:
        return json.loads(content.removeprefix("\ufeff") if isinstance(content, str) else content)
    except (ValueError, RecursionError):  # the former also of bytes in no such encoding, and of more than 4300 digits
        raise ValueError("it is not JSON") from None


def integer(value: Any, name: str, least: int = -LARGEST_INTEGER - 1, most: int = LARGEST_INTEGER) -> int:
    """An integer within bounds, at most those of SQLite. Raises ValueError if it is none; ``name`` says of what."""
    if type(value) is not int or not least <= value <= most:
        bounds = "of at most 63 bits" if most == LARGEST_INTEGER else f"from {least} to {most}"
        raise ValueError(f"{name} should be an integer {bounds}, not {value!r:.80}")
    return value


def number(value: Any, name: str, least: float = float("-inf")) -> float:
    """A finite number, also from a text. Raises ValueError if it is none; ``name`` says of what."""
    try:
        read = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        read = float("nan")
    if not isfinite(read) or read < least:
        raise ValueError(f"{name} should be a finite number, not {value!r:.80}")
    return read


def text(value: Any, name: str) -> str:
    """A text as ``printable`` gives it. Raises ValueError if it is none; ``name`` says of what."""
    if not isinstance(value, str):
        raise ValueError(f"{name} should be a text, not {value!r:.80}")
    return printable(value)


def mapping(value: Any, name: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError if it is none; ``name`` says of what."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} should be a JSON object, not {value!r:.80}")
    return value


def printable(value: object, longest: int | None = LONGEST_NAME) -> str:
    r"""Any value as a text that can be printed and stored: control characters and the like are written as escapes.

    >>> printable("\x1b[2Jevil \ud800")
    '\\x1b[2Jevil \\ud800'
    """
    plain = "".join(map(_printable_character, str(value)[: None if longest is None else longest + 1]))
    return plain if longest is None or len(plain) <= longest else f"{plain[: longest - 3]}..."


def _printable_character(character: str) -> str:
    is_printed = unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or character in JOINERS
    return character if is_printed else character.encode("unicode_escape").decode()


@contextmanager
def noting(left_out: list[str], what: object) -> Iterator[None]:
    """Reads one of many things in the block: what goes wrong is noted, with ``what`` it was; the others go on."""
    try:
        yield
    except Exception as problem:
        words = " ".join(str(problem).split()) or type(problem).__name__
        left_out.append(words if str(what) in words else f"{what}: {words}")


def left_out_lines(left_out: Sequence[str]) -> list[str]:
    """What was left out and why, the first ones by name, and a last line that counts the others; [] if nothing was.

    What stands for many games at once has to come first, with their number.
    """
    more = len(left_out) - MOST_NAMED
    return [f"left out: {why}" for why in left_out[:MOST_NAMED]] + ([f"left out: {more} more"] if more > 0 else [])
