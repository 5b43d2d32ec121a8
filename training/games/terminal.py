"""A person at the terminal against any player of ours; what is typed is checked, and asked for again."""

from collections.abc import Callable

import numpy as np

from training.games.batch import FIRST, SECOND, Games
from training.games.connectx import ConnectX
from training.games.nim import Nim
from training.games.players import Player

MARKS = {FIRST: "X", SECOND: "O", 0: "."}


class Leave(Exception):
    """The person does not want to go on."""


def picture(games: Games) -> str:
    """The first game of the batch as text."""
    if isinstance(games, Nim):
        left = int(games.left()[0])
        return f"{'|' * left}   {left} left; who takes the last one loses"
    rows = [" ".join(MARKS[int(stone)] for stone in row) for row in games.stones[0]]
    if isinstance(games, ConnectX):
        return "\n".join([*rows, " ".join(str((column + 1) % 10) for column in range(games.columns))])
    numbers = np.arange(1, games.actions + 1).reshape(games.rows, games.columns)
    return "\n".join(f"{row}    {' '.join(map(str, line))}" for row, line in zip(rows, numbers, strict=True))


def ask(games: Games, read: Callable[[str], str]) -> int:
    """A legal action of the first game, asked for until one is given.

    Raises:
        Leave: q was typed, or the input has ended.
    """
    legal = [int(action) + 1 for action in np.flatnonzero(games.legal()[0])]
    while True:
        try:
            typed = read(f"your move, one of {', '.join(map(str, legal))} (q to leave): ").strip()
        except EOFError:
            raise Leave from None
        if typed.lower() == "q":
            raise Leave
        if typed.isascii() and typed.isdigit() and int(typed) in legal:
            return int(typed) - 1
        print(f"a legal move is one of {', '.join(map(str, legal))}, not {typed!r}")


def play_human(games: Games, seat: int, opponent: Player, read: Callable[[str], str] = input) -> None:
    """Plays the first game of the batch to its end, or until the person leaves; ``seat`` 0 moves first."""
    names = {FIRST: "first", SECOND: "second"}
    human = (FIRST, SECOND)[seat]
    print(f"you play {names[human]}" + ("" if isinstance(games, Nim) else f", with {MARKS[human]}"))
    try:
        while not games.done[0]:
            print(picture(games))
            if games.mover[0] == human:
                action = ask(games, read)
            else:
                action = int(opponent(games, np.array([0]))[0])
                print(f"the other side plays {action + 1}")
            games.play(np.array([action]), np.array([0]))
    except Leave:
        print("left")
        return
    print(picture(games))
    winner = int(games.winner[0])
    print("a draw" if not winner else "you win" if winner == human else "the other side wins")
