"""Asks a person at the terminal for a number until a valid one is typed."""

from collections.abc import Callable, Collection

LEAVING = ("quit", "q", "exit")


class Left(Exception):
    """The person wants to leave: typed one of ``LEAVING``, or the input has ended."""


def ask_number(question: str, allowed: Collection[int], other: Callable[[str], str]) -> int:
    """The typed number, one of ``allowed``.

    Args:
        other: gives the message for any other answer; the question is then asked again.

    Raises:
        Left: the person leaves, or the input has ended.
    """
    while True:
        try:
            answer = input(question).strip().lower()
        except EOFError:
            raise Left from None
        if answer in LEAVING:
            raise Left
        if answer.isdecimal() and int(answer) in allowed:
            return int(answer)
        print(other(answer))
