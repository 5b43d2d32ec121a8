"""Kaggle's validation game: the file against itself, at the judge's clock or, for a build, first at a quick one."""

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import Any

from connectx_toolkit.builder.preflight.asking import WORK, Asked, Reading, confirm, find_what_ends_a_move
from connectx_toolkit.builder.preflight.report import Report
from connectx_toolkit.builder.preflight.stage import GAME_PLIES, LONG, Stage
from connectx_toolkit.kaggle.remedies import exception_line, place_in, remedy
from connectx_toolkit.kaggle.rules import Limits

QUICK_ACT, QUICK_BANK = 0.1, 38.0  # clock of a build's game, which tests only validity
# If the questions found a fault that the first game did not show, more are played. An agent that fails in one game of
# five is accepted by chance in one of a hundred checks; who plays the same game three times does not draw at random.
MOST_GAMES, MOST_SECONDS, SAME_GAMES = 20, 10.0, 3
SLACK = 0.002  # seconds of a move that starting and asking may take


@dataclass
class Game:
    """The result of a game of the file against itself, and the fault that ended it ("" if none)."""

    clock: tuple[float, float]
    answer: dict[str, Any]
    fault: str = ""
    cure: str = ""
    reason: str = ""  # why the judge's clock was needed where a quick game was wanted
    count: int = 1  # games that were played, if more than one were

    @property
    def result(self) -> dict[str, Any]:
        return self.answer["result"] or {}

    @property
    def is_late(self) -> bool:
        return self.answer["ended"] == "timeout" or "TIMEOUT" in self.result.get("statuses", [])

    def overdrawn(self, act_timeout: float, reading: Reading) -> list[list[float]]:
        """Seconds of each seat's moves beyond ``act_timeout``."""
        timed = zip(self.result.get("durations", []), self.result.get("waited", []), strict=True)
        return [
            [max(0.0, t - (reading.later if i else reading.first) * w - act_timeout) for i, (t, w) in enumerate(pairs)]
            for pairs in (zip(*seat, strict=False) for seat in timed)
        ]

    @property
    def thinking(self) -> float:
        """Seconds that both seats took, without those that they waited; of a game that was ended, those it lasted."""
        return sum(map(sum, self.overdrawn(0.0, WORK))) or self.answer["seconds"]

    def moves_on_overage(self, limits: Limits, otherwise: float, reading: Reading) -> float:
        """How many moves a seat has until the overage time is gone, at the usual pace of this game.

        ``otherwise``: seconds overdrawn a move if the game does not tell.
        """
        numbers = []
        for seat in self.overdrawn(limits.act_timeout, reading) or [[]]:
            pace = median_low(seat[1:] or [otherwise])  # what compiles at the first moves does so once
            # by thousandths of a second a move takes longer than the agent meant: they make no move less
            left = math.floor((limits.bank - sum(seat)) / pace + 0.1) if pace > SLACK else math.inf
            numbers.append(len(seat) + left)
        return min(numbers)

    def is_late_by(self, limits: Limits, reading: Reading) -> bool:
        """Whether a game ended late, and the times of this reading are reason enough."""
        seats = self.overdrawn(limits.act_timeout, reading) or [[math.inf]]
        return self.is_late and any(sum(seat) > limits.bank for seat in seats)


def validate(here: Stage, asked: Asked, is_quick: bool, report: Report) -> Game:
    """Plays the validation game at the judge's clock.

    With ``is_quick`` it is first played at a quick clock, unless the questions found a fault at the judge's, or a risk
    that only the judge's clock decides.
    """
    true = (here.limits.act_timeout, here.limits.bank)
    quick = (min(QUICK_ACT, true[0]), min(QUICK_BANK, true[1]))
    if is_quick and len({tuple(asked.suspicions(here.limits, reading)) for reading in asked.readings}) > 1:
        find_what_ends_a_move(here, asked)
    reason = _why_not_quick(here.limits, asked, report, quick) if is_quick and quick != true else ""
    if is_quick and quick != true and not reason:
        game = _play_on(here, asked, quick)
        if not game.fault or asked.loaded is None:
            return game
        reason = "a quick game failed"
    _announce(here, asked, 2 * report.figures.get("load_seconds", 0.0), reason)
    game = _play_on(here, asked, true)
    game.reason = reason
    return game


def _why_not_quick(limits: Limits, asked: Asked, report: Report, quick: tuple[float, float]) -> str:
    """Why only a game at the judge's clock can tell; "" if a quick one can."""
    if suspicions := asked.suspicions(limits, asked.readings[1]):
        return "; ".join(suspicions.values())
    if asked.fails_at_true_clock:
        return "it failed when asked at that clock"
    first = report.figures.get("first_move_seconds", 0.0)
    return f"the first move took {first:.0f} s with the load" if first > quick[1] / 2 else ""


def _announce(here: Stage, asked: Asked, loads: float, reason: str) -> None:
    """Says what a game will take, if that is long or for a reason; ``loads``: seconds of loading in both seats."""
    act = here.limits.act_timeout
    times = [reply["seconds"] for q, reply in asked.standard if q.config["actTimeout"] == act]
    seconds = loads + (GAME_PLIES * sum(times) / len(times) if times else 0.0)
    if seconds > LONG or reason:
        why = f" ({reason})" if reason else ""
        here.runner.tell(f"checking: a game against itself at {act:g} s a move, about {seconds:.0f} s{why}")


def _play_on(here: Stage, asked: Asked, clock: tuple[float, float]) -> Game:
    """Plays a game, and further short ones if it ends well although the questions found a fault."""
    game = play(here, clock)
    if game.fault:
        return game
    confirm(here, asked)
    return _seek_fault(here, game) if asked.faults else game


def _seek_fault(here: Stage, game: Game) -> Game:
    """Plays more games with other seeds while they are short: the first that fails, with their share; or ``game``."""
    games = [game]
    while len(games) < MOST_GAMES and sum(other.thinking for other in games) < MOST_SECONDS and not _is_same(games):
        games.append(play(here, game.clock, seed=len(games)))
    failed = [other for other in games if other.fault]
    if failed:
        failed[0].fault = f"{len(failed)} of {len(games)} games failed, for example by {failed[0].fault}"
        return failed[0]
    game.count = len(games)
    return game


def _is_same(games: list[Game]) -> bool:
    """Whether these are several games, and all ended with the same board."""
    return len(games) >= SAME_GAMES and all(a.result.get("board") == b.result.get("board") for a, b in pairwise(games))


def play(here: Stage, clock: tuple[float, float], seed: int = 0, **options: Any) -> Game:
    """One game of the file against itself."""
    answer = here.game(*clock, seed, **options)
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
        game.fault = _ending_of_game(game.result, here.situation.name)
        game.cure = remedy(game.fault, "".join(game.result["stderr"]), here.situation)
    return game


def _ending_of_game(result: dict[str, Any], name: str) -> str:
    """Which seat failed in a game that ended early, at which ply, why, and where in the file of this name."""
    seat = next((seat for seat in (0, 1) if result["statuses"][seat] != "DONE"), 0)
    last, stderr = result["last"][seat], result["stderr"][seat]
    ply = result["plies"] - 1
    where = f"{result['statuses'][seat]} of seat {seat + 1} on ply {ply}"
    if result["statuses"][seat] == "TIMEOUT":
        used = result["durations"][seat][-1:] or [0.0]
        return f"{where}: this move took {used[0]:.1f} s, and the overage time is gone"
    if "fault" in last:
        text = (exception_line(stderr) or last["fault"]).removeprefix("kaggle_environments.errors.InvalidArgument: ")
        place = place_in(stderr).replace("main.py", name)
        return f"{where}: {text[:300]}" + (f" ({place})" if place else "")
    return f"{where}: it returned {last.get('action')!r}"
