"""A game in Kaggle's own form: a replay.

A replay is what Kaggle offers for download, or what ``env.toJSON()`` gives: step p + 1 holds, in entry p % 2, the
action of ply p and the overage time that is left after it. Beside a replay may lie its agents' logs, as Kaggle's own
command line names them: ``episode-7-replay.json`` and ``episode-7-agent-0-logs.json``; they tell the time of each move
and what a crash said, where the replay alone tells only what was taken of the overage time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from connectx_core.position import STANDARD, Geometry, Position
from connectx_toolkit.games.game import UNKNOWN_NAMES, Game, check_playable
from connectx_toolkit.kaggle.rules import DEFAULTS, FAMILIES, Fault, Rules, sizes_of
from connectx_toolkit.system.foreign import MOST_BYTES, from_json, integer, noting, number, printable, text

LOGS, REPLAY = "-logs.json", "-replay.json"
UNTOLD = "it has only env.steps, which do not tell its board: save env.toJSON()"


class LogCall(NamedTuple):
    """One call of an agent, as its logs tell it."""

    seconds: float  # with the load, which is part of an agent's first call
    stderr: str = ""


def replay_of(content: Any, path: Path) -> Game:
    """A replay from its JSON. Raises ValueError if it is none; it names the field that is missing or cannot be read."""
    content, numbered = _unwrap_replay(content)
    with _reading("name"):
        if content["name"] != "connectx":
            raise ValueError(f"it is of {content['name']!r:.80}")
    with _reading("configuration"):
        config = content["configuration"]
        sizes = {name: config[name] for name in ("rows", "columns", "inarow")}
        rules = Rules({**sizes, "actTimeout": config.get("actTimeout", DEFAULTS["actTimeout"])})
        geometry, act_timeout = rules.geometry, number(rules.config["actTimeout"], "actTimeout")
    with _reading("statuses"):
        statuses = (content["statuses"][0], content["statuses"][1])
        failed = [seat for seat in (0, 1) if statuses[seat] in FAMILIES]
    with _reading("steps"):
        steps = list(content["steps"])
        actions = [step[ply % 2]["action"] for ply, step in enumerate(steps[1:])]
        reserve, overage = _clocks(steps)
    with _reading("info"):
        info = content.get("info") or {}
        teams = info.get("TeamNames") or UNKNOWN_NAMES
        first, second = (text(teams[seat] or UNKNOWN_NAMES[seat], "a team's name") for seat in (0, 1))
        episode = info.get("EpisodeId", numbered)
    last_mover = 1 - len(actions) % 2
    forfeited = last_mover if last_mover in failed else next(iter(failed), None)
    failed_action = actions.pop() if failed and actions else None
    check_playable(actions, geometry)
    calls = _calls(path, 0, len(steps) - 1) | _calls(path, 1, len(steps) - 1)
    faults: tuple[Fault, ...] = ()
    if forfeited is not None:
        kind, call = FAMILIES[statuses[forfeited]], calls.get(len(actions), LogCall(0.0))
        faults = (Fault(forfeited, len(actions), kind, _fault_detail(kind, failed_action, call, geometry), True),)
    game = Game(
        geometry,
        tuple(actions),
        (first, second),
        faults=faults,
        act_timeout=act_timeout,
        reserve=reserve,
        overage=overage,
        measured=tuple(calls[ply].seconds if ply in calls else None for ply in range(max(calls, default=-1) + 1)),
        episode=None if episode is None else integer(episode, "EpisodeId"),
        source=str(path),
    )
    is_cut = game.ending == "unfinished" and statuses == ("DONE", "DONE")
    return replace(game, cut="step limit") if is_cut else game


def _unwrap_replay(content: Any) -> tuple[dict[str, Any], Any]:
    """A replay without what programs put around it, and the game's number if only the wrapper tells it.

    Kaggle's older EpisodeService answered {"result": {"replay": ...}}. ``env.steps`` alone is completed.
    """
    episode = None
    if isinstance(content, dict) and isinstance(content.get("result"), dict):
        episode, content = content["result"].get("episodeId"), content["result"].get("replay")
        content = from_json(content) if isinstance(content, str) else content
    if isinstance(content, list):
        with _reading("steps"):
            content = _complete_steps(content)
    return content if isinstance(content, dict) else {}, episode


def _complete_steps(steps: list[Any]) -> dict[str, Any]:
    """``env.steps`` as a replay. Raises ValueError unless its boards and its end are those of a game on Kaggle's."""
    columns, last = [step[ply % 2]["action"] for ply, step in enumerate(steps[1:])], steps[-1]
    statuses, rewards = [entry["status"] for entry in last], [entry["reward"] for entry in last]
    if any(status in FAMILIES for status in statuses):
        columns.pop()
    elif rewards[0] != rewards[1] and not Position.from_moves(columns, STANDARD).is_lost():
        raise ValueError(UNTOLD)
    if Position.from_moves(columns, STANDARD).to_board() != last[0]["observation"]["board"]:
        raise ValueError(UNTOLD)
    return {"name": "connectx", "configuration": sizes_of(STANDARD), "statuses": statuses, "steps": steps}


@contextmanager
def _reading(field: str) -> Iterator[None]:
    """Reads a field of a replay in the block. Raises ValueError where it is missing or has another form."""
    try:
        yield
    except (TypeError, AttributeError, LookupError, OverflowError) as problem:
        is_missing = isinstance(problem, KeyError) and isinstance(problem.args[0], str)
        words = f"its field {problem} is missing" if is_missing else f"{field!r} has an unexpected form"
        raise ValueError(words) from None


def _fault_detail(fault: str, action: Any, call: LogCall, geometry: Geometry) -> str:
    """What is known of a forfeit: the column that was returned, or the last line of the agent's logs; "" if nothing."""
    if fault == "illegal move" and isinstance(action, int):
        return f"column {action} is full" if 0 <= action < geometry.columns else f"there is no column {action}"
    lines = call.stderr.split("\n") if fault == "error" else []
    return next((printable(line.strip()) for line in reversed(lines) if line.strip()), "")


def _clocks(steps: Sequence[Any]) -> tuple[tuple[float, float] | None, tuple[float, ...]]:
    """Both seats' overage time at the start, and that of each mover after its move, by ply; None and () if unknown.

    Games of 2020 had none: each move had to be made in its time.
    """

    def overage_left(entry: Any, otherwise: Any = None) -> float:
        return number(entry.get("observation", {}).get("remainingOverageTime", otherwise), "remainingOverageTime")

    if not steps or any("remainingOverageTime" not in entry.get("observation", {}) for entry in steps[0][:2]):
        return None, ()
    overages = overage_left(steps[0][0]), overage_left(steps[0][1])
    times: list[float] = []
    for ply, step in enumerate(steps[1:]):
        times.append(overage_left(step[ply % 2], times[ply - 2] if ply >= 2 else overages[ply % 2]))
    return overages, tuple(times)


def logs_path(replay: Path, seat: int) -> Path:
    """Where the logs of a seat lie, whose replay was downloaded to a path."""
    return replay.with_name(f"{replay.name.removesuffix(REPLAY).removesuffix('.json')}-agent-{seat}{LOGS}")


def _calls(replay: Path, seat: int, plies: int) -> dict[int, LogCall]:
    """The calls of a seat by ply, as its logs tell them: a list of steps, each the entries of the agents asked in it.

    Logs are an extra: where they are missing, or have another form, nothing is known of the times.
    """
    with noting([], replay), logs_path(replay, seat).open("rb") as file:
        steps = from_json(file.read(MOST_BYTES + 1))
        entries = [entry for step in steps for entry in (step if isinstance(step, list) else [step]) if entry]
        calls = [LogCall(number(entry["duration"], "duration", 0.0), str(entry.get("stderr", ""))) for entry in entries]
        return dict(zip(range(seat, plies, 2), calls, strict=False))
    return {}
