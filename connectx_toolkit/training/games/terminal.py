"""Lets a person play at the terminal against any of our players; invalid input is asked for again."""

import numpy as np

from connectx_toolkit.console.prompt import Left, ask_number
from connectx_toolkit.training.games.batch import FIRST, SECOND, Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.players import Player
from connectx_toolkit.training.games.small_games import Nim

MARKS = {FIRST: "X", SECOND: "O", 0: "."}


def numbered_from(games: Games) -> int:
    """The number that people see for action 0: columns count from 0, as on Kaggle, cells and tokens from 1."""
    return 0 if isinstance(games, ConnectX) else 1


def picture(games: Games) -> str:
    """The first game of the batch as text."""
    if isinstance(games, Nim):
        left = int(games.left()[0])
        return f"{'|' * left}   {left} left; who takes the last one loses"
    rows = [" ".join(MARKS[int(stone)] for stone in row) for row in games.stones[0]]
    if isinstance(games, ConnectX):
        return "\n".join([*rows, " ".join(str(column % 10) for column in range(games.columns))])
    numbers = np.arange(1, games.actions + 1).reshape(games.rows, games.columns)
    return "\n".join(f"{row}    {' '.join(map(str, line))}" for row, line in zip(rows, numbers, strict=True))


def ask(games: Games) -> int:
    """A legal action of the first game. Raises Left as ``ask_number`` does."""
    start = numbered_from(games)
    legal = [int(action) + start for action in np.flatnonzero(games.legal()[0])]
    numbers = ", ".join(map(str, legal))
    wrong = "a legal move is one of {}, not {!r}".format
    return (
        ask_number(f"your move, one of {numbers} (q to leave): ", legal, lambda answer: wrong(numbers, answer)) - start
    )


def play_human(games: Games, seat: int, opponent: Player) -> None:
    """Plays the first game of the batch until it ends or the person leaves. ``seat``: of the person, 0 moves first."""
    names = {FIRST: "first", SECOND: "second"}
    human = (FIRST, SECOND)[seat]
    print(f"you play {names[human]}" + ("" if isinstance(games, Nim) else f", with {MARKS[human]}"))
    try:
        while not games.done[0]:
            print(picture(games))
            if games.mover[0] == human:
                action = ask(games)
            else:
                action = int(opponent(games, np.array([0]))[0])
                print(f"the other side plays {action + numbered_from(games)}")
            games.play(np.array([action]), np.array([0]))
    except Left:
        print("left")
        return
    print(picture(games))
    winner = int(games.winner[0])
    print("a draw" if not winner else "you win" if winner == human else "the other side wins")
