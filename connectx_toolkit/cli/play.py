"""``evaluate.py play``: a person against an agent, in the terminal, with exact scores on request."""

import argparse
import secrets
from typing import Any

from connectx.exact import promising
from connectx.geometry import geometry_of
from connectx.position import Position
from connectx_toolkit.arena.analysis.exact_analysis import values_in_time
from connectx_toolkit.arena.analysis.exact_words import STONES, drawn, score_words
from connectx_toolkit.arena.play.open import OwnSlot
from connectx_toolkit.arena.play.referee import play_fast
from connectx_toolkit.arena.play.slot import Slot
from connectx_toolkit.arena.players.loading import resolve
from connectx_toolkit.arena.players.process import Player
from connectx_toolkit.arena.players.protocol import Reply
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup
from connectx_toolkit.console.prompt import Left, ask_number
from connectx_toolkit.kaggle.rules import Game, Rules

SOLVING_SECONDS = 20.0
HELP = "a column's number, hint (the best columns), scores (of every column), or quit"


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
        question = f"you are {STONES[mark]}, your column? "
        return Reply(ask_number(question, position.legal_columns(), lambda answer: self._other(answer, position)), 0.0)

    def _other(self, answer: str, position: Position) -> str:
        """What to say to anything but a column that is open."""
        if answer in ("hint", "scores"):
            return self._exact(answer, position)
        if answer.isdecimal():
            full = int(answer) < self.geometry.columns
            return f"column {answer} is full" if full else f"the columns are 0 to {self.geometry.columns - 1}"
        return f"expected {HELP}"

    def _exact(self, answer: str, position: Position) -> str:
        found = values_in_time(position, SOLVING_SECONDS, best=answer == "hint")
        values = {column: value for column, value in enumerate(found) if value is not None}
        if answer == "scores":
            return "\n".join(
                f"column {column} {score_words(value, position.ply, self.geometry)}" for column, value in values.items()
            )
        best = max(value.low for value in values.values())
        columns = [column for column, value in values.items() if value.low == best]
        if any(value.high > best for value in values.values()) and best <= 0:
            why = f"in {SOLVING_SECONDS:.0f} s" if self.geometry.fits_word else "as this board is too large"
            return f"not solved {why}; as good as any so far: {', '.join(map(str, promising(found)))}"
        return f"best: {', '.join(map(str, columns))} ({score_words(values[columns[0]], position.ply, self.geometry)})"


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
        except Left:
            print("\nuntil next time")
            return
    position = Position.from_moves(game.moves, rules.geometry)
    print(f"\n{drawn(bytes(position.to_board()), rules.geometry)}")
    print(f"{result_line(game, person)} after {len(game.moves)} moves: {' '.join(map(str, game.moves))}")
