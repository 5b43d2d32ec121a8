"""The built exact agent: in games against bitbully with its database and against fallible players, and by positions.

python -m benchmarks.perfect games FILE [--count 100] [--seed 1]
python -m benchmarks.perfect fallible FILE [--count 20]
python -m benchmarks.perfect positions FILE [--count 2000]

FILE is a built submission of the agent perfect; truth is bitbully's, with its database.

games: in Kaggle's own environment, loaded again for each game: --count games as first player, as many as second player
("choosing"), and again as many with its choice among equal moves switched off, so that it plays the slowest loss
("slowest"). Perfect play ends at ply 41, and with the choice not before ply 37.

fallible: as second player, --count games against each first player that the opponent model has not learnt from
(``HELD_OUT_PLAYERS`` of connectx_toolkit.training.makers.opponent_pool), at 0.3 s a move; and the same games with its
choice switched off. Intervals are 95%: over games, what more games with these players would give; over players, what
others would.

positions: 7x6 with 0 to 40 stones, every other one from uniform random play, the rest from near-perfect play (three of
four moves best, one random). Each is asked as in a game of its own: 2 s and 60 s of overage time. The file is loaded
once. Lost positions are asked a second time of the file without the choice, which should lose as slowly as possible.
"""

import argparse
import contextlib
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.machine import head, record
from benchmarks.oracle import bitbully_scores
from connectx_core.clock import UNSPENT
from connectx_core.position import NO_MOVE, STANDARD, Position, sign
from connectx_core.solver import Solver
from connectx_toolkit.arena.exam import Answer, answers_in, chunks_of
from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.arena.schedule import derived_seed
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.grades import NO_ANSWER, Sheet
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.games.recipes import erring_choice, play_out, uniform_choice
from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE, Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import AgentSpec, resolve
from connectx_toolkit.system.console import progress
from connectx_toolkit.training.makers.opponent_pool import HELD_OUT_PLAYERS, PoolPlayer, column_of

OPPONENT = str(Path(__file__).with_name("bitbully_perfect.py"))
SWITCH = "SWINDLE = True"
ACT_TIMEOUT = float(DEFAULTS["actTimeout"])  # seconds a move
ERROR_SHARE = 0.25  # of the moves of near-perfect play
FALLIBLE_SECONDS = 0.3  # a move
HEADS = ("games", "won", "drawn", "faults", "theirs", "shortest", "distinct", "errors", "first", "later", "overage")


@contextlib.contextmanager
def without_choice(file: Path) -> Iterator[Path]:
    """A copy of the submission with its choice among equal moves switched off."""
    text = file.read_text(encoding="utf-8")
    if text.count(SWITCH) != 1:
        raise SystemExit(f"benchmarks.perfect: {file} should be a built 'perfect', with one line {SWITCH!r}")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain.py")
        plain.write_text(text.replace(SWITCH, "SWINDLE = False"), encoding="utf-8")
        yield plain


def clock_of(game: Game, seat: int) -> tuple[float, float, float]:
    """Seconds: first move, slowest later move, overage time used."""
    mine = [*game.calls(seat).values()]
    return mine[0], max(mine[1:], default=0.0), min(OVERAGE, sum(max(0.0, s - ACT_TIMEOUT) for s in mine))


def best_of(scores: list[int | None]) -> int:
    return max(score for score in scores if score is not None)


def results_lost(game: Game, seat: int) -> int:
    """The number of moves of a seat that made the result worse, by bitbully's scores."""
    lost, position = 0, Position.empty(STANDARD)
    for column in game.moves:
        if position.ply % 2 == seat:
            scores = bitbully_scores(position)
            lost += sign(scores[column] or 0) < sign(best_of(scores))
        position = position.play(column)
    return lost


def play_seat(name: str, file: Path, seat: int, options: argparse.Namespace) -> dict[str, float]:
    """Plays the games of one seat and prints its row, times being the worst of all games."""
    players = (resolve(str(file)), resolve(OPPONENT)) if seat == 0 else (resolve(OPPONENT), resolve(str(file)))
    tasks = [
        Task(number, players, (), (derived_seed(options.seed, number, 0), derived_seed(options.seed, number, 1)))
        for number in range(options.count)
    ]
    games = []
    with open_pool(Setup(Rules(), "kaggle")) as pool, progress(len(tasks), "game", name) as bar:
        for _, game in pool.play(tasks):
            games.append(game)
            bar.update()
    first, later, used = (max(figures) for figures in zip(*(clock_of(game, seat) for game in games), strict=True))
    points = [game.points[seat] for game in games if game.points]
    counts = (
        len(games),
        points.count(1),
        points.count(0.5),
        sum(fault.seat == seat for game in games for fault in game.faults),
        sum(fault.seat != seat for game in games for fault in game.faults),
        min(len(game.moves) for game in games),
        len({game.moves for game in games}),
        sum(results_lost(game, seat) for game in games),
    )
    row = dict(zip(HEADS, (*counts, *(round(seconds, 2) for seconds in (first, later, used))), strict=True))
    print(f"{name:<10}" + "".join(f"{number:>10}" for number in row.values()), flush=True)
    return row


def play_games(options: argparse.Namespace, plain: Path) -> None:
    print(f"{'seat':<10}" + "".join(f"{name:>10}" for name in HEADS))
    seats = (("first", options.file, 0), ("choosing", options.file, 1), ("slowest", plain, 1))
    rows = {name: play_seat(name, file, seat, options) for name, file, seat in seats}
    unit = f"of {options.count} games won as first player against bitbully with its database"
    record("perfect-games", rows["first"]["won"], unit, seats=rows)


def agent_of(player: PoolPlayer) -> Callable:
    """The player as an agent, which draws anew in each game."""

    @cache
    def column() -> Callable[[Position], int]:
        return column_of(player, random.Random(random.getrandbits(64)))  # seeded for each game

    def agent(obs, config):
        return column()(Position.from_observation(obs, config))

    return agent


def points_against(player: AgentSpec, file: Path, options: argparse.Namespace) -> np.ndarray:
    """The points of the file as second player in each of its games with the player, (count,)."""
    tasks = [
        Task(number, (player, resolve(file)), (), (derived_seed(options.seed, number, 0), number))
        for number in range(options.count)
    ]
    setup, points = Setup(Rules({"actTimeout": FALLIBLE_SECONDS}, overage=UNSPENT), "fast"), np.zeros(len(tasks))
    with open_pool(setup, options.concurrency) as pool:
        for task, game in pool.play(tasks):
            if game.faults or not game.points:
                raise SystemExit(f"benchmarks.perfect: a game with {player.label} failed: {game.faults}")
            points[task.number] = game.points[1]
    return points


def mean_and_half(values: np.ndarray) -> str:
    """In points of 100, with half of the 95% interval by Student's distribution."""
    half = stats.sem(values) * stats.t.ppf(0.975, len(values) - 1)
    return f"{100 * values.mean():.1f} +- {100 * half:.1f}"


def play_fallible(options: argparse.Namespace, plain: Path) -> None:
    gains, rows = dict[PoolPlayer, np.ndarray](), {}
    print(f"{'first player':<20}{'choosing':>16}{'slowest':>16}{'gain':>16}")
    for player in HELD_OUT_PLAYERS:
        agent = resolve(agent_of(player))
        choosing, slowest = (points_against(agent, file, options) for file in (options.file, plain))
        gains[player] = choosing - slowest
        rows[player.name] = [mean_and_half(points) for points in (choosing, slowest, gains[player])]
        print(f"{player.name:<20}" + "".join(f"{text:>16}" for text in rows[player.name]), flush=True)
    means = {player: gain.mean() for player, gain in gains.items()}
    parts = {"all": means, "without leaf": {player: gain for player, gain in means.items() if player.kind != "leaf"}}
    over = {name: mean_and_half(np.array([*part.values()])) for name, part in parts.items()}
    over_games = mean_and_half(np.concatenate([*gains.values()]))
    print(f"over games: {over_games}; over players: {over}")
    record("perfect-fallible", over_games, "points of 100 gained by the choice", over_players=over, players=rows)


def positions(seed: int, count: int) -> Iterator[Position]:
    """Distinct positions of unfinished games; the number of stones is drawn uniformly."""
    rng, seen = random.Random(seed), set[Position]()
    choosers = [uniform_choice, erring_choice(Solver(STANDARD), ERROR_SHARE)]
    while len(seen) < count:
        moves = play_out(rng, STANDARD, rng.randrange(41), choosers[len(seen) % 2])
        if moves is not None and (position := Position.from_moves(moves, STANDARD)) not in seen:
            seen.add(position)
            yield position


def labels_of(positions: Sequence[Position]) -> Labels:
    """The positions with the scores that bitbully gives."""
    stones, masks = (np.array([position[part] for position in positions], np.int64) for part in (0, 1))
    scores = [[NO_MOVE if score is None else score for score in bitbully_scores(position)] for position in positions]
    return Labels(stones, masks, np.array(scores, np.int8))


def ask_file(file: Path, labels: Labels) -> Sheet:
    """A file's answers."""
    given = list[Answer]()
    with open_pool(Setup(Rules())) as pool, progress(len(labels), "position") as bar:
        for _, answers in pool.each(answers_in, chunks_of(resolve(str(file)), labels, range(len(labels)), 1)):
            given += answers
            bar.update(len(answers))
    columns, seconds = ([getattr(answer, name) for answer in given] for name in ("column", "seconds"))
    faults = [(answer.fault, answer.detail) for answer in given if answer.fault]
    return Sheet(file.name, labels, np.array([columns]), np.array([seconds]), faults)


def count_answers(sheet: Sheet, chosen: np.ndarray) -> dict[str, int]:
    """How many of the chosen positions were asked, and what the answers were worth."""
    failed = int((sheet.columns[0, chosen] == NO_ANSWER).sum())
    good, perfect = (int(which[0, chosen].sum()) for which in (sheet.good, sheet.perfect))
    return {"asked": int(chosen.sum()), "good": good, "perfect": perfect, "faults": failed}


def ask_positions(options: argparse.Namespace, plain: Path) -> None:
    """Compares the replies to all positions with the exact scores, and prints the table."""
    labels = labels_of([*positions(options.seed, options.count)])
    is_lost = labels.values < 0
    sheet, slow = ask_file(options.file, labels), ask_file(plain, labels.take(np.flatnonzero(is_lost)))
    results = {"lost": is_lost, "drawn": labels.values == 0, "won": labels.values > 0}
    rows = {name: count_answers(sheet, chosen) for name, chosen in results.items() if chosen.any()}
    if is_lost.any():
        rows["lost, no choice"] = count_answers(slow, np.full(len(slow.labels), True))
    for asked in (sheet, slow):
        for row in np.flatnonzero(~asked.good[0]).tolist():
            position = Position(int(asked.labels.positions[row]), int(asked.labels.masks[row]), STANDARD)
            print(f"{position}: column {asked.columns[0, row]}, {asked.labels.scores[row].tolist()}")
    for name, counts in rows.items():
        print(f"{name:<16}{', '.join(f'{what} {number}' for what, number in counts.items())}")
    good = sum(row["good"] for row in rows.values()) / sum(row["asked"] for row in rows.values())
    slowest = max(float(asked.seconds.max(initial=0)) for asked in (sheet, slow))
    unit, overage = "% good moves at Kaggle's clock", round(max(slowest - ACT_TIMEOUT, 0), 2)
    record("perfect-positions", round(100 * good, 2), unit, overage=overage, positions=rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = {"games": (play_games, 100), "fallible": (play_fallible, 20), "positions": (ask_positions, 2000)}
    parser.add_argument("what", choices=modes)
    parser.add_argument("file", type=Path, help="a built submission of the agent perfect")
    parser.add_argument(
        "--count", type=int, help="games in each seat (100), with each fallible player (20), or positions (2000)"
    )
    parser.add_argument("--concurrency", type=int, default=1, help="games at once, of those with fallible players")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    measure, count = modes[options.what]
    options.count = options.count or count
    head(seed=options.seed)
    with without_choice(options.file) as plain:
        measure(options, plain)


if __name__ == "__main__":
    main()
