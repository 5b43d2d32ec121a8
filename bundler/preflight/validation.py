"""Kaggle's validation game: the file against itself, first at a quick clock, and if that fails at the judge's."""

from dataclasses import dataclass
from typing import Any

from bundler.preflight.asking import Asked, confirm
from bundler.preflight.remedies import exception_line, remedy
from bundler.preflight.report import Report
from bundler.preflight.stage import Stage

QUICK_ACT, QUICK_BANK = 0.1, 38.0  # clock of the games that test only validity
FURTHER_GAMES = 2  # played if the questions found a fault that the first game did not show
SHORT_GAME = 10.0  # seconds: longer games are not repeated


@dataclass
class Game:
    """The result of a game of the file against itself, and the fault that ended it ("" if none)."""

    clock: tuple[float, float]
    answer: dict[str, Any]
    fault: str = ""
    cure: str = ""

    @property
    def result(self) -> dict[str, Any]:
        return self.answer["result"] or {}

    @property
    def is_late(self) -> bool:
        return self.answer["ended"] == "timeout" or "TIMEOUT" in self.result.get("statuses", [])


def validate(here: Stage, asked: Asked, full: bool, report: Report) -> Game:
    """Plays the validation game at a quick clock; at the judge's clock if that fails or the clock is at risk.

    If the questions found faults that the game did not show, these are confirmed, and a short game is repeated, because
    another one may show them.
    """
    limits = here.limits
    quick, true = (min(QUICK_ACT, limits.act_timeout), min(QUICK_BANK, limits.bank)), (limits.act_timeout, limits.bank)
    is_slow = report.figures.get("first_move_seconds", 0.0) > quick[1] / 2
    why = "; ".join(asked.suspicions.values())
    if not (full or why or is_slow or quick == true):
        game = _play_on(here, asked, quick)
        if not game.fault or asked.loaded is None:
            return game
    elif why:
        here.runner.tell(f"checking: {why}; a whole game at the judge's clock decides, which may take minutes")
    return _play_on(here, asked, true)


def _play_on(here: Stage, asked: Asked, clock: tuple[float, float]) -> Game:
    """Plays a game, and further ones if it ends well although the questions found a fault."""
    game = play(here, clock)
    if not game.fault:
        confirm(here, asked)
    for _ in range(FURTHER_GAMES if asked.faults and game.answer["seconds"] < SHORT_GAME else 0):
        game = game if game.fault else play(here, clock)
    return game


def play(here: Stage, clock: tuple[float, float], **options: Any) -> Game:
    """One game of the file against itself."""
    answer = here.game(*clock, f"game at {clock[0]:g} s a move and {clock[1]:g} s a game", **options)
    game = Game(clock, answer)
    if answer["ended"] == "memory":
        game.fault = f"more than {here.limits.memory / 2**20:.0f} MiB ({answer['stage']})"
    elif answer["ended"] == "timeout":
        game.fault = f"no answer ({answer['stage']})"
    elif answer["ended"] != "ok":
        game.fault = f"the game {answer['ended']}: {answer['tail'][-300:]}"
    elif "raised" in game.result:
        game.fault = f"{game.result['raised']} escapes Kaggle's environment: {game.result['text']}"
    elif game.result["statuses"] != ["DONE", "DONE"] or None in game.result["rewards"]:
        game.fault = _ending_of_game(game.result)
        game.cure = remedy(game.fault, "".join(game.result["stderr"]), here.situation)
    return game


def _ending_of_game(result: dict[str, Any]) -> str:
    """Which seat failed in a game that ended early, at which ply, and why."""
    seat = next((seat for seat in (0, 1) if result["statuses"][seat] != "DONE"), 0)
    last, stderr = result["last"][seat], result["stderr"][seat]
    ply = result["plies"] - 1
    where = f"{result['statuses'][seat]} of seat {seat + 1} on ply {ply}"
    if result["statuses"][seat] == "TIMEOUT":
        used = result["durations"][seat][-1:] or [0.0]
        return f"{where}: this move took {used[0]:.1f} s, and the bank is empty"
    if "fault" in last:
        text = (exception_line(stderr) or last["fault"]).removeprefix("kaggle_environments.errors.InvalidArgument: ")
        return f"{where}: {text[:300]}"
    return f"{where}: it returned {last.get('action')!r}"
