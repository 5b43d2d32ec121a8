"""Games of our own stores, in the record that Kaggle's replays give: one's own matches are reviewed as they are."""

from pathlib import Path

from connectx_toolkit.arena.replays.replay import Call, Replay
from connectx_toolkit.arena.results.records import GameRecord
from connectx_toolkit.arena.results.store import Store, group_records, groups
from connectx_toolkit.arena.results.words import fault_reason
from connectx_toolkit.foreign import NothingLeft
from connectx_toolkit.kaggle.rules import Fault, Game

HEADER = b"SQLite format 3\0"


def is_store(path: Path) -> bool:
    """Whether a file is an SQLite database, as stores are."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def stored_replays(path: Path, left_out: list[str], prefix: str = "") -> list[list[Replay]]:
    """The games of a store: a list for each group of comparable matches, the latest game last.

    Args:
        left_out: of matches and games that cannot be read, why is added here.
        prefix: put before the games' names, which are "3-12" for game 12 of match 3. Both are counted from 1.

    Raises:
        ValueError: the file is no store, or holds no games.
        NothingLeft: none of its games can be read.
    """
    with Store(path, create=False) as store:
        found = groups(store)
    if not found and store.left_out:
        raise NothingLeft(store.left_out)
    if not found:
        raise ValueError(f"{path} holds no games")
    left_out += store.left_out
    replays: list[list[Replay]] = []
    first = 1
    for group in found:
        games = [
            (f"{prefix}{number}-{index + 1}", match.bank, match.games[index])
            for number, match in enumerate(group.tournament.matches, first)
            for index in sorted(match.games)
        ]
        first += len(group.tournament.matches)
        act_timeout = group.config["actTimeout"]
        replays.append(
            [
                stored_replay(path, name, record, game, bank, act_timeout)
                for (name, bank, game), (record, _) in zip(games, group_records(group), strict=True)
            ]
        )
    return replays


def stored_replay(path: Path, name: str, record: GameRecord, game: Game, bank: float, act_timeout: float) -> Replay:
    """A game of a store with what its clocks showed.

    Args:
        bank: seconds of overage time at the start, of either seat.
        act_timeout: seconds that a move may take before it draws on the overage time.
    """
    calls = {ply: Call(seconds) for ply, seconds in enumerate(game.seconds, game.opening)}
    left, overage = [bank, bank], []
    for ply in range(game.opening + len(calls)):
        left[ply % 2] -= max(0.0, calls[ply].seconds - act_timeout) if ply in calls else 0.0
        overage.append(left[ply % 2])
    for ply in range(len(overage))[-2:]:
        overage[ply] = game.banks[ply % 2]  # as the referee counted it
    detail = _fault_detail(game, game.forfeit) if game.forfeit else ""
    times = (bank, bank), tuple(overage), calls
    return Replay(path, name, record, game.statuses, act_timeout, *times, detail, is_stored=True)


def _fault_detail(game: Game, fault: Fault) -> str:
    """The kind of a fault and what the referee noted; a timeout's kind is in the status already."""
    reason = fault_reason(game, fault)
    return reason if fault.kind in ("timeout", reason) else f"{fault.kind}, {reason}"
