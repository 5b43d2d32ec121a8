"""``evaluate.py play``: a person against an agent, in the terminal, with exact scores on request."""

import argparse
import secrets
from typing import Any

from arena.players.loading import resolve
from arena.players.process import Player
from arena.players.protocol import Reply
from arena.players.spec import AgentSpec
from arena.referee import play_fast
from arena.rules import Game, Rules
from arena.slots import OwnSlot, Setup, Slot
from connectx.choice import plies_to_end
from connectx.clock import Budget
from connectx.geometry import Geometry, geometry_of
from connectx.position import Position
from connectx.solver import Value

STONES = ".XO"  # empty, who moves first, who moves second
SOLVING_SECONDS = 20.0
HELP = "a column's number, hint (the best columns), scores (of every column), or quit"


class Quit(Exception):
    """The person has had enough."""


def drawn(board: bytes, geometry: Geometry) -> str:
    """The board as text, columns numbered, the last row at the bottom."""
    lines = [" ".join(f"{column:>2}" for column in range(geometry.columns))]
    for row in range(geometry.rows):
        cells = board[row * geometry.columns : (row + 1) * geometry.columns]
        lines.append(" ".join(f" {STONES[cell]}" for cell in cells))
    return "\n".join(lines)


def in_words(value: Value, position: Position) -> str:
    """What the score of a move in this position says: its result, and in how many plies, the move included."""
    words = {1: "wins", 0: "draws", -1: "loses", None: "is not solved yet"}[value.result]
    if not value.exact or value.low == 0:
        return words
    plies = plies_to_end(value.low, position.ply, position.geometry.cells)
    return f"{words} in {plies} {'ply' if plies == 1 else 'plies'}"


class Person(Player):
    """Somebody at the keyboard, whose time does not count."""

    def __init__(self) -> None:
        super().__init__(AgentSpec("person", "person", "you"), fresh=False)
        self.geometry = geometry_of(6, 7, 4)

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        self.geometry = geometry_of(config["rows"], config["columns"], config["inarow"])

    def _load(self, seed: int, limit: float) -> Reply:
        return Reply(0, 0.0)

    def _move(self, ply: int, mark: int, bank: float, board: bytes, limit: float) -> Reply:
        config = self.geometry._asdict()
        position = Position.from_observation({"board": board, "mark": mark}, config)
        print(f"\n{drawn(board, self.geometry)}")
        while True:
            try:
                answer = input(f"you are {STONES[mark]}, your column? ").strip().lower()
            except EOFError:
                raise Quit from None
            if answer.isdecimal() and int(answer) in position.legal_columns():
                return Reply(int(answer), 0.0)
            print(self._other(answer, position))

    def _other(self, answer: str, position: Position) -> str:
        """What to say to anything but a column that is open."""
        if answer in ("quit", "q", "exit"):
            raise Quit
        if answer in ("hint", "scores"):
            return self._exact(answer, position)
        if answer.isdecimal():
            full = int(answer) < self.geometry.columns
            return f"column {answer} is full" if full else f"the columns are 0 to {self.geometry.columns - 1}"
        return f"expected {HELP}"

    def _exact(self, answer: str, position: Position) -> str:
        from agents.perfect import book, solver_for  # compiles for some seconds: only if it is asked for

        if not self.geometry.fits_word:
            return "this board is too large to be solved"
        known = book.column(position)
        if answer == "hint" and known is not None:
            return f"best: {known}, by the opening book"
        solver, budget = solver_for(self.geometry), Budget.seconds(SOLVING_SECONDS)
        found = solver.scores(position, budget) if answer == "scores" else solver.best_moves(position, budget)
        values = {column: value for column, value in enumerate(found) if value is not None}
        if answer == "scores":
            return "\n".join(f"column {column} {in_words(value, position)}" for column, value in values.items())
        best = max(value.low for value in values.values())
        columns = [column for column, value in values.items() if value.low == best]
        if any(value.high > best for value in values.values()):
            return f"not solved in {SOLVING_SECONDS:.0f} s; as good as any so far: {', '.join(map(str, columns))}"
        return f"best: {', '.join(map(str, columns))} ({in_words(values[columns[0]], position)})"


def result_line(game: Game, person: int) -> str:
    """How it ended, to the person in seat 0 or 1."""
    points = game.score if person == 0 else 1 - game.score
    if game.forfeit is not None:
        return f"you win: the agent forfeits by {game.ending} ({game.forfeit.detail.strip().splitlines()[-1]:.120})"
    return {1.0: "you win", 0.5: "a draw", 0.0: "you lose"}[points]


def play(options: argparse.Namespace) -> None:
    """One game; the agent has its usual clock."""
    rules = Rules({"runTimeout": 10**9, **(options.config or {})}, options.bank)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    person = 1 if options.second else 0
    spec = resolve(options.agent)
    with Slot(Setup(rules)) as slot:
        OwnSlot(slot, silence=0.0).check([spec])
        print(f"{STONES[1]} moves first. At the prompt: {HELP}.")
        players = [Person(), *slot.players_for([(spec, 0)])]
        try:
            game = play_fast(players[::-1] if person else players, rules, (), (seed, seed))
        except Quit:
            print("\nuntil next time")
            return
    position = Position.from_moves(game.moves, rules.geometry)
    print(f"\n{drawn(bytes(position.to_board()), rules.geometry)}")
    print(f"{result_line(game, person)} after {len(game.moves)} moves: {' '.join(map(str, game.moves))}")
