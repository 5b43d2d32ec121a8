"""What the exact agent wins from fallible players where it does not win by force.

python -m benchmarks.second_seat [--starts empty] [--against AGENT] [--opponents NAME ...] [--games 100]

The same games are played twice against each player of ``connectx_toolkit.training.makers.opponent_pool``: by the exact
agent, and by --against, which is the exact agent without its choice among equal moves (slowest loss, most central
draw), or any other, such as a built file of another version. The starts:

- "empty": the empty board, the exact agent in the second seat. Its draws among equal choices make games differ, against
  players that always play alike, too.
- "lost": openings of 10 to 13 plies by careful random play that the second seat loses, but only late.
- "drawn": drawn openings of 4 to 7 plies, the exact agent in either seat.

Each side has --seconds per move, and overage time for the load only. Intervals are 95%; differences are those of paired
games. An interval over games tells what more games with these players would give; one over players, what other players
would. Kin of a player that the opponent model was developed against has its kind and network, and another strength.
Games are kept in --folder by the contents of both players, so that an interrupted run goes on from there.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from math import sqrt
from pathlib import Path
from statistics import mean, pstdev, stdev
from typing import NamedTuple

from benchmarks.machine import head, record
from benchmarks.perfect import without_choice
from benchmarks.positions import may_end_within, random_samples
from connectx.books import openings
from connectx.clock import UNSPENT
from connectx.position import STANDARD
from connectx.solver import Solver
from connectx_toolkit.arena.match import play_all
from connectx_toolkit.arena.schedule import derived_seed
from connectx_toolkit.builder.build import render
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.games.recipes import careful_choice
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.fingerprint import fingerprint
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import AgentSpec, resolve
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import AGENTS, write_whole
from connectx_toolkit.training.makers import opponent_pool

HALVES = {"held-out": opponent_pool.HELD_OUT, "development": opponent_pool.DEVELOPMENT}
LOST_PLIES, DRAWN_PLIES = range(10, 14), range(4, 8)  # of the openings
KIN = {
    player.name
    for player in opponent_pool.HELD_OUT
    if player[::2] in {known[::2] for known in opponent_pool.DEVELOPMENT}  # kind and network
}
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201)  # Student's, of 2 to 12 players
LONGEST = 34  # openings from which perfect play ends at this ply or earlier are left out


class Start(NamedTuple):
    """The first moves of a game, and the seat of the exact agent."""

    moves: tuple[int, ...] = ()
    seat: int = 1


def lost_openings(seed: int) -> Iterator[Start]:
    """By careful random play; perfect play ends with a late loss of the second seat."""
    solver = Solver(STANDARD)
    samples = random_samples(seed, LOST_PLIES, choose=careful_choice)
    long = (sample for sample in samples if not may_end_within(solver, sample.position, LONGEST - sample.ply))
    for sample in (s for s in long if solver.solve(s.position, weak=True).result == (-1) ** s.ply):
        yield Start(sample.moves)


def drawn_openings(seed: int) -> Iterator[Start]:
    samples = random_samples(seed, DRAWN_PLIES, choose=careful_choice)
    for number, sample in enumerate(s for s in samples if openings().score(s.position) == 0):
        yield Start(sample.moves, number % 2)


def starts_for(options: argparse.Namespace) -> list[Start]:
    if options.starts == "empty":
        return [Start()] * options.games
    made = {"lost": lost_openings, "drawn": drawn_openings}[options.starts](options.seed)
    return list(islice(made, options.games))


def points(
    agent: AgentSpec, opponent: AgentSpec, starts: list[Start], options: argparse.Namespace
) -> tuple[list[float], int]:
    """The agent's points in each game, and the number of faults of both sides: if there are any, ignore the points."""
    tasks = []
    for number, start in enumerate(starts):
        players = (agent, opponent) if start.seat == 0 else (opponent, agent)
        seeds = derived_seed(options.seed, number, 0), derived_seed(options.seed, number, 1)
        tasks.append(Task(number, players, start.moves, seeds))
    setup = Setup(Rules({"actTimeout": options.seconds}, overage=UNSPENT), "fast")
    scores, faults = [0.0] * len(tasks), 0
    with progress(len(tasks), "game", opponent.label) as bar:
        for task, game in play_all(tasks, setup, options.concurrency):
            assert game.points is not None
            scores[task.number] = game.points[starts[task.number].seat]
            faults += len(game.faults)
            bar.update()
    return scores, faults


def contents_of(spec: AgentSpec) -> list[str]:
    """What tells a player apart from all that play otherwise: what ``fingerprint`` finds.

    A function here is a player of the pool, of which it finds only what all of them share.
    """
    pool = AgentSpec("file", opponent_pool.__file__, "pool")
    behind = [spec.label, fingerprint(pool)] if spec.kind == "callable" else []
    return [fingerprint(spec), *behind]


def played(agent: AgentSpec, opponent: AgentSpec, options: argparse.Namespace) -> tuple[list[float], int]:
    """``points``, from the folder if they are there."""
    setting = [options.starts, options.games, options.seconds, options.seed]
    key = json.dumps([contents_of(agent), contents_of(opponent), setting]).encode()
    path = options.folder / f"{hashlib.sha256(key).hexdigest()[:24]}.json"
    if not path.exists():
        write_whole(path, json.dumps(points(agent, opponent, starts_for(options), options)).encode())
    scores, faults = json.loads(path.read_text(encoding="utf-8"))
    return scores, faults


def interval(values: list[float]) -> str:
    """Mean with its 95% interval, in percent."""
    return f"{mean(values):7.1%} +-{1.96 * pstdev(values) / sqrt(len(values)):5.1%}"


class Gain(NamedTuple):
    """What is gained from players, if they, not their games, are what was drawn at random."""

    players: int
    mean: float
    half: float  # of the 95% interval

    def __str__(self) -> str:
        return f"{self.mean:7.1%} +-{self.half:5.1%}"


def over_players(gains: dict[str, float]) -> dict[str, Gain]:
    """Of all players, without both ``leaf``, and without kin; parts of fewer than two are left out."""
    names = {
        "all": list(gains),
        "without leaf": [name for name in gains if not name.startswith("leaf")],
        "without kin": [name for name in gains if name not in KIN],
    }
    found = {}
    for part, chosen in names.items():
        if (count := len(chosen)) > 1:
            values = [gains[name] for name in chosen]
            t = T95[min(count, len(T95) + 1) - 2]
            found[part] = Gain(count, mean(values), t * stdev(values) / sqrt(count))
    return found


def compare(options: argparse.Namespace, sides: tuple[AgentSpec, AgentSpec]) -> None:
    """Plays both sides against each player and prints its row, then that of all."""
    players: dict[str, Callable] = {player.name: opponent_pool.agent_of(player) for player in HALVES[options.half]}
    other = Path(sides[1].label).stem
    print(f"{'opponent':<22}{'games':>6}{'points with':>18}{other[:14]:>18}{'difference':>18}{'faults':>8}")
    gains: dict[str, list[float]] = {}
    rows: dict[str, list[str]] = {}
    for name in options.opponents or list(players):
        opponent = resolve(players.get(name, name))
        (on, faults), (off, more) = (played(side, opponent, options) for side in sides)
        gain = [a - b for a, b in zip(on, off, strict=True)]
        label = name if name in players else Path(name).stem
        gains[label] = gain
        rows[label] = [interval(values).strip() for values in (on, off, gain)]
        cells = "".join(f"{cell:>18}" for cell in rows[label])
        print(f"{label:<22}{len(gain):>6}{cells}{faults + more:>8}", flush=True)
    each = [gain for values in gains.values() for gain in values]
    print(f"{'all':<22}{len(each):>6}{'':36}{interval(each):>18}")
    over = over_players({name: mean(values) for name, values in gains.items()})
    for part, found in over.items():
        print(f"{f'{part}, over players':<28}{found.players:>6}{'':30}{found!s:>18}")
    record(
        f"second-seat-{options.starts}",
        round(mean(each), 3),
        f"points more a game than {other}",
        interval=interval(each).strip(),
        over_players={part: str(found).strip() for part, found in over.items()},
        games=len(each),
        players=rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", choices=("empty", "lost", "drawn"), default="empty")
    parser.add_argument("--against", metavar="AGENT", help="what the choice is compared with")
    parser.add_argument("--half", choices=HALVES, default="held-out", help="of the players")
    parser.add_argument("--opponents", nargs="+", metavar="NAME", help="players of this half, or any agents")
    parser.add_argument("--games", type=int, default=100, help="each is played twice against each player")
    parser.add_argument("--seconds", type=float, default=0.3, help="time per move")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("runs/second-seat"), help="where games are kept")
    options = parser.parse_args()
    head(seed=options.seed, starts=options.starts, seconds=options.seconds)
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "perfect.py")
        built.write_text(render(inline(AGENTS / "perfect.py"), None)[0], encoding="utf-8")
        with without_choice(built) as plain:
            compare(options, (resolve(str(built)), resolve(options.against or str(plain))))


if __name__ == "__main__":
    main()
