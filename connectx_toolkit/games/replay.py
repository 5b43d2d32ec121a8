"""Reads Kaggle's replays.

A replay is what Kaggle offers for download, or what ``env.toJSON()`` gives: step p + 1 holds, in entry p % 2, the
action of ply p and the overage time that is left after it. Beside a replay may lie its agents' logs, as Kaggle's own
command line names them: ``episode-7-replay.json`` and ``episode-7-agent-0-logs.json``; they tell the time of each move
and what a crash said, where the replay alone tells only what was taken of the overage time.

A file holds one replay or several: it is plain, compressed, or an archive, such as all replays of a day. What it is,
its first bytes tell, not its name.
"""

import bz2
import glob
import gzip
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from connectx.position import STANDARD, Geometry, Position
from connectx_toolkit.games.database import is_database
from connectx_toolkit.games.game import UNKNOWN_NAMES, Game, check_playable
from connectx_toolkit.games.review import team_of
from connectx_toolkit.games.tournament import grouped_games
from connectx_toolkit.kaggle.rules import DEFAULTS, FAMILIES, Fault, Rules, sizes_of
from connectx_toolkit.system.foreign import MOST_BYTES, NothingLeft, from_json, integer, noting, number, shown, text

SUFFIXES = (".json", ".json.gz", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")  # looked for in folders
LOGS = "-logs.json"
GZIP = b"\x1f\x8b"
COMPRESSED: dict[bytes, Callable[..., Any]] = {GZIP: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
ZIP, TAR, TAR_AT = b"PK\x03\x04", b"ustar", 257


def is_wanted(name: str) -> bool:
    """Whether a file of this name, in a folder or an archive, may hold replays."""
    last = name.rpartition("/")[2].lower()
    return last.endswith(SUFFIXES) and not last.endswith((LOGS, f"{LOGS}.gz")) and not last.startswith(".")


def read_limited(file: IO[bytes]) -> bytes:
    """What is left of a file, or so much of it that the door (``from_json``) refuses it."""
    return file.read(MOST_BYTES + 1)


def documents(path: Path, left_out: list[str]) -> Iterator[tuple[Path, bytes]]:
    """The documents of a file, each with its path; in an archive, the name in it comes after the archive's path.

    Args:
        left_out: why entries of an archive could not be read is added here.

    Raises:
        OSError, ValueError and what the archives' modules raise: the file itself cannot be read, or not to its end.
    """
    with path.open("rb") as opened:
        raw = opened if opened.seekable() else BytesIO(read_limited(opened))  # a pipe
        unpack = next((one for magic, one in COMPRESSED.items() if _head(raw, len(magic)) == magic), None)
        with unpack(raw) if unpack else raw as file:
            if _head(file, len(ZIP)) == ZIP:
                entries = _zipped(file)
            elif _head(file, TAR_AT + len(TAR))[TAR_AT:] == TAR:
                entries = _tarred(file)
            else:
                yield path, read_limited(file)
                return
            for name, open_entry in entries:
                place = path / name.lstrip("/")
                with noting(left_out, place), open_entry() as entry:
                    yield place, read_limited(COMPRESSED[GZIP](entry) if name.lower().endswith(".gz") else entry)


def _head(file: IO[bytes], count: int) -> bytes:
    """The first bytes of a file, which is then at its start again."""
    content = file.read(count)
    file.seek(0)
    return content


def _zipped(file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The replays of an archive: their names, and what opens them."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if is_wanted(info.filename):
                yield info.filename, lambda info=info: archive.open(info)  # type: ignore[misc]


def _tarred(file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """As ``_zipped``."""
    with tarfile.open(fileobj=_Bounded(file)) as archive:  # type: ignore[call-overload]
        for member in archive:
            if member.isreg() and is_wanted(member.name):
                yield member.name, lambda member=member: archive.extractfile(member)  # type: ignore[misc]


class _Bounded:
    """A file that refuses to read more at once than a document may have: a tar's headers tell how long they are."""

    def __init__(self, file: IO[bytes]):
        self.seek, self.tell, self._file = file.seek, file.tell, file

    def read(self, count: int = -1) -> bytes:
        if not 0 <= count <= MOST_BYTES + 1:
            raise ValueError("damaged: it tells of an entry without end")
        return self._file.read(count)


REPLAY = "-replay.json"
UNTOLD = "it has only env.steps, which do not tell its board: save env.toJSON()"


class Call(NamedTuple):
    """One call of an agent, as its logs tell it."""

    seconds: float  # with the load, which is part of an agent's first call
    stderr: str = ""


def replays_of(path: Path, left_out: list[str]) -> Iterator[Game]:
    """The replays of a file or an archive, with those of their agents' logs that lie beside the file.

    Args:
        left_out: of what is no replay of ConnectX, or cannot be read, why is added here.
    """
    with noting(left_out, path):
        if not path.exists():
            raise ValueError(f"no such file: {path}")
        for place, content in documents(path, left_out):
            with noting(left_out, place):
                yield parse_replay(content, place)


def read_replay(path: Path) -> Game:
    """The one replay of a file. Raises ValueError if it holds none, or more."""
    problems: list[str] = []
    found = [*islice(replays_of(path, problems), 2)]
    if len(found) != 1:
        raise ValueError(problems[0] if problems else f"{path} holds {'several replays' if found else 'no replay'}")
    return found[0]


def parse_replay(content: str | bytes, path: Path) -> Game:
    """A replay from its text; ``path`` is where it lies, or only its name. Raises ValueError if it is none."""
    try:
        return replay_of(from_json(content), path)
    except ValueError as problem:
        raise ValueError(f"{path} is not a ConnectX replay: {problem}") from None


def replay_of(content: Any, path: Path) -> Game:
    """A replay from its JSON. Raises ValueError if it is none; it names the field that is missing or cannot be read."""
    content, numbered = _unwrapped(content)
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
        kind, call = FAMILIES[statuses[forfeited]], calls.get(len(actions), Call(0.0))
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
        ratings=_ratings(info),
        episode=None if episode is None else integer(episode, "EpisodeId"),
        source=str(path),
    )
    is_cut = game.ending == "unfinished" and statuses == ("DONE", "DONE")
    return replace(game, cut="step limit") if is_cut else game


def _unwrapped(content: Any) -> tuple[dict[str, Any], Any]:
    """A replay without what programs put around it, and the game's number if only the wrapper tells it.

    Kaggle's older EpisodeService answered {"result": {"replay": ...}}. ``env.steps`` alone is completed.
    """
    episode = None
    if isinstance(content, dict) and isinstance(content.get("result"), dict):
        episode, content = content["result"].get("episodeId"), content["result"].get("replay")
        content = from_json(content) if isinstance(content, str) else content
    if isinstance(content, list):
        with _reading("steps"):
            content = _completed(content)
    return content if isinstance(content, dict) else {}, episode


def _completed(steps: list[Any]) -> dict[str, Any]:
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


def _ratings(info: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The players' ratings before the game, where the replay tells them (as InitialScore, Meta Kaggle's word)."""

    def rating(seat: int) -> float | None:
        try:
            return number(info["Agents"][seat]["InitialScore"], "InitialScore")
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


def _fault_detail(fault: str, action: Any, call: Call, geometry: Geometry) -> str:
    """What is known of a forfeit: the column that was returned, or the last line of the agent's logs; "" if nothing."""
    if fault == "illegal move" and isinstance(action, int):
        return f"column {action} is full" if 0 <= action < geometry.columns else f"there is no column {action}"
    lines = call.stderr.split("\n") if fault == "error" else []
    return next((shown(line.strip()) for line in reversed(lines) if line.strip()), "")


def _clocks(steps: Sequence[Any]) -> tuple[tuple[float, float] | None, tuple[float, ...]]:
    """Both seats' overage time at the start, and that of each mover after its move, by ply; None and () if unknown.

    Games of 2020 had none: each move had to be made in its time.
    """

    def left(entry: Any, otherwise: Any = None) -> float:
        return number(entry.get("observation", {}).get("remainingOverageTime", otherwise), "remainingOverageTime")

    if not steps or any("remainingOverageTime" not in entry.get("observation", {}) for entry in steps[0][:2]):
        return None, ()
    overages = left(steps[0][0]), left(steps[0][1])
    found: list[float] = []
    for ply, step in enumerate(steps[1:]):
        found.append(left(step[ply % 2], found[ply - 2] if ply >= 2 else overages[ply % 2]))
    return overages, tuple(found)


def logs_path(replay: Path, seat: int) -> Path:
    """Where the logs of a seat lie, whose replay was downloaded to a path."""
    return replay.with_name(f"{replay.name.removesuffix(REPLAY).removesuffix('.json')}-agent-{seat}{LOGS}")


def _calls(replay: Path, seat: int, plies: int) -> dict[int, Call]:
    """The calls of a seat by ply, as its logs tell them: a list of steps, each the entries of the agents asked in it.

    Logs are an extra: where they are missing, or have another form, nothing is known of the times.
    """
    with noting([], replay), logs_path(replay, seat).open("rb") as file:
        steps = from_json(read_limited(file))
        entries = [entry for step in steps for entry in (step if isinstance(step, list) else [step]) if entry]
        calls = [Call(number(entry["duration"], "duration", 0.0), str(entry.get("stderr", ""))) for entry in entries]
        return dict(zip(range(seat, plies, 2), calls, strict=False))
    return {}


def replay_paths(what: Iterable[str]) -> list[Path]:
    """The files that are meant by files, folders (with all that is in them) and patterns, in order, each once.

    Raises:
        ValueError: one of them stands for no file.
    """
    found: list[Path] = []
    for named in what:
        if not named.strip():
            raise ValueError("an empty argument: expected a game, a file, a folder or a pattern")
        path = Path(named)
        if path.is_dir():
            replays = [one for one in sorted(path.rglob("*")) if is_wanted(one.name) and one.is_file()]
        else:
            matching = [path] if path.exists() else [Path(name) for name in sorted(glob.glob(named, recursive=True))]
            replays = [one for one in matching if not one.name.endswith(LOGS) and not one.name.startswith(".")]
        is_logs = path.is_file() and named.endswith(LOGS)  # a shell's pattern names them, too
        if not replays and not is_logs:
            raise ValueError(f"no replays (.json) in {path}" if path.is_dir() else f"no such file: {named}")
        found += replays
    if not found:
        raise ValueError("no replays, only agents' logs")
    return list(dict.fromkeys(found))


def read_replays(paths: Sequence[Path]) -> tuple[list[Game], list[str]]:
    """The replays in some files and archives, and, of what is none, why.

    Raises:
        NothingLeft: none of them is a replay.
    """
    left_out: list[str] = []
    replays = [replay for path in paths for replay in replays_of(path, left_out)]
    if not replays:
        raise NothingLeft(left_out)
    return replays, left_out


def without_copies(replays: Iterable[Game]) -> tuple[list[Game], list[str]]:
    """Each game once, and of what they are copies, those that are left out."""
    kept, copies = dict[str, Game](), list[str]()
    for replay in replays:
        first = kept.setdefault(replay.identity, replay)
        if first is not replay:
            copies.append(f"{replay.source} is the same game as {first.source}")
    return [*kept.values()], copies


def own_games(what: Sequence[str], me: str | None, latest: int | None = None) -> tuple[list[Game], str, list[str]]:
    """All games of replays, and one's own of files of games, of each group the ``latest`` if that is given.

    Args:
        what: replays, folders, archives, patterns and files of games.
        me: as ``team_of`` takes it.

    Returns:
        The games, whose they are, and why files were left out.
    """
    paths = replay_paths(what)
    databases = [path for path in paths if is_database(path)]
    left_out, groups = list[str](), list[list[Game]]()
    replays = [replay for path in paths if path not in databases for replay in replays_of(path, left_out)]
    for path in databases:
        with noting(left_out, path):
            groups += grouped_games(path, left_out, f"{path.stem} " if len(databases) > 1 else "")
    if not replays and not groups:
        raise NothingLeft(left_out)
    me = team_of([*replays, *chain.from_iterable(groups)], me)
    for group in groups:
        own = [replay for replay in group if me in replay.names]
        replays += own[-latest:] if latest else own
    return replays, me, left_out
