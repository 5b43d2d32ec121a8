"""Asking somebody at the terminal for a number, until it is one that will do."""

from collections.abc import Callable, Collection

LEAVING = ("quit", "q", "exit")


class Left(Exception):
    """Whoever was asked has had enough: typed one of ``LEAVING``, or the input has ended."""


def ask_number(question: str, allowed: Collection[int], other: Callable[[str], str]) -> int:
    """The number of ``allowed`` that was typed.

    Args:
        other: what to say to any other answer; it is then asked again.

    Raises:
        Left: there will be no answer.
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
