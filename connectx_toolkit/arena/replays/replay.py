"""Games that were played, each in one record, from which analysis, page, board and rematch all work; Kaggle's replays.

A replay is what Kaggle offers for download, or what ``env.toJSON()`` gives: step p + 1 holds, in entry p % 2, the
action of ply p and the overage time that is left after it. Beside a replay may lie its agents' logs, as Kaggle's own
command line names them: ``episode-7-replay.json`` and ``episode-7-agent-0-logs.json``; they tell the time of each move
and what a crash said, where the replay alone tells only what was taken of the overage time.
"""

import glob
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from connectx.geometry import Geometry
from connectx_toolkit.arena.results.records import UNKNOWN_NAMES, GameRecord, check_playable
from connectx_toolkit.kaggle.rules import BANK, DEFAULTS, Rules

FAULTS = {"ERROR": "error", "INVALID": "illegal move", "TIMEOUT": "timeout"}  # by Kaggle's status
REPLAY, LOGS = "-replay.json", "-logs.json"


class Call(NamedTuple):
    """One call of an agent, as its logs or the store tell it."""

    seconds: float  # with the load, which is part of an agent's first call
    stderr: str = ""


@dataclass(frozen=True)
class Replay:
    """A game that was played: its moves, who sat where, how it ended, and what the clocks showed."""

    path: Path  # the file that holds it
    name: str  # what tables call it
    record: GameRecord
    statuses: tuple[str, str]  # Kaggle's, at the end
    act_timeout: float  # seconds that a move may take before it draws on the overage time
    banks: tuple[float, float]  # seconds of overage time at the start, by seat
    overage: tuple[float, ...]  # seconds of it left to the mover after its move, by ply, a fatal call included
    calls: Mapping[int, Call] = field(default_factory=dict)  # by ply, as far as their times are known
    fault_detail: str = ""  # what is known of a forfeit beyond its kind
    is_stored: bool = False  # in a store of ours; else it is a replay of Kaggle's
    episode: int | None = None  # Kaggle's number of the game
    ratings: tuple[float | None, float | None] = (None, None)  # of the players before the game, by seat, where known
    date: str = ""  # when it was played, as ISO 8601; "" where that is not known

    @property
    def is_self_play(self) -> bool:
        """Whether both seats are of one team, as in the game by which Kaggle validates a submission."""
        return self.record.names[0] == self.record.names[1]

    def score(self, seat: int) -> float | None:
        """Points of a seat: 1, 0.5 or 0, a forfeit being a loss; None of a game that was not played to its end."""
        if self.record.forfeit:
            return float(self.record.forfeit[0] != seat)
        if not set(self.statuses) <= {"DONE"}:
            return None
        if self.record.winner is not None:
            return float(self.record.winner == seat)
        return 0.5

    @property
    def fault(self) -> str:
        """ "timeout", "illegal move" or "error", of the agent that forfeited; "" if none did."""
        return FAULTS[self.statuses[self.record.forfeit[0]]] if self.record.forfeit else ""

    @property
    def ending(self) -> str:
        """How the game ended, in words: "timeout of NAME on ply 12", "line of NAME", "full board", ..."""
        record = self.record
        if record.forfeit:
            detail = f": {self.fault_detail}" if self.fault_detail else ""
            return f"{self.fault} of {record.player(record.forfeit[0])} on ply {len(record.moves)}{detail}"
        if record.winner is not None:
            return f"line of {record.player(record.winner)}"
        if self.score(0) is None:
            return "not played to its end"
        return "full board" if len(record.moves) == record.geometry.cells else "step limit"

    def overage_used(self, seat: int) -> float:
        """Seconds that a seat took of its overage time in the whole game."""
        left = self.overage[seat::2]
        return self.banks[seat] - left[-1] if left else 0.0

    def seconds(self, ply: int) -> float | None:
        """Seconds of a move; None where no call tells it and it did not draw on the overage time."""
        if ply in self.calls:
            return self.calls[ply].seconds
        before = self.overage[ply - 2] if ply >= 2 else self.banks[ply % 2]
        fallen = before - self.overage[ply]
        return self.act_timeout + fallen if fallen > 0 else None

    def slowest(self, seat: int) -> tuple[int, float] | None:
        """Ply and seconds of a seat's slowest move; None if all that is known is that none drew on the overage time."""
        known = {ply: time for ply in range(seat, len(self.overage), 2) if (time := self.seconds(ply)) is not None}
        return max(known.items(), key=lambda item: item[1]) if known else None


def read_replay(path: Path) -> Replay:
    """A replay, with those of its agents' logs that lie beside it.

    Raises:
        ValueError: the file is not a replay of ConnectX.
    """
    if not path.exists():
        raise ValueError(f"no such file: {path}")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = "it is not JSON" if isinstance(problem, UnicodeDecodeError) else str(problem)
        raise ValueError(f"{path} is not a ConnectX replay: {reason}") from None
    return parse_replay(text, path)


def parse_replay(text: str, path: Path) -> Replay:
    """A replay from its text; ``path`` is where it lies, or only its name. Raises ValueError as ``read_replay``."""
    try:
        return replay_of(json.loads(text), path)
    except (json.JSONDecodeError, RecursionError):  # the latter: nested deeper than Python goes
        reason = "it is not JSON"
    except ValueError as problem:
        reason = str(problem)
    raise ValueError(f"{path} is not a ConnectX replay: {reason}")


def replay_of(content: Any, path: Path) -> Replay:
    """A replay from its JSON. Raises ValueError if it is none; it names the field that is missing or cannot be read."""
    content = content if isinstance(content, dict) else {}
    with _reading("name"):
        if content["name"] != "connectx":
            raise ValueError(f"it is of {content['name']!r:.80}")
    with _reading("configuration"):
        config = content["configuration"]
        sizes = {name: config[name] for name in ("rows", "columns", "inarow")}
        rules = Rules({**sizes, "actTimeout": config.get("actTimeout", DEFAULTS["actTimeout"])})
        geometry, act_timeout = rules.geometry, float(rules.config["actTimeout"])
    with _reading("statuses"):
        statuses = (content["statuses"][0], content["statuses"][1])
        failed = [seat for seat in (0, 1) if statuses[seat] in FAULTS]
    with _reading("steps"):
        steps = list(content["steps"])
        actions = [step[ply % 2]["action"] for ply, step in enumerate(steps[1:])]
        banks, overage = _clocks(steps)
    with _reading("info"):
        info = content.get("info") or {}
        names = info.get("TeamNames") or UNKNOWN_NAMES
        named = str(names[0]), str(names[1])
        episode = info.get("EpisodeId")
    last_mover = 1 - len(actions) % 2
    forfeited = last_mover if last_mover in failed else next(iter(failed), None)
    failed_action = actions.pop() if failed and actions else None
    check_playable(actions, geometry)
    calls = _calls(path, 0, len(overage)) | _calls(path, 1, len(overage))
    fault = "" if forfeited is None else FAULTS[statuses[forfeited]]
    forfeit = None if forfeited is None else (forfeited, fault)
    record = GameRecord(geometry, named, tuple(actions), forfeit=forfeit)
    detail = _fault_detail(fault, failed_action, calls.get(len(actions), Call(0.0)), geometry)
    return Replay(
        path, _name(path), record, statuses, act_timeout, banks, overage, calls, detail,
        episode=episode if type(episode) is int else None, ratings=_ratings(info),
    )  # fmt: skip


def _ratings(info: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The players' ratings before the game, where the replay tells them (as InitialScore, Meta Kaggle's word)."""

    def rating(seat: int) -> float | None:
        try:
            return float(info["Agents"][seat]["InitialScore"])
        except (LookupError, TypeError, ValueError):
            return None

    return rating(0), rating(1)


@contextmanager
def _reading(field: str) -> Iterator[None]:
    """Reads a field of a replay in the block. Raises ValueError where it is missing or has another form."""
    try:
        yield
    except (TypeError, AttributeError, LookupError, OverflowError) as problem:
        is_missing = isinstance(problem, KeyError) and isinstance(problem.args[0], str)
        raise ValueError(f"{problem} is missing" if is_missing else f"{field!r} has an unexpected form") from None


def _name(path: Path) -> str:
    return path.name.removesuffix(".json").removesuffix("-replay").removeprefix("episode-")


def _fault_detail(fault: str, action: Any, call: Call, geometry: Geometry) -> str:
    """What is known of a forfeit: the column that was returned, or the last line of the agent's logs; "" if nothing."""
    if fault == "illegal move" and isinstance(action, int):
        return f"column {action} is full" if 0 <= action < geometry.columns else f"there is no column {action}"
    lines = call.stderr.split("\n") if fault == "error" else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _clocks(steps: Sequence[Any]) -> tuple[tuple[float, float], tuple[float, ...]]:
    """Both seats' overage time at the start, and that of each mover after its move, by ply."""

    def left(entry: Any, otherwise: float) -> float:
        seconds = float(entry.get("observation", {}).get("remainingOverageTime", otherwise))
        if not math.isfinite(seconds):
            raise ValueError(f"remainingOverageTime is {seconds}")
        return seconds

    banks = (left(steps[0][0], BANK), left(steps[0][1], BANK)) if steps else (BANK, BANK)
    found: list[float] = []
    for ply, step in enumerate(steps[1:]):
        found.append(left(step[ply % 2], found[ply - 2] if ply >= 2 else banks[ply % 2]))
    return banks, tuple(found)


def logs_path(replay: Path, seat: int) -> Path:
    """Where the logs of a seat lie, whose replay was downloaded to a path."""
    return replay.with_name(f"{replay.name.removesuffix(REPLAY).removesuffix('.json')}-agent-{seat}{LOGS}")


def _calls(replay: Path, seat: int, plies: int) -> dict[int, Call]:
    """The calls of a seat by ply, as its logs tell them: a list of steps, each the entries of the agents asked in it.

    Logs are an extra: where they are missing, or have another form, nothing is known of the times.
    """
    try:
        steps = json.loads(logs_path(replay, seat).read_text(encoding="utf-8"))
        entries = [entry for step in steps for entry in (step if isinstance(step, list) else [step]) if entry]
        calls = [Call(float(entry["duration"]), str(entry.get("stderr", ""))) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return {}
    return dict(zip(range(seat, plies, 2), calls, strict=False))


def replay_paths(what: Iterable[str]) -> list[Path]:
    """The files that are meant by files, folders (with all that is in them) and patterns, in order, each once.

    Raises:
        ValueError: one of them stands for no file.
    """
    found: list[Path] = []
    for text in what:
        path = Path(text)
        if path.is_dir():
            matching = sorted(path.rglob("*.json"))
        else:
            matching = [path] if path.exists() else [Path(name) for name in sorted(glob.glob(text, recursive=True))]
        replays = [one for one in matching if not one.name.endswith(LOGS) and not one.name.startswith(".")]
        if not replays:
            raise ValueError(f"no replays (.json) in {path}" if path.is_dir() else f"no such file: {text}")
        found += replays
    return list(dict.fromkeys(found))


def read_replays(paths: Sequence[Path]) -> tuple[list[Replay], list[str]]:
    """The replays among some files, and, of those that are none, why.

    Raises:
        ValueError: none of them is a replay.
    """
    replays, problems = [], []
    for path in paths:
        try:
            replays.append(read_replay(path))
        except ValueError as problem:
            problems.append(str(problem))
    if not replays:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise ValueError(f"{problems[0]}{more}")
    return replays, problems
