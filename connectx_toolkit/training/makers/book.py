"""Builds the opening book of perfect in the second seat, on all cores.

The second seat's positions are lost or drawn. Its book holds the move after which the opponent is expected to give most
away. The opponent model (``train.py replies``) says which replies to expect; the search is that of
``connectx_core.opponent``, with more time than a game has. The book grows from the empty board, the most probable
positions first.

With --games, the book learns from your games: the shipped book is changed wherever another move wins more
from your opponents (``connectx_toolkit.training.makers.own_games``).

Every entry is kept in the run's folder as soon as it is found. An interrupted run resumes there.
"""

import heapq
import os
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx_core.books import Book, openings
from connectx_core.clock import Budget
from connectx_core.exact import exact_scores
from connectx_core.network import PlainNetwork
from connectx_core.opponent import ErrorForecast, ReplyModel, best_columns, columns_of_scores
from connectx_core.position import STANDARD, Position, Scores
from connectx_toolkit.system.console import progress, shell
from connectx_toolkit.system.files import WEIGHTS, read_as
from connectx_toolkit.training import runs
from connectx_toolkit.training.makers.exact_scores import pool_scores, solve
from connectx_toolkit.training.makers.own_games import Met, OwnGames, collect_lines, read_own_games
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import LARGEST_TABLE, begin_run, process_solver, publish, solver_pool


@dataclass
class Config(Options):
    """Options of ``train.py book``."""

    METHOD = "book"
    RESUMES = True

    games: str = option(
        "",
        "file of your games, as evaluate.py explore --add makes it: the book learns from them",
        reads=True,
    )
    me: str = option("", "your name in these games, if the file does not tell whose they are")
    last_ply: int = option(11, "last ply of the book", least=1)
    least: float = option(0.0002, "smallest probability of a position in the book", above=0)
    nodes: int = option(10_000_000, "nodes of the solver for each position of the book", least=1)
    table_bits: int = option(
        25,
        "log2 of the number of entries (8 bytes each) in each process's table",
        least=2,
        most=LARGEST_TABLE,
        is_free=True,
    )
    workers: int = option(os.cpu_count() or 1, "number of processes on this machine", least=1, is_free=True)
    replies_policy: Path = option(WEIGHTS / "strong_policy.bin", "policy network of the opponent model", reads=True)
    replies: Path = option(WEIGHTS / "perfect_replies.bin", "opponent model", reads=True)
    shipped: Path = option(WEIGHTS / "perfect_second_book.bin", "book that --games starts from", reads=True)
    run: Path = option(Path("runs/book"), "folder of the run")
    entries: Path = option(Path(), "file of the entries found so far, also by another run", in_run="entries.bin")
    output: Path = option(Path(), "file to write: the book", in_run="book.bin")

    def files_read(self) -> dict[str, Path]:
        return super().files_read() | ({} if self.games else {"shipped": Path()})


Entry = tuple[int, ...]  # the columns in a position: equally good, nothing is lost by them


class Ahead(NamedTuple):
    """A position that the second seat may meet: how probable it is, and what the way there tells of the opponent."""

    position: Position  # canonical
    reach: float
    belief: np.ndarray  # (types,)


@cache
def _read_model(policy: Path, replies: Path) -> ReplyModel:
    return read_as(partial(ReplyModel.from_bytes, policy=read_as(PlainNetwork.from_bytes, policy)), replies)


def model_of(config: Config) -> ReplyModel:
    return _read_model(config.replies_policy, config.replies)


def find_entry(ahead: Ahead, config: Config) -> Entry:
    """The best columns by a search of its nodes; none where the position is won. In a worker."""
    solver = process_solver()
    scores = solve(ahead.position)
    if max(score for score in scores if score is not None) > 0:
        return ()
    start = solver.nodes

    def replies(position: Position) -> Scores | None:
        left = config.nodes - (solver.nodes - start)
        return exact_scores(position, solver, Budget(nodes=left)) if left > 0 else None

    forecast = ErrorForecast(model_of(config), ahead.belief, replies, openings().scores)
    return tuple(best_columns(ahead.position, scores, forecast))


def positions_after_replies(ahead: Ahead, scores: Scores, model: ReplyModel) -> list[Ahead]:
    """The positions after each of the opponent's moves, unless the game is over or won for us."""
    position = ahead.position
    chances = model.chances([position], columns_of_scores([scores]))[0]
    later = []
    for column, score in enumerate(scores):
        if score is None or score < 0 or column in position.winning_columns():
            continue
        belief, child = ahead.belief * chances[:, column], position.play(column).canonical()
        if not child.is_full():
            later.append(Ahead(child, ahead.reach * float(belief.sum()), belief / belief.sum()))
    return later


def visit_position(ahead: Ahead, config: Config, known: Entry | None) -> tuple[Entry, list[Ahead]]:
    """The entry of a position and the positions that follow it, in a worker."""
    entry, later = known or find_entry(ahead, config), list[Ahead]()
    for column in entry:
        reply = ahead.position.play(column)
        after = Ahead(reply, ahead.reach / len(entry), ahead.belief)
        later += positions_after_replies(after, solve(reply), model_of(config))
    return entry, later


def read_entries(config: Config, recipe: dict[str, Any]) -> dict[Position, Entry]:
    """The entries of canonical positions in the file. Raises ValueError if it is damaged, or of another recipe."""
    stored = runs.load_checkpoint(config.entries, recipe)
    with runs.restoring(config.entries):
        rows = stored.facts["entries"] if stored else []
        return {Position(stones, mask, STANDARD): tuple(columns) for stones, mask, columns in rows}


def save_entries(config: Config, recipe: dict[str, Any], entries: dict[Position, Entry]) -> None:
    rows = [(position.position, position.mask, columns) for position, columns in entries.items()]
    runs.save_checkpoint(config.entries, recipe, {"entries": rows}, {})


def second_book(config: Config) -> Book:
    """The second seat's book: visits the most probable positions first, ``config.workers`` at a time."""
    recipe = {name: config.settings[name] for name in ("replies_policy", "replies", "nodes")}
    entries = read_entries(config, recipe)
    save_entries(config, recipe, entries)  # a file that cannot be written is told before the work
    number, met, chosen = count(), set[Position](), dict[Position, Entry]()
    queue: list[tuple[float, int, Ahead]] = []

    def expect(positions: list[Ahead]) -> None:
        for ahead in positions:
            wanted = ahead.reach >= config.least and ahead.position.ply <= config.last_ply
            if wanted and ahead.position not in met:
                met.add(ahead.position)
                heapq.heappush(queue, (-ahead.reach, next(number), ahead))

    start = Position.empty(STANDARD)
    model = model_of(config)
    expect(positions_after_replies(Ahead(start, 1.0, model.prior), openings().scores(start) or [], model))
    with (
        solver_pool(config.workers, config.table_bits) as pool,
        progress(len(met), "position", delay=0) as bar,
    ):
        running: dict[Future, Ahead] = {}
        while queue or running:
            while queue and len(running) < config.workers:
                ahead = heapq.heappop(queue)[2]
                running[pool.submit(visit_position, ahead, config, entries.get(ahead.position))] = ahead
            for task in wait(running, return_when=FIRST_COMPLETED).done:
                ahead, (entry, later) = running.pop(task), task.result()
                if entry and ahead.position not in entries:
                    entries[ahead.position] = entry
                    save_entries(config, recipe, entries)
                if entry:
                    chosen[ahead.position] = entry
                expect(later)
                bar.total = len(met)
                bar.update()
    return Book.of(chosen)


def own_book(config: Config, games: list[Met]) -> tuple[Book, dict[str, float]]:
    """The second seat's book of one's own games; what it is expected to win from their opponents, and what was won."""
    shipped = read_as(Book.from_bytes, config.shipped)
    if shipped.geometry != STANDARD:
        raise ValueError(f"{config.shipped}: a book for another board than 7x6")
    with pool_scores(config.workers, config.table_bits) as scores_of:
        tree = OwnGames(collect_lines(games, Position.empty(STANDARD)), model_of(config), scores_of)
    columns, expected = tree.improve()
    own = Book.of({position: [column] for position, column in columns.items()}) if columns else None
    book = shipped if own is None else shipped.changed_by(own)
    scored = sum(game.points for game in games) / len(games)
    return book, {"changed": len(columns), "expected_points": round(expected, 3), "scored": round(scored, 3)}


def train(config: Config) -> Book | None:
    """Builds a book and writes it; with --games, only if they teach something."""
    games = read_own_games(Path(config.games), config.me) if config.games else []
    begin_run(config)
    facts: dict[str, float] = {}
    if config.games:
        book, facts = own_book(config, games)
        if not facts["changed"]:
            told = f"no other moves would win more in {len(games)} games as second player"
            print(
                f"{config.games}: {told}; {config.output} was not written. More games against the same opponents tell "
                f"more. Until then, perfect keeps its own book: {shell('build perfect')}"
            )
            return None
        scored, now = 100 * facts["scored"], 100 * facts["expected_points"]
        score = f"points of 100 as second player: {now:.1f} expected with the new book, {scored:.1f} in your games"
    else:
        book = second_book(config)
        score = f"{len(book):,} positions, with moves chosen by their exact scores"
    publish(config, book.to_bytes(), {"positions": len(book), **facts}, score)
    return book
