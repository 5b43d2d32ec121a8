"""What ``perfect`` wins as second player once it has learned from its own games.

python -m benchmarks.learn_from_games play before learning       the games to learn from
python -m benchmarks.learn_from_games learn after                the second seat's book of one's own, and a built file
python -m benchmarks.learn_from_games play after learning        fresh games against the same opponents
python -m benchmarks.learn_from_games play before held-out       opponents that it never met: before
python -m benchmarks.learn_from_games play after held-out        and after
python -m benchmarks.learn_from_games report                     the table, with 95% intervals
python -m benchmarks.learn_from_games positions                  moves of "after" that give a result away

The opponents are those of ``benchmarks.ladder_pool``; all games begin with the empty board. Games are kept in --folder,
and an interrupted run goes on. Each stage has another seed. "again" is a second round, which learns from the games of
"before" and "after".
"""

import argparse
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

from benchmarks.ladder_pool import HELD_OUT, LEARNING, Player, agent_of
from benchmarks.machine import head, record
from connectx.books import SparseBook
from connectx.clock import UNSPENT
from connectx.position import STANDARD, Position, sign, stones_of
from connectx_toolkit.arena.match import play_all
from connectx_toolkit.arena.schedule import derived_seed
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Game
from connectx_toolkit.kaggle.agent_file import load_agent
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import AgentSpec, resolve
from connectx_toolkit.system.console import progress
from connectx_toolkit.training.makers.exact_scores import scores_kept_in

POOLS = {"learning": LEARNING, "held-out": HELD_OUT}
STAGES = {"before": 1, "after": 2, "again": 3}  # and the seed of the games
ME = "perfect"


def database(folder: Path, stage: str, pool: str) -> Path:
    return folder / f"{stage}-{pool}.sqlite"


def built(folder: Path, stage: str) -> Path:
    return folder / f"{stage}.py"


def numbered(game: Game, stage: str) -> Game:
    """A game of one database as another one takes it, beside those of other stages."""
    return replace(game, episode=10_000 * STAGES[stage] + (game.episode or 0))


def missing(games: GameDatabase, players: Iterable[Player], count: int) -> list[tuple[int, Player]]:
    """The numbers of the games that are not there yet, one opponent after the other in turn."""
    there = {game.episode for game in games.games()}
    wanted = [(number, player) for number, player in enumerate(list(players) * -(-count // len(list(players))))]
    return [(number, player) for number, player in wanted[:count] if number not in there]


def play(options: argparse.Namespace) -> None:
    """Plays the games of a stage that are missing: ``options.games`` in all."""
    if not built(options.folder, options.stage).exists():
        build(built(options.folder, options.stage))
    # loaded once, and forked for each game: to load the file anew takes 4 s, more than a game
    agent = resolve(load_agent(str(built(options.folder, options.stage).resolve())).agent)
    opponents = {player: resolve(agent_of(player)) for player in POOLS[options.pool]}
    setup = Setup(Rules({"actTimeout": options.seconds}, overage=UNSPENT), "fast")
    with GameDatabase(database(options.folder, options.stage, options.pool)) as games:
        wanted = dict(missing(games, POOLS[options.pool], options.games))
        seed = STAGES[options.stage]
        tasks = [task_of(number, (opponents[player], agent), seed) for number, player in wanted.items()]
        with progress(options.games, "game", done=options.games - len(tasks), delay=0) as bar:
            for task, game in play_all(tasks, setup, options.concurrency):
                names = (wanted[task.number].name, ME)
                games.add([replace(game, names=names, episode=task.number)], me=ME)
                bar.update()


def task_of(number: int, players: tuple[AgentSpec, AgentSpec], seed: int) -> Task:
    return Task(number, players, (), (derived_seed(seed, number, 0), derived_seed(seed, number, 1)))


def build(path: Path, *more: str) -> None:
    """The submission of ``perfect``, checked as before an upload."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "build_submission.py", "perfect", "-o", str(path), *more], check=True)


def learn(options: argparse.Namespace) -> None:
    """From all games against the learning pool before this stage, by the commands that a user types."""
    run = options.folder / f"book-{options.stage}"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    everything = run / "games.sqlite"
    with GameDatabase(everything) as games:
        for stage in list(STAGES)[: list(STAGES).index(options.stage)]:
            with GameDatabase(database(options.folder, stage, "learning"), create=False) as part:
                games.add([numbered(game, stage) for game in part.games()], me=ME)
    command = [sys.executable, "train.py", "book", "--second", "--games", str(everything), "--run", str(run)]
    subprocess.run(command, check=True)
    build(built(options.folder, options.stage), "--book", str(run / "book.bin"))


def points_of(path: Path) -> dict[str, list[float]]:
    """The points of each game as second, by opponent."""
    found = defaultdict(list)
    with GameDatabase(path, create=False) as games:
        for game in games.games(me=ME, seat=1):
            assert game.points is not None
            found[game.names[0]].append(game.points[1])
    return dict(found)


def interval(values: list[float]) -> str:
    """Mean with its 95% interval, in points of 100."""
    return f"{100 * mean(values):.1f} ± {196 * stdev(values) / sqrt(len(values)):.1f}"


def report(options: argparse.Namespace) -> None:
    """A table for each pool, and how much more than before learning was won."""
    needed = [database(options.folder, stage, pool) for pool in POOLS for stage in list(STAGES)[:2]]
    if absent := [path for path in needed if not path.exists()]:
        print(f"benchmarks.learn_from_games: {absent[0]} is missing: play these games first (--help)", file=sys.stderr)
        sys.exit(2)
    for pool in POOLS:
        paths = {stage: database(options.folder, stage, pool) for stage in STAGES}
        sides = {stage: points_of(path) for stage, path in paths.items() if path.exists()}
        print(f"{pool:<28}" + "".join(f"{stage:>16}" for stage in sides))
        for player in POOLS[pool]:
            print(f"{player.name:<28}" + "".join(f"{interval(side[player.name]):>16}" for side in sides.values()))
        everything = {stage: [one for values in side.values() for one in values] for stage, side in sides.items()}
        print(f"{'all':<28}" + "".join(f"{interval(values):>16}" for values in everything.values()))
        gains = {stage: gain(everything, sides, stage) for stage in list(sides)[1:]}
        rows = {player.name: [interval(side[player.name]) for side in sides.values()] for player in POOLS[pool]}
        facts = {"rows": rows | {"all": [interval(values) for values in everything.values()]}, "gains": gains}
        facts["games"] = {stage: len(values) for stage, values in everything.items()}
        facts["distinct_games"] = {stage: distinct(paths[stage]) for stage in sides}
        record(f"learn-from-games-{pool}", gains["after"], "points of 100 more as second, 95%", **facts)


def gain(everything: dict[str, list[float]], sides: dict[str, dict[str, list[float]]], stage: str) -> str:
    """How much more than before learning was won, with its 95% interval."""
    found = 100 * (mean(everything[stage]) - mean(everything["before"]))
    return f"{found:+.1f} ± {196 * sqrt(spread(sides['before']) + spread(sides[stage])):.1f}"


def distinct(path: Path) -> int:
    """How many of the games differ."""
    with GameDatabase(path, create=False) as games:
        return len({(game.names, game.moves) for game in games.games()})


def spread(side: dict[str, list[float]]) -> float:
    """The variance of the mean over all games, opponents being given."""
    count = sum(map(len, side.values()))
    return sum(sum((one - mean(values)) ** 2 for one in values) for values in side.values()) / count**2


def positions(options: argparse.Namespace) -> None:
    """Compares the results of all moves as second player after learning, and of the whole book, with exact ones."""
    played = dict[Position, set[int]]()
    for pool in POOLS:
        with GameDatabase(database(options.folder, "after", pool), create=False) as games:
            for game in games.games(me=ME, seat=1):
                for ply, position in game.positions().items():
                    if ply % 2:
                        played.setdefault(position, set()).add(game.moves[ply])
    book = SparseBook.from_bytes((options.folder / "book-after" / "book.bin").read_bytes())
    stones, masks = stones_of(book.keys, STANDARD)
    in_book = [Position(int(p), int(m), STANDARD) for p, m in zip(stones, masks, strict=True)]
    for position in in_book:
        played.setdefault(position, set()).update(book.columns(position))
    with scores_kept_in(options.folder / "scores.txt", options.concurrency, 22) as scores_of:
        scores = scores_of(list(played))
    wrong = [
        (position, column)
        for (position, columns), known in zip(played.items(), scores, strict=True)
        for column in columns
        if sign(known[column] or 0) != sign(max(score for score in known if score is not None))
    ]
    facts = {"positions": len(played), "of_the_book": len(in_book)}
    record("learn-from-games-positions", len(wrong), "moves that give a result away", **facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("play", "learn", "report", "positions"))
    parser.add_argument("stage", nargs="?", choices=list(STAGES), default="before")
    parser.add_argument("pool", nargs="?", choices=list(POOLS), default="learning")
    parser.add_argument("--games", type=int, default=300, help="of a stage against a pool (default 300)")
    parser.add_argument("--seconds", type=float, default=0.3, help="time per move (default 0.3)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time (default 1)")
    parser.add_argument("--folder", type=Path, default=Path("runs/learn-from-games"), help="where all files go")
    options = parser.parse_args()
    head(stage=options.stage, pool=options.pool, games=options.games, seconds=options.seconds)
    {"play": play, "learn": learn, "report": report, "positions": positions}[options.what](options)


if __name__ == "__main__":
    main()
