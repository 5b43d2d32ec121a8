"""Replays to try the review of replays on: games in Kaggle's own environment, of which it is known how they went.

One team meets others in both seats. Agents think by a clock of the script's own, in the place of Kaggle's, so
that a game at 2 s and 60 s takes no longer than its moves, and that every second in the replays is known beforehand.
"""

import json
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from kaggle_environments import agent as kaggle_agent
from kaggle_environments import make

from connectx_toolkit.games.replay import logs_path
from connectx_toolkit.players.spec import resolve
from tests.misbehaving import Clock

TEAM = "my_team"
FIRST_EPISODE = 70_000_001
ACT_TIMEOUT = 2.0  # Kaggle's
SEATS = ("first", "second")
SLOW_EVERY = 4  # one game in so many has slow moves, and one in so many has logs beside it


class Fault(NamedTuple):
    """A fault to be made: what, by whom, and on which of its plies at the earliest."""

    kind: str  # "timeout", "illegal move" or "error"
    is_own: bool
    ply: int


FAULTS = (
    Fault("timeout", True, 4), Fault("timeout", True, 0), Fault("timeout", False, 5),
    Fault("illegal move", True, 3), Fault("illegal move", False, 3), Fault("error", True, 2),
)  # fmt: skip


class Made(NamedTuple):
    """What is known of a game by how it was made."""

    path: Path
    opponent: str
    seat: int  # of the team
    result: str  # of the team: "won", "drawn" or "lost"
    status: str  # "played", or the kind of the fault
    failed: int | None  # the seat that made it
    ply: int  # of the fault, or else the number of moves
    moves: list[int]
    overage: float  # seconds of it that the team used
    slowest: tuple[int, float]  # ply and seconds of the team's slowest move


class Player:
    """An agent that thinks by the script's clock, and fails if it is to.

    Args:
        slow: the numbers of its moves that draw on the overage time.
    """

    def __init__(self, agent: Callable, clock: Clock, rng: random.Random, slow: Collection[int], fault: Fault | None):
        self.agent, self.clock, self.rng, self.slow, self.fault = agent, clock, rng, slow, fault
        self.calls: dict[int, float] = {}  # seconds by ply
        self.failed: int | None = None  # ply

    def move(self, obs: Any, config: Any) -> Any:
        fault = self.fault if self.fault is not None and obs.step >= self.fault.ply else None
        least, most = (2.5, 9.0) if obs.step // 2 in self.slow else (0.01, 1.9)
        seconds = round(self.rng.uniform(least, most), 3)
        seconds = 70.0 if fault and fault.kind == "timeout" else seconds
        self.calls[obs.step] = seconds
        self.clock.now += seconds
        if fault is None:
            return self.agent(obs, config)
        self.failed = obs.step
        if fault.kind == "error":
            raise ValueError("no idea")
        full = [column for column in range(config.columns) if obs.board[column]]
        return full[0] if full else config.columns + 2


def play(players: Sequence[Player], clock: Clock, names: Sequence[str], episode: int) -> Any:
    """Kaggle's own environment after a game, named as Kaggle itself does."""
    env = make("connectx", info={"TeamNames": list(names), "EpisodeId": episode})
    with mock.patch.object(kaggle_agent, "perf_counter", clock):
        env.run([player.move for player in players])
    return env


def make_game(
    folder: Path, number: int, agents: tuple[Callable, Callable], opponent: str, seat: int, fault: Fault | None
) -> Made:
    """Plays a game of the team in a seat, writes its replay, of some games the logs too, and tells how it went.

    Args:
        agents: the team's, and the opponent's.
    """
    rng, clock, episode = random.Random(number), Clock(), FIRST_EPISODE + number
    random.seed(number)
    np.random.seed(number)
    slow = rng.sample(range(6), 3) if number % SLOW_EVERY == 0 and fault is None else []
    own = Player(agents[0], clock, rng, slow, fault if fault and fault.is_own else None)
    other = Player(agents[1], clock, rng, slow[:1], fault if fault and not fault.is_own else None)
    players, names = ((own, other), (TEAM, opponent)) if seat == 0 else ((other, own), (opponent, TEAM))
    env = play(players, clock, names, episode)
    path = folder / f"episode-{episode}-replay.json"
    path.write_text(json.dumps(env.toJSON(), default=str))
    if number % SLOW_EVERY == 1:
        logs = [[step[seat]] if len(step) > seat and step[seat] else [] for step in env.logs]
        logs_path(path, seat).write_text(json.dumps(logs))
    return _made(path, opponent, seat, env, own, other)


def _made(path: Path, opponent: str, seat: int, env: Any, own: Player, other: Player) -> Made:
    failing = next((player for player in (own, other) if player.failed is not None), None)
    rewards = [env.state[seat].reward, env.state[1 - seat].reward]
    points = (rewards[0] or 0) - (rewards[1] or 0)
    if failing is not None:
        points = -1 if failing is own else 1
    moves = [step[ply % 2].action for ply, step in enumerate(env.steps[1:])]
    ply = len(moves) if failing is None or failing.failed is None else failing.failed
    return Made(
        path,
        opponent,
        seat,
        {1: "won", 0: "drawn", -1: "lost"}[(points > 0) - (points < 0)],
        failing.fault.kind if failing and failing.fault else "played",
        None if failing is None else seat if failing is own else 1 - seat,
        ply,
        moves[:ply],
        sum(max(0.0, seconds - ACT_TIMEOUT) for seconds in own.calls.values()),
        max(own.calls.items(), key=lambda call: call[1]),
    )


def make_games(folder: Path, count: int, names: Sequence[str], own: str, fault_every: int) -> Iterator[Made]:
    """``count`` games in turn against the opponents named, in both seats.

    Every ``fault_every``-th game has the next one of ``FAULTS`` in it, until all have been made.
    """
    agents = lru_cache(maxsize=None)(lambda name: resolve(name).load())
    faults = list(FAULTS)
    for number in range(count):
        fault = faults.pop(0) if faults and number % fault_every == fault_every - 1 else None
        opponent = names[number // 2 % len(names)]
        yield make_game(folder, number, (agents(own), agents(opponent)), opponent, number % 2, fault)


def differences(made: Made, row: Mapping[str, Any]) -> list[str]:
    """What a row says otherwise than the game was made."""
    ending = f"{made.status} of {TEAM if made.failed == made.seat else made.opponent} on ply {made.ply}"
    expected = {
        "opponent": made.opponent,
        "seat": SEATS[made.seat],
        "result": made.result,
        "status": made.status,
        "plies": made.ply,
        "moves": made.moves,
    }
    found = [f"{name}: {row[name]!r}, not {value!r}" for name, value in expected.items() if row[name] != value]
    if abs(row["overage"] - made.overage) > 0.002:  # Kaggle rounds durations to microseconds
        found.append(f"overage: {row['overage']}, not {made.overage}")
    if made.failed is not None and not row["ending"].startswith(ending):
        found.append(f"ending: {row['ending']!r}, not {ending!r}")
    slowest = row["slowest"]
    if slowest and (slowest["ply"] != made.slowest[0] or abs(slowest["seconds"] - made.slowest[1]) > 0.002):
        found.append(f"slowest: {slowest}, not {made.slowest}")
    if not slowest and made.overage:
        found.append("slowest: not known, though it drew on the overage time")
    return found


def wrong_rows(games: Sequence[Made], rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """By game, what its row has wrong; a game without a row is wrong, too."""
    by_name, wrong = {row["game"]: row for row in rows}, {}
    for made in games:
        name = made.path.name.removeprefix("episode-").removesuffix("-replay.json")
        if found := differences(made, by_name[name]) if name in by_name else ["it has no row"]:
            wrong[name] = found
    return wrong
